"""Everything that can go wrong, in one search."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ShuffleSplit

from doubles import Faulty
from sklearn_halving import HyperbandSearchCV

pytestmark = [
    pytest.mark.slow,
    pytest.mark.full,
    pytest.mark.skipif(sys.platform == "win32", reason="has no such signals"),
]
N_CANDIDATES = 81
X = np.zeros((1010, 2))
y = np.arange(1010) % 2


def drawn_faults(seed: int) -> dict[float, str]:
    """Return faults for a fifth of the qualities, the best one of all among them."""
    rng = np.random.default_rng(seed)
    # Few that hang: each costs the time until it is ended, on each split.
    ways = ["raise"] * 9 + ["nan"] * 8 + ["slow"] * 6 + ["kill"] * 3 + ["kill once"] * 3 + ["hang"]
    others = rng.choice(N_CANDIDATES - 1, len(ways) - 1, replace=False)
    faults = dict(zip([N_CANDIDATES - 1, *others], rng.permutation(ways), strict=True))
    return {float(quality): str(fault) for quality, fault in faults.items()}


def test_the_best_that_never_failed_is_found(tmp_path: Path) -> None:
    faults = drawn_faults(seed=0)
    failing = {q for q, fault in faults.items() if fault in ("raise", "kill", "hang")}
    without_score = failing | {q for q, fault in faults.items() if fault == "nan"}
    search = HyperbandSearchCV(
        Faulty(faults=faults, marks=str(tmp_path)),
        {"quality": [float(i) for i in range(N_CANDIDATES)]},
        n_candidates=N_CANDIDATES,
        brackets="most_exploratory",
        min_resources=12,
        max_resources=972,
        cv=ShuffleSplit(3, test_size=30, random_state=0),  # small test sets: rungs have all splits
        n_jobs=2,
        fit_timeout=3.0,
        random_state=0,
    )
    planned = search.plan(X, y)
    with parallel_config("loky"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    best = max(set(map(float, range(N_CANDIDATES))) - without_score)
    assert search.best_params_ == {"quality": best}
    assert 300 <= search.n_fits_ <= planned["n_fits"].sum()
    assert search.n_resources_spent_ <= (planned["n_fits"] * planned["n_resources"]).sum()
    history = search.history_
    qualities = np.array([params["quality"] for params in candidates_of(search)])
    assert set(qualities[history["candidate"][history["failed"]]]) == failing
    assert len(history) == len(history[["candidate", "n_resources", "split"]].drop_duplicates())
    (message,) = [str(w.message) for w in caught if issubclass(w.category, FitFailedWarning)]
    for words in ("ChildProcessError", "TimeoutError", "a fault", "{'quality': "):
        assert words in message
    assert list(tmp_path.iterdir()), "some were killed, and came through at the next attempt"


def candidates_of(search: HyperbandSearchCV) -> list[dict[str, float]]:
    """Return the parameters of each candidate by its number."""
    results = search.cv_results_
    by_number = dict(zip(results["candidate"], results["params"], strict=True))
    return [by_number[number] for number in sorted(by_number)]
