"""What fits took, and what others may take: some need a process that can be ended."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import islice
from math import inf, prod
from statistics import median
from threading import Lock

from sklearn_halving._typing import Params
from sklearn_halving.execution._types import Outcome, PullLimits
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources._resource import number_of
from sklearn_halving.resources._resources import is_number_of_rounds

FAR_APART = 4.0
"""Prices are far apart if the largest is this many times the median."""
GROWTH = 3.0
"""The time of a fit grows at most with this power of its resource."""
N_WARM = 3
"""The first fit of a process may take longer. It is left out if this many others are known."""
N_LATEST = 100
"""Number of arms whose times are compared, the latest ones."""
SLACK = 0.1
"""A fit that may exceed the time budget by a larger part of it is guarded."""
MOST_FOR_ONE = 0.25
"""Largest part of the time left for a fit that is far more expensive than all others."""


@dataclass
class Prices:
    """The times of fits, and what they leave of a time budget. Without one, nothing is recorded.

    Parameters
    ----------
    given : dict
        The parameters of the estimator as it is.
    top : int
        The level of a full fit.
    began, deadline : float
        Times of ``time.monotonic``: the start of the search, and after which no pull starts.
    refit_cost : float
        Time of the refit, in full fits of the same arm; 0 if there is none.
    plans_time : bool
        Whether the policy itself keeps time for the refit.
    """

    given: Params = field(default_factory=dict)
    top: int = 1
    began: float = field(default_factory=time.monotonic)
    deadline: float = inf
    refit_cost: float = 0.0
    plans_time: bool = False
    first: Pull | None = field(default=None, init=False)
    """The first pull that started. There must be a result."""
    _to_refit: float = field(default=0.0, init=False)
    """Time of the refit of the arm that would be chosen now."""
    dearest: float = field(default=0.0, init=False)
    """The longest time of a full fit, relative to a small one."""
    _seconds: dict[int, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    """The longest time of a fit, by level and arm."""
    _sizes: dict[int, Sizes] = field(default_factory=dict)
    _abandoned: set[tuple[int, int]] = field(default_factory=set)
    """Levels and arms of fits that were abandoned, which tell how long they take at least."""
    _lock: Lock = field(default_factory=Lock)  # fits may start in threads

    @property
    def is_blind(self) -> bool:
        """Whether nothing is known, and a fit may take any time."""
        return self.deadline < inf and not self._sizes and is_unlimited(self.given)

    @property
    def left(self) -> float:
        """The time until the deadline."""
        return self.deadline - time.monotonic()

    @property
    def left_for_fits(self) -> float:
        """The time until the refit must start."""
        return self.left - self._to_refit

    def note_start(self, pull: Pull) -> None:
        """Note that a pull starts."""
        self.first = self.first or pull

    def can_refit(self, arm: int) -> bool:
        """Return whether there is time to refit an arm."""
        return self.refit_cost * self.of_full(arm) <= self.left

    @property
    def may_lack_refit(self) -> bool:
        """Whether the time for fits may depend on which arm is refitted."""
        return 2 * self.dearest * self.refit_cost > self.left

    def expect_refit(self, arm: int) -> None:
        """Note which arm would be refitted now; a negative number is none."""
        price = 0.0 if arm < 0 else self.refit_cost * self.of_full(arm)
        self._to_refit = price if self.plans_time else max(price, self._reserve)

    @property
    def _reserve(self) -> float:
        """The time that is kept for the refit until it is known which arm is chosen."""
        most = MOST_FOR_ONE * (self.deadline - self.began)
        return min(self.refit_cost * self.dearest, most)

    def limits(self, pull: Pull, params: Params) -> PullLimits | None:
        """Return the limits of a fit that may not end in time; None for any other.

        It is of use only if its arm can be refitted in time, and if time is left for others. A
        small fit tells whether a full one can end.
        """
        if self.deadline == inf or pull == self.first:
            return None
        left, longest = self.left_for_fits, self.longest(pull, params)
        most = self.left / (1 + self.refit_cost)
        slack = SLACK * (self.deadline - self.began)
        is_too_dear = not self.plans_time and longest > max(self.dearest, most + slack)
        if longest <= left + slack and not is_too_dear:
            return None
        full = min(most, max(MOST_FOR_ONE * most, FAR_APART * self.dearest))
        useful = max(full * pull.level / self.top, SLACK * most)
        return PullLimits(useful=useful, ends=time.monotonic() + left)

    def record(self, outcome: Outcome, params: Params) -> None:
        """Record the time of a fit, which may have been abandoned before it was complete."""
        if self.deadline == inf:
            return
        arm, level, _ = outcome.pull
        seconds = outcome.seconds
        if outcome.kind != "abandoned":
            self.dearest = max(self.dearest, seconds * (self.top / level))
            if not self.plans_time:  # which is told of each fit before the next one starts
                self._to_refit = max(self._to_refit, self._reserve)
            self._abandoned.discard((level, arm))
        elif seconds == 0:  # not even begun
            return
        else:
            self._abandoned.add((level, arm))
        with self._lock:
            self._seconds[level][arm] = max(seconds, self._seconds[level].get(arm, 0.0))
            self._sizes[arm] = self._sizes_of(params)

    def of_full(self, arm: int) -> float:
        """Return the time of a full fit of an arm, by that of its largest one."""
        levels = [level for level, arms in self._seconds.items() if arm in arms]
        if not levels:
            return self.dearest
        level = max(levels)
        power = 2.0 if self._sizes[arm].is_unlimited else 1.0
        return self._seconds[level][arm] * self._growth(level, self.top, power)

    def longest(self, pull: Pull, params: Params) -> float:
        """Return the time that a fit may take.

        If nothing is known, it is 0 for a fit that is limited by the estimator, and else infinite.
        """
        with self._lock:
            return self._longest(pull, self._sizes_of(params))

    def _longest(self, pull: Pull, own: Sizes) -> float:
        arm, level, _ = pull
        known = self._seconds.get(level, {})
        below = [k for k, arms in self._seconds.items() if arm in arms and k < level]
        if not self._sizes:
            return inf if own.is_unlimited else 0.0
        if arm in known:
            return known[arm]
        small = self._seconds[max(below)][arm] * self._growth(max(below), level) if below else 0.0
        if below and not own.is_unlimited:  # which may take longer to converge with more rows
            return small
        near_level, factor = level, 1.0
        if not known:  # a smaller fit takes no longer
            near_level = min(self._seconds, key=lambda k: (k < level, abs(k - level)))
            known, factor = self._seconds[near_level], self._growth(near_level, level)
        latest = [*islice(reversed(known.items()), N_LATEST)]
        ended = [(a, s) for a, s in latest if (near_level, a) not in self._abandoned]
        near = factor * min((s * own.ratio(self._sizes[a]) for a, s in ended), default=inf)
        prices = [s for _, s in latest]
        prices = prices[:-1] if len(prices) > N_WARM else prices
        if max(prices) <= FAR_APART * median(prices):
            return max(near, small)
        return FAR_APART * (max(near, small) if own.is_unlimited else factor * max(prices))

    def _growth(self, low: int, level: int, power: float = GROWTH) -> float:
        """Return how many times as long a fit with more of the resource takes, at most."""
        if low >= level:
            return 1.0
        both = self._seconds[low].keys() & self._seconds.get(level, {}).keys()
        ratios = [self._seconds[level][a] / max(self._seconds[low][a], 1e-9) for a in both]
        return max(ratios, default=(level / low) ** power)

    def _sizes_of(self, params: Params) -> Sizes:
        """Return the parameters of a candidate that may change the time of a fit."""
        own = dict(params)
        for name, value in params.items():
            if hasattr(value, "get_params") and not isinstance(value, type):
                own |= {f"{name}__{part}": v for part, v in value.get_params().items()}
        if is_unlimited(self.given | own):
            return Sizes(own, is_unlimited=True)
        counted = {n: v for n, v in own.items() if is_number_of_rounds(n) or isinstance(v, tuple)}
        return Sizes(counted)


@dataclass(frozen=True)
class Sizes:
    """The parameters of a candidate that may change the time of a fit.

    These are all, if the fit goes on until it converges, as that of a support vector machine, and
    else the number of rounds of an ensemble, and the sizes of layers.
    """

    params: Params
    is_unlimited: bool = False

    def ratio(self, other: Sizes) -> float:
        """Return how many times as long a fit may take as another.

        It is at most in proportion to each number. With another text as a value, nothing is known
        of a fit that is not limited.
        """
        product = 1.0
        for name, value in self.params.items():
            known = other.params.get(name)
            a, b = _size(value), _size(known)
            if a and b:
                product *= max(1.0, abs(a / b), abs(b / a) if self.is_unlimited else 0.0)
            elif isinstance(value, str) and isinstance(known, str) and value != known:
                return inf
        return product


def _size(value: object) -> float | None:
    """Return a number, or the product of a tuple of numbers, such as the sizes of layers."""
    if not isinstance(value, tuple):
        return number_of(value)
    sizes = [size for each in value if (size := number_of(each)) is not None]
    return prod(sizes) if len(sizes) == len(value) else None


def is_unlimited(params: Params) -> bool:
    """Return whether a parameter says that the iterations of a fit are not limited."""
    return any(name.endswith("max_iter") and value == -1 for name, value in params.items())
