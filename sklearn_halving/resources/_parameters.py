"""Checks of parameter names that the resources share, and parameters that are rescaled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import Any

from sklearn_halving._typing import Estimator, Params

Rule = str | Callable[[Any, float, float], Any]

RULE_NAMES = ("inverse", "proportional")


def check_not_searched(parameter: str, searched: frozenset[str]) -> None:
    """Raise a ValueError if the resource is also a searched parameter."""
    if parameter in searched:
        raise ValueError(
            f"Cannot use parameter {parameter!r} as the resource since it is part of the searched "
            f"parameters {sorted(searched)}. Remove it from the search space, or use another "
            "resource."
        )


def check_parameter(parameter: str, estimator: Estimator, searched: frozenset[str]) -> None:
    """Raise a ValueError if the estimator has no such parameter.

    Nothing can be checked if candidates replace the object that the parameter belongs to.
    """
    valid = estimator.get_params()
    if parameter in valid or is_replaced(parameter, searched):
        return
    raise ValueError(
        f"resource={parameter!r} must be a parameter of {type(estimator).__name__}."
        f"{suggestion(parameter, valid)} Its parameters are {sorted(valid)}."
    )


def is_replaced(parameter: str, searched: frozenset[str]) -> bool:
    """Return whether candidates replace the object that the parameter belongs to."""
    path = parameter.split("__")
    return any("__".join(path[:depth]) in searched for depth in range(1, len(path)))


def number_of(value: object) -> float | None:
    """Return the value of a parameter if it is a number, else None."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    number: float = value  # type: ignore[assignment]  # an int stays an int
    return number


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the known names closest to ``name``, or an empty string."""
    close = get_close_matches(name, list(known), n=3)
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""


@dataclass(frozen=True)
class Rescaling:
    """Rescale parameters so that they have the same effect at every amount of resource.

    The value of a candidate applies at the largest amount of resource, where it is used
    unchanged. At smaller amounts it is multiplied by ``max_amount / amount`` (rule
    ``"inverse"``) or by ``amount / max_amount`` (rule ``"proportional"``), or it is replaced by
    the result of a callable ``(value, amount, max_amount)``.

    Li et al. (2018), appendix A.4, divide the cost C by the number of samples, because the
    squared errors are summed rather than averaged, and the regularization lambda by the number
    of random features. Both are ``"inverse"``. With samples as the resource, the reciprocal of
    C, such as ``alpha`` of ``Ridge`` and ``KernelRidge``, is ``"proportional"``. If the loss is
    averaged, as in ``SGDClassifier`` and ``Lasso``, ``alpha`` needs no rule. Features that are
    normalized by their number, such as those of ``RBFSampler`` and ``Nystroem``, need no rule
    either.

    Named rules return floats. Integers, such as ``min_samples_leaf``, need a callable that
    rounds.

    Parameters
    ----------
    rules : tuple of (str, rule)
        Parameter names and the rule for each. `from_option` checks them.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving.resources import Rescaling
    >>> rescaling = Rescaling.from_option({"C": "inverse"})
    >>> rescaling.apply({"C": 2.0}, SVC(), 100, 1000)
    {'C': 20.0}
    >>> rescaling.apply({"C": 2.0}, SVC(), 1000, 1000)
    {'C': 2.0}
    """

    rules: tuple[tuple[str, Rule], ...] = ()

    @classmethod
    def from_option(cls, option: Mapping[str, Rule] | None) -> Rescaling:
        """Return the rescaling for the ``rescale`` parameter of a search."""
        if option is None:
            return cls()
        if not isinstance(option, Mapping):
            raise ValueError(
                "rescale must be None or a dict of parameter names and rules; got "
                f"{option!r}. An example is {{'C': 'inverse'}}."
            )
        for name, rule in option.items():
            if not callable(rule) and rule not in RULE_NAMES:
                raise ValueError(
                    f"rescale[{name!r}] must be 'inverse', 'proportional' or a callable; got "
                    f"{rule!r}. A callable takes (value, amount, max_amount)."
                )
        return cls(tuple(option.items()))

    def check(self, estimator: Estimator, searched: frozenset[str]) -> None:
        """Raise a ValueError if neither the estimator nor the candidates have the parameter."""
        known = set(estimator.get_params()) | searched
        for name, _ in self.rules:
            if name not in known and not is_replaced(name, searched):
                raise ValueError(
                    f"rescale[{name!r}] must name a parameter of {type(estimator).__name__} or "
                    f"of the search; got {name!r}.{suggestion(name, known)} Known names are "
                    f"{sorted(known)}."
                )

    def apply(
        self, params: Params, estimator: Estimator, amount: float, max_amount: float
    ) -> Params:
        """Return the rescaled parameters at ``amount``.

        Parameters
        ----------
        params : dict
            The candidate's parameters, which apply at ``max_amount``.
        estimator : estimator
            Provides the values of parameters that are not searched. A parameter that it does
            not have belongs to other candidates and is left out.
        amount, max_amount : float
            The amount of resource at this level and at the largest.

        Returns
        -------
        rescaled : dict
            The value of each parameter with a rule; at ``max_amount``, exactly the candidate's
            own value.
        """
        if not self.rules:
            return {}
        own = None if all(name in params for name, _ in self.rules) else estimator.get_params()
        rescaled = {}
        for name, rule in self.rules:
            if name in params:
                rescaled[name] = _apply_rule(name, rule, params[name], amount, max_amount)
            elif own is not None and name in own:
                rescaled[name] = _apply_rule(name, rule, own[name], amount, max_amount)
        return rescaled


def _apply_rule(name: str, rule: Rule, value: object, amount: float, max_amount: float) -> object:
    if amount == max_amount:
        return value
    if callable(rule):
        return rule(value, amount, max_amount)
    number = number_of(value)
    if number is None:
        raise ValueError(
            f"rescale[{name!r}]={rule!r} needs a numeric {name}; got {value!r}. "
            "Remove such candidates, or use a callable that handles them."
        )
    return number * max_amount / amount if rule == "inverse" else number * amount / max_amount
