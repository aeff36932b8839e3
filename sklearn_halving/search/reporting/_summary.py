"""A fitted search as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from sklearn_halving.search.preparing._limits import budget_text
from sklearn_halving.search.reporting._overview import (
    MAX_STAGES,
    Leader,
    Overview,
    counted,
    number_text,
    params_text,
    score_text,
    seconds_text,
    shortened,
    without_addresses,
)

if TYPE_CHECKING:
    from sklearn_halving.search._search_results import SearchResults

WIDTH = 88
"""Maximum length of a line."""
INDENT = 13
"""Width of the column with the subjects."""
MAX_PARAMS = 600
"""Maximum length of the parameters of a candidate."""


def summary_text(search: SearchResults) -> str:
    """Return the summary of a search with results, in lines of at most `WIDTH` characters."""
    overview = Overview(search)
    name = type(search).__name__
    parts = [
        ("searched", _searched(overview)),
        ("spent", _spent(overview)),
        ("ended", _ended(overview)),
        *_course(overview),
        ("winner", _winner(overview)),
        ("runner-up", _runner_up(overview)),
        ("failures", _failures(overview)),
    ]
    estimator = without_addresses(repr(search.estimator))
    lines = [f"{name} of {shortened(estimator, WIDTH - len(name) - 4)}"]
    for subject, paragraphs in parts:
        lines += _block(subject, paragraphs)
    return "\n".join(lines)


def _block(subject: str, paragraphs: list[str]) -> Iterator[str]:
    """Yield the lines of some paragraphs, the first of which starts with the subject."""
    first = f"  {subject}".ljust(INDENT)
    for paragraph in paragraphs:
        if len(paragraph) <= WIDTH - INDENT:  # keeps the alignment of columns
            yield first + paragraph
        else:
            indent = " " * (INDENT + 2)
            yield from wrap(paragraph, WIDTH, initial_indent=first, subsequent_indent=indent)
        first = " " * INDENT


def _searched(overview: Overview) -> list[str]:
    n_candidates, text = overview.record.n_candidates, overview.candidates_text
    n_initial = sum(map(len, overview.record.plan.fronts))
    if n_initial:
        text += f", {n_initial:,} of them initial"
    if overview.n_fitted < n_candidates:
        text += f", of which {overview.n_fitted:,} were fitted"
    if overview.resource is None:
        return [f"{text}; every fit is a full one"]
    amounts = overview.history["n_resources"]
    low, high = number_text(amounts.min()), number_text(amounts.max())
    reach = f"{low} to {high}" if low != high else high
    return [f"{text}; resource {overview.resource}: {reach} in a fit"]


def _spent(overview: Overview) -> list[str]:
    search, record, n_grid_fits = overview.search, overview.record, overview.n_grid_fits
    text = counted(len(overview.history), "fit")
    if n_grid_fits is not None:
        n_candidates = counted(record.n_different, "candidate")
        n_splits = counted(record.n_grid_splits or 1, "split")
        fits = counted(n_grid_fits, "fit")
        text += f"; GridSearchCV would have made {fits}, {n_candidates} x {n_splits}"
    lines = [text]
    if overview.resource is not None:
        n_full_fits = search.n_resources_spent_ / _units_of_a_full_fit(overview)
        units = (
            f"{number_text(search.n_resources_spent_)} units of {overview.resource}, as much as "
            f"{n_full_fits:,.1f} full fits"
        )
        if n_grid_fits is not None:
            share = 100 * n_full_fits / n_grid_fits
            percent = f"{share:.0f}" if share >= 1 else f"{share:.1g}"
            units += f": {percent} % of that grid"
        lines.append(units)
    times = (
        f"{seconds_text(overview.fit_seconds)} of fitting and scoring"
        f"{' in all sessions' if record.is_resumed else ''}, "
        f"{seconds_text(record.seconds)} {overview.from_start_to_end}"
    )
    if hasattr(search, "refit_time_"):
        times += f", refit {seconds_text(search.refit_time_)}"
    return [*lines, times]


def _units_of_a_full_fit(overview: Overview) -> float:
    """Return the resource of a full fit. It is a mean, because folds may differ in size."""
    record, history = overview.record, overview.history
    rows = history.loc[history["n_resources"] == record.largest, "n_train"]
    return rows.mean() if record.resource.subsamples_rows and len(rows) else record.largest


def _ended(overview: Overview) -> list[str]:
    search, text = overview.search, overview.status
    by = getattr(search, "stopped_by_", "policy")
    if by == "time_budget":
        text = text.replace("time_budget", budget_text(search))
    n_left = overview.record.n_candidates - overview.n_fitted
    if by != "policy" and n_left:
        text += f"; {counted(n_left, 'candidate')} not fitted at all"
    if search.refit and not hasattr(search, "best_estimator_"):
        text += "; nothing was refitted"
    return [text]


def _course(overview: Overview) -> Iterator[tuple[str, list[str]]]:
    """Yield the course of the search: its brackets, or its stages and the best candidates."""
    at = "" if overview.resource is None else f" at {overview.resource}"
    if overview.brackets:
        best = f"best {overview.metric}; * has the winner"
        lines = _bracket_grid(overview)
        if max(map(len, lines)) <= WIDTH - INDENT:
            lines = [f"candidates: {best}", *lines]
        else:
            lines = [f"candidates{at} -> {best}", *_bracket_lines(overview)]
        n_left = len(overview.brackets) - len(overview.shown_brackets)
        rest = [f"and {counted(n_left, 'other bracket')}"] if n_left else []
        yield "brackets", [*lines, *rest]
        return
    if overview.stages:
        lines = []
        for label, n_candidates, n_fits, amount in overview.stages:
            name = f"stage {label}" if label else ""
            candidates, fits = counted(n_candidates, "candidate"), counted(n_fits, "fit")
            line = f"{name:9}{candidates:>16}{fits:>14}"
            lines.append(f"{line}{at} {number_text(amount)}" if at else line)
        yield "stages", with_gap(lines, "and {} in between")
    head, rows = overview.leader_table()
    lines = [_leader_line(row) for row in ([*head[:3], head[3][:9], *head[4:]], *rows)]
    ranks = [leader.rank for leader in overview.leaders[: len(rows)]]
    if any(rank > place for place, rank in enumerate(ranks, start=1)):
        lines.append("candidates that were not fitted, or have equal scores, take up other ranks")
    yield "best", lines


def with_gap(rows: list[str], gap: str) -> list[str]:
    """Return the rows of the first and the last stages, with a row for those in between."""
    n_left = len(rows) - MAX_STAGES
    if n_left <= 0:
        return rows
    half = MAX_STAGES // 2
    return [*rows[:half], gap.format(counted(n_left, "stage")), *rows[-half:]]


def _bracket_grid(overview: Overview) -> list[str]:
    """Return a row for each bracket, with a column for each amount of the resource."""
    brackets = overview.shown_brackets
    amounts = sorted({rung.amount for rungs in brackets.values() for rung in rungs})
    table = [[overview.resource or "", *map(number_text, amounts)]]
    for label, rungs in brackets.items():
        cells = {rung.amount: rung.text() + "*" * rung.has_winner for rung in rungs}
        table.append([f"bracket {label}", *(cells.get(amount, "") for amount in amounts)])
    widths = [max(map(len, column)) + 3 for column in zip(*table, strict=True)]
    return ["".join(map(str.ljust, row, widths)).rstrip() for row in table]


def _bracket_lines(overview: Overview) -> list[str]:
    """Return a line for each bracket, if there are too many rungs for a table."""
    return [
        f"{label}:  "
        + ";  ".join(
            rung.text(f" at {number_text(rung.amount)} -> ") + "*" * rung.has_winner
            for rung in rungs
        )
        for label, rungs in overview.shown_brackets.items()
    ]


def _leader_line(row: list[str]) -> str:
    """Return a row of the table of the best candidates."""
    *numbers, params = row
    line = "".join(map(str.rjust, numbers, (4, 11, 10, 11, 9)))
    room = WIDTH - INDENT - len(line) - 2
    return f"{line}  {params if len(params) <= room else params[: room - 3] + '...'}"


def _winner(overview: Overview) -> list[str]:
    search, winner = overview.search, overview.winner
    if winner is None:
        return _no_winner(overview)
    results = search.cv_results_
    n_rows = counted(len(results["params"]), "row")
    place = f"candidate {winner.candidate}, rank {winner.rank:,} of {n_rows}"
    others = [
        f"{name} {score_text(results[f'mean_test_{name}'][overview.best_row])}"
        for name in overview.metrics
        if name != overview.metric
    ]
    best = "the best of the finalists" if "bracket" in results else "the best"
    known = {
        f"probability of being {best}": getattr(search, "best_probability_", np.nan),
        "expected regret": getattr(search, "best_regret_", np.nan),
        "score corrected for being chosen": getattr(search, "best_corrected_score_", np.nan),
    }
    texts = [f"{name} {score_text(value)}" for name, value in known.items() if np.isfinite(value)]
    return [
        f"{place}: {_scored(overview, winner)}",
        shortened(params_text(winner.params), MAX_PARAMS),
        *([f"also: {', '.join(others)}"] if others else []),
        *([", ".join(texts)] if texts else []),
    ]


def _no_winner(overview: Overview) -> list[str]:
    """Return why there is no winner, and which candidate is the best by each metric."""
    results, best = overview.search.cv_results_, []
    for name in overview.metrics:
        row = results[f"rank_test_{name}"].argmin()
        score = results[f"mean_test_{name}"][row]
        if np.isfinite(score):
            best.append(f"{name} {score_text(score)} (candidate {results['candidate'][row]})")
    if not best:
        return ["none: no candidate has a score"]
    why = "none was chosen"
    if not overview.search.refit:
        why = "refit=False chooses none by several metrics"
    return [f"{why}; the best by each: {', '.join(best)}"]


def _scored(overview: Overview, leader: Leader) -> str:
    score = f"{overview.metric} {score_text(leader.score)}"
    if np.isnan(leader.score):
        return f"no {overview.metric} in {counted(leader.n_fits, 'fit')}"
    # Equal scores differ by rounding errors.
    deviation = leader.deviation if leader.deviation > 1e-12 * abs(leader.score) else 0.0
    spread = f"standard deviation {deviation:.2g} over {counted(leader.n_fits, 'fit')}"
    if leader.n_fits == 1:
        spread = "1 fit, no standard deviation"
    text = f"{score} ({spread})"
    if overview.resource is not None:
        text += f" at {overview.resource}={number_text(leader.amount)}"
    return text


def _runner_up(overview: Overview) -> list[str]:
    winner, other = overview.winner, overview.runner_up
    if winner is None or other is None:
        return []
    if other.amount != winner.amount:
        where = f"{_scored(overview, other)}, which is not comparable"
    else:
        where = _distance(other.score - winner.score, other.rank < winner.rank)
    text = shortened(params_text(other.params), MAX_PARAMS)
    return [f"candidate {other.candidate}, {where}", text]


def _distance(gap: float, is_ahead: bool) -> str:
    """Return the distance of a candidate from the winner, whose score may not be the best."""
    if gap == 0:
        return "with the same score"
    if gap < 0:
        return f"{-gap:.2g} behind"
    return f"{gap:.2g} ahead" + ("" if is_ahead else ", yet ranked behind")


def _failures(overview: Overview) -> list[str]:
    if not overview.n_failed:
        return ["none"]
    kinds = [f"{name}: {n:,}" for name, n in overview.outcomes.items() if name != "ok"]
    n_fits = counted(len(overview.history), "fit")
    return [
        f"{overview.n_failed:,} of {n_fits} ({', '.join(kinds)}); the first:",
        shortened(overview.first_error, 3 * WIDTH),
    ]
