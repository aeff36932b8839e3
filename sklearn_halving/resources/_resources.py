"""Resources that continue training: iterations, epochs and seconds; and other parameters.

`_resource.Resource` describes the methods of a resource; `_BY_NAME` has the names.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from inspect import signature
from numbers import Integral, Real
from time import perf_counter
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import type_of_target

from sklearn_halving._checks import CheckedFields, Positive, refuse_unless
from sklearn_halving._typing import Estimator, Params
from sklearn_halving.resources._boosters import (
    BOOSTING_NAMES,
    add_trees,
    adds_trees_exactly,
    boosting_library,
)
from sklearn_halving.resources._resource import (
    NAMES,
    ContinuedResource,
    LevelRange,
    Rescale,
    Resource,
    SplitData,
    check_not_searched,
    check_parameter,
    class_names,
    fit,
    is_replaced,
    keeps_training_rows,
    last_step,
    leaf_of,
    listed,
    number_of,
    owner_of,
    prefix_of_last_step,
    refit,
    suggestion,
    to_last_step,
)
from sklearn_halving.resources._training_size import TrainingSize

Way = Literal["total", "remaining", "add trees", "refit"]

_HISTOGRAM_BOOSTING = {"HistGradientBoostingClassifier", "HistGradientBoostingRegressor"}
_GRADIENT_BOOSTING = {"GradientBoostingClassifier", "GradientBoostingRegressor"}
_BAGGING = {"BaggingClassifier", "BaggingRegressor"}
_NEURAL_NETWORK = {"MLPClassifier", "MLPRegressor"}
_EPOCHS = _NEURAL_NETWORK | {
    *("SGDClassifier", "SGDRegressor", "SGDOneClassSVM", "Perceptron"),
    *("PassiveAggressiveClassifier", "PassiveAggressiveRegressor"),
}
_FRACTION = 1e-3
"""Unit of a float parameter."""


def way_to_continue(step: Any, parameter: str) -> Way:
    """Return how training of ``step`` continues when its own ``parameter`` grows."""
    library = boosting_library(step)
    if library is not None:
        return "add trees" if adds_trees_exactly(step, parameter, library) else "refit"
    if not hasattr(step, "warm_start") or not hasattr(step, parameter):
        return "refit"
    names = class_names(step)
    if parameter == "n_estimators":
        # warm_start discards the losses that early stopping compares, and scikit-learn raises
        # an error for it with out-of-bag scores.
        stops_early = names & _GRADIENT_BOOSTING and step.n_iter_no_change is not None
        return "refit" if stops_early or (names & _BAGGING and step.oob_score) else "total"
    if parameter == "max_iter" and names & _HISTOGRAM_BOOSTING:
        return "total"
    if parameter == "max_iter" and names & _EPOCHS:
        is_batch_solver = names & _NEURAL_NETWORK and step.solver == "lbfgs"
        return "refit" if is_batch_solver else "remaining"
    if _has_word(parameter, ("iter", "epoch")) and not _is_from_scikit_learn(step):
        return "remaining"
    # Other solvers of scikit-learn start from the earlier solution but restart their state.
    return "refit"


def is_number_of_rounds(parameter: str) -> bool:
    """Return whether the parameter is a number of boosting rounds, by its name."""
    return any(leaf_of(parameter) in names for names in BOOSTING_NAMES.values())


def is_iteration_name(parameter: str) -> bool:
    """Return whether the parameter is a number of iterations, by its name."""
    is_some_count = _has_word(leaf_of(parameter), ("iter", "epoch", "round"))
    return is_some_count or is_number_of_rounds(parameter)


def _has_word(parameter: str, starts: tuple[str, ...]) -> bool:
    # Whole words only: n_iter_no_change, criterion and max_iter_predict do not count.
    words = parameter.split("_")
    is_other = words[-1] in ("change", "predict")
    return not is_other and any(word.startswith(starts) for word in words)


def has_stopped(step: Any, level: int) -> bool:
    """Return whether a model at ``level`` stopped early, so that more iterations change nothing.

    A fit from scratch with more iterations would stop at the same place. A continued fit would
    restart the count of iterations without improvement.
    """
    names = class_names(step)
    if names & _EPOCHS:
        return bool(step.n_iter_ < step.max_iter)  # what the last fit was asked for
    if names & _HISTOGRAM_BOOSTING and step.do_early_stopping_:
        return bool(step.n_iter_ < level) or _had_no_improvement(step)
    return False


@contextmanager
def _warm_start(step: Any) -> Iterator[None]:
    """Set ``warm_start`` for a fit, and restore it afterwards."""
    before = step.warm_start
    try:
        yield step.set_params(warm_start=True)
    finally:
        step.set_params(warm_start=before)


def _is_from_scikit_learn(step: Estimator) -> bool:
    modules = [cls.__module__ for cls in type(step).__mro__]
    shared = ("sklearn.base", "sklearn.utils")
    return any(m.startswith("sklearn.") and not m.startswith(shared) for m in modules)


def _had_no_improvement(step: Any) -> bool:
    """Apply the stopping rule of HistGradientBoosting to the recorded scores."""
    scores = step.train_score_ if step.validation_fraction is None else step.validation_score_
    patience = step.n_iter_no_change
    has_waited = len(scores) > patience
    return has_waited and max(scores[-patience:]) <= scores[-patience - 1] + step.tol


@dataclass(frozen=True)
class OfParameter(CheckedFields, Resource):
    """Base class of resources that are the value of a parameter of the estimator."""

    parameter: str

    @property
    def name(self) -> str:
        """The name of the parameter."""
        return self.parameter

    def level_range(self, estimator: Estimator, n_train: int, n_rows_needed: int) -> LevelRange:
        """Return 1 and the level of the estimator's value, or 0 if that is not positive."""
        value = number_of(estimator.get_params().get(self.parameter))
        return 1, 0 if value is None or value <= 0 else self.to_level(value)

    def params_at(self, level: int) -> Params:
        """Return the parameter, set to the amount."""
        return {self.parameter: self.to_amount(level)}


@dataclass(frozen=True)
class Iterations(OfParameter, ContinuedResource):
    """Train for more and more iterations, continuing from the previous level if possible.

    A level is the value of an integer parameter. If training can be continued, only the missing
    iterations are run:

    - Forests, bagging and gradient boosting grow the missing trees. The result equals
      a single long fit (with an integer ``random_state``).
    - Stochastic gradient descent, the perceptron and multi-layer perceptrons run the missing
      epochs with a new learning rate schedule or optimizer state. The result is close to a
      single long fit, but not equal to it.
    - LightGBM, XGBoost and CatBoost add trees to the model. The result equals a single long fit
      if no rows or columns are subsampled. CatBoost needs an explicit ``learning_rate``, because
      its automatic choice depends on the number of trees.

    Other estimators are refitted from scratch at every level.

    The estimator may be the last step of a pipeline. The earlier steps are then fitted at the
    first level only.

    Parameters
    ----------
    parameter : str
        Name of the parameter, such as ``"n_estimators"`` or ``"clf__max_iter"``.
    continuation : {"auto", "total", "remaining", "refit"}, default="auto"
        How a fitted estimator continues. ``"total"`` sets ``warm_start=True`` and the parameter
        to the level. ``"remaining"`` sets ``warm_start=True`` and the parameter to the number of
        missing iterations, which it keeps. ``"refit"`` fits from scratch. ``"auto"`` chooses by
        estimator.
    rescale : dict of str to {"inverse", "proportional"} or callable, default=None
        Parameters that depend on the number of iterations, as in `TrainingSize`. Every fit then
        starts from scratch, since a fitted model cannot change its parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn_halving.resources import Iterations
    >>> trees = Iterations("n_estimators")
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = trees.train(RandomForestClassifier(), X, y, 3, 0, {})
    >>> first = forest.estimators_[0]
    >>> forest = trees.train(forest, X, y, 9, 3, {})
    >>> len(forest.estimators_)
    9
    >>> forest.estimators_[0] is first  # the first trees are kept
    True
    """

    continuation: Literal["auto", "total", "remaining", "refit"] = "auto"
    rescale: Rescale | None = None

    def check(self, estimator: Estimator, searched: frozenset[str]) -> None:
        """Raise a ValueError if the parameter is unknown, also searched, or set under an alias."""
        check_not_searched(self.parameter, searched)
        leaf = leaf_of(self.parameter)
        library = boosting_library(owner_of(estimator, self.parameter))
        if library is None or leaf not in BOOSTING_NAMES[library]:
            check_parameter(self.parameter, estimator, searched)
            return
        # n_estimators has a default, which every other name overrides.
        others = BOOSTING_NAMES[library] - {leaf, "n_estimators"}
        aliases = {self.parameter.removesuffix(leaf) + name for name in others}
        if given := aliases & {*searched, *estimator.get_params()}:
            raise ValueError(
                f"Cannot use parameter {self.parameter!r} as the resource: the number of trees is "
                f"also set by {sorted(given)}. Use one name only."
            )

    def can_continue(self, estimator: Estimator) -> bool:
        """Return whether training of this estimator can be continued."""
        return self._way(estimator) != "refit"

    def _train_to(
        self, estimator: Estimator, data: SplitData, level: int, previous_level: int
    ) -> Estimator:
        """Continue training if possible, else fit from scratch."""
        way, leaf = self._way(estimator), leaf_of(self.parameter)
        with warnings.catch_warnings():  # training stops at a level on purpose
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", message=r"class_weight presets .* warm_start")
            if way == "refit":
                return refit(estimator, self.params_at(level), data, is_fitted=previous_level > 0)
            step, is_fitted = last_step(estimator), previous_level > 0
            if is_fitted:
                step, data = to_last_step(estimator, data, first=False)
            more = level - previous_level
            if is_fitted and way == "add trees":
                longer = add_trees(step, data, leaf, level, more)
                place = self.parameter.rpartition("__")[0]
                return estimator.set_params(**{place: longer}) if place else longer
            if not is_fitted or not has_stopped(step, previous_level):
                step.set_params(**{leaf: more if way == "remaining" else level})
                with nullcontext() if way == "add trees" else _warm_start(step):
                    fit(step if is_fitted else estimator, data)
        return estimator

    def _way(self, estimator: Estimator) -> Way:
        step = owner_of(estimator, self.parameter)
        if step is None or self.rescale or not keeps_training_rows(estimator):
            return "refit"
        if self.continuation == "auto":
            return way_to_continue(step, leaf_of(self.parameter))
        return self.continuation if hasattr(step, "warm_start") else "refit"


@dataclass(frozen=True)
class ParameterValue(OfParameter):
    """Refit with an increasing value of an integer or float parameter.

    The typical example is the number of random features of a kernel approximation.

    Parameters
    ----------
    parameter : str
        Name of the parameter, such as ``"rbfsampler__n_components"``.
    unit : float or None, default=None
        The step of a float parameter from one level to the next. None means that the parameter
        is an integer and the level its value. If the estimator has a float,
        `resolve_resource` and `for_estimator` set 0.001.
    rescale : dict of str to {"inverse", "proportional"} or callable, default=None
        Other parameters that depend on this one, as in `TrainingSize`.

    Examples
    --------
    >>> from sklearn_halving.resources import ParameterValue
    >>> ParameterValue("rbfsampler__n_components").params_at(50)
    {'rbfsampler__n_components': 50}
    >>> share = ParameterValue("max_samples", unit=1e-3)
    >>> share.to_level(0.5), share.params_at(500)
    (500, {'max_samples': 0.5})
    """

    unit: Positive | None = None
    rescale: Rescale | None = None

    def for_estimator(self, estimator: Estimator) -> ParameterValue:
        """Return the resource, with a unit if the estimator's parameter is a float."""
        value = number_of(estimator.get_params().get(self.parameter))
        is_float = value is not None and not isinstance(value, Integral)
        return replace(self, unit=_FRACTION) if self.unit is None and is_float else self

    def check(self, estimator: Estimator, searched: frozenset[str]) -> None:
        """Raise a ValueError if the parameter is unknown, also searched, or no number."""
        check_not_searched(self.parameter, searched)
        check_parameter(self.parameter, estimator, searched)
        value = estimator.get_params().get(self.parameter)
        if isinstance(value, (str, bool)):
            raise ValueError(
                f"resource={self.parameter!r} must be a numeric parameter; its value is "
                f"{value!r}. Use 'n_samples', or a number of iterations or features."
            )

    def to_level(self, amount: float) -> int:
        """Return the amount in units, rounded."""
        return round(amount if self.unit is None else amount / self.unit)

    def to_amount(self, level: int) -> float:
        """Return the value of the parameter."""
        # Rounded to twelve digits, because 3 * 0.1 is 0.30000000000000004.
        return level if self.unit is None else float(f"{level * self.unit:.12g}")


MILLISECOND = 1e-3
"""Seconds per level."""

_COUNTS = ("n_estimators", "iterations", "max_iter", "n_iter", "max_epochs", "epochs")


@dataclass(frozen=True)
class OfClasses(ContinuedResource):
    """Base class of resources that may call ``partial_fit``, which is told all classes."""

    classes: tuple[object, ...] | None = None
    rescale: Rescale | None = None

    def for_target(self, y: object) -> Self:
        """Return a resource that knows all classes of ``y``."""
        if self.classes is not None or y is None:
            return self
        return replace(self, classes=_classes_of(y))


@dataclass(frozen=True)
class PartialFit(OfClasses):
    """Train by epochs of ``partial_fit``, each with all rows of the training fold.

    A level is the number of epochs, and each epoch is a call of ``partial_fit``.

    The learning rate schedule continues from level to level, whereas ``warm_start`` would restart
    it. With an integer ``random_state``, most estimators use one order of rows in all epochs.

    The estimator may be the last step of a pipeline. The earlier steps are fitted before the
    first epoch.

    Parameters
    ----------
    classes : tuple or None, default=None
        The class labels passed to the first call of a classifier; one tuple per output if there
        are several. None uses the labels of the training rows, which may lack a class: see
        `for_target`.
    rescale : dict of str to {"inverse", "proportional"} or callable, default=None
        Parameters that depend on the number of epochs, as in `TrainingSize`. Every fit then
        starts from scratch, since a fitted model cannot change its parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn_halving.resources import PartialFit
    >>> X, y = load_iris(return_X_y=True)
    >>> epochs = PartialFit().for_target(y)
    >>> model = epochs.train(SGDClassifier(random_state=0), X, y, 2, 0, {})
    >>> model = epochs.train(model, X, y, 6, 2, {})
    >>> int(model.t_) - 1  # updates: six epochs with 150 rows
    900
    """

    name = "partial_fit"
    units = "epochs"

    def check(self, estimator: Estimator, searched: frozenset[str]) -> None:
        """Raise a ValueError if the estimator, or its last step, has no ``partial_fit``."""
        step, prefix = last_step(estimator), prefix_of_last_step(estimator)
        check_not_searched(f"{prefix}max_iter", searched)  # it has no effect on partial_fit
        may_be_replaced = is_replaced(prefix, searched)
        if not hasattr(step, "partial_fit") and not may_be_replaced:
            raise ValueError(
                "resource='partial_fit' needs an estimator with the method partial_fit, or a "
                f"pipeline whose last step has it; got {type(step).__name__}. Name one of its "
                "parameters as the resource instead, or use 'n_samples'."
            )

    def level_range(self, estimator: Estimator, n_train: int, n_rows_needed: int) -> LevelRange:
        """Return 1 and the ``max_iter`` of the estimator, or 0 if it has none."""
        most = number_of(getattr(last_step(estimator), "max_iter", None)) or 0
        return 1, int(max(0, most)) if most < math.inf else 0

    def can_continue(self, estimator: Estimator) -> bool:
        """Return whether more epochs can be run on a fitted estimator."""
        has_epochs = hasattr(last_step(estimator), "partial_fit")
        return not self.rescale and has_epochs and keeps_training_rows(estimator)

    def _train_to(
        self, estimator: Estimator, data: SplitData, level: int, previous_level: int
    ) -> Estimator:
        """Run the missing epochs."""
        step, step_data = to_last_step(estimator, data, first=previous_level == 0)
        for epoch in range(previous_level, level):
            classes = self._classes_for(step, step_data.y) if epoch == 0 else {}
            step.partial_fit(*step_data.arrays, **(classes | step_data.params))
        return estimator

    def _classes_for(self, step: Any, y: object) -> Params:
        """Return the classes, which the first call of a classifier gets."""
        is_told = is_classifier(step) and "classes" in signature(step.partial_fit).parameters
        if y is None or not is_told:
            return {}
        classes = self.classes if self.classes is not None else _classes_of(y)
        if not classes or not isinstance(classes[0], tuple):
            return {"classes": None if classes is None else np.array(classes)}
        if "MultiOutputClassifier" in class_names(step):
            return {"classes": [np.array(one) for one in classes]}
        return {"classes": np.arange(len(classes))}  # multi-label: the labels are the columns


def _classes_of(y: object) -> tuple[object, ...] | None:
    """Return the classes of ``y``, or of each of its columns; None for regression."""
    values = y.to_numpy() if hasattr(y, "to_numpy") else y
    kind = type_of_target(values)
    if kind in ("binary", "multiclass"):
        return tuple(np.unique(np.asarray(values)))
    if kind in ("multilabel-indicator", "multiclass-multioutput"):
        dense = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
        return tuple(tuple(np.unique(column)) for column in dense.T)
    return None


@dataclass(frozen=True)
class FitTime(OfClasses):
    """Train each candidate for a given time.

    A level is a millisecond; amounts are in seconds. A candidate is trained in steps of doubling
    size: epochs of ``partial_fit``, or with ``warm_start`` its iterations (``n_estimators``,
    ``max_iter``). A step is shorter if it would exceed the time at the speed of the previous
    one. At least one step is made. It counts as the full level, however long it takes.
    Time left over at a level is not carried over to the next.

    The time is wall time on the machine that fits. Results therefore depend on the machine and
    its load, and no two searches are exactly equal. Set ``n_jobs`` to at most the number of
    idle cores.

    Parameters
    ----------
    classes : tuple or None, default=None
        The class labels passed to a classifier, as in `PartialFit`.
    rescale : dict of str to {"inverse", "proportional"} or callable, default=None
        Parameters that depend on the time in seconds, as in `TrainingSize`. Every fit then
        starts from scratch, since a fitted model cannot change its parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn_halving.resources import FitTime
    >>> time = FitTime()
    >>> time.to_level(0.05)
    50
    >>> X, y = load_iris(return_X_y=True)
    >>> model = time.train(SGDClassifier(), X, y, 5, 0, {})
    >>> epochs = model.t_ // 150
    >>> time.train(model, X, y, 50, 5, {}).t_ // 150 > epochs
    True
    """

    name = "fit_time"
    units = "seconds of training"

    def check(self, estimator: Estimator, searched: frozenset[str]) -> None:
        """Raise a ValueError if the estimator cannot be trained in steps."""
        if is_replaced(prefix_of_last_step(estimator), searched):
            return
        count = _count_of(estimator)
        if count is not None:
            check_not_searched(count, searched)
        elif not hasattr(last_step(estimator), "partial_fit"):
            raise ValueError(
                "resource='fit_time' needs an estimator with partial_fit, or warm_start and a "
                f"number of iterations; got {estimator!r}. Use 'n_samples'."
            )

    def to_level(self, amount: float) -> int:
        """Return milliseconds for an amount in seconds."""
        return round(amount / MILLISECOND)

    def to_amount(self, level: int) -> float:
        """Return the level in seconds."""
        return round(level * MILLISECOND, 3)

    def can_continue(self, estimator: Estimator) -> bool:
        """Return whether the estimator can be trained in steps."""
        has_steps = PartialFit().can_continue(estimator) or _count_of(estimator) is not None
        return has_steps and not self.rescale

    def _train_to(
        self, estimator: Estimator, data: SplitData, level: int, previous_level: int
    ) -> Estimator:
        """Train for the time between the two levels, in steps of doubling size."""
        self.check(estimator, frozenset())  # a candidate may have replaced the last step
        count = _count_of(estimator)
        steps = PartialFit(self.classes) if count is None else Iterations(count)
        done = previous_level
        if previous_level > 0 and count is not None:
            # The parameter of a trained model is its number of iterations so far.
            done = int(estimator.get_params()[count])
        seconds = (level - previous_level) * MILLISECOND
        begin, end, step = perf_counter(), 0.0, 1
        while step > 0:
            estimator = steps.train(estimator, data.X, data.y, done + step, done, data.params)
            now = perf_counter() - begin
            per_unit, end, done = (now - end) / step, now, done + step
            affordable = int((seconds - end) / max(per_unit, 1e-9))
            is_done = count is not None and has_stopped(last_step(estimator), done)
            step = 0 if is_done else min(2 * step, affordable)
        return estimator


def _count_of(estimator: Estimator) -> str | None:
    """Return the number of iterations with which training continues, or None."""
    step = last_step(estimator)
    if hasattr(step, "partial_fit") or not keeps_training_rows(estimator):
        return None
    prefix = prefix_of_last_step(estimator)
    return next((prefix + x for x in _COUNTS if way_to_continue(step, x) != "refit"), None)


_BY_NAME = dict(zip(NAMES, (TrainingSize, PartialFit, FitTime), strict=True))


def resolve_resource(resource: object, estimator: Estimator) -> Resource:
    """Return the resource for a name.

    Parameters
    ----------
    resource : str or Resource
        ``"n_samples"``, ``"partial_fit"``, ``"fit_time"``, the name of an estimator parameter,
        or a resource object, which is returned unchanged (or with a unit if it needs one).
    estimator : estimator
        The estimator that the resource is for.

    Returns
    -------
    resource : Resource
        For an estimator parameter, `Iterations` if training can continue with it or if its name
        says that it is a number of iterations; otherwise `ParameterValue`.

    Examples
    --------
    >>> from sklearn.ensemble import BaggingClassifier
    >>> from sklearn_halving.resources import resolve_resource
    >>> resolve_resource("n_estimators", BaggingClassifier())
    Iterations(parameter='n_estimators', continuation='auto', rescale=None)
    >>> resolve_resource("max_samples", BaggingClassifier(max_samples=0.5))
    ParameterValue(parameter='max_samples', unit=0.001, rescale=None)
    """
    if isinstance(resource, ParameterValue):
        return resource.for_estimator(estimator)
    if isinstance(resource, Resource) and not isinstance(resource, type):
        _check_answers(resource)
        return resource
    known = estimator.get_params()
    if isinstance(resource, str):
        if resource in _BY_NAME:
            return _BY_NAME[resource]()
        iterations = Iterations(resource)
        # A candidate may replace the step. Only `check` knows the searched parameters.
        is_known = resource in known or resource.rpartition("__")[0] in known
        if iterations.can_continue(estimator) or (is_known and is_iteration_name(resource)):
            return iterations
        if is_known:
            return ParameterValue(resource).for_estimator(estimator)
    raise ValueError(
        "resource must be 'n_samples', 'partial_fit', 'fit_time', a parameter of "
        f"{type(estimator).__name__}, or a Resource object; got {resource!r}."
        f"{suggestion(str(resource), [*_BY_NAME, *known])} Parameters are {listed(known)}."
    )


def _check_answers(resource: Resource) -> None:
    """Raise before any fit if a resource of the user returns what cannot be used."""
    amount = resource.to_amount(1)
    is_number, owner = isinstance(amount, Real) and math.isfinite(amount), type(resource).__name__
    refuse_unless(is_number, f"to_amount(1) of {owner}", "be a finite number", repr(amount))
    for name, answer, kind in (
        ("name", resource.name, str),
        ("to_level", resource.to_level(amount), Integral),
        ("params_at(1)", resource.params_at(1), Mapping),
        ("for_target(None)", resource.for_target(None), Resource),
    ):
        rule = f"be of type {kind.__name__}"
        refuse_unless(isinstance(answer, kind), f"{name} of {owner}", rule, repr(answer))


def units_of(resource: object) -> str:
    """Return what a resource, or one with this name, counts: its ``units``, or else its name."""
    known = _BY_NAME.get(resource, resource) if isinstance(resource, str) else resource
    return str(getattr(known, "units", getattr(known, "name", resource)))
