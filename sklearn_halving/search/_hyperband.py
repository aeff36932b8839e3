"""HyperbandSearchCV: many brackets of successive halving over a resource."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from sklearn_halving._unstable_imports import Interval, StrOptions
from sklearn_halving.policies import FiniteHorizonHalving, Hyperband, Policy
from sklearn_halving.policies._rungs import exact_factor
from sklearn_halving.search._bandit_search import BaseBanditSearchCV
from sklearn_halving.search._candidates import SearchSpace

N_WITHOUT_HALVING = 10
"""Candidates drawn from distributions where only one level is possible, the default
``n_iter`` of RandomizedSearchCV."""


class HyperbandSearchCV(BaseBanditSearchCV):
    """Search by Hyperband: little resource for many candidates, all of it for few.

    Docstring to come.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseBanditSearchCV._parameter_constraints,
        "brackets": [StrOptions({"all", "most_exploratory"}), "array-like"],
        "n_loops": [Interval(Integral, 1, None, closed="left")],
        "min_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "max_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "schedule": [StrOptions({"algorithm_1", "table_1"})],
    }

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        resource: Any = "n_samples",
        min_resources: float | str = "auto",
        max_resources: float | str = "auto",
        factor: float = 3,
        brackets: str | Sequence[int] = "all",
        n_loops: int = 1,
        min_candidates: int | None = None,
        max_candidates: int | None = None,
        select: str = "max_resources",
        schedule: str = "algorithm_1",
        rescale: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: float | str = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_distributions = param_distributions
        self.resource = resource
        self.min_resources = min_resources
        self.max_resources = max_resources
        self.factor = factor
        self.brackets = brackets
        self.n_loops = n_loops
        self.min_candidates = min_candidates
        self.max_candidates = max_candidates
        self.select = select
        self.schedule = schedule
        self.rescale = rescale
        self.random_state = random_state

    def _make_policy(self, min_level: int, max_level: int, space: SearchSpace) -> Policy:
        eta = exact_factor(self.factor)
        is_default = isinstance(self.brackets, str) and self.max_candidates is None
        if is_default and max_level < min_level * eta:
            # With one level there is nothing to halve, and Algorithm 1 would try one
            # candidate. What is left is a plain search at that level.
            n_arms = space.size or max(N_WITHOUT_HALVING, self.min_candidates or 1)
            return FiniteHorizonHalving(n_arms, n_arms * max_level, float(self.factor))
        brackets = self.brackets
        return Hyperband(
            factor=self.factor,
            brackets=brackets if isinstance(brackets, str) else tuple(brackets),
            n_loops=self.n_loops,
            min_candidates=self.min_candidates,
            max_candidates=self.max_candidates,
            select=self.select,
            schedule_rule=self.schedule,
        )
