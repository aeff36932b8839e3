"""Other libraries' searches for `compare.py`: each as its users would set it up.

All get the same estimator, space, rows, folds and limit of wall time, run in one process and
one thread, and keep their defaults. `PEERS` has those whose library is installed. What each
would return if it had to stop is what its own documentation calls the best: the best finished
trial, the incumbent, the best last score.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from _compare_types import Search, SearchRun
from _peer_spaces import for_optuna, for_smac, from_places
from _peer_training import Recorder, Trained, rungs

Peer = Callable[[Search, float, int], SearchRun]
NO_LIMIT = 100_000
"""Candidates, for libraries that want a number beside the limit of time."""
WORST = 1e6
"""Cost of a failed training, for libraries that take no NaN."""


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


def smac_hyperband(search: Search, seconds: float, seed: int) -> SearchRun:
    """Run SMAC3's HyperbandFacade: random candidates, brackets of Hyperband."""
    import smac
    from smac.callback import Callback

    levels = rungs(search.max_resource)

    def cost(config: Any, seed: int = 0, budget: float = 0.0) -> float:
        params = from_places(dict(config), search.distributions)
        score = Trained(search, params, seed, recorder).score(max(1, round(budget)))
        return -score if np.isfinite(score) else WORST

    class Watch(Callback):
        def on_tell_end(self, smbo: Any, info: Any, value: Any) -> None:
            best = smbo.intensifier.get_incumbent()
            if best is not None:
                recorder.saw(from_places(dict(best), search.distributions))

    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder()
        scenario = smac.Scenario(
            for_smac(search.distributions, seed),
            output_directory=Path(folder),
            deterministic=True,
            walltime_limit=seconds,
            n_trials=NO_LIMIT,
            min_budget=levels[0],
            max_budget=levels[-1],
            seed=seed,
        )
        smac.HyperbandFacade(
            scenario, cost, logging_level=logging.ERROR, callbacks=[Watch()], overwrite=True
        ).optimize()
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
    "SMAC3, Hyperband": ("smac", smac_hyperband),
}
"""All peers: name, library that must be installed, search."""


PEERS: dict[str, Peer] = {
    name: _quiet(peer) for name, (library, peer) in ALL.items() if find_spec(library)
}
