"""How much memory a search takes at most, in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from _compare_data import DATA_SETS
from _compare_searches import Run
from _compare_tasks import Task

LIMIT = 3.0
"""Seconds that a search gets: its memory does not grow much after that."""


def print_peak(task: Task, run: Run) -> None:
    """Search, and print the MiB that came on top of imports and data."""
    search, _ = task.make(DATA_SETS[task.data].load(), 0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(search, LIMIT, 0)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak {before / 1024:.1f} {after / 1024:.1f}")


def measure_memory(task: str, search: str) -> dict[str, Any]:
    """Return the high-water mark of a child process, before the search and after it, in MiB."""
    script = Path(__file__).with_name("compare.py")
    command = [sys.executable, str(script), "--peak-of", search, "--only", task]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("peak ")]
    if not lines:
        return {"before": float("nan"), "after": float("nan"), "error": done.stderr[-300:]}
    return {"before": float(lines[-1][1]), "after": float(lines[-1][2])}
