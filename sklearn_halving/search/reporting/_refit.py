"""The estimator of the refit: the parameters of the winner, for all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sklearn_halving._typing import Estimator, Params
from sklearn_halving._unstable_imports import num_samples
from sklearn_halving.execution._evaluation import arm_estimator, seed_random_states
from sklearn_halving.execution._types import EvaluationTask, Outcome
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources._early_stopping import fix_rounds, is_number_of_rounds

REFIT = 2**31 - 1
"""Used instead of a repetition in the seed of the refit, which uses all rows."""


def unfitted_winner(task: EvaluationTask, arm: int, level: int) -> Any:
    """Return the estimator of an arm, with its parameters rescaled to the data of the refit."""
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


def fix_rounds_of_winner(
    estimator: Estimator, task: EvaluationTask, outcomes: Sequence[Outcome], pull: Pull
) -> tuple[int, Params]:
    """Set the number of rounds of a booster that stopped early; return level and fit parameters.

    It is the median number of rounds on all splits. The refit uses all rows, so that none are
    left to decide when to stop.
    """
    rounds = [
        outcome.n_rounds
        for outcome in outcomes
        if outcome.pull[:2] == pull[:2] and outcome.n_rounds is not None
    ]
    if not rounds:
        return pull.level, task.fit_params
    n_rounds = round(float(np.median(rounds)))
    counts_rounds = any(map(is_number_of_rounds, task.resource.params_at(pull.level)))
    level = n_rounds if counts_rounds else pull.level
    return level, fix_rounds(estimator, n_rounds, task.fit_params)
