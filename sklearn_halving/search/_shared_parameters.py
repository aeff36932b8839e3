"""What users pass: the parameters that all searches share, and the arguments of `fit`.

To add a parameter to all searches, add it to the four constructors, and add its type and its
documentation to `SharedParameters`. If it may differ when a search is resumed, add it to `FREE` in
`preparing/_checkpoint`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
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
    overload,
)

import numpy as np
import pandas as pd
from sklearn.metrics import get_scorer_names
from sklearn.utils import indexable

from sklearn_halving import _typing as t
from sklearn_halving._checks import check_whole
from sklearn_halving._docstrings import entries, with_section
from sklearn_halving._typing import Params, Refit, Scorer
from sklearn_halving._unstable_imports import (
    BaseSearchCV,
    Interval,
    StrOptions,
    method_params,
    routed_fit_params,
    scorers_of,
)
from sklearn_halving.execution._types import Outcome, PullLimits

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
        Number of parallel jobs, which share the cores. The result does not depend on it, unless
        time is limited.
    scoring : str, callable, list, tuple or dict, default=None
        As in GridSearchCV. The metric that ``refit`` names, or the first one, guides the search.
    cv : int, cross-validation generator or iterable, default=None
        The default is random splits without limit, with a fifth of the rows in the test set,
        stratified for classifiers. An int, or a splitter that can shuffle, is reshuffled without
        limit. Others give a fixed number of splits.
    refit : bool, str or callable, default=True
        As in GridSearchCV. A callable is passed the rows of ``cv_results_`` with the largest
        resource and enough splits.
    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible results. It also seeds estimators without a seed.
    verbose : int, default=0
        1 prints progress, 2 also a line for each fit, 3 also scores.
    initial_candidates : list of dict or None, default=None
        Candidates that are always tried, such as ``{}`` for the estimator as it is. None takes
        those of a ready space.
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


COUNTS = ("n_candidates", "n_fits", "n_loops", "early_splits", "fits_in_flight")
"""Parameters that are whole numbers. scikit-learn takes True for 1, and numbers of any size."""
_MEMORY = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]?)(i?)b\s*", re.IGNORECASE)


class Reward:
    """Returns the score of an outcome that guides the search.

    With several metrics, it is the one that ``refit`` names, or the first one.
    """

    def __init__(self, refit: Refit, refit_metric: Refit | None) -> None:
        # For a callable that returns a dict, only ``refit`` determines the metric.
        names = [name for name in (refit, refit_metric) if isinstance(name, str)]
        self._metric = names[0] if names else None

    def metric_of(self, scores: object) -> str:
        """Return the name of the metric; ``"score"`` if there is only one."""
        if not isinstance(scores, dict):
            return "score"
        if self._metric is None or self._metric not in scores:
            first: str = next(iter(scores))
            return first
        return self._metric

    def __call__(self, outcome: Outcome) -> float:
        """Return the test score that guides the search."""
        scores = outcome.test_scores
        return float(scores[self.metric_of(scores)] if isinstance(scores, dict) else scores)


@dataclass(frozen=True)
class FitInputs:
    """The arguments of `fit`, the scorers, and the score that guides the search.

    X and y are only made indexable. The estimator validates them.
    """

    X: object
    y: object
    scorers: Scorer
    refit_metric: Refit
    reward: Reward
    fit_params: Params
    score_params: Params
    split_params: Params


def check_inputs(search: BaseSearchCV, X: object, y: object, params: Params) -> FitInputs:
    """Return the arguments of `fit`, routed to the estimator, the scorer and the splitter."""
    scorers, refit_metric = scorers_of(search)
    is_single = search.scoring is None or isinstance(search.scoring, str)
    # The name of another metric is ignored, as by GridSearchCV.
    names = ("score", *get_scorer_names())
    if is_single and isinstance(search.refit, str) and search.refit not in names:
        raise ValueError(
            f"refit={search.refit!r} must be True, False or a callable if there is one metric. A "
            "text is the name of one of several metrics."
        )
    X, y = indexable(X, y)
    routed = routed_fit_params(search, method_params(X, params=params))
    return FitInputs(
        X,
        y,
        scorers,
        refit_metric,
        Reward(search.refit, refit_metric),
        fit_params=routed.estimator.fit,
        score_params=routed.scorer.score,
        split_params=routed.splitter.split,
    )


@overload
def read_seconds(name: str, value: float | str) -> float: ...
@overload
def read_seconds(name: str, value: float | str | None) -> float | None: ...
def read_seconds(name: str, value: float | str | None) -> float | None:
    """Return a time in seconds; numbers and None are returned unchanged.

    Text is parsed by `pandas.Timedelta`, but needs a unit: pandas takes a number alone for
    nanoseconds.
    """
    if not isinstance(value, str):
        return value
    try:
        # The last character of a time such as 00:30:00 is not a unit.
        has_unit = value.strip()[-1:].isalpha() or ":" in value
        seconds = pd.Timedelta(value).total_seconds() if has_unit else 0.0
    except ValueError:
        seconds = 0.0
    if not seconds > 0:  # NaT is not either
        raise ValueError(
            f"{name} must be a positive time: a number of seconds, or text with a unit, such as "
            f"'90s', '30min', '1.5h' or '2 days'; got {value!r}."
        )
    return seconds


def read_bytes(name: str, value: int | str | None) -> int | None:
    """Return an amount of memory in bytes; numbers and None are returned unchanged."""
    if not isinstance(value, str):
        return value
    found = _MEMORY.fullmatch(value)
    n_bytes = 0
    if found:
        base = 1024 if found[3] else 1000
        n_bytes = round(float(found[1]) * base ** " kmgt".index(found[2].lower() or " "))
    if n_bytes < 1 or (found and found[3] and not found[2]):  # "5iB"
        raise ValueError(
            f"{name} must be a positive amount of memory: a number of bytes, or text with a unit, "
            "such as '500MB', '1.5GB' (1.5e9 bytes) or '2GiB' (2 * 2**30 bytes); got "
            f"{value!r}."
        )
    return n_bytes


def limits_of(search: SharedParameters) -> tuple[float, PullLimits]:
    """Return the seconds that a search may take, and the limits of a pull; check all counts."""
    for name in COUNTS:
        if isinstance(value := getattr(search, name, None), Integral):
            check_whole(name, value, "Use a number such as 50.")
    budget = read_seconds("time_budget", search.time_budget)
    seconds = read_seconds("fit_timeout", search.fit_timeout)
    memory = read_bytes("memory_limit", search.memory_limit)
    return budget or float("inf"), PullLimits(seconds, memory)


def check_defaults(
    search: SharedParameters, defaults: Mapping[str, object], other: str, instead: str
) -> None:
    """Raise if a parameter differs from its default but does not apply together with another."""
    for name, default in defaults.items():
        value = getattr(search, name)
        if value is not default and np.any(value != default):
            raise ValueError(
                f"{name}={value!r} cannot be combined with {other}. Use {name}={default!r}, or "
                f"{instead}."
            )
