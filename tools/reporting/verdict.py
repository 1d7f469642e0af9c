"""What the numbers say, in plain sentences: no more than their intervals support."""
import math

from . import common, statistics
from .reading import aimed, missed, numbers, trained
from .sheet import number
from .sweep_figures import label_of, metric_of, values_of

MOST_NAMED = 6  # combinations that missed a target


def within(interval, text=number, unit=""):
    if interval.low is None:
        return f"(n = {interval.n}, no interval)"
    return f"(95 % interval {text(interval.low)} to {text(interval.high)}{unit}, n = {interval.n})"


def three(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def percent(value):
    return f"{100 * value:.1f}"


def equal(a, b):
    return abs(a - b) <= 1e-9 * abs(b)


def speeds(run):
    means = {name: statistics.mean(numbers(run.by_protocol[name], "tokens_per_s").values()) for name in run.shown}
    return sorted(means.items(), key=lambda pair: -pair[1])


def fastest(run):
    order = speeds(run)
    first, speed = order[0]
    rows = {name: numbers(run.by_protocol[name], "tokens_per_s") for name in run.shown}
    same = [name for name, value in order if equal(value, speed)]
    over = f"{number(speed)} tokens/s over {len(rows[first])} seed{'s' if len(rows[first]) > 1 else ''}"
    if len(same) > 1:
        out = [f"{common.join_names(same)} have the same mean throughput, {over}" + (
            "." if len(same) == len(order) else ": no other row has more.")]
        order = order[:1] + order[len(same):]
    else:
        out = [f"{first} has the highest mean throughput, {over}."]
    it = "It" if len(same) == 1 else first
    compared = [run.baseline] + ([order[1][0]] if len(order) > 1 and order[1][0] != run.baseline else [])
    for other in compared:
        if other in same or other not in rows:
            continue
        ratio = statistics.ratio_interval(rows[first], rows[other])
        what = f"the baseline {other}" if other == run.baseline else f"the second, {other}"
        if ratio is None:
            out.append(f"{it} shares no seed with {what}.")
        elif ratio.low is None:
            out.append(f"{it} makes {three(ratio.value)} times the tokens/s of {what} in the one seed that both ran: "
                       "no interval, so this is no law.")
        elif ratio.excludes(1):
            out.append(f"{it} makes {three(ratio.value)} times the tokens/s of {what} {within(ratio, three)}.")
        else:
            out.append(f"{it} is not told apart from {what}: ratio {three(ratio.value)} {within(ratio, three)}.")
    if run.baseline in same:
        out.append("It is the baseline itself." if len(same) == 1 else f"{run.baseline} is the baseline.")
    return " ".join(out)


def productive(run):
    first = speeds(run)[0][0]
    names = [first] + [run.baseline] * (run.baseline != first and run.baseline in run.shown)
    said = []
    for name in names:
        interval = common.possible(statistics.mean_interval(numbers(run.by_protocol[name], "goodput").values()), "goodput")
        said.append(f"{percent(interval.value)} % in {name} {within(interval, percent, ' %')}")
    text = f"Goodput, the productive share of all chip-seconds: {common.join_names(said)}."
    if run.scenario["protocols"].get(first, {}).get("learner_waits") == "never":
        merged = statistics.mean(numbers(run.by_protocol[first], "merged_share").values())
        if merged is not None:
            text += (f" The learners of {first} never wait, so its goodput does not feel the network; what it pays is "
                     f"that {percent(merged)} % of its work entered a merge.")
    return text + " Goodput here includes the wide-area network."


def to_target(run):
    if not trained(run.rows):
        return "Nothing was trained: there is no loss and no time to a target."
    rows = {name: aimed(run.by_protocol[name]) for name in run.shown}
    rows = {name: mine for name, mine in rows.items() if mine}
    if not rows:
        return f"There is no target, since the baseline {run.baseline} has no final loss."
    hours = {name: {seed: s / 3600 for seed, s in numbers(mine, "time_to_loss_s").items()} for name, mine in rows.items()}
    whole = sorted((name for name in rows if len(hours[name]) == len(rows[name])),
                   key=lambda name: statistics.mean(hours[name].values()))
    partly = [name for name in rows if hours[name] and name not in whole]
    never = [name for name in rows if not hours[name]]
    targets = {row["target_loss"] for mine in rows.values() for row in mine}
    goal = f"The target loss of {min(targets):.3f} nats per byte" if len(targets) == 1 else "The target loss of each seed"
    out = first_there(run, goal, whole, hours) if whole else [
        f"{goal} was not reached in all seeds by any row." if partly else "No trained row reached the target loss by the end "
        "of its run."]
    if partly:
        said = [f"{name} in {common.seeds_of(len(hours[name]), len(rows[name]))} (mean of "
                f"{'those' if len(hours[name]) > 1 else 'that one'} {three(statistics.mean(hours[name].values()))} h)"
                for name in partly]
        out.append(f"Reached in some seeds only, so not ranked: {common.join_names(said)}.")
    if never and (whole or partly):
        out.append(f"Not reached by the end of their runs: {common.join_names(never)}.")
    out.append("Read times to a loss as ratios between rows only: a small model stands for the large one.")
    return " ".join(out)


def first_there(run, goal, whole, hours):
    """Of the rows that reached it in all seeds, the earliest first."""
    mean = statistics.mean(hours[whole[0]].values())
    same = [name for name in whole if equal(statistics.mean(hours[name].values()), mean)]
    seeds = len(hours[whole[0]])
    out = [f"{goal} is reached first by {common.join_names(same)}, after {three(mean)} h"
           f"{' in the one trained seed' if seeds == 1 else f' (mean of all {seeds} seeds)'}."]
    it = "That" if len(same) == 1 else f"For {same[0]} that"
    if run.baseline in same or run.baseline not in hours:
        return out
    if run.baseline not in whole:
        return out + [f"The baseline {run.baseline} did not reach it in every seed, so there is no ratio to it."]
    sooner = statistics.ratio_interval(hours[run.baseline], hours[same[0]])
    if sooner and (sooner.low is None or sooner.excludes(1)):
        out.append(f"{it} is {three(sooner.value)} times sooner than {run.baseline} {within(sooner, three)}.")
    elif sooner:
        out.append(f"{it} is not told apart from {run.baseline}: {three(sooner.value)} times {within(sooner, three)}.")
    return out


def money_to_target(run):
    """The cheapest way to the target beside the fastest, of rows that reached it in all seeds and have a cost to it."""
    known = {}
    for name in run.shown:
        goals = aimed(run.by_protocol[name])
        hours, usd = (numbers(goals, metric) for metric in ("time_to_loss_s", "cost_to_loss_usd"))
        if goals and len(hours) == len(usd) == len(goals):
            known[name] = (hours, usd)
    if not known:
        return None
    dear = {name: statistics.mean(usd.values()) for name, (_, usd) in known.items()}
    late = {name: statistics.mean(hours.values()) / 3600 for name, (hours, _) in known.items()}
    cheapest, fast = min(dear, key=dear.get), min(late, key=late.get)
    text = (f"To the target loss {cheapest} costs least: {three(dear[cheapest])} USD, in {three(late[cheapest])} h"
            f" ({over_seeds(len(known[cheapest][1]))})")
    text += ", and is the fastest as well." if fast == cheapest else \
        f"; the fastest, {fast}, costs {three(dear[fast])} USD and takes {three(late[fast])} h."
    if len(known) == 1:
        text += " No other row reached it in all seeds with a known cost."
    elif run.baseline in known and run.baseline != cheapest:
        ratio = statistics.ratio_interval(known[cheapest][1], known[run.baseline][1])
        unsure = ratio and ratio.low is not None and not ratio.excludes(1)
        text += (f" {cheapest} costs {three(ratio.value)} times what the baseline {run.baseline} costs "
                 f"({three(dear[run.baseline])} USD) {within(ratio, three)}{', not told apart' if unsure else ''}."
                 if ratio else "")
    return text


def over_seeds(count):
    return "one seed" if count == 1 else f"means of all {count} seeds"


def final_losses(run):
    said = []
    for name, row in run.comparison["protocols"].items():
        difference = statistics.of_json(row.get("loss_final_difference"))
        if name == run.baseline or difference is None or name not in run.curves:
            continue
        unsure = "" if difference.low is None or difference.excludes(0) else ", not told apart"
        said.append((name, difference, unsure))
    if not said:
        return None
    n = {difference.n for _, difference, _ in said}
    if n == {1}:
        inside = ", ".join(f"{name} {difference.value:+.3f}" for name, difference, _ in said)
        return (f"Final loss minus that of {run.baseline} (nats per byte): {inside}. One trained seed: no interval, so small "
                "differences say nothing.")
    inside = "; ".join(f"{name} {difference.value:+.3f} {within(difference, lambda v: f'{v:+.3f}')}{unsure}"
                       for name, difference, unsure in said)
    return f"Final loss minus that of {run.baseline} (nats per byte): {inside}."


def assumptions(run):
    keys = run.comparison.get("calibrated_keys", [])
    text = f"{len(keys)} inputs in use are calibrated or assumed, not measured: {', '.join(keys)}." if keys else \
        "No input in use is marked as calibrated or assumed."
    plan = run.comparison.get("plan", {})
    single = [name for name, part in plan.items() if part.get("planned") == len(run.seeds)
              and not part.get("expected_at_nominal_rate")]
    if single:
        text += f" Scripted, one event a seed: {', '.join(single)}. That is an event, not a law."
    return text


def claims(run):
    expect = run.comparison.get("expect", [])
    if not expect:
        return None
    if not run.comparison.get("expect_applied", True):
        return "The scenario's own claims (expect) were not applied."
    unmet = [f"{claim['protocol']} {claim['metric']}" for claim in expect if claim.get("verdict") != "met"]
    if not unmet:
        return f"All {len(expect)} claims of the scenario (expect) were met." if len(expect) > 1 else \
            "The one claim of the scenario (expect) was met."
    return (f"{len(unmet)} of {len(expect)} claim{'s' if len(expect) > 1 else ''} of the scenario (expect) "
            f"{'were' if len(unmet) > 1 else 'was'} not met: {', '.join(unmet)}.")


def books(run):
    flagged = [f"{row['protocol']} seed {row['seed']}" for row in run.rows if row.get("flagged")]
    worst = max((abs(row.get("closure_chip_seconds") or 0) for row in run.rows), default=0)
    text = f"Books: productive time and all causes add up to the allocated chip-seconds within {worst:.0e}."
    return text + (f" Flagged, more than 1 % unexplained: {', '.join(flagged)}." if flagged else "")


def ends(rows_by_name):
    """A sentence on runs that did not end as asked."""
    said = []
    for status, words in (("time_cap", "hit the time cap"), ("diverged", "diverged")):
        hit = [f"{name} ({count})" for name, rows in rows_by_name.items()
               if (count := sum(row.get("status") == status for row in rows))]
        if hit:
            said.append(f"Runs that {words}: {', '.join(hit)}.")
    return " ".join(said) or None


def of_run(run):
    return [text for text in (fastest(run), productive(run), to_target(run), money_to_target(run),
                              final_losses(run), assumptions(run),
                              claims(run), ends(run.by_protocol), books(run)) if text]


def of_sweep(sweep):
    metric = metric_of(sweep)
    told = [axis for axis in sweep.axes if len(values_of(sweep, axis)) > 1]
    low_is_good = metric.startswith(("cost", "wasted", "energy", "step_interval", "chip_seconds.lost", "stale")) \
        or "loss" in metric or metric.endswith(("_usd", "_kwh", "bytes"))
    scored = [(label_of(g.protocol, g.point, told), g, statistics.mean_interval(g.values(metric).values()))
              for g in sweep.groups]
    partly = [s for s in scored if metric in common.UNREACHED and s[1].missed()]
    scored = [s for s in scored if s not in partly]
    scored = [(label, group, common.possible(interval, metric)) for label, group, interval in scored]
    scored = sorted((s for s in scored if s[2]), key=lambda s: s[2].value if low_is_good else -s[2].value)
    text = percent if common.is_share(metric) else lambda value: number(common.scaled(value, metric))
    unit = " %" if common.is_share(metric) else f" {common.unit_of(metric)}".rstrip()
    name = common.title_of(metric)
    runs, seeds = len(sweep.rows), sorted({len(g.rows) for g in sweep.groups})
    out = [f"{runs} points: {len(sweep.groups)} combinations of row and swept keys, "
           f"{seeds[0]}{f' to {seeds[-1]}' if len(seeds) > 1 else ''} seed{'s' if seeds[-1] > 1 else ''} each. Nothing "
           "is averaged but seeds."]
    if scored:
        first, last = scored[0], scored[-1]
        out.append(f"{'Lowest' if low_is_good else 'Highest'} mean {name}: {first[0]} with {text(first[2].value)}{unit} "
                   f"{within(first[2], text, unit)}; {'highest' if low_is_good else 'lowest'}: {last[0]} with "
                   f"{text(last[2].value)}{unit} {within(last[2], text, unit)}."
                   + tied(scored))
    if partly:
        which = [f"{label}: not reached in {group.missed()} of {len(aimed(group.rows))}" for label, group, _ in partly]
        more = f"; and {len(which) - MOST_NAMED} more" if len(which) > MOST_NAMED else ""
        out.append(f"Not every seed reached the target loss in {len(partly)} of {len(sweep.groups)} combinations, which are not "
                   "ranked here: a mean over those that did would flatter them"
                   f" ({'; '.join(which[:MOST_NAMED])}{more}).")
    out += money_of_sweep(sweep, told)
    out += on_targets(sweep, metric)
    out += by_pairs(sweep, metric, name, told)
    rows = {}
    for group in sweep.groups:
        rows.setdefault(group.protocol, []).extend(group.rows)
    return [sentence for sentence in (*out, ends(rows)) if sentence]


def money_of_sweep(sweep, told):
    """The combination that reaches its target loss for the least money, beside the one that does so first."""
    known = []
    for group in sweep.groups:
        goals = aimed(group.rows)
        hours, usd = (numbers(goals, column) for column in ("time_to_loss_s", "cost_to_loss_usd"))
        if goals and len(hours) == len(usd) == len(goals):
            known.append((label_of(group.protocol, group.point, told), statistics.mean(hours.values()) / 3600,
                          statistics.mean(usd.values())))
    if len(known) < 2:
        return []
    cheapest, fast = min(known, key=lambda k: k[2]), min(known, key=lambda k: k[1])
    return [f"Of the {len(known)} combinations that reached the target loss in every seed, {cheapest[0]} costs least: "
            f"{three(cheapest[2])} USD, in {three(cheapest[1])} h"
            + (", and is the fastest as well." if cheapest is fast else
               f"; the fastest, {fast[0]}, costs {three(fast[2])} USD and takes {three(fast[1])} h.")]


def on_targets(sweep, metric):
    """Where the table asks for times to a loss, and there are none."""
    asked = [cell for cell in (sweep.design.get("table") or {}).get("cells") or [] if cell in common.UNREACHED]
    if not asked or metric in asked or not trained(sweep.rows):
        return []
    if sweep.pending:
        return ["Times and costs to the target loss are not worked out yet: they stand in the tables of a finished sweep."]
    if not aimed(sweep.rows):
        return ["There is no target loss, since the baseline has no final loss."]
    lost = len(missed(sweep.rows))
    return [f"The target loss was not reached in {lost} of {len(aimed(sweep.rows))} trained points."] if lost else []


def tied(scored):
    same = sum(equal(s[2].value, scored[0][2].value) for s in scored) - 1
    return f" {same} other{'s have' if same > 1 else ' has'} the same value as the first." if 0 < same < len(scored) - 1 \
        else ""


def by_pairs(sweep, metric, name, told):
    """For each row: at how many points its interval says that it differs from the baseline, and the range."""
    out = []
    for protocol in sweep.protocols:
        found = [statistics.of_json((g.paired["metrics"].get(metric) or {}).get("ratio")) for g in sweep.groups
                 if g.protocol == protocol and g.paired and protocol != sweep.baseline
                 and not (metric in common.UNREACHED and g.missed())]
        found = [f for f in found if f and math.isfinite(f.value)]
        if not found:
            continue
        above, below = (sum(f.low is not None and test(f) for f in found)
                        for test in (lambda f: f.low > 1, lambda f: f.high < 1))
        unsure = len(found) - above - below
        ratios = sorted(f.value for f in found)
        low, high = three(ratios[0]), three(ratios[-1])
        span = low if low == high else f"{low} to {high}"
        without = sum(f.low is None for f in found)
        text = f"{protocol} has {span} times the {name} of {sweep.baseline} {over_combinations(len(found))}, paired by seed"
        if without == len(found):
            out.append(f"{text}; one seed each, so without intervals.")
            continue
        out.append(f"{text}. {told_apart(len(found), above, below, unsure)}"
                   + (f" ({without} with one seed, so without an interval)." if without else "."))
    return out


def over_combinations(count):
    return "at one combination" if count == 1 else f"over {count} combinations"


def told_apart(count, above, below, unsure):
    """What the 95 % intervals of `count` combinations say."""
    if count == 1:
        return "The 95 % interval says " + ("more" if above else "less" if below else "neither more nor less")
    parts = [(some, words) for some, words in ((above, "more"), (below, "less"), (unsure, "neither more nor less")) if some]
    if len(parts) == 1:
        return f"The 95 % intervals of {'both' if count == 2 else f'all {count}'} say {parts[0][1]}"
    said = [f"{some} say{'s' if some == 1 else ''} {words}" for some, words in parts]
    return f"Of their 95 % intervals {common.join_names(said)}"
