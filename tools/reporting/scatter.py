"""A dot a point of a random design: the first number of its table against each axis that was drawn."""
from . import common, sheet, statistics
from .common import Figure
from .sweep_figures import is_numeric, metric_of, values_of, x_axis

MOST_PANELS = 6


def scatter(sweep):
    """None for other designs: their lines and heat maps say more."""
    axes_drawn = [axis for axis in sweep.axes if is_numeric(sweep, axis) and len(values_of(sweep, axis)) > 2][:MOST_PANELS]
    if not isinstance(sweep.design.get("design"), dict) or not axes_drawn:
        return None
    metric = metric_of(sweep)
    look = common.looks(sweep.protocols)
    factor = 1 if common.is_share(metric) else common.factor_of(metric)  # axes of shares are labelled in %
    dots = [(group, factor * statistics.mean(group.values(metric).values())) for group in sweep.groups
            if group.values(metric)]

    def draw(width):
        keys = [({**look[name].line(), "linestyle": "none"}, name) for name in sweep.protocols]
        page = sheet.Sheet(width, [200] * len(axes_drawn), columns=min(2, len(axes_drawn)), legend=keys, left=62)
        for axes, axis in zip(page.axes, axes_drawn):
            for name in sweep.protocols:
                points = [(group.point[axis], value) for group, value in dots if group.protocol == name]
                axes.plot([x for x, _ in points], [y for _, y in points],
                          **{**look[name].line(), "linestyle": "none", "markersize": 4})
            if common.is_share(metric):
                sheet.linear(axes.yaxis, 0, 1.03, percent=True)
            else:
                sheet.linear(axes.yaxis, min(0.0, *(y for _, y in dots)), 1.06 * max(y for _, y in dots) or None)
            x_axis(axes, sweep, axis, page.narrow)
            axes.set_ylabel(common.axis_title(metric))
        return page

    ends = [f"{name} {min(values):.3g} to {max(values):.3g}" for name in sweep.protocols
            if (values := [value for group, value in dots if group.protocol == name])]
    return Figure("scatter", f"{common.title_of(metric)} over the draws",
                  f"Panels over {common.join_names(axes_drawn)}, a dot a draw and row: {'; '.join(ends)}.", draw,
                  ["row", *axes_drawn, "n", common.with_unit(metric)],
                  [[group.protocol, *(common.exact(group.point[axis]) for axis in axes_drawn), len(group.values(metric)),
                    common.exact(100 * value if common.is_share(metric) else value)] for group, value in dots],
                  "Every axis was drawn at random at once: each panel shows one of them and spreads by the others.",
                  "table.csv")
