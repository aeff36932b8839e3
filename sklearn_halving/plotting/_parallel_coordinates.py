"""ParallelCoordinatesDisplay: all parameters of all candidates at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.plotting import _drawing as drawing
from sklearn_halving.plotting._display import Display
from sklearn_halving.plotting._labels import shortened
from sklearn_halving.plotting._reading import FittedSearch
from sklearn_halving.plotting._space import Axis, tried_space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUPS = ("other candidates", "best quarter", "winner")
COLORS = ("#c9ccd1", drawing.OTHERS, drawing.WINNER)
WIDTHS = (0.7, 1.2, 2.5)


@dataclass(eq=False, repr=False, kw_only=True)
class ParallelCoordinatesDisplay(Display):
    """All parameters of all candidates: a line for each candidate, an axis for each parameter.

    Use `from_estimator` to create a display. The last axis is the score. Lines of the best quarter
    of the candidates have their own colour: where they run close together, the parameter matters.
    Candidates with fewer splits than others with the same resource are not among them, because
    their scores may be luck. The lowest and the highest value are written at the ends of each
    axis. Parameters are on a logarithmic scale where values are spaced more evenly in this way. A
    candidate without a parameter is drawn below the axis of this parameter.

    Parameters
    ----------
    position : ndarray of shape (n_candidates, n_axes)
        Place on each axis, from 0 to 1; -0.12 for candidates without the parameter. The last
        column is the score.
    group : ndarray of int of shape (n_candidates,)
        0 for other candidates, 1 for the best quarter, 2 for the winner.
    label : list of str of length n_axes
        Names of the axes.
    ends : list of tuple of two str, of length n_axes
        Lowest and highest value of each axis.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import HyperbandSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> space = {"ccp_alpha": loguniform(1e-4, 1), "splitter": ["best", "random"]}
    >>> search = HyperbandSearchCV(DecisionTreeClassifier(), space, random_state=0).fit(X, y)
    >>> from sklearn_halving.plotting import ParallelCoordinatesDisplay
    >>> ParallelCoordinatesDisplay.from_estimator(search).label
    ['ccp_alpha', 'splitter', 'score']
    """

    position: np.ndarray
    group: np.ndarray
    label: list[str]
    ends: list[tuple[str, str]]

    @classmethod
    def _from_search(cls, found: FittedSearch) -> Self:
        axes, table = tried_space(found)
        score, fewer = (table[name].to_numpy() for name in ("score", "has_fewer_splits"))
        axes.append(Axis("score", found.score_label, score, (), is_log=False))
        compared = ~fewer | fewer.all()
        group = (compared & (score >= np.quantile(score[compared], 0.75))).astype(int)
        group[table["best"]] = 2
        return cls(
            position=np.column_stack([_to_unit(axis) for axis in axes]),
            group=group,
            label=[axis.label for axis in axes],
            ends=[_ends(axis) for axis in axes],
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display."""
        n_axes = len(self.label)
        ax = self._axes(ax, max(6.4, 1.5 * n_axes), 4.4)
        self._draw_lines(ax)
        names = [shortened(name, 16) for name in self.label]
        ax.set_xticks(range(n_axes), names, fontsize="small", rotation=20, ha="right")
        ax.set(xlim=(-0.3, n_axes - 0.7), ylim=(-0.2, 1.12), yticks=[], xlabel="parameter")
        paper = (1.0, 1.0, 1.0, 0.7)
        style: Params = {"ha": "center", "fontsize": "x-small", "backgroundcolor": paper}
        for place, (low, high) in enumerate(self.ends):
            ax.text(place, -0.03, shortened(low, 12), va="top", **style)
            ax.text(place, 1.03, shortened(high, 12), va="bottom", **style)
        n_without = int((self.position < 0).any(axis=1).sum())
        drawing.note(
            ax,
            drawing.count_of(len(self.group), "candidate"),
            f"{n_without} without a parameter" if n_without else "",
        )
        return self

    def _draw_lines(self, ax: Axes) -> None:
        """Draw the winner last, so that nothing hides it."""
        import pandas as pd
        from pandas.plotting import parallel_coordinates

        columns = list(range(len(self.label)))
        for group in np.unique(self.group).tolist():
            lines = self.position[self.group == group]
            frame = pd.DataFrame(lines, columns=columns).assign(group=GROUPS[group])
            style: Params = {"color": [COLORS[group]], "linewidth": WIDTHS[group]}
            parallel_coordinates(frame, "group", ax=ax, use_columns=False, **style)
        handles, labels = ax.get_legend_handles_labels()
        drawing.legend_beside(ax, handles=handles[::-1], labels=labels[::-1])


def _to_unit(axis: Axis) -> np.ndarray:
    """Return places from 0 to 1; below 0 for candidates without the parameter."""
    even = axis.even
    low, high = np.nanmin(even), np.nanmax(even)
    unit = (even - low) / (high - low) if high > low else np.full(len(even), 0.5)
    return np.where(np.isnan(unit), -0.12, unit)


def _ends(axis: Axis) -> tuple[str, str]:
    if axis.categories:
        return axis.categories[0], axis.categories[-1]
    low, high = float(np.nanmin(axis.position)), float(np.nanmax(axis.position))
    return f"{low:.3g}", f"{high:.3g}"
