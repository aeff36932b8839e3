"""Outcomes -> ``history_``: one row for each pull."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sklearn_halving.execution._types import Outcome
from sklearn_halving.resources import Resource, WholeFit
from sklearn_halving.search._layout import Layout

if TYPE_CHECKING:
    import pandas as pd


def make_history(resource: Resource, outcomes: Iterable[Outcome], layout: Layout) -> pd.DataFrame:
    """Return one row for each pull, in the order in which they came back."""
    import pandas as pd  # not needed by a plain `fit`, and slow to import

    return pd.DataFrame([_row(resource, outcome, layout) for outcome in outcomes])


def _row(resource: Resource, outcome: Outcome, layout: Layout) -> dict[str, Any]:
    arm, level, repetition = outcome.pull
    row: dict[str, Any] = {"candidate": arm, **layout.place_of(outcome.pull)}
    if not isinstance(resource, WholeFit):
        row["n_resources"] = resource.to_amount(level)
    row |= {
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
