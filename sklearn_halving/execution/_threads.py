"""How many threads a fit may use, in BLAS and OpenMP, and by its parameters."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from math import prod
from typing import Any

from threadpoolctl import ThreadpoolController

from sklearn_halving._typing import Estimator, Params
from sklearn_halving.resources._boosters import Library, boosting_library
from sklearn_halving.resources._resource import number_of

FIT_THREADS: ContextVar[int | None] = ContextVar("FIT_THREADS", default=None)
"""The number of threads of the fit that runs in this thread; None if it is not limited."""


@lru_cache(maxsize=1)
def _loaded_libraries(n_modules: int) -> list[Any]:
    """Return the controllers of threadpoolctl. It takes milliseconds, and imports load more."""
    return ThreadpoolController().lib_controllers


@contextmanager
def _at_most(n_threads: int, *user_apis: str) -> Iterator[None]:
    """Limit libraries. ``ThreadpoolController.limit`` does the same, but takes longer.

    OpenMP has a limit for each thread. BLAS has one for all of the process, which is set in the
    main thread only, because two threads would restore each other's limits.
    """
    is_main = threading.current_thread() is threading.main_thread()
    libraries = [
        (library, library.num_threads)
        for library in _loaded_libraries(len(sys.modules))
        if library.user_api in user_apis and (is_main or library.user_api == "openmp")
    ]
    try:
        for library, before in libraries:
            library.set_num_threads(min(before, n_threads))
        yield
    finally:
        for library, before in libraries:
            library.set_num_threads(before)


@contextmanager
def fit_threads(n_threads: int | None) -> Iterator[None]:
    """Return a context in which the fits of this thread use at most ``n_threads``; None: any."""
    token = FIT_THREADS.set(n_threads)
    try:
        with nullcontext() if n_threads is None else _at_most(n_threads, "blas", "openmp"):
            yield
    finally:
        FIT_THREADS.reset(token)


def one_blas_thread() -> AbstractContextManager[None]:
    """Return a context in which BLAS uses a single thread in all of this process.

    More threads slow down small matrices, many times over if other processes use the cores.
    """
    return _at_most(1, "blas")


@contextmanager
def limited_threads(estimator: Estimator, n_threads: int | None) -> Iterator[None]:
    """Return a context in which an estimator is fitted with the threads of a fit.

    Then, its parameters are as before.
    """
    given = estimator.get_params()
    limited = {} if n_threads is None else limited_n_jobs(estimator, given, n_threads)
    if limited:
        estimator.set_params(**limited)
    with fit_threads(n_threads):
        yield
    if limited:
        estimator.set_params(**{name: given[name] for name in limited})


N_JOBS_NAMES: dict[Library | None, tuple[str, ...]] = {
    None: ("n_jobs",),
    "lightgbm": ("n_jobs", "num_threads", "num_thread", "nthread", "nthreads"),
    "xgboost": ("n_jobs", "nthread"),
    "catboost": ("thread_count",),
}
"""All names of the number of threads. Without a positive number, boosters use all cores."""


def limited_n_jobs(estimator: Estimator, params: Params, n_threads: int) -> Params:
    """Return the parameters that ask for all cores, as numbers of threads.

    If a part runs several of its own parts at the same time, these share its threads.
    """
    parts = {f"{name}__": part for name, part in params.items() if hasattr(part, "get_params")}
    limited: Params = {}
    n_used: dict[str, int] = {}
    for prefix in ("", *sorted(parts)):
        library = boosting_library(parts.get(prefix, estimator))
        names = [prefix + name for name in N_JOBS_NAMES[library]]
        given = [name for name in names if name in params]
        n_asked = int(max((number_of(params[name]) or 0 for name in given), default=0))
        if n_asked < 0 or (n_asked == 0 and library is not None):
            n_above = prod(n for above, n in n_used.items() if prefix.startswith(above))
            n_asked = max(1, n_threads // n_above)
            limited |= dict.fromkeys(given or names[:1], n_asked)
        n_used[prefix] = max(1, n_asked)
    return limited
