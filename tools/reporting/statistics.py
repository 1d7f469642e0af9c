"""Means with 95 % intervals of Student's t, as the program prints them; paired by seed where two rows are compared."""
import math

_T = (12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216, 2.22814, 2.20099, 2.17881,
      2.16037, 2.14479, 2.13145, 2.11991, 2.10982, 2.10092, 2.09302, 2.08596)


def student_t(freedom):
    """Two-sided 95 % quantile: a table, then the Cornish-Fisher expansion (to 1e-4 from 21 on)."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    z = 1.959964
    return (z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3))


class Interval:
    """value, low, high, n; low and high are None with one value."""

    def __init__(self, value, low, high, n):
        self.value, self.low, self.high, self.n = value, low, high, n

    def excludes(self, null):
        """Is the side of `null` on which the value lies supported by the interval?"""
        return self.low is not None and (self.low > null or self.high < null)


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values) if values else None


def mean_interval(values):
    values = list(values)
    n = len(values)
    if n == 0:
        return None
    middle = mean(values)
    if n == 1:
        return Interval(middle, None, None, 1)
    deviation = math.sqrt(math.fsum((value - middle)**2 for value in values) / (n - 1))
    half = student_t(n - 1) * deviation / math.sqrt(n)
    return Interval(middle, middle - half, middle + half, n)


def paired(a, b):
    """Values of two {seed: value} for the seeds that both have."""
    return [(a[seed], b[seed]) for seed in a if seed in b]


def ratio_interval(a, b):
    pairs = [(x, y) for x, y in paired(a, b) if x > 0 and y > 0]
    logs = mean_interval(math.log(x / y) for x, y in pairs)
    if logs is None:
        return None
    grown = [None if value is None else math.exp(value) for value in (logs.value, logs.low, logs.high)]
    return Interval(*grown, logs.n)


def difference_interval(a, b):
    return mean_interval(x - y for x, y in paired(a, b))


def of_json(data):
    """An interval as comparison.json or statistics.json writes it."""
    if not data or not data.get("n") or data.get("value") is None:
        return None
    low, high = data.get("interval") or (data.get("low"), data.get("high"))
    return Interval(data["value"], low, high, data["n"])
