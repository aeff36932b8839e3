"""The protocol of a resource, and how it checks and fits an estimator or the last step of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from inspect import signature
from numbers import Integral, Real
from typing import Annotated, Any, NamedTuple, Protocol, runtime_checkable

from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import process_routing

from sklearn_halving._checks import CheckedFields, Rule, refuse_unless
from sklearn_halving._typing import Estimator, Params

MOST_NAMES = 10
"""Number of names that a message lists."""
NAMES = ("n_samples", "partial_fit", "fit_time")
"""Resources that are no parameters."""

# fit_transform of these returns other values for the training rows than transform does (such as
# out-of-fold predictions). Training of a later step cannot continue on the output of transform.
_CROSS_FITTED = {
    *("TargetEncoder", "StackingClassifier", "StackingRegressor"),
    *("LeaveOneOutEncoder", "CatBoostEncoder"),
}


def check_not_searched(parameter: str, searched: frozenset[str]) -> None:
    """Raise a ValueError if the search also varies the resource."""
    if parameter in searched:
        raise ValueError(
            f"Cannot use parameter {parameter!r} as the resource since it is part of the searched "
            f"parameters {sorted(searched)}. Remove it from the search space."
        )


def check_parameter(parameter: str, estimator: Estimator, searched: frozenset[str]) -> None:
    """Raise a ValueError if the estimator has no such parameter.

    Nothing can be checked if candidates replace the object that the parameter belongs to.
    """
    valid = estimator.get_params()
    if parameter not in valid and not is_replaced(parameter, searched):
        raise ValueError(
            f"resource={parameter!r} must be a parameter of {type(estimator).__name__}."
            f"{suggestion(parameter, [*NAMES, *valid])} Its parameters are {listed(valid)}."
        )


def leaf_of(parameter: str) -> str:
    """Return the name of a parameter within the object that it belongs to."""
    return parameter.rpartition("__")[2]


def is_replaced(parameter: str, searched: frozenset[str]) -> bool:
    """Return whether candidates replace the object that the parameter belongs to."""
    path = parameter.split("__")
    return any("__".join(path[:depth]) in searched for depth in range(1, len(path)))


def number_of(value: object) -> float | None:
    """Return the value of a parameter if it is a number, else None."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]  # an int stays an int


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the known names closest to ``name``, or an empty string."""
    prefix, leaf = name.rpartition("__")[0], leaf_of(name).lower()
    leaves = defaultdict[str, list[str]](list)
    for one in known:
        leaves[leaf_of(one).lower()].append(one)
    near = get_close_matches(leaf, leaves, n=1 if leaf in leaves else 3)
    close = [one for each in near for one in leaves[each]]
    of_same = [one for one in close if one.rpartition("__")[0] == prefix]
    shown = (of_same or close)[:3]
    return f" Did you mean {' or '.join(map(repr, shown))}?" if shown else ""


def listed(names: Iterable[str]) -> str:
    """Return the names as a list that a message can show, with at most ten of them."""
    names = sorted(names)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{names[:MOST_NAMES]}{more}"


class SplitData(NamedTuple):
    """The rows of one side of a split, their targets, and the parameters to fit or score with."""

    X: object
    y: object
    params: Params

    @property
    def arrays(self) -> tuple[object, ...]:
        """What a fit or a scorer gets first, as in scikit-learn without ``y`` if it is None."""
        return (self.X,) if self.y is None else (self.X, self.y)


def fit(estimator: Estimator, data: SplitData) -> Estimator:
    """Fit, and return the estimator."""
    estimator.fit(*data.arrays, **data.params)
    return estimator


def refit(estimator: Estimator, params: Params, data: SplitData, *, is_fitted: bool) -> Estimator:
    """Fit from scratch with some parameters. A fitted model remains as it is."""
    fresh = clone(estimator) if is_fitted else estimator
    if params:
        fresh.set_params(**params)
    return fit(fresh, data)


def class_names(estimator: object) -> frozenset[str]:
    """Return the names of the estimator's class and of all its base classes."""
    return frozenset(cls.__name__ for cls in type(estimator).__mro__)


def last_step(estimator: Estimator) -> Estimator:
    """Return the last step of a pipeline, also of nested ones, or the estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def prefix_of_last_step(estimator: Estimator) -> str:
    """Return what precedes the names of parameters of the last step, such as ``"clf__"``."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    return prefix


def owner_of(estimator: Estimator, parameter: str) -> Estimator | None:
    """Return the last step if ``parameter`` is one of its own, else None."""
    if parameter != prefix_of_last_step(estimator) + leaf_of(parameter):
        return None
    step = last_step(estimator)
    return None if isinstance(step, type) or not hasattr(step, "set_params") else step


def keeps_training_rows(estimator: Estimator) -> bool:
    """Return whether ``transform`` of the earlier steps reproduces the training rows.

    Training of the last step can then continue without refitting the earlier steps.
    """
    while isinstance(estimator, Pipeline):
        if getattr(estimator, "transform_input", None) is not None:
            return False  # steps pass more than X to each other
        for _, step in estimator.steps[:-1]:
            nested = step.get_params().values() if hasattr(step, "get_params") else ()
            for part in (step, *nested):
                if hasattr(part, "fit_resample") or class_names(part) & _CROSS_FITTED:
                    return False
        estimator = estimator.steps[-1][1]
    return True


def to_last_step(estimator: Estimator, data: SplitData, *, first: bool) -> tuple[Any, SplitData]:
    """Pass the data through the earlier steps, fitting them at the first level.

    Returns
    -------
    step, step_data
        The last step, and its training data.
    """
    X, y, fit_params = data
    while isinstance(estimator, Pipeline):
        head = estimator[:-1]
        step_params = _params_of_last(estimator, fit_params)
        if len(head.steps) > 0:
            if first:
                params = _params_of_head(head, "fit_transform", fit_params)
                # The memory of a pipeline is for all steps but the last one.
                head.steps.append((estimator.steps[-1][0], "passthrough"))
                X = head.fit_transform(X, y, **params)
                estimator.steps[:-1] = head.steps[:-1]  # a pipeline with a memory fits copies
            else:
                X = _transformed(head, X, _params_of_head(head, "transform", fit_params))
        estimator, fit_params = estimator.steps[-1][1], step_params
    return estimator, SplitData(X, y, fit_params)


def _transformed(head: Pipeline, X: object, params: Params) -> object:
    """Transform with the earlier steps, as ``predict`` of the whole pipeline does."""
    if params:
        return head.transform(X, **params)
    # head.transform refuses a last step without fitted attributes, and predict does not
    for _, step in head.steps:
        if step is not None and step != "passthrough":
            X = step.transform(X)
    return X


def _params_of_last(pipeline: Pipeline, fit_params: Params) -> Params:
    name = pipeline.steps[-1][0]
    if get_config()["enable_metadata_routing"]:
        return dict(process_routing(pipeline, "fit", **fit_params)[name]["fit"])
    start = f"{name}__"
    return {key[len(start) :]: v for key, v in fit_params.items() if key.startswith(start)}


def _params_of_head(head: Pipeline, method: str, fit_params: Params) -> Params:
    if get_config()["enable_metadata_routing"]:
        wanted = head.get_metadata_routing().consumes(method, fit_params)
        return {key: fit_params[key] for key in wanted}
    if method == "transform":
        return {}
    names = {name for name, _ in head.steps}
    return {key: v for key, v in fit_params.items() if key.partition("__")[0] in names}


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
    >>> from sklearn_halving.resources import Iterations
    >>> trees = Iterations("n_estimators")
    >>> trees.can_continue(RandomForestClassifier())
    True
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
        """Return the parameters that change with the level; by default, all in ``rescale``.

        ``estimator`` is unfitted and has the parameters of a candidate, which are meant for
        ``max_level``. The refit of the winner may have a larger level.
        """
        if not self.rescale:
            return {}
        own, amounts = estimator.get_params(), (self.to_amount(level), self.to_amount(max_level))
        # A parameter that the candidate lacks belongs to others and is skipped.
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
