"""Displays of several parameters: importance and pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

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
    read_search,
    tried_space,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

N_TREES = 200
N_SHUFFLES = 20


@dataclass(eq=False, repr=False, kw_only=True)
class ImportanceDisplay(Display):
    """How much the score depends on each parameter.

    Use `from_estimator` to create a display. A random forest is fitted to the candidates: it
    predicts the score from the parameters and from the amount of resource. The importance of a
    parameter is the decrease of the R2 score of the forest if the values of this parameter are
    shuffled among the candidates [1]_, in the mean of 20 repetitions. The thin lines are standard
    deviations over the repetitions.

    The forest knows only the candidates that were tried, so few candidates give a rough answer.
    Parameters that matter only in combination with others can both be important.

    Parameters
    ----------
    parameter : list of str of length n_parameters
        Names of the parameters in which candidates differ, most important first.
    importance, deviation : ndarray of shape (n_parameters,)
        Mean and standard deviation of the decrease of R2.
    n_candidates : int
        Number of candidates with a score.
    score_label : str
        Name of the metric.

    References
    ----------
    .. [1] L. Breiman (2001). Random forests. Machine Learning 45, 5-32.
       https://doi.org/10.1023/A:1010933404324

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import HyperbandSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> space = {"ccp_alpha": loguniform(1e-4, 1), "splitter": ["best", "random"]}
    >>> search = HyperbandSearchCV(DecisionTreeClassifier(), space, random_state=0).fit(X, y)
    >>> from sklearn_halving.plotting import ImportanceDisplay
    >>> ImportanceDisplay.from_estimator(search).parameter
    ['ccp_alpha', 'splitter']
    """

    parameter: list[str]
    importance: np.ndarray
    deviation: np.ndarray
    n_candidates: int
    score_label: str = "score"

    @classmethod
    def _from_search(cls, found: FittedSearch) -> Self:
        axes, table = tried_space(found)
        mean, deviation = importances(axes, table)
        order = np.argsort(-mean, kind="stable")
        return cls(
            parameter=[axes[place].name for place in order],
            importance=mean[order],
            deviation=deviation[order],
            n_candidates=len(table),
            score_label=found.score_label,
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display."""
        rows = range(len(self.parameter))
        ax = self._axes(ax, 6.4, drawing.height_of(len(rows)))
        style: Params = {"ecolor": "black", "error_kw": {"elinewidth": 0.8}}
        ax.barh(rows, self.importance, 0.7, xerr=self.deviation, color=drawing.OTHERS, **style)
        ax.set_yticks(rows, [shortened(name, 30) for name in self.parameter], fontsize="small")
        ax.set_ylim(max(len(rows), 2) - 0.4, -0.6)
        ax.set_xlim(left=min(0.0, float((self.importance - self.deviation).min(initial=0.0))))
        ax.set_xlabel(f"decrease of R2 if shuffled, for {shortened(self.score_label, 30)}")
        drawing.note(ax, drawing.count_of(self.n_candidates, "candidate"))
        return self


def importances(axes: list[Axis], table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of the importance of each parameter."""
    n_axes, score = len(axes), table["score"]
    if np.ptp(score) == 0:
        return np.zeros(n_axes), np.zeros(n_axes)
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.inspection import permutation_importance

    X = np.column_stack([*(axis.position for axis in axes), table["level"]])
    # Trees split by order, so scales do not matter. Candidates without a parameter stand apart.
    X = np.where(np.isnan(X), np.nanmin(X, axis=0) - 1, X)
    forest = RandomForestRegressor(N_TREES, random_state=0).fit(X, score)
    found = permutation_importance(forest, X, score, n_repeats=N_SHUFFLES, random_state=0)
    return found.importances_mean[:n_axes], found.importances_std[:n_axes]


N_CONTOURS = 10
FEWEST_POINTS = 6
"""Smallest number of distinct points for which contours are drawn."""


@dataclass(eq=False, repr=False, kw_only=True)
class ParameterPairDisplay(Display):
    """Score of the candidates against two parameters, as points and contours.

    Use `from_estimator` to create a display. A point is a candidate. Contours interpolate linearly
    between the candidates that were tried, so there are none outside them. They are left out if a
    parameter is categorical or if there are fewer than six distinct points. Scales are logarithmic
    where values are spaced more evenly in this way. Where candidates coincide, the best is on top.
    A cross is a candidate with fewer splits than others with the same resource, such as one that
    was dropped after one split. Its score may be luck, so contours do not use it.

    Parameters
    ----------
    axes : tuple of Axis
        The two parameters: name, positions, categories and scale.
    score : ndarray of shape (n_candidates,)
        Mean test score with the most resource.
    best : ndarray of bool of shape (n_candidates,)
        True for the winner.
    has_fewer_splits : ndarray of bool of shape (n_candidates,)
        True for candidates with fewer splits than others with the same resource.
    n_left_out : int
        Number of candidates without one of the parameters.
    score_label : str
        Name of the metric.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving import HyperbandSearchCV
    >>> from sklearn_halving.plotting import ParameterPairDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> space = {"C": loguniform(1e-2, 1e3), "gamma": loguniform(1e-6, 1e-1)}
    >>> search = HyperbandSearchCV(SVC(), space, random_state=0).fit(X, y)
    >>> display = ParameterPairDisplay.from_estimator(search, ("C", "gamma"))
    >>> display.ax_.get_xscale(), display.ax_.get_yscale()
    ('log', 'log')
    """

    axes: tuple[Axis, Axis]
    score: np.ndarray
    best: np.ndarray
    has_fewer_splits: np.ndarray
    n_left_out: int = 0
    score_label: str = "score"

    @classmethod
    def from_estimator(
        cls,
        search: Search,
        parameters: tuple[str, str] | None = None,
        *,
        metric: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scores of a fitted search against two parameters.

        Parameters
        ----------
        parameters : tuple of two str or None, default=None
            Names of the parameters of the x and the y axis. None takes the two most important
            ones, see `ImportanceDisplay`.

        Raises
        ------
        ValueError
            If candidates do not differ in both parameters, or the search has no such metric.
        """
        return cls._from_search(read_search(search, cls.__name__, metric), parameters).plot(ax=ax)

    @classmethod
    def _from_search(cls, found: FittedSearch, parameters: tuple[str, str] | None = None) -> Self:
        axes, table = tried_space(found)
        if len(axes) < 2:
            way_out = "ParameterDisplay shows one of them"
            raise found.lacks("two parameters in which candidates differ", way_out)
        if parameters is None:
            places = sorted(np.argsort(-importances(axes, table)[0], kind="stable")[:2])
        else:
            places = _places_of(parameters, [axis.name for axis in axes], found.display)
        first, second = (axes[place] for place in places)
        shown = ~np.isnan(first.position + second.position)
        first, second = (replace(one, position=one.position[shown]) for one in (first, second))
        return cls(
            axes=(first, second),
            **arrays(table[shown], "score", "best", "has_fewer_splits"),
            n_left_out=int((~shown).sum()),
            score_label=found.score_label,
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display."""
        ax = self._axes(ax, 6.4, 4.4)
        for axis, of_plot in zip(self.axes, (ax.xaxis, ax.yaxis), strict=True):
            if axis.categories:
                names = [shortened(text, 18) for text in axis.categories]
                drawing.label_categories(of_plot, names)
            else:
                drawing.label_numbers(of_plot, axis.position, is_log=axis.is_log)
        limits = drawing.score_range(self.score)
        low, high = limits or (float(self.score.min()), float(self.score.max()))
        self._draw_contours(ax, low, high)
        style: Params = {"vmin": low, "vmax": high, "cmap": "viridis"}
        x, y = (axis.position for axis in self.axes)
        order = np.argsort(self.score)
        is_fewer = self.has_fewer_splits[order]
        fewer, full = order[is_fewer], order[~is_fewer]
        if len(fewer):
            ax.scatter(x[fewer], y[fewer], 28, self.score[fewer], marker="x", **style)
        edge: Params = {"edgecolors": "white", "linewidths": 0.6}
        points = ax.scatter(x[full], y[full], 28, self.score[full], **edge, **style)
        drawing.draw_winner(ax, x[self.best], y[self.best])
        ax.set(xlabel=shortened(self.axes[0].name, 60), ylabel=shortened(self.axes[1].name, 36))
        label = f"mean test {shortened(self.score_label, 30)}"
        extend = "neither" if limits is None else "min"
        ax.figure.colorbar(points, ax=ax, label=label, extend=extend)
        drawing.note(
            ax,
            f"x: {drawing.FEWER_SPLITS}" if len(fewer) else "",
            drawing.count_of(self.n_left_out, "candidate", "left out"),
        )
        return self

    def _draw_contours(self, ax: Axes, low: float, high: float) -> None:
        """Interpolate between the candidates, if they span an area of two numeric parameters."""
        if self.axes[0].categories or self.axes[1].categories or high <= low:
            return
        # A triangulation needs comparable scales, and one score for each point.
        full = ~self.has_fewer_splits
        if full.sum() < FEWEST_POINTS:
            return
        places = np.column_stack([axis.even[full] for axis in self.axes])
        span = np.ptp(places, axis=0)
        places = (places - places.min(axis=0)) / np.where(span > 0, span, 1.0)
        _, first = np.unique(places.round(9), axis=0, return_index=True)
        if len(first) < FEWEST_POINTS or np.linalg.matrix_rank(places - places[0], 1e-6) < 2:
            return
        from matplotlib.tri import Triangulation

        triangles = Triangulation(*places[first].T).triangles
        x, y = (axis.position[full][first] for axis in self.axes)
        levels = np.linspace(low, high, N_CONTOURS + 1)
        style: Params = {"levels": levels, "cmap": "viridis", "alpha": 0.45, "extend": "min"}
        ax.tricontourf(x, y, triangles, self.score[full][first], **style)


def _places_of(parameters: tuple[str, str], known: list[str], display: str) -> list[int]:
    """Return the places of two different parameters among those that are known."""
    if len(set(parameters)) != 2 or not set(parameters) <= set(known):
        raise ValueError(
            f"parameters of {display} must be two of those in which candidates differ, "
            f"{', '.join(map(repr, known))}; got {parameters!r}."
        )
    return [known.index(name) for name in parameters]
