"""A fitted search as HTML: scikit-learn's diagram, followed by the results of the search."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from sklearn.utils import estimator_html_repr

from sklearn_halving._typing import Params
from sklearn_halving.search._formatting import value_text
from sklearn_halving.search.reporting._report import Section, Table, report_of

if TYPE_CHECKING:
    from sklearn_halving.search._search_results import SearchResults

MAX_PARAMS = 20
"""Maximum number of parameters of the winner."""

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
.sklearn-halving th:first-child, .sklearn-halving .text :last-child {text-align: left;}
.sklearn-halving .text td:last-child {white-space: normal; overflow-wrap: anywhere;
  min-width: 8em; max-width: 40em; font-family: monospace;}
.sklearn-halving td:empty {border-color: transparent;}
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
        parts = "".join(map(_section, report_of(search)))
    except Exception:  # noqa: BLE001 - for example, if a user has changed the results
        return diagram
    name = escape(type(search).__name__)
    return (
        f'{diagram}{STYLE}<section class="sklearn-halving" aria-label="Results of {name}">'
        f"{parts}</section>"
    )


def _section(section: Section) -> str:
    subject, paragraphs = section.subject.capitalize(), list(map(escape, section.paragraphs))
    table = section.table
    if section.params is not None:
        table = _params_table(section.params)
    if table is None:
        return f"<p><strong>{subject}:</strong> {'<br>'.join(paragraphs)}</p>"
    title, *rest = paragraphs
    notes = f"<p>{'<br>'.join(rest)}</p>" if rest else ""
    return _table(f"{subject} · {title}", table) + notes


def _params_table(params: Params) -> Table:
    rows = [[name, value_text(value)] for name, value in params.items()]
    n_left = len(rows) - MAX_PARAMS
    rest = [["", f"and {n_left} more"]] if n_left > 0 else []
    return Table(["parameter", "value"], rows[:MAX_PARAMS] + rest, has_text=True)


def _table(caption: str, table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    rows = []
    for place, (first, *cells) in enumerate(table.rows):
        span = "" if cells else f' colspan="{len(table.head)}"'
        row = f'<th scope="row"{span}>{escape(first)}</th>'
        for column, cell in enumerate(cells, start=1):
            if table.winner == (place, column):
                row += f'<td class="winner" title="the winner is here">{escape(cell)} ★</td>'
            else:
                row += f"<td>{escape(cell)}</td>"
        rows.append(f"<tr>{row}</tr>")
    return (
        f"<table{' class=text' * table.has_text}><caption>{caption}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
