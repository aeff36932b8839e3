"""Parameters that depend on the amount of resource: what they are at a lower level."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn_halving.resources._parameters import is_replaced, number_of, suggestion

Rule = str | Callable[[Any, float, float], Any]

_NAMES = ("inverse", "proportional")


@dataclass(frozen=True)
class Rescaling:
    """Rescale parameters such that they mean the same at every amount of resource.

    A candidate's value is what holds at the largest amount, where it is used unchanged. At a
    lower one it is multiplied by ``max_amount / amount`` (rule ``"inverse"``: the value is a
    constant divided by the resource) or by ``amount / max_amount`` (``"proportional"``), or is
    what a callable makes of ``(value, amount, max_amount)``.

    Li et al. (2018), appendix A.4, divide the cost C by the number of samples, since the
    squared errors are summed over them and not averaged, and the regularisation lambda by
    the number of random features: both ``"inverse"``. With samples as the resource the
    reciprocal of C, ``alpha`` of ``Ridge`` and ``KernelRidge``, is ``"proportional"``. Where the
    loss is averaged, as in ``SGDClassifier`` and ``Lasso``, ``alpha`` needs no rule. Nor do
    features that are scaled by their number, as those of ``RBFSampler`` and ``Nystroem``: their
    inner products approach the kernel at any number of them.

    A rule by name gives a float below the largest amount. Whole numbers, such as
    ``min_samples_leaf``, need a callable that rounds.

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
        """Return the rescaling that the option ``rescale`` of a search asks for."""
        if option is None:
            return cls()
        if not isinstance(option, Mapping):
            raise ValueError(
                "rescale must be None or a dict of parameter names and rules; got "
                f"{option!r}. Give for example {{'C': 'inverse'}}."
            )
        for name, rule in option.items():
            if not callable(rule) and rule not in _NAMES:
                raise ValueError(
                    f"rescale[{name!r}] must be 'inverse', 'proportional' or a callable; got "
                    f"{rule!r}. Write a function of (value, amount, max_amount) for another rule."
                )
        return cls(tuple(option.items()))

    def check(self, estimator: Any, searched: frozenset[str]) -> None:
        """Raise a ValueError for a parameter that neither estimator nor candidates have."""
        known = set(estimator.get_params()) | searched
        for name, _ in self.rules:
            if name not in known and not is_replaced(name, searched):
                raise ValueError(
                    f"rescale[{name!r}] must name a parameter of {type(estimator).__name__} or "
                    f"of the search; got {name!r}, where {sorted(known)} are known."
                    f"{suggestion(name, known)}"
                )

    def apply(
        self, params: Mapping[str, Any], estimator: Any, amount: float, max_amount: float
    ) -> dict[str, Any]:
        """Return the rescaled parameters at ``amount``.

        Parameters
        ----------
        params : dict
            The candidate's parameters, which hold at ``max_amount``.
        estimator : estimator
            Has the values of the parameters that are not searched. A parameter that it does
            not have either belongs to other candidates, and is left out.
        amount, max_amount : float
            The resource at this level and at the largest one.

        Returns
        -------
        rescaled : dict
            The value of each parameter that has a rule; exactly the candidate's own at
            ``max_amount``.
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


def _apply_rule(name: str, rule: Rule, value: Any, amount: float, max_amount: float) -> Any:
    if amount == max_amount:
        return value
    if callable(rule):
        return rule(value, amount, max_amount)
    number = number_of(value)
    if number is None:
        raise ValueError(
            f"rescale[{name!r}]={rule!r} needs a number as the value of {name}; got {value!r}. "
            "Leave such candidates out, or give a callable that knows what to do with them."
        )
    return number * max_amount / amount if rule == "inverse" else number * amount / max_amount
