"""Figures over swept keys: lines against one axis, badput and paired differences of every group, heat maps."""
from . import common, run_figures, sheet, statistics
from .common import Figure, NotShown
from .reading import aimed, missed, trained

BANDWIDTH = ("port_gbps", "up_gbps", "down_gbps", "gbps", "bandwidth_gbps")
CHIPS = ("chips_total", "chips")
MOST_LINES, MOST_BARS = 8, 30


def axis_of(sweep, keys):
    """The first numeric axis that varies one of these keys, with at least two values."""
    for axis, at in sweep.axes.items():
        if at and all(pointer.rsplit("/", 1)[-1] in keys for pointer in at) and len(values_of(sweep, axis)) > 1 \
                and is_numeric(sweep, axis):
            return axis
    return None


def values_of(sweep, axis):
    return list(dict.fromkeys(group.point[axis] for group in sweep.groups))


def is_numeric(sweep, axis):
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values_of(sweep, axis))


def free_axes(sweep, axis):
    """The other axes with several values, but for those whose value follows from this axis (zip)."""
    out = []
    for other in sweep.axes:
        pairs = {(group.point[axis], group.point[other]) for group in sweep.groups}
        if other != axis and len(pairs) > len(values_of(sweep, axis)):
            out.append(other)
    return out


def label_of(protocol, point, axes):
    return ", ".join([protocol, *(f"{axis} {word(point[axis])}" for axis in axes)])


def word(value):
    return sheet.number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def lines_of(sweep, axis):
    """[(label, groups by the axis)], and a sentence on lines left out."""
    free = free_axes(sweep, axis)
    lines = {}
    for group in sweep.groups:
        lines.setdefault((group.protocol, *(group.point[other] for other in free)), []).append(group)
    told = [other for other in free if len({key[1 + free.index(other)] for key in lines}) > 1]
    named = [(label_of(key[0], groups[0].point, told), sorted(groups, key=lambda g: g.point[axis]))
             for key, groups in lines.items()]
    left_out = "" if len(named) <= MOST_LINES else \
        f" {len(named) - MOST_LINES} of {len(named)} lines are not drawn; the table of the sweep has them all."
    return named[:MOST_LINES], left_out


def x_axis(axes, sweep, axis, narrow):
    values = sorted(set(values_of(sweep, axis)))
    title = common.swept_title(axis, sweep.axes[axis])
    if values[0] > 0 and values[-1] >= 4 * values[0]:
        few = len(values) <= (5 if narrow else 9)
        sheet.logarithmic(axes.xaxis, values, at=values if few else None)
        title += ", log scale"
    else:
        room = 0.05 * (values[-1] - values[0])
        sheet.linear(axes.xaxis, values[0] - room, values[-1] + room, ticks=5)
    axes.set_xlabel(title)


def line_figure(sweep, axis, metrics, name, title, note):
    lines, left_out = lines_of(sweep, axis)
    found = [metric for metric in metrics if any(group.values(metric) for _, groups in lines for group in groups)]
    if not found:
        return None
    look = common.looks([label for label, _ in lines])

    def draw(width):
        page = sheet.Sheet(width, [230] * len(found), columns=len(found), left=62,
                           legend=[(look[label].line(), label) for label, _ in lines])
        for axes, metric in zip(page.axes, found):
            highest = 0.0
            for label, groups in lines:
                points = [(g.point[axis], common.possible(statistics.mean_interval(g.values(metric).values()), metric))
                          for g in groups]
                points = [(x, y) for x, y in points if y]
                axes.plot([x for x, _ in points], [y.value for _, y in points], **look[label].line())
                for x, y in points:
                    highest = max(highest, y.value)
                    if y.low is not None:
                        axes.plot([x, x], [y.low, y.high], color=look[label].colour, linewidth=1.2)
            if common.is_share(metric):
                sheet.linear(axes.yaxis, 0, 1.03, percent=True)
            else:
                sheet.linear(axes.yaxis, 0, 1.06 * highest if highest > 0 else None)
            x_axis(axes, sweep, axis, page.narrow)
            axes.set_ylabel(common.axis_title(metric))
        return page

    rows, ends = [], []
    for label, groups in lines:
        for metric in found:
            for group in groups:
                y = common.possible(statistics.mean_interval(group.values(metric).values()), metric)
                if y:
                    rows.append([label, common.exact(group.point[axis]), common.with_unit(metric), y.n,
                                 *(common.exact(common.scaled(v, metric)) for v in (y.value, y.low, y.high))])
        y = common.scaled(statistics.mean(groups[-1].values(found[0]).values()), found[0])
        if y is not None:
            ends.append(f"{label} {y:.3g}{' %' if common.is_share(found[0]) else ''}")
    description = (f"{title}: one line a row. {common.title_of(found[0])} at the largest {axis}: {'; '.join(ends)}.")
    return Figure(name, title, description, draw, ["line", axis, "metric", "n", "mean", "low", "high"], rows,
                  note + coinciding(lines, axis, found) + " Upright bars are 95 % intervals over the seeds; none with one "
                  "seed." + left_out)


def coinciding(lines, axis, metrics):
    """Sentences on lines of which only the last one drawn is seen."""
    said = []
    for metric in metrics:
        alike = {}
        for label, groups in lines:
            means = [(g.point[axis], statistics.mean(g.values(metric).values())) for g in groups]
            course = tuple((x, f"{y:.6g}") for x, y in means if y is not None)
            if len(course) > 1:
                alike.setdefault(course, []).append(label)
        for labels in alike.values():
            if len(labels) > 1:
                said.append(f" In {common.title_of(metric)} these {len(labels)} lines coincide, and the last one covers the "
                            f"others: {'; '.join(labels)}.")
    return "".join(said)


def utilization(sweep):
    axis = axis_of(sweep, BANDWIDTH)
    figure = axis and line_figure(
        sweep, axis, ["compute_utilization", "merged_share"], "utilization", "Utilization and merged share against bandwidth",
        "A row whose learners never wait has a utilization of 1 at any bandwidth: its merged share says what it pays.")
    return figure or NotShown("Utilization against bandwidth: no axis varies a port or link in Gbit/s; a sweep such as "
                              "scenarios/sweeps/port-for-a-hidden-sync.sweep.json gives it.")


def goodput(sweep):
    axis = axis_of(sweep, CHIPS)
    presets = {row.get("preset"): row["protocol"] for row in reversed(sweep.rows)}
    wanted = ("data_parallel", "data_parallel_elastic")
    missing = [preset for preset in wanted if preset not in presets]
    named = [preset if presets[preset] == preset else f"{presets[preset]} (the preset {preset})" for preset in wanted
             if preset in presets]
    note = f"Both baselines are there: {common.join_names(named)}." if not missing else \
        f"Not in this sweep: the baseline {common.join_names(missing)}."
    figure = axis and line_figure(sweep, axis, ["goodput"], "goodput", "Goodput against chips", note)
    return figure or NotShown("Goodput against chips: no axis varies the chips of islands; "
                              "scenarios/sweeps/goodput-against-chips.sweep.json gives it.")


def time_to_loss(sweep):
    axis = axis_of(sweep, ("sync_period_steps",))
    if sweep.pending:
        return NotShown("Time to the target loss against H: not worked out yet; the finished sweep has it in its tables.")
    if axis and trained(sweep.rows) and not aimed(sweep.rows):
        return NotShown("Time to the target loss against H: there is no target, since the baseline has no final loss.")
    if not axis or not aimed(sweep.rows):
        return NotShown("Time to the target loss against H: it takes a trained sweep with an axis over "
                        "sync_period_steps.")
    lines, left_out = lines_of(sweep, axis)
    look = common.looks([label for label, _ in lines])

    def draw(width):
        return time_sheet(width, sweep, axis, lines, look)

    rows = [[label, common.exact(group.point[axis]), len(aimed(group.rows)), len(reached(group)),
             common.exact(statistics.mean(reached(group))) or ("not reached" if group.missed() else "not trained"),
             common.exact(statistics.mean(ends_of(group)))] for label, groups in lines for group in groups]
    return Figure("time-to-loss", "Time to the target loss against H",
                  f"One line a row over {axis}. "
                  + "; ".join(f"{r[0]} at {r[1]}: {r[4]}{' h' if r[3] else ''}" for r in rows) + ".", draw,
                  ["line", axis, "n", "reached", "mean hours of those that reached", "mean hours at which the others ended"],
                  rows,
                  "A filled marker is the mean of seeds that all reached the target, the bar from the first to the last. "
                  "An open marker under an arrow is a run that ended at that date without having reached it: it would take "
                  "longer than that, if it gets there at all. Small open ones are the other seeds of such a row."
                  + coinciding(lines, axis, ["time_to_loss_s"]) + left_out)


def reached(group):
    return [seconds / 3600 for seconds in group.values("time_to_loss_s").values()]


def ends_of(group):
    """Hours at which the runs ended that did not reach their target."""
    return [row["simulated_s"] / 3600 for row in missed(group.rows) if row.get("simulated_s") is not None]


def time_sheet(width, sweep, axis, lines, look):
    every = [hours for _, groups in lines for group in groups for hours in reached(group) + ends_of(group)] or [1.0]
    lost = any(group.missed() for _, groups in lines for group in groups)
    legend = [(look[label].line(), label) for label, _ in lines]
    if lost:
        legend.append(({"color": sheet.INK, "linestyle": "none", "marker": "o", "markerfacecolor": "none"},
                       "not reached by every seed (\u2191 at the end of a run)"))
    page = sheet.Sheet(width, [240], legend=legend)
    axes = page.axes[0]
    log = min(every) > 0 and max(every) > 6 * min(every)
    for label, groups in lines:
        xs, ys = [], []
        open_marker = {"color": look[label].colour, "linestyle": "none", "marker": look[label].marker,
                       "markerfacecolor": "none"}
        for group in groups:
            x, hours = group.point[axis], reached(group)
            xs.append(x)
            ys.append(statistics.mean(hours) if hours and not group.missed() else float("nan"))
            if group.missed():
                for end in ends_of(group):
                    axes.annotate("", (x, end), xytext=(0, 22), textcoords="offset points", annotation_clip=False,
                                  arrowprops={"arrowstyle": "<-", "color": look[label].colour, "shrinkA": 0, "shrinkB": 3})
                    axes.plot([x], [end], **open_marker)
                axes.plot([x] * len(hours), hours, **{**open_marker, "markersize": 3.5})
            elif len(hours) > 1:
                axes.plot([x] * 2, [min(hours), max(hours)], color=look[label].colour, linewidth=1.2)
        axes.plot(xs, ys, **look[label].line())
    top = max(every) * ((max(every) / min(every))**0.16 if log else 1.18 if lost else 1.06)
    if log:
        sheet.logarithmic(axes.yaxis, [*every, top])
    else:
        sheet.linear(axes.yaxis, 0, top)
    x_axis(axes, sweep, axis, page.narrow)
    axes.set_ylabel("time to the target loss (h" + (", log scale)" if log else ")"))
    return page


def badput(sweep):
    told = [axis for axis in sweep.axes if len(values_of(sweep, axis)) > 1]
    if len(sweep.groups) > MOST_BARS:
        return NotShown(f"Badput by cause: {len(sweep.groups)} rows are too many bars for one drawing; table.csv has every "
                        "cause (chip_seconds.lost.*), and skerry run of one point draws it.")
    return run_figures.badput([(label_of(group.protocol, group.point, told), group.rows) for group in sweep.groups])


def metric_of(sweep):
    cells = (sweep.design.get("table") or {}).get("cells") or ["goodput"]
    return next((cell for cell in cells if any(group.values(cell) for group in sweep.groups)), "goodput")


def paired(sweep):
    metric = metric_of(sweep)
    told = [axis for axis in sweep.axes if len(values_of(sweep, axis)) > 1]
    by_key = {(group.protocol, *map(str, group.point.values())): group for group in sweep.groups}
    rows = []
    for group in sweep.groups:
        if not group.paired or group.protocol == sweep.baseline:
            continue
        found = statistics.of_json((group.paired["metrics"].get(metric) or {}).get("difference"))
        base = by_key.get((group.paired["protocol"], *map(str, group.paired["point"].values())))
        if found and base:
            mine, its = group.values(metric), base.values(metric)
            rows.append((label_of(group.protocol, group.point, told),
                         [(seed, common.scaled(mine[seed] - its[seed], metric)) for seed in mine if seed in its],
                         statistics.Interval(*(common.scaled(v, metric) for v in (found.value, found.low, found.high)),
                                             found.n)))
    if not rows:
        return NotShown("Paired differences: no row has its baseline at the same point and seeds (or statistics.json is "
                        "not written yet).")
    if len(rows) > MOST_BARS:
        return NotShown(f"Paired differences: {len(rows)} rows are too many for one drawing; statistics.json has them.")

    def draw(width):
        narrow = width < 600
        page = sheet.Sheet(width, [(34 if narrow else 24) * len(rows) + 10], right=26, top=8,
                           left=14 if narrow else 12 + 6.9 * max(len(row[0]) for row in rows))
        axes = page.axes[0]
        for place, (label, dots, interval) in enumerate(rows):
            if interval.low is not None:
                axes.plot([interval.low, interval.high], [place] * 2, color=sheet.SERIES[0], linewidth=5, alpha=0.4,
                          solid_capstyle="butt")
            axes.plot([v for _, v in dots], [place] * len(dots), linestyle="none", marker="o", markersize=4.5,
                      color=sheet.SERIES[0])
            axes.plot([interval.value] * 2, [place - 0.22, place + 0.22], color=sheet.INK, linewidth=1.6)
            if narrow:
                axes.annotate(label, (0, place - 0.32), xycoords=("axes fraction", "data"), va="bottom")
        values = [0] + [v for _, dots, i in rows for v in ([d[1] for d in dots] + [i.low, i.high]) if v is not None]
        room = 0.06 * ((max(values) - min(values)) or 1)
        sheet.linear(axes.xaxis, min(values) - room, max(values) + room)
        axes.axvline(0, color=sheet.SOFT, linewidth=1)
        axes.set_yticks([] if narrow else range(len(rows)), [] if narrow else [row[0] for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.9 if narrow else -0.6)
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"{common.difference_title(metric)}, minus {sweep.baseline}")
        return page

    return Figure("paired", f"Differences of {common.title_of(metric)} to {sweep.baseline}, paired by seed",
                  "Dots are seeds, the upright bar their mean, the wide bar its 95 % interval: "
                  + "; ".join(f"{row[0]} {row[2].value:.4g}" for row in rows) + ".", draw,
                  ["row", "n", f"difference, {common.difference_unit(metric)}".rstrip(", "), "low", "high", "by seed"],
                  [[label, i.n, common.exact(i.value), common.exact(i.low), common.exact(i.high),
                    "; ".join(f"{seed}: {value:.5g}" for seed, value in dots)] for label, dots, i in rows],
                  "A dot a seed; the upright bar is the mean, the wide bar its 95 % interval (Student t). One seed has no "
                  "interval.")
