"""A fitted search as HTML: scikit-learn's diagram, followed by the results of the search."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import estimator_html_repr

from sklearn_halving.search.reporting._overview import (
    Overview,
    Rung,
    counted,
    number_text,
    score_text,
    seconds_text,
    shortened,
    value_text,
)
from sklearn_halving.search.reporting._summary import with_gap

if TYPE_CHECKING:
    from sklearn_halving.search._search_results import SearchResults

MAX_PARAMS = 20
"""Maximum number of parameters of the winner."""
MAX_LENGTH = 120
"""Maximum length of the parameters of other candidates."""
TEXTS = ("parameters", "value")
"""Columns that do not contain numbers."""
MAX_ERROR = 200
"""Maximum length of the first error."""

# All colors are inherited from the notebook or are shades of gray, so that the style works with
# light and dark themes. The green is readable with both.
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


def search_html(search: SearchResults) -> str:
    """Return the HTML of a search; only the diagram of its estimator if there are no results.

    A notebook must be able to show the search, even if something is wrong with the results.
    """
    diagram: str = estimator_html_repr(search)
    if not (hasattr(search, "_record") and hasattr(search, "cv_results_")):
        return diagram
    try:
        return diagram + _panel(Overview(search))
    except Exception:  # noqa: BLE001 - for example, if a user has changed the results
        return diagram


def _panel(overview: Overview) -> str:
    parts = [
        _headline(overview),
        _brackets(overview) if overview.brackets else _stages(overview) + _leaders(overview),
        _winner(overview),
        _failures(overview),
    ]
    name = escape(type(overview.search).__name__)
    return (
        f'{STYLE}<section class="sklearn-halving" aria-label="Results of {name}">'
        f"{''.join(parts)}</section>"
    )


def _headline(overview: Overview) -> str:
    record, grid = overview.record, ""
    if overview.n_grid_fits is not None:
        grid = f" (GridSearchCV: {overview.n_grid_fits:,} full fits)"
    texts = [
        overview.candidates_text,
        counted(len(overview.history), "fit") + grid,
        f"{seconds_text(overview.fit_seconds)} of fitting and scoring",
        f"{seconds_text(record.seconds)} {overview.from_start_to_end}",
        overview.status,
    ]
    return f"<p>{escape(' · '.join(texts))}</p>"


def _brackets(overview: Overview) -> str:
    """Return a table of brackets, with a column for each amount of the resource."""
    shown = overview.shown_brackets
    amounts = sorted({rung.amount for rungs in shown.values() for rung in rungs})
    rows = []
    for label, rungs in shown.items():
        of_amount = {rung.amount: rung for rung in rungs}
        rows.append(_row(label, [_rung(of_amount.get(amount)) for amount in amounts]))
    n_left = len(overview.brackets) - len(shown)
    caption = f"Candidates and best {overview.metric} of each rung, by {overview.resource}"
    rest = f"<p>and {counted(n_left, 'other bracket')}</p>" if n_left else ""
    return _table(caption, ["bracket", *map(number_text, amounts)], rows) + rest


def _rung(rung: Rung | None) -> str:
    if rung is None:
        return '<td class="empty"></td>'
    if not rung.has_winner:
        return _cell(rung.text())
    return _cell(f"{rung.text()} ★", ' class="winner" title="the winner is here"')


def _stages(overview: Overview) -> str:
    stages, resource = overview.stages, overview.resource
    if not stages:
        return ""
    rows = []
    for label, n_candidates, n_fits, amount in stages:
        texts = [label, f"{n_candidates:,}", f"{n_fits:,}", number_text(amount)]
        texts = texts[:4] if resource is not None else texts[:3]
        if not label:
            texts = [texts[-1], *texts[1:3]]
        rows.append(_row(texts[0], map(_cell, texts[1:])))
    first, rest = ("stage", [resource]) if stages[0].label else (resource, [])
    head = [name for name in (first, "candidates", "fits", *rest) if name]
    gap = f'<tr><td class="text" colspan="{len(head)}">and {{}} in between</td></tr>'
    return _table("Stages", head, with_gap(rows, gap))


def _leaders(overview: Overview) -> str:
    head, table = overview.leader_table()
    chosen = None if overview.winner is None else overview.winner.candidate
    rows = []
    for rank, candidate, *numbers, params in table:
        is_winner = candidate == str(chosen)
        cells = map(_cell, [candidate, *numbers])
        text = _cell(shortened(params, MAX_LENGTH), ' class="text"')
        rows.append(_row(rank + " ★" * is_winner, [*cells, text], " class=winner" * is_winner))
    caption = f"The best {len(rows)} of {counted(overview.record.n_candidates, 'candidate')}"
    return _table(caption, head, rows)


def _winner(overview: Overview) -> str:
    winner = overview.winner
    if winner is None:
        return "<p>No candidate was chosen.</p>"
    texts = [(name, value_text(value)) for name, value in winner.params.items()]
    n_left = len(texts) - MAX_PARAMS
    rest = [("", f"and {n_left} more")] if n_left > 0 else []
    rows = [_row(name, [_cell(text, ' class="text"')]) for name, text in texts[:MAX_PARAMS] + rest]
    score = f"no {overview.metric}"
    if not np.isnan(winner.score):
        score = f"{overview.metric} {score_text(winner.score)}"
    if overview.resource is not None:
        score += f" at {overview.resource}={number_text(winner.amount)}"
    probability = getattr(overview.search, "best_probability_", np.nan)
    if np.isfinite(probability):
        best = "best of the finalists" if "bracket" in overview.search.cv_results_ else "best"
        score += f", {best} with probability {probability:.2f}"
    caption = f"Winner: candidate {winner.candidate}, {score}"
    return _table(caption, ["parameter", "value"], rows)


def _failures(overview: Overview) -> str:
    if not overview.n_failed:
        return ""
    first = shortened(overview.first_error, MAX_ERROR)
    n_fits = counted(len(overview.history), "fit")
    return f"<p>{overview.n_failed:,} of {n_fits} failed: <code>{escape(first)}</code></p>"


def _cell(text: str, attributes: str = "") -> str:
    return f"<td{attributes}>{escape(text)}</td>"


def _row(first: str, cells: Iterable[str], attributes: str = "") -> str:
    return f'<tr{attributes}><th scope="row">{escape(first)}</th>{"".join(cells)}</tr>'


def _table(caption: str, head: Iterable[str], rows: Iterable[str]) -> str:
    columns = "".join(
        f'<th scope="col"{" class=text" if name in TEXTS else ""}>{escape(name)}</th>'
        for name in head
    )
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{columns}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
