"""Resuming a search from its journal, with a check that the settings agree."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from numbers import Integral

import numpy as np
import sklearn
from sklearn.utils import check_random_state

from sklearn_halving._content_hash import content_hash
from sklearn_halving._typing import Params, RandomState
from sklearn_halving._unstable_imports import BaseSearchCV
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._journal import Journal, JournalError, Session
from sklearn_halving.execution._types import EvaluationTask, ListedFolds
from sklearn_halving.search._parameters import read_seconds
from sklearn_halving.search.preparing._plan import SearchPlan

BUDGETS = frozenset({"n_loops", "n_fits", "n_pulls", "max_pulls", "n_rounds"})
"""Parameters of policies and searches that may be increased to extend a finished search."""
FREE = BUDGETS | {
    # how and how long pulls run, and what happens after them
    *("n_jobs", "pre_dispatch", "verbose", "refit", "time_budget"),
    *("fit_timeout", "memory_limit", "checkpoint"),
    # when a policy stops
    *("stop_probability", "tolerance", "fits_in_flight"),
    # compared by `session_of` in another form
    *("estimator", "param_distributions", "n_candidates", "cv", "policy"),
}
"""Parameters of a search that may change, or that `session_of` compares in another form."""
DECIDE_CANDIDATES = frozenset({"n_fits", "n_candidates", "fits_in_flight"})
"""Free parameters that must not change if candidates are made from the scores so far."""
N_SPLITS = 3
"""Number of splits that are compared if there is an unlimited number of them."""
MAX_SHOWN = 60
HINTS = {
    "X": "other values, rows or columns",
    "y": "other values or another order",
    "estimator": "another class, other parameters, or changes of your own code that it uses",
    "scoring": "another scorer, or changes of your own code that it uses",
    "splits": "another cv or other rows, or a cv that shuffles and needs a random_state",
    "candidates": "those of an extended search must begin with those of the first one",
}


@dataclass(frozen=True)
class Checkpoint:
    """The open journal of a search, and its random state.

    Parameters
    ----------
    journal : Journal or None
        The journal; None without a checkpoint.
    random_state : RandomState or None
        Random state with which candidates and splits are drawn.
    seed : int or None
        The number that was drawn as ``random_state``; None if that of the search is a number.
    """

    journal: Journal | None = None
    random_state: RandomState | None = None
    seed: int | None = None

    def begin(self, search: BaseSearchCV, task: EvaluationTask, plan: SearchPlan) -> None:
        """Compare the search with that of the journal, and write a new session to the journal.

        Raises
        ------
        JournalError
            If settings differ. The message names them.
        """
        if self.journal is None:
            return
        known = list(task.candidates)
        session = session_of(search, task, plan, known, self.seed)
        former = self.journal.sessions
        if former:
            differing = _differing(former, session, known)
            if differing:
                raise JournalError(
                    f"checkpoint={str(self.journal.path)!r} belongs to a different search; these "
                    f"settings differ: {'; '.join(differing)}. Use the settings of that search to "
                    "resume it. To start anew, delete the file or give checkpoint another path."
                )
            _warn_of_versions(former[-1], session)
            last = former[-1]
            if (last.versions, last.n_candidates) == (session.versions, session.n_candidates):
                return
        self.journal.begin(session)


@contextmanager
def open_checkpoint(search: BaseSearchCV) -> Iterator[Checkpoint]:
    """Open the journal of a search, if it has one.

    If the random state of the search is not a number, a number is drawn from it and kept in the
    journal, so that a resumed search draws the same candidates and splits.
    """
    if search.checkpoint is None:
        yield Checkpoint(random_state=search.random_state)
        return
    with Journal(search.checkpoint) as journal:
        if isinstance(search.random_state, Integral):
            yield Checkpoint(journal, int(search.random_state))
            return
        seed = journal.sessions[0].seed if journal.sessions else None
        if seed is None:
            seed = int(check_random_state(search.random_state).randint(2**31 - 1))
        yield Checkpoint(journal, seed, seed)


def session_of(
    search: BaseSearchCV,
    task: EvaluationTask,
    plan: SearchPlan,
    known: Sequence[Params],
    seed: int | None,
) -> Session:
    """Return the settings that must be the same if a search is resumed."""
    params = search.get_params(deep=False)
    random_state, are_made = search.random_state, plan.makes_candidates
    fields = {name: _shown(name, value) for name, value in params.items() if name not in FREE}
    fields |= {
        "search": type(search).__name__,
        "estimator": content_hash(task.estimator, with_code=True),
        "X": content_hash(task.X),
        "y": content_hash(task.y),
        "params of fit": content_hash(task.fit_params, task.score_params, with_code=True),
        "splits": _splits_hash(task),
        "random_state": _shown("", random_state) if seed is None else type(random_state).__name__,
        "initial_candidates": _shown("", search.initial_candidates),
    }
    if plan.uses_time:
        fields["time_budget"] = f"a time budget with{'' if search.refit else 'out'} a refit"
    if "policy" in params:
        budgets: frozenset[str] = frozenset() if are_made else BUDGETS
        fields["policy"] = _shown("policy", params["policy"], budgets)
    versions = {
        "python": ".".join(map(str, sys.version_info[:3])),
        "sklearn_halving": sys.modules["sklearn_halving"].__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
    }
    if are_made:
        fields |= {name: _shown(name, params[name]) for name in DECIDE_CANDIDATES & params.keys()}
        fields["param_distributions"] = content_hash(search.param_distributions, with_code=True)
        if isinstance(search.refit, str):  # the metric from which candidates are made
            fields["refit"] = search.refit
        fields["sklearn_halving"] = versions["sklearn_halving"]
    return Session(fields, versions, len(known), content_hash(*known, with_code=True), seed)


def _shown(
    name: str, value: object, without: frozenset[str] = frozenset()
) -> str | int | float | bool | None:
    """Return a parameter unchanged if it is a short plain value, else its digest.

    A time such as ``"1min"`` is returned in seconds, so that ``60`` is the same setting.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Integral):  # includes integers of NumPy
        return int(value)
    if isinstance(value, float) and np.isfinite(value):
        return float(value)
    if isinstance(value, str) and len(value) <= MAX_SHOWN:
        is_time = name in ("min_resources", "max_resources")
        return read_seconds(name, value) if is_time else value
    return content_hash(value, without=without, with_code=True)


def _splits_hash(task: EvaluationTask) -> str:
    splits = task.splits
    n_looked_at = len(splits) if isinstance(splits, ListedFolds) else N_SPLITS
    if task.n_repetitions is not None:
        n_looked_at = min(n_looked_at, task.n_repetitions)
    folds = [splits.fold(repetition).widened() for repetition in range(n_looked_at)]
    return content_hash(task.n_repetitions, folds)


def _differing(
    former: Sequence[Session], session: Session, candidates: Sequence[Params]
) -> list[str]:
    """Return a description of each difference; those that follow from others are left out."""
    before, now = former[0].fields, session.fields
    names = {name for name in before.keys() & now.keys() if before[name] != now[name]}
    if names & {"X", "y", "random_state", "params of fit"}:
        names.discard("splits")
    # Some settings count only together with others, such as the budget with a sampler.
    names = names or before.keys() ^ now.keys()
    if names:
        return [_difference(name, before.get(name), now.get(name)) for name in sorted(names)]
    sizes = {other.n_candidates for other in former}
    if max(sizes) > len(candidates) and len(candidates) not in sizes:
        return [f"candidates ({max(sizes)} before, {len(candidates)} now)"]
    has_others = any(
        content_hash(*islice(candidates, other.n_candidates), with_code=True) != other.candidates
        for other in former
        if other.n_candidates <= len(candidates)
    )
    return [f"candidates ({HINTS['candidates']})"] if has_others else []


def _difference(name: str, before: object, now: object) -> str:
    if name in HINTS:
        return f"{name} ({HINTS[name]})"
    is_digest = any(isinstance(v, str) and len(v) == 32 for v in (before, now))
    return name if is_digest else f"{name} ({before!r} before, {now!r} now)"


def _warn_of_versions(former: Session, session: Session) -> None:
    changed = [
        f"{name} {former.versions.get(name)} before, {version} now"
        for name, version in session.versions.items()
        if former.versions.get(name) != version
    ]
    if changed:
        warn_user(
            f"Some versions differ from those of the checkpoint: {'; '.join(changed)}. The "
            "results combine fits made with both. To repeat all fits, use a new checkpoint."
        )
