"""A heat map over two swept keys, a panel a row; value and n stand in each cell."""
import matplotlib
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from . import common, sheet, statistics
from .common import Figure, NotShown
from .sweep_figures import free_axes, label_of, metric_of, values_of, word

MOST_PANELS, MOST_COLUMNS, MOST_ROWS = 6, 24, 30


def two_axes(sweep):
    several = [axis for axis in sweep.axes if len(values_of(sweep, axis)) > 1]
    for i, first in enumerate(several):
        for second in several[i + 1:]:
            if second in free_axes(sweep, first) and first in free_axes(sweep, second):
                return first, second
    return None


def ordered(values):
    return sorted(values, key=lambda v: (not isinstance(v, (int, float)), v if isinstance(v, (int, float)) else str(v)))


def ink_on(red, green, blue):
    """Black or white, whichever reads better on the colour."""
    def linear(c):
        return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055)**2.4

    light = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    return "#000000" if light > 0.18 else "#ffffff"


def panels_of(sweep, metric, across, down, others):
    """[(label, {(down, across): (mean, n, runs, failed runs)})], a panel a row and value of the other axes."""
    panels = {}
    for group in sweep.groups:
        values = list(group.values(metric).values())
        key = (group.protocol, *(str(group.point[axis]) for axis in others))
        label = label_of(group.protocol, group.point, others)
        cell = (statistics.mean(values), len(values), len(group.rows) + group.failed, group.failed)
        panels.setdefault(key, (label, {}))[1][group.point[down], group.point[across]] = cell
    for group in sweep.failed_groups:
        key = (group.protocol, *(str(group.point[axis]) for axis in others))
        cells = panels.setdefault(key, (label_of(group.protocol, group.point, others), {}))[1]
        cells.setdefault((group.point[down], group.point[across]), (None, 0, group.failed, group.failed))
    return list(panels.values())


def heat_map(sweep):
    chosen = two_axes(sweep)
    if not chosen:
        return NotShown("A heat map: it takes two axes that vary independently (a grid).")
    metric = metric_of(sweep)
    across, down = sorted(chosen, key=lambda axis: len(values_of(sweep, axis)))
    columns, rows = (ordered({group.point[axis] for group in (*sweep.groups, *sweep.failed_groups)})
                     for axis in (across, down))
    if len(columns) > MOST_COLUMNS or len(rows) > MOST_ROWS:
        return NotShown(f"A heat map of {len(rows)} × {len(columns)} cells would not be readable; table.csv has the numbers.")
    others = [axis for axis in sweep.axes if axis not in chosen and len(values_of(sweep, axis)) > 1]
    panels = panels_of(sweep, metric, across, down, others)
    shown = panels[:MOST_PANELS]
    known = [cell[0] for _, cells in shown for cell in cells.values() if cell[0] is not None]
    if not known:
        return NotShown(f"A heat map of {metric}: no point of this sweep has a value for it.")
    low, high = min(known), max(known)
    percent = common.is_share(metric)

    def text_of(value):
        return f"{100 * value:.1f} %" if percent else sheet.number(common.scaled(value, metric))

    def panel(page, axes, label, cells):
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                value, n, runs, failed = cells.get((row, column), (None, 0, 0, 0))
                if value is None:
                    axes.add_patch(Rectangle((j, i), 1, 1, facecolor="none", edgecolor=sheet.GRID, linewidth=1))
                    axes.text(j + 0.5, i + 0.5, "skipped" if runs == 0 else "failed" if failed == runs else
                              "missed" if metric in common.UNREACHED else "none", ha="center", va="center",
                              fontsize=10, color=sheet.SOFT)
                    continue
                colour = matplotlib.colormaps["cividis"](0.5 if high == low else (value - low) / (high - low))
                axes.add_patch(Rectangle((j, i), 1, 1, facecolor=to_hex(colour), edgecolor=sheet.PAPER, linewidth=1.5))
                ink = ink_on(*colour[:3])
                axes.text(j + 0.5, i + 0.33, text_of(value), ha="center", va="center", color=ink, fontsize=10.5)
                axes.text(j + 0.5, i + 0.72, f"n = {n}" + (f" of {runs}" if n < runs else ""), ha="center", va="center",
                          color=ink, fontsize=10)
        axes.set_xlim(0, len(columns))
        axes.set_ylim(len(rows), 0)
        axes.set_xticks([j + 0.5 for j in range(len(columns))], [word(v) for v in columns])
        axes.set_yticks([i + 0.5 for i in range(len(rows))], [word(v) for v in rows])
        axes.grid(False)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        page.title(axes, label)
        axes.set_xlabel(common.swept_title(across, sweep.axes[across]))
        axes.set_ylabel(common.swept_title(down, sweep.axes[down]))

    left = 40 + 7 * max(len(word(v)) for v in rows)

    def draw(width):
        cell = 10 + 6.6 * max([8, *(len(word(v)) for v in columns), *(len(text_of(v)) for v in known)])
        across_panels = 2 if width >= 2 * (left + 14 + cell * len(columns)) and len(shown) > 1 else 1
        page = sheet.Sheet(max(width, round(left + 14 + cell * len(columns))), [36 * len(rows)] * len(shown),
                           columns=across_panels, left=left)
        for axes, (label, cells) in zip(page.axes, shown):
            panel(page, axes, label, cells)
        return page

    table = [[label, common.exact(row), common.exact(column), n, common.exact(common.scaled(value, metric))]
             for label, cells in panels for (row, column), (value, n, *_) in cells.items()]
    unit = common.unit_of(metric)
    scale = "" if percent or unit in ("", common.title_of(metric)) else f" Unit: {unit}."
    more = f" {len(panels) - len(shown)} more panels are not drawn; the table has them." if len(panels) > len(shown) else ""
    return Figure("heat-map", f"Heat map: {common.title_of(metric)} over {down} and {across}",
                  f"Panels of cells, a panel a row; from {text_of(low)} to {text_of(high)}; each cell has its value and n.",
                  draw, ["row", down, across, "n", common.with_unit(metric)], table,
                  "Means over n seeds; brighter is more, one scale for all panels. \"skipped\": not in the design or not "
                  f"run.{scale}{more}")
