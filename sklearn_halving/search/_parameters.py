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
    "param_grid": {"param_distributions": "a grid or distributions"},
    "n_iter": {"n_candidates": "the number of different candidates"},
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
        An object that implements the scikit-learn estimator interface. Either it has a ``score``
        method, or ``scoring`` must be given.
    param_distributions : dict or list of dict
        Parameter names (str) as keys, and lists of values or distributions as values.
        Distributions must have a method ``rvs``, like those of `scipy.stats`. If all values are
        lists, this is a grid. In a list of dicts, each dict is a search space of its own. As in
        RandomizedSearchCV, a tuple is a list of values: ``(0.1, 1.0)`` means the two values 0.1
        and 1.0. For all values between them, use ``scipy.stats.uniform(0.1, 0.9)``, whose
        arguments are the lower bound and the width.
    initial_candidates : list of dict or None, default=None
        Candidates that are tried first, such as the best parameters of an earlier search, rows of
        its ``cv_results_["params"]``, or ``{}`` for the estimator as it is. They may be outside
        of ``param_distributions``. A parameter that a dict leaves out has the value of
        ``estimator``. With a grid, they are tried before it, and not again as a part of it; 1 and
        1.0 are different values. With distributions, they replace the first candidates that would
        be drawn. A value of the parameter that ``resource`` varies is ignored. `plan` shows where
        they start.
    scoring : str, callable, list, tuple or dict, default=None
        Strategy to evaluate the models on the test rows, as in GridSearchCV. With several
        metrics, the search is guided by the one that ``refit`` names, or by the first one if
        ``refit`` does not name any.
    n_jobs : int or None, default=None
        Number of jobs to run in parallel, as in GridSearchCV. The result does not depend on it.
    refit : bool, str or callable, default=True
        Whether to refit the best candidate on the whole dataset, as in GridSearchCV. A callable
        is passed the rows of ``cv_results_`` that can be compared as in GridSearchCV, and returns
        the position of one of them; ``best_index_`` is its row in ``cv_results_``. These rows have
        no NaN in ``mean_test_*``, the largest resource, and as many splits as the best of them (5
        are enough if the number of splits is unlimited). Candidates that were eliminated before
        the last rung are missing. The user guide on records has an example.
    cv : int, cross-validation generator or iterable, default=None
        Determines the cross-validation splitting strategy. The default is repeated random splits
        with a fifth of the rows in the test set, stratified for classifiers
        (`~sklearn_halving.splits.RepeatedLearningTesting`). An int, or a splitter of scikit-learn
        that can shuffle, gives its own splits first, and then any number of reshuffled ones.
        Other splitters and iterables give a fixed number of splits; a candidate that has
        been fitted on all of them is not fitted again.
    verbose : int, default=0
        Controls the verbosity:

        - 1 or more: a line with the best score and an estimate of the remaining time is printed
          as the search proceeds, for each rung or stage;
        - 2 or more: also the lines of GridSearchCV for each fit;
        - 3 or more: also the scores of each fit;
        - 10 or more: also a line at the start of each fit.
    pre_dispatch : int or str, default="2*n_jobs"
        Number of tasks that are sent to the workers at a time, as in GridSearchCV. A task is one
        fit, or several fits if they are short.
    random_state : int, RandomState instance or None, default=None
        Controls how candidates, splits and training subsets are drawn. Pass an int for
        reproducible results. Every ``random_state`` of the estimator that is None is then set to
        an int that depends on ``random_state``, the candidate and the split only, so that
        the result is the same for any ``n_jobs``.
    error_score : "raise" or float, default=np.nan
        Score of a fit that fails. With ``"raise"``, the error is raised. With a number, a
        ``FitFailedWarning`` is raised; NaN is worse than any other score. If all fits of the
        first minute fail, a warning says so. If all fits fail, an error is raised at the end.
    return_train_score : bool, default=False
        Whether ``cv_results_`` includes the scores on the training rows.
    checkpoint : str, path-like or None, default=None
        Path of the journal, a file to which every finished fit is written. If ``fit`` is called
        again with the same search and data, also in another process, the search resumes from the
        journal. See the user guide on long searches.
    time_budget : float, str or None, default=None
        Maximum time for all fits of the search, in seconds, or as text with a unit, such as
        ``"90s"``, ``"30min"`` or ``"8h"``. When it has passed, no further fit is started, the
        search waits for the running fits, and the best candidate so far is refitted.
    fit_timeout : float, str or None, default=None
        Maximum time for one fit and its scoring, in seconds, or as text with a unit, such as
        ``"10min"``. A fit that takes longer is stopped and counts as failed.
    memory_limit : int, str or None, default=None
        Maximum memory that one fit may allocate, in bytes, or as text with a unit, such as
        ``"500MB"``, ``"1GB"`` (10**9 bytes) or ``"1GiB"`` (2**30 bytes), in addition to what its
        process uses already. A fit that needs more counts as failed. Only available on Linux.

    Attributes
    ----------
    history_ : DataFrame
        One row for each fit, in the order in which the fits ended.
    best_estimator_ : estimator
        The best candidate, refitted on the whole dataset. Not available if ``refit=False``.
    best_score_ : float
        Mean cross-validated score of the best candidate.
    best_params_ : dict
        Parameters of the best candidate.
    best_index_ : int
        Row of ``cv_results_`` that belongs to the best candidate.
    scorer_ : function or dict
        The scorer, or a dict of scorers if there are several metrics.
    n_splits_ : int
        Number of splits that were used.
    n_fits_ : int
        Number of fits, not counting the refit.
    n_resources_spent_ : float
        Sum of the resource over all fits. If a model was trained further, only the additional
        resource counts.
    stopped_by_ : {"policy", "time_budget", "callback", "interrupt", "error"}
        What ended the search: the policy was finished, ``time_budget`` had passed, a callback of
        scikit-learn stopped it, Ctrl-C was pressed, or an exception was raised.
    refit_time_ : float
        Time to refit the best candidate, in seconds. Not available if ``refit=False``.
    multimetric_ : bool
        Whether there are several metrics.
    classes_ : ndarray of shape (n_classes,)
        Class labels. Only available for classifiers.
    n_features_in_ : int
        Number of features seen during `fit`. Only available if ``best_estimator_`` defines it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during `fit`. Only available if ``best_estimator_`` defines it.
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
                uses = [f"; use {name}, {what}" for name, what in known.items() if name in names]
                raise TypeError(
                    f"{init.__qualname__}() got an unexpected keyword argument {unknown!r}"
                    f"{''.join(uses)}"
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
