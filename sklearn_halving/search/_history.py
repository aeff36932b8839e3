"""Outcomes -> ``history_``: one row for each pull."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._types import Schedule
from sklearn_halving.resources import Resource

if TYPE_CHECKING:
    import pandas as pd


def make_history(
    resource: Resource, outcomes: Iterable[Outcome], schedule: Schedule
) -> pd.DataFrame:
    """Return one row for each pull, in the order in which they came back."""
    import pandas as pd  # not needed by a plain `fit`, and slow to import

    bracket_of_arm = schedule.bracket_of_arm().tolist()
    return pd.DataFrame(
        [
            _row(resource, outcome, schedule, bracket_of_arm[outcome.pull.arm])
            for outcome in outcomes
        ]
    )


def _row(resource: Resource, outcome: Outcome, schedule: Schedule, place: int) -> dict[str, Any]:
    arm, level, repetition = outcome.pull
    bracket = schedule.brackets[place]
    row = {
        "candidate": arm,
        "bracket": bracket.label,
        "loop": bracket.loop,
        "rung": [rung.level for rung in bracket.rungs].index(level),
        "n_resources": resource.to_amount(level),
        "split": repetition,
        "started": outcome.started,
        "fit_time": outcome.fit_seconds,
        "score_time": outcome.score_seconds,
        "continued_from": resource.to_amount(outcome.previous_level),
        "n_train": outcome.n_train,
        "n_test": outcome.n_test,
        "failed": outcome.error is not None,
    }
    for side, scores in (("test", outcome.test_scores), ("train", outcome.train_scores)):
        if isinstance(scores, dict):
            row.update({f"{side}_{metric}": value for metric, value in scores.items()})
        elif scores is not None:
            row[f"{side}_score"] = scores
    return row
