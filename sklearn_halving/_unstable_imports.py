"""All private names of scikit-learn that the package uses; joblib's are in `_unstable_joblib`.

A comment on each name says why it is needed and when it can be removed. The tests run this
module with every supported version of scikit-learn (1.7, 1.8, 1.9), so that a change upstream
affects only this module.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

# The decorator of `fit` that validates parameters and sets the configuration and the callbacks.
# Can be removed when scikit-learn makes it public.
from sklearn.base import _fit_context

# scikit-learn's container of several scorers. Can be removed when it has a public name.
from sklearn.metrics._scorer import _MultimetricScorer as MultimetricScorer

# The base class of GridSearchCV, and the columns `param_*` of `cv_results_` with their dtypes.
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._search import _yield_masked_array_for_each_param as param_columns

# The constraints with which scikit-learn's estimators validate their parameters, and their error.
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions
from sklearn.utils._param_validation import validate_parameter_constraints as _validate

# Selects rows of DataFrames, sparse matrices, lists and precomputed kernels.
from sklearn.utils.metaestimators import _safe_split as safe_split

# Selects the rows of fit and score parameters that have one entry per row. Not public.
from sklearn.utils.validation import _check_method_params as method_params
from sklearn.utils.validation import _num_samples as num_samples

# Not imported, but overridden by searches: `_html_repr`, which returns the HTML for notebooks if
# ``display="diagram"``. Can be removed when a public method can be overridden.

Method = TypeVar("Method", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """Return scikit-learn's decorator of `fit`. The decorated method keeps its type."""
    return _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)


def named_scorers(scorer: object) -> dict[str, Any] | None:
    """Return the scorers in scikit-learn's container; None for a single scorer."""
    if not isinstance(scorer, MultimetricScorer):
        return None
    return scorer._scorers


def propagated_callbacks(context: Any, estimator: object) -> AbstractContextManager[object]:
    """Propagate a callback context to an estimator (scikit-learn >= 1.9); else do nothing."""
    if context is None:
        return nullcontext()
    return context.propagate_callback_context(estimator)


def scorers_of(search: BaseSearchCV) -> tuple[Any, Any]:
    """Return the scorers and the metric of ``refit``, with the checks of GridSearchCV."""
    scorers, refit_metric = search._get_scorers()
    return scorers, refit_metric


def validate_params(search: BaseSearchCV) -> None:
    """Raise if a parameter of the search has the wrong type or is out of range."""
    search._validate_params()


def refuses(estimator: object, name: str, value: object) -> bool:
    """Return whether the constraints of an estimator of scikit-learn exclude a value."""
    constraints = getattr(estimator, "_parameter_constraints", {})
    if name not in constraints:
        return False
    try:
        _validate({name: constraints[name]}, {name: value}, "")
    except InvalidParameterError:
        return True
    return False


def check_refit_metric(search: BaseSearchCV, metrics: Iterable[str]) -> None:
    """Raise if ``refit`` is not one of the metrics of a callable ``scoring``."""
    search._check_refit_for_multimetric(dict.fromkeys(metrics))


def select_best_index(search: BaseSearchCV, refit_metric: object, results: object) -> int:
    """Return the row that a callable ``refit`` chooses, with the checks of GridSearchCV."""
    return search._select_best_index(search.refit, refit_metric, results)


def routed_fit_params(search: BaseSearchCV, params: dict[str, object]) -> Any:
    """Return the parameters of ``fit``, routed to estimator, splitter and scorer."""
    return search._get_routed_params_for_fit(params)


def init_callbacks(search: BaseSearchCV, max_subtasks: int) -> Any:
    """Return the callback context of `fit`; None with scikit-learn < 1.9."""
    if not hasattr(search, "_init_callback_context"):
        return None
    return search._init_callback_context(max_subtasks=max_subtasks)


def has_callbacks(search: BaseSearchCV) -> bool:
    """Return whether the search, its estimator or an enclosing estimator has callbacks."""
    has_own = any(hasattr(owner, "_skl_callbacks") for owner in (search, search.estimator))
    return has_own or hasattr(search, "_parent_callback_ctx")


def lone_branch(context: Any) -> Any:
    """Return a copy of a context whose ancestors have no other children.

    Only one branch of the tree is then pickled for a worker, not the whole tree.
    """
    lone = copy.copy(context)
    child = lone
    while child.parent is not None:
        parent = copy.copy(child.parent)
        parent._children_map = {child.task_id: child}
        child.parent = parent
        child = parent
    return lone
