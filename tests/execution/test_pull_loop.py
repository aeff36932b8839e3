"""The loop between a policy and workers: the same decisions however pulls come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from joblib import cpu_count, parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

from doubles import Known, Unpicklable, fails_for_negative_quality, make_task
from sklearn_halving.execution._known_fits import KnownFits
from sklearn_halving.execution._pull_loop import PullLog, PullLoop, PullObserver
from sklearn_halving.execution._store import FitStore, SearchRecord
from sklearn_halving.execution._types import EvaluationTask, Outcome
from sklearn_halving.execution.workers._executors import open_executor
from sklearn_halving.policies import Hyperband, Plan, Problem, Pull, open_plan
from sklearn_halving.policies._plan import DEFAULT_WINDOW


@dataclass
class Spy(PullObserver):
    """Looks at the loop each time that a pull comes back."""

    look: Callable[[Pull], None]

    def land(self, outcome: Outcome, *, is_known: bool) -> bool:
        self.look(outcome.pull)
        return False


class Broken(PullObserver):
    """Raises an error at the first outcome that is not from the journal."""

    def land(self, outcome: Outcome, *, is_known: bool) -> bool:
        if not is_known:
            raise ZeroDivisionError
        return False


BACKENDS = [("sequential", 1), ("threading", 2), ("threading", 5), ("loky", 2)]


def run(
    policy: Any,
    task: EvaluationTask,
    *,
    backend: str = "sequential",
    n_jobs: int = 1,
    pre_dispatch: int | str = "2*n_jobs",
    window: int | None = None,
    max_level: int = 9,
    watch: Callable[[PullLoop, Pull], None] | None = None,
    log: PullLog | None = None,
    known: KnownFits | None = None,
    observer: PullObserver | None = None,
) -> tuple[Any, PullLog]:
    """Play a policy against real workers; return its game and the log."""
    log = PullLog() if log is None else log
    problem = Problem(len(task.candidates), 1, max_level, task.n_repetitions)
    game = policy.start(problem)
    if window is None and not policy.order_free:
        window = DEFAULT_WINDOW
    with (
        parallel_config(backend),
        open_executor(task, n_jobs, pre_dispatch) as executor,
    ):
        loop = PullLoop(
            policy,
            game,
            executor,
            reward=lambda outcome: float(outcome.test_scores),
            log=log,
            problem=problem,
            window=window,
            known=known,
            observer=observer or PullObserver(),
        )
        if watch is not None:
            loop.observer = Spy(lambda pull: watch(loop, pull))
        loop.run()
    return game, log


@dataclass(frozen=True)
class Capricious:
    """What it asks for next depends on everything it was told, in that order."""

    n_pulls: int = 40
    most_at_once: int = 2
    order_free: ClassVar[bool] = False

    def plan(self, problem: Problem) -> Plan:
        return open_plan(problem, self.n_pulls)

    def start(self, problem: Problem, seed: Any = None) -> Trail:
        return Trail(self, np.zeros(problem.n_arms, dtype=int))


@dataclass
class Trail:
    policy: Any
    n_pulls: np.ndarray
    told: list[tuple[Pull, float]] = field(default_factory=list)
    asks: list[tuple[int, list[Pull]]] = field(default_factory=list)

    @property
    def is_finished(self) -> bool:
        return len(self.told) >= self.policy.n_pulls

    def ask(self, max_pulls: int) -> list[Pull]:
        pulls = []
        for _ in range(min(self.policy.most_at_once, max_pulls)):
            digest = hash((len(self.asks), tuple(reward for _, reward in self.told)))
            arm = digest % len(self.n_pulls)
            pulls.append(Pull(arm, 1, int(self.n_pulls[arm])))
            self.n_pulls[arm] += 1
        self.asks.append((len(self.told), pulls))
        return pulls

    def tell(self, pull: Pull, reward: float) -> None:
        self.told.append((pull, reward))

    def out(self) -> list[int]:
        return []

    def recommend(self) -> int:
        return 0


def slow_task(n_arms: int = 6, seconds: float = 0.002) -> EvaluationTask:
    """Return a task whose pulls come back in an order that nobody can foresee."""
    estimator = Known(seconds=seconds, tail=1.2)
    return make_task(estimator, np.arange(n_arms) / 7, n_splits=60, n_rows=120)


@pytest.mark.parametrize("window", [1, 4, None])
def test_an_order_sensitive_policy_decides_alike_everywhere(window: int | None) -> None:
    task = slow_task()
    trails, logs = [], []
    for backend, n_jobs in BACKENDS:
        game, log = run(Capricious(), task, backend=backend, n_jobs=n_jobs, window=window)
        trails.append(game)
        logs.append(set(log.outcomes))
    assert len(trails[0].told) == 40
    for trail, pulled in zip(trails[1:], logs[1:], strict=True):
        assert trail.asks == trails[0].asks
        assert trail.told == trails[0].told
        assert pulled == logs[0], "what was paid for is in the log, told or not"


@pytest.mark.parametrize(("backend", "n_jobs"), BACKENDS)
def test_pulls_left_open_by_a_policy_that_stops_are_waited_for(backend: str, n_jobs: int) -> None:
    game, log = run(Capricious(n_pulls=5), slow_task(), backend=backend, n_jobs=n_jobs)
    asked = [pull for _, pulls in game.asks for pull in pulls]
    assert len(game.told) == 5
    assert sorted(log.outcomes) == sorted(asked)
    assert len(asked) > 5


@dataclass(frozen=True)
class Astray(Capricious):
    """Asks for the same pull again and again, or for none at all."""

    pull: Pull | None = None

    def start(self, problem: Problem, seed: Any = None) -> Trail:
        return AstrayGame(self, np.zeros(problem.n_arms, dtype=int))


class AstrayGame(Trail):
    def ask(self, max_pulls: int) -> list[Pull]:
        return [] if self.policy.pull is None else [self.policy.pull]


@pytest.mark.parametrize(
    ("pull", "message"),
    [
        (Pull(10**6, 1, 0), "must ask for arms from 0 to 5, got 1000000 from"),
        (Pull(0, 0, 0), "must ask for levels from 1 to 9, got"),
        (Pull(0, 10, 0), "must ask for levels from 1 to 9, got"),
        (Pull(0, 1, -1), "must ask for repetitions from 0 to 59, got"),
        (Pull(0, 1, 60), "must ask for repetitions from 0 to 59, got"),
    ],
)
def test_a_policy_may_only_ask_for_what_there_is(pull: Pull, message: str) -> None:
    log = PullLog()
    with pytest.raises(ValueError, match=message):
        run(Astray(pull=pull), slow_task(), log=log)
    assert log.outcomes == {}


def threads_of_blas() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@dataclass(frozen=True)
class Watching(Capricious):
    """Looks how many threads BLAS has while it decides."""

    seen: list[set[int]] = field(default_factory=list)

    def start(self, problem: Problem, seed: Any = None) -> Trail:
        return WatchingGame(self, np.zeros(problem.n_arms, dtype=int))


class WatchingGame(Trail):
    def ask(self, max_pulls: int) -> list[Pull]:
        self.policy.seen.append(threads_of_blas())
        return super().ask(max_pulls)

    def tell(self, pull: Pull, reward: float) -> None:
        self.policy.seen.append(threads_of_blas())
        super().tell(pull, reward)


SHARE = min(2, max(1, cpu_count() // 2))
"""Threads of BLAS for each of two workers."""


@pytest.mark.parametrize(
    ("backend", "n_jobs", "deciding", "between"),
    [("sequential", 1, 1, 2), ("loky", 2, 1, 2), ("threading", 2, SHARE, SHARE)],
)
def test_policies_decide_with_one_thread_unless_fits_are_threads_of_this_process(
    backend: str, n_jobs: int, deciding: int, between: int
) -> None:
    policy, in_fits = Watching(n_pulls=4), []
    with threadpool_limits(2, "blas"):
        run(
            policy,
            slow_task(),
            backend=backend,
            n_jobs=n_jobs,
            watch=lambda loop, pull: in_fits.append(threads_of_blas()),
        )
    assert len(policy.seen) >= 8
    assert all(seen == {deciding} for seen in policy.seen)
    assert all(seen == {between} for seen in in_fits)


@pytest.mark.walk
@pytest.mark.parametrize(("backend", "n_jobs"), BACKENDS)
@pytest.mark.parametrize(
    ("policy", "message"),
    [(Astray(), "asks for no pull"), (Astray(pull=Pull(0, 1, 0)), "a second time")],
)
def test_a_mistake_in_a_policy_is_an_error_not_a_hang(
    policy: Capricious, message: str, backend: str, n_jobs: int
) -> None:
    with pytest.raises(RuntimeError, match=message):
        run(policy, slow_task(), backend=backend, n_jobs=n_jobs)


# ------------------------------------------------------- Hyperband, order-free, with models


def hyperband_task(estimator: Known, n_splits: int = 2, **options: Any) -> EvaluationTask:
    n_arms = Hyperband().plan(Problem(max_level=9)).n_arms  # brackets of 9, 5 and 3 arms
    qualities = np.random.default_rng(1).permutation(n_arms)
    return make_task(estimator, qualities, n_splits=n_splits, **options)


@pytest.mark.walk
@pytest.mark.parametrize("pre_dispatch", ["all", "2*n_jobs", "n_jobs", 1])
@pytest.mark.parametrize(("backend", "n_jobs"), [*BACKENDS, ("multiprocessing", 2)])
def test_every_backend_finds_the_same(backend: str, n_jobs: int, pre_dispatch: int | str) -> None:
    task = hyperband_task(Known())
    game, log = run(Hyperband(), task, backend=backend, n_jobs=n_jobs, pre_dispatch=pre_dispatch)
    expected_game, expected = run(Hyperband(), task)
    assert game.recommend() == expected_game.recommend()
    assert scores(log) == scores(expected)
    assert levels(log) == levels(expected)


def scores(log: PullLog) -> dict[Pull, Any]:
    return {pull: outcome.test_scores for pull, outcome in log.outcomes.items()}


def levels(log: PullLog) -> dict[Pull, int]:
    return {pull: outcome.previous_level for pull, outcome in log.outcomes.items()}


@pytest.mark.parametrize(("backend", "n_jobs"), BACKENDS)
def test_models_are_held_for_survivors_only(backend: str, n_jobs: int) -> None:
    n_splits, sizes = 3, []
    plan = Hyperband().plan(Problem(max_level=9))

    def watch(loop: PullLoop, pull: Pull) -> None:
        alive = ~loop.game.out()
        sizes.append(len(loop.models))
        assert len(loop.models) <= alive.sum() * n_splits
        # The last bracket is one rung at the top: nothing comes after it.
        assert not any(plan.bracket_of_arm(arm) == 2 for arm, _ in loop.models)

    task = hyperband_task(Known(), n_splits=n_splits)
    run(Hyperband(), task, backend=backend, n_jobs=n_jobs, watch=watch)
    assert max(sizes) > 0
    assert sizes[-1] == 0


@pytest.mark.parametrize(("backend", "n_jobs"), BACKENDS)
def test_continued_models_are_those_of_the_same_arm_and_split(backend: str, n_jobs: int) -> None:
    """`Known` itself refuses to go on from another level; large arrays must be writable."""
    ballast = 200_000  # 1.6 MB: above joblib's limit for read-only maps
    _, log = run(
        Hyperband(), hyperband_task(Known(ballast=ballast)), backend=backend, n_jobs=n_jobs
    )
    assert all(outcome.error is None for outcome in log.outcomes.values())
    levels_of: dict[tuple[int, int], list[int]] = {}
    for pull in sorted(log.outcomes):
        seen = levels_of.setdefault((pull.arm, pull.repetition), [0])
        assert log.outcomes[pull].previous_level == seen[-1]
        seen.append(pull.level)
    spent = sum(p.level - o.previous_level for p, o in log.outcomes.items())
    # 9 + 3 * (3 - 1) + 1 * (9 - 3), then 5 * 3 + 1 * (9 - 3), then 3 * 9; two splits
    assert spent == 2 * (21 + 21 + 27)


@pytest.mark.parametrize("name", ["Unpicklable", "Lossy"])
def test_a_model_that_cannot_travel_costs_a_refit_not_the_search(name: str) -> None:
    import doubles

    task = hyperband_task(getattr(doubles, name)())
    _, log = run(Hyperband(), task, backend="loky", n_jobs=2)
    _, expected = run(Hyperband(), hyperband_task(Known()))
    assert scores(log) == scores(expected)
    assert all(outcome.error is None for outcome in log.outcomes.values())
    assert {outcome.previous_level for outcome in log.outcomes.values()} == {0}
    n_to_go_on = sum(pull.level < 9 for pull in log.outcomes)
    if name == "Unpicklable":
        assert len(log.lost_models) == n_to_go_on
    else:  # those of candidates that were dropped were never read
        assert len(log.lost_models) == sum(pull.level > 1 for pull in log.outcomes) - 2 * 5 - 2 * 3
    assert all("Error" in text for text in log.lost_models)


def test_threads_hand_over_models_that_cannot_be_pickled() -> None:
    _, log = run(Hyperband(), hyperband_task(Unpicklable()), backend="threading", n_jobs=2)
    assert {outcome.previous_level for outcome in log.outcomes.values()} == {0, 1, 3}
    assert log.lost_models == []


@pytest.mark.parametrize(("backend", "n_jobs"), BACKENDS)
def test_a_failed_level_is_followed_by_a_fit_from_scratch(backend: str, n_jobs: int) -> None:
    task = hyperband_task(Known(fails_at=2))
    _, log = run(Hyperband(), task, backend=backend, n_jobs=n_jobs)
    for pull, outcome in log.outcomes.items():
        assert (outcome.error is not None) == (pull.level > 2)
        assert np.isnan(outcome.test_scores) == (pull.level > 2)


@pytest.mark.parametrize(("backend", "n_jobs"), BACKENDS)
def test_an_exception_of_the_scorer_leaves_what_came_before_in_the_log(
    backend: str, n_jobs: int
) -> None:
    qualities = np.arange(17.0)
    qualities[8] = -1  # the ninth of the first rung
    task = make_task(
        Known(),
        qualities,
        scorer=fails_for_negative_quality,
        error_score="raise",
    )
    log = PullLog()
    with pytest.raises(ZeroDivisionError, match="the scorer fails") as info:
        run(Hyperband(), task, backend=backend, n_jobs=n_jobs, log=log)
    assert len(log.outcomes) >= 4
    assert all(pull.arm != 8 for pull in log.outcomes)
    if backend == "loky":
        assert "fails_for_negative_quality" in info.value.__notes__[0]


def test_after_an_error_outside_of_the_fits_the_other_known_fits_count() -> None:
    task = hyperband_task(Known())
    _, whole = run(Hyperband(), task)
    of_later_brackets = [o for pull, o in whole.outcomes.items() if pull.arm >= 9]
    assert len({outcome.pull.level for outcome in of_later_brackets}) > 1
    log = PullLog()
    store = FitStore()
    store.begin(SearchRecord({}, 0))
    for outcome in of_later_brackets:
        known = KnownFits(task, store, {})
        known.keep(known.key(outcome.pull, outcome.levels[:-1]), outcome)
    known = KnownFits(task, store, store.outcomes)
    with pytest.raises(ZeroDivisionError):
        run(Hyperband(), task, log=log, known=known, observer=Broken())
    assert log.outcomes.keys() >= {outcome.pull for outcome in of_later_brackets}
