"""Displays of parameters: score against one or two of them, and their importance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from sklearn_halving._checks import check_choice, refuse_unless
from sklearn_halving._typing import Params
from sklearn_halving.plotting import _drawing as drawing
from sklearn_halving.plotting._display import Display, FittedSearch, Search, arrays
from sklearn_halving.plotting._drawing import is_number, shortened, value_text, value_texts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Axis:
    """One parameter of all candidates.

    Parameters
    ----------
    name : str
        Name of the parameter, as in ``param_distributions``.
    position : ndarray of shape (n_candidates,)
        Values of a numeric parameter, places of the categories otherwise. NaN for candidates
        without the parameter.
    categories : tuple of str
        Names of the categories; empty for numbers.
    is_log : bool
        Whether values are spaced more evenly on a logarithmic scale.
    """

    name: str
    position: np.ndarray
    categories: tuple[str, ...]
    is_log: bool


def tried_space(found: FittedSearch) -> tuple[list[Axis], pd.DataFrame]:
    """Return the parameters in which candidates with a score differ, and these candidates.

    The candidates are rows of `FittedSearch.candidates`, best first.

    Raises
    ------
    ValueError
        If candidates do not differ in any parameter.
    """
    table = found.candidates().dropna(subset=["score"])
    axes = [axis_of(n, found.results[f"param_{n}"][table["row"]]) for n in found.parameters]
    varying = [axis for axis in axes if len(np.unique(axis.position)) > 1]
    if not varying:
        way_out = "PullsDisplay shows its candidates"
        raise found.lacks("parameters in which candidates differ", way_out)
    return varying, table


def axis_of(name: str, column: np.ndarray) -> Axis:
    """Return the axis of a parameter; values that are missing are masked in its column."""
    position = np.full(len(column), np.nan)
    has_value = ~np.ma.getmaskarray(column)
    values = as_numbers(column[has_value])
    if values.dtype != object:
        position[has_value] = values
        return Axis(name, position, (), _suits_log(values))
    texts = value_texts(list(values))
    categories = sorted(set(texts), key=lambda text: _category_key(values[texts.index(text)]))
    position[has_value] = [categories.index(text) for text in texts]
    return Axis(name, position, tuple(categories), is_log=False)


def as_numbers(values: np.ndarray) -> np.ndarray:
    """Return an array of floats, or of objects where one is not a finite number."""
    objects = np.asarray(values, dtype=object)
    if all(map(is_number, objects)) and np.isfinite(objects.astype(float)).all():
        return objects.astype(float)
    return objects


def _suits_log(values: np.ndarray) -> bool:
    """Return whether values are positive, and more evenly spaced on a logarithmic scale."""
    values = np.unique(values)
    if len(values) < 3 or values[0] <= 0 or values[-1] / values[0] < 20:
        return False
    unevenness = [np.diff(v).std() / np.diff(v).mean() for v in (np.log(values), values)]
    return bool(unevenness[0] < unevenness[1])


def _category_key(value: object) -> tuple[bool, float, str]:
    """Return a sort key: numbers come first, by size, followed by other values by name."""
    size = float(value) if is_number(value) else 0.0
    return not is_number(value), size, value_text(value)


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
    than others with the same resource, such as one that is no finalist of a grid.

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
        found = FittedSearch(search, cls.__name__, metric)
        known = found.parameters
        if parameter is None and len(known) == 1:
            parameter = known[0]
        check_choice(f"parameter of {cls.__name__}", parameter, choices=known)
        table = found.candidates()
        weight, weight_label = "n_pulls", "fits"
        if found.has_resources and len(np.unique(found.results["n_resources"])) > 1:
            weight, weight_label = "level", found.resource_unit
        column = found.results[f"param_{parameter}"][table["row"]]
        shown = ~np.ma.getmaskarray(column) & table["value"].notna()
        table = table[shown]
        display = cls(
            values=as_numbers(column[shown]),
            score=table["value"].to_numpy(),
            weight=table[weight].to_numpy(),
            **arrays(table, "best", "has_fewer_splits"),
            parameter=str(parameter),
            n_left_out=int((~shown).sum()),
            score_label=found.value_label,
            weight_label=weight_label,
        )
        return display.plot(ax=ax, scale=scale)

    def plot(self, ax: Axes | None = None, *, scale: Scale = "auto") -> Self:
        """Draw the display.

        Parameters
        ----------
        scale : {"auto", "linear", "log"}, default="auto"
            As in `from_estimator`.
        """
        axis = axis_of(self.parameter, self.values)
        name = type(self).__name__
        check_choice(f"scale of {name}", scale, choices=Scale)
        can_be_log = not axis.categories and bool((axis.position > 0).all())
        rule = f"be 'auto' or 'linear' unless all values of {self.parameter} are positive numbers"
        refuse_unless(scale != "log" or can_be_log, f"scale of {name}", rule, repr(scale))
        is_log = axis.is_log if scale == "auto" else scale == "log"
        # Long category names are rotated, which takes height from the axes.
        ax = self._axes(ax, height=4.0 + 0.04 * max(map(len, axis.categories), default=0))
        x = axis.position
        if axis.categories:
            drawing.label_categories(ax.xaxis, axis.categories)
            ax.set_xlim(-0.6, len(axis.categories) - 0.4)
            # Candidates of one category are beside each other, in the same way in every drawing.
            width = min(0.3, 0.04 * len(x) / len(axis.categories))
            x = x + width * (2 * ((0.5 + 0.618 * np.arange(len(x))) % 1.0) - 1)
        else:
            drawing.label_numbers(ax.xaxis, x, is_log=is_log)
        areas = _areas(self.weight, self.weight)
        alpha = 0.7 if len(x) <= 100 else 0.4
        for is_hollow, style in enumerate((FULL, HOLLOW)):
            rows = ~self.best & (self.has_fewer_splits == is_hollow)
            ax.scatter(x[rows], self.score[rows], areas[rows], alpha=alpha, **style)
        drawing.draw_winner(ax, x[self.best], self.score[self.best])
        # Parameter names of nested pipelines can be wider than the axes.
        ax.set(xlabel=shortened(self.parameter, 60), ylabel=drawing.wrapped(self.score_label))
        n_below = drawing.clip(ax.set_ylim, self.score)
        drawing.note(
            ax,
            drawing.count_of(n_below, "score", "below the axis"),
            drawing.count_of(self.n_left_out, "candidate", "left out"),
        )
        if (self.has_fewer_splits & ~self.best).any():
            ax.scatter([], [], 50.0, label=drawing.FEWER_SPLITS, **HOLLOW)
        amounts = np.unique(self.weight)
        amounts = amounts[drawing.evenly(len(amounts), 5)]
        for amount, area in zip(amounts, _areas(self.weight, amounts), strict=True):
            ax.scatter([], [], area, alpha=0.7, label=f"{amount:.4g}", **FULL)
        drawing.legend_beside(ax, title=shortened(self.weight_label, 20))
        return self


def _areas(weight: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """Return areas of marks for some amounts, by the logarithm where they differ by factors."""
    logs = np.log1p(weight)
    low, high = logs.min(initial=np.inf), logs.max(initial=0.0)
    if high <= low:
        return np.full(len(amounts), 50.0)
    return np.interp(np.log1p(amounts), [low, high], AREAS)


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
    is no finalist of a grid. Its score may be luck, so contours do not use it.

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
            ones that candidates share, see `ImportanceDisplay`.

        Raises
        ------
        ValueError
            If candidates do not differ in both parameters or none has both, or if the search has
            no such metric.
        """
        found = FittedSearch(search, cls.__name__, metric)
        axes, table = tried_space(found)
        has = ~np.isnan([axis.position for axis in axes])
        # Candidates of different dicts may share no parameters.
        pairs = [(i, j) for i, j in combinations(range(len(axes)), 2) if (has[i] & has[j]).any()]
        if not pairs:
            raise found.lacks("two parameters in which candidates differ", "try ParameterDisplay")
        if parameters is None:
            importance = importances(axes, table)[0]
            places = max(pairs, key=lambda pair: importance[list(pair)].sum())
        else:
            known = [axis.name for axis in axes]
            holds = set(parameters) in [{known[i], known[j]} for i, j in pairs]
            rule = f"be two parameters that candidates share and differ in, of {known}"
            refuse_unless(holds, f"parameters of {cls.__name__}", rule, repr(parameters))
            places = (known.index(parameters[0]), known.index(parameters[1]))
        shown = np.logical_and(*has[list(places)])
        first, second = (replace(axes[i], position=axes[i].position[shown]) for i in places)
        display = cls(
            axes=(first, second),
            **arrays(table[shown], "score", "best", "has_fewer_splits"),
            n_left_out=int((~shown).sum()),
            score_label=found.score_label,
        )
        return display.plot(ax=ax)

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
        even = [np.log10(axis.position) if axis.is_log else axis.position for axis in self.axes]
        places = np.column_stack(even)[full]
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
