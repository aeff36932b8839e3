"""What fits took, and what others may take: some need a process that can be ended."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from math import inf
from statistics import median
from threading import Lock
from typing import Any

from sklearn_halving._typing import Params
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources._resource import number_of
from sklearn_halving.resources._resources import is_number_of_rounds

FAR_APART = 4.0
"""Prices are far apart if the largest is this many times the median."""
GROWTH = 3.0
"""The time of a fit grows at most with this power of its resource."""
N_WARM = 3
"""The first fit of a process may take longer. It is left out if so many others are known."""


@dataclass
class Prices:
    """The times of fits.

    Parameters
    ----------
    given : dict
        The parameters of the estimator as it is.
    top : int
        The level of a full fit.
    """

    given: Params
    top: int
    dearest: float = field(default=0.0, init=False)
    """The longest time of a full fit, in proportion to that of a small one."""
    _seconds: dict[int, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    """The longest time of a fit, by level and arm."""
    _params: dict[int, Params] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)  # fits may start in threads

    @property
    def is_blind(self) -> bool:
        """Whether nothing is known, and a fit may take any time."""
        return not self._params and is_unlimited(self.given)

    def record(self, outcome: Outcome, params: Params) -> None:
        """Take in the time of a fit, which may have been abandoned before it was complete."""
        arm, level, _ = outcome.pull
        seconds = outcome.fit_seconds + outcome.score_seconds
        if outcome.kind != "abandoned":
            self.dearest = max(self.dearest, seconds * (self.top / level))
        elif seconds == 0:  # not even begun
            return
        with self._lock:
            self._seconds[level][arm] = max(seconds, self._seconds[level].get(arm, 0.0))
            self._params[arm] = self._with_parts(params)

    def of_full(self, arm: int) -> float:
        """Return the time of a full fit of an arm, in proportion to its largest one."""
        levels = [level for level, arms in self._seconds.items() if arm in arms]
        if not levels:
            return self.dearest
        level = max(levels)
        return self._seconds[level][arm] * self._growth(level, self.top, 1.0)

    def longest(self, pull: Pull, params: Params) -> float:
        """Return the time that a fit may take.

        If nothing is known, it is 0 for a fit that is limited by the estimator, and else infinite.
        """
        with self._lock:
            return self._longest(pull, self._with_parts(params))

    def _longest(self, pull: Pull, own: Params) -> float:
        arm, level, _ = pull
        known = self._seconds.get(level, {})
        below = [k for k, arms in self._seconds.items() if arm in arms and k < level]
        if not self._params:
            return inf if is_unlimited(own) else 0.0
        if arm in known:
            return known[arm]
        if below:
            return self._seconds[max(below)][arm] * self._growth(max(below), level)
        if not known:  # a smaller fit takes no longer
            nearest = min(self._seconds, key=lambda k: (k < level, abs(k - level)))
            known = self._seconds[nearest]
            known = {a: s * self._growth(nearest, level) for a, s in known.items()}
        near = min(s * distance(own, self._params[a]) for a, s in known.items())
        prices = [*known.values()]
        prices = prices[1:] if len(prices) > N_WARM else prices
        if max(prices) <= FAR_APART * median(prices):
            return near
        return FAR_APART * (near if is_unlimited(own) else max(prices))

    def _growth(self, low: int, level: int, power: float = GROWTH) -> float:
        """Return how many times as long a fit with more of the resource takes, at most."""
        if low >= level:
            return 1.0
        both = self._seconds[low].keys() & self._seconds.get(level, {}).keys()
        ratios = [self._seconds[level][a] / max(self._seconds[low][a], 1e-9) for a in both]
        return max(ratios, default=(level / low) ** power)

    def _with_parts(self, params: Params) -> Params:
        """Return all parameters of a candidate, with those of estimators among them."""
        every = self.given | params
        for name, value in params.items():
            if hasattr(value, "get_params") and not isinstance(value, type):
                every |= {f"{name}__{part}": v for part, v in value.get_params().items()}
        return every


def is_unlimited(params: Params) -> bool:
    """Return whether a fit goes on until it converges, as that of a support vector machine."""
    return any(name.endswith("max_iter") and value == -1 for name, value in params.items())


def distance(params: Params, others: Params) -> float:
    """Return how many times as long a fit may take as one with other parameters.

    A fit of a limited number of rounds takes a time in proportion to them. One without a limit
    may take a time in proportion to any parameter, and with another name as a value, any time.
    """
    is_open, largest = is_unlimited(params), 1.0
    for name, value in params.items():
        other: Any = others.get(name)
        if isinstance(value, str) and isinstance(other, str) and value != other and is_open:
            return inf
        a, b = number_of(value), number_of(other)
        if a and b and (is_open or is_number_of_rounds(name)):
            ratio = abs(a / b)
            largest = max(largest, ratio, 1 / ratio if is_open else 0.0)
    return largest
