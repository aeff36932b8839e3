"""The protocol of a resource: what a level means, and how to train an estimator to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from numbers import Integral
from typing import Annotated, Any, Protocol, runtime_checkable

from sklearn_halving._checks import CheckedFields, Rule, refuse_unless
from sklearn_halving._typing import Estimator, Params
from sklearn_halving.resources._fitting import (
    SplitData,
    is_replaced,
    listed,
    number_of,
    refit,
    suggestion,
)


def _check_rules(name: str, rules: object, advice: str) -> None:
    is_dict = isinstance(rules, Mapping)
    refuse_unless(is_dict, name, "be a dict of parameter names and rules", repr(rules), advice)
    for parameter, rule in rules.items() if isinstance(rules, Mapping) else ():
        refuse_unless(
            callable(rule) or rule in ("inverse", "proportional"),
            f"{name}[{parameter!r}]",
            "be 'inverse', 'proportional' or a callable",
            repr(rule),
            "A callable takes (value, amount, max_amount).",
        )


Rescale = Annotated[
    Mapping[str, str | Callable[[Any, float, float], Any]],
    Rule(_check_rules, "An example is {'C': 'inverse'}."),
]
"""Parameter names and the rules that adjust their values to the amount of resource."""


LevelRange = tuple[int, int]
"""The smallest sensible level, and the largest; 0 if only the user can know it."""


@runtime_checkable
class Resource(Protocol):
    """What a level means: a number of rows, iterations, features or seconds.

    A level is a whole number of units, so that schedules are exact and every pull has an exact
    name. Resources measured in fractions (a float parameter, seconds) choose a unit. A subclass
    needs a ``name``; the other members have defaults. An object with all of these members works
    without subclassing.

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

    def level_range(self, estimator: Estimator, n_train: int, n_rows_needed: int) -> LevelRange:
        """Return the smallest sensible level and the largest.

        ``n_train`` is the number of rows in the smallest training fold, ``n_rows_needed`` the
        number of rows that a subset needs for all classes. A largest level of 0 means
        that the user must set ``max_resources``; by default, 1 and 0.
        """
        return 1, 0

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
        own, amounts = estimator.get_params(), (self.to_amount(level), self.to_amount(max_level))
        # A parameter that the candidate does not have belongs to others and is left out.
        params = {name: own[name] for name in self.rescale if name in own}
        for name, value in params.items() if amounts[0] != amounts[1] else ():
            rule = self.rescale[name]
            if callable(rule):
                params[name] = rule(value, *amounts)
            else:
                owner, _, parameter = name.rpartition("__")
                is_whole = _is_whole(value, own.get(owner, estimator), parameter)
                scaled = _scaled(name, rule, value, *amounts)
                params[name] = max(round(scaled), min(value, 1)) if is_whole else scaled
        return params

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
        data = SplitData(X, y, fit_params)
        return refit(estimator, self.params_at(level), data, is_fitted=previous_level > 0)


class ContinuedResource(CheckedFields, Resource):
    """Base class of resources that continue training.

    A subclass defines `_train_to`.
    """

    def _train_to(
        self, estimator: Estimator, data: SplitData, level: int, previous_level: int
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
        return self._train_to(estimator, SplitData(X, y, fit_params), level, previous_level)


def check_rescaled_names(rescale: Rescale, estimator: Estimator, searched: frozenset[str]) -> None:
    """Raise a ValueError if neither the estimator nor the candidates have a parameter."""
    known = set(estimator.get_params()) | searched
    for name in rescale:
        refuse_unless(
            name in known or is_replaced(name, searched),
            f"rescale[{name!r}]",
            f"name a parameter of {type(estimator).__name__} or of the search",
            repr(name),
            f"{suggestion(name, known)} Known names are {listed(known)}.".lstrip(),
        )


def _is_whole(value: object, owner: object, parameter: str) -> bool:
    """Return whether only whole numbers are valid; a float may be given as 1 instead of 1.0."""
    default = signature(type(owner)).parameters.get(parameter)
    may_be_float = default is not None and isinstance(default.default, float)
    return isinstance(number_of(value), Integral) and not may_be_float


def _scaled(name: str, rule: str, value: object, amount: float, max_amount: float) -> float:
    number = number_of(value)
    if number is None:
        raise ValueError(
            f"rescale[{name!r}]={rule!r} needs a numeric {name}, got {value!r}. Use a callable."
        )
    return number * max_amount / amount if rule == "inverse" else number * amount / max_amount
