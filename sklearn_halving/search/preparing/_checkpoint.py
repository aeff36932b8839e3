"""The fits that a search need not make: those of its checkpoint, or of its last call of `fit`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_halving._content_hash import content_hash
from sklearn_halving._typing import Estimator, RandomState
from sklearn_halving._unstable_imports import BaseSearchCV
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._journal import FitStore, Journal, JournalError, Session
from sklearn_halving.execution._known_fits import KnownFits
from sklearn_halving.execution._types import EvaluationTask, PullLimits

MAX_SHOWN = 60
"""Longer texts are compared and shown as digests."""
CONFIGURATION = (
    "transform_output",
    "assume_finite",
    "enable_metadata_routing",
    "array_api_dispatch",
)
"""Settings of scikit-learn that may change a score."""


@contextmanager
def open_store(search: BaseSearchCV) -> Iterator[FitStore | None]:
    """Open the store of a search: a journal, or a memory; None without either."""
    memory = vars(search).pop("_known", FitStore())
    if search.checkpoint is not None:
        with Journal(search.checkpoint) as journal:
            yield journal
    elif search.warm_start:
        search._known = memory
        yield memory
    else:
        yield None


def resumed_seed(store: FitStore | None, random_state: RandomState | None) -> RandomState | None:
    """Return the random state with which a search draws candidates and splits.

    With a store, it is a number, so that a search that goes on draws the same ones. If the user
    gave none, it is drawn, or that of the store.
    """
    if store is None or isinstance(random_state, Integral):
        return random_state
    if random_state is None and store.sessions:
        return store.sessions[0].seed
    state = check_random_state(random_state)
    if random_state is not None:  # so that the same object draws the same seed again
        state = deepcopy(state)
    return int(state.randint(2**31 - 1))


def known_fits(
    search: BaseSearchCV, store: FitStore, seed: Any, task: EvaluationTask, limits: PullLimits
) -> KnownFits:
    """Compare the search with the earlier ones of the store, and return their fits.

    Raises
    ------
    JournalError
        If something differs that decides all scores. The message names it.
    """
    session = Session(_fields(search, task), int(seed), _versions(task.estimator))
    former = store.sessions[-1:]
    if former:
        _compare(search, store, former[0], session)
    if former != [session]:
        store.begin(session)
    cv = search.cv
    if store.outcomes and getattr(cv, "shuffle", False) and cv.random_state is None:
        warn_user(
            f"cv={cv!r} shuffles the rows anew, so no earlier fit can be used. Give it a "
            "random_state."
        )
    return KnownFits(task, store, limits)


def _compare(search: BaseSearchCV, store: FitStore, former: Session, session: Session) -> None:
    """Raise if a search does not fit a store; warn if versions have changed."""
    before = former.fields | {"random_state": former.seed}
    now = session.fields | {"random_state": session.seed}
    differing = [
        _difference(name, before.get(name), value)
        for name, value in now.items()
        if before.get(name) != value
    ]
    if differing:
        is_file = isinstance(store, Journal)
        name = f"checkpoint={str(search.checkpoint)!r}" if is_file else "warm_start=True"
        way_out = "give checkpoint another path" if is_file else "set warm_start=False"
        raise JournalError(
            f"{name} has fits of another search, because these differ: "
            f"{', '.join(differing)}. Your own code that they use counts, too. Go back to the "
            f"former ones, or {way_out} to start anew."
        )
    changed = [
        f"{name} {former.versions[name]} before, {version} now"
        for name, version in session.versions.items()
        if former.versions.get(name, version) != version
    ]
    if changed:
        warn_user(
            f"Some versions differ from those of the checkpoint: {'; '.join(changed)}. The "
            "results combine fits made with both. To repeat all fits, use a new checkpoint."
        )


def _fields(search: BaseSearchCV, task: EvaluationTask) -> dict[str, str | int | float | None]:
    """Return what decides all scores of a search."""
    return {
        "X": content_hash(task.X),
        "y": content_hash(task.y),
        "arguments of fit": content_hash(task.fit_params, task.score_params, with_code=True),
        "estimator": content_hash(task.estimator, with_code=True),
        "configuration of scikit-learn": content_hash([task.config.get(n) for n in CONFIGURATION]),
        "scoring": _shown(search.scoring),
        "error_score": _shown(search.error_score),
    }


def _shown(value: object) -> str | int | float | None:
    """Return a parameter unchanged if it is a short plain value, else its digest."""
    if value is None or (isinstance(value, str) and len(value) <= MAX_SHOWN):
        return value
    if isinstance(value, int | float):
        return value if np.isfinite(value) else str(value)
    return content_hash(value, with_code=True)


def _difference(name: str, before: object, now: object) -> str:
    has_digest = any(isinstance(value, str) and len(value) == 32 for value in (before, now))
    return name if has_digest else f"{name} ({before!r} before, {now!r} now)"


def _versions(estimator: Estimator) -> dict[str, str]:
    """Return the versions of packages that may change scores, also those of the estimator."""
    parts = [estimator, *estimator.get_params().values()]
    names = {type(part).__module__.partition(".")[0] for part in parts}
    versions = {
        name: getattr(sys.modules[name], "__version__", None)
        for name in sorted(names | {"sklearn_halving", "sklearn", "numpy"})
        if name in sys.modules
    }
    known = {name: version for name, version in versions.items() if isinstance(version, str)}
    return {"python": ".".join(map(str, sys.version_info[:3]))} | known
