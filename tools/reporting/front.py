"""The picture of a README: loss against simulated time beside where the chip-hours went."""
from . import common, run_figures, sheet
from .common import Figure

WIDTH, HEIGHT = 900, 250
GROUPS = {  # what a newcomer can tell apart: colour and hatch, and the causes
    "productive": (sheet.PRODUCTIVE, "", ("productive",)),
    "exposed communication": (sheet.NETWORK, "", ("exposed_communication",)),
    "waiting for others": (sheet.WAITING, "////", ("straggler_wait", "waiting_for_quorum")),
    "failures and recovery": (sheet.FAILURE, "\\\\\\\\", (
        "down", "degraded", "infrastructure_recovery", "checkpoint_restore", "slice_down", "scale_up",
        "checkpoint_save", "wasted_progress", "other"))}


def loss_and_goodput(run):
    look = common.looks(run.protocols)
    hours = {name: [(t / 3600, loss) for t, loss, *_ in run_figures.spread(curves, 0) if t > 0]
             for name, curves in run.curves.items()}
    books = {name: run_figures.shares(run.by_protocol[name]) for name in run.shown}
    grouped = {name: {group: sum(book[cause] for cause in causes) for group, (_, _, causes) in GROUPS.items()}
               for name, book in books.items()}
    part = {name for name in run.shown if run.scenario["protocols"].get(name, {}).get("only_islands")}
    target = next(row["target_loss"] for row in run.rows if row.get("target_loss"))

    def curves(axes):
        for name, points in hours.items():
            axes.plot([t for t, _ in points], [loss for _, loss in points], markevery=max(1, len(points) // 6),
                      **look[name].line())
        axes.axhline(target, color=sheet.SOFT, linewidth=1, linestyle=(0, (2, 2)))
        axes.annotate("target", (0.01, target), xycoords=("axes fraction", "data"), va="top", xytext=(0, -3),
                      textcoords="offset points")
        sheet.logarithmic(axes.xaxis, [t for points in hours.values() for t, _ in points])
        sheet.linear(axes.yaxis)
        axes.set_xlabel("simulated time (h, log scale)")
        axes.set_ylabel("held-out loss (nats per byte)")
        axes.set_title("loss against simulated time", loc="left")

    def bars(axes):
        for place, (name, book) in enumerate(grouped.items()):
            start = 0.0
            for group, (colour, hatch, _) in GROUPS.items():
                axes.barh(place, book[group], left=start, height=0.66, **sheet.swatch(colour, hatch))
                start += book[group]
        axes.set_yticks(range(len(grouped)), [name + "*" * (name in part) for name in grouped])
        axes.set_ylim(len(grouped) - 0.5, -0.5)
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        sheet.linear(axes.xaxis, 0, 1, percent=True)
        axes.set_xlabel("share of chip-hours" + (" (* of its own islands)" if part else ""))
        axes.set_title("where the chip-hours went", loc="left")

    def draw(width):
        del width  # one size
        keys = [(look[name].line(), name) for name in hours]
        keys += [(sheet.swatch(colour, hatch), group) for group, (colour, hatch, _) in GROUPS.items()]
        page = sheet.Sheet(WIDTH, [HEIGHT, HEIGHT], columns=2, legend=keys, left=60, right=20)
        left, right = page.axes
        curves(left)
        box = right.get_position()
        labels = (6.9 * max(map(len, grouped)) - 24) / WIDTH
        right.set_position([box.x0 + labels, box.y0, box.width - labels, box.height])
        bars(right)
        return page

    most = max((name for name in grouped if name not in part), key=lambda name: grouped[name]["productive"])
    return Figure("loss-and-goodput", f"{run.name}: loss against simulated time, and where the chip-hours went",
                  "Left: a falling curve a protocol over simulated hours on a log scale, with the target loss. Right: a "
                  f"stacked bar a protocol of all chip-hours; {most} is the most productive with "
                  f"{100 * grouped[most]['productive']:.0f} %, {run.baseline} has "
                  f"{100 * grouped[run.baseline]['productive']:.0f} %.", draw, [], [])
