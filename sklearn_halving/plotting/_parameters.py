"""Displays of parameters: score against each of them, or against a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sklearn_halving._checks import check_choice, refuse_unless
from sklearn_halving._formatting import counted, differing_names, shortened
from sklearn_halving._typing import Params
from sklearn_halving.plotting import _drawing as drawing
from sklearn_halving.plotting._base_display import Display, FittedSearch

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MAX_PANELS = 12


def varying_parameters(found: FittedSearch, table: pd.DataFrame) -> dict[str, str]:
    """Return the parameters in which candidates differ, with their names on axes."""
    varying = differing_names(table["params"].tolist())
    if not varying:
        raise found.lacks("parameters in which candidates differ", "use HistoryDisplay")
    return {name: shortened(short, 30) for name, short in varying.items()}


def has_all(table: pd.DataFrame, *names: str) -> np.ndarray:
    """Return which candidates have these parameters."""
    return np.array([set(names) <= set(params) for params in table["params"]], dtype=bool)


def n_sharing(table: pd.DataFrame, pair: tuple[str, str]) -> int:
    """Return how many candidates have both parameters; 0 if they do not differ in both."""
    both = table["params"][has_all(table, *pair)]
    return len(both) if set(pair) <= differing_names(both.tolist()).keys() else 0


@dataclass(eq=False, repr=False, kw_only=True)
class ParameterDisplay(Display):
    """Score of each candidate against each parameter, in slices with a common score axis.

    Use `from_estimator` to create a display. Hollow points have less of the resource or fewer
    splits than others, so their scores are less reliable. Axes are logarithmic where values are
    more evenly spaced in this way. A candidate that lacks a parameter is not in its slice.

    Parameters
    ----------
    candidates : DataFrame
        One row for each candidate with a score, with columns ``candidate``, ``params``, ``score``,
        ``is_partial``, ``best`` and ``own`` (whether it is the unmodified estimator).
    parameters : dict of str to str
        Names of the parameters, and their labels.
    partial_label, score_label : str
        What hollow points lack, and the label of the score axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.
    axes_ : list of matplotlib Axes
        The axes of each parameter.

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
    >>> display = ParameterDisplay.from_estimator(search)
    >>> [ax.get_xscale() for ax in display.axes_]
    ['log', 'linear']
    """

    candidates: pd.DataFrame
    parameters: dict[str, str]
    partial_label: str = ""
    score_label: str = "score"

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        parameters: str | Sequence[str] | None = None,
        *,
        metric: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scores of a fitted search against its parameters.

        Parameters
        ----------
        search : estimator
            A fitted search of this package.
        parameters : str, list of str or None, default=None
            Names of parameters, as in ``param_distributions``. None takes the parameters
            in which candidates differ, at most twelve.
        metric : str or None, default=None
            The metric to show if there are several. None shows the one that guided the search.
        ax : matplotlib Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        display : Display
            The display, drawn.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.
        TypeError
            If it is not a search of this package.
        ValueError
            If candidates do not differ in these parameters, or the search has no such metric.
        ImportError
            If matplotlib is missing.
        """
        found = FittedSearch(search, cls.__name__, metric)
        table = found.candidates()
        labels = varying_parameters(found, table)
        names = [parameters] if isinstance(parameters, str) else parameters
        for name in names or ():
            check_choice(f"parameters of {cls.__name__}", name, choices=list(labels))
        display = cls(
            candidates=table,
            parameters={name: labels[name] for name in names or list(labels)[:MAX_PANELS]},
            partial_label=found.partial_label,
            score_label=found.score_label,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        display : Display
            This display.

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """
        table = self.candidates
        self.axes_ = self._panels(ax, len(self.parameters), self.score_label)
        keep = table.loc[table["best"] | table["own"], "score"].tolist()
        limits = drawing.limits(table["score"].to_numpy(), *keep)
        for (name, label), panel in zip(self.parameters.items(), self.axes_, strict=True):
            own = table[has_all(table, name)]
            x = drawing.set_values(panel.xaxis, [params[name] for params in own["params"]])
            drawing.draw_points(panel, x, own, "candidate", self.partial_label)
            drawing.draw_marked(panel, x, own["score"].to_numpy(), own)
            drawing.clip_below(panel, x, own["score"].to_numpy(), limits)
            panel.set_xlabel(label)
        number = counted(len(table), "candidate")
        drawing.title(self._header, f"Parameters of {number}", *self.axes_)
        return self


@dataclass(eq=False, repr=False, kw_only=True)
class ParameterPairDisplay(Display):
    """Candidates in the plane of two parameters, with their scores as colours.

    Use `from_estimator` to create a display. Where candidates coincide, the best is on top. Small
    points have less of the resource or fewer splits than others.

    Parameters
    ----------
    candidates : DataFrame
        One row for each candidate with both parameters, as in `ParameterDisplay`.
    parameters : dict of str to str
        Names of the parameters of the x and the y axis, and their labels.
    partial_label, score_label : str
        What small points lack, and the label of the colours.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

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

    candidates: pd.DataFrame
    parameters: dict[str, str]
    partial_label: str = ""
    score_label: str = "score"

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        parameters: tuple[str, str] | None = None,
        *,
        metric: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scores of a fitted search against two parameters.

        Parameters
        ----------
        search : estimator
            A fitted search of this package.
        parameters : tuple of two str or None, default=None
            Names of the parameters of the x and the y axis. None takes the first two that most
            candidates share.
        metric : str or None, default=None
            The metric to show if there are several. None shows the one that guided the search.
        ax : matplotlib Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        display : Display
            The display, drawn.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.
        TypeError
            If it is not a search of this package.
        ValueError
            If candidates do not differ in both parameters or none has both, or if the search has
            no such metric.
        ImportError
            If matplotlib is missing.
        """
        found = FittedSearch(search, cls.__name__, metric)
        table = found.candidates()
        labels = varying_parameters(found, table)
        pairs = sorted(combinations(labels, 2), key=partial(n_sharing, table), reverse=True)
        if not pairs or not n_sharing(table, pairs[0]):
            raise found.lacks("two parameters in which candidates differ", "use ParameterDisplay")
        pair = pairs[0] if parameters is None else parameters
        rule = f"be two parameters that candidates share and differ in, of {list(labels)}"
        is_pair = len(set(pair)) == 2 and n_sharing(table, pair) > 0
        refuse_unless(is_pair, f"parameters of {cls.__name__}", rule, repr(parameters))
        display = cls(
            candidates=table[has_all(table, *pair)],
            parameters={name: labels[name] for name in pair},
            partial_label=found.partial_label,
            score_label=found.score_label,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        display : Display
            This display.

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """
        ax, table = self._axes(ax), self.candidates.sort_values("score", kind="stable")
        x, y = (
            drawing.set_values(axis, [params[name] for params in table["params"]])
            for axis, name in zip((ax.xaxis, ax.yaxis), self.parameters, strict=True)
        )
        score, is_partial = table["score"].to_numpy(), table["is_partial"].to_numpy()
        low = max(drawing.limits(score)[0], score.min())
        style: Params = {"cmap": "viridis", "vmin": low, "vmax": score.max()}
        style |= {"edgecolors": "0.5", "linewidths": 0.6}
        if is_partial.any():
            ax.scatter([], [], 40, color=drawing.CANDIDATES, label=self.partial_label)
        points = ax.scatter(x, y, np.where(is_partial, 40, 110), score, **style)
        drawing.draw_marked(ax, x, y, table)
        ax.set(**dict(zip(("xlabel", "ylabel"), self.parameters.values(), strict=True)))
        extend = "min" if low > score.min() else "neither"
        ax.figure.colorbar(points, ax=ax, label=self.score_label, extend=extend)
        number = counted(len(table), "candidate")
        drawing.title(ax, f"{' and '.join(self.parameters.values())} of {number}")
        return self
