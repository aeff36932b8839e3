"""Journals that end amid their last lines: whether each still leads to the same result.

    python examples/benchmarks/cuts.py [--quick] [--only SEARCH] [--output FILE.md]

The journal of a finished search is cut at every byte of its last three lines, each time from the
whole one, and the search is run again on what is left.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from _common import Report, parse_options
from _crashing import SEARCHES, X, Y, make_search
from crash import table_of

N_LINES = 3


def cut_everywhere(name: str, step: int) -> tuple[int, int]:
    """Return how many cuts were tried, and after how many the result was another one."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        search = make_search(name, folder).set_params(estimator__seconds=0.0)
        whole = table_of(search.fit(X, Y))
        journal = Path(search.checkpoint)
        content = journal.read_bytes()
        first = len(b"".join(content.splitlines(keepends=True)[:-N_LINES]))
        n_cuts = n_other = 0
        for end in range(first, len(content), step):
            journal.write_bytes(content[:end])
            n_cuts += 1
            n_other += table_of(search.fit(X, Y)) != whole
    return n_cuts, n_other


def main() -> None:
    """Print a line for each search."""
    options = parse_options(__doc__, seeds=1)
    report = Report("Cut journals", options)
    started = time.perf_counter()
    rows = [
        [name, *cut_everywhere(name, 50 if options.quick else 1)]
        for name in SEARCHES
        if options.only in name
    ]
    columns = "search | cuts | ended otherwise than unbroken"
    report.table(f"Every byte of the last {N_LINES} lines", columns, rows)
    report.write(f"Took {time.perf_counter() - started:.0f} s.")
    report.save()


if __name__ == "__main__":
    main()
