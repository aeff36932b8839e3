"""Put the tables of the benchmarks into docs/evidence.md, below their markers.

    python examples/benchmarks/_evidence.py

A marker names the CSV file in `examples/` that a script wrote with ``--csv``. A test compares the
page with the files.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1]
PAGE = EXAMPLES.parent / "docs" / "evidence.md"
TABLE = re.compile(r"(<!-- table: (\S+) -->\n\n)(?:(?:\|.*\n)+\n?)?")


def markdown(path: Path) -> str:
    """Return the table of a CSV file: text in the first column, then figures on the right."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = (row[:-1] for row in csv.reader(file))  # the last column is the commit
    align = ["-" if any(len(row[i]) > 40 for row in rows) else "-:" for i in range(len(head))]
    lines = [head, ["-", *align[1:]], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def filled(page: str) -> str:
    """Return the page with its tables."""
    filled = TABLE.sub(lambda found: f"{found[1]}{markdown(EXAMPLES / found[2])}\n", page)
    return filled.rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
