"""What every figure hands over, and the words that all of them use."""
import dataclasses

from . import sheet, statistics

METRICS = {"goodput": ("goodput", "share of chip-seconds"), "compute_utilization": ("compute utilization", "share"),
           "merged_share": ("merged share", "share of the work"), "uptime": ("uptime", "share of time"),
           "hidden_share": ("hidden share", "share of fragments"), "tokens_per_s": ("tokens/s", "tokens/s"),
           "loss.final": ("final loss", "nats per byte"), "time_to_loss_s": ("time to the target loss", "s"),
           "tokens_to_loss": ("tokens to the target loss", "tokens"),
           "cost_to_loss_usd": ("cost to the target loss", "USD")}
UNREACHED = ("time_to_loss_s", "tokens_to_loss", "cost_to_loss_usd")  # empty where a run ended above its target loss
UNITS = {"_s": "s", "_h": "h", "_gbps": "Gbit/s", "_bytes": "bytes", "_usd": "USD", "_kwh": "kWh", "_ms": "ms",
         "_steps": "steps", "_days": "days", "_min": "min", "_years": "years"}
MOST_TABLE_ROWS = 400


@dataclasses.dataclass
class Figure:
    """draw(width) → Sheet; columns and rows are the numbers that it shows."""
    name: str
    title: str
    description: str       # what a reader sees who cannot see it
    draw: object
    columns: list
    rows: list
    note: str = ""
    source: str = ""       # file with all the numbers, where `rows` are too many to print


class NotShown(str):
    """A sentence: which figure these data do not allow, and which run would."""


def title_of(metric):
    return METRICS.get(metric, (metric, ""))[0]


def axis_title(metric):
    name, unit = METRICS.get(metric, (metric, unit_of(metric)))
    return f"{name} ({unit})" if unit else name


def unit_of(name):
    return next((unit for end, unit in UNITS.items() if name.endswith(end)), "")


def swept_title(axis, pointers):
    """A swept axis with its unit, told by the key that it varies."""
    unit = unit_of(pointers[0].rsplit("/", 1)[-1]) if pointers else ""
    return f"{axis} ({unit})" if unit and not unit_of(axis) else (f"{axis} ({unit_of(axis)})" if unit_of(axis) else axis)


def is_share(metric):
    return metric.endswith("_share") or metric in ("goodput", "uptime", "compute_utilization")


def possible(interval, metric):
    """The interval without what no share can be: below 0, above 1."""
    if not is_share(metric) or interval is None or interval.low is None:
        return interval
    return statistics.Interval(interval.value, max(0.0, interval.low), min(1.0, interval.high), interval.n)


def seeds_of(some, rows):
    return f"{some} of {rows} seed{'s' if rows > 1 else ''}"


def exact(value):
    """A number of a data table: short, but no digit that a reader could miss."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def looks(names):
    return {name: sheet.Series(i) for i, name in enumerate(names)}


def join_names(names):
    names = list(names)
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
