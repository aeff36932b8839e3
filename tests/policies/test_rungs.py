"""Rungs against an oracle written from the papers, in whole numbers only, and rounds by hand.

The oracle holds eta as a fraction p/q and compares ``p**s`` with ``R * q**s``; it shares
nothing with `_rungs.py`, which works with `Fraction`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_halving.policies import (
    FiniteHorizonHalving,
    GrowingHyperband,
    Hyperband,
    InfiniteHorizonHalving,
    InfiniteHyperband,
    Problem,
    SuccessiveHalving,
)
from sklearn_halving.policies.bases._rungs import exact_factor

Rungs = list[tuple[int, int]]

POWERS = [(eta**k, eta) for eta in range(2, 11) for k in range(21) if eta**k <= 10**6]
NAMED = [(81, 3), (300, 4), (600, 4), (400, 4), (1000, 4), (243, 3), (27, 2), (10, 3)]


def rungs_of(policy: object, min_level: int, max_level: int) -> dict[int, Rungs]:
    """Return the rungs of each bracket by its s, as (arms, level)."""
    plan = policy.plan(Problem(1, min_level, max_level))
    return {b.label: [(r.n_arms, r.level) for r in b.rounds] for b in plan.brackets}


def algorithm_1(R: int, p: int, q: int = 1) -> dict[int, Rungs]:
    """Algorithm 1 of Li et al. for eta = p / q, one unit being the smallest level."""
    s_max = 0
    while p ** (s_max + 1) <= R * q ** (s_max + 1):
        s_max += 1
    brackets = {}
    for s in range(s_max, -1, -1):
        n = -(-(s_max + 1) * p**s // ((s + 1) * q**s))  # line 3
        rungs = []
        for i in range(s + 1):
            n_i = n * q**i // p**i  # line 6
            above, below = R * q ** (s - i), p ** (s - i)  # line 7: r_i = R eta^(i - s)
            rungs.append((n_i, (2 * above + below) // (2 * below)))
        brackets[s] = rungs
    return brackets


@pytest.mark.parametrize(("R", "eta"), POWERS + NAMED)
def test_hyperband_equals_algorithm_1(R: int, eta: int) -> None:
    assert rungs_of(Hyperband(factor=eta), 1, R) == algorithm_1(R, eta)


@given(st.integers(1, 10**5), st.integers(20, 90))
def test_hyperband_equals_algorithm_1_for_decimal_factors(R: int, tenths: int) -> None:
    assert rungs_of(Hyperband(factor=tenths / 10), 1, R) == algorithm_1(R, tenths, 10)


@given(st.integers(1, 1000), st.integers(1, 10**6), st.sampled_from([2, 3, 4, 2.5, 7]))
def test_a_unit_of_hyperband_is_the_smallest_level(lowest: int, more: int, factor: float) -> None:
    brackets = rungs_of(Hyperband(factor=factor), lowest, lowest + more)
    largest_s = max(brackets)
    eta = Fraction(factor)
    assert eta**largest_s * lowest <= lowest + more < eta ** (largest_s + 1) * lowest
    for rungs in brackets.values():
        levels = [level for _, level in rungs]
        assert rungs[-1][1] == lowest + more, "the last rung is exactly at max"
        assert levels == sorted(set(levels)), "equal neighbours are merged"
        assert levels[0] >= lowest


def test_factor_is_read_as_it_is_written() -> None:
    """The nearest float to 2.2 is a little more, and 484 = 2.2^2 * 100 would be missed."""
    assert exact_factor(2.2) == Fraction(11, 5)
    assert exact_factor(2.5) == Fraction(5, 2)
    assert exact_factor(Fraction(7, 3)) == Fraction(7, 3)
    brackets = rungs_of(Hyperband(factor=2.2), 100, 484)
    assert [level for _, level in brackets[2]] == [100, 220, 484]


@pytest.mark.parametrize("factor", [1.99, 1, 0, -3, True, "3", None, float("inf"), float("nan")])
def test_factor_is_refused(factor: object) -> None:
    with pytest.raises(ValueError, match="factor must be"):
        exact_factor(factor)


def test_table_1_as_printed() -> None:
    policy = Hyperband(factor=3, schedule_rule="table_1")
    assert rungs_of(policy, 1, 81) == {
        4: [(81, 1), (27, 3), (9, 9), (3, 27), (1, 81)],
        3: [(27, 3), (9, 9), (3, 27), (1, 81)],
        2: [(9, 9), (3, 27), (1, 81)],
        1: [(6, 27), (2, 81)],
        0: [(5, 81)],
    }
    by_formula = rungs_of(Hyperband(factor=3), 1, 81)
    assert [rungs[0][0] for rungs in by_formula.values()] == [81, 34, 15, 8, 5]


# ------------------------------------------------------------------ options of Hyperband


@pytest.mark.parametrize("brackets", ["every", [], [5], [-1], [1, 1], [2.7], ["2"], 2, None])
def test_brackets_are_refused(brackets: object) -> None:
    with pytest.raises(ValueError, match=r"brackets must be .* from 0 to 4, got"):
        Hyperband(brackets=brackets).plan(Problem(max_level=81))


@given(st.integers(1, 100), st.integers(1, 3**7))
def test_few_candidates_are_used_whole_and_never_play_a_rung_alone(n: int, R: int) -> None:
    for bracket in Hyperband().plan(Problem(max_level=R, n_available=n)).brackets:
        widths = [rung.n_arms for rung in bracket.rounds]
        assert widths[0] <= n
        assert widths.count(1) <= 1, "one arm has nobody to be compared with before the end"
        assert bracket.rounds[-1].level == R


# ------------------------------------------------- Jamieson & Talwalkar, Fig. 3: a budget


def figure_3(n: int, B: int) -> Rungs:
    """Fig. 3 of Jamieson & Talwalkar, with the stop that the figure forgets for odd n."""
    rounds = 0
    while 2**rounds < n:
        rounds += 1
    rungs, size, level = [], n, 0
    for _ in range(rounds):
        if size == 1:
            break
        level += B // (size * rounds)
        rungs.append((size, level))
        size = size // 2
    return rungs


@given(st.integers(1, 500), st.integers(0, 10**6))
def test_fixed_budget_equals_figure_3_and_keeps_to_the_budget(n: int, extra: int) -> None:
    least = n * (n - 1).bit_length()
    budget = least + extra
    (rungs,) = rungs_of(SuccessiveHalving(n_arms=n, budget=budget), 1, budget).values()
    assert rungs == figure_3(n, budget)
    spent, level = 0, 0
    for size, reached in rungs:
        assert reached > level, "every round gives something"
        spent += size * (reached - level)
        level = reached
    assert spent <= budget
    assert sum(size for size, _ in rungs) <= 2 * n + 1, "Table 1: observed losses"


# --------------------------------------------------- Li et al., Fig. 10: finite horizon


def figure_10(n: int, B: int, R: int, eta: Fraction) -> Rungs | None:
    """Fig. 10 of Li et al.; None where its budget test has no solution."""
    t = 0
    while eta**t <= min(R, n):
        if n * R * (t + 1) / eta**t <= B:
            return [(int(n / eta**k), int(R / eta ** (t - k))) for k in range(t + 1)]
        t += 1
    return None


@given(
    st.integers(1, 300),
    st.integers(1, 10**5),
    st.integers(1, 1000),
    st.sampled_from(["2", "3", "4", "5/2"]),
)
def test_finite_horizon_equals_figure_10(n: int, budget: int, R: int, eta: str) -> None:
    expected = figure_10(n, budget, R, Fraction(eta))
    policy = FiniteHorizonHalving(n_arms=n, budget=budget, factor=float(Fraction(eta)))
    if expected is not None:
        (rungs,) = rungs_of(policy, 1, R).values()
        # A single arm is trained at once to the end.
        first = sum(size == 1 for size, _ in expected) - 1
        kept = [rung for rung in expected if rung[0] > 1] + expected[-1:]
        assert rungs == (kept if first > 0 else expected)
        assert sum(size * level for size, level in rungs) <= budget, "even without continuation"
        assert rungs[-1][1] == R
        return
    with pytest.raises(ValueError, match="The least budget that works is") as refusal:
        policy.plan(Problem(max_level=R))
    least = int(re.search(r"least budget that works is (\d+)", str(refusal.value)).group(1))
    assert figure_10(n, least, R, Fraction(eta)) is not None
    assert figure_10(n, least - 1, R, Fraction(eta)) is None


# -------------------------------------------------------- the levels of the problem

LEVELS = [(1, 1), (1, 2), (1, 81), (4, 81), (10, 10), (7, 1000)]
BUDGETED: dict[str, Callable[[int], object]] = {
    "successive": lambda budget: SuccessiveHalving(9, budget),
    "infinite horizon": lambda budget: InfiniteHorizonHalving(9, budget),
    "finite horizon": lambda budget: FiniteHorizonHalving(9, budget),
    "infinite": InfiniteHyperband,
    "growing": GrowingHyperband,
}


def refusal_of(policy_with: Callable[[int], object], budget: int, low: int, high: int) -> str:
    """Return the error of a budget that is too small, else an empty text."""
    try:
        policy_with(budget).plan(Problem(1, low, high))
    except ValueError as error:
        return str(error)
    return ""


def least_budget(policy_with: Callable[[int], object], low: int, high: int) -> int:
    """Return the least budget, as the refusals of smaller ones name it."""
    budget = 1
    while refusal := refusal_of(policy_with, budget, low, high):
        named = re.search(r"too small .* works is (\d+)", refusal)
        assert named, refusal
        assert int(named[1]) > budget
        budget = int(named[1])
    return budget


@pytest.mark.parametrize("name", BUDGETED)
@pytest.mark.parametrize(("low", "high"), LEVELS)
def test_too_small_a_budget_is_refused_with_the_least_one(name: str, low: int, high: int) -> None:
    policy_with = BUDGETED[name]
    least = least_budget(policy_with, low, high)
    brackets = rungs_of(policy_with(least), low, high)
    assert all(rungs for rungs in brackets.values())
    if least > 1:
        refusal = refusal_of(policy_with, least - 1, low, high)
        assert re.search(rf"budget={least - 1} is too small .* works is {least}\.", refusal)


@given(
    st.integers(1, 100),
    st.integers(0, 1000),
    st.integers(0, 10**5),
    st.sampled_from([2, 2.5, 3, 7]),
)
def test_no_rung_is_outside_of_the_levels(low: int, more: int, extra: int, factor: float) -> None:
    high = low + more
    policies = [make(least_budget(make, low, high) + extra) for make in BUDGETED.values()]
    with_factor = [
        Hyperband(factor=factor),
        Hyperband(factor=factor, max_eliminations=4, n_candidates=60),
        FiniteHorizonHalving(9, 9 * high + extra, factor),
        GrowingHyperband(high + extra, factor),
    ]
    for policy in [*policies, *with_factor]:
        for bracket in policy.plan(Problem(1, low, high)).brackets:
            levels = [rung.level for rung in bracket.rounds]
            assert levels == sorted(set(levels)), "every rung trains further than the one before"
            assert low <= levels[0]
            assert levels[-1] <= high


def test_rounds_of_fig_9_by_hand() -> None:
    """k = 6: l = 1, 2, 3, 4 since 2^2 >= 4, not 5; l = 3 gives 64 / (8 * 3) = 2, 5, 10 units."""
    brackets = InfiniteHyperband(10**4).plan(Problem(max_level=10**4)).brackets
    last = [b for b in brackets if b.loop == 6]
    assert [[(rung.n_arms, rung.level) for rung in b.rounds] for b in last] == [
        [(2, 32)],
        [(4, 8), (2, 16)],
        [(8, 2), (4, 5), (2, 10)],
        [(16, 1), (8, 2), (4, 4), (2, 8)],
    ]
    # The output stands at floor(2^(k - 1) / l).
    assert [b.rounds[-1].level for b in last] == [32 // n for n in (1, 2, 3, 4)]


def test_the_answer_is_of_the_last_round() -> None:
    """Arms of earlier rounds look better, at their lower levels, and do not win."""
    policy = InfiniteHyperband(200)
    plan = policy.plan(Problem(max_level=200))
    last = plan.brackets[-1].loop
    loops = np.repeat([b.loop for b in plan.brackets], [b.n_arms for b in plan.brackets])
    game = policy.start(Problem(plan.n_arms, 1, 200))
    while not game.is_finished:
        for pull in game.ask(10**6):
            game.tell(pull, -loops[pull.arm] - pull.arm / 1000)
    assert game.recommend() == (loops < last).sum()


def test_rounds_of_fig_10_by_hand() -> None:
    """R = 9, eta = 3, k = 7: n = floor(128 * 9 / 27), floor(128 * 3 / 18), floor(128 / 9)."""
    brackets = GrowingHyperband(10**4).plan(Problem(max_level=9)).brackets
    assert [[(rung.n_arms, rung.level) for rung in b.rounds] for b in brackets if b.loop == 7] == [
        [(42, 1), (14, 3), (4, 9)],
        [(21, 3), (7, 9)],
        [(14, 9)],
    ]
