"""Policies of phases and rungs against plain loops from the papers, with nothing shared.

What the papers leave open: an arm that fails where another arm has a reward is out. Rewards are
multiples of 1/1024, so that means are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import count, pairwise
from typing import Any

import numpy as np
import pytest

from sklearn_halving import policies
from sklearn_halving.policies import NO_ARM, Problem

UNIT = (0.0, 1.0)
VARIANCES = [1.0, 0.25, 4.0] * 5
Reference = tuple[list[int], int]
"""Number of pulls of each arm, and the arm to recommend."""


class Table:
    """Rewards of each arm; the j-th pull of an arm is its j-th reward. Failing arms are NaN."""

    def __init__(self, seed: int, n_arms: int, n_pulls: int = 2000, n_failing: int = 0) -> None:
        rng = np.random.default_rng([seed, n_arms])
        sds = rng.choice([0.05, 0.3], (n_arms, 1))
        values = np.clip(rng.normal(rng.random((n_arms, 1)), sds, (n_arms, n_pulls)), 0, 1)
        self.values = np.round(values * 1024) / 1024
        self.failing = set(rng.permutation(n_arms)[:n_failing].tolist())
        self.values[sorted(self.failing)] = np.nan
        self.n_arms, self.known_squares = n_arms, dict[tuple[int, int, int], float]()
        self.n = [0] * self.n_arms
        self.first = [0] * self.n_arms  # rewards before this one are forgotten

    def pull(self, arm: int, n: int = 1) -> None:
        self.n[arm] += n

    def forget(self) -> None:
        self.first = list(self.n)

    def seen(self, arm: int) -> list[float]:
        return self.values[arm, self.first[arm] : self.n[arm]].tolist()

    def mean(self, arm: int) -> float:
        seen = self.seen(arm)
        return sum(seen) / len(seen) if seen else -math.inf

    def squares(self, arm: int) -> float:
        key = arm, self.first[arm], self.n[arm]
        if key not in self.known_squares:
            mean = self.mean(arm)
            self.known_squares[key] = sum((x - mean) ** 2 for x in self.seen(arm))
        return self.known_squares[key]

    def best(self, arms: list[int], n: int = 1) -> list[int]:
        """Return the ``n`` best arms; ties go to the smaller arm."""
        return sorted(sorted(arms, key=lambda arm: (-self.mean(arm), arm))[:n])


def play(policy: Any, table: Table) -> Reference:
    n_arms = len(table.values)
    game, counts = policy.start(Problem(n_arms)), [0] * n_arms
    while not game.is_finished:
        pulls = game.ask(10**6)
        for arm in pulls.arm.tolist():
            counts[arm] += 1
        game.tell_all(pulls, table.values[pulls.arm, pulls.repetition])
    return counts, game.recommend()


def phase_ends(K: int, n: int) -> list[int]:
    """Return n_1, ..., n_{K-1} of Fig. 16.1."""
    log_bar = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, K + 1))
    return [math.ceil((n - K) / (log_bar * (K + 1 - k))) for k in range(1, K)]


# ------------------------------------------------------------------------ successive rejects


def successive_rejects(table: Table, n: int) -> Reference:
    """Audibert, Bubeck and Munos (2011), Fig. 16.1."""
    K, before = table.n_arms, 0
    arms = list(range(K))
    for k, n_k in enumerate(phase_ends(K, n), start=1):
        if len(arms) > 1:
            for arm in arms:
                table.pull(arm, n_k - before)
        arms = table.best([arm for arm in arms if arm not in table.failing], K - k)
        before = n_k
    return table.n, arms[0]


def anytime_rejects(table: Table, n: int) -> Reference:
    """Section 16.3.1.2: runs that end after 2^s pulls; the last is cut off after n pulls."""
    K, run = table.n_arms, 1
    while run <= K:
        run *= 2
    n_left, end, best = n, run, NO_ARM
    while True:
        arms, before = [arm for arm in range(K) if not (arm in table.failing and table.n[arm])], 0
        for k, n_k in enumerate(phase_ends(K, run), start=1):
            width = K - k + 1
            n_each = min(n_k - before, n_left // width)
            if len(arms) > 1:
                for arm in arms:
                    table.pull(arm, n_each)
            n_left -= n_each * width
            cut = n_each < n_k - before
            arms = table.best([arm for arm in arms if arm not in table.failing], width - (not cut))
            if n_each or not cut:
                best = table.best(arms)[0]
            if cut:
                return table.n, best
            before = n_k
        run, end = end, 2 * end


def variance_rejects(table: Table, n: int) -> Reference:
    """Successive rejects in which pulls of a phase go to argmax V / N; gamma = 1.96."""
    K, before = table.n_arms, 0
    arms = list(range(K))
    for k, n_k in enumerate(phase_ends(K, n), start=1):
        is_known = all(table.n[arm] >= 3 for arm in arms)
        variance = {a: table.squares(a) / (table.n[a] - 1) if is_known else 1.0 for a in arms}
        least = 1e-30 * max(variance.values()) or 1.0
        for _ in range((n_k - before) * len(arms) if len(arms) > 1 else 0):
            greedy_pull(table, {arm: max(variance[arm], least) for arm in arms})
        arms = [arm for arm in arms if arm not in table.failing]
        upper = {
            arm: table.mean(arm)
            + 1.96 * math.sqrt(table.squares(arm) / (table.n[arm] - 1 or 1) / table.n[arm])
            for arm in arms
        }
        arms = sorted(sorted(arms, key=lambda arm: (-upper[arm], arm))[: K - k])
        before = n_k
    return table.n, arms[0]


def greedy_pull(table: Table, weight: dict[int, float]) -> None:
    """Pull argmax weight / N; arms without a pull come first."""
    index = {}
    for arm, own in weight.items():
        n = table.n[arm] - table.first[arm]
        index[arm] = own / n if n else math.inf
    table.pull(max(index, key=lambda arm: (index[arm], -arm)))


# --------------------------------------------------- Lalitha et al. (2023), Algorithms 1 to 4


def halving(table: Table, n: int, next_arm: Callable[[Table, list[int], int], None]) -> Reference:
    """Algorithm 1, whose stages forget the rewards before them."""
    arms = list(range(table.n_arms))
    m, width, best = math.ceil(math.log2(table.n_arms)), table.n_arms, NO_ARM
    for _ in range(m):
        table.forget()
        for t in range(n // m if len(arms) > 1 else 0):
            next_arm(table, arms, t)
        if len(arms) > 1:
            best = table.best([arm for arm in arms if arm not in table.failing])[0]
        width = math.ceil(width / 2)
        arms = table.best([arm for arm in arms if arm not in table.failing], width)
    return table.n, best


def sh(table: Table, arms: list[int], t: int) -> None:
    table.pull(arms[t % len(arms)])


def shvar(table: Table, arms: list[int], t: int) -> None:
    greedy_pull(table, {arm: VARIANCES[arm] for arm in arms})


def shadavar(table: Table, arms: list[int], t: int) -> None:
    """Algorithm 4; every arm needs more than 4 log(1 / delta) + 1 pulls, here 13."""
    least, x = math.floor(4 * math.log(20)) + 2, math.log(20)
    if t < least * len(arms):
        table.pull(arms[t % len(arms)])
        return
    U = {}
    for arm in (arm for arm in arms if arm not in table.failing):
        N = len(table.seen(arm))
        U[arm] = table.squares(arm) / (N - 1) / (1 - 2 * math.sqrt(x / (N - 1)))
    if len(U) > 1:
        greedy_pull(table, U)


# ---------------------------------------------------------------- VarianceHalving, as it says


def shrunk(table: Table, arms: list[int], d_0: float) -> dict[int, float]:
    """Return v_k = (S_k + d_0 v) / (d_k + d_0), with the pooled variance v."""
    freedom = {arm: max(table.n[arm] - 1, 0) for arm in arms}
    pooled = sum(table.squares(arm) for arm in arms) / max(sum(freedom.values()), 1e-9)
    if not sum(freedom.values()):
        means = [table.mean(arm) for arm in arms]
        pooled = sum((m - sum(means) / len(means)) ** 2 for m in means) / len(means)
    return {arm: (table.squares(arm) + d_0 * pooled) / (freedom[arm] + d_0) for arm in arms}


def in_two(n: int) -> list[int]:
    return [n // 2, n - n // 2] if n > 1 else [n] * (n > 0)


def pooled(table: Table, n: int) -> Reference:
    """Halving with two plans a stage: v / N is largest, after three pulls of each arm."""
    arms, K = list(range(table.n_arms)), table.n_arms
    m, width, n_each = math.ceil(math.log2(K)), K, 0
    for _ in range(m):
        n_even = min(n // m, max(0, 3 - n_each) * width)
        n_each += n_even // width
        for size, is_even in [(n_even, True), *((one, False) for one in in_two(n // m - n_even))]:
            variance = shrunk(table, arms, 3.0)
            for _ in range(size if len(arms) > 1 else 0):
                greedy_pull(table, dict.fromkeys(arms, 1.0) if is_even else variance)
            arms = [arm for arm in arms if arm not in table.failing]
        width = math.ceil(width / 2)
        arms = table.best(arms, width)
    return table.n, arms[0]


def likelihood(table: Table, n: int) -> Reference:
    """The default on splits of each arm's own, from its Notes."""
    K, arms = table.n_arms, list(range(table.n_arms))
    widths = [K]
    while widths[-1] > 2:
        widths.append(math.ceil(widths[-1] / 2))
    first = min(3, max(1, n // K // 2))
    n_plans = 2 * len(widths)
    for arm in arms:
        table.pull(arm, first)
    arms = [arm for arm in arms if arm not in table.failing]
    n_later = n - first * K
    cuts = [i * n_later // min(n_plans, n_later) for i in range(min(n_plans, n_later) + 1)]
    sizes = [b - a for a, b in pairwise(cuts)]
    for i, size in enumerate(sizes if len(arms) > 1 else []):
        n_contenders = widths[i * len(widths) // len(sizes)]
        v = shrunk(table, arms, 3.0)
        leader = table.best(arms)[0]
        L = {}
        for arm in arms:
            z2 = (table.mean(leader) - table.mean(arm)) ** 2
            z2 /= max(v[arm] / table.n[arm] + v[leader] / table.n[leader], 1e-300)
            d = max(table.n[arm] - 1, 0) + 3.0
            L[arm] = math.exp(-(d + 1) / 2 * math.log1p(z2 / d))
        wild = {
            a for a in arms if all(v_raw(table, a) > 20 * v_raw(table, b) for b in arms if b != a)
        }
        L |= {arm: 0.1 * L[arm] for arm in wild - {leader}}
        ranked = sorted(arms, key=lambda arm: (-L[arm], arm))
        contenders = sorted(ranked[:n_contenders])
        evenly = [arm for arm in contenders if L[arm] >= 0.01 or arm in ranked[:2]]
        n_even = int(0.1 * size + 0.5)
        for _ in range(n_even):
            greedy_pull(table, dict.fromkeys(evenly, 1.0))
        for _ in range(size - n_even):
            greedy_pull(table, {arm: v[arm] * math.sqrt(L[arm]) for arm in contenders})
    return table.n, table.best(arms)[0]


def v_raw(table: Table, arm: int) -> float:
    return table.squares(arm) / max(table.n[arm] - 1, 1)


# --------------------------------------------------------------------------------------- races


def race(table: Table, n: int, radius: Callable[[Table, int, int], float]) -> Reference:
    """Figs. 16.3 and 16.4; n rounds, or n pulls for an arm on average; delta = 0.3."""
    arms, is_bounded = list(range(table.n_arms)), radius is not elimination
    for t in count(1):
        if is_bounded and t > n:
            break
        if len(arms) < 2 or sum(table.n) + len(arms) > n * table.n_arms:
            break
        for arm in arms:
            table.pull(arm)
        arms = [arm for arm in arms if arm not in table.failing]
        r = {arm: radius(table, arm, t) for arm in arms}
        largest = max(table.mean(arm) - r[arm] for arm in arms)
        arms = [arm for arm in arms if table.mean(arm) + r[arm] > largest]
    return table.n, table.best(arms)[0]


def hoeffding(table: Table, arm: int, t: int) -> float:
    return math.sqrt(math.log(60 * table.n_arms / 0.3) / (2 * t))


def bernstein(table: Table, arm: int, t: int) -> float:
    x = math.log(60 * table.n_arms / 0.3) / t
    return math.sqrt(2 * table.squares(arm) / t * x) + 3 * x


def elimination(table: Table, arm: int, t: int) -> float:
    """Even-Dar et al. (2006), Algorithm 3, with c = 5 and delta = 0.3."""
    return math.sqrt(math.log(5 * table.n_arms * t**2 / 0.3) / t)


def median_elimination(table: Table) -> Reference:
    """Fig. 16.6 with epsilon = 2 and delta = 0.5; exactly half of the arms go."""
    arms, e, d = list(range(table.n_arms)), 0.5, 0.25
    while len(arms) > 1:
        table.forget()
        for arm in arms:
            table.pull(arm, math.ceil(4 / e**2 * math.log(3 / d)))
        arms = [arm for arm in arms if arm not in table.failing]
        arms = table.best(arms, math.ceil(len(arms) / 2))
        e, d = 0.75 * e, 0.5 * d
    return table.n, arms[0]


def uniform(table: Table, n: int) -> Reference:
    for arm in range(table.n_arms):
        table.pull(arm, n // table.n_arms)
    return table.n, table.best([a for a in range(table.n_arms) if a not in table.failing])[0]


VH = policies.VarianceHalving
CASES: dict[str, tuple[Callable[[int], Any], Callable[[Table, int], Reference]]] = {
    "uniform": (lambda K: policies.UniformAllocation(9 * K + 1), lambda t, K: uniform(t, 9 * K)),
    "successive rejects": (
        lambda K: policies.SuccessiveRejects(11 * K),
        lambda t, K: successive_rejects(t, 11 * K),
    ),
    "anytime rejects": (
        lambda K: policies.AnytimeSuccessiveRejects(11 * K + 3),
        lambda t, K: anytime_rejects(t, 11 * K + 3),
    ),
    "variance rejects": (
        lambda K: policies.VarianceRejects(20 * K),
        lambda t, K: variance_rejects(t, 20 * K),
    ),
    "SH": (lambda K: VH(17 * K, "uniform", keep_pulls=False), lambda t, K: halving(t, 17 * K, sh)),
    "SHVar": (
        lambda K: VH(17 * K, "known", VARIANCES[:K], keep_pulls=False),
        lambda t, K: halving(t, 17 * K, shvar),
    ),
    "SHAdaVar": (
        lambda K: VH(60 * K, "ucb", keep_pulls=False, plans_per_stage=10**6),
        lambda t, K: halving(t, 60 * K, shadavar),
    ),
    "pooled": (
        lambda K: VH(25 * K, "pooled", common_splits=False),
        lambda t, K: pooled(t, 25 * K),
    ),
    "likelihood": (
        lambda K: VH(15 * K, common_splits=False),
        lambda t, K: likelihood(t, 15 * K),
    ),
    "Hoeffding race": (
        lambda K: policies.HoeffdingRace(60, 0.3, reward_range=UNIT),
        lambda t, K: race(t, 60, hoeffding),
    ),
    "Bernstein race": (
        lambda K: policies.BernsteinRace(60, 0.3, reward_range=UNIT),
        lambda t, K: race(t, 60, bernstein),
    ),
    "successive elimination": (
        lambda K: policies.SuccessiveElimination(0.3, max_pulls=60 * K, reward_range=UNIT),
        lambda t, K: race(t, 60, elimination),
    ),
    "median elimination": (
        lambda K: policies.MedianElimination(2.0, 0.5, reward_range=UNIT),
        lambda t, K: median_elimination(t),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_plays_what_the_paper_says(name: str) -> None:
    make, reference = CASES[name]
    for n_arms in range(2, 14):
        for n_failing in (0, n_arms // 3):
            table = Table(n_failing, n_arms, n_failing=n_failing)
            expected = reference(table, n_arms)
            assert play(make(n_arms), table) == expected, (n_arms, n_failing)
