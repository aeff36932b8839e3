"""The result of a simulation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies._types import Policy
from sklearn_halving.policies.bases._base_policy import name_of
from sklearn_halving.simulation._types import Environment

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class Estimate(NamedTuple):
    """A mean over problems and its standard error.

    Parameters
    ----------
    value : float
        The mean.
    standard_error : float
        Standard error of the mean, from the variation over problems.

    Examples
    --------
    >>> from sklearn_halving.policies import UniformAllocation
    >>> from sklearn_halving.simulation import GaussianArms, simulate
    >>> result = simulate(UniformAllocation(n_pulls=4), GaussianArms([0, 1]), n_problems=1000)
    >>> mistake, error = result.mistake_probability
    >>> 0 < error < 0.02
    True
    """

    value: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """The outcome of a policy in each problem, and averages.

    Parameters
    ----------
    policy : object
        The policy.
    environment : object
        The environment from which the problems were drawn.
    recommended : ndarray of int of shape (n_problems,)
        Number of the finally chosen candidate; -1 if none.
    regret : ndarray of shape (n_problems,)
        Value of the best arm minus that of the chosen one; NaN if none was chosen.
    is_mistake : ndarray of bool of shape (n_problems,)
        Whether another arm has a higher value than the chosen one, or none was chosen.
    n_pulls : ndarray of int of shape (n_problems,)
        Number of pulls, which is the number of observed losses.
    n_units : ndarray of int of shape (n_problems,)
        Units of resource, each counted once: an arm that continues from level 15 to 46 costs 31
        units.
    is_confident : ndarray of bool of shape (n_problems,) or None
        Whether the guarantee of the policy holds; None if the policy has none.
    checkpoints : ndarray of int of shape (n_checkpoints,)
        Numbers of units after which the choice was recorded.
    checkpoint_regret : ndarray of shape (n_problems, n_checkpoints)
        Regret of these choices; NaN if there was none. If the policy stopped before, regret of its
        final choice.
    checkpoint_is_mistake : ndarray of bool of shape (n_problems, n_checkpoints)

    Examples
    --------
    >>> from sklearn_halving.policies import UniformAllocation
    >>> from sklearn_halving.simulation import GaussianArms, simulate
    >>> result = simulate(UniformAllocation(n_pulls=30), GaussianArms([0.0, 0.5, 1.0]))
    >>> result.mean_pulls
    Estimate(value=30.0, standard_error=0.0)
    >>> result.to_frame().columns.tolist()
    ['recommended', 'regret', 'is_mistake', 'n_pulls', 'n_units']
    """

    policy: Policy
    environment: Environment = field(repr=False)
    recommended: IntArray = field(repr=False)
    regret: FloatArray = field(repr=False)
    is_mistake: BoolArray = field(repr=False)
    n_pulls: IntArray = field(repr=False)
    n_units: IntArray = field(repr=False)
    is_confident: BoolArray | None = field(repr=False)
    checkpoints: IntArray = field(repr=False)
    checkpoint_regret: FloatArray = field(repr=False)
    checkpoint_is_mistake: BoolArray = field(repr=False)

    @property
    def n_problems(self) -> int:
        """Number of problems that were played."""
        return len(self.recommended)

    @property
    def mistake_probability(self) -> Estimate:
        """Share of problems in which another arm was better.

        Its standard error is that of ``(mistakes + 1) / (n_problems + 2)``, so it is never 0.
        """
        share, n = float(self.is_mistake.mean()), self.n_problems
        smoothed = (self.is_mistake.sum() + 1) / (n + 2)
        return Estimate(share, float(np.sqrt(smoothed * (1 - smoothed) / n)))

    @property
    def simple_regret(self) -> Estimate:
        """Mean regret of the final choice; NaN if there is a problem without a choice."""
        return estimate_of(self.regret)

    @property
    def mean_pulls(self) -> Estimate:
        """Mean number of pulls."""
        return estimate_of(self.n_pulls)

    @property
    def mean_units(self) -> Estimate:
        """Mean number of units of resource."""
        return estimate_of(self.n_units)

    def summary(self) -> pd.Series[float]:
        """Return all means and standard errors, for comparison with other policies.

        Returns
        -------
        pandas.Series
            Named after the class of the policy.
        """
        import pandas as pd

        values = {}
        for name in ("mistake_probability", "simple_regret", "mean_pulls", "mean_units"):
            values[name], values[f"{name}_error"] = getattr(self, name)
        return pd.Series(values, name=name_of(self.policy))

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each problem."""
        import pandas as pd

        names = ["recommended", "regret", "is_mistake", "n_pulls", "n_units"]
        if self.is_confident is not None:
            names.append("is_confident")
        columns = {name: getattr(self, name) for name in names}
        for i, units in enumerate(self.checkpoints.tolist()):
            columns[f"regret_after_{units}"] = self.checkpoint_regret[:, i]
        return pd.DataFrame(columns)

    def plot(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Plot the mean regret against units of resource, with two standard errors.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            None makes a new figure. Pass the same axes to compare several policies.
        label : str or None, default=None
            Name of the policy in the legend; None uses the name of its class.

        Returns
        -------
        matplotlib.axes.Axes
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        units = np.append(self.checkpoints, self.mean_units.value)
        regret = np.column_stack([self.checkpoint_regret, self.regret])
        order = np.argsort(units, kind="stable")
        middle, error = np.array([estimate_of(regret[:, i]) for i in order]).T
        name = label or name_of(self.policy)
        ax.errorbar(
            units[order], middle, 2 * error, marker="o", markersize=3, capsize=2, label=name
        )
        ax.set(xlabel="pulls" if self.environment.max_level == 1 else "units of resource")
        ax.set(xscale="log", ylabel="regret of the arm chosen")
        ax.legend()
        return ax


def estimate_of(values: npt.ArrayLike) -> Estimate:
    """Return the mean over problems and its standard error."""
    values = np.asarray(values, dtype=np.float64)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return Estimate(float(values.mean()), float(error))
