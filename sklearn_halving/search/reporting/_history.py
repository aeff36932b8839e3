"""The table ``history_``, with one row for each pull."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sklearn.model_selection import check_cv

from sklearn_halving.execution._pull_loop import PullLog
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources import Resource, WholeFit
from sklearn_halving.search.preparing._plan import SearchPlan

if TYPE_CHECKING:
    import pandas as pd

OF_LIMITS = {"TimeoutError": "timeout", "ChildProcessError": "lost"}
"""Names at the start of the error of a pull whose process was killed or died. All other errors
are tracebacks."""


@dataclass
class StagedLog(PullLog):
    """All outcomes so far, with the stage of each pull if the policy has stages.

    Parameters
    ----------
    stage_of : callable
        Returns the stage of a pull, or None if the policy has no stages.
    check : callable
        Called with each outcome, in the order in which the pulls were requested, so that the
        result does not depend on the workers; raises an error if the search must end.
    """

    stage_of: Callable[[Pull], int | None] = field(kw_only=True)
    check: Callable[[Outcome], None] = field(kw_only=True)
    stages: dict[Pull, int] = field(default_factory=dict)
    _unchecked: deque[Pull] = field(default_factory=deque)

    def request(self, pull: Pull) -> None:
        """Note the place of a pull in the order of the checks."""
        self._unchecked.append(pull)

    def record(self, outcome: Outcome) -> None:
        """Add an outcome. A stage ends after the policy has been told all of its pulls."""
        super().record(outcome)
        stage = self.stage_of(outcome.pull)
        if stage is not None:
            self.stages[outcome.pull] = stage
        while self._unchecked and self._unchecked[0] in self.outcomes:
            self.check(self.outcomes[self._unchecked.popleft()])


@dataclass(frozen=True)
class SearchRecord:
    """The record of the pulls of a fitted search, for `history_`, `summary` and its HTML.

    Parameters
    ----------
    resource : Resource
        The resource, which defines the meaning of a level.
    outcomes : list of Outcome
        The outcomes in the order in which the pulls returned.
    plan : SearchPlan
        The plan of the search.
    stages : dict of Pull to int
        The stage of each pull; empty if there are no stages.
    n_candidates : int
        Number of candidates.
    n_different : int
        Number of different candidates. A small grid is used in several brackets.
    is_whole_grid : bool
        Whether they are all candidates of a grid, as in GridSearchCV.
    n_grid_splits : int or None
        Number of splits on which GridSearchCV would fit each candidate; None if it is not known.
    largest : float
        The amount of the resource at the largest level.
    seconds : float
        Time from the start to the end of the pulls in this call of `fit`.
    is_resumed : bool
        Whether there are outcomes of earlier calls, from a checkpoint.
    is_timed : bool
        Whether the time budget decides how many loops are played.
    n_dropped : int
        Number of candidates that were dropped in races.
    n_made : int
        Number of candidates that the sampler made.
    ended_by : str
        What ended the search before its plan was complete; empty if nothing did.
    """

    resource: Resource
    outcomes: list[Outcome]
    plan: SearchPlan
    stages: dict[Pull, int]
    n_candidates: int
    n_different: int
    is_whole_grid: bool
    n_grid_splits: int | None
    largest: float
    seconds: float
    is_resumed: bool = False
    is_timed: bool = False
    n_dropped: int = 0
    n_made: int = 0
    ended_by: str = ""


def n_splits_of_grid_search(cv: object, n_repetitions: int | None) -> int | None:
    """Return the number of splits on which GridSearchCV fits each candidate; None if not known.

    If the number of splits is unlimited, it is the number of splits that ``cv`` yields in
    GridSearchCV.
    """
    if n_repetitions is not None:
        return n_repetitions
    try:
        return int(check_cv(cv).get_n_splits())
    except (AttributeError, TypeError, ValueError):  # the number may depend on the groups
        return None


def outcome_of(outcome: Outcome) -> str:
    """Return how a pull ended, as one word."""
    if outcome.error is None:
        return "ok" if outcome.score_error is None else "scorer_failed"
    kind = outcome.error.partition(":")[0]
    if kind in OF_LIMITS:
        return OF_LIMITS[kind]
    last_line = outcome.error.strip().rpartition("\n")[2]
    return "memory" if last_line.partition(":")[0].endswith("MemoryError") else "failed"


def make_history(record: SearchRecord) -> pd.DataFrame:
    """Return one row for each pull, in the order in which the pulls returned."""
    import pandas as pd  # slow to import, and `fit` does not need it

    several = [o.test_scores for o in record.outcomes if isinstance(o.test_scores, dict)]
    metrics = list(several[0]) if several else ["score"]
    table = pd.DataFrame([_row(record, outcome, metrics) for outcome in record.outcomes])
    if len(table):
        table[["started", "ended"]] -= table["started"].min()
    return table


def _place_of(plan: SearchPlan, pull: Pull) -> dict[str, int]:
    """Return the bracket, loop and rung of a pull; empty without brackets."""
    if plan.schedule is None:
        return {}
    place, rung = plan.path_of(pull)
    bracket = plan.schedule.brackets[place]
    return {"bracket": bracket.label, "loop": bracket.loop, "rung": rung}


def _row(record: SearchRecord, outcome: Outcome, metrics: list[str]) -> dict[str, object]:
    (arm, level, repetition), resource = outcome.pull, record.resource
    row: dict[str, object] = {"candidate": arm, **_place_of(record.plan, outcome.pull)}
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
            # If a fit fails and ``scoring`` is a callable that returns a dict, the error score is
            # a single number for all metrics.
            row |= {f"{side}_{metric}": scores for metric in metrics}
    return row
