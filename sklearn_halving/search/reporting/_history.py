"""Outcomes -> ``history_``: one row for each pull."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sklearn_halving.execution._pull_loop import PullLog
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources import Resource, WholeFit
from sklearn_halving.search.preparing._plan import SearchPlan

if TYPE_CHECKING:
    import pandas as pd

OF_LIMITS = {"TimeoutError": "timeout", "ChildProcessError": "lost"}
"""What the texts begin with that stand for a pull whose process ended before it; all other
errors have a traceback."""


@dataclass
class StagedLog(PullLog):
    """Every outcome so far, with the stage of its pull where the policy has stages.

    Parameters
    ----------
    stage_now : callable, default=None
        Returns the stage of the pulls that are under way; None where there are none.
    """

    stage_now: Callable[[], int | None] | None = None
    stages: dict[Pull, int] = field(default_factory=dict)

    def record(self, outcome: Outcome) -> None:
        """Enter an outcome; the next stage begins when all pulls of this one were told."""
        super().record(outcome)
        stage = None if self.stage_now is None else self.stage_now()
        if stage is not None:
            self.stages[outcome.pull] = stage


@dataclass(frozen=True)
class SearchRecord:
    """What a fitted search keeps of its pulls, for `history_`, `summary` and its HTML.

    Parameters
    ----------
    resource : Resource
        What a level means.
    outcomes : list of Outcome
        In the order in which they came back.
    plan : SearchPlan
        Where a pull belongs.
    stages : dict of Pull to int
        The stage of each pull; empty where there are none.
    n_candidates : int
        How many candidates there were to choose from.
    n_different : int
        How many of them differ: a small grid is in several brackets.
    n_grid_splits : int or None
        On how many splits GridSearchCV would have fitted each of those, if that is known.
    largest : float
        What the largest level amounts to.
    seconds : float
        How long the pulls took, from the first to the last, in this call of `fit`.
    """

    resource: Resource
    outcomes: list[Outcome]
    plan: SearchPlan
    stages: dict[Pull, int]
    n_candidates: int
    n_different: int
    n_grid_splits: int | None
    largest: float
    seconds: float


def n_splits_of_grid_search(cv: Any, n_repetitions: int | None) -> int | None:
    """Return on how many splits GridSearchCV fits each candidate; None if nobody knows.

    Splits without end are those of a ``cv`` that GridSearchCV would use once.
    """
    if n_repetitions is not None or isinstance(cv, int):
        return n_repetitions or cv
    try:
        return 5 if cv is None else int(cv.get_n_splits())
    except (AttributeError, TypeError, ValueError):  # it depends on the groups
        return None


def outcome_of(outcome: Outcome) -> str:
    """Return in a word how a pull ended."""
    if outcome.error is None:
        return "ok" if outcome.score_error is None else "scorer_failed"
    kind = outcome.error.partition(":")[0]
    if kind in OF_LIMITS:
        return OF_LIMITS[kind]
    last_line = outcome.error.strip().rpartition("\n")[2]
    return "memory" if last_line.partition(":")[0].endswith("MemoryError") else "failed"


def make_history(record: SearchRecord) -> pd.DataFrame:
    """Return one row for each pull, in the order in which they came back."""
    import pandas as pd  # not needed by a plain `fit`, and slow to import

    several = [o.test_scores for o in record.outcomes if isinstance(o.test_scores, dict)]
    metrics = list(several[0]) if several else ["score"]
    return pd.DataFrame([_row(record, outcome, metrics) for outcome in record.outcomes])


def _place_of(plan: SearchPlan, pull: Pull) -> dict[str, int]:
    """Return bracket, loop and rung of a pull, where there are any."""
    if plan.schedule is None:
        return {}
    place, rung = plan.path_of(pull)
    bracket = plan.schedule.brackets[place]
    return {"bracket": bracket.label, "loop": bracket.loop, "rung": rung}


def _row(record: SearchRecord, outcome: Outcome, metrics: list[str]) -> dict[str, Any]:
    (arm, level, repetition), resource = outcome.pull, record.resource
    row: dict[str, Any] = {"candidate": arm, **_place_of(record.plan, outcome.pull)}
    if outcome.pull in record.stages:
        row["stage"] = record.stages[outcome.pull]
    if not isinstance(resource, WholeFit):
        row["n_resources"] = resource.to_amount(level)
    error = outcome.error or outcome.score_error
    row |= {
        "split": repetition,
        "started": outcome.started,
        "ended": outcome.started + outcome.fit_seconds + outcome.score_seconds,
        "fit_time": outcome.fit_seconds,
        "score_time": outcome.score_seconds,
        "continued_from": resource.to_amount(outcome.previous_level),
        "n_train": outcome.n_train,
        "n_test": outcome.n_test,
        "failed": error is not None,
        "outcome": outcome_of(outcome),
        "error": error,
    }
    for side, scores in (("test", outcome.test_scores), ("train", outcome.train_scores)):
        if isinstance(scores, dict):
            row |= {f"{side}_{metric}": value for metric, value in scores.items()}
        elif scores is not None:
            # Where the fit failed under a callable that returns a dict, the error score is one
            # number that stands for every metric.
            row |= {f"{side}_{metric}": scores for metric in metrics}
    return row
