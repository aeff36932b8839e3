"""All private names of joblib that the package uses, and a session with joblib's backends.

A comment on each name says why it is needed and when it can be removed, as in
`_unstable_imports`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import BrokenExecutor, Future
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import joblib

# A batch of calls with the nested backend, as the `submit` of joblib's backends expects it. It
# is not documented, although its name has no underscore. Can be removed when joblib can add
# tasks to a running call. (A generator of tasks cannot wait for a result, because joblib holds
# its lock.)
from joblib.parallel import BatchedCalls

try:  # joblib >= 1.6 depends on cloudpickle and does not vendor it
    import cloudpickle
except ImportError:  # pragma: no cover - depends on the joblib that is installed
    from joblib.externals import cloudpickle

ABORT_SECONDS = 0.1
"""Seconds after the last submission until an abort is safe."""
CANCEL_SECONDS = 2.0
"""Longest wait until Dask's scheduler has cancelled tasks. It may not answer at all."""


def evaluated_pre_dispatch(pre_dispatch: int | str, n_jobs: int) -> int | None:
    """Return ``pre_dispatch`` as a number; None for ``"all"``."""
    if pre_dispatch == "all":
        return None
    if isinstance(pre_dispatch, str):
        # joblib's parser of expressions such as "2*n_jobs". It has no public name.
        from joblib._utils import eval_expr

        return max(1, int(eval_expr(pre_dispatch.replace("n_jobs", str(n_jobs)))))
    return max(1, int(pre_dispatch))


def count_workers(n_jobs: int | None) -> int:
    """Return the number of workers of joblib's active backend; refuse an asynchronous client."""
    backend, _ = joblib.parallel.get_active_backend()
    if getattr(getattr(backend, "client", None), "asynchronous", False):
        raise ValueError("The client of Dask must have asynchronous=False, got True.")
    return int(joblib.effective_n_jobs(n_jobs))


class LostWorkerError(Exception):
    """A worker died, and the results of its tasks are lost.

    Parameters
    ----------
    error : BaseException
        The exception of the backend.
    is_broken : bool
        Whether the session must be reopened before it accepts further tasks.
    """

    def __init__(self, error: BaseException, is_broken: bool) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error
        self.is_broken = is_broken


# Names of the exceptions that Dask raises if a worker is lost, or the data on it. The cluster
# continues with the remaining workers.
DASK_LOSSES = {"KilledWorker", "CancelledError", "FutureCancelledError", "FuturesCancelledError"}


def _loss(error: BaseException) -> LostWorkerError | None:
    """Return the LostWorkerError for an error of a backend; None if no worker was lost."""
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
    """joblib's active backend, opened so that single tasks can be submitted.

    The session uses the methods that joblib documents for authors of backends (``submit``,
    ``retrieve_result_callback``, ``start_call``, ``abort_everything``) through the private
    attribute ``Parallel._backend``. It can be removed when joblib can add tasks to a running
    call. For a backend without these methods, each `flush` runs all submitted tasks in one call
    of `joblib.Parallel`.

    Parameters
    ----------
    n_jobs : int or None
        As for `joblib.Parallel`.
    """

    def __init__(self, n_jobs: int | None) -> None:
        self._n_jobs = n_jobs
        self._last_submit = -ABORT_SECONDS

    def __enter__(self) -> JoblibSession:
        self._open()
        # A task of Dask that waits gives up its place, which its own tasks may need.
        is_apart = self.takes_single_tasks
        self._waiting = self._backend.retrieval_context() if is_apart else nullcontext()
        self._waiting.__enter__()
        return self

    def _open(self) -> None:
        # scikit-learn's Parallel is not used: it warns about tasks that are not created with
        # its `delayed`. The workers set scikit-learn's configuration themselves.
        self._parallel = joblib.Parallel(n_jobs=self._n_jobs)
        self._is_aborted = False
        self._gathered: list[tuple[object, Callable[[object], None]]] = []
        self._parallel.__enter__()
        self._backend = self._parallel._backend
        self.n_workers = max(1, int(self._parallel._effective_n_jobs()))
        if self.takes_single_tasks:
            self._parallel._calling = True
            self._backend.start_call()
        self._processes = self._pool_processes()

    def __exit__(self, *error: object) -> None:
        try:
            self._close(*error)
        finally:
            self._waiting.__exit__(*error)

    def _close(self, *error: object) -> None:
        try:
            if error[0] is not None and self.takes_single_tasks and not self._is_aborted:
                self.abort()
        finally:
            self._parallel.__exit__(*error)

    def reopen(self) -> None:
        """Abandon the running tasks and start new workers."""
        error = RuntimeError("opened anew")
        if self._has_lost_manager():  # which would end the processes of loky
            for process in list(self._backend._workers._processes.values()):
                process.terminate()
        with suppress(Exception):  # the backend is already broken
            self._close(type(error), error, None)
        self._open()

    @property
    def takes_single_tasks(self) -> bool:
        """Whether tasks run when they are submitted, and not all together in `flush`."""
        return bool(self._backend.supports_retrieve_callback)

    @property
    def can_submit(self) -> bool:
        """Whether tasks can be submitted to workers other than the caller."""
        return self.takes_single_tasks or self.n_workers > 1

    @property
    def shares_memory(self) -> bool:
        """Whether the workers are threads of this process."""
        return bool(getattr(self._backend, "supports_sharedmem", False))

    @property
    def uses_threads(self) -> bool:
        """Whether tasks run in threads of this process, possibly as workers of a Dask cluster."""
        if self.library != "dask":
            return self.shares_memory
        return str(getattr(self.client.scheduler, "address", "")).startswith("inproc:")

    def threads_of_fit(self, limit: int | None) -> int | None:
        """Return the number of threads of a fit: its share of the cores; None if that is all.

        ``limit`` is the number of threads of the fit that this search is part of.
        """
        if inner := getattr(self._backend, "inner_max_num_threads", None):
            return int(inner)
        if limit is None and self._backend.nesting_level:
            # In a worker of loky, joblib has set the variable. Otherwise it is not known how many
            # workers there are. OpenMP also allows a list.
            limit = int(os.environ.get("OMP_NUM_THREADS", "1").partition(",")[0])
        if not self.can_submit:
            return limit
        if self.library != "joblib":  # clusters give each task one core
            return 1
        return max(1, (limit or joblib.cpu_count()) // self.n_workers)

    @property
    def library(self) -> str:
        """The package of the backend, such as ``"joblib"``, ``"dask"`` or ``"ray"``."""
        if type(self._backend).__name__ == "DaskDistributedBackend":
            return "dask"
        return type(self._backend).__module__.partition(".")[0]

    @property
    def client(self) -> Any:
        """The client of Dask's backend."""
        return self._backend.client

    def submit(
        self,
        function: Callable[..., object],
        arguments: list[object],
        done: Callable[[object], None],
    ) -> None:
        """Run ``function(*arguments)`` in a worker; a thread then calls ``done(handle)``.

        On Dask, it may call it a second time after an error.
        Raises LostWorkerError if the workers are lost.
        """
        if not self.takes_single_tasks:
            self._gathered.append(((function, arguments, {}), done))
            return
        calls = BatchedCalls(
            [(function, arguments, {})],
            self._backend.get_nested_backend(),
            self._set_temporary_folder,
            {},
        )
        self._last_submit = time.monotonic()
        try:
            future = self._backend.submit(calls, callback=done)
        except Exception as error:
            loss = _loss(error)
            if loss is None:
                raise
            raise loss from None
        if self.library == "dask":
            # Dask's backend does not call `done` if it gives up a task (joblib 1.6).
            future.add_done_callback(partial(_tell_error, done))

    def flush(self) -> None:
        """Run the submitted tasks if the backend does not accept single tasks."""
        gathered, self._gathered = self._gathered, []
        if not gathered:
            return
        values: list[object] = self._parallel(task for task, _ in gathered)
        for value, (_, done) in zip(values, gathered, strict=True):
            done([value])

    def result(self, handle: Any) -> Any:
        """Return the value of the function, or raise its exception.

        Raises LostWorkerError if the function did not finish.
        """
        try:
            if isinstance(handle, BaseException):
                # Ray wraps errors outside the task, such as a task that cannot be unpickled.
                raise getattr(handle, "underlying", handle)
            if not self.takes_single_tasks:
                return handle[0]
            (value,) = self._backend.retrieve_result_callback(handle)
        except BaseException as error:
            loss = _loss(error) or (error.__context__ and _loss(error.__context__))
            if loss is None:
                raise
            raise loss from None
        return value

    def has_lost_workers(self) -> bool:
        """Whether tasks will not return: a process was replaced, or loky's thread has ended."""
        return self._pool_processes() != self._processes or self._has_lost_manager()

    def _has_lost_manager(self) -> bool:
        """Whether the thread of loky that receives results has ended.

        Without it, no result returns, and loky does not report it (joblib 1.6).
        """
        workers = getattr(self._backend, "_workers", None)
        manager = getattr(workers, "_executor_manager_thread", None)
        return manager is not None and not manager.is_alive()

    def _pool_processes(self) -> list[int]:
        """Return the process ids of the backend "multiprocessing".

        The list is empty for other backends, because they report lost workers.
        """
        processes = getattr(getattr(self._backend, "_pool", None), "_pool", None) or ()
        return sorted(p.pid for p in processes if hasattr(p, "pid") and p.exitcode is None)

    def abort(self) -> None:
        """Stop the running tasks."""
        self._is_aborted = True
        # If a task is submitted immediately before the abort, a thread of loky prints a KeyError
        # (process_executor.py, add_call_item_to_queue; joblib 1.6).
        time.sleep(max(0.0, self._last_submit + ABORT_SECONDS - time.monotonic()))
        if self.library == "dask":
            # joblib's backend forgets the tasks, but the cluster would run them (joblib 1.6).
            tasks = list(getattr(self._backend, "_results", ()))
            with suppress(Exception):  # the scheduler may be gone
                cancel = self.client.cancel(tasks, force=True, asynchronous=True)
                start_on_loop(self.client, cancel).result(CANCEL_SECONDS)
        self._backend.abort_everything(ensure_ready=False)

    def abandon(self) -> None:
        """Leave the running tasks alone when the session ends, because their backend is gone."""
        self._is_aborted = True
        if self.library == "ray":
            # Ending its pool would wait for actors, or start a new Ray after `ray.shutdown`.
            self._backend._pool = None

    def _set_temporary_folder(self) -> None:
        """Make loky write memory maps to the folder of this session, so that it removes them."""
        workers = getattr(self._backend, "_workers", None)
        manager = getattr(workers, "_temp_folder_manager", None)
        if manager is not None:
            manager.set_current_context(self._parallel._id)


def start_on_loop(client: Any, work: Coroutine[Any, Any, object]) -> Future[object]:
    """Start a coroutine on the event loop of a Dask client, and return its future.

    The methods of a client wait for the scheduler without a limit.
    """
    return asyncio.run_coroutine_threadsafe(work, client.loop.asyncio_loop)


def _tell_error(done: Callable[[object], None], future: Future[object]) -> None:
    if not future.cancelled() and future.exception() is not None:
        done(future.exception())
