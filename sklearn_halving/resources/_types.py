"""What a resource is: the meaning of a level, and how an estimator is trained up to it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Resource(Protocol):
    """What a level means: the number of rows, of iterations, of features, of seconds.

    A level is a whole number of units, so that schedules are exact and a pull has an exact
    name. Resources that count in fractions (a float parameter, seconds) choose a unit.

    Examples
    --------
    A forest of 3 trees becomes one of 9 by growing 6:

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

    @property
    def name(self) -> str:
        """The name by which the resource is asked for and reported."""

    @property
    def subsamples_rows(self) -> bool:
        """Whether a level is a number of rows of the training fold."""

    def check(self, estimator: Any, searched: frozenset[str]) -> None:
        """Raise a ValueError if the resource does not fit the estimator or the search space.

        ``searched`` holds the names of all parameters that are searched over.
        """

    def level_range(self, estimator: Any, n_train: int, n_rows_needed: int) -> tuple[int, int]:
        """Return the smallest sensible and the largest level.

        ``n_train`` is the number of rows of the smallest training fold, ``n_rows_needed``
        the number of rows a subset needs to hold every class.
        """

    def to_level(self, amount: float) -> int:
        """Return the level nearest to an amount given by a user."""

    def to_amount(self, level: int) -> float:
        """Return what a level amounts to: what ``n_resources`` shows."""

    def params_at(self, level: int) -> dict[str, Any]:
        """Return the parameters of the estimator that state the level, for ``params``."""

    def can_continue(self, estimator: Any) -> bool:
        """Return whether a fitted estimator can be trained on to a higher level."""

    def train(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        level: int,
        previous_level: int,
        fit_params: dict[str, Any],
    ) -> Any:
        """Train ``estimator`` up to ``level`` and return it.

        With ``previous_level`` 0 it is fitted from scratch; otherwise it is the model that
        an earlier call left at that level, on the same rows, and only what is missing is
        trained.
        """
