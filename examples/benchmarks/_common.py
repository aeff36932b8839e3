"""What the benchmarks share: options, clocks, data, and a report in Markdown.

A report starts with the command and the versions. The two sides of a ratio are measured in turn in
one process, so that a busy machine slows both. With ``--csv``, the tables of docs/evidence.md are
also written to `results/`, with a column for the commit of the code.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import sklearn
from sklearn.datasets import fetch_openml, load_digits
from threadpoolctl import threadpool_limits

import sklearn_halving

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SKLEARN_HALVING_DATA", ROOT.parent / "shared" / "data"))
RESULTS = Path(__file__).parent / "results"


def parse_options(
    description: str | None,
    *,
    seeds: int = 5,
    quick_seeds: int = 1,
    name: str = "seeds",
    files: dict[str, str] | None = None,
    texts: dict[str, str] | None = None,
    **flags: str,
) -> argparse.Namespace:
    """Return the options that every benchmark has: quick, seeds, csv, only; and others.

    ``seeds`` and ``quick_seeds`` are numbers of repetitions, and ``name`` is the option that sets
    them. ``files`` and ``texts`` are names and help texts of options that are paths and texts,
    ``flags`` of those that are on or off.
    """
    parser = argparse.ArgumentParser(description=(description or "").partition("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, under a minute")
    parser.add_argument(f"--{name}", type=int, help=f"repetitions ({seeds:,})")
    parser.add_argument("--csv", action="store_true", help="write the tables of the evidence")
    parser.add_argument("--only", default="", help="leave out parts without this in the name")
    for file, text in (files or {}).items():
        parser.add_argument(f"--{file}", type=Path, help=text)
    for name_of_text, text in (texts or {}).items():
        parser.add_argument(f"--{name_of_text}", default="", help=text)
    for flag, text in flags.items():
        parser.add_argument(f"--{flag}", action="store_true", help=text)
    options = parser.parse_args()
    default = quick_seeds if options.quick else seeds
    setattr(options, name, getattr(options, name) or default)
    return options


class Report:
    """A report in Markdown, which is printed line by line."""

    def __init__(self, title: str, options: argparse.Namespace) -> None:
        self._writes_csv = getattr(options, "csv", False)
        # Asked before the run, which may last longer than the state of the code.
        self._commit = _commit() if self._writes_csv else ""
        self.write(f"# {title}", "", f"`{_command()}`", "", environment(), "")
        if options.quick:
            self.write("Quick run: sizes are small, the figures mean little.", "")

    def write(self, *lines: str) -> None:
        """Print lines."""
        print(*lines, sep="\n", flush=True)

    def table(
        self, title: str, columns: str, rows: Iterable[Sequence[Any]], file: str = ""
    ) -> None:
        """Print a table row by row, and write it to a file of `results/` that is named.

        ``columns`` are separated by ``|``.
        """
        names = [name.strip() for name in columns.split("|")]
        rule = " | ".join(["---"] + ["---:"] * (len(names) - 1))
        self.write(f"## {title}", "", f"| {' | '.join(names)} |", f"| {rule} |")
        lines = [names]
        for row in rows:
            lines.append(list(map(_cell, row)))
            self.write(f"| {' | '.join(lines[-1])} |")
        self.write("")
        if file and self._writes_csv:
            commits = ["commit", *[self._commit] * (len(lines) - 1)]
            with (RESULTS / file).open("w", encoding="utf-8", newline="") as opened:
                csv.writer(opened, lineterminator="\n").writerows(
                    [*line, commit] for line, commit in zip(lines, commits, strict=True)
                )


RESULT_KEYS = ("task", "seed", "search")


class Cache:
    """Results by task, seed and search, in a file that a later run continues."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.lines: dict[tuple[str, int, str], dict[str, Any]] = {}
        if path.exists():
            for text in path.read_text(encoding="utf-8").splitlines():
                line = json.loads(text)
                self.lines[line["task"], line["seed"], line["search"]] = line

    def add(self, task: str, seed: int, search: str, line: dict[str, Any]) -> None:
        """Add a line to the file."""
        line = dict(zip(RESULT_KEYS, (task, seed, search), strict=True)) | line
        self.lines[task, seed, search] = line
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def spread(values: Sequence[float]) -> list[float]:
    """Return minimum, median and maximum, three cells of a table."""
    return [float(end(values)) for end in (min, np.median, max)]


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of a mean over tasks."""
    if len(values) < 2:
        return np.nan, np.nan
    drawn = np.random.default_rng(0).integers(len(values), size=(2000, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def paired_ratios(
    a: Callable[[], float], b: Callable[[], float], repeats: int
) -> tuple[list[float], list[float], list[float]]:
    """Measure a and b in turn; return the ratios a / b, and the values of both.

    They take turns to be first, so that neither always finds the warmer machine.
    """
    of_a, of_b = [], []
    for i in range(repeats):
        for measure, values in ((a, of_a), (b, of_b)) if i % 2 else ((b, of_b), (a, of_a)):
            values.append(measure())
    return [x / y for x, y in zip(of_a, of_b, strict=True)], of_a, of_b


def cpu_seconds(function: Callable[[], Any]) -> float:
    """Return the CPU time of a call, summed over all threads of this process."""
    start = time.process_time()
    function()
    return time.process_time() - start


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread of BLAS and OpenMP, and ignore warnings."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def environment() -> str:
    """Return the versions and the number of cores in one line."""
    return (
        f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}, NumPy "
        f"{np.__version__}, joblib {joblib.__version__}, sklearn_halving "
        f"{sklearn_halving.__version__}; {os.cpu_count()} cores ({platform.machine()})."
    )


def load_images(n_samples: int, seed: int) -> tuple[Any, Any, str]:
    """Return rows of MNIST (the 10,000 test images) in [0, 1], labels, and their name.

    Without the files of MNIST, the digits of scikit-learn are used.
    """
    folder = DATA / "mnist"
    try:
        X = _read_idx(folder / "t10k-images-idx3-ubyte.gz", header=16).reshape(-1, 784)
        y = _read_idx(folder / "t10k-labels-idx1-ubyte.gz", header=8)
        name = "MNIST"
    except FileNotFoundError:
        print(
            f"MNIST was not found in {folder}; the digits of scikit-learn are used instead. Put "
            "the files t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz in the folder "
            "mnist/ of SKLEARN_HALVING_DATA; sklearn.datasets.fetch_openml('mnist_784') has the "
            "same images.",
            file=sys.stderr,
        )
        X, y = load_digits(return_X_y=True)
        name = "digits"
    rows = np.random.default_rng(seed).permutation(len(X))[:n_samples]
    return X[rows] / float(X.max()), y[rows].astype(int), f"{name}, {len(rows)} images"


def load_phoneme() -> tuple[Any, Any]:
    """Return the phoneme data, 5,404 rows of 5 numbers and two classes, from disk or OpenML."""
    path = DATA / "phoneme.csv"
    if not path.exists():
        return fetch_openml("phoneme", version=1, return_X_y=True, as_frame=False)
    table = np.loadtxt(path, delimiter=",")
    return table[:, :-1], table[:, -1].astype(int)


def _read_idx(path: Path, header: int) -> np.ndarray:
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), dtype=np.uint8, offset=header)


def _command() -> str:
    script = Path(sys.argv[0]).resolve()
    name = script.relative_to(ROOT) if script.is_relative_to(ROOT) else script.name
    return " ".join(["python", str(name), *sys.argv[1:]])


def _commit() -> str:
    """Return the commit of the code, with a plus if a script or module differs from it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--", "*.py")
    return git("rev-parse", "--short=7", "HEAD") + ("+" if changed else "")


def _cell(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        if np.isnan(value):
            return "-"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)
