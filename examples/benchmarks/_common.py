"""What the benchmarks share: options, clocks, data, and a report in Markdown.

A report starts with the command and the versions. A claim is a row with the minimum, median and
maximum over several repetitions, the target, and whether the median reaches it. The two sides of a
ratio are measured in turn in one process, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import gzip
import json
import operator
import os
import platform
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
RECORDED = Path.home() / ".cache" / "sklearn_halving" / "recorded"
"""The folder of recorded tables of scores, unless another is given."""
ORDERS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}


def parse_options(
    description: str | None,
    *,
    seeds: int = 5,
    quick_seeds: int = 1,
    name: str = "seeds",
    files: dict[str, str] | None = None,
    **flags: str,
) -> argparse.Namespace:
    """Return the options that every benchmark has: quick, seeds, output, only; and others.

    ``seeds`` and ``quick_seeds`` are numbers of repetitions, and ``name`` is the option that sets
    them. ``files`` are names and help texts of options that are paths, ``flags`` of those that are
    on or off.
    """
    parser = argparse.ArgumentParser(description=(description or "").partition("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, under a minute")
    parser.add_argument(f"--{name}", type=int, help=f"repetitions ({seeds:,})")
    parser.add_argument("--output", type=Path, help="Markdown file for the report")
    parser.add_argument("--only", default="", help="leave out parts without this in the name")
    for file, text in (files or {}).items():
        parser.add_argument(f"--{file}", type=Path, help=text)
    for flag, text in flags.items():
        parser.add_argument(f"--{flag}", action="store_true", help=text)
    options = parser.parse_args()
    default = quick_seeds if options.quick else seeds
    setattr(options, name, getattr(options, name) or default)
    return options


class Report:
    """A report in Markdown, which is printed line by line while it is written."""

    def __init__(self, title: str, options: argparse.Namespace) -> None:
        self._lines: list[str] = []
        self._output = options.output
        self.write(f"# {title}", "", f"`{_command()}`", "", environment(), "")
        if options.quick:
            self.write("Quick run: sizes are small, the figures mean little.", "")

    @property
    def lines(self) -> list[str]:
        """The lines written so far."""
        return list(self._lines)

    def write(self, *lines: str) -> None:
        """Add lines, and print them."""
        self._lines += lines
        print(*lines, sep="\n", flush=True)

    def table(self, title: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Add a table, printed row by row; ``columns`` are separated by ``|``."""
        names = [name.strip() for name in columns.split("|")]
        rule = " | ".join(["---"] + ["---:"] * (len(names) - 1))
        self.write(f"## {title}", "", f"| {' | '.join(names)} |", f"| {rule} |")
        for row in rows:
            self.write(f"| {' | '.join(map(_cell, row))} |")
        self.write("")

    def save(self) -> None:
        """Write the output file, if there is one."""
        if self._output is not None:
            self._output.write_text("\n".join(self._lines), encoding="utf-8")


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


CLAIM_COLUMNS = "what | min | median | max | target | reached"


def claim(what: str, values: Sequence[float], target: str | None = None) -> list[Any]:
    """Return a row of a table with `CLAIM_COLUMNS`; ``target`` is such as ``"<= 0.3"``.

    The target is reached if the median reaches it.
    """
    values = [float(value) for value in values]
    low, middle, high = min(values), float(np.median(values)), max(values)
    if target is None:
        return [what, low, middle, high, "", ""]
    sign, bound = target.split()
    reached = "yes" if ORDERS[sign](middle, float(bound)) else "**no**"
    return [what, low, middle, high, target, reached]


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


def wall_seconds(function: Callable[[], Any]) -> float:
    """Return the wall time of a call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


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
    # The name of the output file does not affect the results.
    arguments = [
        a for i, a in enumerate(sys.argv[1:], 1) if "--output" not in (a, sys.argv[i - 1])
    ]
    return " ".join(["python", str(name), *arguments])


def _cell(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        if np.isnan(value):
            return "-"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)
