"""Workers that die and fits that are ended: the others come back as if nothing had been."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from joblib import parallel_config
from joblib.externals.loky import reusable_executor

from doubles import Faulty, Known, fails_for_negative_quality, make_task
from execution.running import QUALITIES, check_faults, outcomes_of
from scripts import run_script
from sklearn_halving._unstable_joblib import LostWorkerError
from sklearn_halving.execution._types import NO_LIMITS, Job, PullLimits, Result
from sklearn_halving.execution.workers import _executors, _limits
from sklearn_halving.execution.workers._executors import open_executor
from sklearn_halving.policies import Pull

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="has no limit of memory")

IN_TIME = PullLimits(seconds=2.0)


# ------------------------------------------------------------------------- dying workers


@pytest.mark.parametrize(
    "backend", ["loky", pytest.param("multiprocessing", marks=pytest.mark.full)]
)
def test_what_kills_its_worker_fails_alone(backend: str) -> None:
    with parallel_config(backend):
        found = check_faults({8.0: "kill"}, {8.0: "signal 9, SIGKILL"})
    assert f"{_limits.MAX_DEATHS} times" in str(found[7].error)


@on_linux
def test_a_crash_is_repeated_once_and_loses_the_workers_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loss of a pool takes seconds, and so does the start of a process for a fit."""
    losses = []
    recover = _executors.JoblibExecutor._recover

    def counted(self: _executors.JoblibExecutor, loss: LostWorkerError) -> list[Result]:
        losses.append(loss)
        return recover(self, loss)

    monkeypatch.setattr(_executors.JoblibExecutor, "_recover", counted)
    crashing = dict.fromkeys(QUALITIES[4:7], "crash")
    with parallel_config("loky"):
        found = check_faults(crashing, dict.fromkeys(crashing, "(signal 11, SIGSEGV)."))
    assert len(losses) == 1
    assert {outcome.kind for outcome in found.values()} == {"ok", "lost"}


def kill_a_worker() -> bool:
    """Kill a worker of loky; return False if its pool has just lost one and ends the others."""
    try:
        os.kill(next(iter(reusable_executor._executor._processes)), signal.SIGKILL)
    except (ProcessLookupError, StopIteration):
        return False
    return True


@pytest.mark.slow
def test_workers_that_do_nothing_but_die_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_executors, "MAX_IN_VAIN", 1)
    task = make_task(Known(seconds=20.0), QUALITIES)

    def kill_again_and_again() -> None:
        with parallel_config("loky"), open_executor(task, 2, "2*n_jobs") as executor:
            executor.submit(Job(Pull(0, 1, 0)))
            while True:
                executor.wait_any(timeout=0.3)
                kill_a_worker()

    with pytest.raises(RuntimeError, match="lost 2 times in a row"):
        kill_again_and_again()


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("limits", [NO_LIMITS, PullLimits(seconds=60.0)])
def test_models_that_are_trained_on_survive(limits: PullLimits) -> None:
    task = make_task(Faulty(faults={8.0: "kill"}), QUALITIES)
    with parallel_config("loky"), open_executor(task, 2, "2*n_jobs", limits) as executor:
        for arm in range(6):
            executor.submit(Job(Pull(arm, 1, 0), keep_model=True))
        models: list[Result] = []
        while len(models) < 6:
            models += executor.wait_any()
        executor.submit(Job(Pull(7, 1, 0)))
        for landing in models:
            executor.submit(Job(Pull(landing.outcome.pull.arm, 9, 0), landing.model, (1,)))
        continued: list[Result] = []
        while len(continued) < 7:
            continued += executor.wait_any()
    for outcome in (landing.outcome for landing in continued):
        if outcome.pull.arm == 7:
            assert "SIGKILL" in str(outcome.error)
        else:
            assert outcome.previous_level == 1
            assert outcome.test_scores == QUALITIES[outcome.pull.arm] - 1 / 9


# -------------------------------------------------------------------------------- limits


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "n_jobs"),
    [("loky", None), ("loky", 2), ("threading", 2), ("multiprocessing", 2)],
)
def test_a_fit_that_hangs_or_kills_is_ended_under_every_backend(
    backend: str, n_jobs: int | None
) -> None:
    words = {8.0: "TimeoutError: The fit took longer than fit_timeout=2.0", 10.0: "KILL"}
    with parallel_config(backend):
        found = check_faults({8.0: "hang in C", 10.0: "kill"}, words, n_jobs, IN_TIME)
    assert found[7].fit_seconds >= 2.0


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        ("hang", TimeoutError, r"fit_timeout=2\.0"),
        pytest.param("kill", ChildProcessError, "SIGKILL", marks=pytest.mark.full),
    ],
)
def test_a_fit_that_is_ended_is_an_error_if_errors_are_raised(
    fault: str, error: type[Exception], words: str
) -> None:
    task = make_task(Faulty(faults={2.0: fault}), QUALITIES, error_score="raise")
    with pytest.raises(error, match=words) as info:
        outcomes_of(task, None, IN_TIME)
    assert "candidate 1 at n_resources=1, split 0: {'quality': 2.0}" in info.value.__notes__[0]


@on_linux
@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.full)])
def test_memory_beyond_the_limit_is_an_error_of_that_fit(n_jobs: int | None) -> None:
    limits = PullLimits(memory=2**30)
    with parallel_config("threading"):
        check_faults({8.0: "memory"}, {8.0: "MemoryError"}, n_jobs, limits)


def test_a_limit_of_memory_where_there_is_none_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = make_task(Known(), QUALITIES)
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ValueError, match="memory_limit must be None on this platform"):
        outcomes_of(task, 2, PullLimits(memory=10))


class Exits(Known):
    """Calls ``sys.exit`` in a fit."""

    def train_to(self, level: int, previous_level: int, n_rows: int = 0) -> Exits:
        sys.exit("no licence")


class OddError(Exception):
    """Cannot be unpickled."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(text)


class RaisesOddly(Known):
    """Raises an exception that cannot be unpickled."""

    def train_to(self, level: int, previous_level: int, n_rows: int = 0) -> RaisesOddly:
        raise OddError("odd", 1)


@pytest.mark.walk
@pytest.mark.parametrize(
    ("n_jobs", "limits"), [(None, NO_LIMITS), (2, NO_LIMITS), (None, IN_TIME)]
)
@pytest.mark.parametrize(("estimator", "words"), [(Exits(), "licence"), (RaisesOddly(), "odd")])
def test_an_exit_and_an_odd_exception_are_failed_fits(
    estimator: Known, words: str, n_jobs: int | None, limits: PullLimits
) -> None:
    (outcome,) = outcomes_of(make_task(estimator, [1.0]), n_jobs, limits).values()
    assert words in str(outcome.error)
    with pytest.raises((RuntimeError, OddError), match=words):
        outcomes_of(make_task(estimator, [1.0], error_score="raise"), n_jobs, limits)


def test_an_exception_is_raised_with_the_traceback_of_its_process() -> None:
    task = make_task(Known(), [1.0, -1.0], scorer=fails_for_negative_quality, error_score="raise")
    with pytest.raises(ZeroDivisionError, match="the scorer fails") as info:
        outcomes_of(task, None, IN_TIME)
    assert "fails_for_negative_quality" in info.value.__notes__[0]


# ----------------------------------------------------------------- processes that are killed


def test_no_process_outlives_its_search() -> None:
    task = make_task(Faulty(faults={3.0: "raise"}), QUALITIES, error_score="raise")
    started: list[_limits.FitProcess] = []

    def pull_until_it_fails() -> None:
        with open_executor(task, None, "2*n_jobs", IN_TIME) as executor:
            for arm in range(3):
                executor.submit(Job(Pull(arm, 1, 0)))
            while True:
                executor.wait_any()
                started[:] = _limits.PROCESSES.processes

    with pytest.raises(ValueError, match="a fault"):
        pull_until_it_fails()
    assert len(started) == 1
    assert not started[0].is_running
    assert _limits.PROCESSES.processes == []


STOPPED = """
import os, signal, subprocess, sys
from doubles import Known, make_task
from sklearn_halving.execution._types import Job, PullLimits
from sklearn_halving.execution.workers._executors import open_executor
from sklearn_halving.policies import Pull

class StopsAll(Known):
    def train_to(self, level, previous_level, n_rows=0):
        wake = "import os, signal, time; time.sleep(5); os.killpg({}, signal.SIGCONT)"
        group = os.getpgid(0)
        subprocess.Popen([sys.executable, "-c", wake.format(group)], start_new_session=True)
        os.killpg(group, signal.SIGSTOP)
        return super().train_to(level, previous_level, n_rows)

os.setpgid(0, 0)
with open_executor(make_task(StopsAll(), [1.0]), None, 1, PullLimits(seconds=4)) as executor:
    executor.submit(Job(Pull(0, 1, 0)))
    print(executor.wait_any()[0].outcome.error)
"""


@pytest.mark.full
@pytest.mark.slow
@on_linux
def test_a_stopped_process_is_not_a_slow_one(tmp_path: Path) -> None:
    """As by Ctrl-Z in a terminal, for longer than the limit."""
    done = run_script(tmp_path, STOPPED, temp_folder=tmp_path)
    assert done.stdout.strip() == "None", done


ORPHANED = """
import os, signal, threading, time
from doubles import Faulty, make_task
from sklearn_halving.execution._types import Job, PullLimits
from sklearn_halving.execution.workers import _limits
from sklearn_halving.execution.workers._executors import open_executor
from sklearn_halving.policies import Pull

def end():
    while not _limits.PROCESSES.processes:
        time.sleep(0.01)
    time.sleep(0.5)
    print(_limits.PROCESSES.processes[0]._process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=end, daemon=True).start()
task = make_task(Faulty(faults={1.0: "hang"}), [1.0])
with open_executor(task, None, 1, PullLimits(seconds=100)) as executor:
    executor.submit(Job(Pull(0, 1, 0)))
    executor.wait_any()
"""


@pytest.mark.slow
@on_linux
def test_the_process_of_a_fit_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    done = run_script(tmp_path, ORPHANED, temp_folder=tmp_path)
    assert done.stdout, done.stderr
    process = Path("/proc", done.stdout.strip())
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.exists():
        time.sleep(0.02)
    assert not process.exists()
