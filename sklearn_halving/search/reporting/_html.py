"""A fitted search as HTML: scikit-learn's diagram, and below it what the search found."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np
from sklearn.utils import estimator_html_repr

from sklearn_halving.search.reporting._formatting import (
    STOPPED_BY,
    counted,
    number_text,
    param_texts,
    params_text,
    score_text,
    seconds_text,
    short_names,
    shortened,
)
from sklearn_halving.search.reporting._summary_facts import (
    N_LEADERS,
    Leader,
    Overview,
    Rung,
    Stage,
    overview_of,
)

MAX_BRACKETS = 12
"""Brackets that are shown."""
MAX_PARAMS = 20
"""Parameters of the winner that are shown."""
TEXTS = ("parameters", "value")
"""Columns that are no numbers."""
MAX_ERROR = 200
"""Characters of the first error."""

# The notebook's own colours: what is drawn here is a shade of its text, so that light and dark
# themes need no rules of their own. The green is readable on both.
STYLE = """<style>
.sklearn-halving {color: inherit; font-size: .9em; line-height: 1.35; margin: .6em 0;
  max-width: 100%; overflow-x: auto; font-family: inherit;}
.sklearn-halving p {margin: .3em 0;}
.sklearn-halving table {border-collapse: collapse; margin: .5em 0; color: inherit;
  background: none; border: none; font-size: 1em;}
.sklearn-halving caption {caption-side: top; text-align: left; color: inherit;
  font-weight: bold; padding: .2em 0; white-space: nowrap;}
.sklearn-halving tr {background: none !important;}
.sklearn-halving th, .sklearn-halving td {border: 1px solid rgba(128, 128, 128, .4);
  padding: .15em .6em; text-align: right; font-variant-numeric: tabular-nums; color: inherit;
  background: none; white-space: nowrap; vertical-align: top;}
.sklearn-halving th {font-weight: 600;}
.sklearn-halving .text, .sklearn-halving th:first-child {text-align: left;}
.sklearn-halving td.text {white-space: normal; overflow-wrap: anywhere; min-width: 8em;
  max-width: 40em; font-family: monospace;}
.sklearn-halving td.empty {border-color: transparent;}
.sklearn-halving .winner {background: rgba(46, 160, 67, .28) !important; font-weight: bold;}
</style>"""


def search_html(search: Any) -> str:
    """Return the HTML of a search; that of its estimator alone before there are results.

    Whatever is wrong with the results, a notebook must be able to show the search.
    """
    diagram: str = estimator_html_repr(search)
    if not (hasattr(search, "_record") and hasattr(search, "cv_results_")):
        return diagram
    try:
        return diagram + _panel(search)
    except Exception:  # noqa: BLE001 - such as results that a user has changed
        return diagram


def _panel(search: Any) -> str:
    overview = overview_of(search)
    parts = [
        _headline(search, overview),
        _brackets(overview) if overview.brackets else _stages(overview) + _leaders(overview),
        _winner(search, overview),
        _failures(overview),
    ]
    name = escape(type(search).__name__)
    return (
        f'{STYLE}<section class="sklearn-halving" aria-label="Results of {name}">'
        f"{''.join(parts)}</section>"
    )


def _headline(search: Any, overview: Overview) -> str:
    record = overview.record
    grid = ""
    if overview.n_grid_fits is not None:
        grid = f" (GridSearchCV: {overview.n_grid_fits:,} whole ones)"
    by = str(getattr(search, "stopped_by_", "policy"))
    texts = [
        counted(record.n_candidates, "candidate"),
        counted(len(record.outcomes), "fit") + grid,
        f"{seconds_text(overview.fit_seconds)} of fitting and scoring",
        f"{seconds_text(record.seconds)} from start to end",
        STOPPED_BY.get(by, by),
    ]
    return f"<p>{escape(' · '.join(texts))}</p>"


def _brackets(overview: Overview) -> str:
    """Return a table of brackets, with a column for each amount of the resource."""
    shown = [
        bracket
        for place, bracket in enumerate(overview.brackets)
        if place < MAX_BRACKETS or bracket.has_winner
    ]
    amounts = sorted({rung.amount for bracket in shown for rung in bracket.rungs})
    rows = []
    for bracket in shown:
        rungs = {rung.amount: rung for rung in bracket.rungs}
        cells = "".join(_rung(rungs.get(amount)) for amount in amounts)
        rows.append(f'<tr><th scope="row">{escape(bracket.label)}</th>{cells}</tr>')
    n_left = len(overview.brackets) - len(shown)
    caption = f"Candidates and best {overview.score_name} of each rung, by {overview.resource}"
    head = ["bracket", *map(number_text, amounts)]
    rest = f"<p>and {counted(n_left, 'other bracket')}</p>" if n_left else ""
    return _table(caption, head, rows) + rest


def _rung(rung: Rung | None) -> str:
    if rung is None:
        return '<td class="empty"></td>'
    best = score_text(rung.best) if np.isfinite(rung.best) else "no score"
    text = escape(f"{rung.n_candidates:,}: {best}")
    if not rung.has_winner:
        return f"<td>{text}</td>"
    return f'<td class="winner" title="the winner is here">{text} ★</td>'


def _stages(overview: Overview) -> str:
    if not overview.stages:
        return ""
    has_names = any(stage.label for stage in overview.stages)
    has_amounts = overview.resource is not None
    first, last = overview.shown_stages
    rows = [_stage_row(stage, has_names, has_amounts) for stage in (*first, *last)]
    left = len(overview.stages) - len(rows)
    if left:
        n_columns = 3 + (has_names and has_amounts)
        text = f"and {counted(left, 'stage')} in between"
        rows.insert(len(first), f'<tr><td class="text" colspan="{n_columns}">{text}</td></tr>')
    resource = overview.resource or ""
    head = ["stage" if has_names else resource, "candidates", "fits"]
    head += [resource] if has_names and has_amounts else []
    return _table("Stages", head, rows)


def _stage_row(stage: Stage, has_name: bool, has_amount: bool) -> str:
    amount = number_text(stage.amount)
    numbers = [f"{stage.n_candidates:,}", f"{stage.n_fits:,}"]
    numbers += [amount] if has_name and has_amount else []
    cells = "".join(f"<td>{number}</td>" for number in numbers)
    first = stage.label if has_name else amount
    return f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>'


def _leaders(overview: Overview) -> str:
    leaders = overview.leaders[:N_LEADERS]
    has_probability = any(np.isfinite(leader.probability) for leader in leaders)
    chosen = None if overview.winner is None else overview.winner.candidate
    head = ["rank", "candidate", "fits", overview.score_name]
    head += ["P(best)"] if has_probability else []
    rows = [_leader_row(leader, chosen, has_probability) for leader in leaders]
    n_all = overview.record.n_candidates
    caption = f"The best {len(leaders)} of {counted(n_all, 'candidate')}"
    return _table(caption, [*head, "parameters"], rows)


def _leader_row(leader: Leader, chosen: int | None, has_probability: bool) -> str:
    is_winner = leader.candidate == chosen
    score = score_text(leader.score) if np.isfinite(leader.score) else "no score"
    numbers = [f"{leader.candidate}", f"{leader.n_all_fits:,}", score]
    numbers += [f"{leader.probability:.2f}"] if has_probability else []
    cells = "".join(f"<td>{number}</td>" for number in numbers)
    star = " ★" if is_winner else ""
    params = escape(shortened(params_text(short_names(leader.params)), 120))
    row_class = " class=winner" if is_winner else ""
    first = f'<th scope="row">{leader.rank}{star}</th>'
    return f'<tr{row_class}>{first}{cells}<td class="text">{params}</td></tr>'


def _winner(search: Any, overview: Overview) -> str:
    winner = overview.winner
    if winner is None:
        return "<p>No candidate was chosen.</p>"
    params = param_texts(winner.params)
    rows = [_param_row(name, value) for name, value in params[:MAX_PARAMS]]
    if len(params) > MAX_PARAMS:
        rows.append(_param_row("", f"and {len(params) - MAX_PARAMS} more"))
    score = f"{overview.score_name} {score_text(winner.score)}"
    if overview.resource is not None:
        score += f" at {overview.resource}={number_text(winner.amount)}"
    probability = getattr(search, "best_probability_", np.nan)
    if np.isfinite(probability):
        score += f", best with probability {probability:.2f}"
    caption = f"Winner: candidate {winner.candidate}, {score}"
    return _table(caption, ["parameter", "value"], rows)


def _param_row(name: str, value: str) -> str:
    return f'<tr><th scope="row">{escape(name)}</th><td class="text">{escape(value)}</td></tr>'


def _failures(overview: Overview) -> str:
    if not overview.n_failed:
        return ""
    first = shortened(overview.first_error or "", MAX_ERROR)
    n_fits = counted(len(overview.record.outcomes), "fit")
    return f"<p>{overview.n_failed:,} of {n_fits} failed: <code>{escape(first)}</code></p>"


def _table(caption: str, head: Iterable[str], rows: Iterable[str]) -> str:
    columns = "".join(
        f'<th scope="col"{" class=text" if name in TEXTS else ""}>{escape(name)}</th>'
        for name in head
    )
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{columns}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
