"""What the searches of `compare.py` are called in wide tables, and the releases of the peers."""

from __future__ import annotations

from contextlib import suppress
from importlib import metadata

from _compare_searches import AGAIN, GRID, OVER_ROWS, RANDOM

SHORT = {
    "HyperbandSearchCV": "HB",
    OVER_ROWS: "HB rows",
    "VarianceHalvingSearchCV": "VH",
    "BayesGapSearchCV": "BG",
    "BanditSearchCV": "SR",
    RANDOM: "random",
    AGAIN: "random 2",
    GRID: "grid",
    "HalvingRandomSearchCV": "halving",
    "HalvingGridSearchCV": "halving grid",
    "Optuna, TPE and Hyperband pruning": "TPE pruned",
    "OptunaSearchCV": "TPE",
    "BayesSearchCV (scikit-optimize)": "skopt",
    "SMAC3, Hyperband": "SMAC",
    "dask-ml, Hyperband": "dask-ml",
}
LEGEND = "; ".join(f"{short}: {name}" for name, short in SHORT.items() if short != "random 2")
LIBRARIES = ("optuna", "optuna-integration", "scikit-optimize", "smac")


def shortened(name: str) -> str:
    """Return the name of a search for the head of a wide table."""
    return SHORT.get(name, name)


def versions() -> str:
    """Return the releases of the peers that are installed."""
    found = []
    for name in LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return ", ".join(found)
