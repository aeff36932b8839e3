"""Displays with a mark or a bar for each candidate: fits, intervals, and one parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, get_args

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.plotting import _drawing as drawing
from sklearn_halving.plotting._display import Display
from sklearn_halving.plotting._drawing import shortened
from sklearn_halving.plotting._reading import (
    Axis,
    FittedSearch,
    Search,
    arrays,
    as_numbers,
    axis_of,
    check_choice,
    finite,
    read_search,
)
from sklearn_halving.splits import corrected_variance_of_mean

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False, kw_only=True)
class PullsDisplay(Display):
    """Number of fits of each candidate, best rank first: how the budget was spent.

    Use `from_estimator` to create a display. If the search uses a resource, each bar is split
    by amount of resource; darker parts mean more resource. With several metrics, ``metric``
    ranks the candidates.

    Parameters
    ----------
    candidate : ndarray of shape (n_candidates,)
        Number of the candidate, best rank first.
    n_pulls : ndarray of shape (n_candidates, n_levels)
        Number of fits with each amount of resource.
    levels : ndarray of shape (n_levels,)
        Amounts of resource; a single NaN if the search has no resource.
    best : ndarray of bool of shape (n_candidates,)
        True for the winner.
    labels : list of str
        Labels of the candidates.
    resource_label : str
        Name of the resource.

    See Also
    --------
    ConfidenceDisplay : Final score of each candidate, with its interval.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import VarianceHalvingSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> search = VarianceHalvingSearchCV(
    ...     DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4, 5]}, random_state=0
    ... ).fit(X, y)
    >>> from sklearn_halving.plotting import PullsDisplay
    >>> display = PullsDisplay.from_estimator(search)
    >>> int(display.n_pulls.sum()) == search.n_fits_
    True
    """

    candidate: np.ndarray
    n_pulls: np.ndarray
    levels: np.ndarray
    best: np.ndarray
    labels: list[str]
    resource_label: str = "resource"

    @classmethod
    def _from_search(cls, found: FittedSearch) -> Self:
        table = found.candidates()
        rungs = found.history.groupby(["candidate", "n_resources"])
        counts = rungs.size().unstack(fill_value=0)
        return cls(
            n_pulls=counts.reindex(table["candidate"], fill_value=0).to_numpy(),
            levels=counts.columns.to_numpy() if found.has_resources else np.array([np.nan]),
            **arrays(table, "candidate", "best"),
            labels=found.labels(table),
            resource_label=found.resource_unit,
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display."""
        plt, n_candidates = self._pyplot(), len(self.candidate)
        ax = self._axes(ax, 8.6, drawing.height_of(n_candidates))
        n_levels = len(self.levels)
        shades = plt.get_cmap("Blues")(np.linspace(0.3, 1, n_levels))
        colors = [drawing.OTHERS] if n_levels == 1 else shades
        start = np.zeros(n_candidates, dtype=int)
        height = 0.8 if n_candidates <= 2 * drawing.MAX_LABELS else 1.0  # gaps would cause moiré
        for level, color, fits in zip(self.levels, colors, self.n_pulls.T, strict=True):
            label = f"{level:.4g}" if n_levels > 1 else None
            ax.barh(range(n_candidates), fits, height, start, color=color, label=label)
            start = start + fits
        for place in np.flatnonzero(self.best):
            ax.plot(start[place], place, "*", markersize=12, color=drawing.WINNER, label="winner")
        drawing.label_candidates(ax, self.labels)
        ax.set_xlim(0, 1.1 * max(1, start.max()))
        ax.locator_params(axis="x", integer=True)
        ax.set_xlabel("fits")
        if n_levels > 1 or self.best.any():
            title = f"fits with {self.resource_label} =" if n_levels > 1 else None
            drawing.legend_beside(ax, title=title)
        n_never = int((start == 0).sum())
        drawing.note(ax, f"{start.sum()} fits", f"{n_never} never fitted" if n_never else "")
        return self


LEFT_OUT = "without score or with less resource left out"

NEVER = "never fitted"
KINDS = (
    ("", "o"),
    (NEVER, "D"),
    ("one score: no interval", "o"),
    ("all scores equal: width 0", "s"),
)
"""What is special about an interval, and the marker of its score."""

FLAT = 1e-9
"""Relative width of an interval below which all scores count as equal."""


@dataclass(eq=False, repr=False, kw_only=True)
class ConfidenceDisplay(Display):
    """Score of each candidate with its interval, best rank first.

    Use `from_estimator` to create a display. For BayesGapSearchCV it shows the mean and the
    bounds of the posterior, and the gap: the largest upper bound of the other candidates minus
    the lower bound of the winner. For the other searches it shows the mean and a number of
    standard errors, corrected for overlapping training sets. Only candidates with the largest
    amount of resource are shown, because scores at other amounts are not comparable.

    Parameters
    ----------
    candidate : ndarray of shape (n_candidates,)
        Number of the candidate, best rank first.
    mean, lower, upper : ndarray of shape (n_candidates,)
        Score and interval of each candidate; the bounds are NaN if there is a single score.
    best : ndarray of bool of shape (n_candidates,)
        True for the winner.
    n_pulls : ndarray of shape (n_candidates,)
        Number of fits. A candidate without fits is known from the posterior only.
    labels : list of str
        Labels of the candidates.
    gap : float or None
        For BayesGapSearchCV, the largest upper bound of the other candidates minus the lower
        bound of the winner. If it is negative, the winner is the best by these bounds.
    n_left_out : int
        Number of candidates without a score or with less resource.
    score_label, interval_label : str
        Labels of the axis and of the intervals.

    References
    ----------
    Hoffman, Shahriari and de Freitas. On correlation and budget constraints in model-based
    bandit optimization with application to automatic machine learning. AISTATS 2014, Algorithm
    1 (bounds, and the gap of the winner).

    Nadeau and Bengio. Inference for the generalization error. Machine Learning 52 (2003),
    section 4 (standard errors).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import BayesGapSearchCV
    >>> from sklearn_halving.plotting import ConfidenceDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> search = BayesGapSearchCV(
    ...     DecisionTreeClassifier(), {"max_depth": range(1, 9)}, n_fits=12, random_state=0
    ... ).fit(X, y)
    >>> display = ConfidenceDisplay.from_estimator(search)
    >>> bool((display.lower <= display.mean).all())
    True
    """

    candidate: np.ndarray
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    best: np.ndarray
    n_pulls: np.ndarray
    labels: list[str]
    gap: float | None = None
    n_left_out: int = 0
    score_label: str = "score"
    interval_label: str = ""

    @classmethod
    def from_estimator(
        cls,
        search: Search,
        *,
        metric: str | None = None,
        n_errors: float = 1.0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scores and intervals of a fitted search.

        Parameters
        ----------
        metric : str or None, default=None
            The metric to show if there are several. None shows the one that steered the search.
            BayesGapSearchCV has a posterior for that metric only; others are shown with
            standard errors.
        n_errors : float, default=1.0
            Number of standard errors on each side of the mean. Ignored for a posterior.

        Raises
        ------
        ValueError
            If the search has no such metric, or ``n_errors`` is not positive.
        """
        if not n_errors > 0:
            raise ValueError(
                f"n_errors of {cls.__name__} must be positive; got {n_errors!r}. It is the "
                "number of standard errors on each side of the mean, 1 by default."
            )
        found = read_search(search, cls.__name__, metric)
        return cls._from_search(found, n_errors).plot(ax=ax)

    @classmethod
    def _from_search(cls, found: FittedSearch, n_errors: float = 1.0) -> Self:
        table = found.candidates()
        table["mean"] = table["value"]
        if found.has_posterior:
            interval = "lower and upper bound"
            for side in ("lower", "upper"):
                table[side] = finite(found.results[f"{side}_bound"])[table["row"]]
        else:
            interval = f"± {n_errors:g} standard error"
            largest = table["level"][table["score"].notna()].max()
            table.loc[table["level"] != largest, "mean"] = np.nan
            width = n_errors * _standard_errors(found)[table["row"]]
            table["lower"], table["upper"] = table["mean"] - width, table["mean"] + width
        shown = table[table["mean"].notna()]
        return cls(
            **arrays(shown, "candidate", "mean", "lower", "upper", "best", "n_pulls"),
            labels=found.labels(shown),
            gap=_gap(shown) if found.has_posterior else None,
            n_left_out=len(table) - len(shown),
            score_label=found.value_label,
            interval_label=interval,
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display."""
        n_candidates = len(self.candidate)
        ax = self._axes(ax, 8.6, drawing.height_of(n_candidates))
        if self.gap is not None:
            self._draw_gap(ax)
        for is_winner, color in ((False, drawing.OTHERS), (True, drawing.WINNER)):
            label = "winner" if is_winner else self.interval_label
            self._draw_intervals(ax, self.best == is_winner, color, label)
        drawing.label_candidates(ax, self.labels)
        ax.set_xlabel(self.score_label)
        n_cut = drawing.clip(ax.set_xlim, self.mean)
        drawing.note(
            ax,
            drawing.count_of(n_cut, "mean", "off the axis"),
            drawing.count_of(self.n_left_out, "candidate", LEFT_OUT),
        )
        if n_candidates:
            drawing.legend_beside(ax)
        return self

    def _draw_intervals(self, ax: Axes, rows: np.ndarray, color: str, label: str) -> None:
        """Draw scores with intervals, and with another marker if the noise is unknown."""
        width = self.upper - self.lower
        never = self.n_pulls == 0
        # Scores that are equal by chance are as uninformative about noise as a single score.
        is_flat = width <= FLAT * np.maximum(1.0, np.abs(self.mean))
        kind = np.select([never, np.isnan(width), is_flat], [1, 2, 3], default=0)
        is_winner = color == drawing.WINNER
        size, line = (
            (5, 1.6) if is_winner or len(self.mean) <= 2 * drawing.MAX_LABELS else (2, 0.6)
        )
        style: Params = {"color": color, "markersize": size, "zorder": 3 if is_winner else 2}
        sides = np.maximum(np.stack([self.mean - self.lower, self.upper - self.mean]), 0.0)
        for number, (name, marker) in enumerate(KINDS):
            at = np.flatnonzero(rows & (kind == number))
            if not len(at):
                continue
            if name:
                style |= {"markerfacecolor": "white"}
                label = f"winner, {name}" if is_winner else name
            if name and name != NEVER:
                ax.plot(self.mean[at], at, marker, label=label, **style)
                continue
            errors: Params = {"xerr": sides[:, at], "linewidth": line, "label": label}
            bars = ax.errorbar(self.mean[at], at, fmt=marker, **errors, **style)
            if name == NEVER:
                bars[2][0].set_linestyle(":")

    def _draw_gap(self, ax: Axes) -> None:
        """Draw the span from the winner's lower bound to the largest upper bound of the others."""
        lower = float(self.lower[self.best][0])
        ends = sorted((lower, lower + float(self.gap or 0.0)))
        ax.axvspan(*ends, color=drawing.GREY, alpha=0.15, linewidth=0, label=f"gap {self.gap:.3g}")


def _standard_errors(found: FittedSearch) -> np.ndarray:
    """Return the standard error of every row's mean: its column, or computed from its splits."""
    if (column := found.results.get(f"standard_error_test_{found.metric}")) is not None:
        return finite(column)
    columns: list[np.ndarray] = []
    while (key := f"split{len(columns)}_test_{found.metric}") in found.results:
        columns.append(finite(found.results[key]))
    rows = found.history[found.history["n_resources"] == found.history["n_resources"].max()]
    sizes = rows["n_train"].mean(), rows["n_test"].mean()
    return np.sqrt(corrected_variance_of_mean(np.column_stack(columns), *sizes))


def _gap(table: pd.DataFrame) -> float | None:
    best = table["best"]
    if not best.any() or best.all():
        return None
    return float(table["upper"][~best].max() - table["lower"][best].iloc[0])


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
        axis = axis_of(self.parameter, self.values)
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
        label = "winner" if self.best.any() else None
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
