"""The summary of a search: at most twelve lines of text, which notebooks show, too."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from sklearn_halving._typing import CvResults
from sklearn_halving.execution._types import Outcome
from sklearn_halving.resources import WholeFit
from sklearn_halving.search._formatting import (
    counted,
    number_text,
    score_text,
    seconds_text,
    shortened,
    value_text,
    without_addresses,
)
from sklearn_halving.search.reporting._leaderboard import differing, without_resource
from sklearn_halving.search.reporting._statistics import edges
from sklearn_halving.search.reporting._tables import SearchRecord, outcome_kind
from sklearn_halving.splits import corrected_variance_of_mean

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 88
"""Maximum length of a line."""
INDENT = 13
"""Width of the column with the subjects."""
N_LINES, N_LEADERS = 12, 5
"""Maximum numbers of lines and of candidates."""
SHORTEST = 8
"""Length to which names and values of parameters are cut if there are many."""
SLACK = 1.0
"""An overrun of the time budget is shown from this number of seconds on."""
ENOUGH_TO_SAY = 8
"""Number of candidates with a full fit from which on it is said what more time would gain."""


def search_html(diagram: str, summary: str, leaderboard: pd.DataFrame) -> str:
    """Return scikit-learn's diagram, the summary, and the leaderboard in a part that unfolds."""
    style = "color: inherit; background: none; line-height: 1.35; overflow-x: auto"
    text = f'<pre class="sklearn-halving" style="{style}">{escape(summary)}</pre>'
    shown = leaderboard.drop(columns="params")
    table = shown.to_html(index=False, float_format="{:.4g}".format, na_rep="")
    unfolds = f"<details><summary>{counted(len(leaderboard), 'candidate')}</summary>{table}"
    return f"{diagram}{text}{unfolds}</details>"


@dataclass(frozen=True)
class Summary:
    """What a search did and found."""

    record: SearchRecord
    """The record of the fits."""
    results: CvResults
    """The table ``cv_results_``."""
    leaderboard: pd.DataFrame
    """The table ``leaderboard()``."""
    row: int | None
    """The row of ``cv_results_`` that was chosen; None if none was."""
    probability: float
    """``best_probability_``; NaN if it is unknown."""
    refit_time: float | None
    lacks_model: bool
    """Whether nothing was refitted although ``refit`` is set."""

    def text(self, name: str, estimator: str) -> str:
        """Return the summary, in at most `N_LINES` lines of at most `WIDTH` characters."""
        title = shortened(without_addresses(estimator), WIDTH - len(name) - 4)
        said = {"searched": self._searched(), "spent": self._spent(), "gained": self._gained()}
        above = [_line(*each) for each in {**said, "ended": self._ended()}.items() if each[1]]
        said = {"failures": self._failures(), "advice": self._advice()}
        below = [_line(*each) for each in said.items() if each[1]]
        leaders = self._best(N_LINES - 2 - len(above) - len(below))
        lines = [f"{name} of {title}", *above, *leaders, *below]
        lines = [line.rstrip() for line in lines]
        return "\n".join(
            each if len(each) <= WIDTH else f"{each[: WIDTH - 3]}..." for each in lines
        )

    def _searched(self) -> str:
        fitted = {outcome.pull.arm for outcome in self.record.outcomes}
        text = counted(self.record.n_candidates, "candidate")
        if len(fitted) < self.record.n_candidates:
            text += f", {len(fitted):,} fitted"
        resource = self.record.resource
        if isinstance(resource, WholeFit):
            return text
        amounts = {resource.to_amount(outcome.pull.level) for outcome in self.record.outcomes}
        reach = dict.fromkeys(number_text(amount) for amount in (min(amounts), max(amounts)))
        return f"{text}; {resource.name} {' to '.join(reach)}"

    def _spent(self) -> str:
        record, outcomes = self.record, self.record.outcomes
        n_full = sum(outcome.pull.level == record.max_level for outcome in outcomes)
        text = counted(len(outcomes), "fit")
        text += f" ({n_full:,} full)" if n_full < len(outcomes) else ""
        if record.n_grid_fits is not None:
            text += f", {100 * record.full_fits / record.n_grid_fits:.0f} % of GridSearchCV"
        seconds = record.seconds + (self.refit_time or 0.0)
        text += f"; {seconds_text(seconds)}"
        if record.is_resumed:
            text += " since resumed"
        if self.refit_time is not None:
            text += f", refit {seconds_text(self.refit_time)}"
        if seconds > record.limit + SLACK:
            text += f", {seconds_text(seconds - record.limit)} over the time budget"
        return text

    def _ended(self) -> str:
        by = self.record.ended_by
        text = f"stopped: {by}" if by else "as planned"
        if self.lacks_model:
            text += "; nothing was refitted"
        outlook = self._outlook()
        if not outlook and 0.005 <= self.probability < 0.995:  # never as 0 or 1
            text += f"; probability of being the best {self.probability:.2f}"
        return text + outlook

    def _outlook(self) -> str:
        """Return when the search found its choice, and what the second half of it gained."""
        record, board, ends = self.record, self.leaderboard, dict[int, float]()
        for outcome in record.outcomes:
            if outcome.pull.level == record.max_level:
                end = outcome.started + outcome.fit_seconds + outcome.score_seconds
                ends.setdefault(outcome.pull.arm, end)
        is_open = record.plan.makes_candidates or record.plan.is_endless
        has_more = not record.ended_by or record.ended_by.startswith("time_budget")
        # A resumed search was not running between its sessions.
        if self.row is None or record.is_resumed or not (is_open and has_more):
            return ""
        if len(ends) < ENOUGH_TO_SAY:
            return f"; {counted(len(ends), 'candidate')} in full, too few to judge more time"
        first = min(outcome.started for outcome in record.outcomes)
        last, chosen = max(ends.values()) - first, int(self.results["candidate"][self.row])
        means = dict(zip(board["candidate"], board[record.metric], strict=True))
        early = [means.get(arm, np.nan) for arm, end in ends.items() if end - first <= last / 2]
        text = f"; best after {seconds_text(ends.get(chosen, first) - first)}"
        if not np.isnan(early).all():
            text += f", last half {max(0.0, means[chosen] - np.nanmax(early)):+.2g}"
        return text

    def _gained(self) -> str:
        """Return the scores of the estimator as it is and of the choice, on common splits."""
        own, row = self.record.own, self.row
        if own is None or row is None:
            return ""
        chosen = int(self.results["candidate"][row])
        scores: dict[int, dict[tuple[int, int], float]] = {own: {}, chosen: {}}
        for outcome in self.record.outcomes:
            if outcome.pull.arm in scores and np.isfinite(score := self._score(outcome)):
                scores[outcome.pull.arm][outcome.pull[1:]] = score
        if not scores[own]:
            other = f", winner {self._mean(row)}" if scores[chosen] else ""
            return f"unknown: your own model has no score{other}"
        if chosen == own:
            return f"nothing: your own model is the best, {self.record.metric} {self._mean(row)}"
        common = scores[own].keys() & scores[chosen].keys()
        if not common:
            top, name = max(scores[own])[0], self.record.resource.name
            mine = float(np.mean([x for key, x in scores[own].items() if key[0] == top]))
            at = f" at {name}={number_text(self.record.resource.to_amount(top))}"
            at = at if top < self.record.max_level else ""
            return f"yours {score_text(mine)}{at}, winner {self._mean(row)}: on no common split"
        level = max(key[0] for key in common)
        keys = sorted(key for key in common if key[0] == level)
        yours, winner = (np.array([scores[arm][key] for key in keys]) for arm in (own, chosen))
        variance = corrected_variance_of_mean(winner - yours, 1, self.record.overlap)
        error = round(float(np.sqrt(variance)), 12)  # no digits that come from rounding
        spread = f" ({error:.2g})" if len(keys) > 2 else ""
        text = f"yours {score_text(yours.mean())}, winner {score_text(winner.mean())}: "
        text += f"{(winner - yours).mean():+.2g}{spread} on {counted(len(keys), 'common split')}"
        resource = self.record.resource
        if level < self.record.max_level:
            text += f" at {resource.name}={number_text(resource.to_amount(level))}"
        return text

    def _score(self, outcome: Outcome) -> float:
        scores = outcome.test_scores
        return scores[self.record.metric] if isinstance(scores, dict) else scores

    def _mean(self, row: int) -> str:
        return score_text(self.results[f"mean_test_{self.record.metric}"][row])

    def _best(self, n: int) -> Iterator[str]:
        """Yield a table of the best candidates, with the parameters in which they differ."""
        board = self.leaderboard.dropna(subset=[self.record.metric]).head(min(n, N_LEADERS))
        if not len(board):
            yield _line("best", "no candidate has a score")
            return
        columns = {"candidate": board["candidate"].astype(str).tolist()}
        columns["n_fits"] = [number_text(n) for n in board["n_fits"]]
        if "n_resources" in board and board["n_resources"].nunique() > 1:
            columns["n_resources"] = [number_text(amount) for amount in board["n_resources"]]
        columns[self.record.metric] = [score_text(score) for score in board[self.record.metric]]
        errors = board["standard_error"]
        columns[""] = ["" if np.isnan(error) else f"({error:.2g})" for error in errors]
        room = WIDTH - INDENT - sum(map(_width, columns.items()))
        columns |= self._parameters(len(board), room)
        for number, subject in enumerate(["best", *[""] * len(board)]):
            row = (
                [name, *values][number].ljust(_width((name, values)))
                for name, values in columns.items()
            )
            yield f"  {subject}".ljust(INDENT) + "".join(row)

    def _parameters(self, n: int, room: int) -> dict[str, list[str]]:
        """Return columns with the parameters of the best, as far as any candidates differ in them.

        If there is no room for them, names and values are cut, and the last columns left out.
        """
        params = without_resource(self.record, self.leaderboard["params"].tolist())
        differ = differing(params)[:n]
        names = dict.fromkeys(name for each in differ for name in each)
        columns = {
            name: [_short(each[name]) if name in each else "" for each in differ] for name in names
        }
        if sum(map(_width, columns.items())) <= room:
            return columns
        most = max(SHORTEST, room // len(columns) - 2)
        kept = list(columns)[: room // (most + 2)]
        return {_cut(name, most): [_cut(each, most) for each in columns[name]] for name in kept}

    def _failures(self) -> str:
        kinds = Counter(map(outcome_kind, self.record.outcomes))
        n_failed = len(self.record.outcomes) - kinds.pop("ok", 0)
        if not n_failed:
            return ""
        of_kinds = ", ".join(f"{name}: {n:,}" for name, n in kinds.items() if len(kinds) > 1)
        of_kinds = f" ({of_kinds})" if of_kinds else ""
        errors = (outcome.error or outcome.score_error for outcome in self.record.outcomes)
        error = next(e for e in errors if e is not None).strip().rpartition("\n")[2]
        error = re.sub(r"^[\w.]*\.(?=\w+:)", "", error)  # without the module of its class
        return f"{counted(n_failed, 'fit')}{of_kinds}: {without_addresses(error)}"

    def _advice(self) -> str:
        """Return which ranges may be too short, if the choice beat all others that reached it."""
        board, metric = self.leaderboard, self.record.metric
        if self.row is None or board["candidate"][0] == self.record.own:
            return ""
        rivals = board[1:]
        if "n_resources" in board:
            rivals = rivals[rivals["n_resources"] == board["n_resources"][0]]
        if not board[metric][0] > rivals[metric].max():
            return ""
        found = ", ".join(edges(self.results["params"][self.row], self.record.distributions))
        return f"the best is at the end of its range: try {found}" if found else ""


def _line(subject: str, text: str) -> str:
    return f"  {subject}".ljust(INDENT) + " ".join(text.split())


def _width(column: tuple[str, list[str]]) -> int:
    """Return the width of a column, given its name and its values, with two spaces behind."""
    return max(map(len, (column[0], *column[1]))) + 2


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 2]}.."


def _short(value: object) -> str:
    """Return a value in a few characters; a model by its name."""
    if isinstance(value, float):
        return f"{value:.4g}"
    is_model = hasattr(value, "get_params")
    text = value if isinstance(value, str) else value_text(value)
    return type(value).__name__ if is_model else shortened(text, 24)
