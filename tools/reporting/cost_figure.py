"""Cost against the time to the target loss."""
from . import common, sheet, statistics
from .common import Figure, NotShown
from .reading import aimed, numbers, trained

COSTS = ("cost_to_loss_usd", "cost_usd", "cost_spot_usd", "wasted_cost_usd", "energy_kwh")


def seeds_drawn(points):
    """How many markers a row has, in a sentence."""
    counts = {name: len(pairs) for name, pairs in points}
    few, most = min(counts.values()), max(counts.values())
    if few == most:
        return f"A marker a row and seed, {most} seed{'s' if most > 1 else ''} a row."
    return f"A marker a row and seed: {', '.join(f'{name} {count}' for name, count in counts.items())}."


def cost(run):
    look = common.looks(run.protocols)
    points, rows, partly = [], [], {}
    known = [name for name in COSTS if any(numbers(run.by_protocol[p], name) for p in run.shown)]
    metric = next((name for name in COSTS[:2] if name in known), None)
    for name in run.shown:
        mine = run.by_protocol[name]
        hours = {seed: s / 3600 for seed, s in numbers(mine, "time_to_loss_s").items()}
        money = numbers(mine, metric) if metric else {}
        pairs = [(hours[seed], money[seed]) for seed in hours if seed in money]
        if pairs:
            points.append((name, pairs))
        if hours and len(hours) < len(aimed(mine)):
            partly[name] = common.seeds_of(len(hours), len(aimed(mine)))
        rows.append([name, (common.exact(statistics.mean(hours.values())) or "not reached")
                     + (f" (in {partly[name]})" if name in partly else ""),
                     *(common.exact(statistics.mean(numbers(mine, key).values())) for key in known)])
    if not points and known and trained(run.rows) and not aimed(run.rows):
        return NotShown("Cost against time to the target loss: there is no target, since the baseline has no final loss.")
    if not points:
        return NotShown("Cost against time to the target loss: not in this run" + (
            ", which has costs but no row that reached its target loss; a trained run that does gives it." if known else
            ": its summaries have no cost; a trained scenario with prices gives it."))

    def open_if(name):
        return {"markerfacecolor": "none"} if name in partly else {}

    def draw(width):
        legend = [({**look[name].line(), **open_if(name)}, f"{name}, in {partly[name]}" if name in partly else name)
                  for name, _ in points]
        page = sheet.Sheet(width, [240], legend=legend, left=70)
        axes = page.axes[0]
        for name, pairs in points:
            axes.plot([x for x, _ in pairs], [y for _, y in pairs],
                      **{**look[name].line(), "linestyle": "none", "markersize": 7, **open_if(name)})
        xs = [x for _, pairs in points for x, _ in pairs]
        log = max(xs) > 6 * min(xs)
        if log:
            sheet.logarithmic(axes.xaxis, xs)
        else:
            sheet.linear(axes.xaxis, 0, 1.1 * max(xs))
        ys = [y for _, pairs in points for _, y in pairs]
        log_cost = min(ys) > 0 and max(ys) > 6 * min(ys)
        if log_cost:
            sheet.logarithmic(axes.yaxis, ys)
        else:
            sheet.linear(axes.yaxis, 0, 1.1 * max(ys))
        axes.set_xlabel("time to the target loss (h" + (", log scale)" if log else ")"))
        axes.set_ylabel("cost " + ("to the target loss" if metric == "cost_to_loss_usd" else "of the whole run")
                        + (" (USD, log scale)" if log_cost else " (USD)"))
        return page

    missed = [name for name in run.shown if name not in [point[0] for point in points]]
    return Figure("cost", "Cost against time to the target loss",
                  "A marker a row and seed. " + "; ".join(f"{name} {pairs[0][0]:.3g} h, {pairs[0][1]:.4g} USD"
                                                          for name, pairs in points) + ".", draw,
                  ["row", "hours to the target", *known], rows,
                  f"{seeds_drawn(points)} Below and to the left is better."
                  + "".join(f" {name} reached the target in {seeds} only (open markers): the seeds that missed it are not here."
                            for name, seeds in partly.items())
                  + (f" Not reached, so not drawn: {common.join_names(missed)}." if missed else ""))
