"""A number of features, or the value of any other numeric parameter, as the resource."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral

from sklearn_halving._checks import Positive
from sklearn_halving._typing import Estimator
from sklearn_halving.resources._parameters import check_not_searched, check_parameter, number_of
from sklearn_halving.resources._rescaling import Rescale
from sklearn_halving.resources._types import OfParameter

FRACTION = 1e-3


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

    parameter: str
    unit: Positive | None = None
    rescale: Rescale | None = None

    def for_estimator(self, estimator: Estimator) -> ParameterValue:
        """Return the resource, with a unit if the estimator's parameter is a float."""
        value = number_of(estimator.get_params().get(self.parameter))
        is_float = value is not None and not isinstance(value, Integral)
        return replace(self, unit=FRACTION) if self.unit is None and is_float else self

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
