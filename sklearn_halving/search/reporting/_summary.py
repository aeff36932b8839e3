"""The summary of a search, at most twelve lines of text, and what notebooks show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_halving._formatting import (
    aligned,
    counted,
    number_text,
    parameter_columns,
    raised,
    score_text,
    seconds_text,
    shortened,
    without_addresses,
)
from sklearn_halving._typing import Params
from sklearn_halving.execution._types import Outcome
from sklearn_halving.resources import WholeFit
from sklearn_halving.samplers import Space
from sklearn_halving.samplers._space import is_finite_number
from sklearn_halving.search.reporting._results import Results
from sklearn_halving.splits import corrected_variance_of_mean

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 88
"""Maximum length of a line."""
INDENT = 13
"""Width of the column with the subjects."""
N_LINES, N_LEADERS = 12, 5
"""Maximum numbers of lines and of candidates."""
AT_END = 0.02
"""A value in the first or last part of a distribution, of this size, is at an end of its range."""
SLACK = 1.0
"""An overrun of the time budget is shown from this number of seconds on."""
OTHER = 0.1
"""What is spent in no fit is shown if it is a larger part of the time."""
ENOUGH_TO_SAY = 8
"""Number of candidates with a full fit from which on it is said what more time would gain."""
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


def search_html(diagram: str, summary: str, leaderboard: pd.DataFrame) -> str:
    """Return scikit-learn's diagram, the summary, and the leaderboard, which unfolds.

    A click on the name of a column sorts by it. Nothing else needs the scripts, or other files.
    """
    style = "color: inherit; background: none; line-height: 1.35; overflow-x: auto"
    text = f'<pre class="sklearn-halving" style="{style}">{escape(summary)}</pre>'
    shown = leaderboard.head(N_SHOWN)
    shown = shown.assign(**parameter_columns(shown, np.inf)).drop(columns="params")
    table = shown.to_html(index=False, float_format="{:.4g}".format, na_rep="", border=0)
    how = f'title="Click on a column to sort" onclick="{escape(SORT)}"'
    table = table.replace("<table ", f"<table {how} ", 1)
    number = counted(len(leaderboard), "candidate")
    number = f"The best {N_SHOWN:,} of {number}" if len(shown) < len(leaderboard) else number
    return (
        f"{diagram}{text}<details><summary>{number}</summary>"
        f'<button type="button" onclick="{escape(COPY)}">Copy</button>'
        f'<div style="overflow-x: auto">{table}</div></details>'
    )


@dataclass(frozen=True)
class Summary:
    """What a search did and found.

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

    @property
    def text(self) -> str:
        """The summary, in at most `N_LINES` lines of at most `WIDTH` characters."""
        name, estimator = type(self.search).__name__, repr(self.search.estimator)
        title = shortened(without_addresses(estimator), WIDTH - len(name) - 4)
        said = {"searched": self._searched(), "spent": self._spent(), "gained": self._gained()}
        said |= {"ended": self._ended(), "outlook": self._outlook()}
        above = [_line(*each) for each in said.items() if each[1]]
        said = {"failures": self._failures(), "advice": self._advice()}
        below = [_line(*each) for each in said.items() if each[1]]
        leaders = self._best(N_LINES - 2 - len(above) - len(below))
        lines = [f"{name} of {title}", *above, *leaders, *below]
        return "\n".join(line.rstrip() for line in lines)

    def _searched(self) -> str:
        fitted = {outcome.pull.arm for outcome in self.results.outcomes}
        text = counted(self.results.n_candidates, "candidate")
        if len(fitted) < self.results.n_candidates:
            text += f", {len(fitted):,} fitted"
        resource = self.results.resource
        if isinstance(resource, WholeFit):
            return text
        amounts = {resource.to_amount(outcome.pull.level) for outcome in self.results.outcomes}
        reach = dict.fromkeys(number_text(amount) for amount in (min(amounts), max(amounts)))
        return f"{text}; {resource.name} {' to '.join(reach)}"

    def _spent(self) -> str:
        results, outcomes = self.results, self.results.outcomes
        n_full = sum(outcome.pull.level == results.max_level for outcome in outcomes)
        parts = [f"{n_full:,} full"] if n_full < len(outcomes) else []
        parts += [f"{results.n_known:,} known"] if results.n_known else []
        text = counted(len(outcomes), "fit") + (f" ({', '.join(parts)})" if parts else "")
        if results.n_grid_fits is not None:
            text += f", {100 * results.full_fits / results.n_grid_fits:.0f} % of GridSearchCV"
        refit_time = getattr(self.search, "refit_time_", None)
        seconds = results.seconds + (refit_time or 0.0)
        text += f"; {seconds_text(seconds)}"
        if refit_time is not None:
            text += f", refit {seconds_text(refit_time)}"
        if results.abandoned:
            text += f", {counted(len(results.abandoned), 'fit')} took too long"
        if results.other_seconds > OTHER * seconds:
            text += f", {seconds_text(results.other_seconds)} in no fit"
        if seconds > results.limit + SLACK:
            text += f", {seconds_text(seconds - results.limit)} over the time budget"
        return text

    def _ended(self) -> str:
        by = self.results.ended_by
        text = f"stopped: {by}" if by else "as planned"
        if self.search.refit and not hasattr(self.search, "best_estimator_"):
            text += "; nothing was refitted"
        probability = getattr(self.search, "best_probability_", np.nan)
        if 0.005 <= probability < 0.995:  # never as 0 or 1
            n_compared = np.isfinite(self.results.cv_results["probability_best"]).sum()
            of = " finalists" if self.results.plan.has_rungs else ""
            text += f"; the best of {n_compared}{of} with probability {probability:.2f}"
        return text

    def _outlook(self) -> str:
        """Return when the choice was found, and what the last half, or a resume, gained.

        It tells what a larger budget might gain, if there is more to try.
        """
        results, board = self.results, self.leaderboard
        outcomes, plan = results.outcomes, results.plan
        full = sorted({o.pull.arm for o in outcomes if o.pull.level == results.max_level})
        has_more = not results.ended_by or results.ended_by.startswith("time_budget")
        has_more &= len(full) < plan.problem.n_arms and (plan.makes_candidates or plan.is_endless)
        if not has_more or not self._has_choice or board["candidate"][0] not in full:
            return ""
        if len(full) < ENOUGH_TO_SAY:
            return f"{counted(len(full), 'candidate')} in full, too few to judge more time"
        n_tried, score = full.index(board["candidate"][0]) + 1, board[results.metric]
        text = f"best after {n_tried:,} of {counted(len(full), 'candidate')} in full"
        part, before = "the last half", full[: len(full) // 2]
        if results.n_known:
            part, before = "this call", [o.pull.arm for o in outcomes[: results.n_known]]
        early = score[board["candidate"].isin(set(before) & set(full))].max()
        if np.isnan(early):
            return text
        return f"{text}; {part} gained {max(0.0, score[0] - early):.2g}"

    def _gained(self) -> str:
        """Return the scores of the estimator as it is and of the choice, on common splits."""
        own, metric, resource = self.results.own, self.results.metric, self.results.resource
        chosen = self.leaderboard["candidate"][0]
        if own is None or not self._has_choice:
            return ""
        scores: dict[int, dict[tuple[int, int], float]] = {own: {}, chosen: {}}
        for outcome in self.results.outcomes:
            if outcome.pull.arm in scores and np.isfinite(score := self._score(outcome)):
                scores[outcome.pull.arm][outcome.pull[1:]] = score
        best = score_text(self.leaderboard[metric][0])
        if not scores[own]:
            return f"unknown: your own model has no score, winner {best}"
        if chosen == own:
            return f"nothing: your own model is the best, {metric} {best}"
        common = scores[own].keys() & scores[chosen].keys()
        level = max(key[0] for key in common or scores[own])
        at = f" at {resource.name}={number_text(resource.to_amount(level))}"
        at = at if level < self.results.max_level else ""
        own_scores, all_scores = (
            {key[1]: score for key, score in scores[arm].items() if key[0] == level}
            for arm in (own, chosen)
        )
        if not common:
            mine = score_text(float(np.mean(list(own_scores.values()))))
            return f"yours {mine}{at}, winner {best}: on no common split"
        keys = sorted(own_scores.keys() & all_scores.keys())
        yours, winner = (np.array([of[key] for key in keys]) for of in (own_scores, all_scores))
        variance = corrected_variance_of_mean(winner - yours, 1, self.results.overlap)
        error = round(float(np.sqrt(variance)), 12)  # no digits that come from rounding
        text = f"yours {score_text(yours.mean())}, winner {score_text(winner.mean())}: "
        text += f"{(winner - yours).mean():+.2g}{f' ({error:.2g})' if len(keys) > 2 else ''}"
        if at or score_text(winner.mean()) == best:
            return f"{text} on {counted(len(keys), 'common split')}{at}"
        is_plain = score_text(float(np.mean(list(all_scores.values())))) == best
        how = f"on all {len(all_scores)}" if is_plain else "adjusted"
        return f"{text} on {counted(len(keys), 'split')} ({best} {how})"

    def _score(self, outcome: Outcome) -> float:
        scores = outcome.test_scores
        return scores[self.results.metric] if isinstance(scores, dict) else scores

    def _best(self, n: int) -> Iterator[str]:
        """Yield a table of the best candidates, with the parameters in which they differ."""
        board = self.leaderboard.dropna(subset=[self.results.metric]).head(min(n, N_LEADERS))
        if not len(board):
            yield _line("best", "no candidate has a score")
            return
        columns = {"no.": board["candidate"].astype(str).tolist()}
        columns["fits"] = [number_text(n) for n in board["n_fits"]]
        if "n_resources" in board and board["n_resources"].nunique() > 1:
            resource = self.results.resource
            name = "rows" if resource.subsamples_rows else shortened(resource.name, 12)
            columns[name] = [number_text(amount) for amount in board["n_resources"]]
        columns[self.results.metric] = [score_text(score) for score in board[self.results.metric]]
        errors = board["standard_error"].where(board["n_fits"] > 2)  # of two scores, it is chance
        columns[""] = ["" if np.isnan(error) else f"({error:.2g})" for error in errors]
        columns |= parameter_columns(board, WIDTH - INDENT - len(aligned(columns)[0]))
        for subject, line in zip(["best", *[""] * len(board)], aligned(columns), strict=True):
            yield f"  {subject}".ljust(INDENT) + line

    def _failures(self) -> str:
        kinds = Counter(outcome.kind for outcome in self.results.outcomes)
        n_failed = len(self.results.outcomes) - kinds.pop("ok", 0)
        if not n_failed:
            return ""
        of_kinds = ", ".join(f"{name}: {n:,}" for name, n in kinds.items() if len(kinds) > 1)
        of_kinds = f" ({of_kinds})" if of_kinds else ""
        errors = [outcome.error or outcome.score_error for outcome in self.results.outcomes]
        texts = (without_addresses(raised(error)) for error in errors if error is not None)
        causes = list(dict.fromkeys(" ".join(text.split()) for text in texts))
        of_kinds += f", {len(causes):,} errors such as" if causes[1:] else ":"
        error = re.sub(r"^[\w.]*\.(?=\w+:)", "", causes[0])  # without the module of its class
        return f"{counted(n_failed, 'fit')}{of_kinds} {error}"

    def _advice(self) -> str:
        """Return which ranges may be too short, if the choice beat all others that reached it."""
        board, metric = self.leaderboard, self.results.metric
        if not self._has_choice or board["candidate"][0] == self.results.own:
            return ""
        rivals = board[1:]
        if "n_resources" in board:
            rivals = rivals[rivals["n_resources"] == board["n_resources"][0]]
        if not board[metric][0] > rivals[metric].max():
            return ""
        found = ", ".join(edges(board["params"][0], self.results.distributions))
        return f"try {found}; the best is at the end of a range" if found else ""


def _line(subject: str, text: str) -> str:
    line = f"  {subject}".ljust(INDENT) + " ".join(text.split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..."


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
