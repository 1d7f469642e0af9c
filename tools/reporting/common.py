"""What every figure hands over, and the words that all of them use."""
import dataclasses

from . import sheet, statistics

METRICS = {"goodput": ("goodput", "share of chip-seconds"), "compute_utilization": ("compute utilization", "share"),
           "merged_share": ("merged share", "share of the work"), "uptime": ("uptime", "share of time"),
           "hidden_share": ("hidden share", "share of fragments"), "tokens_per_s": ("tokens/s", "tokens/s"),
           "loss.final": ("final loss", "nats per byte"), "time_to_loss_s": ("time to the target loss", "h"),
           "tokens_to_loss": ("tokens to the target loss", "tokens"),
           "cost_to_loss_usd": ("cost to the target loss", "USD"), "cost_usd": ("cost", "USD"),
           "cost_usd_per_1e9_tokens": ("cost of 1e9 tokens", "USD per 1e9 tokens"), "energy_kwh": ("energy", "kWh"),
           "wasted_cost_usd": ("wasted cost", "USD"), "wasted_chip_hours": ("wasted chip-hours", "chip-hours"),
           "step_interval_s.mean": ("step interval", "s"), "wan.bytes": ("bytes over the wide area", "bytes")}
UNREACHED = ("time_to_loss_s", "tokens_to_loss", "cost_to_loss_usd")  # empty where a run ended above its target loss
UNITS = {"_s": "s", "_h": "h", "_gbps": "Gbit/s", "bytes": "bytes", "_usd": "USD", "_kwh": "kWh", "_ms": "ms",
         "_steps": "steps", "_days": "days", "_min": "min", "_years": "years", "chip_hours": "chip-hours",
         "chip_seconds": "chip-seconds"}
RATES = {"cost_usd_per_1e9_tokens": "USD per 1e9 tokens", "usd_per_chip_hour": "USD per chip-hour",
         "usd_per_chip_hour_spot": "USD per chip-hour", "wan_usd_per_gib": "USD per GiB"}
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
    return f"{name} ({unit})" if unit and not name.endswith(unit) else name


def unit_of(name):
    """The unit of a key or of a column of the tables ("step_interval_s.mean"), as this report shows it; shares have none."""
    if name in METRICS:
        return "" if is_share(name) else METRICS[name][1]
    for part in reversed(name.split(".")):
        if part in RATES:
            return RATES[part]
        if "_per_" not in part and (unit := next((unit for end, unit in UNITS.items() if part.endswith(end)), "")):
            return unit
    return ""


def factor_of(metric):
    """What a report shows is the table's number times this: shares in %, times to a loss in hours."""
    return 100 if is_share(metric) else 1 / 3600 if metric == "time_to_loss_s" else 1


def with_unit(metric):
    """The name of a column in the unit of the report."""
    return f"{metric}, %" if is_share(metric) else f"{metric.removesuffix('_s')}, h" if metric == "time_to_loss_s" else metric


def difference_unit(metric):
    return "points of %" if is_share(metric) else unit_of(metric)


def difference_title(metric):
    unit = difference_unit(metric)
    return f"{title_of(metric)} ({unit})" if unit else title_of(metric)


def scaled(value, metric):
    return None if value is None else factor_of(metric) * value


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
