"""What a summary says: figures for programs, and the text that is made of them for readers."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field, fields, is_dataclass
from html import escape
from math import isfinite, isnan
from typing import Any, cast

import numpy as np
import pandas as pd

from sklearn_halving._formatting import (
    aligned,
    counted,
    number_text,
    object_text,
    parameter_columns,
    printable,
    score_text,
    seconds_text,
    shortened,
)

WIDTH, INDENT = 88, 13
"""Length of a line, and of the column with the subjects."""
N_LINES, N_LEADERS = 12, 5
"""Maximum numbers of lines and of candidates, if the parameters fit beside the scores."""
N_LEADERS_BELOW = 3
"""Maximum number of candidates if parameters continue below, which takes a line for each."""
OTHER = 0.1
"""Time in which there was no fit is shown if it is a larger part of all."""
STYLE = (
    "color: inherit; background: none; line-height: 1.35; overflow-x: auto; white-space: pre; "
    "font-family: monospace"
)
"""Of the text in a notebook: the style sheet of nbconvert breaks lines and has no fixed width."""
SLACK = 1.0
"""Overruns of the time budget below this number of seconds are not shown."""


@dataclass(frozen=True)
class Searched:
    """How many candidates there were, and the smallest and largest resource of their fits."""

    n_candidates: int
    n_fitted: int
    resource: str | None = None
    min_resources: float | None = None
    max_resources: float | None = None

    def __str__(self) -> str:
        text = counted(self.n_candidates, "candidate")
        if self.n_fitted < self.n_candidates:
            text += f", {self.n_fitted:,} fitted"
        if self.min_resources is None or self.max_resources is None:
            return text
        reach = dict.fromkeys(map(number_text, (self.min_resources, self.max_resources)))
        return f"{text}; {self.resource} {' to '.join(reach)}"


@dataclass(frozen=True)
class Spent:
    """The number of fits and their time in seconds, which includes the refit."""

    n_fits: int
    n_full_fits: int
    n_known_fits: int
    of_grid_search: float | None
    seconds: float
    refit_seconds: float | None
    seconds_over_budget: float
    n_abandoned_fits: int
    seconds_in_no_fit: float

    def __str__(self) -> str:
        parts = [f"{self.n_full_fits:,} full"] if self.n_full_fits < self.n_fits else []
        parts += [f"{self.n_known_fits:,} known"] if self.n_known_fits else []
        text = counted(self.n_fits, "fit") + (f" ({', '.join(parts)})" if parts else "")
        if self.of_grid_search is not None:
            text += f", {100 * self.of_grid_search:.0f} % of GridSearchCV"
        text += f"; {seconds_text(self.seconds)}"
        if self.refit_seconds is not None:
            text += f", refit {seconds_text(self.refit_seconds)}"
        if self.n_abandoned_fits:
            text += f", {counted(self.n_abandoned_fits, 'fit')} took too long"
        if self.seconds_in_no_fit > max(SLACK, OTHER * self.seconds):
            text += f", {seconds_text(self.seconds_in_no_fit)} in no fit"
        if self.seconds_over_budget > SLACK:
            text += f", {seconds_text(self.seconds_over_budget)} over the time budget"
        return text


@dataclass(frozen=True)
class Gained:
    """Your model as it is against the winner; None where it is not known.

    ``yours`` and ``winner`` are mean scores on ``n_splits`` common splits, ``gain`` is their
    difference, with its standard error. ``score`` is that of the winner in the leaderboard.
    """

    metric: str
    score: float | None = None
    yours: float | None = None
    winner: float | None = None
    gain: float | None = None
    standard_error: float | None = None
    n_splits: int | None = None
    dropped_at: str = ""

    def __str__(self) -> str:
        if self.score is None:
            return ""
        best = score_text(self.score)
        if self.n_splits is None:
            if self.yours is None:
                return f"not known: your own model has no score, winner {best}"
            if self.gain is None:
                return f"not known: only your own model has a score, {self.metric} {best}"
            return f"nothing: your own model is the best, {self.metric} {best}"
        if self.dropped_at:
            return f"not known: your own model was dropped at {self.dropped_at}, winner {best}"
        if self.yours is None or self.winner is None:
            shared = counted(self.n_splits, "split")
            return f"not known yet: yours and the winner share {shared}; 20 full fits would tell"
        yours, winner = score_text(self.yours), score_text(self.winner)
        error = _error_text(self.standard_error, self.n_splits, " ")
        text = f"yours {yours}, winner {winner}: {self.gain:+.2g}{error} on "
        if winner != best:  # on all of its splits
            return f"{text}{counted(self.n_splits, 'split')}; winner {best} on all"
        return f"{text}{counted(self.n_splits, 'common split')}"


@dataclass(frozen=True)
class Splits:
    """The rank correlation of the two splits that contradict each other; None if none do."""

    rank_correlation: float | None

    def __str__(self) -> str:
        if self.rank_correlation is None:
            return ""
        return (
            "two of them order the candidates in opposite ways (rank correlation "
            f"{self.rank_correlation:.2f}); are the rows sorted?"
        )


@dataclass(frozen=True)
class Ended:
    """Why the search ended, and the probability that the winner is the best."""

    stopped_by: str
    lacks_refit: bool
    probability: float | None
    compared: str

    def __str__(self) -> str:
        text = f"stopped: {self.stopped_by}" if self.stopped_by else "complete"
        text += "; nothing was refitted" if self.lacks_refit else ""
        if self.probability is not None and 0.005 <= self.probability < 0.995:  # never 0 or 1
            text += f"; the best of {self.compared} with probability {self.probability:.2f}"
        return text


@dataclass(frozen=True)
class Outlook:
    """When the winner was found, and what the last candidates gained."""

    text: str = ""
    n_full_candidates: int | None = None
    found_after: int | None = None
    late_gain: float | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Failures:
    """The number of failed fits in all and of each kind, and their errors."""

    n_fits: int
    kinds: dict[str, int]
    errors: list[str]

    def __str__(self) -> str:
        if not self.n_fits:
            return ""
        kinds = ", ".join(f"{name}: {n:,}" for name, n in self.kinds.items())
        text = counted(self.n_fits, "fit") + (f" ({kinds})" if len(self.kinds) > 1 else "")
        text += f", {len(self.errors):,} errors such as" if self.errors[1:] else ":"
        return f"{text} {shortened(self.errors[0], WIDTH)}"


@dataclass(frozen=True)
class Advice:
    """Which values to try beyond the ends of ranges, such as "larger C"."""

    values: list[str]

    def __str__(self) -> str:
        found = ", ".join(self.values)
        return f"try {found}; the best is at the end of a range" if found else ""


@dataclass(frozen=True)
class Summary:
    """What a search did and found: text for readers, and figures for programs.

    ``print(summary)`` shows the text. Each of its lines is also an attribute with figures, such
    as ``summary.gained.gain`` and ``summary.spent.n_fits``. They are None where nothing is known.
    """

    search: str
    estimator: str
    metric: str
    searched: Searched
    spent: Spent
    gained: Gained
    splits: Splits
    ended: Ended
    outlook: Outlook
    best: list[dict[Any, Any]]
    failures: Failures
    advice: Advice
    _leaders: pd.DataFrame = field(compare=False)

    def __str__(self) -> str:
        title = f"{self.search} of {shortened(self.estimator, WIDTH - len(self.search) - 4)}"
        above, below = (
            [line for name in names for line in _lines(name, str(getattr(self, name)))]
            for names in (
                ("searched", "spent", "gained", "splits", "ended", "outlook"),
                ("failures", "advice"),
            )
        )
        n_leaders = max(1, N_LINES - 2 - len(above) - len(below))
        lines = [title, *above, *self._table(min(n_leaders, N_LEADERS)), *below]
        return printable("\n".join(line.rstrip() for line in lines))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the text for notebooks, with its columns also where lines are long."""
        return f'<pre class="sklearn-halving" style="{STYLE}">{escape(str(self))}</pre>'

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as dicts, lists, texts and numbers of Python.

        ``json.dumps`` accepts the dict, and ``pd.json_normalize`` makes one row of it. Figures
        that are not known are None.

        Returns
        -------
        figures : dict
            The texts ``search``, ``estimator`` and ``metric``, and for each line a dict:

            - ``searched``: ``n_candidates``, ``n_fitted``, ``resource``, ``min_resources``,
              ``max_resources``;
            - ``spent``: ``n_fits``, ``n_full_fits``, ``n_known_fits``, ``of_grid_search`` (a
              share), ``seconds``, ``refit_seconds``, ``seconds_over_budget``,
              ``n_abandoned_fits``, ``seconds_in_no_fit``;
            - ``gained``: ``metric``, ``score`` of the winner, and on the common splits ``yours``,
              ``winner``, ``gain``, ``standard_error``, ``n_splits``; or ``dropped_at``;
            - ``splits``: ``rank_correlation`` of two that contradict each other;
            - ``ended``: ``stopped_by``, ``lacks_refit``, ``probability``, ``compared``;
            - ``outlook``: ``text``, ``n_full_candidates``, ``found_after``, ``late_gain``;
            - ``best``, a list of dicts: ``candidate``, ``score``, ``standard_error``, ``n_fits``,
              ``n_resources`` if there is a resource, and ``params``, with objects as text;
            - ``failures``: ``n_fits``, ``kinds``, ``errors``;
            - ``advice``: ``values`` to try beyond the ends of ranges.
        """
        return cast("dict[str, Any]", _plain(self))

    def _table(self, n: int) -> list[str]:
        """Return a table of the best candidates, with the parameters in which they differ."""
        board = self._leaders.head(n)
        if not len(board):
            return _lines("best", "no candidate has a score")
        columns = {"no.": board["candidate"].astype(str).tolist()}
        columns["fits"] = [number_text(n) for n in board["n_fits"]]
        if "n_resources" in board and board["n_resources"].nunique() > 1:
            amounts = [number_text(amount) for amount in board["n_resources"]]
            name = str(self.searched.resource)
            columns["rows" if name == "n_samples" else shortened(name, 12)] = amounts
        columns[self.metric] = [score_text(score) for score in board[self.metric]]
        errors = zip(board["standard_error"], board["n_fits"], strict=True)
        columns[""] = [_error_text(error, n_fits) for error, n_fits in errors]
        lines, part = list[str](), columns
        for name, texts in parameter_columns(board, np.inf).items():
            if len(aligned(part | {name: texts})[0]) - 2 > WIDTH - INDENT:
                if len(board) > N_LEADERS_BELOW:
                    return self._table(N_LEADERS_BELOW)
                lines, part = lines + aligned(part), {"no.": columns["no."]}
            part = part | {name: texts}
        lines += aligned(part)
        subjects = ["best", *[""] * len(lines)]
        return [f"  {s}".ljust(INDENT) + line for s, line in zip(subjects, lines, strict=False)]


def _error_text(error: float | None, n_scores: int, before: str = "") -> str:
    """Return a standard error; empty if it says nothing: of two scores, or of equal ones."""
    return f"{before}({error:.2g})" if n_scores > 2 and error and not isnan(error) else ""


def _lines(subject: str, text: str) -> list[str]:
    """Return a subject and what is said of it; no lines if nothing is said."""
    lines = textwrap.wrap(" ".join(text.split()), WIDTH - INDENT, break_on_hyphens=False)
    return [f"  {'' if n else subject}".ljust(INDENT) + line for n, line in enumerate(lines)]


def _plain(value: Any) -> Any:
    """Return figures as JSON has them: NaN is None, and objects are their text."""
    if is_dataclass(value):
        public = (each.name for each in fields(value) if not each.name.startswith("_"))
        return {name: _plain(getattr(value, name)) for name in public}
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not isfinite(value):
        return None if isnan(value) else str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return object_text(value)
