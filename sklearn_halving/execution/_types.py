"""The data that are sent to workers and returned by them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sklearn_halving._typing import CallbackContext, Candidates, Estimator, Params, Scorer
from sklearn_halving.execution._step_cache import StepCache
from sklearn_halving.execution._train_test_rows import Folds, HeldOutRows
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources._types import Resource

Scores = float | dict[str, float]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a pull."""

    pull: Pull
    """The pull."""
    test_scores: Scores
    train_scores: Scores | None
    """Scores on the test and the training rows: one number, or one number for each metric.
    ``train_scores`` is None unless ``return_train_score=True``."""
    started: float
    """The time when the training started, in seconds since the epoch."""
    fit_seconds: float
    score_seconds: float
    """Time for training and for scoring. If training was continued, only the new part counts."""
    n_train: int
    n_test: int
    """Number of training and test rows."""
    previous_level: int = 0
    """The level of the model whose training was continued; 0 for a fit from scratch."""
    error: str | None = None
    """The traceback if the fit failed."""
    score_error: str | None = None
    """The traceback if the fit succeeded and a scorer failed."""
    n_rounds: int | None = None
    """The number of boosting rounds if training stopped early on rows that were held out."""
    clock: tuple[float, int] | None = None
    """The seconds that were left of the time budget when the pull returned, and the number of
    workers, if the policy plans by them."""
    levels: tuple[int, ...] = ()
    """The levels to which the model was trained, if it can be trained further; else empty."""


@dataclass(frozen=True)
class PullLimits:
    """Limits for a single pull. A pull that exceeds one of them counts as failed."""

    seconds: float | None = None
    """Maximum wall time of the fit and its scoring. If None, there is no limit."""
    memory: int | None = None
    """Maximum number of bytes of address space that the fit may allocate in addition to those of
    its process. If None, there is no limit."""


NO_LIMITS = PullLimits()


class Job(NamedTuple):
    """A pull to be evaluated by a worker.

    ``model`` is the fitted model of the same arm and split whose training is continued, and
    ``levels`` are the levels at which its training has paused so far. If the model was lost, the
    fit from scratch goes through the same levels, so that it results in the same model.
    ``context`` is scikit-learn's callback context of the pull, or None without callbacks.
    """

    pull: Pull
    model: Any = None
    levels: tuple[int, ...] = ()
    keep_model: bool = False
    context: CallbackContext | None = None

    @property
    def previous_level(self) -> int:
        """The level of the model; 0 for a fit from scratch."""
        return 0 if self.model is None else self.levels[-1]


class Result(NamedTuple):
    """A pull that has returned, with its fitted model if it may be needed later.

    ``stop`` is True if one of scikit-learn's callbacks requests the end of the search. ``lost``
    says why a model could not be sent between processes; None if no model was lost.
    """

    outcome: Outcome
    model: object = None
    stop: bool = False
    lost: str | None = None


@dataclass(frozen=True)
class EvaluationTask:
    """All data that a worker needs to evaluate a pull, without the search itself."""

    estimator: Estimator
    """Cloned for every arm."""
    X: object
    y: object
    """The data as passed by the user; y may be None."""
    candidates: Candidates
    """The parameters of each arm."""
    splits: Folds
    """Train and test rows of each repetition."""
    resource: Resource
    """The resource, which defines the meaning of a level."""
    scorer: Scorer
    """A scorer, or scikit-learn's container of several scorers."""
    fit_params: Params = field(default_factory=dict)
    score_params: Params = field(default_factory=dict)
    """Parameters for fitting and scoring. Parameters with one entry per row are indexed with the
    rows in use."""
    return_train_score: bool = False
    error_score: float | str = np.nan
    """The score of a fit that fails."""
    verbose: int = 0
    n_repetitions: int | None = 1
    max_level: int = 1
    seed: np.random.SeedSequence | None = None
    """Seeds every ``random_state`` that is None. If None, these are not seeded."""
    config: Params = field(default_factory=dict)
    """scikit-learn's configuration in the calling process."""
    caller: Estimator | None = None
    """The search, for callbacks only."""
    held_out: HeldOutRows | None = None
    """Holds out training rows for boosters that stop early. If None, there are no such
    boosters."""
    step_cache: StepCache | None = None
    """Fitted pipeline steps. If None, they are not cached."""
