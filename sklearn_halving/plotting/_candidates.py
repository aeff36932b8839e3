"""Displays of candidates: their fits, their intervals, and which of them was the leader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from sklearn_halving._checks import check_choice, refuse_unless
from sklearn_halving._typing import Params
from sklearn_halving.plotting import _drawing as drawing
from sklearn_halving.plotting._display import Display, FittedSearch, Search, arrays, finite
from sklearn_halving.splits._stream import corrected_variance_of_mean, split_scores

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
            labels=_labels(found, table),
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
        drawing.draw_winner(ax, start[self.best], np.flatnonzero(self.best))
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


def _labels(found: FittedSearch, candidates: pd.DataFrame) -> list[str]:
    """Return the labels of rows of `FittedSearch.candidates`."""
    params = [found.results["params"][row] for row in candidates["row"]]
    return drawing.candidate_labels(candidates["candidate"].tolist(), params)


LEFT_OUT = "without score or with less resource left out"

NEVER = "never fitted"
KINDS = {"": "o", NEVER: "D", "one score: no interval": "o", "all scores equal: width 0": "s"}
"""What is special about an interval, and the marker of its score."""

SMALL = {"markersize": 2, "linewidth": 0.6}
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
        refuse_unless(n_errors > 0, f"n_errors of {cls.__name__}", "be positive", repr(n_errors))
        found = FittedSearch(search, cls.__name__, metric)
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
        best, gap = shown["best"], None
        if found.has_posterior and best.any() and not best.all():
            gap = float(shown["upper"][~best].max() - shown["lower"][best].iloc[0])
        display = cls(
            **arrays(shown, "candidate", "mean", "lower", "upper", "best", "n_pulls"),
            labels=_labels(found, shown),
            gap=gap,
            n_left_out=len(table) - len(shown),
            score_label=found.value_label,
            interval_label=interval,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display."""
        n_candidates = len(self.candidate)
        ax = self._axes(ax, 8.6, drawing.height_of(n_candidates))
        if self.gap is not None:  # from the winner's lower bound to the largest upper bound
            lower = float(self.lower[self.best][0])
            ends = sorted((lower, lower + self.gap))
            label = f"gap {self.gap:.3g}"
            ax.axvspan(*ends, color=drawing.GREY, alpha=0.15, linewidth=0, label=label)
        for is_winner in (False, True):
            self._draw_intervals(ax, is_winner=is_winner)
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

    def _draw_intervals(self, ax: Axes, *, is_winner: bool) -> None:
        """Draw scores with intervals, and with another marker if the noise is unknown."""
        # Scores that are equal by chance are as uninformative about noise as a single score.
        width = self.upper - self.lower
        is_flat = width <= FLAT * np.maximum(1.0, np.abs(self.mean))
        kind = np.select([self.n_pulls == 0, np.isnan(width), is_flat], [1, 2, 3], default=0)
        is_large = is_winner or len(self.mean) <= 2 * drawing.MAX_LABELS
        style: Params = {"markersize": 5, "linewidth": 1.6} if is_large else SMALL
        style = {"color": drawing.WINNER if is_winner else drawing.OTHERS, **style}
        sides = np.maximum(np.stack([self.mean - self.lower, self.upper - self.mean]), 0.0)
        label = "winner" if is_winner else self.interval_label
        for number, (name, marker) in enumerate(KINDS.items()):
            at = np.flatnonzero((self.best == is_winner) & (kind == number))
            if not len(at):
                continue
            if name:
                style |= {"markerfacecolor": "white"}
                label = f"winner, {name}" if is_winner else name
            errors = sides[:, at] if name in ("", NEVER) else None
            bars = ax.errorbar(self.mean[at], at, xerr=errors, fmt=marker, label=label, **style)
            if name == NEVER:
                bars[2][0].set_linestyle(":")


def _standard_errors(found: FittedSearch) -> np.ndarray:
    """Return the standard error of every row's mean: its column, or computed from its splits."""
    if (column := found.results.get(f"standard_error_test_{found.metric}")) is not None:
        return finite(column)
    scores = finite(split_scores(found.results, f"test_{found.metric}"))
    rows = found.history[found.history["n_resources"] == found.history["n_resources"].max()]
    sizes = rows["n_train"].mean(), rows["n_test"].mean()
    return np.sqrt(corrected_variance_of_mean(scores, *sizes))


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
        check_choice(f"cost of {cls.__name__}", cost, choices=Cost)
        found = FittedSearch(search, cls.__name__, metric)
        if cost == "resources" and not found.has_resources:
            raise found.lacks("what was spent of a resource", "use cost='fits'")
        history = found.history
        spent = {
            "fits": np.ones(len(history)),
            "resources": history["n_resources"] - history["continued_from"],
            "seconds": history["fit_time"] + history["score_time"],
        }
        costs = np.cumsum(np.asarray(spent[cost]))
        leaders = (_leaders_of_rungs if found.has_brackets else _leaders_of_pulls)(history)
        if found.best_candidate is not None:  # the last leader is the choice of the search
            leaders[-1] = found.best_candidate
        changes = np.flatnonzero((leaders >= 0) & (np.diff(leaders, prepend=-1) != 0))
        leader = np.append(leaders[changes], leaders[-1])
        value = found.candidates().set_index("candidate")["value"]
        score = value.reindex(leader).to_numpy()
        if not len(changes) or np.isnan(score).all():
            raise found.lacks("the best of its scores", "all scores are missing: fix the cause")
        display = cls(
            cost=np.append(costs[changes], costs[-1]),
            leader=leader,
            score=score,
            regret=np.nanmax(score) - score,
            cost_label=COSTS[cost].format(found.resource_label),
            score_label=found.score_label,
            name=found.name if name is None else name,
        )
        return display.plot(ax=ax, quantity=quantity)

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
        check_choice(f"quantity of {type(self).__name__}", quantity, choices=Quantity)
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
    n = int(history["candidate"].max()) + 1
    totals, counts, level = np.zeros(n), np.zeros(n), np.full(n, -np.inf)
    leaders = np.full(len(history), -1)
    total, count = 0.0, 0
    pulls = history[["candidate", "score", "n_resources"]].itertuples(index=False)
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
