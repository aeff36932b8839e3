"""Display over time: what the search would have chosen earlier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, get_args

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.plotting import _drawing as drawing
from sklearn_halving.plotting._display import Display
from sklearn_halving.plotting._reading import (
    FittedSearch,
    Search,
    check_choice,
    read_search,
)

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
        check_choice(cls.__name__, "cost", cost, get_args(Cost))
        check_choice(cls.__name__, "quantity", quantity, get_args(Quantity))
        found = read_search(search, cls.__name__, metric)
        return cls._from_search(found, cost, name).plot(ax=ax, quantity=quantity)

    @classmethod
    def _from_search(
        cls, found: FittedSearch, cost: Cost = "fits", name: str | None = None
    ) -> Self:
        costs = _costs(found, cost)
        of_rungs = "bracket" in found.history
        leaders = (_leaders_of_rungs if of_rungs else _leaders_of_pulls)(found.history)
        if found.best_candidate is not None:  # the last leader is the choice of the search
            leaders[-1] = found.best_candidate
        changes = np.flatnonzero((leaders >= 0) & (np.diff(leaders, prepend=-1) != 0))
        leader = np.append(leaders[changes], leaders[-1])
        value = found.candidates().set_index("candidate")["value"]
        score = value.reindex(leader).to_numpy()
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
        check_choice(type(self).__name__, "quantity", quantity, get_args(Quantity))
        is_new, is_regret = ax is None, quantity == "regret"
        ax = self._axes(ax)
        style: Params = {"where": "post", "linewidth": 1.8, "label": self.name}
        if is_new:
            style["color"] = drawing.OTHERS
        y = self.regret if is_regret else self.score
        self.line_ = ax.step(self.cost, y, **(style | line_kw))[0]
        # The last point is the end of the search, not a change of leader.
        changes = slice(0, max(1, len(self.cost) - 1))
        ax.plot(self.cost[changes], y[changes], "o", markersize=4, color=self.line_.get_color())
        label = "simple regret" if is_regret else "score of the leader"
        ax.set(xlabel=self.cost_label, ylabel=drawing.wrapped(f"{label} ({self.score_label})"))
        ax.set_xlim(left=0)
        limits = drawing.score_range(self.score)
        if is_new and limits is not None:  # diverging leaders would dominate the axis
            low, high = limits
            best = float(np.nanmax(self.score))
            ax.set_ylim((best - high, best - low) if is_regret else limits)
            n_off = int((self.score < low).sum())
            drawing.note(ax, drawing.count_of(n_off, "leader", "off the axis"))
        ax.legend(loc="best", fontsize="small")
        return self


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


def _leaders_of_rungs(history: pd.DataFrame) -> np.ndarray:
    """Return the leader after each fit by mean scores over complete rungs; -1 if there is none.

    Early rungs may have fewer splits.
    """
    scores = history.groupby(["candidate", "n_resources"])["score"]
    n_splits = scores.cumcount() + 1
    most = n_splits.groupby(history["n_resources"]).transform("max")
    mean = scores.transform(lambda own: own.mean(skipna=False)).where(n_splits == most)
    leaders, leader, best = [], -1, (-np.inf, -np.inf)
    for candidate, *rank in zip(history["candidate"], history["n_resources"], mean, strict=True):
        if not np.isnan(rank[1]) and tuple(rank) > best:
            leader, best = candidate, tuple(rank)
        leaders.append(leader)
    return np.array(leaders)


def _leaders_of_pulls(history: pd.DataFrame) -> np.ndarray:
    """Return the leader after each fit by mean scores, shrunk towards the mean of all fits."""
    candidates, scores, levels = (history[n] for n in ("candidate", "score", "n_resources"))
    n = int(candidates.max()) + 1
    totals, counts, level = np.zeros(n), np.zeros(n), np.full(n, -np.inf)
    leaders = np.full(len(scores), -1)
    total, count = 0.0, 0
    for step, (candidate, score, amount) in enumerate(
        zip(candidates, scores, levels, strict=True)
    ):
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
