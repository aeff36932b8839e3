"""Resuming a search from its journal, with a check that the settings agree."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
import sklearn
from sklearn.utils import check_random_state

from sklearn_halving._typing import Candidates, RandomState
from sklearn_halving.execution._journal import Journal, JournalError, Session, model_folder
from sklearn_halving.execution._model_store import ModelFolder
from sklearn_halving.execution._train_test_rows import ListedFolds
from sklearn_halving.execution._types import EvaluationTask
from sklearn_halving.search._user_warnings import warn_user
from sklearn_halving.search.preparing._candidates import (
    BRACKETS_IN_PLAY,
    DEFAULT_SAMPLER,
    ArrivingCandidates,
    MadeBySampler,
)
from sklearn_halving.search.preparing._content_hash import GENERATORS, content_hash
from sklearn_halving.search.preparing._inputs import read_seconds
from sklearn_halving.search.preparing._plan import SearchPlan

if TYPE_CHECKING:
    from sklearn_halving.search._base_search import BaseBanditSearchCV

BUDGETS = frozenset({"n_loops", "n_pulls", "max_pulls", "n_rounds"})
"""Parameters of policies and searches that may be increased to extend a finished search."""
FREE = BUDGETS | {
    # how and how long pulls run, and what happens after them
    *("n_jobs", "pre_dispatch", "verbose", "progress_bar", "refit", "time_budget"),
    *("pull_timeout", "memory_limit", "refit_on_interrupt", "checkpoint", "checkpoint_models"),
    *("cache_transformers", "lost_cluster"),
    # when a policy stops
    *("stop_probability", "tolerance", "confidence", "pulls_in_flight"),
    # compared by `session_of` in another form
    *("estimator", "param_distributions", "n_candidates", "sampler", "cv", "scoring"),
    *("random_state", "initial_candidates", "promotion"),
}
"""Parameters of a search that may change, or that `session_of` compares in another form."""
N_SPLITS = 3
"""Number of splits that are compared if there is an unlimited number of them."""
MAX_SHOWN = 60
RULES = {
    "race in the last rung": False,
    "brackets in play": 2,
    "rules of the race": 1,
    "rules of the sampler": 1,
}
"""Rules that decide which candidates a sampler creates, and their values in older journals. Like
the candidates, they are named only if nothing else differs."""
RULES_OF_THE_RACE = {"BayesGapSearchCV": 3}
"""By search, 2 for others. Changes when a race makes other pulls, and thus other candidates."""
RULES_OF_SAMPLERS = {"GaussianProcessSampler": 2}
"""By class, 1 for others. Changes when a sampler creates other candidates from the same scores."""
UNSTATED: dict[str, object] = {
    "sampler": "random",
    "promotion": "synchronous",
    "initial_candidates": None,
    **RULES,
}
"""Values of settings that a journal leaves out."""
HINTS = {
    "X": "other values, rows or columns",
    "y": "other values or another order",
    "estimator": "another class or other parameters",
    "splits": "another cv or other rows, or a cv that shuffles and needs a random_state",
    "candidates": "those of an extended search must begin with those of the first one",
}


@dataclass(frozen=True)
class Checkpoint:
    """The open journal of a search, its random state and its folder of models."""

    journal: Journal | None = None
    """The journal; None without a checkpoint."""
    random_state: RandomState | None = None
    """Random state with which candidates and splits are drawn."""
    start: str | None = None
    """Initial state of ``random_state``, if it is not an int."""
    models: ModelFolder | None = None
    """Folder of the fitted models; None if they are not saved."""

    def begin(self, search: BaseBanditSearchCV, task: EvaluationTask, plan: SearchPlan) -> None:
        """Compare the search with that of the journal, and write a new session to the journal.

        Raises
        ------
        JournalError
            If settings differ. The message names them.
        """
        if self.journal is None:
            return
        session = session_of(search, task, plan, self.start)
        former = self.journal.sessions
        if former:
            differing = _differing(former, session, task.candidates)
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
def open_checkpoint(search: BaseBanditSearchCV) -> Iterator[Checkpoint]:
    """Open the journal of a search, if it has one."""
    if search.checkpoint is None:
        yield Checkpoint(random_state=search.random_state)
        return
    with Journal(search.checkpoint) as journal:
        random_state, start = search.random_state, None
        if not isinstance(random_state, Integral):
            random_state, start = _generator(random_state, journal.sessions)
        path = model_folder(search.checkpoint)
        models = ModelFolder(path) if search.checkpoint_models else None
        yield Checkpoint(journal, random_state, start, models)


def session_of(
    search: BaseBanditSearchCV, task: EvaluationTask, plan: SearchPlan, start: str | None
) -> Session:
    """Return the settings that must be the same if a search is resumed."""
    params = search.get_params(deep=False)
    fields = {name: _shown(name, params[name]) for name in sorted(params.keys() - FREE)}
    seed = search.random_state
    fields |= {
        "search": type(search).__name__,
        "estimator": content_hash(task.estimator),
        "X": content_hash(task.X),
        "y": content_hash(task.y),
        "params of fit": content_hash(task.fit_params, task.score_params),
        "splits": _splits_hash(task),
        "scoring": _shown("scoring", search.scoring),
        "random_state": int(seed) if isinstance(seed, int | np.integer) else type(seed).__name__,
    }
    if params.get("promotion") == "asynchronous":
        fields["promotion"] = "asynchronous"
    if params["initial_candidates"]:
        fields["initial_candidates"] = content_hash(list(params["initial_candidates"]))
    candidates = task.candidates
    if isinstance(candidates, ArrivingCandidates) and candidates.source.depends_on_scores:
        # They depend on the budget too.
        distributions = params["param_distributions"]
        fields["param_distributions"] = content_hash(distributions, without=GENERATORS)
        sampler, budget = params.get("sampler", "random"), {"n_pulls"}
        if sampler != "random":
            named = DEFAULT_SAMPLER if sampler == "auto" else sampler
            fields["sampler"] = _shown("sampler", named)
            if isinstance(candidates.source, MadeBySampler):
                kind = type(candidates.source.sampler).__name__
                fields["rules of the sampler"] = RULES_OF_SAMPLERS.get(kind, 1)
            budget |= {"n_candidates", "pulls_in_flight"}
            if plan.schedule is None:
                rules = RULES_OF_THE_RACE.get(type(search).__name__, 2)
                fields["rules of the race"] = rules
        if plan.schedule is not None:
            fields["race in the last rung"] = plan.description.races
            fields["brackets in play"] = BRACKETS_IN_PLAY
        fields |= {name: _shown(name, params[name]) for name in sorted(budget & params.keys())}
        if "policy" in params:
            fields["policy"] = _shown("policy with its budget", params["policy"])
    versions = {
        "python": ".".join(map(str, sys.version_info[:3])),
        "sklearn_halving": sys.modules["sklearn_halving"].__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
    }
    return Session(fields, versions, len(candidates), content_hash(*candidates), start)


def _shown(name: str, value: object) -> str | int | float | bool | None:
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
        is_time = name in ("min_resources", "max_resources") and value != "auto"
        return read_seconds(name, value) if is_time else value
    return content_hash(value, without=BUDGETS if name == "policy" else frozenset())


def _splits_hash(task: EvaluationTask) -> str:
    splits = task.splits
    n_looked_at = len(splits) if isinstance(splits, ListedFolds) else N_SPLITS
    if task.n_repetitions is not None:
        n_looked_at = min(n_looked_at, task.n_repetitions)
    folds = [splits.fold(repetition).widened() for repetition in range(n_looked_at)]
    return content_hash(task.n_repetitions, folds)


def _differing(former: Sequence[Session], session: Session, candidates: Candidates) -> list[str]:
    """Return a description of each difference; those that follow from others are left out."""
    before, now = UNSTATED | former[0].fields, UNSTATED | session.fields
    in_both = before.keys() & now.keys()
    names = {name for name in in_both if before[name] != now[name]}
    # Settings that matter only with another one, such as the budget with a sampler.
    in_one = before.keys() ^ now.keys()
    if former[-1].versions.get("sklearn_halving") == session.versions["sklearn_halving"]:
        follows = {"splits"} if names & {"X", "y", "random_state", "params of fit"} else set()
        names = names - RULES.keys() - follows or names or in_one
    differing = [_difference(name, before.get(name), now.get(name)) for name in sorted(names)]
    if names - RULES.keys():
        return differing
    sizes = {other.n_candidates for other in former}
    if max(sizes) > len(candidates) and len(candidates) not in sizes:
        differing.append(f"candidates ({max(sizes)} before, {len(candidates)} now)")
    elif any(
        content_hash(*islice(candidates, other.n_candidates)) != other.candidates
        for other in former
        if other.n_candidates <= len(candidates)
    ):
        differing.append(f"candidates ({HINTS['candidates']})")
    return differing


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


def _generator(
    random_state: RandomState | None, sessions: Sequence[Session]
) -> tuple[np.random.RandomState, str | None]:
    """Return a generator and its state as text, restored from the first session if possible."""
    if sessions and sessions[0].random_state is not None:
        start = sessions[0].random_state
        return _restored(start), start
    generator = check_random_state(random_state)
    state = generator.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise ValueError(
            f"random_state={random_state!r} must be an int or numpy.random.RandomState(seed) if "
            f"there is a checkpoint; got a RandomState of {state['bit_generator']}. Use an int."
        )
    key = np.asarray(state["state"]["key"], dtype="<u4").tobytes().hex()
    rest = [int(state["state"]["pos"]), int(state["has_gauss"]), float(state["gauss"])]
    return generator, json.dumps([key, *rest])


def _restored(start: str) -> np.random.RandomState:
    try:
        key, position, has_gauss, gauss = json.loads(start)
        generator = np.random.RandomState()
        numbers = np.frombuffer(bytes.fromhex(key), dtype="<u4")
        generator.set_state(("MT19937", numbers, int(position), int(has_gauss), float(gauss)))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise JournalError(
            f"Line 1 of the journal has an invalid random_state: {error}. Give checkpoint "
            "another path."
        ) from error
    return generator
