"""Parameters that all searches share, with their types, constraints and documentation.

To add a parameter to all searches, add it to the four constructors, and add its type and its
documentation to `SharedParameters`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from sklearn_halving import _typing as t
from sklearn_halving._docstrings import entries, with_section
from sklearn_halving._unstable_imports import BaseSearchCV, Interval, StrOptions

PositiveFloat = Annotated[float, Interval(Real, 0, None, closed="neither")]
PositiveInt = Annotated[int, Interval(Integral, 1, None, closed="left")]
NOT_ZERO = (
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
)
Fraction = Annotated[float, Interval(Real, 0, 1, closed="neither")]

NAMES_OF_GRID_SEARCH = {
    "param_grid": "param_distributions, a grid or distributions",
    "n_iter": "n_candidates, the number of different candidates",
}
"""Parameters of GridSearchCV and RandomizedSearchCV that have another name in a search."""

Search = TypeVar("Search", bound=type["SharedParameters"])


class SharedParameters:
    """Parameters and attributes of every search.

    The type of a parameter is also the rule by which `fit` validates it, see `constraint_of`. The
    entries below are inserted into the docstrings of the searches by `document_search`.

    Parameters
    ----------
    estimator : estimator object
        The estimator, with a ``score`` unless ``scoring`` is given.
    param_distributions : dict, list of dict or "auto"
        Parameter names, and lists of values or distributions with a method ``rvs``. If all values
        are lists, it is a grid. Each dict of a list is a space of its own. ``"auto"`` is
        `spaces.space_for` of the estimator.
    time_budget : float, str or None, default=None
        Maximum time for all fits, in seconds or as text, such as ``"30min"``. When it is over,
        the best candidate so far is refitted.
    n_jobs : int or None, default=None
        Number of parallel jobs. The result does not depend on it.
    scoring : str, callable, list, tuple or dict, default=None
        As in GridSearchCV. The metric that ``refit`` names, or the first one, guides the search.
    cv : int, cross-validation generator or iterable, default=None
        The default is random splits without limit, with a fifth of the rows in the test set,
        stratified for classifiers. An int, or a splitter that can shuffle, is reshuffled without
        limit. Others give a fixed number of splits.
    refit : bool, str or callable, default=True
        As in GridSearchCV. A callable is passed the rows of ``cv_results_`` with the largest
        resource and all splits.
    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible results. It also seeds estimators without a seed.
    verbose : int, default=0
        1 prints progress, 2 also a line for each fit, 3 also scores.
    initial_candidates : list of dict or None, default=None
        Candidates to try in any case, such as ``{}`` for the estimator as it is. None is those of
        a ready space.
    checkpoint : str, path-like or None, default=None
        File to which every fit is written. The same search on the same data resumes from it.
    fit_timeout : float, str or None, default=None
        Maximum time for one fit and its scoring, in seconds or as text. A longer fit fails.
    memory_limit : int, str or None, default=None
        Maximum memory of one fit, in bytes or as text, such as ``"1GB"``. Linux only.
    error_score : "raise" or float, default=np.nan
        Score of a failed fit. NaN is worse than any number.
        ``"raise"`` raises the error.
    return_train_score : bool, default=False
        Whether ``cv_results_`` includes training scores.
    pre_dispatch : int or str, default="2*n_jobs"
        As in GridSearchCV.

    Attributes
    ----------
    history_ : DataFrame
        One row for each fit.
    best_estimator_ : estimator
        The best candidate, refitted on all data, unless ``refit=False``.
    best_score_ : float
        Mean test score of the best candidate.
    best_params_ : dict
        Parameters of the best candidate.
    best_index_ : int
        Row of the best candidate in ``cv_results_``.
    scorer_ : function or dict
        The scorer, or one for each metric.
    n_splits_ : int
        Number of splits.
    n_fits_ : int
        Number of fits, without the refit.
    n_resources_spent_ : float
        Sum of the resource over all fits.
    stopped_by_ : {"policy", "time_budget", "callback", "interrupt", "error"}
        What ended the search.
    refit_time_ : float
        Time of the refit, in seconds.
    multimetric_ : bool
        Whether there are several metrics.
    classes_ : ndarray of shape (n_classes,)
        Class labels of a classifier.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features.
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]]

    estimator: t.Estimator
    param_distributions: Annotated[t.ParamDistributions, object]  # checked by `SearchSpace`
    initial_candidates: Annotated[Sequence[t.Params], list, tuple] | None
    # Parameters of GridSearchCV, which have the constraints of scikit-learn.
    scoring: t.Scoring | None
    n_jobs: Annotated[int, *NOT_ZERO] | None
    refit: t.Refit
    cv: t.CrossValidation | None
    verbose: int
    pre_dispatch: int | str
    random_state: Annotated[t.RandomState | None, "random_state"]
    error_score: float | Literal["raise"]
    return_train_score: bool
    checkpoint: t.FilePath | None
    time_budget: PositiveFloat | str | None
    fit_timeout: PositiveFloat | str | None
    memory_limit: PositiveInt | str | None

    cv_results_: t.CvResults
    best_estimator_: Any
    best_score_: float
    best_params_: t.Params
    best_index_: int
    scorer_: t.Scorer | dict[str, t.Scorer]
    n_splits_: int
    n_fits_: int
    n_resources_spent_: float
    stopped_by_: str
    refit_time_: float
    multimetric_: bool

    def _set_parameters(self, arguments: Mapping[str, object]) -> None:
        """Store the arguments of a constructor as they are, as `clone` requires."""
        for name, value in arguments.items():
            if name != "self":
                setattr(self, name, value)


def document_search(search: Search) -> Search:
    """Class decorator that completes the docstring and the parameter constraints of a search.

    It also adds an error to the constructor that names the right parameter if one of
    `NAMES_OF_GRID_SEARCH` is passed.

    Parameters without an entry in the docstring get that of a base class, in the order of the
    signature. Attributes of base classes follow those of the search. Under ``python -OO``, there
    is no docstring to complete.
    """
    hints = get_type_hints(search, include_extras=True)
    names = [name for name in inspect.signature(search.__init__).parameters if name != "self"]
    rules = {name: constraint_of(hints[name]) for name in names}
    of_grid_search = BaseSearchCV._parameter_constraints
    # 0 workers are refused at once.
    n_jobs = {name: rules[name] for name in ("n_jobs",) if name in rules}
    search._parameter_constraints = rules | of_grid_search | n_jobs
    search.__init__ = _naming_parameters(search.__init__, names)  # type: ignore[method-assign]
    if search.__doc__:
        search.__doc__ = _completed(search, names)
    return search


def _naming_parameters(init: Callable[..., None], names: Collection[str]) -> Callable[..., None]:
    """Return the constructor with an error that names the right parameter."""

    @wraps(init)  # keeps the signature, from which scikit-learn reads the parameters
    def checked(self: object, *args: object, **params: object) -> None:
        for unknown, known in NAMES_OF_GRID_SEARCH.items():
            if unknown in params and unknown not in names:
                raise TypeError(
                    f"{init.__qualname__}() got an unexpected keyword argument {unknown!r}; use "
                    f"{known}"
                )
        init(self, *args, **params)

    return checked


def constraint_of(hint: object) -> list[object]:
    """Return the constraint of scikit-learn for the type of a parameter.

    For ``Annotated``, the constraints are its metadata. The options of a ``Literal`` are strings.
    A union has the constraints of all its members, and any other type allows its instances.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return list(arguments[1:])
    if origin is Literal:
        return [StrOptions(set(arguments))]
    if origin in (Union, UnionType):
        return [rule for member in arguments for rule in constraint_of(member)]
    if hint is NoneType:
        return [None]
    of_type: dict[object, object] = {bool: "boolean", int: Integral, float: Real}
    return [of_type.get(hint, origin or hint)]


def _completed(search: type, names: list[str]) -> str:
    """Return the docstring of a search with all parameters and attributes."""
    text = inspect.cleandoc(search.__doc__ or "")
    for title in ("Parameters", "Attributes"):
        known: dict[str, str] = {}
        for base in search.__mro__:
            if issubclass(base, SharedParameters):
                for name, entry in entries(base.__doc__, title).items():
                    known.setdefault(name, entry)  # that of the derived class counts
        order = names if title == "Parameters" else known
        text = with_section(text, title, [known[name] for name in order if name in known])
    return f"{text}\n"
