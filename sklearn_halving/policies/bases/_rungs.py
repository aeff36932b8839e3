"""Computation of rungs and brackets in exact arithmetic.

``floor(log(243, 3))`` is 4 in floating point arithmetic, but should be 5. Therefore, this module
compares powers of exact fractions instead of computing logarithms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from math import ceil, floor, inf
from numbers import Real
from typing import Annotated, Any

from sklearn_halving._checks import Rule, refuse_unless
from sklearn_halving.policies._plan import Round


def exact_factor(factor: Real | float) -> Fraction:
    """Return the factor as an exact fraction, or raise if it is below 2 or infinite."""
    is_number = isinstance(factor, Real) and not isinstance(factor, bool)
    is_valid, rule = is_number and 2 <= float(factor) < inf, "be a number of at least 2 and finite"
    refuse_unless(is_valid, "factor", rule, repr(factor), "Use 3, the default, or 4.")
    # Use the decimal value: 2.2 is 11/5, and not its binary floating point approximation.
    return factor if isinstance(factor, Fraction) else Fraction(str(float(factor)))


def _check_factor(name: str, value: Any, advice: str) -> None:
    exact_factor(value)


Factor = Annotated[float, Rule(_check_factor)]
"""The type of a ``factor``, see `CheckedFields`."""


def floor_log(value: Fraction | int, base: Fraction | int) -> int:
    """Return the largest integer t with ``base ** t <= value``, for ``value >= 1``.

    Examples
    --------
    >>> floor_log(243, 3)
    5
    """
    exponent, power = 0, Fraction(base)
    while power <= value:
        exponent += 1
        power *= base
    return exponent


def round_half_up(value: Fraction) -> int:
    """Return the nearest integer. Exact halves are rounded up, not to even."""
    return floor(value + Fraction(1, 2))


def halving_rungs(n_arms: int, levels: Sequence[int], factor: Fraction) -> tuple[Round, ...]:
    """Return rungs of ``floor(n eta^-i)`` arms at the given levels, in increasing order.

    Every rung has at least one arm. A single arm has no rivals, so that only the last of several
    rungs with one arm is played. Of several rungs at the same level, only the first is played,
    which is the widest.
    """
    widths = [max(1, floor(n_arms / factor**i)) for i in range(len(levels))]
    rungs: list[Round] = []
    for width, level in zip(widths, levels, strict=True):
        if rungs and rungs[-1].level == level:
            continue
        if rungs and rungs[-1].n_arms == 1:
            rungs.pop()
        rungs.append(Round(width, level))
    return tuple(rungs)


def up_to(max_level: int, rungs: Iterable[Round]) -> tuple[Round, ...]:
    """Return the rungs below the largest level, and the first one that would reach it, there."""
    bounded: list[Round] = []
    for rung in rungs:
        bounded.append(replace(rung, level=min(rung.level, max_level)))
        if rung.level >= max_level:
            break
    return tuple(bounded)


def _rounds(n_arms: int, budget: int, min_level: int) -> Iterator[tuple[int, int]]:
    """Yield ``|S_k|`` and ``floor(B / (|S_k| ceil(log2 n)))``, the units of an arm in round k."""
    n_rounds = (int(n_arms) - 1).bit_length()  # ceil(log2 n), exact
    least = n_arms * n_rounds * min_level
    if least > budget:
        raise ValueError(
            f"budget={budget} is too small to train each of {n_arms} arms with {min_level} units "
            f"in the first of {n_rounds} rounds. The least budget that works is {least}."
        )
    while n_arms > 1:
        yield n_arms, budget // (n_arms * n_rounds)
        n_arms //= 2


def fixed_budget_rungs(n_arms: int, budget: int, min_level: int = 1) -> tuple[Round, ...]:
    """Return the rungs of Fig. 3 of Jamieson & Talwalkar (2015), whose units are additional."""
    rounds = list(_rounds(n_arms, budget, min_level))
    levels = accumulate(units for _, units in rounds)
    return tuple(Round(n, level) for (n, _), level in zip(rounds, levels, strict=True))


def infinite_horizon_rungs(n_arms: int, budget: int, min_level: int = 1) -> tuple[Round, ...]:
    """Return the rungs of Fig. 9 of Li et al. (2018), which start from scratch.

    Examples
    --------
    >>> [(rung.n_arms, rung.level) for rung in infinite_horizon_rungs(16, 1000)]
    [(16, 15), (8, 31), (4, 62), (2, 125)]
    """
    return tuple(Round(n, units) for n, units in _rounds(n_arms, budget, min_level))


def finite_horizon_costs(n_arms: int, levels: tuple[int, int], factor: float) -> list[Fraction]:
    """Return the units that s = 0, 1, ... eliminations need: ``n R (s + 1) eta^-s``.

    ``levels`` are the smallest level and R.
    """
    (min_level, max_level), eta = levels, exact_factor(factor)
    largest = floor_log(min(Fraction(max_level, min_level), Fraction(n_arms)), eta)
    return [n_arms * max_level * (s + 1) / eta**s for s in range(largest + 1)]


def finite_horizon_rungs(
    n_arms: int, budget: int, levels: tuple[int, int], factor: float
) -> tuple[Round, ...]:
    """Return the rungs of Fig. 10 of Li et al. (2018), between the smallest level and R."""
    eta, max_level = exact_factor(factor), levels[1]
    costs = finite_horizon_costs(n_arms, levels, factor)
    s = next((s for s, cost in enumerate(costs) if cost <= budget), None)
    if s is None:
        raise ValueError(
            f"budget={budget} is too small for {n_arms} arms and {max_level} units each. The "
            f"least budget that works is {ceil(min(costs))}."
        )
    return halving_rungs(n_arms, [floor(max_level * eta ** (k - s)) for k in range(s + 1)], eta)
