"""The number of iterations as the resource: trees, epochs or boosting rounds."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Literal

from sklearn_halving._typing import Estimator, Params
from sklearn_halving.resources._continuation import (
    BOOSTING_NAMES,
    Library,
    Way,
    boosting_library,
    expected_warnings,
    fit_first,
    train_on,
    way_to_continue,
)
from sklearn_halving.resources._fitting import (
    TrainingData,
    keeps_training_rows,
    last_step,
    owner_of,
    refit,
    replace_last_step,
    to_last_step,
)
from sklearn_halving.resources._parameters import (
    check_not_searched,
    check_parameter,
    is_replaced,
    leaf_of,
    number_of,
)
from sklearn_halving.resources._rescaling import Rescale
from sklearn_halving.resources._types import ContinuedResource

ContinuationOption = Literal["auto", "total", "remaining", "refit"]


@dataclass(frozen=True)
class Iterations(ContinuedResource):
    """Train for more and more iterations, continuing from the previous level if possible.

    A level is the value of an integer parameter. If training can be continued, only the missing
    iterations are run:

    - Forests, bagging and gradient boosting grow the missing trees. Their predictions equal
      those of a single fit (with an integer ``random_state``).
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
        missing iterations. ``"refit"`` fits from scratch. ``"auto"`` chooses by estimator.
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
    >>> len(forest.estimators_), forest.estimators_[0] is first
    (9, True)
    """

    parameter: str
    continuation: ContinuationOption = "auto"
    rescale: Rescale | None = None

    @property
    def name(self) -> str:
        """The name of the parameter."""
        return self.parameter

    def check(self, estimator: Estimator, searched: frozenset[str]) -> None:
        """Raise a ValueError if the parameter is unknown, also searched, or set under an alias."""
        check_not_searched(self.parameter, searched)
        owner = owner_of(estimator, self.parameter)
        library = boosting_library(owner)
        if library is not None and leaf_of(self.parameter) in BOOSTING_NAMES[library]:
            _check_aliases(self.parameter, estimator, library, searched)
        else:
            check_parameter(self.parameter, estimator, searched)
            self._check_warm_start(owner, searched)

    def level_range(
        self, estimator: Estimator, n_train: int, n_rows_needed: int
    ) -> tuple[int, int]:
        """Return 1 and the estimator's own value, or 0 if that is not a positive integer."""
        value = number_of(estimator.get_params().get(self.parameter))
        is_count = isinstance(value, Integral) and value > 0
        return 1, int(value) if value is not None and is_count else 0

    def params_at(self, level: int) -> Params:
        """Return the parameter, set to the level."""
        return {self.parameter: level}

    def can_continue(self, estimator: Estimator) -> bool:
        """Return whether training of this estimator can be continued."""
        return self._way(estimator) != "refit"

    def _train_to(
        self, estimator: Estimator, data: TrainingData, level: int, previous_level: int
    ) -> Estimator:
        """Continue training if possible, else fit from scratch."""
        way, leaf = self._way(estimator), leaf_of(self.parameter)
        with expected_warnings():
            if way == "refit":
                return refit(estimator, self.params_at(level), data, is_fitted=previous_level > 0)
            if previous_level == 0:
                return fit_first(last_step(estimator), estimator, data, leaf, level, way)
            step, step_data = to_last_step(estimator, data, first=False)
            trained = train_on(step, step_data, leaf, level, previous_level, way)
        return replace_last_step(estimator, trained)

    def _check_warm_start(self, owner: Estimator | None, searched: frozenset[str]) -> None:
        if self.continuation in ("auto", "refit") or is_replaced(self.parameter, searched):
            return
        if not hasattr(owner, "warm_start"):
            raise ValueError(
                f"continuation={self.continuation!r} of Iterations({self.parameter!r}) needs a "
                "parameter of the last step, which must have warm_start. Use continuation='auto'."
            )

    def _way(self, estimator: Estimator) -> Way:
        step = owner_of(estimator, self.parameter)
        is_refit = self.continuation == "refit" or self.rescale or step is None
        if is_refit or not keeps_training_rows(estimator):
            return "refit"
        if self.continuation in ("total", "remaining"):
            return self.continuation if hasattr(step, "warm_start") else "refit"
        return way_to_continue(step, leaf_of(self.parameter))


def _check_aliases(
    parameter: str, estimator: Estimator, library: Library, searched: frozenset[str]
) -> None:
    """Raise a ValueError if the number of trees is also set under another name."""
    leaf, params = leaf_of(parameter), estimator.get_params()
    prefix = parameter.removesuffix(leaf)
    others = {prefix + name for name in BOOSTING_NAMES[library] - {leaf}}
    given = {name for name in others if params.get(name) is not None}
    if library == "lightgbm":
        given -= {prefix + "n_estimators"}  # has a default, which every other name overrides
    given |= others & searched
    if given:
        raise ValueError(
            f"Cannot use parameter {parameter!r} as the resource: the number of trees is also "
            f"set by {sorted(given)}. Use one name only."
        )
