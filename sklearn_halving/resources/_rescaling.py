"""Rescaling of parameters whose best value depends on the amount of resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn_halving._typing import Estimator, Params
from sklearn_halving.resources._parameters import is_replaced, number_of, suggestion

Rule = str | Callable[[Any, float, float], Any]

_NAMES = ("inverse", "proportional")


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
            if not callable(rule) and rule not in _NAMES:
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
