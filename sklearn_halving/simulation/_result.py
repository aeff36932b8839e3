"""What came out of a simulation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sklearn_halving.policies._types import BoolArray, FloatArray, IntArray
from sklearn_halving.policies.bases._base_policy import name_of

if TYPE_CHECKING:
    import pandas as pd


class Estimate(NamedTuple):
    """A mean over problems and its standard error.

    Parameters
    ----------
    value : float
        The mean.
    standard_error : float
        Of the mean, from the spread over the problems.

    Examples
    --------
    >>> from sklearn_halving.policies import UniformAllocation
    >>> from sklearn_halving.policies.bases._base_policy import name_of
    from sklearn_halving.simulation import GaussianArms, simulate
    >>> result = simulate(UniformAllocation(n_pulls=4), GaussianArms([0, 1]), n_problems=1000)
    >>> mistake, error = result.mistake_probability
    >>> 0 < error < 0.02
    True
    """

    value: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """What a policy did in each problem, and what that is on average.

    Parameters
    ----------
    policy : object
        The policy as it was played.
    environment : object
        What the problems were drawn from.
    recommended : ndarray of int of shape (n_problems,)
        The candidate that was chosen in the end, by its number in the environment; -1 if none.
    regret : ndarray of shape (n_problems,)
        How much less it is worth than the best; NaN if none was chosen.
    is_mistake : ndarray of bool of shape (n_problems,)
        Whether another arm was worth more than the one chosen; also true if none was.
    n_pulls : ndarray of int of shape (n_problems,)
        Number of pulls: how many losses were observed.
    n_units : ndarray of int of shape (n_problems,)
        Units of resource, each counted once: an arm that stands at level 15 and goes to 46 costs
        31 more.
    is_confident : ndarray of bool of shape (n_problems,) or None
        Where the policy says that its guarantee holds; None if it makes no such statement.
    checkpoints : ndarray of int of shape (n_checkpoints,)
        Numbers of units after which it was asked for its choice.
    checkpoint_regret : ndarray of shape (n_problems, n_checkpoints)
        Regret of these choices; NaN where there was none. Where the policy ended before: of its
        last choice.
    checkpoint_is_mistake : ndarray of bool of shape (n_problems, n_checkpoints)

    Examples
    --------
    >>> from sklearn_halving.policies import UniformAllocation
    >>> from sklearn_halving.policies.bases._base_policy import name_of
    from sklearn_halving.simulation import GaussianArms, simulate
    >>> result = simulate(UniformAllocation(n_pulls=30), GaussianArms([0.0, 0.5, 1.0]))
    >>> result.mean_pulls
    Estimate(value=30.0, standard_error=0.0)
    >>> result.to_frame().columns.tolist()
    ['recommended', 'regret', 'is_mistake', 'n_pulls', 'n_units']
    """

    policy: Any
    environment: Any = field(repr=False)
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
        """How often another arm was better; the error of a share of 0 or 1 is not 0.

        The standard error is that of ``(mistakes + 1) / (n_problems + 2)``.
        """
        share, n = float(self.is_mistake.mean()), self.n_problems
        smoothed = (self.is_mistake.sum() + 1) / (n + 2)
        return Estimate(share, float(np.sqrt(smoothed * (1 - smoothed) / n)))

    @property
    def simple_regret(self) -> Estimate:
        """Mean regret of the arm chosen in the end; NaN if none was chosen in some problem."""
        return _estimate(self.regret)

    @property
    def mean_pulls(self) -> Estimate:
        """Mean number of pulls."""
        return _estimate(self.n_pulls)

    @property
    def mean_units(self) -> Estimate:
        """Mean number of units of resource."""
        return _estimate(self.n_units)

    @property
    def confident_share(self) -> Estimate:
        """How often the policy's guarantee holds; NaN if it gives none."""
        if self.is_confident is None:
            return Estimate(np.nan, np.nan)
        return _estimate(self.is_confident)

    def summary(self) -> pd.Series[float]:
        """Return all means and standard errors, to be put side by side with others'.

        Returns
        -------
        pandas.Series
            Named after the policy's class.
        """
        import pandas as pd

        names = ("mistake_probability", "simple_regret", "mean_pulls", "mean_units")
        values = {}
        for name in names:
            estimate = getattr(self, name)
            values[name] = estimate.value
            values[f"{name}_error"] = estimate.standard_error
        return pd.Series(values, name=name_of(self.policy))

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each problem."""
        import pandas as pd

        columns: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("recommended", "regret", "is_mistake", "n_pulls", "n_units")
        }
        if self.is_confident is not None:
            columns["is_confident"] = self.is_confident
        for i, units in enumerate(self.checkpoints.tolist()):
            columns[f"regret_after_{units}"] = self.checkpoint_regret[:, i]
        return pd.DataFrame(columns)

    def plot(self, ax: Any = None, *, label: str | None = None) -> Any:
        """Draw the mean regret against the units that it took, with two standard errors.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            None: axes of a new figure. Pass the same axes for several policies.
        label : str or None, default=None
            The policy's name in the legend; None: that of its class.

        Returns
        -------
        matplotlib.axes.Axes
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        units = np.append(self.checkpoints, self.mean_units.value)
        curve = [*(_estimate(column) for column in self.checkpoint_regret.T), self.simple_regret]
        middle = np.array([point.value for point in curve])
        error = np.array([point.standard_error for point in curve])
        order = np.argsort(units, kind="stable")
        units, middle, error = units[order], middle[order], error[order]
        name = label or name_of(self.policy)
        ax.errorbar(units, middle, 2 * error, marker="o", markersize=3, capsize=2, label=name)
        ax.set(xlabel="pulls" if self._has_one_level() else "units of resource")
        ax.set(xscale="log", ylabel="regret of the arm chosen")
        ax.legend()
        return ax

    def _has_one_level(self) -> bool:
        return bool(self.environment.max_level == 1)


def _estimate(values: Any) -> Estimate:
    """Return the mean of one number for each problem."""
    values = np.asarray(values, dtype=np.float64)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return Estimate(float(values.mean()), float(error))
