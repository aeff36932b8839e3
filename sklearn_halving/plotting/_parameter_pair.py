"""ImportanceDisplay and ParameterPairDisplay: the most important parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.plotting._display import Display
from sklearn_halving.plotting._drawing import (
    FEWER_SPLITS,
    OTHERS,
    count_of,
    draw_winner,
    height_of,
    note,
    score_range,
)
from sklearn_halving.plotting._labels import shortened
from sklearn_halving.plotting._reading import FittedSearch, Search, read_search
from sklearn_halving.plotting._space import Axis, TriedSpace, tried_space

if TYPE_CHECKING:
    from matplotlib.axes import Axes


N_TREES = 200
N_SHUFFLES = 20
N_CONTOURS = 10
FEWEST_POINTS = 6
"""Smallest number of distinct points for which contours are drawn."""


@dataclass(eq=False, repr=False, kw_only=True)
class ImportanceDisplay(Display, example="parameters"):
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
        space = tried_space(found)
        mean, deviation = importances(space)
        order = np.argsort(-mean, kind="stable")
        return cls(
            parameter=[space.axes[place].name for place in order],
            importance=mean[order],
            deviation=deviation[order],
            n_candidates=len(space.score),
            score_label=found.score_label,
        )

    def _draw(self, ax: Axes | None) -> Axes:
        rows = range(len(self.parameter))
        ax = self._axes(ax, 6.4, height_of(len(rows)))
        style: Params = {"ecolor": "black", "error_kw": {"elinewidth": 0.8}}
        ax.barh(rows, self.importance, 0.7, xerr=self.deviation, color=OTHERS, **style)
        ax.set_yticks(rows, [shortened(name, 30) for name in self.parameter], fontsize="small")
        ax.set_ylim(max(len(rows), 2) - 0.4, -0.6)
        ax.set_xlim(left=min(0.0, float((self.importance - self.deviation).min(initial=0.0))))
        ax.set_xlabel(f"decrease of R2 if shuffled, for {shortened(self.score_label, 30)}")
        note(ax, count_of(self.n_candidates, "candidate", "candidates"))
        return ax


def importances(space: TriedSpace) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of the importance of each parameter."""
    n_axes = len(space.axes)
    if np.ptp(space.score) == 0:
        return np.zeros(n_axes), np.zeros(n_axes)
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.inspection import permutation_importance

    columns = [axis.position for axis in space.axes]
    X = np.column_stack([*columns, space.level])
    # Trees split by order, so scales do not matter. Candidates without a parameter stand apart.
    X = np.where(np.isnan(X), np.nanmin(X, axis=0) - 1, X)
    forest = RandomForestRegressor(N_TREES, random_state=0).fit(X, space.score)
    found = permutation_importance(forest, X, space.score, n_repeats=N_SHUFFLES, random_state=0)
    return found.importances_mean[:n_axes], found.importances_std[:n_axes]


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
        space = tried_space(found)
        if len(space.axes) < 2:
            raise found.lacks(
                "two parameters in which candidates differ", "ParameterDisplay shows one of them"
            )
        first, second = _pair(space, found, parameters)
        shown = ~np.isnan(first.position + second.position)
        return cls(
            axes=(
                replace(first, position=first.position[shown]),
                replace(second, position=second.position[shown]),
            ),
            score=space.score[shown],
            best=space.best[shown],
            has_fewer_splits=space.has_fewer_splits[shown],
            n_left_out=int((~shown).sum()),
            score_label=found.score_label,
        )

    def _draw(self, ax: Axes | None) -> Axes:
        ax = self._axes(ax, 6.4, 4.4)
        x, y = (axis.position for axis in self.axes)
        limits = score_range(self.score)
        low, high = (self.score.min(), self.score.max()) if limits is None else limits
        style: Params = {"vmin": low, "vmax": high, "cmap": "viridis"}
        for axis, of_plot in zip(self.axes, (ax.xaxis, ax.yaxis), strict=True):
            _set_axis(of_plot, axis)
        for axis, set_scale in zip(self.axes, (ax.set_xscale, ax.set_yscale), strict=True):
            if axis.is_log:
                set_scale("log")
        self._draw_contours(ax, float(low), float(high))
        order = np.argsort(self.score)
        fewer = order[self.has_fewer_splits[order]]
        if len(fewer):
            ax.scatter(x[fewer], y[fewer], 28, self.score[fewer], marker="x", **style)
        order = order[~self.has_fewer_splits[order]]
        points = ax.scatter(
            x[order], y[order], 28, self.score[order], edgecolors="white", linewidths=0.6, **style
        )
        draw_winner(ax, x[self.best], y[self.best])
        ax.set(xlabel=shortened(self.axes[0].name, 60), ylabel=shortened(self.axes[1].name, 36))
        label = f"mean test {shortened(self.score_label, 30)}"
        ax.figure.colorbar(
            points, ax=ax, label=label, extend="neither" if limits is None else "min"
        )
        note(
            ax,
            f"x: {FEWER_SPLITS}" if len(fewer) else "",
            count_of(self.n_left_out, "candidate left out", "candidates left out"),
        )
        return ax

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


def _pair(
    space: TriedSpace, found: FittedSearch, parameters: tuple[str, str] | None
) -> tuple[Axis, Axis]:
    """Return the two parameters that are named, or the two most important ones."""
    if parameters is None:
        first, second = sorted(np.argsort(-importances(space)[0], kind="stable")[:2])
        return space.axes[first], space.axes[second]
    known = {axis.name: axis for axis in space.axes}
    if len(set(parameters)) != 2 or not set(parameters) <= known.keys():
        raise ValueError(
            f"parameters of {found.display} must be two of those in which candidates differ, "
            f"{', '.join(map(repr, known))}; got {parameters!r}."
        )
    first, second = parameters
    return known[first], known[second]


def _set_axis(of_plot: object, axis: Axis) -> None:
    """Name the categories, or put ticks of whole numbers at whole numbers."""
    if axis.categories:
        texts = [shortened(text, 18) for text in axis.categories]
        of_plot.set_ticks(range(len(texts)), texts, fontsize="small")  # type: ignore[attr-defined]
    elif not axis.is_log and (axis.position == axis.position.round()).all():
        from matplotlib.ticker import MaxNLocator

        of_plot.set_major_locator(MaxNLocator(integer=True))  # type: ignore[attr-defined]
