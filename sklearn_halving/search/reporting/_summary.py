"""A fitted search as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

import numpy as np

from sklearn_halving.search.reporting._formatting import (
    STOPPED_BY,
    counted,
    listed,
    number_text,
    params_text,
    score_text,
    seconds_text,
    short_names,
    shortened,
)
from sklearn_halving.search.reporting._summary_facts import (
    N_LEADERS,
    Bracket,
    Leader,
    Overview,
    Rung,
    Stage,
    best_rows,
    overview_of,
)

WIDTH = 88
"""Characters of a line."""
INDENT = 13
"""Characters before what is said about a subject, which is named in front of it."""
MAX_BRACKETS = 12
"""Brackets that are shown."""
MAX_PARAMS = 600
"""Characters of the parameters of a candidate."""


def summary_text(search: Any) -> str:
    """Return what a search with results did and found, in lines of at most `WIDTH` characters."""
    overview = overview_of(search)
    estimator = shortened(repr(search.estimator), WIDTH - len(type(search).__name__) - 4)
    parts = [
        ("searched", _searched(overview)),
        ("spent", _spent(search, overview)),
        ("ended", _ended(search, overview)),
        *_course(overview),
        ("winner", _winner(search, overview)),
        ("runner-up", _runner_up(overview)),
        ("failures", _failures(overview)),
    ]
    lines = [f"{type(search).__name__} of {estimator}"]
    for subject, paragraphs in parts:
        lines += _block(subject, paragraphs)
    return "\n".join(lines)


def _block(subject: str, paragraphs: list[str]) -> list[str]:
    """Return paragraphs as lines, with their subject in front of the first."""
    lines: list[str] = []
    for paragraph in paragraphs:
        first = " " * INDENT if lines else f"  {subject}".ljust(INDENT)
        # What is aligned with spaces stays so where it fits.
        fits = len(paragraph) <= WIDTH - INDENT
        whole = [first + paragraph] if fits else None
        lines += whole or wrap(
            paragraph, WIDTH, initial_indent=first, subsequent_indent=" " * (INDENT + 2)
        )
    return lines


def _searched(overview: Overview) -> list[str]:
    record = overview.record
    text = counted(record.n_candidates, "candidate")
    if overview.n_fitted < record.n_candidates:
        text += f", of which {overview.n_fitted:,} were fitted"
    if overview.resource is None:
        return [f"{text}; every fit is a whole one"]
    amounts = [record.resource.to_amount(outcome.pull.level) for outcome in record.outcomes]
    low, high = number_text(min(amounts)), number_text(max(amounts))
    reach = f"{low} to {high}" if low != high else high
    return [f"{text}; resource {overview.resource}: {reach} in a fit"]


def _spent(search: Any, overview: Overview) -> list[str]:
    record, n_grid_fits = overview.record, overview.n_grid_fits
    text = counted(len(record.outcomes), "fit")
    if n_grid_fits is not None:
        n_candidates = counted(record.n_different, "candidate")
        n_splits = counted(record.n_grid_splits or 1, "split")
        text += (
            f"; GridSearchCV would have made {counted(n_grid_fits, 'fit')}, {n_candidates} x "
            f"{n_splits}"
        )
    lines = [text]
    if overview.resource is not None:
        units = f"{number_text(search.n_resources_spent_)} units of {overview.resource}"
        if n_grid_fits is not None:
            of_grid = n_grid_fits * _units_of_a_whole_fit(overview)
            share = 100 * search.n_resources_spent_ / of_grid
            percent = f"{share:.0f}" if share >= 1 else f"{share:.1g}"
            units += f", {percent} % of the {number_text(of_grid)} of that grid"
        lines.append(units)
    times = (
        f"{seconds_text(overview.fit_seconds)} of fitting and scoring, "
        f"{seconds_text(record.seconds)} from start to end"
    )
    if hasattr(search, "refit_time_"):
        times += f", refit {seconds_text(search.refit_time_)}"
    return [*lines, times]


def _units_of_a_whole_fit(overview: Overview) -> float:
    """Return what a fit with all of the resource takes, on average: folds may differ in size."""
    record = overview.record
    rows = [
        o.n_train
        for o in record.outcomes
        if record.resource.subsamples_rows
        and record.resource.to_amount(o.pull.level) == record.largest
    ]
    return sum(rows) / len(rows) if rows else record.largest


def _ended(search: Any, overview: Overview) -> list[str]:
    by = str(getattr(search, "stopped_by_", "policy"))
    text = STOPPED_BY.get(by, by)
    if by == "time_budget":
        text += f"={search.time_budget} (seconds)"
    n_left = overview.record.n_candidates - overview.n_fitted
    if by != "policy" and n_left:
        text += f"; {counted(n_left, 'candidate')} not fitted at all"
    if search.refit and not hasattr(search, "best_estimator_"):
        text += "; nothing was refitted"
    return [text]


def _course(overview: Overview) -> Iterator[tuple[str, list[str]]]:
    """Yield how the fits went on: by brackets, by stages, or the best candidates."""
    at = "" if overview.resource is None else f" at {overview.resource}"
    if overview.brackets:
        best = f"best {overview.score_name}; * has the winner"
        lines = _bracket_grid(overview)
        if max(map(len, lines)) <= WIDTH - INDENT:
            yield "brackets", [f"candidates: {best}", *lines]
        else:
            yield "brackets", [f"candidates{at} -> {best}", *_bracket_lines(overview.brackets)]
        return
    if overview.stages:
        first, last = overview.shown_stages
        left = len(overview.stages) - len(first) - len(last)
        rest = [f"and {counted(left, 'stage')} in between"] if left else []
        lines = [_stage_line(stage, at) for stage in (*first, *last)]
        yield "stages", [*lines[: len(first)], *rest, *lines[len(first) :]]
    yield "best", _leader_lines(overview)


def _stage_line(stage: Stage, at: str) -> str:
    name = f"stage {stage.label}" if stage.label else ""
    candidates = counted(stage.n_candidates, "candidate").rjust(16)
    amount = f"{at} {number_text(stage.amount)}" if at else ""
    return name.ljust(9) + candidates + counted(stage.n_fits, "fit").rjust(14) + amount


def _shown(brackets: tuple[Bracket, ...]) -> tuple[list[Bracket], list[str]]:
    """Return the first few brackets and that of the winner, and a line on those left out."""
    shown = [b for i, b in enumerate(brackets) if i < MAX_BRACKETS or b.has_winner]
    n_left = len(brackets) - len(shown)
    return shown, [f"and {counted(n_left, 'other bracket')}"] if n_left else []


def _bracket_grid(overview: Overview) -> list[str]:
    """Return a row for each bracket, with a column for each amount of the resource."""
    brackets, rest = _shown(overview.brackets)
    amounts = sorted({rung.amount for bracket in brackets for rung in bracket.rungs})
    table = [[overview.resource or "", *map(number_text, amounts)]]
    for bracket in brackets:
        cells = {rung.amount: _cell(rung, ": ") for rung in bracket.rungs}
        table.append([f"bracket {bracket.label}", *(cells.get(amount, "") for amount in amounts)])
    widths = [max(map(len, column)) + 3 for column in zip(*table, strict=True)]
    lines = ["".join(map(str.ljust, row, widths)).rstrip() for row in table]
    return [*lines, *rest]


def _bracket_lines(brackets: tuple[Bracket, ...]) -> list[str]:
    """Return a line for each bracket, for brackets of too many rungs to be a table."""
    shown, rest = _shown(brackets)
    lines = [
        f"{bracket.label}:  "
        + ";  ".join(_cell(rung, f" at {number_text(rung.amount)} -> ") for rung in bracket.rungs)
        for bracket in shown
    ]
    return [*lines, *rest]


def _cell(rung: Rung, arrow: str) -> str:
    star = "*" if rung.has_winner else ""
    return f"{rung.n_candidates}{arrow}{score_text(rung.best)}{star}"


def _leader_lines(overview: Overview) -> list[str]:
    """Return a line for each of the best candidates."""
    knows = any(np.isfinite(leader.probability) for leader in overview.leaders)
    lines = [
        "rank  candidate      fits  " + overview.score_name[:9].rjust(9)
        + ("  P(best)" if knows else "") + "  parameters"
    ]  # fmt: skip
    for leader in overview.leaders[:N_LEADERS]:
        line = (
            f"{leader.rank:4d}  {leader.candidate:9d}  {leader.n_all_fits:8d}  "
            f"{score_text(leader.score):>9}"
        )
        line += f"  {leader.probability:7.2f}" if knows else ""
        room = WIDTH - INDENT - len(line) - 2
        text = params_text(short_names(leader.params))
        lines.append(f"{line}  {text if len(text) <= room else text[: room - 3] + '...'}")
    return lines


def _winner(search: Any, overview: Overview) -> list[str]:
    winner = overview.winner
    if winner is None:
        return _nobody(search, overview)
    n_rows = counted(len(search.cv_results_["params"]), "row")
    place = f"candidate {winner.candidate}, rank {winner.rank:,} of {n_rows}"
    lines = [
        f"{place}: {_scored(overview, winner)}",
        shortened(params_text(winner.params), MAX_PARAMS),
    ]
    row = search.best_index_
    others = [
        f"{name} {score_text(search.cv_results_[f'mean_test_{name}'][row])}"
        for name in overview.metrics
        if name != overview.metric
    ]
    if others:
        lines.append(f"also: {listed(others)}")
    known = {
        "probability of being the best": getattr(search, "best_probability_", np.nan),
        "expected regret": getattr(search, "best_regret_", np.nan),
        "score corrected for being chosen": getattr(search, "best_corrected_score_", np.nan),
    }
    texts = [f"{name} {score_text(value)}" for name, value in known.items() if np.isfinite(value)]
    return [*lines, listed(texts)] if texts else lines


def _nobody(search: Any, overview: Overview) -> list[str]:
    """Say why there is no winner, and who is best by each metric."""
    rows = best_rows(search)
    if not rows:
        return ["none: no candidate has a score"]
    results = search.cv_results_
    best = [
        f"{name} {score_text(results[f'mean_test_{name}'][row])} "
        f"(candidate {results['candidate'][row]})"
        for name, row in rows.items()
    ]
    why = "refit=False chooses none by several metrics" if not search.refit else "none was chosen"
    return [f"{why}; the best by each: {listed(best)}"]


def _scored(overview: Overview, leader: Leader) -> str:
    if leader.n_fits == 0:
        return f"never fitted, the model expects {overview.score_name} {score_text(leader.score)}"
    # Of equal scores there is a rest of rounding.
    deviation = leader.deviation if leader.deviation > 1e-12 * abs(leader.score) else 0.0
    spread = f"standard deviation {deviation:.2g} over {counted(leader.n_fits, 'fit')}"
    if leader.n_fits == 1:
        spread = "1 fit, so that its spread is unknown"
    text = f"{overview.score_name} {score_text(leader.score)} ({spread})"
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
    lines = [f"candidate {other.candidate}, {where}"]
    return [*lines, shortened(params_text(other.params), MAX_PARAMS)]


def _distance(gap: float, is_ahead: bool) -> str:
    """Return how far a candidate is from the winner, which need not have the best score."""
    if gap == 0:
        return "with the same score"
    if gap < 0:
        return f"{-gap:.2g} behind"
    return f"{gap:.2g} ahead" + ("" if is_ahead else ", yet ranked behind")


def _failures(overview: Overview) -> list[str]:
    n_failed, n_fits = overview.n_failed, len(overview.record.outcomes)
    if not n_failed:
        return ["none"]
    kinds = [f"{name}: {n:,}" for name, n in overview.outcomes.items() if name != "ok"]
    return [
        f"{n_failed:,} of {counted(n_fits, 'fit')} ({listed(kinds)}); the first:",
        shortened(overview.first_error or "", 3 * WIDTH),
    ]
