"""What the rows of a run cost, and what the money that no useful step took went to."""
from . import statistics
from .reading import aimed, numbers, trained
from .sheet import number
from .verdict import three

LOST = "cost.lost_usd."
ROUNDING = 1e-6  # of a row's cost: less than that is what sums of floating-point numbers leave over


def has_costs(run):
    return any(row.get(key) is not None for row in run.rows for key in ("cost_usd", "energy_kwh"))


def mean(rows, metric):
    return statistics.mean(numbers(rows, metric).values())


def share_of(part, whole):
    if not part or not whole:
        return number(part)
    return f"{number(part)} ({100 * part / whole:.1f} %)" if abs(part) >= ROUNDING * abs(whole) else "0"


def to_target(rows):
    """Money until the target loss, and how many seeds missed it."""
    goals = aimed(rows)
    if not goals:
        return "no target" if trained(rows) else "not trained"
    reached = [row for row in goals if row.get("time_to_loss_s") is not None]
    usd = mean(reached, "cost_to_loss_usd")
    if not reached:
        return "not reached"
    if len(reached) == len(goals):
        return number(usd)
    return f"{number(usd)}, not reached in {len(goals) - len(reached)} of {len(goals)}"


def tables(run):
    """[(title, columns, rows)]; none for a run without prices and powers."""
    if not has_costs(run):
        return []
    with_target = trained(run.rows)
    columns = ["protocol", "cost, USD", "× base", "wasted, USD", "wasted, chip-h", "energy, kWh", "USD per Gtoken",
               *(["to target, USD"] if with_target else [])]
    out = []
    for name in run.shown:
        rows = run.by_protocol[name]
        cost = mean(rows, "cost_usd")
        out.append([name, number(cost), times_base(run, name), share_of(mean(rows, "wasted_cost_usd"), cost),
                    number(mean(rows, "wasted_chip_hours")), number(mean(rows, "energy_kwh")),
                    number(mean(rows, "cost_usd_per_1e9_tokens")),
                    *([to_target(rows)] if with_target else [])])
    return [("Money", columns, out), *by_cause(run)]


def times_base(run, name):
    ratio = statistics.of_json(run.comparison["protocols"][name].get("cost_ratio_at_equal_tokens"))
    if ratio is None or name == run.baseline:
        return "–" if ratio is None else "base"
    return three(ratio.value) + (f" [{three(ratio.low)}, {three(ratio.high)}]" if ratio.low is not None else " n = 1")


def by_cause(run):
    """A line a cause, a column a row of the scenario: there are more causes than rows."""
    known = [name for name in run.shown if mean(run.by_protocol[name], "cost.productive_usd") is not None]
    parts = ["cost.productive_usd", *(key for key in run.rows[0] if key.startswith(LOST)), "cost.wan_usd"]
    costs = {name: mean(run.by_protocol[name], "cost_usd") for name in known}
    used = [key for key in parts
            if any(abs(mean(run.by_protocol[name], key) or 0) >= ROUNDING * abs(costs[name] or 0) > 0 for name in known)]
    words = {"cost.productive_usd": "productive", "cost.wan_usd": "wide area"}
    words |= {key: "wasted: " + key.removeprefix(LOST + "wasted_").removeprefix(LOST).replace("_", " ") for key in used
              if key.startswith(LOST)}
    lines = [[words[key],
              *(share_of(mean(run.by_protocol[name], key) or 0, costs[name]) for name in known)] for key in used]
    total = [["cost", *(number(costs[name]) for name in known)]]
    return [("Where the money went, by cause (USD)", ["cause", *known], lines + total)] if lines else []


def notes(run):
    if not has_costs(run):
        return []
    prices = run.scenario.get("prices") or {}
    spot = prices.get("pricing") == "spot"
    key = "usd_per_chip_hour_spot" if spot else "usd_per_chip_hour"
    asked = {name: island[key] for name, island in run.scenario["islands"].items() if island.get(key) is not None}
    chips = ", ".join(f"{name} {usd:g}" for name, usd in list(asked.items())[:12]) or "none"
    text = (f"Money: means over the seeds; cost = chips (all allocated chip-hours × their {'spot' if spot else 'on-demand'} "
            f"price) + wide area (bytes that leave a region, at {prices.get('wan_usd_per_gib', 0):g} USD a GiB). Wasted: "
            "chip-hours that were not productive, by cause below, × the price of those chips; the wide area is apart from "
            "it. × base: cost at equal tokens, paired by seed [95 % interval]; a Gtoken is 1e9 net tokens.")
    text += f" USD a chip-hour: {chips}." if asked else " The price of a chip-hour is that of the device's catalog entry."
    assumed = [key for key in run.comparison.get("calibrated_keys", []) if "usd" in key or key.startswith("/prices")]
    text += f" Assumed, not quoted for this job: {', '.join(assumed)}." if assumed else ""
    return [text + " Energy is that of chips alone. Prices are inputs: no discount, host, storage or staff is in them."]
