"""Policies of rungs against plain loops from the papers, in which no plan of the package is used.

`test_rungs.py` compares the rungs alone, for many more sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest

from sklearn_halving.policies import (
    DoublingHalving,
    FiniteHorizonHalving,
    GridHalving,
    GrowingHyperband,
    Hyperband,
    InfiniteHorizonHalving,
    InfiniteHyperband,
    Problem,
    Pull,
    SuccessiveHalving,
)

Key = tuple[int, int, int]


class Learner:
    """A loss for each arm, level and split, and what was pulled."""

    def __init__(self, seed: int, failing: set[int]) -> None:
        self.seed, self.failing = seed, failing
        self.pulled: set[Key] = set()

    def loss(self, arm: int, level: int, split: int = 0) -> float:
        self.pulled.add((arm, level, split))
        if arm in self.failing:
            return math.nan
        return float(np.random.default_rng([self.seed, arm, level, split]).integers(50)) / 64


def top_k(losses: dict[int, float], k: int) -> list[int]:
    """Return the k arms with the smallest losses; ties go to the smaller arm."""
    known = [arm for arm in losses if not math.isnan(losses[arm])]
    return sorted(sorted(known, key=lambda arm: (losses[arm], arm))[:k])


def halve(
    learner: Learner, arms: list[int], rungs: list[tuple[int, int]]
) -> Iterator[dict[int, float]]:
    """Play rungs of (arms, level), and yield the losses of each."""
    for i, (_, level) in enumerate(rungs):
        losses = {arm: learner.loss(arm, level) for arm in arms}
        yield losses
        if i + 1 < len(rungs):
            arms = top_k(losses, rungs[i + 1][0])


def numbered(
    sizes: Iterator[Any] | list[Any],
) -> Iterator[tuple[list[int], list[tuple[int, int]]]]:
    """Yield the arms of each bracket, which are numbered in order, and its rungs."""
    first = 0
    for rungs in sizes:
        yield list(range(first, first + rungs[0][0])), rungs
        first += rungs[0][0]


def winner(losses: dict[int, float]) -> tuple[float, int]:
    best = top_k(losses, 1)
    return (losses[best[0]], best[0]) if best else (math.inf, -1)


def algorithm_1(R: int, eta: int, learner: Learner, *, line_11: bool) -> int:
    """Play Algorithm 1 of Li et al. (2018), for R a power of eta."""
    s_max, brackets = round(math.log(R, eta)), []
    for s in range(s_max, -1, -1):  # line 1
        n = math.ceil((s_max + 1) / (s + 1) * eta**s)  # line 2
        brackets.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
    winners = []
    for arms, rungs in numbered(brackets):
        of_rungs = [winner(losses) for losses in halve(learner, arms, rungs)]
        winners += of_rungs if line_11 else of_rungs[-1:]
    return min(winners)[1]


def halvings(n: int, B: int) -> list[tuple[int, int]]:
    """Return |S_k| and floor(B / (|S_k| ceil(log2 n)))."""
    m, rungs, size = math.ceil(math.log2(n)), [], n
    while size > 1:
        rungs.append((size, B // (size * m)))
        size //= 2
    return rungs


def figure_3(n: int, B: int, learner: Learner) -> int:
    """Jamieson and Talwalkar (2016): the units of a round are additional."""
    rungs, level = [], 0
    for size, units in halvings(n, B):
        level += units
        rungs.append((size, level))
    *_, last = halve(learner, list(range(n)), rungs)
    return winner(last)[1]


def figure_9(n: int, B: int, learner: Learner) -> int:
    """Successive halving of Li et al. (2018), Fig. 9."""
    *_, last = halve(learner, list(range(n)), halvings(n, B))
    return winner(last)[1]


def hyperband_of_figure_9(budget: int, learner: Learner) -> int:
    """Hyperband without a largest level: the answer is the best of the last round."""
    rounds: list[list[list[tuple[int, int]]]] = []
    for k in count(1):
        sizes = [n for n in range(1, k + 1) if k - n >= math.log2(n)]
        budget -= 2**k * len(sizes)
        if budget < 0:
            break
        rounds.append([halvings(2**n, 2**k) for n in sizes])
    winners = {}
    brackets = numbered([rungs for one in rounds for rungs in one])
    for k, one in enumerate(rounds):
        for _ in one:
            *_, last = halve(learner, *next(brackets))
            winners[k] = min(winners.get(k, (math.inf, -1)), winner(last))
    return winners[len(rounds) - 1][1]


def rungs_of_figure_10(n: int, B: int, R: int, eta: int) -> list[tuple[int, int]] | None:
    s = 0
    while eta**s <= min(R, n):
        if n * R * (s + 1) / eta**s <= B:
            rungs = [(n // eta**k, R // eta ** (s - k)) for k in range(s + 1)]
            # A single arm has no rivals: it is trained to the end.
            return [rung for rung in rungs[:-1] if rung[0] > 1] + rungs[-1:]
        s += 1
    return None


def figure_10(n: int, B: int, R: int, learner: Learner) -> int:
    *_, last = halve(learner, list(range(n)), rungs_of_figure_10(n, B, R, 3) or [])
    return winner(last)[1]


def hyperband_of_figure_10(budget: int, R: int, learner: Learner) -> int:
    """Hyperband with a budget of 2^k; n is rounded down."""
    brackets = []
    for k in count(math.ceil(math.log2(R))):
        for s in range(round(math.log(R, 3)), -1, -1):
            n = max(1, 2**k * 3**s // (R * (s + 1)))
            if (rungs := rungs_of_figure_10(n, 2**k, R, 3)) is None:
                continue
            budget -= sum(size * level for size, level in rungs)
            if budget < 0:
                lasts = [[*halve(learner, *one)][-1] for one in numbered(brackets)]
                return min(map(winner, lasts))[1]
            brackets.append(rungs)
    raise AssertionError


def doubling(n: int, budget: int, learner: Learner) -> int:
    """Fig. 3 with B = n, 2n, 4n, ...; an arm goes on from where it stands."""
    m, B, best = math.ceil(math.log2(n)), n, -1
    while B // (n * m) < 1:
        B *= 2
    standing: dict[int, list[int]] = {arm: [] for arm in range(n)}
    while True:
        arms, level = [arm for arm in range(n) if not (arm in learner.failing and best >= 0)], 0
        for size, units in halvings(n, B):
            level += units
            reached = {a: max([*standing[a], 0]) for a in standing}
            up = [arm for arm in arms if reached[arm] < level]
            if sum(reached.values()) + sum(level - reached[arm] for arm in up) > budget:
                return best
            for arm in up:
                standing[arm].append(level)
            losses = {a: learner.loss(a, min(x for x in standing[a] if x >= level)) for a in arms}
            arms = top_k(losses, size // 2)
            if best < 0 or size < 4:
                best = top_k(losses, 1)[0]
        B *= 2


def grid(K: int, R: int, n_splits: int, learner: Learner) -> int:
    """Play `GridHalving` as its page says, with a factor of 2 and two early splits."""
    levels = [R]
    while len(levels) < 7 and math.ceil(K / 2 ** (len(levels) - 1)) > 3 and R // 2 ** len(levels):
        levels.append(math.floor(R / 2 ** len(levels) + 0.5))
    while True:
        width, rungs = K, []
        for level in levels[:0:-1]:
            rungs.append((width, level, range(2)))
            width = max(3, math.ceil(width / 2))
        if width > 3:
            rungs.append((width, R, range(2)))
            width = max(3, math.ceil(width / 3))
            rungs.append((width, R, range(2, n_splits)))
        else:
            rungs.append((width, R, range(n_splits)))
        if sum(size * len(splits) for size, _, splits in rungs) <= K * n_splits:
            break
        levels.pop()
    arms = list(range(K))
    losses: dict[int, float] = {}
    for i, (_, level, splits) in enumerate(rungs):
        for arm in arms:
            for split in splits:
                learner.loss(arm, level, split)
        all_splits = range(splits[-1] + 1)
        losses = {a: float(np.mean([learner.loss(a, level, j) for j in all_splits])) for a in arms}
        if i + 1 < len(rungs):
            arms = top_k(losses, rungs[i + 1][0])
    return winner(losses)[1]


def play(policy: Any, problem: Problem, learner: Learner) -> tuple[set[Key], int]:
    n_arms = policy.plan(problem).n_arms
    game = policy.start(Problem(n_arms, 1, problem.max_level, problem.max_repetitions))
    pulled: set[Key] = set()
    while not game.is_finished:
        for pull in list(game.ask(10)):
            pulled.add(tuple(pull))
            game.tell(Pull(*pull), -learner.loss(*pull))
    return pulled, game.recommend()


WIDE = 10**6
CASES: dict[str, tuple[Any, Problem, Callable[[Learner], int]]] = {
    f"{name} {i}": case
    for name, cases in {
        "Hyperband": [
            (
                Hyperband(eta),
                Problem(max_level=R),
                lambda a, R=R, e=eta: algorithm_1(R, e, a, line_11=False),
            )
            for R, eta in ((81, 3), (64, 4), (32, 2), (1, 3))
        ],
        "line 11": [
            (
                Hyperband(select="all_rungs"),
                Problem(max_level=27),
                lambda a: algorithm_1(27, 3, a, line_11=True),
            )
        ],
        "Fig. 3": [
            (
                SuccessiveHalving(n, 40 * n),
                Problem(n, max_level=WIDE),
                lambda a, n=n: figure_3(n, 40 * n, a),
            )
            for n in range(2, 14)
        ],
        "Fig. 9": [
            (
                InfiniteHorizonHalving(n, 40 * n),
                Problem(n, max_level=WIDE),
                lambda a, n=n: figure_9(n, 40 * n, a),
            )
            for n in range(2, 14)
        ],
        "Hyperband of Fig. 9": [
            (
                InfiniteHyperband(300),
                Problem(max_level=WIDE),
                lambda a: hyperband_of_figure_9(300, a),
            )
        ],
        "Fig. 10": [
            (
                FiniteHorizonHalving(n, 20 * n),
                Problem(n, max_level=27),
                lambda a, n=n: figure_10(n, 20 * n, 27, a),
            )
            for n in range(4, 14)
        ],
        "Hyperband of Fig. 10": [
            (
                GrowingHyperband(600),
                Problem(max_level=9),
                lambda a: hyperband_of_figure_10(600, 9, a),
            )
        ],
        "doubling": [
            (
                DoublingHalving(60 * n),
                Problem(n, max_level=WIDE),
                lambda a, n=n: doubling(n, 60 * n, a),
            )
            for n in range(2, 14)
        ],
        "grid": [
            (GridHalving(K), Problem(K, 1, R, 5), lambda a, K=K, R=R: grid(K, R, 5, a))
            for K in range(4, 30, 3)
            for R in (1, 30, 800)
        ],
    }.items()
    for i, case in enumerate(cases)
}


@pytest.mark.parametrize("name", CASES)
def test_it_plays_what_the_paper_says(name: str) -> None:
    policy, problem, reference = CASES[name]
    for seed, failing in ((0, set()), (1, {0, 3})):
        if problem.n_arms in (2, 3) or problem.max_level == 1:
            failing = set()
        plain, played = Learner(seed, failing), Learner(seed, failing)
        best = reference(plain)
        got = play(policy, problem, played)
        assert got == (plain.pulled, best)
