"""Utilization of one method over an idle network, and random settings in its domain (fixed seed).

A fragment of V_f seconds on the wire in n buckets, the first ready at 1 - s + s/n of a step of 1, s the share of the
backward pass: stall = max(0, V_f - s (1 - 1/n) - tau, V_f / n - tau), and CU = H / (H + P stall). Holds while a
fragment lands before the next starts: tau below the smallest gap between two, floor(H / P).
"""
import random

SITES = 4


def stall(wire_s, buckets, overlap, backward):
    return max(0.0, wire_s - backward * (1 - 1 / buckets) - overlap, wire_s / buckets - overlap)


def utilization(wire_s, period, fragments, overlap, buckets, backward=2 / 3):
    """`wire_s`: of the whole model, in steps."""
    return period / (period + fragments * stall(wire_s / fragments, buckets, overlap, backward))


def row(kind, sites, bits, period, fragments, overlap, buckets, backward):
    entry = {"preset": kind, "only_islands": [f"s{i}" for i in range(sites)], "anatomy": "buckets",
             "buckets": buckets, "backward_share": backward, "wire": bits}
    if kind != "data_parallel":
        entry |= {"sync_period_steps": period, "fragments": fragments, "overlap_steps": overlap}
    return entry


def scenario(rows, steps):
    """1e9 parameters, steps of 1 s, ports of 1 Gbit/s: `bits` alone sets how long the wire takes."""
    names = [f"s{i}" for i in range(SITES)]
    return {
        "skerry": "scenario/1", "stop": {"tokens": SITES * steps},
        "regions": {name: {"port_gbps": 1} for name in names},
        "links": {f"{a}<>{b}": {"latency_one_way_ms": 0} for a in names for b in names if a < b},
        "islands": {name: {"region": name, "step_s": 1} for name in names},
        "charged_model": {"parameters": 1e9, "tokens_per_learner_step": 1},
        "protocols": rows, "training": False,
    }


def settings(count, seed):
    """→ rows of a scenario, and the utilization that each must have."""
    draw = random.Random(seed)
    rows, expected = {}, {}
    for i in range(count):
        kind = draw.choice(["data_parallel", "diloco", "streaming_diloco", "streaming_diloco",
                            "streaming_diloco"])
        sites, buckets = draw.randint(2, SITES), draw.choice([1, 2, 7, 16, 64])
        period = fragments = 1
        overlap, backward = 0, draw.choice([2 / 3, draw.uniform(0.1, 1.0)])
        if kind != "data_parallel":
            period = draw.randint(2, 60)
        if kind == "streaming_diloco":
            fragments = draw.randint(1, period)
            overlap = draw.randint(0, period // fragments - 1)
        # Bits at which the wire takes 0.05 to 5 of the time that it can hide in, at most 64.
        ring = 2 * (sites - 1) / sites
        bits = min(64.0, draw.choice([0.05, 0.5, 1, 2, 5]) * draw.uniform(0.5, 1.5) *
                   fragments * (overlap + backward) / ring)
        name = f"{kind}_{i}"
        rows[name] = row(kind, sites, bits, period, fragments, overlap, buckets, backward)
        expected[name] = utilization(ring * bits, period, fragments, overlap, buckets, backward)
    return rows, expected
