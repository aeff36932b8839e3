"""The protocol of a resource: what a level means, and how to train an estimator to it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sklearn_halving._checks import CheckedFields
from sklearn_halving._typing import Estimator, Params
from sklearn_halving.resources._fitting import TrainingData, refit
from sklearn_halving.resources._parameters import number_of
from sklearn_halving.resources._rescaling import Rescale, rescaled_params


@runtime_checkable
class Resource(Protocol):
    """What a level means: a number of rows, iterations, features or seconds.

    A level is a whole number of units, so that schedules are exact and every pull has an exact
    name. Resources measured in fractions (a float parameter, seconds) choose a unit. A subclass
    needs ``name`` and ``level_range``; the other members have defaults. An object with all of
    these members works without subclassing.

    Examples
    --------
    A forest of 3 trees grows 6 more to become one of 9:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn_halving.resources import Iterations, Resource
    >>> trees = Iterations("n_estimators")
    >>> isinstance(trees, Resource), trees.can_continue(RandomForestClassifier())
    (True, True)
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0)
    >>> forest = trees.train(forest, X, y, level=3, previous_level=0, fit_params={})
    >>> forest = trees.train(forest, X, y, level=9, previous_level=3, fit_params={})
    >>> len(forest.estimators_)
    9
    """

    subsamples_rows: bool = False
    """Whether the level is a number of rows of the training fold."""
    rescale: Rescale | None = None
    """Rules for parameters that depend on the amount, as in `TrainingSize`; see `rescaled`."""

    @property
    def name(self) -> str:
        """The name of the resource in messages and tables."""

    def check(self, estimator: Estimator, searched: frozenset[str]) -> None:
        """Raise a ValueError if the resource does not suit the estimator or the search space.

        ``searched`` holds the names of all parameters that are searched over. By default every
        estimator is accepted.
        """
        return

    def level_range(
        self, estimator: Estimator, n_train: int, n_rows_needed: int
    ) -> tuple[int, int]:
        """Return the smallest sensible level and the largest.

        ``n_train`` is the number of rows in the smallest training fold, ``n_rows_needed`` the
        number of rows that a subset needs to contain every class. A largest level of 0 means
        that the user must set ``max_resources``.
        """

    def for_target(self, y: object) -> Resource:
        """Return the resource for a search with the targets ``y``; by default, this one."""
        return self

    def to_level(self, amount: float) -> int:
        """Return the level nearest to an amount given by the user; by default, rounded."""
        return round(amount)

    def to_amount(self, level: int) -> float:
        """Return the amount shown as ``n_resources``; by default, the level itself."""
        return level

    def params_at(self, level: int) -> Params:
        """Return the estimator parameters that set the level; by default, none."""
        return {}

    def rescaled(self, estimator: Estimator, level: int, max_level: int) -> Params:
        """Return the parameters that change with the level; by default, those of ``rescale``.

        ``estimator`` is unfitted and has the parameters of a candidate, which are meant for
        ``max_level``. The refit of the winner may have a larger level.
        """
        if not self.rescale:
            return {}
        amounts = self.to_amount(level), self.to_amount(max_level)
        return rescaled_params(self.rescale, estimator, *amounts)

    def can_continue(self, estimator: Estimator) -> bool:
        """Return whether a fitted estimator can be trained further; by default, False.

        It must be False if parameters are rescaled, since a fitted model cannot change them.
        """
        return False

    def train(
        self,
        estimator: Estimator,
        X: object,
        y: object,
        level: int,
        previous_level: int,
        fit_params: Params,
    ) -> Estimator:
        """Train ``estimator`` up to ``level`` and return it.

        If ``previous_level`` is 0, the estimator is fitted from scratch. Otherwise it is the
        model that an earlier call trained to that level on the same rows, and only the rest is
        trained. By default the estimator is fitted from scratch on the rows it is given, with
        the parameters of `params_at`.
        """
        data = TrainingData(X, y, fit_params)
        return refit(estimator, self.params_at(level), data, is_fitted=previous_level > 0)


class ContinuedResource(CheckedFields, Resource):
    """Base class of resources that continue training; the caller sets the largest level.

    A subclass defines `_train_to`.
    """

    def level_range(
        self, estimator: Estimator, n_train: int, n_rows_needed: int
    ) -> tuple[int, int]:
        """Return 1 and 0: the user must set the largest level."""
        return 1, 0

    def _train_to(
        self, estimator: Estimator, data: TrainingData, level: int, previous_level: int
    ) -> Estimator:
        """Train up to ``level``, which is larger than ``previous_level``."""
        raise NotImplementedError

    def train(
        self,
        estimator: Estimator,
        X: object,
        y: object,
        level: int,
        previous_level: int,
        fit_params: Params,
    ) -> Estimator:
        """Train up to ``level``; if ``previous_level`` is 0, from scratch."""
        if level <= previous_level:
            return estimator
        return self._train_to(estimator, TrainingData(X, y, fit_params), level, previous_level)


class OfParameter(CheckedFields, Resource):
    """Base class of resources that are the value of a parameter of the estimator."""

    parameter: str

    @property
    def name(self) -> str:
        """The name of the parameter."""
        return self.parameter

    def level_range(
        self, estimator: Estimator, n_train: int, n_rows_needed: int
    ) -> tuple[int, int]:
        """Return 1 and the level of the estimator's value, or 0 if that is not positive."""
        value = number_of(estimator.get_params().get(self.parameter))
        return 1, 0 if value is None or value <= 0 else self.to_level(value)

    def params_at(self, level: int) -> Params:
        """Return the parameter, set to the amount."""
        return {self.parameter: self.to_amount(level)}
