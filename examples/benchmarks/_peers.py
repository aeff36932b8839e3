"""Other libraries' searches for `compare.py`: each as its users would set it up.

All get the same estimator, space, rows, folds and limit of wall time, run in one process and
one thread, and keep their defaults. `PEERS` has those whose library is installed. What each
would return if it had to stop is what its own documentation calls the best: the best finished
trial, the incumbent, the best last score.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from _compare_types import Incumbent, Params, Search, SearchRun
from _peer_spaces import for_optuna

Peer = Callable[[Search, float, int], SearchRun]


class Recorder:
    """Clock and counters of one search, and what it would have returned when."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._incumbents: list[Incumbent] = []
        self.n_fits = 0

    def seconds(self) -> float:
        """Return the wall time since the start."""
        return time.perf_counter() - self._started

    def saw(self, params: Params) -> None:
        """Keep what would be returned now, if it is another than before."""
        params = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in params.items()
        }
        if not self._incumbents or self._incumbents[-1].params != params:
            self._incumbents.append(Incumbent(self.seconds(), self.n_fits, params))

    def run(self, seconds: float) -> SearchRun:
        """Return all that was seen; ``seconds`` is how long the search took."""
        return SearchRun(self._incumbents, seconds, self.n_fits)


def optuna_search_cv(search: Search, seconds: float, seed: int) -> SearchRun:
    """Run OptunaSearchCV (TPE): all folds with all of the resource for each candidate."""
    from optuna_integration import OptunaSearchCV

    _quiet_optuna()
    n_folds = len(search.cv)

    def watch(study: Any, trial: Any) -> None:
        recorder.n_fits += n_folds
        if any(np.isfinite(t.value) for t in study.trials if t.value is not None):
            recorder.saw(study.best_params)

    found = OptunaSearchCV(
        search.estimator,
        for_optuna(search.distributions),
        cv=search.cv,
        n_trials=None,
        timeout=seconds,
        scoring=search.scoring,
        random_state=seed,
        refit=False,
        callbacks=[watch],
    )
    recorder = Recorder()
    found.fit(search.X, search.y)
    return recorder.run(recorder.seconds())


def _quiet_optuna() -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)


def _quiet(peer: Peer) -> Peer:
    """Return the same search without warnings."""

    def run(search: Search, seconds: float, seed: int) -> SearchRun:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return peer(search, seconds, seed)

    return run


ALL: dict[str, tuple[str, Peer]] = {
    "OptunaSearchCV": ("optuna_integration", optuna_search_cv),
}
"""All peers: name, library that must be installed, search."""


PEERS: dict[str, Peer] = {
    name: _quiet(peer) for name, (library, peer) in ALL.items() if find_spec(library)
}
