"""Fits that need not be made again: fits are looked up by all that determines their score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sklearn_halving._content_hash import content_hash, params_digest, plain_value, value_digest
from sklearn_halving._typing import Params
from sklearn_halving.execution._evaluation import arm_estimator
from sklearn_halving.execution._store import FitKey, FitStore, Values
from sklearn_halving.execution._types import NO_LIMITS, EvaluationTask, Outcome, PullLimits
from sklearn_halving.policies._types import MAX_SPLITS, Problem, Pull
from sklearn_halving.resources import TrainingSize, WholeFit
from sklearn_halving.resources._boosters import stops_early


@dataclass
class KnownFits:
    """The fits of a store, by the pulls of a search, to which new ones are added.

    Parameters
    ----------
    task : EvaluationTask
        The task of the search.
    store : FitStore
        The fits of earlier searches with the same data, estimator, scorers and seed.
    limits : PullLimits
        The limits of a fit in this search.
    """

    task: EvaluationTask
    store: FitStore
    limits: PullLimits = NO_LIMITS
    outcomes: dict[FitKey, Outcome] = field(init=False)
    """The fits that need not be made again."""
    places: dict[FitKey, int] = field(init=False)
    """How many of them returned before each."""
    _candidates: dict[int, tuple[str, bool]] = field(default_factory=dict, init=False)
    _fits: dict[tuple[object, ...], str] = field(default_factory=dict, init=False)
    _rows: dict[tuple[object, ...], str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Number the fits in the order in which they returned."""
        known = self.store.outcomes.items()
        self.outcomes = {key: outcome for key, outcome in known if self._is_final(outcome)}
        self.places = {key: place for place, key in enumerate(self.outcomes)}

    def key(self, pull: Pull, levels: Sequence[int]) -> FitKey:
        """Return the key of a pull, whose model was trained to other levels before."""
        task = self.task
        if pull.arm not in self._candidates:
            candidate, stops = task.candidates[pull.arm], False
            if task.held_out is not None:
                model = arm_estimator(task, candidate, task.max_level)
                stops = stops_early(model, task.fit_params)
            self._candidates[pull.arm] = candidate_digest(candidate.params), stops
        digest, stops = self._candidates[pull.arm]
        return FitKey(digest, self._fit(pull.level, pull.repetition, levels, stops=stops))

    def find(self, pull: Pull, key: FitKey) -> Outcome | None:
        """Return the known outcome of a pull, if there is one."""
        outcome, wants_train = self.outcomes.get(key), self.task.return_train_score
        if outcome is None or (wants_train and outcome.train_scores is None):
            return None
        train_scores = outcome.train_scores if wants_train else None
        return replace(outcome, pull=pull, train_scores=train_scores)

    def keep(self, key: FitKey, outcome: Outcome) -> None:
        """Add a new outcome to the store, with the limit that may have ended it."""
        if (limit := self._limit(outcome.kind)) is not None:
            outcome = replace(outcome, limit=float(limit))
        params = self.task.candidates[outcome.pull.arm].params
        self.store.append(key, {name: _plain(v) for name, v in params.items()}, outcome)

    def _limit(self, kind: str) -> float | None:
        """Return the limit that may have ended a fit; one whose process died may need memory."""
        if kind == "timeout":
            return self.limits.seconds
        return self.limits.memory if kind in ("memory", "lost") else None

    def _is_final(self, outcome: Outcome) -> bool:
        """Return whether a fit was not ended by a limit, or by one that is no larger now."""
        if outcome.limit is None:
            return outcome.kind != "lost"
        now = self._limit(outcome.kind)
        return now is not None and now <= outcome.limit

    def by_candidate(self, problem: Problem) -> dict[str, dict[tuple[int, int], FitKey]]:
        """Return the keys of the fits of each candidate that a search may need.

        They are those at its smallest and its largest level, by level and repetition. Those on
        further splits are found when a policy asks for them.
        """
        if not self.outcomes:
            return {}
        low, top = problem.min_level, problem.max_level
        paths: list[tuple[int, tuple[int, ...]]] = [(low, ()), (top, ()), (top, (low,))]
        pulls = {
            self._fit(level, repetition, levels, stops=stops): (level, repetition)
            for stops in {False, self.task.held_out is not None}
            for repetition in range(min(problem.max_repetitions or MAX_SPLITS, MAX_SPLITS))
            for level, levels in paths
        }
        found: dict[str, dict[tuple[int, int], FitKey]] = {}
        for key in self.outcomes:
            if key.fit in pulls:
                found.setdefault(key.candidate, {}).setdefault(pulls[key.fit], key)
        return found

    def _fit(self, level: int, repetition: int, levels: Sequence[int], *, stops: bool) -> str:
        """Return the digest of what decides a score, apart from the candidate.

        ``stops`` says whether its training may stop early, on rows that are held out.
        """
        place = level, repetition, *levels, stops
        if place not in self._fits:
            resource, amounts = self.task.resource, tuple[object, ...]()
            # Without `rescale`, the rows say all about these resources.
            if type(resource) not in (WholeFit, TrainingSize) or resource.rescale:
                most = self.task.max_level if resource.rescale else 0
                amounts = (resource, most, *levels, level)
            rows = self._digest_of_rows(level, repetition, stops=stops)
            self._fits[place] = content_hash(rows, amounts, with_code=True)
        return self._fits[place]

    def _digest_of_rows(self, level: int, repetition: int, *, stops: bool) -> str:
        place = level if self.task.resource.subsamples_rows else 0, repetition, stops
        if place not in self._rows:
            task, fold = self.task, self.task.splits.fold(repetition)
            rows = fold.train_rows(level)
            held_out = task.held_out.hold_out(repetition, rows) if stops and task.held_out else ()
            parts = [np.asarray(part, dtype=np.int64) for part in (rows, fold.test, *held_out)]
            self._rows[place] = content_hash(fold.digest, parts)
        return self._rows[place]


def candidate_digest(params: Params) -> str:
    """Return the digest of a candidate, which depends on the code of objects of the user."""
    others = [value for value in params.values() if isinstance(_plain(value), dict)]
    digest = params_digest(params)
    return content_hash(digest, others, with_code=True) if others else digest


def _plain(value: object) -> Any:
    """Return the value of a parameter as JSON can hold it."""
    plain = plain_value(value)
    is_finite = not isinstance(plain, float) or np.isfinite(plain)
    is_known = plain is None or isinstance(plain, str | bool | int | float)
    return plain if is_known and is_finite else {"digest": value_digest(value)}


def found_params(stored: Values, values: dict[str, dict[str, object]]) -> Params | None:
    """Return the parameters of a candidate, with values of a space for those that JSON lacks.

    Parameters
    ----------
    stored : dict
        The parameters as in a store.
    values : dict of str to dict
        The listed values of the parameters of the space, by their digests.

    Returns
    -------
    params : dict or None
        None if the space lacks a value.
    """
    params: Params = {}
    for name, value in stored.items():
        listed = values.get(name, {})
        digest = str(value.get("digest")) if isinstance(value, dict) else value_digest(value)
        if isinstance(value, dict) and digest not in listed:
            return None
        params[name] = listed.get(digest, value)
    return params
