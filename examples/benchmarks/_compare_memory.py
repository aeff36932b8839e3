"""How much memory a search takes at most, in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from _compare_data import DATA_SETS
from _compare_searches import Run
from _compare_tasks import Task, quick_tasks

LIMIT = 3.0
"""Seconds that a search gets: its memory does not grow much after that."""


def print_peak(task: Task, run: Run) -> None:
    """Search, and print the MiB before it and the largest while it ran.

    What the search imports, it has imported before, in a search of a tiny task.
    """
    tiny = quick_tasks()[0]
    run(tiny.make(DATA_SETS[tiny.data].load(), 0)[0], 0.2, 0)
    search, _ = task.make(DATA_SETS[task.data].load(), 0)
    reset_high_water()
    before = high_water()
    run(search, LIMIT, 0)
    print(f"peak {before:.1f} {high_water():.1f}")


def reset_high_water() -> None:
    """Measure the largest resident memory from here on; Linux alone."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def high_water() -> float:
    """Return the largest resident memory so far, in MiB."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_memory(task: str, search: str) -> dict[str, Any]:
    """Return the high-water mark of a child process, before the search and after it, in MiB."""
    script = Path(__file__).with_name("compare.py")
    command = [sys.executable, str(script), "--peak-of", search, "--only", task]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("peak ")]
    if not lines:
        return {"before": float("nan"), "after": float("nan"), "error": done.stderr[-300:]}
    return {"before": float(lines[-1][1]), "after": float(lines[-1][2])}
