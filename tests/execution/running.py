"""Tasks that run in workers, without a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import parallel_config

from doubles import Faulty, Known, make_task
from sklearn_halving.execution._types import NO_LIMITS, EvaluationTask, Job, Outcome, PullLimits
from sklearn_halving.execution.workers._executors import open_executor
from sklearn_halving.policies import Pull

QUALITIES = np.arange(1.0, 13.0)


def outcomes_of(
    task: EvaluationTask,
    n_jobs: int | None = 2,
    limits: PullLimits = NO_LIMITS,
    after: Callable[[int], Any] = bool,
) -> dict[int, Outcome]:
    """Pull every arm once, as the loop does; call ``after`` with the number that came back."""
    waiting = [Job(Pull(arm, 1, 0)) for arm in range(len(task.candidates))]
    found: dict[int, Outcome] = {}
    with open_executor(task, n_jobs, "2*n_jobs", limits) as executor:
        while len(found) < len(task.candidates):
            while waiting and executor.room > 0:
                executor.submit(waiting.pop(0))
            for result in executor.wait_any():
                assert result.outcome.pull.arm not in found, "each comes back once"
                found[result.outcome.pull.arm] = result.outcome
            after(len(found))
    return found


def scores_of(
    task: EvaluationTask, n_jobs: int | None = 2, after: Callable[[int], Any] = bool
) -> list[Any]:
    """Return the score of each arm."""
    found = outcomes_of(task, n_jobs, after=after)
    return [found[arm].test_scores for arm in sorted(found)]


def serial_scores(task: EvaluationTask) -> list[Any]:
    """Return the score of each arm in this process."""
    with parallel_config("sequential"):
        return scores_of(task, None)


def check_faults(
    faults: dict[float, str],
    words: dict[float, str],
    n_jobs: int | None = 2,
    limits: PullLimits = NO_LIMITS,
) -> dict[int, Outcome]:
    """Check that those that fail have NaN and say why, and all others the score as always."""
    found = outcomes_of(make_task(Faulty(faults=faults), QUALITIES), n_jobs, limits)
    expected = serial_scores(make_task(Known(), QUALITIES))
    for arm, outcome in found.items():
        if QUALITIES[arm] in words:
            assert np.isnan(outcome.test_scores)
            assert words[QUALITIES[arm]] in str(outcome.error)
        else:
            assert (outcome.error, outcome.test_scores) == (None, expected[arm])
        assert (outcome.n_train, outcome.n_test) == (6, 6)
    return found
