"""What pulls cost and what is left of a budget, in full pulls or in seconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from statistics import median

from sklearn_halving.policies._types import Pull

FAR_APART = 4.0
"""Prices are far apart if the largest is this many times the median."""


@dataclass
class PullCosts:
    """A budget of full pulls. A pull costs its share of the largest level."""

    top: int
    """The largest level."""
    size: float
    """The budget."""
    total: float = 0.0
    """Cost of all pulls that were asked for."""
    again: float = 0.0
    """Cost of the pulls of arms that have a full reward."""
    low: int | None = None
    """The level of screening, once there was such a pull."""

    price = 1.0
    """Cost of a full pull of a new arm."""
    refit_cost = dearest_refit = 0.0
    n_workers = 1
    are_prices_far_apart = False

    @property
    def share(self) -> float | None:
        """Cost of screening an arm, in full pulls; None if it is not known."""
        return None if self.low is None else self.low / self.top

    screening_price = share

    def expected(self, pull: Pull) -> float:
        """Return the cost of a pull."""
        return pull.level / self.top

    def open(self, pull: Pull, *, is_again: bool) -> None:
        """Pay for a pull when it is asked for."""
        if pull.level < self.top:
            self.low = pull.level
        self.total += self.expected(pull)
        self.again += self.expected(pull) * is_again

    def close(self, pull: Pull, *, is_new: bool) -> None:
        """Do nothing when a pull is told: it is paid for."""

    def room(self, in_flight: Iterable[Pull], to_refit: float) -> float:
        """Return what is left."""
        return self.size - self.total

    def can_end(self, pull: Pull, to_refit: float) -> bool:
        """Return whether the budget allows a pull."""
        return self.expected(pull) <= self.size - self.total + 1e-9

    def of_refit(self, arm: int) -> float:
        """Return 0: the refit is not part of the budget."""
        return 0.0

    def lost(self, n_loops: int) -> float:
        """Return 0: nothing is lost between pulls."""
        return 0.0


@dataclass
class Mean:
    """A mean that is updated."""

    n: int = 0
    total: float = 0.0

    def add(self, value: float) -> None:
        """Add a value."""
        self.n += 1
        self.total += value

    @property
    def value(self) -> float | None:
        """The mean; None without values."""
        return self.total / self.n if self.n else None


@dataclass
class TimeCosts:
    """A budget of time. A pull costs its seconds, which are known when it returns."""

    top: int
    n_workers: int
    refit_cost: float
    """Time of the refit, in full pulls of the same arm."""
    left: float = inf
    """Seconds of the budget that are left."""
    budget: float = inf
    again: float = 0.0
    total: float = 0.0
    """Time of all pulls."""
    of_arm: dict[int, Mean] = field(default_factory=dict)
    """Time of a full pull of each arm."""
    first: dict[int, float] = field(default_factory=dict)
    """Time of the first full pull of each arm."""
    screening: dict[int, float] = field(default_factory=dict)
    """Time of screening each arm."""
    of_new: Mean = field(default_factory=Mean)
    of_screening: Mean = field(default_factory=Mean)
    shares: list[float] = field(default_factory=list)
    """Time of screening, in full pulls of the same arm."""
    _further: set[Pull] = field(default_factory=set)
    _dearest: float = 0.0

    def record(self, pull: Pull | None, seconds: float, left: float, n_workers: int) -> None:
        """Record the time of a pull that is told next."""
        if self.budget == inf:
            self.budget = left + seconds + self.total / n_workers
        self.left, self.n_workers = left, n_workers
        if pull is not None:
            self.learn(pull, seconds)

    def learn(self, pull: Pull, seconds: float) -> None:
        """Record the time of a pull, of this race or of an earlier one."""
        self.total += seconds
        if pull.level < self.top:
            self.screening[pull.arm] = seconds
            self.of_screening.add(seconds)
            return
        self.of_arm.setdefault(pull.arm, Mean()).add(seconds)
        self._dearest = max(self._dearest, self.first.setdefault(pull.arm, seconds))
        if pull in self._further:
            self.again += seconds

    def open(self, pull: Pull, *, is_again: bool) -> None:
        """Note a pull when it is asked for."""
        if is_again:
            self._further.add(pull)

    def close(self, pull: Pull, *, is_new: bool) -> None:
        """Learn from the time of a pull that is told, which is the first full reward if new."""
        arm, low = pull.arm, self.screening.get(pull.arm)
        if is_new:
            self.of_new.add(self.first[arm])
        if low is not None and arm in self.first and (is_new or pull.level < self.top):
            self.shares.append(low / max(self.first[arm], 1e-9))

    @property
    def size(self) -> float:
        """The budget in full pulls, of all workers; 0 before the first."""
        return 0.0 if self.price is None else self.budget * self.n_workers / self.price

    @property
    def price(self) -> float | None:
        """Mean time of a full pull of a new arm."""
        return self.of_new.value

    @property
    def screening_price(self) -> float | None:
        """Mean time of screening an arm."""
        return self.of_screening.value

    @property
    def share(self) -> float | None:
        """Median time of screening, in full pulls of the same arm; None if it is not known."""
        return median(self.shares) if self.shares else None

    @property
    def are_prices_far_apart(self) -> bool:
        """Whether an arm may be so expensive that it does not end in time.

        That is so if one that costs twice as much as the most expensive so far would not.
        """
        share = self.share or 1.0
        prices = {arm: low / share for arm, low in self.screening.items()} | self.first
        dearest = max(prices.values(), default=0.0)
        return 2 * dearest > self.left and dearest > FAR_APART * median(prices.values())

    def expected(self, pull: Pull) -> float:
        """Return the time that a pull will take; 0 if nothing is known."""
        if pull.level != self.top:
            return self.screening_price or 0.0
        if pull.arm in self.of_arm:
            return self.of_arm[pull.arm].value or 0.0
        low, share = self.screening.get(pull.arm), self.share
        if low is not None and share is not None:
            return low / max(share, 1e-3)
        return self.price or 0.0

    def room(self, in_flight: Iterable[Pull], to_refit: float) -> float:
        """Return the time that is left to all workers together."""
        return (self.left - to_refit) * self.n_workers - sum(map(self.expected, in_flight))

    def can_end(self, pull: Pull, to_refit: float) -> bool:
        """Return whether a pull can end in time."""
        return self.expected(pull) <= self.left - to_refit

    def of_refit(self, arm: int) -> float:
        """Return the time of a refit."""
        of_full = self.first.get(arm, self.expected(Pull(arm, self.top, 0)))
        return self.refit_cost * of_full

    @property
    def dearest_refit(self) -> float:
        """The longest time of a refit of an arm that has a full pull."""
        return self.refit_cost * self._dearest

    def lost(self, n_loops: int) -> float:
        """Return the time between pulls for each loop, in which its arms are made."""
        if self.budget == inf:
            return 0.0
        lost = (self.budget - self.left) * self.n_workers - self.total
        return max(lost, 0.0) / n_loops
