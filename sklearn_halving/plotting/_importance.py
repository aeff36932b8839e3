"""ImportanceDisplay: how much the score depends on each parameter."""

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
