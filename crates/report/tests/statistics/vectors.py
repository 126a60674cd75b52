"""Writes vectors.json: what SciPy 1.17 and statsmodels 0.15 say, for the tests of the statistics.

python3 -m venv v && v/bin/pip install scipy statsmodels && v/bin/python vectors.py > vectors.json
"""

import json

import numpy as np
from scipy import optimize, stats
from scipy.special import comb
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

Z = stats.norm.ppf(0.975)


def wilson(passed, of):
    return [passed, of, *map(float, proportion_confint(passed, of, method="wilson"))]


def exact(first, second):
    return [first, second, float(mcnemar([[0, first], [second, 0]], exact=True).pvalue)]


def holm(p):
    return [p, [float(value) for value in multipletests(p, method="holm")[1]]]


def score(of, first, second, difference):
    """The likelihood under a fixed difference is maximised numerically, not by the closed form that is tested."""
    low, high = max(0, -difference) + 1e-13, (1 - difference) / 2 - 1e-13

    def loss(share):
        cells = ((first, share + difference), (second, share), (of - first - second, 1 - 2 * share - difference))
        return -sum(count * np.log(max(p, 1e-300)) for count, p in cells if count)

    inner = optimize.minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-13}).x
    share = min((low, inner, high), key=loss)
    return (first - second - of * difference) / np.sqrt(of * (2 * share + difference * (1 - difference)))


def tango(of, first, second):
    seen = (first - second) / of
    low = optimize.brentq(lambda d: score(of, first, second, d) - Z, -1 + 1e-6, seen - 1e-9, xtol=1e-10)
    high = optimize.brentq(lambda d: score(of, first, second, d) + Z, seen + 1e-9, 1 - 1e-6, xtol=1e-10)
    return [of, first, second, float(low), float(high)]


def power(pairs, discordant, difference):
    towards, total = (1 + difference / discordant) / 2, 0.0
    for all_ in range(1, pairs + 1):
        one_way = np.arange(all_ + 1)
        p = np.minimum(1, 2 * stats.binom.cdf(np.minimum(one_way, all_ - one_way), all_, 0.5))
        total += stats.binom.pmf(all_, pairs, discordant) * stats.binom.pmf(one_way, all_, towards)[p <= 0.05].sum()
    return [pairs, discordant, difference, float(total)]


def bootstrap():
    outcomes = (np.random.default_rng(5).random(60) < 0.4).astype(float)
    drawn = stats.bootstrap((outcomes,), np.mean, n_resamples=200_000, method="percentile", rng=1)
    interval = drawn.confidence_interval
    return [[int(value) for value in outcomes], float(interval.low), float(interval.high)]


def reliability():
    shares = np.array([0.9, 0.5, 0.2, 0.7, 0.1, 0.6, 0.4, 0.95])
    passed = (np.random.default_rng(6).random((8, 4)) < shares[:, None]).sum(axis=1)
    hat = [float(np.mean(comb(passed, k) / comb(4, k))) for k in range(1, 5)]
    at = [float(np.mean(1 - comb(4 - passed, k) / comb(4, k))) for k in range(1, 5)]
    return [[int(value) for value in passed], 4, hat, at]


VECTORS = {
    "wilson": [wilson(*case) for case in
               [(0, 5), (1, 5), (5, 5), (7, 10), (10, 28), (4, 23), (48, 100), (1, 100), (0, 23), (120, 231), (3000, 10000)]],
    "mcnemar": [exact(*case) for case in
                [(0, 0), (1, 0), (3, 12), (6, 0), (9, 1), (21, 9), (20, 20), (60, 41), (2, 3)]],
    "holm": [holm(p) for p in
             [[0.01, 0.04, 0.03, 0.005], [0.5], [0.02, 0.02, 0.02], [0.9, 0.001, 0.04, 0.3, 0.012, 0.2]]],
    "tango": [tango(*case) for case in
              [(50, 12, 2), (100, 10, 2), (100, 21, 9), (30, 6, 0), (231, 30, 18), (100, 20, 20), (14, 3, 1)]],
    "power": [power(*case) for case in
              [(100, 0.2, 0.1), (100, 0.3, 0.05), (231, 0.3, 0.1), (14, 0.5, 0.4), (155, 0.2, 0.1)]],
    "bootstrap": bootstrap(),
    "reliability": reliability(),
}
print("{\n" + ",\n".join(f' "{name}": {json.dumps(cases)}' for name, cases in VECTORS.items()) + "\n}")
