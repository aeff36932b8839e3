"""An estimator that does nothing, and searches whose policy names one pull at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_halving import HyperbandSearchCV


class DoNothing(BaseEstimator):
    """An estimator that costs nothing but what a search does with it."""

    def __init__(
        self, value: float = 0, level: int = 1, alpha: float = 1.0, solver: str = "auto"
    ) -> None:
        self.value = value
        self.level = level
        self.alpha = alpha
        self.solver = solver

    def fit(self, X: Any, y: Any) -> DoNothing:
        """Do nothing."""
        return self

    def score(self, X: Any, y: Any) -> float:
        """Return a number that tells the candidates apart."""
        return self.value


class NothingToTell(DoNothing):
    """An estimator whose scores are all equal."""

    def score(self, X: Any, y: Any) -> float:
        """Return 0."""
        return 0.0


class Noisy(DoNothing):
    """An estimator whose scores differ from split to split."""

    def __init__(self, value: float = 0, a: float = 0, b: float = 0, c: float = 0) -> None:
        self.value = value
        self.a = a
        self.b = b
        self.c = c

    def fit(self, X: Any, y: Any) -> Noisy:
        """Remember which rows there are: the noise of the split."""
        self.noise_ = float(X[:, 0].sum())
        return self

    def score(self, X: Any, y: Any) -> float:
        """Return the value with noise that the split and the candidate decide."""
        a, b, c = self.a, self.b, self.c
        mean = np.sin(9 * self.value) * (1 - a**2) * (1 - b**2) + 0.2 * c
        return float(mean + 0.1 * np.sin(1e4 * (self.value + 3 * a + 7 * b + self.noise_)))


class OneByOne:
    """A policy that names one pull at a time; if patient, only when none is open."""

    def __init__(self, policy: Any, *, is_patient: bool) -> None:
        self._policy = policy
        self._n_open = 0
        self.order_free = not is_patient

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def ask(self, state: Any, max_pulls: int) -> Any:
        """Ask for one pull."""
        pulls = self._policy.ask(state, 1 if self.order_free or not self._n_open else 0)
        self._n_open += len(pulls)
        return pulls

    def tell(self, state: Any, pulls: Any, rewards: Any) -> None:
        """Hand on the outcome."""
        self._n_open -= len(pulls)
        self._policy.tell(state, pulls, rewards)


class AskedOneByOne(HyperbandSearchCV):
    """Hyperband whose policy names one pull at a time."""

    is_patient = False

    def _make_policy(self, *args: Any) -> Any:
        return OneByOne(super()._make_policy(*args), is_patient=self.is_patient)


class AskedAndToldOneByOne(AskedOneByOne):
    """Hyperband whose policy hears of each outcome before it names the next pull."""

    is_patient = True
