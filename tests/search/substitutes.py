"""Our search with the signatures of GridSearchCV and RandomizedSearchCV.

Two pairs: in `OneRung` every candidate gets all rows, so that nothing is left that could
differ from scikit-learn's searches; in `Halving` the search is the one users get by default.
"""

from __future__ import annotations

import inspect
import warnings
from functools import wraps

from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.policies import FiniteHorizonHalving
from sklearn_halving.resources import TrainingSize


class WholeFold(TrainingSize):
    """A resource with one level: the training fold."""

    name = "whole_fold"
    subsamples_rows = False

    def level_range(self, estimator, n_train, n_rows_needed):
        return 1, 1


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


def _init_of(original):
    """Return an ``__init__`` with the signature of the original, which keeps what it is given."""
    signature = inspect.signature(original.__init__)

    @wraps(original.__init__)
    def init(self, *args, **params):
        given = signature.bind(self, *args, **params)
        given.apply_defaults()
        for name, value in list(given.arguments.items())[1:]:
            setattr(self, name, value)

    return init


class _Grid(_Substitute):
    __init__ = _init_of(GridSearchCV)

    @property
    def param_distributions(self):
        return self.param_grid


class _Randomized(_Substitute):
    __init__ = _init_of(RandomizedSearchCV)


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
        def _make_policy(self, levels, space, rows):
            n = self.n_iter if space.size is None else min(self.n_iter, space.size)
            return FiniteHorizonHalving(n, n * levels.largest)


class Halving:
    """Candidates are eliminated on subsets of the rows; ``n_iter`` follows from the brackets."""

    class GridSearchCV(_Grid):
        random_state = 0  # two searches are only equal on equal subsets of the rows

    class RandomizedSearchCV(_Randomized):
        pass
