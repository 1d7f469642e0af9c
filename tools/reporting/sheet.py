"""A figure of a given width in pixels, drawn twice (wide, narrow), and its SVG for a page or a file.

Colours are stand-ins while matplotlib draws; in the SVG they become CSS variables, so that one drawing is right on
light and on dark paper. Series differ by marker, dash and hatch as well as by colour. Causes of lost time have colours
of their own, for they stand beside series and are none.
"""
import html
import io
import re

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

WIDE, NARROW = 720, 360
INK, SOFT, GRID, PAPER = "#00000a", "#00000b", "#00000c", "#00000d"
SERIES = [f"#0000{16 + i:02x}" for i in range(8)]
PRODUCTIVE, NETWORK, WAITING, FAILURE, DEGRADED, SLICES, SAVING, OTHER = CAUSES = [f"#0000{24 + i:02x}" for i in range(8)]
MARKERS = "osD^vPX*"
DASHES = ["-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 2)),
          (0, (2, 2.5)), (0, (4, 1, 4, 3))]
# Series: Okabe and Ito's colours for the colour blind, darkened or lightened until 3:1 on their paper. Causes: Tol's muted
# ones, with grey for what is productive, which is no loss.
LIGHT = {"ink": "#1a1c20", "soft": "#565b64", "grid": "#d9dce1", "paper": "#ffffff",
         "s0": "#0072b2", "s1": "#c2510a", "s2": "#00835f", "s3": "#a8558a", "s4": "#9a6b00", "s5": "#2c8fc7",
         "s6": "#6b6f76", "s7": "#7a4fc0",
         "c0": "#8a909b", "c1": "#882255", "c2": "#999022", "c3": "#332288", "c4": "#3a9c8f", "c5": "#cc6677", "c6": "#5f3d22",
         "c7": "#4a4e57"}
DARK = {"ink": "#e9eaed", "soft": "#a9aeb8", "grid": "#3a3f49", "paper": "#15171c",
        "s0": "#5aaee8", "s1": "#f08a4b", "s2": "#3cc79b", "s3": "#e39ac6", "s4": "#e0ae3c", "s5": "#9bd3f5",
        "s6": "#9ea3ad", "s7": "#b69af0",
        "c0": "#656c78", "c1": "#d9749f", "c2": "#d6d06a", "c3": "#9a92ef", "c4": "#6fd0c3", "c5": "#f3a3b0", "c6": "#c99f78",
        "c7": "#c9cdd5"}
_NAMES = {INK: "ink", SOFT: "soft", GRID: "grid", PAPER: "paper", **{code: f"s{i}" for i, code in enumerate(SERIES)},
          **{code: f"c{i}" for i, code in enumerate(CAUSES)}}

matplotlib.rcParams.update({
    "text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "skerry", "font.family": "DejaVu Sans",
    "font.size": 11, "axes.titlesize": 11, "axes.labelsize": 11, "xtick.labelsize": 10.5, "ytick.labelsize": 10.5,
    "text.color": INK, "axes.labelcolor": INK, "axes.titlecolor": INK, "axes.edgecolor": SOFT,
    "xtick.color": SOFT, "ytick.color": SOFT, "xtick.labelcolor": INK, "ytick.labelcolor": INK, "grid.color": GRID,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
    "axes.facecolor": "none", "figure.facecolor": "none", "hatch.color": PAPER, "hatch.linewidth": 1.1,
    "axes.unicode_minus": False, "lines.linewidth": 1.7, "lines.markersize": 5.5, "path.simplify": False})


def palette(colours):
    return ";".join(f"--{name}:{code}" for name, code in colours.items())


def number(value):
    """For ticks and cells: three digits, thousands by comma, millions and more by letter."""
    if value is None:
        return "–"
    size = abs(value)
    for step, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if size >= step:
            return f"{value / step:.4g} {letter}"
    if size >= 99.95:
        return f"{value:,.0f}"
    if size < 0.001 and size > 0:
        return f"{value:.2g}"
    return f"{value:.3g}"


class Series:
    """How the i-th of several rows looks, everywhere in a report."""

    def __init__(self, index):
        self.colour = SERIES[index % 8]
        self.marker = MARKERS[index % 8]
        self.dash = DASHES[(index + index // 8) % 8]
        self.hatch = ["", "////", "....", "\\\\\\\\", "xxxx", "----", "||||", "++"][(index + index // 8) % 8]

    def line(self, **more):
        return {"color": self.colour, "linestyle": self.dash, "marker": self.marker, **more}


def swatch(colour, hatch=""):
    """How a filled thing looks, in a drawing and in its legend."""
    return {"facecolor": colour, "edgecolor": PAPER, "linewidth": 0, "hatch": hatch or None}


class Sheet:
    """Panels below or beside each other under a legend; all measures in pixels. legend: [(look, label)], a look
    being what Line2D or, with a facecolor, Rectangle takes."""

    def __init__(self, width, heights, *, columns=1, legend=(), left=58, right=22, bottom=44, top=28):
        self.width, self.narrow = width, width < 600
        columns = 1 if self.narrow else columns
        rows = [heights[i:i + columns] for i in range(0, len(heights), columns)]
        placed, legend_height = self._place(legend)
        tall = legend_height + sum(max(row) + top + bottom for row in rows)
        self.height = tall
        self.figure = Figure(figsize=(width / 72, tall / 72), dpi=72)
        FigureCanvasSVG(self.figure)
        self._draw_legend(placed)
        self.axes = []
        y = legend_height
        for row in rows:
            cell = width / columns
            for column, height in enumerate(row):
                box = (column * cell + left, tall - y - top - height, cell - left - right, height)
                self.axes.append(self.figure.add_axes([box[0] / width, box[1] / tall, box[2] / width, box[3] / tall]))
            y += max(row) + top + bottom
        self.panel_width = width / columns - left - right

    def title(self, axes, text):
        """Above a panel; from the left edge where there is no room to waste."""
        left = 6 - axes.get_position().x0 * self.width if self.narrow else 0
        axes.annotate(text, (0, 1), xycoords="axes fraction", xytext=(left, 6), textcoords="offset points",
                      va="bottom", annotation_clip=False)

    def _place(self, legend):
        placed, x, y = [], 6, 4
        for look, label in legend:
            wide = 38 + 6.9 * len(label)
            if x > 6 and x + wide > self.width - 4:
                x, y = 6, y + 18
            placed.append((look, label, x, y + 9))
            x += wide
        return placed, y + 22 if placed else 0

    def _draw_legend(self, placed):
        for look, label, x, y in placed:
            at_x, at_y, wide = x / self.width, 1 - y / self.height, 22 / self.width
            if "facecolor" in look:
                key = Rectangle((at_x, at_y - 5 / self.height), wide, 10 / self.height, **look)
            else:
                key = Line2D([at_x, at_x + wide / 2, at_x + wide], [at_y] * 3, markevery=[1], **look)
            key.set_transform(self.figure.transFigure)
            self.figure.add_artist(key)
            self.figure.text(at_x + 28 / self.width, at_y, label, va="center", ha="left")


def linear(axis, low=None, high=None, ticks=6, percent=False):
    axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g} %" if percent else number(value)))
    set_limits(axis, low, high)


def set_limits(axis, low, high):
    name = "x" if axis.axis_name == "x" else "y"
    setter = axis.axes.set_xlim if name == "x" else axis.axes.set_ylim
    setter(low, high)


def logarithmic(axis, values, ticks=6, at=None):
    """A log axis over positive values with plain numbers at 1, 2, 5 of each decade, or at the values themselves."""
    low, high = min(values), max(values)
    if low == high:
        low, high = low / 1.5, high * 1.5
    room = (high / low)**0.06
    low, high = low / room, high * room
    if axis.axis_name == "x":
        axis.axes.set_xscale("log")
    else:
        axis.axes.set_yscale("log")
    places = sorted(set(at)) if at else []
    if not places:
        for steps in ((1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
            places = [step * 10.0**power for power in range(-12, 19) for step in steps
                      if low <= step * 10.0**power <= high]
            if len(places) <= ticks:
                break
        while len(places) > ticks:
            places = places[::2]
    axis.set_major_locator(FixedLocator(places))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    set_limits(axis, low, high)


def svg_of(sheet, name, title, description, standalone=False, scheme=None):
    """The drawing as one <svg>. `name` makes its ids unique in the page; a standalone one has paper and colours of
    its own: both schemes, or the one given."""
    out = io.StringIO()
    sheet.figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.S)
    text = shortened_ids(text, name)
    text = re.sub(r"#0000[01][0-9a-f]\b", lambda hit: f"var(--{_NAMES[hit.group()]})" if hit.group() in _NAMES
                  else hit.group(), text)
    text = text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    text = re.sub(r"^ +", "", text, flags=re.M)
    head_end = text.index(">") + 1
    size = f' width="{sheet.width}" height="{sheet.height:g}"' if standalone else ""
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"{size} '
            f'viewBox="0 0 {sheet.width} {sheet.height:g}" role="img" aria-labelledby="{name}-t {name}-d">'
            f'<title id="{name}-t">{html.escape(title)}</title><desc id="{name}-d">{html.escape(description)}</desc>')
    if standalone:
        dark = "" if scheme else f"@media (prefers-color-scheme:dark){{svg{{{palette(DARK)}}}}}"
        head += (f"<style>svg{{{palette(scheme or LIGHT)}}}{dark}</style>"
                 '<rect width="100%" height="100%" style="fill:var(--paper)"/>')
    return head + text[head_end:].strip()


def shortened_ids(text, name):
    """Ids that nothing refers to go; the others get the figure's name, for several drawings stand in one page."""
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda hit: f' id="{name}-{hit.group(1)}"' if hit.group(1) in used else "", text)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", text)
