"""The comparison table of a run, the pivot tables of a sweep, and the facts beside them."""
import fnmatch

from . import common, statistics, sweep_figures
from .reading import aimed, numbers, trained
from .sheet import number
from .sweep_figures import word
from .verdict import three

PORTS = ("port_gbps", "up_gbps", "down_gbps")


def share(rows, causes):
    return statistics.mean(sum(row.get(f"chip_seconds.lost.{cause}") or 0 for cause in causes) / row["chip_seconds.total"]
                           for row in rows)


def all_causes(rows):
    return [key.rsplit(".", 1)[-1] for key in rows[0] if key.startswith("chip_seconds.lost.")]


def comparison(run):
    """(columns, rows): as `skerry show` prints them; means over the seeds."""
    columns = ["protocol", "ktok/s", "× base", "95 %", "good%", "wan%", "wait%", "fault%", "merged%", "stale", "loss",
               "− base", "seeds"]
    out = []
    for name in run.shown:
        rows = run.by_protocol[name]
        entry = run.comparison["protocols"][name]
        ratio = statistics.of_json(entry.get("tokens_per_s_ratio"))
        loss = statistics.of_json(entry.get("loss_final_difference"))
        base = name == run.baseline
        waits, wan = ("straggler_wait", "waiting_for_quorum"), ("exposed_communication",)
        faults = [cause for cause in all_causes(rows) if cause not in waits + wan]
        merged = statistics.mean(numbers(rows, "merged_share").values())
        never = run.scenario["protocols"].get(name, {}).get("learner_waits") == "never"
        odd = any(row.get("status") in ("time_cap", "diverged") for row in rows)
        syncer = any(row.get("syncer_steps") for row in rows)
        stale = numbers(rows, "stale_steps.mean").values()
        final = entry.get("loss_final")
        out.append([
            name + ("^" if odd else ""), number(statistics.mean(numbers(rows, "tokens_per_s").values()) / 1000),
            "base" if base else three(ratio.value) if ratio else "–",
            "" if base or not ratio or ratio.low is None else f"{three(ratio.low)} to {three(ratio.high)}",
            f"{100 * statistics.mean(numbers(rows, 'goodput').values()):.1f}",
            f"{100 * share(rows, wan):.1f}" + ("*" if never else ""), f"{100 * share(rows, waits):.1f}",
            f"{100 * share(rows, faults):.1f}", "–" if merged is None else f"{100 * merged:.1f}",
            f"{statistics.mean(stale):.1f}" if syncer and stale else "–",
            f"{final:.3f}" if isinstance(final, float) else "–",
            "base" if base and isinstance(final, float) else f"{loss.value:+.3f}" if loss else "–",
            f"{len(rows)} ({run.failed[name]} failed)" if run.failed[name] else len(rows)])
    out += [[name, "failed", *["–"] * (len(columns) - 3), f"0 ({run.failed[name]} failed)"] for name in run.protocols
            if name not in run.shown and run.failed[name]]
    if all(row[10] == "–" for row in out):
        columns, out = columns[:10] + columns[12:], [row[:10] + row[12:] for row in out]
    return columns, out


def notes(run):
    text = ["Means over the seeds. × base: ratio of tokens/s to the baseline, paired by seed (geometric mean, Student t on "
            "log ratios). good%, wan%, wait% and fault% add up to 100."]
    if any(run.scenario["protocols"].get(name, {}).get("learner_waits") == "never" for name in run.shown):
        text.append("* learners never wait in this protocol, so wan% is 0 by rule; its cost is in merged% and stale.")
    if any(row.get("status") in ("time_cap", "diverged") for row in run.rows):
        text.append("^ some runs of this row hit the time cap or diverged.")
    return text


def pivots(sweep):
    """[(metric, columns, rows)] with mean, interval and n in each cell."""
    table = sweep.design.get("table") or {}
    groups = (*sweep.groups, *sweep.failed_groups)
    axes = [axis for axis in sweep.axes if len({str(group.point[axis]) for group in groups}) > 1]
    columns = table.get("columns") or (axes[-1] if axes else "protocol")
    rows = [name for name in table.get("rows", ["protocol"]) if name != columns]
    rows += [name for name in ["protocol", *axes] if name not in rows and name != columns]

    def part(group, name):
        return group.protocol if name == "protocol" else group.point.get(name)

    across = list(dict.fromkeys(part(group, columns) for group in groups))
    out = []
    for metric in table.get("cells") or ["goodput", "tokens_per_s"]:
        lines = {}
        for group in groups:
            key = tuple(part(group, name) for name in rows)
            lines.setdefault(key, {})[part(group, columns)] = cell_of(group, metric, sweep.pending)
        out.append((metric, [*rows, *(word(v) if columns == "protocol" else f"{columns} {word(v)}" for v in across)],
                    [[*(word(v) for v in key), *(cells.get(v, "–") for v in across)] for key, cells in lines.items()]))
    return out


def cell_of(group, metric, pending):
    """pending: the sweep has no tables yet, in which alone a time to a loss stands."""
    if not group.rows:
        return f"failed in {common.seeds_of(group.failed, group.failed)}" if group.failed > 1 else "failed"
    values = common.possible(statistics.mean_interval(group.values(metric).values()), metric)
    missed = group.missed() if metric in common.UNREACHED else 0
    if pending and metric in common.UNREACHED:
        return "not worked out yet"
    if not values and metric in common.UNREACHED and trained(group.rows) and not aimed(group.rows):
        return "no target"
    if not values:
        return "not reached" if missed else "–"
    factor, text = common.factor_of(metric), (lambda v: f"{v:.1f}") if common.is_share(metric) else number
    sign = " %" if common.is_share(metric) else ""
    span = "" if values.low is None else f" [{text(factor * values.low)}, {text(factor * values.high)}]"
    seeds = f"n={values.n}" + (f" of {len(group.rows)}" if values.n < len(group.rows) else "")
    seeds += f", not reached in {missed} of {len(aimed(group.rows))}" if missed else ""
    seeds += f", failed in {group.failed} of {len(group.rows) + group.failed}" if group.failed else ""
    return f"{text(factor * values.value)}{sign}{span} {seeds}"


def transport(scenario, swept=()):
    """What the network was, for the facts below the table. swept: [(pointer, the values that a sweep gave it)]."""
    def is_swept(*path):
        return any(covers(pointer, path) for pointer, _ in swept)

    words = [f"{key} {value}" for key, value in (scenario.get("transport") or {}).items()
             if not isinstance(value, dict) and not is_swept("transport", key)]
    ports = [f"{name} {port_of(region)}" for name, region in (scenario.get("regions") or {}).items()
             if not any(is_swept("regions", name, key) for key in PORTS)]
    keys = [f"{pointer}: swept, {span}" for pointer, span in swept if pointer.startswith(("/transport", "/links"))]
    parts = [", ".join(words) or ("" if keys else "transport: defaults"),
             "ports: " + ", ".join(ports[:24]) + (f" and {len(ports) - 24} more" if len(ports) > 24 else "") if ports else "",
             *swept_ports(scenario, swept), *keys]
    return "; ".join(part for part in parts if part)


def swept_ports(scenario, swept):
    """A text for each set of ports that was swept alike."""
    alike, regions = {}, scenario.get("regions") or {}
    for pointer, span in swept:
        names = [name for name in regions if any(covers(pointer, ("regions", name, key)) for key in PORTS)]
        if names:
            alike.setdefault((pointer.rsplit("/", 1)[-1], span), []).extend(names)
    out = []
    for (key, span), names in alike.items():
        which = "" if len(set(names)) == len(regions) else f" of {common.join_names(names)}"
        out.append(f"ports{which}{'' if key == 'port_gbps' else f' ({key})'}: swept, {span}")
    return out


def covers(pointer, path):
    """Does a swept pointer, with * for any name, set what stands at this path?"""
    steps = pointer.strip("/").split("/")
    return len(steps) <= len(path) and all(fnmatch.fnmatchcase(name, step) for step, name in zip(steps, path))


def swept(sweep):
    """[(pointer, its values in words)]"""
    out = []
    for axis, at in sweep.axes.items():
        values = sweep_figures.values_of(sweep, axis)
        for pointer in at:
            unit = f" {common.unit_of(pointer.rsplit('/', 1)[-1])}".rstrip()
            numeric = sweep_figures.is_numeric(sweep, axis)
            span = (word(values[0]) if len(values) == 1 else f"{word(min(values))} to {word(max(values))}") + unit \
                if numeric else ", ".join(word(value) for value in values[:8])
            out.append((pointer, span))
    return out


def port_of(region):
    if "port_gbps" in region:
        return f"{region['port_gbps']:g} Gbit/s"
    if "up_gbps" in region or "down_gbps" in region:
        return f"{region.get('up_gbps', 'ideal')} up, {region.get('down_gbps', 'ideal')} down Gbit/s"
    return "ideal"


def width_of(columns, rows):
    """About how many characters a line of a table takes."""
    return sum(2 + max([len(str(name)), *(len(str(row[i])) for row in rows)]) for i, name in enumerate(columns))


def versions(manifest):
    """[(name, value)] of what made the results."""
    keys = ("scenario", "sweep", "hash", "commit", "version", "machine", "isa", "began", "ended", "tapes_from")
    out = [(key, manifest[key]) for key in keys if manifest.get(key)]
    return out + [(f"version of {key}", value) for key, value in (manifest.get("versions") or {}).items()]
