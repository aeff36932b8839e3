"""The estimator of the best candidate, as it is refitted on all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn_halving._unstable_imports import num_samples
from sklearn_halving.execution._evaluation import arm_estimator, seed_random_states
from sklearn_halving.execution._types import EvaluationTask
from sklearn_halving.policies._types import Pull

REFIT = 2**31 - 1
"""Stands for the repetition in the seed of the refit, which uses all rows."""


def unfitted_winner(task: EvaluationTask, arm: int, level: int) -> Any:
    """Return the arm's estimator with its parameters rescaled to what the refit uses."""
    as_drawn = replace(task, rescaling=None, seed=None)
    estimator = arm_estimator(as_drawn, Pull(arm, level, REFIT))
    if task.rescaling is not None:
        is_of_rows = task.resource.subsamples_rows
        amount = num_samples(task.X) if is_of_rows else task.resource.to_amount(level)
        max_amount = task.resource.to_amount(task.max_level)
        changed = task.rescaling.apply(task.candidates[arm], estimator, amount, max_amount)
        if changed:
            estimator.set_params(**changed)
    if task.seed is not None:
        seed_random_states(estimator, task.seed, (arm, REFIT))
    return estimator
