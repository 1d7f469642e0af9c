"""One fault on one time axis: learners of all regions, the syncer's windows and merges, from the tape of one seed."""
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator

from . import sheet
from .common import Figure, NotShown
from .run_figures import CAUSES

AROUND_S = 120.0
MOST_LEARNERS = 24
KINDS = ("region_dark", "island_down", "partition", "shard_lost", "hang", "straggler", "link_cut", "link_slow",
         "corruption", "storage_slow", "slice_down")  # the largest first
FACTS = ("steps", "cut_step", "phase", "fault", "repaired", "close", "merge", "copy", "join", "leave", "lost")
LOOKS = {"inner step": CAUSES["productive"], "step that is lost": CAUSES["wasted_progress"],
         **{cause: CAUSES[cause] for cause in ("exposed_communication", "straggler_wait", "waiting_for_quorum", "down",
                                               "infrastructure_recovery", "checkpoint_restore", "slice_down", "scale_up",
                                               "checkpoint_save", "other")},
         "quorum window": (sheet.WAITING, "...."), "grace window": (sheet.DEGRADED, "\\\\\\\\"),
         "merge (transfer)": (sheet.OTHER, "")}


class Window:
    """What happens in [low, high]: spans by lane and look, instants."""

    def __init__(self, run, facts, low, high):
        self.low, self.high = low, high
        self.spans, self.boundaries, self.merges, self.closes, self.marks = {}, {}, [], [], []
        names = [name for name, _ in run.learners()]
        for fact in facts:
            self._take(fact, names)

    def span(self, lane, look, t0, t1):
        t0, t1 = max(t0, self.low), min(t1, self.high)
        if t1 > t0:
            self.spans.setdefault((lane, look), []).append((t0, t1))

    def _take(self, fact, names):
        kind = fact["f"]
        if kind == "steps":
            self._steps(fact, names[fact["learner"]])
        elif kind == "cut_step":
            self.span(names[fact["learner"]], "step that is lost" if fact["lost"] else "inner step", fact["t0"],
                      fact["t1"])
        elif kind == "phase":
            self.span(names[fact["learner"]], fact["cause"], fact["t0"], fact["t1"])
        elif kind == "close":
            grace = fact["t"] - fact["grace_s"]
            self.span("collection", "quorum window", grace - fact["waited_s"], grace)
            self.span("collection", "grace window", grace, fact["t"])
            if self.low < fact["t"] < self.high:
                self.closes.append(fact["t"])
        elif kind == "merge" and fact["t"] > self.low and fact["began"] < self.high:
            self.merges.append((fact["began"], fact["t"], fact["participants"]))
        elif kind in ("fault", "repaired", "join") and self.low <= fact["t"] <= self.high and fact["t"] > 0:
            self.marks.append(fact)

    def _steps(self, fact, lane):
        t0, t1, n = fact["t0"], fact["t1"], fact["n"]
        if t1 <= self.low or t0 >= self.high:
            return
        each = (t1 - t0) / n
        if each < AROUND_S / 150:  # thinner than two pixels
            self.span(lane, "inner step", t0, t1)
            return
        first, last = max(0, int((self.low - t0) / each) - 1), min(n, int((self.high - t0) / each) + 2)
        waits = (("straggler_wait", fact["straggler_wait_s"]), ("exposed_communication", fact["exposed_s"]))
        if not any(seconds for _, seconds in waits):
            self.span(lane, "inner step", t0, t1)
        for i in range(first, last):
            at = t0 + i * each
            if self.low < at < self.high:
                self.boundaries.setdefault(lane, []).append(at)
            if any(seconds for _, seconds in waits):
                self.span(lane, "inner step", at, at + fact["compute_s"])
                at += fact["compute_s"]
                for cause, seconds in waits:
                    self.span(lane, cause, at, at + seconds)
                    at += seconds


def lanes_of(merges):
    """Merges that overlap get lanes of their own: [(t0, t1, participants, lane)]."""
    ends, placed = [], []
    for t0, t1, participants in sorted(merges):
        lane = next((i for i, end in enumerate(ends) if end <= t0 + 1e-9), len(ends))
        ends[lane:lane + 1] = [t1]
        placed.append((t0, t1, participants, lane))
    return placed, len(ends)


def bars(axes, spans, y, height, look):
    vertices, codes = [], []
    for t0, t1 in spans:
        vertices += [(t0, y), (t1, y), (t1, y + height), (t0, y + height), (t0, y)]
        codes += [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    axes.add_patch(PathPatch(Path(vertices, codes), **sheet.swatch(*look)))


def ticked(axes, dates, y, colour):
    points = [point for at in dates for point in ((at, y), (at, y + 0.82), (None, None))]
    axes.plot([x for x, _ in points], [y for _, y in points], color=colour, linewidth=1)


def target_name(run, target):
    learners = run.learners()
    if target.get("kind") == "region":
        return list(run.scenario["regions"])[target["index"]]
    if target.get("kind") in ("learner", "slice", "island") and target.get("index", -1) < len(learners):
        return learners[target["index"]][0] + (f"/slice.{target['part'] + 1}" if target["kind"] == "slice" else "")
    return target.get("kind", "something")


def hit_learners(run, target):
    learners = run.learners()
    if target.get("kind") == "region":
        place = list(run.scenario["regions"])[target["index"]]
        return [i for i, (_, region) in enumerate(learners) if region == place]
    return [target["index"]] if target.get("kind") in ("learner", "slice", "island") else []


def choose(run):
    """(protocol, seed, facts, fault): the fastest row with a tape that a fault hit, and its largest kind of fault."""
    def speed(name):
        rows = run.by_protocol[name]
        return sum(row["tokens_per_s"] for row in rows) / len(rows)

    kept = False
    for name in sorted(run.shown, key=speed, reverse=True):
        if run.scenario["protocols"].get(name, {}).get("only_islands"):
            continue
        seed = run.by_protocol[name][0]["seed"]
        facts = run.tape(name, seed, FACTS)
        kept = kept or facts is not None
        faults = [fact for fact in facts or [] if fact["f"] == "fault" and fact["kind"] in KINDS]
        if faults:
            return name, seed, facts, min(faults, key=lambda fact: (KINDS.index(fact["kind"]), fact["t"]))
    return NotShown("A fault on one time axis: " + (
        troubles_of(run) if run.tape_troubles else
        "no fault hit a row of this run; a scenario with \"faults\" gives it." if kept else
        "the run kept no tapes; run it again without leaving them out."))


def troubles_of(run):
    """Why tapes that are there are not drawn; empty without one."""
    few = list(run.tape_troubles.values())
    more = f"; and {len(few) - 4} more" if len(few) > 4 else ""
    return "; ".join(few[:4]) + more + "." if few else ""


def windows(run, facts, fault):
    end = max([fact.get("t1", fact.get("t", 0)) for fact in facts])
    out = [Window(run, facts, max(0.0, fault["t"] - AROUND_S), min(end, fault["t"] + AROUND_S))]
    hit = hit_learners(run, fault["target"])
    back = [fact["t"] for fact in facts if fact["f"] == "join" and fact["t"] > fault["t"] and fact["learner"] in hit]
    if not back:  # nobody left: the date of the repair
        back = [fact["t"] for fact in facts if fact["f"] == "repaired" and fact["t"] >= fault["t"]
                and fact["target"] == fault["target"]]
    if back and back[0] > out[0].high:
        out.append(Window(run, facts, back[0] - AROUND_S, min(end, back[0] + AROUND_S)))
    return out


def rows_of(run, hit):
    """[(region, [learner names])], those that the fault hit for certain; how many were left out."""
    learners = run.learners()
    kept = sorted(sorted(range(len(learners)), key=lambda i: (i not in hit, i))[:MOST_LEARNERS])
    regions = {}
    for i in kept:
        regions.setdefault(learners[i][1], []).append(learners[i][0])
    return list(regions.items()), len(learners) - len(kept)


def draw_window(axes, window, regions, merge_lanes, fault, narrow):
    y, ticks = 0.0, []
    pixel = (window.high - window.low) / axes.bbox.width
    for region, names in [*regions, ("syncer", [])]:
        axes.annotate(region, (0, y + 0.72), xycoords=("axes fraction", "data"), va="center", ha="left",
                      fontweight="bold", annotation_clip=False)
        y += 1.15
        for name in names:
            for (lane, look), spans in window.spans.items():
                if lane == name:
                    bars(axes, spans, y, 0.82, LOOKS[look])
            ticked(axes, window.boundaries.get(name, []), y, sheet.PAPER)
            ticks.append((y + 0.41, name))
            y += 1
    for (lane, look), spans in window.spans.items():
        if lane == "collection":
            bars(axes, spans, y, 0.82, LOOKS[look])
    ticked(axes, window.closes, y, sheet.INK)
    ticks.append((y + 0.41, "collect"))
    y += 1
    for t0, t1, participants, lane in lanes_of(window.merges)[0]:
        low, high = max(t0, window.low), min(t1, window.high)
        bars(axes, [(low + pixel / 2, high - pixel / 2)], y + lane, 0.82, LOOKS["merge (transfer)"])
        if (high - low) / pixel > 13 and not narrow:
            axes.text((low + high) / 2, y + lane + 0.43, str(participants), ha="center", va="center", color=sheet.PAPER)
    ticks += [(y + lane + 0.41, f"merge {lane + 1}" if merge_lanes > 1 else "merge") for lane in range(merge_lanes)]
    axes.set_ylim(y + max(1, merge_lanes) + 0.1, -0.1)
    axes.set_yticks([at for at, _ in ticks], [name for _, name in ticks])
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    for mark in window.marks:
        if mark["f"] == "fault" and mark["t"] == fault["t"]:
            axes.axvline(mark["t"], color=sheet.INK, linewidth=1.8)
    sheet.linear(axes.xaxis, window.low, window.high, ticks=4 if narrow else 8)
    axes.set_xlabel("simulated time (s)")


def gantt(run):
    chosen = choose(run)
    if isinstance(chosen, NotShown):
        return chosen
    protocol, seed, facts, fault = chosen
    target = target_name(run, fault["target"])
    shown = windows(run, facts, fault)
    regions, left_out = rows_of(run, hit_learners(run, fault["target"]))
    used = [look for look in LOOKS if any(key[1] == look for window in shown for key in window.spans)
            or look.startswith("merge") and any(window.merges for window in shown)]
    merge_lanes = max(lanes_of(window.merges)[1] for window in shown)
    lanes = sum(len(names) + 1.15 for _, names in regions) + 2.2 + max(1, merge_lanes)
    what = fault["kind"].replace("_", " ")
    titles = [f"{what}, {target}, at {fault['t']:,.0f} s", "its return"]

    def draw(width):
        keys = [(sheet.swatch(*LOOKS[look]), look.replace("_", " ")) for look in used]
        keys.append(({"color": sheet.INK, "linewidth": 1.8, "marker": "|", "markersize": 10}, "the fault"))
        page = sheet.Sheet(width, [16 * lanes] * len(shown), legend=keys,
                           left=14 + 7 * max(len(name) for _, names in regions for name in [*names, "collect"]))
        for axes, window, title in zip(page.axes, shown, titles):
            draw_window(axes, window, regions, merge_lanes, fault, page.narrow)
            page.title(axes, title)
        return page

    rows = [[f"{window.low:.0f}–{window.high:.0f}", lane, look, f"{t0:.3f}", f"{t1:.3f}"] for window in shown
            for (lane, look), spans in window.spans.items() for t0, t1 in spans]
    rows += [[f"{w.low:.0f}–{w.high:.0f}", "merge", f"{participants} participants", f"{t0:.3f}", f"{t1:.3f}"]
             for w in shown for t0, t1, participants in w.merges]
    note = (f"Row {protocol}, seed {seed}: the fastest row over the WAN that a fault hit. Steps are cut by thin lines; a "
            "number in a merge, where there is room, is its participants. A merge is the all-reduce of one fragment "
            "between the shards; a collection closes at its tick, at once where it has no window.")
    if left_out:
        note += f" {left_out} more learners are not drawn."
    return Figure("fault", f"{protocol} around a fault, all regions on one time axis",
                  f"Lanes of {sum(len(names) for _, names in regions)} learners in {len(regions)} regions and of the "
                  f"syncer, 2 minutes before and after the {what} of {target} at {fault['t']:,.0f} s"
                  + (", and around its return." if len(shown) > 1 else "."), draw,
                  ["window, s", "lane", "what", "from_s", "to_s"], rows, note, f"{protocol}/seed-{seed}/tape.jsonl")


def participants(run):
    """Participants of each outer step beside the learners that are there."""
    shown = []
    for name in run.shown:
        seed = run.by_protocol[name][0]["seed"]
        steps = run.outer_steps(name, seed)
        changes = run.tape(name, seed, ("join", "leave")) if steps else None
        if steps and changes:
            shown.append((name, seed, [(row["stepped_s"], row["participants"]) for row in steps], changes))
    if not shown:
        if run.tape_troubles:
            return NotShown(f"Participants of each outer step: {troubles_of(run)}")
        return NotShown("Participants of each outer step: no row here has a syncer and a tape; a row of the DiLoCo "
                        "family, run with its tape, gives it.")

    def draw(width):
        keys = [({"color": sheet.SERIES[4], "linewidth": 7, "alpha": 0.5}, "live learners"),
                ({"color": sheet.SERIES[0], "linestyle": "none", "marker": ".", "markersize": 6}, "participants")]
        page = sheet.Sheet(width, [110] * len(shown), legend=keys)
        for axes, (name, _, steps, changes) in zip(page.axes, shown):
            xs, live = alive(changes, steps[-1][0] / 3600)
            axes.step(xs, live, where="post", color=sheet.SERIES[4], linewidth=7, alpha=0.5)
            hours = xs[-1] / page.panel_width
            dots = sorted({(round(t / 3600 / hours / 2) * 2 * hours, n) for t, n in steps})
            points = [point for t, n in dots for point in ((t, n), (t + hours, n), (None, None))]
            axes.plot([x for x, _ in points], [y for _, y in points], color=sheet.SERIES[0], linewidth=3.2,
                      solid_capstyle="round")
            sheet.linear(axes.yaxis, 0, max(live) + 0.8, ticks=4)
            axes.yaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 4, 5, 10]))
            sheet.linear(axes.xaxis, 0, 1.02 * xs[-1])
            page.title(axes, name)
            axes.set_xlabel("simulated time (h)")
            axes.set_ylabel("learners")
        return page

    rows = [[name, seed, f"{t:.3f}", n] for name, seed, steps, _ in shown for t, n in steps]
    few = [f"{name} {sum(n for _, n in steps) / len(steps):.2f}" for name, _, steps, _ in shown]
    return Figure("participants", "Participants of each outer step beside live learners",
                  f"A dot an outer step, a line of live learners. Mean participants: {', '.join(few)}.", draw,
                  ["row", "seed", "stepped_s", "participants"], rows,
                  f"Seed {shown[0][1]}. Outer steps that would be drawn on one place are one dot.",
                  "PROTOCOL/seed-N/outer_steps.csv")


def alive(changes, end_h):
    """(hours, learners that are there from then on), until the last outer step at least."""
    xs, live = [0.0], [sum(fact["f"] == "join" and fact["t"] == 0 for fact in changes)]
    for fact in changes:
        if fact["t"] > 0:
            xs.append(fact["t"] / 3600)
            live.append(live[-1] + (1 if fact["f"] == "join" else -1))
    return xs + [max(xs[-1], end_h)], live + live[-1:]
