"""RegretDisplay: what the search would have chosen if it had been stopped earlier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.plotting._display import Display, check_choice
from sklearn_halving.plotting._drawing import OTHERS, count_of, note, score_range, wrapped
from sklearn_halving.plotting._reading import FittedSearch, Search, read_search

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Cost = Literal["fits", "resources", "seconds"]
Quantity = Literal["regret", "score"]
COSTS = {"fits": "fits", "resources": "{} spent", "seconds": "seconds of fits and scoring"}


@dataclass(eq=False, repr=False, kw_only=True)
class RegretDisplay(Display):
    """Simple regret of the leader against cost: how soon the search found its winner.

    Use `from_estimator` to create a display. Call it several times with the same axes to compare
    searches.

    The leader after some number of fits is the candidate with the best mean score among those
    with the most resource so far. If rungs are planned, a mean counts once all its splits are
    done. Otherwise the mean is shrunk towards the mean of all fits with the weight of one fit,
    so that a candidate does not lead because of one lucky split. The last leader is the winner
    of the search. The value of a leader is its final mean test score (for BayesGapSearchCV its
    posterior mean).

    Parameters
    ----------
    cost : ndarray of shape (n_steps,)
        Cost at which the leader changed; the last entry is the cost of the whole search.
    leader : ndarray of shape (n_steps,)
        Number of the candidate that leads from then on.
    score : ndarray of shape (n_steps,)
        Final score of the leader.
    regret : ndarray of shape (n_steps,)
        Difference to the best score of any leader; 0 or more.
    cost_label, score_label, name : str
        Labels of the axes and of the legend.

    Attributes
    ----------
    line_ : matplotlib Artist
        The steps.

    References
    ----------
    Bubeck, Munos and Stoltz. Pure exploration in multi-armed bandits problems. ALT 2009,
    section 2 (simple regret).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import VarianceHalvingSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> search = VarianceHalvingSearchCV(
    ...     DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4, 5]}, random_state=0
    ... ).fit(X, y)
    >>> from sklearn_halving.plotting import RegretDisplay
    >>> display = RegretDisplay.from_estimator(search)
    >>> int(display.cost[-1]) == search.n_fits_
    True
    """

    cost: np.ndarray
    leader: np.ndarray
    score: np.ndarray
    regret: np.ndarray
    cost_label: str = "fits"
    score_label: str = "score"
    name: str = "search"

    @classmethod
    def from_estimator(
        cls,
        search: Search,
        *,
        cost: Cost = "fits",
        quantity: Quantity = "regret",
        metric: str | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the regret of a fitted search.

        Parameters
        ----------
        cost : {"fits", "resources", "seconds"}, default="fits"
            Quantity on the x axis. Seconds are summed over all fits and their scoring, even if
            they ran in parallel.
        quantity : {"regret", "score"}, default="regret"
            Quantity on the y axis. Scores of different searches are comparable. Regrets are not,
            because each is relative to the best leader of its own search.
        name : str or None, default=None
            Name in the legend. None uses the class of the search.

        Raises
        ------
        ValueError
            If the search has no such metric, no score at all, or no resource although
            ``cost="resources"``; or if ``cost`` or ``quantity`` is unknown.
        """
        check_choice(cls.__name__, "cost", cost, Cost)
        check_choice(cls.__name__, "quantity", quantity, Quantity)
        found = read_search(search, cls.__name__, metric)
        return cls._from_search(found, cost, name).plot(ax=ax, quantity=quantity)

    @classmethod
    def _from_search(
        cls, found: FittedSearch, cost: Cost = "fits", name: str | None = None
    ) -> Self:
        costs = _costs(found, cost)
        leaders = _leaders(found)
        table = found.candidates()
        worth = np.full(table["candidate"].max() + 1, np.nan)
        values = found.results["posterior_mean"] if found.has_posterior else found.means()
        worth[table["candidate"]] = values[table["row"]]
        if found.best_candidate is not None:  # the last leader is the choice of the search
            leaders[-1] = found.best_candidate
        changes = np.flatnonzero((leaders >= 0) & (np.diff(leaders, prepend=-1) != 0))
        leader = np.append(leaders[changes], leaders[-1])
        score = worth[leader]
        if not len(changes) or np.isnan(score).all():
            raise found.lacks("the best of its scores", "all scores are missing: fix the cause")
        return cls(
            cost=np.append(costs[changes], costs[-1]),
            leader=leader,
            score=score,
            regret=np.nanmax(score) - score,
            cost_label=COSTS[cost].format(found.resource_label),
            score_label=found.score_label,
            name=found.name if name is None else name,
        )

    def plot(
        self, ax: Axes | None = None, *, quantity: Quantity = "regret", **line_kw: object
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        quantity : {"regret", "score"}, default="regret"
            Quantity on the y axis.
        **line_kw : dict
            Passed to matplotlib's ``Axes.step``.
        """
        return self._drawn(self._draw(ax, quantity, **line_kw))

    def _draw(self, ax: Axes | None, quantity: Quantity = "regret", **line_kw: object) -> Axes:
        check_choice(type(self).__name__, "quantity", quantity, Quantity)
        is_new, is_regret = ax is None, quantity == "regret"
        ax = self._axes(ax)
        style: Params = {"where": "post", "linewidth": 1.8, "label": self.name}
        if is_new:
            style["color"] = OTHERS
        y = self.regret if is_regret else self.score
        self.line_ = ax.step(self.cost, y, **(style | line_kw))[0]
        # The last point is the end of the search, not a change of leader.
        changes = slice(0, max(1, len(self.cost) - 1))
        ax.plot(self.cost[changes], y[changes], "o", markersize=4, color=self.line_.get_color())
        label = "simple regret" if is_regret else "score of the leader"
        ax.set(xlabel=self.cost_label, ylabel=wrapped(f"{label} ({self.score_label})"))
        ax.set_xlim(left=0)
        limits = score_range(self.score)
        if is_new and limits is not None:  # diverging leaders would dominate the axis
            low, high = limits
            best = float(np.nanmax(self.score))
            ax.set_ylim((best - high, best - low) if is_regret else limits)
            n_off = int((self.score < low).sum())
            note(ax, count_of(n_off, "leader", "off the axis"))
        ax.legend(loc="best", fontsize="small")
        return ax


def _costs(found: FittedSearch, cost: str) -> np.ndarray:
    """Return the cumulative cost after each fit."""
    history = found.history
    if cost == "fits":
        spent = np.ones(len(history))
    elif cost == "seconds":
        spent = (history["fit_time"] + history["score_time"]).to_numpy()
    elif found.has_resources:
        spent = (history["n_resources"] - history["continued_from"]).to_numpy()
    else:
        raise found.lacks("what was spent of a resource", "use cost='fits'")
    return np.cumsum(spent)


def _leaders(found: FittedSearch) -> np.ndarray:
    """Return the leader after each fit; -1 as long as there is none."""
    history = found.history
    if not found.has_resources:
        history = history.assign(n_resources=0.0)
    if "bracket" in history:
        return _leaders_of_rungs(history, found.ranks_by_level)
    columns = ("candidate", "score", "n_resources")
    return _leaders_of_pulls(*(history[name].to_numpy() for name in columns))


def _leaders_of_rungs(history: pd.DataFrame, ranks_by_level: bool) -> np.ndarray:
    """Return leaders by mean scores over complete rungs; early rungs may have fewer splits."""
    scores = history.groupby(["candidate", "n_resources"])["score"]
    n_splits = scores.cumcount() + 1
    most = n_splits.groupby(history["n_resources"]).transform("max")
    mean = scores.transform(lambda own: own.mean(skipna=False)).where(n_splits == most)
    level = history["n_resources"] if ranks_by_level else np.zeros(len(history))
    known = mean.notna().to_numpy()
    rank = np.full(len(history), -1)
    keys = np.column_stack([level, mean])[known]
    rank[known] = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    # The first with the best rank so far leads.
    is_new = rank > np.concatenate([[-1], np.maximum.accumulate(rank)[:-1]])
    place = np.maximum.accumulate(np.where(is_new, np.arange(len(rank)), -1))
    return np.where(place < 0, -1, history["candidate"].to_numpy()[place])


def _leaders_of_pulls(
    candidates: np.ndarray, scores: np.ndarray, levels: np.ndarray
) -> np.ndarray:
    """Return leaders by mean scores, shrunk towards the mean of all fits."""
    n = int(candidates.max()) + 1
    totals, counts, level = np.zeros(n), np.zeros(n), np.full(n, -np.inf)
    leaders = np.full(len(scores), -1)
    total, count = 0.0, 0
    pulls = zip(candidates.tolist(), scores.tolist(), levels.tolist(), strict=True)
    for step, (candidate, score, amount) in enumerate(pulls):
        if amount > level[candidate]:  # scores with less resource are not comparable
            totals[candidate], counts[candidate], level[candidate] = 0.0, 0.0, amount
        if amount == level[candidate]:
            totals[candidate] += score
            counts[candidate] += 1
        if not np.isnan(score):
            total, count = total + score, count + 1
        known = (counts > 0) & ~np.isnan(totals)
        if known.any():
            known &= level == level[known].max()
            means = np.where(known, (totals + total / count) / (counts + 1), -np.inf)
            leaders[step] = int(means.argmax())
    return leaders
