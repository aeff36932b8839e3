"""Our search with the signatures of GridSearchCV and RandomizedSearchCV.

Five pairs: in `OneRung` every candidate gets all rows, so that nothing is left that could
differ from scikit-learn's searches; in the others, the searches are those that users get by
default.
"""

from __future__ import annotations

import inspect
import warnings
from functools import wraps

from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from sklearn_halving import (
    AdaptiveSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)


class _Quiet:
    """Has no message that GridSearchCV has no occasion for."""

    def fit(self, X, y=None, **params):
        with warnings.catch_warnings():
            for message in ("The smallest training fold has", "There are only"):
                warnings.filterwarnings("ignore", message=message)
            return super().fit(X, y, **params)


def _with_defaults(search_class):
    """Return the search with its own parameters at their defaults, as attributes of the class.

    So the substitutes have no parameter that the original lacks.
    """
    parameters = inspect.signature(search_class).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    return type(f"Default{search_class.__name__}", (_Quiet, search_class), defaults)


_Adaptive = _with_defaults(AdaptiveSearchCV)
_Hyperband = _with_defaults(HyperbandSearchCV)
_VarianceHalving = _with_defaults(VarianceHalvingSearchCV)
_BayesGap = _with_defaults(BayesGapSearchCV)


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


class _Grid:
    __init__ = _init_of(GridSearchCV)

    @property
    def param_distributions(self):
        return self.param_grid


class _Randomized:
    __init__ = _init_of(RandomizedSearchCV)


class _WithoutRungs(_Hyperband):
    """Gives every candidate all rows, and has no columns that say on how many it was tried."""

    brackets = (0,)

    def fit(self, X, y=None, **params):
        super().fit(X, y, **params)
        for column in ("bracket", "iter", "n_resources", "candidate"):
            del self.cv_results_[column]
        return self


class _AsManyAsNIter(_Randomized):
    @property
    def n_candidates(self):
        return self.n_iter


class OneRung:
    """Every candidate is fitted on the whole training fold, as in the originals."""

    class GridSearchCV(_Grid, _WithoutRungs):
        pass

    class RandomizedSearchCV(_AsManyAsNIter, _WithoutRungs):
        pass


class Everyday:
    """The search for every day, with a budget in place of ``n_iter`` that all of them fit in."""

    class GridSearchCV(_Grid, _Adaptive):
        random_state = 0  # two searches are only equal on equal subsets of the rows

    class RandomizedSearchCV(_AsManyAsNIter, _Adaptive):
        n_fits = 1000
        sampler = "random"
        initial_candidates = ()


class Halving:
    """Candidates are eliminated on subsets of the rows."""

    class GridSearchCV(_Grid, _Hyperband):
        brackets = "all"
        random_state = 0  # two searches are only equal on equal subsets of the rows

    class RandomizedSearchCV(_AsManyAsNIter, _Hyperband):
        pass


class MoreSplits:
    """Candidates in doubt get more splits than others."""

    class GridSearchCV(_Grid, _VarianceHalving):
        random_state = 0  # two searches are only equal on equal splits

    class RandomizedSearchCV(_AsManyAsNIter, _VarianceHalving):
        pass


class Correlated:
    """A fit of one candidate says something about all that are like it."""

    class GridSearchCV(_Grid, _BayesGap):
        random_state = 0  # two searches are only equal on equal splits

    class RandomizedSearchCV(_AsManyAsNIter, _BayesGap):
        pass
