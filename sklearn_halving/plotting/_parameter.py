"""ParameterDisplay: score against one parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, get_args

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.plotting import _drawing as drawing
from sklearn_halving.plotting._display import Display
from sklearn_halving.plotting._labels import shortened
from sklearn_halving.plotting._reading import (
    FittedSearch,
    Search,
    arrays,
    check_choice,
    read_search,
)
from sklearn_halving.plotting._space import Axis, as_numbers, axis_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Scale = Literal["auto", "linear", "log"]
FULL: Params = {"color": drawing.OTHERS, "linewidths": 0}
HOLLOW: Params = {"facecolors": "none", "edgecolors": drawing.OTHERS, "linewidths": 1}
AREAS = (14.0, 160.0)
"""Areas of the smallest and the largest marker, in square points."""


@dataclass(eq=False, repr=False, kw_only=True)
class ParameterDisplay(Display):
    """Score of each candidate against its value of one parameter.

    Use `from_estimator` to create a display. The size of a marker shows how much a candidate
    was given: its amount of resource if fits differ in it, otherwise its number of fits. Scores
    with small markers are less reliable. A hollow marker stands for a candidate with fewer splits
    than others with the same resource, such as one that was dropped after one split.

    Parameters
    ----------
    values : ndarray of shape (n_candidates,)
        Values of the parameter: numbers, or objects if the parameter is categorical.
    score : ndarray of shape (n_candidates,)
        Mean test score with the most resource. For BayesGapSearchCV it is the posterior mean,
        which is also known for candidates that were never fitted.
    weight : ndarray of shape (n_candidates,)
        Amount of resource, or number of fits.
    best : ndarray of bool of shape (n_candidates,)
        True for the winner.
    has_fewer_splits : ndarray of bool of shape (n_candidates,)
        True for candidates with fewer splits than others with the same resource.
    parameter : str
        Name of the parameter.
    n_left_out : int
        Number of candidates without this parameter or without a score.
    score_label, weight_label : str
        Labels of the y axis and of the marker size.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import HyperbandSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> space = {"ccp_alpha": loguniform(1e-4, 1), "splitter": ["best", "random"]}
    >>> search = HyperbandSearchCV(DecisionTreeClassifier(), space, random_state=0).fit(X, y)
    >>> from sklearn_halving.plotting import ParameterDisplay
    >>> display = ParameterDisplay.from_estimator(search, "ccp_alpha")
    >>> display.ax_.get_xscale()
    'log'
    """

    values: np.ndarray
    score: np.ndarray
    weight: np.ndarray
    best: np.ndarray
    has_fewer_splits: np.ndarray
    parameter: str
    n_left_out: int = 0
    score_label: str = "score"
    weight_label: str = "fits"

    @classmethod
    def from_estimator(
        cls,
        search: Search,
        parameter: str | None = None,
        *,
        metric: str | None = None,
        scale: Scale = "auto",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scores of a fitted search against a parameter.

        Parameters
        ----------
        parameter : str or None, default=None
            Name of the parameter, as in ``param_distributions``. May be None if there is only
            one.
        scale : {"auto", "linear", "log"}, default="auto"
            Scale of the x axis. "auto" is logarithmic if positive values are spaced more evenly
            on a logarithmic scale. Categorical parameters have no scale.

        Raises
        ------
        ValueError
            If the search has no such parameter or metric, or the scale is unknown or does not
            suit the values.
        """
        found = read_search(search, cls.__name__, metric)
        return cls._from_search(found, parameter).plot(ax=ax, scale=scale)

    @classmethod
    def _from_search(cls, found: FittedSearch, parameter: str | None = None) -> Self:
        known = found.parameters
        if parameter is None and len(known) == 1:
            parameter = known[0]
        check_choice(found.display, "parameter", parameter, known)
        table = found.candidates()
        weight, weight_label = "n_pulls", "fits"
        if found.has_resources and len(np.unique(found.results["n_resources"])) > 1:
            weight, weight_label = "level", found.resource_unit
        column = found.results[f"param_{parameter}"][table["row"]]
        shown = ~np.ma.getmaskarray(column) & table["value"].notna()
        table = table[shown]
        return cls(
            values=as_numbers(column[shown]),
            score=table["value"].to_numpy(),
            weight=table[weight].to_numpy(),
            **arrays(table, "best", "has_fewer_splits"),
            parameter=str(parameter),
            n_left_out=int((~shown).sum()),
            score_label=found.value_label,
            weight_label=weight_label,
        )

    def plot(self, ax: Axes | None = None, *, scale: Scale = "auto") -> Self:
        """Draw the display.

        Parameters
        ----------
        scale : {"auto", "linear", "log"}, default="auto"
            As in `from_estimator`.
        """
        axis = axis_of(self.parameter, self.parameter, self.values)
        is_log = self._is_log(axis, scale)
        # Long category names are rotated, which takes height from the axes.
        ax = self._axes(ax, height=4.0 + 0.04 * max(map(len, axis.categories), default=0))
        x = axis.position
        if axis.categories:
            drawing.label_categories(ax.xaxis, axis.categories)
            ax.set_xlim(-0.6, len(axis.categories) - 0.4)
            x = _spread(x)
        else:
            drawing.label_numbers(ax.xaxis, x, is_log=is_log)
        areas = _areas(self.weight, self.weight)
        alpha = 0.7 if len(x) <= 100 else 0.4
        for is_hollow, style in enumerate((FULL, HOLLOW)):
            rows = ~self.best & (self.has_fewer_splits == is_hollow)
            if rows.any():
                ax.scatter(x[rows], self.score[rows], areas[rows], alpha=alpha, **style)
        never = "" if self.weight[self.best].all() else ",\nnever fitted"
        label = f"winner{never}" if self.best.any() else None
        drawing.draw_winner(ax, x[self.best], self.score[self.best], label)
        # Parameter names of nested pipelines can be wider than the axes.
        ax.set(xlabel=shortened(self.parameter, 60), ylabel=drawing.wrapped(self.score_label))
        n_below = drawing.clip(ax.set_ylim, self.score)
        drawing.note(
            ax,
            drawing.count_of(n_below, "score", "below the axis"),
            drawing.count_of(self.n_left_out, "candidate", "left out"),
        )
        self._add_legend(ax)
        return self

    def _is_log(self, axis: Axis, scale: Scale) -> bool:
        """Return whether the x axis is logarithmic."""
        name = type(self).__name__
        check_choice(name, "scale", scale, get_args(Scale))
        if scale == "log" and (axis.categories or (axis.position <= 0).any()):
            raise ValueError(
                f"scale='log' of {name} needs positive numbers; got {self.parameter} with other "
                "values. Use scale='auto' or 'linear'."
            )
        return axis.is_log if scale == "auto" else scale == "log"

    def _add_legend(self, ax: Axes) -> None:
        """Explain the marks and their areas."""
        if (self.has_fewer_splits & ~self.best).any():
            ax.scatter([], [], 50.0, label=drawing.FEWER_SPLITS, **HOLLOW)
        amounts = np.unique(self.weight)
        if len(amounts) > 5:
            amounts = amounts[np.linspace(0, len(amounts) - 1, 4).round().astype(int)]
        for amount, area in zip(amounts, _areas(self.weight, amounts), strict=True):
            ax.scatter([], [], area, alpha=0.7, label=f"{amount:.4g}", **FULL)
        drawing.legend_beside(ax, title=shortened(self.weight_label, 20))


def _spread(x: np.ndarray) -> np.ndarray:
    """Spread out the candidates of one category, in the same way in every drawing."""
    spread = x.copy()
    for place in np.unique(x):
        members = np.flatnonzero(x == place)
        if len(members) > 1:
            width = min(0.3, 0.04 * len(members))
            spread[members] += width * (2 * (np.arange(len(members)) * 0.618 % 1.0) - 1)
    return spread


def _areas(weight: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """Return areas of marks for some amounts, by the logarithm where they differ by factors."""
    if not len(weight):
        return np.zeros(0)
    low, high = np.log1p(float(weight.min())), np.log1p(float(weight.max()))
    if high <= low:
        return np.full(len(amounts), 50.0)
    share = (np.log1p(amounts) - low) / (high - low)
    return AREAS[0] + share * (AREAS[1] - AREAS[0])
