"""Every private name of joblib that the package uses, and joblib's backends in one session.

Each has a line that says why it is needed, and when it can go, as in `_unstable_imports`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from functools import partial
from typing import Any

# Batches of calls with the nested backend set, as the `submit` of joblib's backends expects
# them. Undocumented, though without underscore. Goes when joblib can add tasks to a running
# call (a generator that waits for a result starves: joblib holds its lock).
from joblib.parallel import BatchedCalls

try:  # joblib >= 1.6 no longer vendors it and depends on it instead
    import cloudpickle
except ImportError:  # pragma: no cover - depends on the joblib that is installed
    from joblib.externals import cloudpickle

__all__ = [
    "BatchedCalls",
    "JoblibSession",
    "LostWorkerError",
    "cloudpickle",
    "evaluated_pre_dispatch",
]

ABORT_SECONDS = 0.1
"""How long after the last submission an abort is safe."""


def evaluated_pre_dispatch(pre_dispatch: int | str, n_jobs: int) -> int | None:
    """Return the number that ``pre_dispatch`` stands for; None for ``"all"``."""
    if pre_dispatch == "all":
        return None
    if isinstance(pre_dispatch, str):
        # joblib's own reader of expressions such as "2*n_jobs"; has no public name.
        from joblib._utils import eval_expr

        return max(1, int(eval_expr(pre_dispatch.replace("n_jobs", str(n_jobs)))))
    return max(1, int(pre_dispatch))


class LostWorkerError(Exception):
    """A worker is gone, and with it what it was doing.

    Parameters
    ----------
    error : BaseException
        What the backend raised.
    is_broken : bool
        Whether the session takes nothing more until it is opened anew.
    """

    def __init__(self, error: BaseException, is_broken: bool) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error
        self.is_broken = is_broken


# What Dask raises, by name, when a worker is gone or has taken with it the data it held;
# after that the cluster works on with those that are left.
DASK_LOSSES = {"KilledWorker", "CancelledError", "FutureCancelledError", "FuturesCancelledError"}


def _loss(error: BaseException) -> LostWorkerError | None:
    """Return what an error of a backend says of lost workers; None if it says nothing."""
    names = {kind.__name__ for kind in type(error).__mro__}
    modules = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if isinstance(error, BrokenExecutor) or "ShutdownExecutorError" in names:
        return LostWorkerError(error, is_broken=True)
    if names & DASK_LOSSES:
        return LostWorkerError(error, is_broken=False)
    if "ray" in modules and "RayTaskError" not in names:
        return LostWorkerError(error, is_broken=True)
    return None


class JoblibSession:
    """joblib's active backend, opened for single submissions.

    Uses the methods that joblib documents for authors of backends (``submit``,
    ``retrieve_result_callback``, ``start_call``, ``abort_everything``) through the private
    attribute ``Parallel._backend``. Goes when joblib can add tasks to a running call. A
    backend without these is given its tasks in one call of `joblib.Parallel` at each `flush`.

    Parameters
    ----------
    n_jobs : int or None
        As for `joblib.Parallel`.
    """

    def __init__(self, n_jobs: int | None) -> None:
        self._n_jobs = n_jobs
        self._last_submit = -ABORT_SECONDS

    def __enter__(self) -> JoblibSession:
        # scikit-learn's Parallel would warn that the tasks are not made by its `delayed`;
        # the workers restore its configuration themselves.
        from joblib import Parallel

        self._parallel = Parallel(n_jobs=self._n_jobs)
        self._is_aborted = False
        self._gathered: list[tuple[Any, Callable[[Any], None]]] = []
        self._parallel.__enter__()
        self._backend = self._parallel._backend
        self.n_workers = max(1, int(self._parallel._effective_n_jobs()))
        if self._takes_single_tasks:
            self._parallel._calling = True
            self._backend.start_call()
        self._processes = self._pool_processes()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if error[0] is not None and self._takes_single_tasks and not self._is_aborted:
                self.abort()
        finally:
            self._parallel.__exit__(*error)

    def reopen(self) -> None:
        """Give up what is running, and start with new workers."""
        error = RuntimeError("opened anew")
        with suppress(Exception):  # of a backend that is broken already
            self.__exit__(type(error), error, None)
        self.__enter__()

    @property
    def _takes_single_tasks(self) -> bool:
        return bool(self._backend.supports_retrieve_callback)

    @property
    def can_submit(self) -> bool:
        """Whether there are workers, other than the caller, to submit to."""
        return self._takes_single_tasks or self.n_workers > 1

    @property
    def shares_memory(self) -> bool:
        """Whether the workers are threads of this process."""
        return bool(getattr(self._backend, "supports_sharedmem", False))

    @property
    def library(self) -> str:
        """The package that the backend comes from: ``"joblib"``, ``"ray"`` or another."""
        if type(self._backend).__name__ == "DaskDistributedBackend":
            return "dask"
        return type(self._backend).__module__.partition(".")[0]

    @property
    def client(self) -> Any:
        """The client of Dask's backend."""
        return self._backend.client

    def submit(
        self, function: Callable[..., Any], arguments: list[Any], done: Callable[[Any], None]
    ) -> None:
        """Run ``function(*arguments)`` in a worker; ``done(handle)`` comes from a thread.

        Raises LostWorkerError if the workers are gone.
        """
        if not self._takes_single_tasks:
            self._gathered.append(((function, arguments, {}), done))
            return
        calls = BatchedCalls(
            [(function, arguments, {})],
            self._backend.get_nested_backend(),
            self._set_temporary_folder,
            {},
        )
        self._last_submit = time.monotonic()
        done = _once(done)
        try:
            future = self._backend.submit(calls, callback=done)
        except Exception as error:
            loss = _loss(error)
            if loss is None:
                raise
            raise loss from None
        if hasattr(future, "add_done_callback"):
            # Dask's backend calls nobody when it gives a task up (joblib 1.6).
            future.add_done_callback(partial(_tell_error, done))

    def flush(self) -> None:
        """Run what was submitted, where the backend takes its tasks together; else do nothing."""
        gathered, self._gathered = self._gathered, []
        if not gathered:
            return
        values: list[Any] = self._parallel(task for task, _ in gathered)
        for value, (_, done) in zip(values, gathered, strict=True):
            done([value])

    def result(self, handle: Any) -> Any:
        """Return what the function returned, or raise what it raised.

        Raises LostWorkerError if it came to no end.
        """
        try:
            if isinstance(handle, BaseException):
                # Ray wraps what was raised besides the task, as where it cannot be unpickled.
                raise getattr(handle, "underlying", handle)
            if not self._takes_single_tasks:
                return handle[0]
            with self._backend.retrieval_context():
                (value,) = self._backend.retrieve_result_callback(handle)
        except BaseException as error:
            loss = _loss(error) or (error.__context__ and _loss(error.__context__))
            if loss is None:
                raise
            raise loss from None
        return value

    def has_lost_workers(self) -> bool:
        """Whether a process of the pool was replaced, whose task nobody will hear of again."""
        return self._pool_processes() != self._processes

    def _pool_processes(self) -> list[int]:
        """Return the processes of the backend "multiprocessing"; others say what they lose."""
        processes = getattr(getattr(self._backend, "_pool", None), "_pool", None) or ()
        return sorted(p.pid for p in processes if hasattr(p, "pid") and p.exitcode is None)

    def abort(self) -> None:
        """Stop the running tasks."""
        self._is_aborted = True
        # A thread of loky's stumbles over what it is given in the moment before the abort, and
        # prints a KeyError (process_executor.py, add_call_item_to_queue; joblib 1.6).
        time.sleep(max(0.0, self._last_submit + ABORT_SECONDS - time.monotonic()))
        if self.library == "dask":
            # Its backend forgets the tasks, but the cluster would run them (joblib 1.6).
            self.client.cancel(list(getattr(self._backend, "_results", ())), force=True)
        self._backend.abort_everything(ensure_ready=False)

    def _set_temporary_folder(self) -> None:
        """Let loky write memory maps to the folder of this session, which it then removes."""
        workers = getattr(self._backend, "_workers", None)
        manager = getattr(workers, "_temp_folder_manager", None)
        if manager is not None:
            manager.set_current_context(self._parallel._id)


def _once(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a function of which the first call counts."""
    calls = itertools.count()

    def first(value: Any) -> None:
        if next(calls) == 0:
            function(value)

    return first


def _tell_error(done: Callable[[Any], None], future: Any) -> None:
    if not future.cancelled() and future.exception() is not None:
        done(future.exception())
