"""Our search with the signatures of GridSearchCV and RandomizedSearchCV.

Two pairs: in `OneRung` every candidate gets all rows, so that nothing is left that could
differ from scikit-learn's searches; in `Halving` the search is the one users get by default.
"""

from __future__ import annotations

import warnings

import numpy as np

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.policies import FiniteHorizonHalving


class WholeFold:
    """A resource with one level: the training fold."""

    name = "whole_fold"
    subsamples_rows = False

    def check(self, estimator, searched):
        pass

    def level_range(self, estimator, n_train, n_rows_needed):
        return 1, 1

    def to_level(self, amount):
        return round(amount)

    def to_amount(self, level):
        return level

    def params_at(self, level):
        return {}

    def can_continue(self, estimator):
        return False

    def train(self, estimator, X, y, level, previous_level, fit_params):
        targets = () if y is None else (y,)
        estimator.fit(X, *targets, **fit_params)  # may return nothing
        return estimator


class _Substitute(HyperbandSearchCV):
    """Has no parameter that the original lacks; those of ours stay at their defaults."""

    resource = "n_samples"
    min_resources = max_resources = "auto"
    factor = 3
    brackets = "all"
    n_loops = 1
    min_candidates = max_candidates = None
    select = "max_resources"
    schedule = "algorithm_1"
    rescale = None
    random_state = None

    def fit(self, X, y=None, **params):
        """Fit without the messages that GridSearchCV has no occasion for."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The grid has")
            warnings.filterwarnings("ignore", message="The smallest training fold has")
            return super().fit(X, y, **params)

    def _set(self, **params):
        for name, value in params.items():
            setattr(self, name, value)


class _Grid(_Substitute):
    def __init__(
        self,
        estimator,
        param_grid,
        *,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        error_score=np.nan,
        return_train_score=False,
    ):
        params = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        self._set(**params)

    @property
    def param_distributions(self):
        return self.param_grid


class _Randomized(_Substitute):
    def __init__(
        self,
        estimator,
        param_distributions,
        *,
        n_iter=10,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        random_state=None,
        error_score=np.nan,
        return_train_score=False,
    ):
        params = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        self._set(**params)


class _WithoutRungs(_Substitute):
    """Gives every candidate all rows, and has no columns that say on how many it was tried."""

    resource = WholeFold()

    def fit(self, X, y=None, **params):
        super().fit(X, y, **params)
        for column in ("bracket", "iter", "n_resources", "candidate"):
            del self.cv_results_[column]
        return self


class OneRung:
    """Every candidate is fitted on the whole training fold, as in the originals."""

    class GridSearchCV(_WithoutRungs, _Grid):
        pass

    class RandomizedSearchCV(_WithoutRungs, _Randomized):
        def _make_policy(self, levels, space):
            n = self.n_iter if space.size is None else min(self.n_iter, space.size)
            return FiniteHorizonHalving(n, n * levels.largest)


class Halving:
    """Candidates are eliminated on subsets of the rows; ``n_iter`` follows from the brackets."""

    class GridSearchCV(_Grid):
        random_state = 0  # two searches are only equal on equal subsets of the rows

    class RandomizedSearchCV(_Randomized):
        pass
