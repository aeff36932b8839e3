"""The summary of a search, and what notebooks show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from sklearn_halving._formatting import (
    counted,
    number_text,
    object_text,
    parameter_columns,
    raised,
    without_addresses,
)
from sklearn_halving._typing import Params
from sklearn_halving.resources import WholeFit
from sklearn_halving.samplers import Space
from sklearn_halving.samplers._space import is_finite_number
from sklearn_halving.search.reporting import _summary_data as data
from sklearn_halving.search.reporting._cv_results import NEGLIGIBLE
from sklearn_halving.search.reporting._results import Results
from sklearn_halving.splits import corrected_variance_of_mean
from sklearn_halving.splits._stream import split_scores

AT_END = 0.02
"""A value in the first or last part of a range, of this size, is at its end, as are the first and
the last value of a list."""
ENOUGH_TO_COMPARE = 3
"""Least number of common splits of the estimator as it is and the winner, if there are more."""
CONTRADICTION, OPPOSITE, MOST_COMPARED = 2.5, -0.5, 10
"""Two of the first ten splits contradict each other if their correlation is this number of errors
below 0, and smaller than this. Candidates that are confirmed cause a small negative one."""
ENOUGH_TO_SAY = 8
"""Number of candidates with a full fit from which on it is said what more time would gain."""
FIGURES = ("candidate", "score", "standard_error", "n_fits", "n_resources", "params")
"""Columns of the leaderboard that the figures of the best candidates have."""
N_SHOWN = 500
"""Maximum number of candidates of the table in a notebook, which is stored in its file."""
SORT = """
const head = event.target.closest("th"), body = this.tBodies[0];
if (head) {
  const text = row => row.cells[head.cellIndex].textContent;
  const up = head.dataset.up = head.dataset.up === "1" ? "-1" : "1";
  const order = (a, b) => isNaN(a - b) ? a.localeCompare(b) : a - b;
  const by = (a, b) => (a === "") - (b === "") || up * order(a, b);
  body.append(...[...body.rows].sort((a, b) => by(text(a), text(b))));
}"""
"""Sorts a table by the column whose head was clicked on, again for the other order."""
COPY = """
const rows = [...this.parentElement.querySelector("table").rows];
const lines = rows.map(row => [...row.cells].map(cell => cell.textContent).join("\\t"));
navigator.clipboard.writeText(lines.join("\\n"));"""
"""Copies the table, so that it can be inserted into a spreadsheet."""


def search_html(diagram: str, summary: data.Summary, leaderboard: pd.DataFrame) -> str:
    """Return scikit-learn's diagram, the summary, and the leaderboard, which unfolds.

    A click on the name of a column sorts by it. Nothing else needs the scripts, or other files.
    """
    shown = leaderboard.head(N_SHOWN)
    shown = shown.assign(**parameter_columns(shown, np.inf)).drop(columns="params")
    table = shown.to_html(index=False, float_format="{:.4g}".format, na_rep="", border=0)
    how = f'title="Click on a column to sort" onclick="{escape(SORT)}"'
    table = table.replace("<table ", f"<table {how} ", 1)
    number = counted(len(leaderboard), "candidate")
    number = f"The best {N_SHOWN:,} of {number}" if len(shown) < len(leaderboard) else number
    return (
        f"{diagram}{summary._repr_html_()}<details><summary>{number}</summary>"
        f'<button type="button" onclick="{escape(COPY)}">Copy</button>'
        f'<div style="overflow-x: auto">{table}</div></details>'
    )


@dataclass(frozen=True)
class Summarizer:
    """Makes the summary of a search.

    Parameters
    ----------
    search : estimator
        The search, for its parameters and attributes.
    results : Results
        What is kept of it.
    leaderboard : pd.DataFrame
        The table ``leaderboard()``.
    """

    search: Any
    results: Results
    leaderboard: pd.DataFrame

    @property
    def _has_choice(self) -> bool:
        """Whether a candidate was chosen; it is the first of the leaderboard."""
        return hasattr(self.search, "best_index_")

    def summary(self) -> data.Summary:
        """Return the summary."""
        leaders = self.leaderboard.dropna(subset=[self.results.metric]).head(data.N_LEADERS)
        best = leaders.rename(columns={self.results.metric: "score"})
        best = best.loc[:, best.columns.isin(FIGURES)]
        return data.Summary(
            search=type(self.search).__name__,
            estimator=object_text(self.search.estimator),
            metric=self.results.metric,
            searched=self._searched(),
            spent=self._spent(),
            gained=self._gained(),
            splits=self._splits(),
            ended=self._ended(),
            outlook=self._outlook(),
            best=best.to_dict("records"),
            failures=self._failures(),
            advice=self._advice(),
            _leaders=leaders,
        )

    def _searched(self) -> data.Searched:
        results, resource = self.results, self.results.fits.resource
        n_fitted = len({outcome.pull.arm for outcome in results.fits.outcomes})
        if isinstance(resource, WholeFit):
            return data.Searched(len(results.digests), n_fitted)
        amounts = {resource.to_amount(outcome.pull.level) for outcome in results.fits.outcomes}
        name, reach = resource.name, (min(amounts), max(amounts))
        return data.Searched(len(results.digests), n_fitted, name, *reach)

    def _spent(self) -> data.Spent:
        results, fits = self.results, self.results.fits
        refit_time = getattr(self.search, "refit_time_", None)
        seconds = results.seconds + (refit_time or 0.0)
        of_grid = None if results.n_grid_fits is None else fits.full_fits / results.n_grid_fits
        return data.Spent(
            n_fits=len(fits.outcomes),
            n_full_fits=sum(outcome.pull.level == fits.max_level for outcome in fits.outcomes),
            n_known_fits=fits.n_known,
            of_grid_search=of_grid,
            seconds=seconds,
            refit_seconds=refit_time,
            seconds_over_budget=max(0.0, seconds - results.limit),
            n_abandoned_fits=len(fits.abandoned),
            seconds_in_no_fit=results.seconds_in_no_fit,
        )

    def _ended(self) -> data.Ended:
        probability, compared = getattr(self.search, "best_probability_", None), ""
        if probability is not None:
            n_compared = np.isfinite(self.results.cv_results["probability_best"]).sum()
            compared = f"{n_compared}{' finalists' if self.results.fits.plan.has_rungs else ''}"
        lacks_refit = bool(self.search.refit) and not hasattr(self.search, "best_estimator_")
        return data.Ended(self.results.end.stopped_by, lacks_refit, probability, compared)

    def _outlook(self) -> data.Outlook:
        """Return when the choice was found, and what the last half, or a resume, gained.

        It tells what a larger budget might gain, if there is more to try.
        """
        results, board = self.results, self.leaderboard
        outcomes, plan = results.fits.outcomes, results.fits.plan
        scored = (o for o in outcomes if np.isfinite(o.score(self.results.metric)))
        full = sorted({o.pull.arm for o in scored if o.pull.level == results.fits.max_level})
        has_more = not results.end.text or results.end.reason == "time_budget"
        has_more &= len(full) < plan.problem.n_arms and (plan.makes_candidates or plan.is_endless)
        if not has_more or not self._has_choice or board["candidate"][0] not in full:
            return data.Outlook()
        if len(full) < ENOUGH_TO_SAY:
            text = f"{counted(len(full), 'candidate')} in full, too few to judge more time"
            return data.Outlook(text, len(full))
        n_tried, score = full.index(board["candidate"][0]) + 1, board[results.metric]
        text = f"best after {n_tried:,} of {counted(len(full), 'candidate')} in full"
        part, before = "the last half", full[: len(full) // 2]
        if results.fits.n_known:
            part, before = "this call", [o.pull.arm for o in outcomes[: results.fits.n_known]]
        early = score[board["candidate"].isin(set(before) & set(full))].max()
        if np.isnan(early):
            return data.Outlook(text, len(full), n_tried)
        gained = max(0.0, score[0] - early)
        return data.Outlook(f"{text}; {part} gained {gained:.2g}", len(full), n_tried, gained)

    def _gained(self) -> data.Gained:
        """Compare the estimator as it is with the choice, on common splits with full fits."""
        results, own = self.results, self.results.own
        chosen = int(self.leaderboard["candidate"][0])
        if own is None or not self._has_choice:
            return data.Gained(results.metric)
        scores: dict[int, dict[tuple[int, int], float]] = {own: {}, chosen: {}}
        for outcome in results.fits.outcomes:
            if np.isfinite(score := outcome.score(results.metric)):
                scores.setdefault(outcome.pull.arm, {})[outcome.pull[1:]] = score
        about = data.Gained(results.metric, float(self.leaderboard[results.metric][0]))
        if not scores[own]:
            return about
        if chosen == own:
            is_compared = len(scores) > 1
            return replace(about, yours=about.score, gain=0.0 if is_compared else None)
        level, at_own = max(scores[chosen])[0], max(scores[own])[0]
        common = sorted(key for key in scores[own].keys() & scores[chosen] if key[0] == level)
        n_splits = results.fits.plan.problem.max_repetitions
        n_least = min(ENOUGH_TO_COMPARE, n_splits or ENOUGH_TO_COMPARE)
        if len(common) < n_least:
            amount = number_text(results.fits.resource.to_amount(at_own))
            at = f"{results.fits.resource.name}={amount}" if at_own < level else ""
            n_own, n_chosen = (sum(k[0] == level for k in scores[a]) for a in (own, chosen))
            if not at and n_own < n_chosen and results.fits.plan.has_rungs:
                at = counted(n_own, "split")  # rungs of the same level differ in their splits
            return replace(about, n_splits=len(common), dropped_at=at)
        yours, winner = (np.array([scores[arm][key] for key in common]) for arm in (own, chosen))
        variance = corrected_variance_of_mean(winner - yours, 1, results.overlap)
        gain = float((winner - yours).mean())
        return replace(
            about,
            yours=float(yours.mean()),
            winner=float(winner.mean()),
            gain=gain if abs(gain) > NEGLIGIBLE * abs(winner).max() else 0.0,
            standard_error=round(float(np.sqrt(variance)), 12),  # no digits that are rounding
            n_splits=len(common),
        )

    def _splits(self) -> data.Splits:
        """Return the rank correlation of two splits, if they clearly contradict each other."""
        rows, metric = self.results.rows, self.results.metric
        scores = pd.DataFrame(split_scores(self.results.cv_results, f"test_{metric}"))
        scores = scores[rows.level == rows.level.max()]
        worst = 0.0
        for pair in combinations(scores.columns[:MOST_COMPARED], 2):
            # Candidates with the same scores are often the same model: they count once.
            both = scores[[*pair]].dropna().drop_duplicates()
            # The correlation of n independent pairs has a standard deviation of 1 / sqrt(n - 1).
            if len(both) > 1 and (both.nunique() > 1).all():
                correlation = both.corr("spearman").iloc[0, 1]
                if correlation * np.sqrt(len(both) - 1) < -CONTRADICTION:
                    worst = min(worst, float(correlation))
        return data.Splits(worst if worst < OPPOSITE else None)

    def _failures(self) -> data.Failures:
        kinds = Counter(outcome.kind for outcome in self.results.fits.outcomes)
        n_failed = len(self.results.fits.outcomes) - kinds.pop("ok", 0)
        errors = [outcome.problem for outcome in self.results.fits.outcomes]
        texts = (without_addresses(raised(error)) for error in errors if error is not None)
        causes = dict.fromkeys(" ".join(text.split()) for text in texts)
        named = [re.sub(r"^[\w.]*\.(?=\w+:)", "", cause) for cause in causes]  # without its module
        return data.Failures(n_failed, dict(kinds), named)

    def _advice(self) -> data.Advice:
        """Return which ranges may be too short, if the choice beat all others that reached it."""
        board, metric = self.leaderboard, self.results.metric
        if not self._has_choice or board["candidate"][0] == self.results.own:
            return data.Advice([])
        rivals = board[1:]
        if "n_resources" in board:
            rivals = rivals[rivals["n_resources"] == board["n_resources"][0]]
        if not board[metric][0] > rivals[metric].max():
            return data.Advice([])
        return data.Advice(list(edges(board["params"][0], self.results.distributions)))


def edges(params: Params, distributions: Sequence[Params]) -> Iterator[str]:
    """Yield which values to try beyond the ends of a range, such as "larger C".

    0 and numbers close to 1 are left out, as they are often limits of the parameter itself, and
    so are numbers outside of the range, such as those of the estimator as it is. Of a list of
    dicts, the first one that contains the parameters counts.
    """
    own = (one for one in distributions if Space.of(one).point_of(params) is not None)
    for name, values in next(own, {}).items():
        value = params.get(name)
        is_limit = not is_finite_number(value) or value == 0 or 0.95 < value <= 1
        if (ends := None if is_limit else _ends(values)) is None:
            continue
        first, low, high, last = ends
        if first <= params[name] <= low:
            yield f"smaller {name.rpartition('__')[2]}"
        elif high <= params[name] <= last:
            yield f"larger {name.rpartition('__')[2]}"


def _ends(values: Any) -> tuple[float, ...] | None:
    """Return the two ends of a range of numbers, each as an interval."""
    if hasattr(values, "ppf"):
        return tuple(map(float, values.ppf([0, AT_END, 1 - AT_END, 1])))
    if hasattr(values, "rvs") or len(values) < 3:
        return None
    if isinstance(values, range):
        values = values[:: len(values) - 1]
    if not all(map(is_finite_number, values)):
        return None
    return min(values), min(values), max(values), max(values)
