"""Figures of one run: where the chip-seconds went, loss curves, paired differences, cost, participants."""
import bisect

from . import common, sheet, statistics
from .common import Figure, NotShown
from .reading import numbers

CAUSES = {  # in the order of the stack; colour and hatch by family: network, waiting, failures
    "productive": (sheet.PRODUCTIVE, ""), "exposed_communication": (sheet.NETWORK, ""),
    "straggler_wait": (sheet.WAITING, ""), "waiting_for_quorum": (sheet.WAITING, "////"), "down": (sheet.FAILURE, ""),
    "degraded": (sheet.DEGRADED, "...."), "infrastructure_recovery": (sheet.FAILURE, "////"),
    "checkpoint_restore": (sheet.SAVING, ""), "slice_down": (sheet.SLICES, "\\\\\\\\"), "scale_up": (sheet.SLICES, ""),
    "checkpoint_save": (sheet.SAVING, "////"), "wasted_progress": (sheet.OTHER, "----"), "other": (sheet.OTHER, "xxxx")}


def shares(rows):
    """cause → mean share of the allocated chip-seconds over the seeds."""
    out = {}
    for cause in CAUSES:
        column = "chip_seconds.productive" if cause == "productive" else f"chip_seconds.lost.{cause}"
        out[cause] = statistics.mean((row.get(column) or 0.0) / row["chip_seconds.total"] for row in rows)
    return out


def badput(labelled, name="badput", title="Where the chip-seconds went"):
    """labelled: [(label, rows over seeds)]."""
    books = [(label, shares(rows)) for label, rows in labelled]
    used = [cause for cause in CAUSES if any(book[cause] > 5e-5 for _, book in books)]
    off = max(abs(sum(book.values()) - 1) for _, book in books)
    left = 12 + 6.9 * max(len(label) for label, _ in books)

    def draw(width):
        narrow = width < 600
        keys = [(sheet.swatch(*CAUSES[c]), c.replace("_", " ")) for c in used]
        page = sheet.Sheet(width, [(40 if narrow else 26) * len(books) + 6], legend=keys, left=14 if narrow else left,
                           right=26, top=6)
        axes = page.axes[0]
        for place, (label, book) in enumerate(books):
            start = 0.0
            for cause in used:
                axes.barh(place + (0.12 if narrow else 0), book[cause], left=start, height=0.45 if narrow else 0.68,
                          **sheet.swatch(*CAUSES[cause]))
                start += book[cause]
            if narrow:
                axes.text(0, place - 0.28, label, va="center")
        axes.set_yticks([] if narrow else range(len(books)), [] if narrow else [label for label, _ in books])
        axes.set_ylim(len(books) - 0.5, -0.55)
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        sheet.linear(axes.xaxis, 0, 1, percent=True)
        axes.set_xlabel("share of all allocated chip-seconds")
        return page

    best = max(books, key=lambda pair: pair[1]["productive"])
    worst = min(books, key=lambda pair: pair[1]["productive"])
    return Figure(
        name, title, f"One stacked bar a row, each adding up to 100 %. Most productive: {best[0]} with "
        f"{100 * best[1]['productive']:.1f} %; least: {worst[0]} with {100 * worst[1]['productive']:.1f} %.", draw,
        ["row", *(f"{cause}, %" for cause in CAUSES), "sum, %"],
        [[label, *(f"{100 * book[cause]:.3f}" for cause in CAUSES), f"{100 * sum(book.values()):.3f}"]
         for label, book in books],
        note="Means over the seeds. Every chip-second has one cause; each bar adds up to 100 %"
        + ("." if off < 1e-6 else f", but for {100 * off:.2g} % that the books do not explain."))


def at(xs, ys, x):
    """Linear between points, None outside."""
    if x < xs[0] or x > xs[-1]:
        return None
    i = bisect.bisect_left(xs, x)
    if xs[i] == x:
        return ys[i]
    part = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
    return ys[i - 1] + part * (ys[i] - ys[i - 1])


def spread(curves, column):
    """[(x, mean, lowest, highest)] over the seeds, where every seed has a loss."""
    series = [([point[column] for point in points], [point[2] for point in points]) for points in curves.values()]
    out = []
    for x in sorted({x for xs, _ in series for x in xs}):
        values = [at(xs, ys, x) for xs, ys in series]
        if None not in values:
            out.append((x, statistics.mean(values), min(values), max(values)))
    return out


def losses(run):
    if not run.curves:
        return NotShown("Loss against tokens and time: nothing was trained. A scenario with a \"training\" subtree "
                        "gives it (not --no-train).")
    look = common.looks(run.protocols)
    tokens = {name: spread(curves, 1) for name, curves in run.curves.items()}
    hours = {name: [(x / 3600, *rest) for x, *rest in spread(curves, 0)] for name, curves in run.curves.items()}
    targets = [row["target_loss"] for row in run.rows if isinstance(row.get("target_loss"), float)]
    target = targets[0] if targets and max(targets) == min(targets) else None
    ends = [points[-1][0] for points in hours.values() if len(points) > 1]
    log_time = bool(ends) and max(ends) > 6 * min(ends)
    several = max(len(curves) for curves in run.curves.values())

    def panel(axes, lines, log, unit):
        for name, points in lines.items():
            shown = [point for point in points if point[0] > 0] if log else points
            xs = [point[0] for point in shown]
            axes.plot(xs, [point[1] for point in shown], markevery=max(1, len(xs) // 6), **look[name].line())
            if several > 1:
                axes.fill_between(xs, [p[2] for p in shown], [p[3] for p in shown], color=look[name].colour,
                                  alpha=0.18, linewidth=0)
        if target is not None:
            axes.axhline(target, color=sheet.SOFT, linewidth=1, linestyle=(0, (2, 2)))
            axes.annotate(f"target {target:.3f}", (0.01, target), xycoords=("axes fraction", "data"), ha="left",
                          va="top", xytext=(0, -3), textcoords="offset points")
        sheet.linear(axes.yaxis)
        if log:
            sheet.logarithmic(axes.xaxis, [p[0] for points in lines.values() for p in points if p[0] > 0], ticks=6)
        else:
            sheet.linear(axes.xaxis, 0, None, ticks=5)
        axes.set_xlabel(unit)
        axes.set_ylabel("held-out loss (nats per byte)")

    def draw(width):
        page = sheet.Sheet(width, [250, 250], columns=2, legend=[(look[name].line(), name) for name in run.curves])
        panel(page.axes[0], tokens, False, "charged tokens")
        panel(page.axes[1], hours, log_time, "simulated time (h" + (", log scale)" if log_time else ")"))
        low, high = (pick(axes.get_ylim()[i] for axes in page.axes) for i, pick in ((0, min), (1, max)))
        for axes in page.axes:
            axes.set_ylim(low, high)
        page.axes[0].set_title("at equal tokens", loc="left")
        page.axes[1].set_title("at equal time", loc="left")
        return page

    last = [f"{name} {points[-1][1]:.3f}" for name, points in tokens.items() if points]
    note = (f"Mean over {several} seeds, the band from the lowest to the highest." if several > 1 else
            "One trained seed: no spread.") + " The axis of losses does not begin at 0."
    if log_time:
        note += " Time on a log scale; the loss at time 0 is left out there."
    rows = [[name, seed, *(common.exact(value) for value in point)] for name, curves in run.curves.items()
            for seed, points in curves.items() for point in points]
    return Figure("loss", "Loss against tokens and against simulated time",
                  f"Two panels of falling curves, one a row. Loss at the end: {', '.join(last)}.", draw,
                  ["row", "seed", "simulated_s", "tokens", "loss"], rows, note, "curves.csv")


def pair_panels(run):
    """[(title, axis title, log?, percent?, [(protocol, [(seed, value)], interval)])] against the baseline."""
    base = run.by_protocol[run.baseline]
    others = [name for name in run.shown if name != run.baseline]
    table = run.comparison["protocols"]
    out = []
    for title, axis, metric, key, ratio in (
            ("tokens/s", f"times {run.baseline} (ratio)", "tokens_per_s", "tokens_per_s_ratio", True),
            ("goodput", f"minus {run.baseline} (points of %)", "goodput", "goodput_difference", False),
            ("final loss", f"minus {run.baseline} (nats per byte)", "loss.final", "loss_final_difference", False)):
        rows = []
        for name in others:
            factor = 100 if metric == "goodput" else 1
            mine, its = numbers(run.by_protocol[name], metric), numbers(base, metric)
            dots = [(seed, mine[seed] / its[seed] if ratio else factor * (mine[seed] - its[seed]))
                    for seed in mine if seed in its and (not ratio or its[seed] > 0)]
            found = statistics.of_json(table.get(name, {}).get(key))
            if dots and found:
                rows.append((name, dots, statistics.Interval(
                    *(None if v is None else factor * v for v in (found.value, found.low, found.high)), found.n)))
        if rows:
            out.append((title, axis, ratio, rows))
    return out


def paired(run):
    panels = pair_panels(run) if run.by_protocol.get(run.baseline) else []
    if not panels:
        return NotShown("Paired differences: there is no second row beside the baseline that shares its seeds.")
    look = common.looks(run.protocols)

    def draw(width):
        names = max((len(row[0]) for panel in panels for row in panel[3]), default=1)
        narrow = width < 600
        heights = [(34 if narrow else 24) * len(panel[3]) + 10 for panel in panels]
        page = sheet.Sheet(width, heights, left=14 if narrow else 12 + 6.9 * names, right=26, top=24)
        for axes, (title, axis, ratio, rows) in zip(page.axes, panels):
            for place, (name, dots, interval) in enumerate(rows):
                if interval.low is not None:
                    axes.plot([interval.low, interval.high], [place] * 2, color=look[name].colour, linewidth=5,
                              alpha=0.4, solid_capstyle="butt")
                axes.plot([value for _, value in dots], [place] * len(dots), linestyle="none", marker="o",
                          markersize=4.5, color=look[name].colour)
                axes.plot([interval.value] * 2, [place - 0.22, place + 0.22], color=sheet.INK, linewidth=1.6)
                if narrow:
                    axes.annotate(name, (0, place - 0.32), xycoords=("axes fraction", "data"), va="bottom")
            values = [v for _, dots, i in rows for v in ([d[1] for d in dots] + [i.low, i.high]) if v is not None]
            null = 1 if ratio else 0
            if ratio and max(values) > 3 * min(values):
                sheet.logarithmic(axes.xaxis, [*values, null])
                axis += ", log scale"
            else:
                room = 0.06 * ((max([*values, null]) - min([*values, null])) or 1)
                sheet.linear(axes.xaxis, min([*values, null]) - room, max([*values, null]) + room)
            axes.axvline(null, color=sheet.SOFT, linewidth=1)
            axes.set_yticks([] if narrow else range(len(rows)), [] if narrow else [row[0] for row in rows])
            axes.set_ylim(len(rows) - 0.4, -0.9 if narrow else -0.6)
            axes.grid(False, axis="y")
            axes.tick_params(axis="y", length=0)
            page.title(axes, title)
            axes.set_xlabel(axis)
        return page

    rows = [[title, name, len(dots), common.exact(i.value), common.exact(i.low), common.exact(i.high),
             "; ".join(f"{seed}: {value:.5g}" for seed, value in dots)]
            for title, _, _, found in panels for name, dots, i in found]
    return Figure("paired", f"Differences to {run.baseline}, paired by seed",
                  "Dots are seeds, the upright bar their mean, the wide bar its 95 % interval. "
                  + "; ".join(f"{title} of {row[0]} {row[2].value:.4g}" for title, _, _, found in panels
                              for row in found) + ".", draw,
                  ["metric", "row", "n", "value", "low", "high", "by seed"], rows,
                  "A dot a seed; the upright bar is the mean (of ratios the geometric mean), the wide bar its 95 % interval "
                  "(Student t). One seed has no interval.")
