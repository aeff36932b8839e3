"""A fitted search as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from sklearn_halving.search._formatting import params_text, shortened, without_addresses
from sklearn_halving.search.reporting._report import Section, Table, report_of

if TYPE_CHECKING:
    from sklearn_halving.search._search_results import SearchResults

WIDTH = 88
"""Maximum length of a line."""
INDENT = 13
"""Width of the column with the subjects."""
ROOM = WIDTH - INDENT
MAX_PARAMS = 600
"""Maximum length of the parameters of a candidate."""


def summary_text(search: SearchResults) -> str:
    """Return the summary of a search with results, in lines of at most `WIDTH` characters."""
    name = type(search).__name__
    estimator = without_addresses(repr(search.estimator))
    lines = [f"{name} of {shortened(estimator, WIDTH - len(name) - 4)}"]
    for section in report_of(search):
        lines += _lines(section)
    return "\n".join(lines)


def _lines(section: Section) -> Iterator[str]:
    """Yield the lines of a section, the first of which starts with the subject."""
    title, *rest = section.paragraphs
    paragraphs = [title]
    if section.table is not None:
        paragraphs = _table(title, section.table)
    if section.params is not None:
        paragraphs.append(shortened(params_text(section.params), MAX_PARAMS))
    first = f"  {section.subject}".ljust(INDENT)
    for paragraph in paragraphs + rest:
        if len(paragraph) <= ROOM:  # keeps the alignment of columns
            yield first + paragraph
        else:
            indent = " " * (INDENT + 2)
            yield from wrap(paragraph, WIDTH, initial_indent=first, subsequent_indent=indent)
        first = " " * INDENT


def _table(title: str, table: Table) -> list[str]:
    """Return a line for each row, with aligned columns if they fit."""
    rows = [list(row) for row in table.rows]
    if table.winner is not None:
        row, column = table.winner
        rows[row][column] += "*"
        title += "; * marks the winner"
    columns = zip(*(row for row in (table.head, *rows) if len(row) > 1), strict=True)
    widths = [max(map(len, column)) + 3 for column in columns]
    lines = ["".join(map(str.ljust, row, widths)).rstrip() for row in (table.head, *rows)]
    if max(map(len, lines)) <= ROOM:
        return [title, *lines]
    if table.has_text:
        return [
            title,
            *(line if len(line) <= ROOM else f"{line[: ROOM - 3]}..." for line in lines),
        ]
    lines = [f"{table.head[0]} -> {title}"]
    for label, *cells in rows:
        if not cells:
            lines.append(label)
            continue
        pairs = zip(table.head[1:], cells, strict=True)
        lines.append(f"{label}:  " + ";  ".join(f"{a} -> {cell}" for a, cell in pairs if cell))
    return lines
