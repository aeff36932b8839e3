"""The data that are sent to workers and returned by them.

Train and test rows are the same for all arms and in all workers. The public cross-validators are
in `sklearn_halving.splits`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from numbers import Number
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from sklearn_halving._content_hash import content_hash, params_digest
from sklearn_halving._formatting import raised
from sklearn_halving._typing import CallbackContext, Estimator, Params, Scorer
from sklearn_halving.execution._step_cache import StepCache
from sklearn_halving.policies._protocol import ALL_TRIED
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources import _training_size
from sklearn_halving.resources._resource import Resource
from sklearn_halving.splits import SplitStream
from sklearn_halving.splits._stream import narrow, seed_of_repetition

Rows = npt.NDArray[np.intp]

OF_LIMITS = {"TimeoutError": "timeout", "ChildProcessError": "lost", "AbandonedFit": "abandoned"}
"""At the start of the error of a pull whose process was killed or died. All others are
tracebacks."""
HELD_OUT_FRACTION = 0.1
"""The default of ``validation_fraction`` in scikit-learn."""


@dataclass(frozen=True)
class Fold:
    """The rows of one split.

    Arrays may have 32-bit integers, which take half the memory. Methods return numbers of NumPy's
    index type.

    Parameters
    ----------
    order : ndarray of int or None
        Positions in ``train`` by priority: a training subset of n rows consists of the first
        n. None if the resource is not the number of rows.
    full_level : int or None
        The level at which all rows are used: the size of the smallest training fold. Larger
        folds use more rows at every level, so that a level is the same fraction of each fold.
        If None, a level is a number of rows.
    n_needed : int
        Number of rows that a subset needs to contain enough of every class. A level that is
        lower has as many: the folds of a stream are not all known when levels are chosen.
    """

    # Row numbers, in the splitter's order.
    train: Rows
    test: Rows
    order: Rows | None = None
    full_level: int | None = None
    n_needed: int = 0

    @cached_property
    def digest(self) -> str:
        """Digest of the numbers of the training rows."""
        return content_hash(self.train.astype(np.int64))

    def train_rows(self, level: int) -> Rows:
        """Return the training rows at a level; all rows if they are not the resource."""
        if self.order is None:
            return self.train.astype(np.intp, copy=False)
        n_rows = level
        if self.full_level is not None:
            # Because of rounding down, folds whose sizes differ by a row or two have the same
            # number of rows below the full level. `max` is needed because a later split of a
            # stream may be smaller.
            share = min(level, self.full_level) * len(self.train) // self.full_level
            n_rows = max(n_rows, share)
        rows = _training_size.training_rows(self.train, self.order, n_rows)
        return rows.astype(np.intp, copy=False)

    def test_rows(self) -> Rows:
        """Return the test rows."""
        return self.test.astype(np.intp, copy=False)


@dataclass(frozen=True)
class SubsetOrders:
    """Ranks the rows of each training fold, so that training subsets are nested.

    Parameters
    ----------
    target : ndarray of int or None
        The classes of each row of the data, one column for each output, if every subset must
        contain rows of all of them.
    groups : np.ndarray or None
        Group labels of all rows, if groups must stay together.
    goes_forward : bool
        Whether the rows are ordered by time.
    min_per_class : int
        Number of rows of each class in a subset, or all rows of a class that has fewer.
    seed : numpy.random.SeedSequence
        Seeds the orders.
    """

    target: Rows | None
    groups: np.ndarray | None
    goes_forward: bool
    min_per_class: int
    seed: np.random.SeedSequence

    def order(self, repetition: int, train: Rows) -> Rows:
        """Return positions in ``train`` by priority; the result is the same at every call."""
        rng = np.random.default_rng(seed_of_repetition(self.seed, repetition))
        return _training_size.subset_order(
            len(train),
            rng,
            y=None if self.target is None else self.target[train],
            groups=None if self.groups is None else self.groups[train],
            keep_order=self.goes_forward,
            min_per_class=self.min_per_class,
        )

    def fold(self, repetition: int, train: Rows, test: Rows, full_level: int | None) -> Fold:
        """Return a fold with the order of its training rows."""
        order, n_needed = self.order(repetition, train), 1
        if self.target is not None:
            target = self.target[train]
            n_needed = _training_size.rows_needed(order, target, self.min_per_class)
        return Fold(train, test, narrow(order), full_level, n_needed)

    def hold_out(self, repetition: int, rows: Rows) -> tuple[Rows, Rows]:
        """Return the rows to train a booster on, and a tenth to decide when to stop.

        The tenth is stratified by class, or consists of whole groups, or of the most recent rows
        if the splitter goes forward in time. It is the same for all arms.
        """
        order = self.order(repetition, rows)
        n_held_out = max(1, round(HELD_OUT_FRACTION * len(rows)))
        target = np.zeros((len(rows), 1), np.intp) if self.target is None else self.target[rows]
        n_classes = len(np.unique(target))
        is_held_out = np.zeros(len(rows), dtype=bool)
        if self.groups is None:
            is_held_out[order[:n_held_out]] = True
        else:
            groups = _training_size.class_codes(self.groups[rows])[:, 0]
            for group in dict.fromkeys(groups[order].tolist()):
                wanted = is_held_out | (groups == group)
                if is_held_out.sum() < n_held_out and len(np.unique(target[~wanted])) == n_classes:
                    is_held_out = wanted
        # A booster cannot evaluate a class that it does not know.
        is_held_out &= np.isin(target, target[~is_held_out]).all(axis=1)
        return rows[~is_held_out], rows[is_held_out]


@dataclass(frozen=True)
class ListedFolds:
    """A fixed number of folds, and the number that each has in a scikit-learn splitter."""

    folds: tuple[Fold, ...]
    numbers: tuple[int, ...]

    def fold(self, repetition: int) -> Fold:
        """Return the fold of a repetition."""
        return self.folds[repetition]

    def number(self, repetition: int) -> int:
        """Return the number of the split in the splitter."""
        return self.numbers[repetition]


@dataclass(frozen=True)
class StreamedFolds:
    """An unlimited number of folds. Each worker computes the folds that it needs.

    Parameters
    ----------
    orders : SubsetOrders or None
        The orders of the nested subsets, if the resource is the number of rows.
    full_level : int or None
        As for `Fold`.
    """

    stream: SplitStream
    orders: SubsetOrders | None = None
    full_level: int | None = None

    def fold(self, repetition: int) -> Fold:
        """Return the fold of a repetition."""
        train, test = self.stream.split(repetition)
        if self.orders is None:
            return Fold(train, test)
        return self.orders.fold(repetition, train, test, self.full_level)

    def number(self, repetition: int) -> int:
        """Return the repetition, which is the number of its split."""
        return repetition


Folds = ListedFolds | StreamedFolds
"""The folds of all repetitions; they are the same at every call."""


class Candidate(NamedTuple):
    """A candidate: its number, which is the arm, its parameters, and their digest.

    Equal candidates have the same digest.
    """

    number: int
    params: Params
    digest: str

    @classmethod
    def of(cls, number: int, params: Params) -> Self:
        """Return a candidate with the digest of its parameters."""
        return cls(number, params, params_digest(params))


class Candidates(Protocol):
    """All candidates, or those that exist so far."""

    def __len__(self) -> int:
        """Return the number of candidates."""

    def __iter__(self) -> Iterator[Candidate]:
        """Iterate over the candidates that exist."""

    def __getitem__(self, arm: int, /) -> Candidate:
        """Return the candidate of an arm."""


Scores = float | dict[str, float]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a pull.

    Parameters
    ----------
    started : float
        The time when the training started, in seconds since the epoch.
    previous_level : int
        The level of the model whose training was continued; 0 for a fit from scratch.
    error : str or None
        The traceback if the fit failed.
    score_error : str or None
        The traceback if the fit succeeded and a scorer failed.
    n_rounds : int or None
        The number of boosting rounds if training stopped early on rows that were held out.
    limit : float or None
        The limit of the fit, in seconds or bytes, if it may have ended the fit.
    levels : tuple[int, ...]
        The levels to which the model was trained, if it can be trained further; else empty.
    """

    pull: Pull
    # Scores on the test and the training rows: one number, or one number for each metric.
    # ``train_scores`` is None unless ``return_train_score=True``.
    test_scores: Scores
    train_scores: Scores | None
    started: float
    # Time for training and for scoring. If training was continued, only the new part counts.
    fit_seconds: float
    score_seconds: float
    # Number of training and test rows.
    n_train: int
    n_test: int
    previous_level: int = 0
    error: str | None = None
    score_error: str | None = None
    n_rounds: int | None = None
    limit: float | None = None
    levels: tuple[int, ...] = ()

    def score(self, metric: str) -> float:
        """Return the test score by a metric, or the only one."""
        scores = self.test_scores
        return float(scores[metric] if isinstance(scores, dict) else scores)

    @property
    def seconds(self) -> float:
        """Time for training and scoring."""
        return self.fit_seconds + self.score_seconds

    @property
    def problem(self) -> str | None:
        """The traceback of the fit or of the scorer, if one of them failed."""
        return self.error or self.score_error

    @property
    def kind(self) -> str:
        """How the pull ended, as one word."""
        if self.error is None:
            return "ok" if self.score_error is None else "scorer_failed"
        is_memory = raised(self.error).partition(":")[0].endswith("MemoryError")
        kind = "memory" if is_memory else "failed"
        return OF_LIMITS.get(self.error.partition(":")[0], kind)

    def with_metrics(self, metrics: Sequence[str]) -> Outcome:
        """Return an outcome in which an error score, a number, stands for each metric, if any."""
        changed: dict[str, Any] = {
            side: dict.fromkeys(metrics, scores)
            for side in ("test_scores", "train_scores")
            if isinstance(scores := getattr(self, side), Number)
        }
        return replace(self, **changed) if metrics and changed else self


@dataclass(frozen=True)
class PullLimits:
    """Limits for a single pull. A pull that exceeds one of them counts as failed.

    Parameters
    ----------
    seconds : float or None
        Maximum wall time of the fit and its scoring. If None, there is no limit.
    memory : int or None
        Maximum number of bytes of address space that the fit may allocate in addition to those
        of its process. If None, there is no limit.
    useful : float
        Time after which the fit is of no use to a search that has a time budget. It is abandoned
        then, and has not failed.
    ends : float
        Time of ``time.monotonic`` at which it is abandoned.
    """

    seconds: float | None = None
    memory: int | None = None
    useful: float = inf
    ends: float = inf

    @property
    def of_start(self) -> float:
        """The seconds from now after which it does not begin any more."""
        return self.ends - time.monotonic()

    @property
    def of_budget(self) -> float:
        """The seconds from now after which the fit is abandoned."""
        return min(self.useful, self.of_start)


NO_LIMITS = PullLimits()


@dataclass(frozen=True)
class End:
    """Why a search ended.

    Parameters
    ----------
    reason : {"policy", "time_budget", "callback", "interrupt", "error"}
        What ended it, as in ``stopped_by_``.
    text : str
        The same in words, or a rule of the policy; empty if its plan was played to the end.
    """

    reason: str
    text: str

    @property
    def stopped_by(self) -> str:
        """What stopped the search; empty if it is complete."""
        return "" if self.text == ALL_TRIED else self.text


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
    """All data that a worker needs to evaluate a pull, without the search itself.

    Parameters
    ----------
    estimator : Estimator
        Cloned for every arm.
    candidates : Candidates or dict of int to Candidate
        The candidate of each arm; in a worker, of the arms of its jobs.
    splits : Folds
        Train and test rows of each repetition.
    resource : Resource
        The resource, which defines the meaning of a level.
    scorer : Scorer
        A scorer, or scikit-learn's container of several scorers.
    error_score : float or str
        The score of a fit that fails.
    seed : numpy.random.SeedSequence or None
        Seeds every ``random_state`` that is None. If None, these are not seeded.
    config : Params
        scikit-learn's configuration in the calling process.
    caller : Estimator or None
        The search, for callbacks only.
    held_out : SubsetOrders or None
        The orders by which training rows are held out for boosters that stop early. If None,
        there are no such boosters.
    step_cache : StepCache or None
        Fitted pipeline steps. If None, they are not cached.
    n_threads : int or None
        The number of threads of a fit in a worker. If None, it is not limited.
    """

    estimator: Estimator
    # The data as passed by the user; y may be None.
    X: object
    y: object
    candidates: Candidates | dict[int, Candidate]
    splits: Folds
    resource: Resource
    scorer: Scorer
    # Parameters for fitting and scoring. Parameters with one entry per row are indexed with the
    # rows in use.
    fit_params: Params = field(default_factory=dict)
    score_params: Params = field(default_factory=dict)
    return_train_score: bool = False
    error_score: float | str = np.nan
    verbose: int = 0
    n_candidates: int = 1
    n_repetitions: int | None = 1
    max_level: int = 1
    seed: np.random.SeedSequence | None = None
    config: Params = field(default_factory=dict)
    caller: Estimator | None = None
    held_out: SubsetOrders | None = None
    step_cache: StepCache | None = None
    n_threads: int | None = None
