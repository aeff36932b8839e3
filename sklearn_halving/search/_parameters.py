"""What users pass: the parameters that all searches share, and the arguments of `fit`.

Signatures and docstrings are written out in each search (`_adaptive`, `_papers`, `_bandit`), as in
GridSearchCV, and tests/search/test_shared_parameters.py compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state, indexable

from sklearn_halving import _typing as t
from sklearn_halving._checks import LARGEST_WHOLE
from sklearn_halving._typing import Params, Refit, Scorer
from sklearn_halving._unstable_imports import (
    BaseSearchCV,
    Interval,
    method_params,
    routed_fit_params,
    scorers_of,
)
from sklearn_halving.execution._types import Outcome, PullLimits
from sklearn_halving.resources import Resource
from sklearn_halving.resources._resource import suggestion

COUNT = Interval(Integral, 1, LARGEST_WHOLE, closed="both")
POSITIVE = Interval(Real, 0, None, closed="neither")
AMOUNT = [POSITIVE, str, None]
"""Constraints of an amount of resource, or of a time."""

OTHER_NAMES = {
    "param_grid": "use param_distributions, a grid or distributions",
    "n_iter": "use n_candidates, the number of different candidates",
    "AdaptiveSearchCV.n_iter": "use n_fits, for single fits: n_iter times the number of folds",
}
"""Parameters that have another name in a search, or in one of the searches."""


class SharedParameters:
    """Parameters and attributes of every search, and those that some of them share."""

    # What has no constraint here is checked where it is read.
    _parameter_constraints: ClassVar[dict[str, object]] = BaseSearchCV._parameter_constraints | {
        "n_jobs": [COUNT, Interval(Integral, None, -1, closed="right"), None],  # 0 is refused
        "random_state": ["random_state"],
        "checkpoint": [str, PathLike, None],
        "warm_start": ["boolean"],
        "time_budget": AMOUNT,
        "fit_timeout": AMOUNT,
        "memory_limit": [COUNT, str, None],
        "n_candidates": [COUNT, None],
        "n_fits": [COUNT, None],
        "fits_in_flight": [COUNT, None],
        "min_resources": AMOUNT,
        "max_resources": AMOUNT,
    }

    estimator: t.Estimator
    param_distributions: t.ParamDistributions
    time_budget: float | str | None
    n_jobs: int | None
    scoring: t.Scoring | None
    cv: t.CrossValidation | None
    refit: t.Refit
    random_state: t.RandomState | None
    verbose: int
    initial_candidates: Any
    n_candidates: int | None
    n_fits: int | None
    fits_in_flight: int | None
    sampler: Any
    resource: str | Resource | None
    min_resources: float | str | None
    max_resources: float | str | None
    checkpoint: t.FilePath | None
    warm_start: bool = False
    fit_timeout: float | str | None
    memory_limit: int | str | None
    error_score: float | str
    return_train_score: bool
    pre_dispatch: int | str

    cv_results_: t.CvResults
    best_estimator_: Any
    best_score_: float
    best_params_: t.Params
    best_index_: int
    best_probability_: float
    scorer_: t.Scorer | dict[str, t.Scorer]
    n_splits_: int
    n_fits_: int
    n_fits_left_: int | None
    full_fits_: float
    n_resources_spent_: float
    stopped_by_: str
    refit_time_: float
    multimetric_: bool

    def _set_parameters(self, arguments: Mapping[str, object]) -> None:
        """Store the arguments of a constructor as they are, as `clone` requires.

        It is called with ``locals()``, before the constructor has any other variable.
        """
        for name, value in arguments.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)


def refuse_unknown(search: type, others: Iterable[type], names: Iterable[str]) -> None:
    """Raise with the right name or search, if there is one, for an unknown parameter."""
    accepted = signature(search.__init__).parameters  # type: ignore[misc]
    if any(each.kind is each.VAR_KEYWORD for each in accepted.values()):
        return
    for name in [name for name in names if name not in accepted]:
        owners = [other.__name__ for other in others if name in signature(other).parameters]
        keys = [*(f"{base.__name__}.{name}" for base in search.__mro__), name]
        hints = [OTHER_NAMES[key] for key in keys if key in OTHER_NAMES]
        hints += [f"it is a parameter of {', '.join(owners)}"] if owners else []
        hint = f"; {hints[0]}" if hints else f".{suggestion(name, accepted)}"
        if hint != ".":
            problem = f"got an unexpected keyword argument {name!r}{hint}"
            raise TypeError(f"{search.__name__}() {problem}")


_MEMORY = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]?)(i?)b\s*", re.IGNORECASE)


class Reward:
    """Returns the score of an outcome that guides the search.

    With several metrics, it is the one that ``refit`` names, or the first one.
    """

    def __init__(self, refit: Refit) -> None:
        self._refit = refit

    def metric_of(self, scores: object) -> str:
        """Return the name of the metric; ``"score"`` if there is only one."""
        if not isinstance(scores, dict):
            return "score"
        is_named = isinstance(self._refit, str) and self._refit in scores
        return str(self._refit if is_named else next(iter(scores)))

    def __call__(self, outcome: Outcome) -> float:
        """Return the test score that guides the search."""
        return outcome.score(self.metric_of(outcome.test_scores))


@dataclass(frozen=True)
class Seeds:
    """The sources of randomness of a search.

    Parameters
    ----------
    rng : numpy.random.RandomState
        Draws candidates, the same as RandomizedSearchCV.
    root : numpy.random.SeedSequence
        Seed of the splits and the fits.
    policy : numpy.random.SeedSequence
        Seed of the policy.
    held_out : numpy.random.SeedSequence
        Seed of the rows that boosters hold out.
    """

    rng: np.random.RandomState
    root: np.random.SeedSequence
    policy: np.random.SeedSequence
    held_out: np.random.SeedSequence

    @classmethod
    def of(cls, random_state: t.RandomState | None) -> Seeds:
        """Return the sources of a seed or generator."""
        rng = check_random_state(random_state)
        # From a copy, so that the same candidates are drawn as by RandomizedSearchCV.
        entropy = deepcopy(rng).randint(0, 2**31 - 1, size=4).tolist()
        keys = (), (2**31 - 2,), (2**31 - 3,)  # splits have other keys
        return cls(rng, *(np.random.SeedSequence(entropy, spawn_key=key) for key in keys))


@dataclass(frozen=True)
class Inputs:
    """The arguments of `fit`, the scorers, and the sources of randomness.

    X and y are only made indexable. The estimator validates them. A generator that is passed as
    ``random_state`` advances when the first seed is needed.
    """

    X: object
    y: object
    scorers: Scorer
    refit_metric: Refit
    reward: Reward
    fit_params: Params
    score_params: Params
    split_params: Params
    random_state: t.RandomState | None

    @cached_property
    def seeds(self) -> Seeds:
        """The sources of randomness."""
        return Seeds.of(self.random_state)


def check_scorer_names(scoring: t.Scoring | None) -> None:
    """Raise if there is no scorer of a name."""
    known = get_scorer_names()
    names = list(scoring.values()) if isinstance(scoring, dict) else scoring
    for name in names if isinstance(names, list | tuple | set) else [names]:
        if isinstance(name, str) and name not in known:
            raise ValueError(
                f"scoring must name a scorer of scikit-learn; got {name!r}."
                f"{suggestion(name, known)} sklearn.metrics.get_scorer_names() returns all names."
            )


def check_inputs(search: BaseSearchCV, X: object, y: object, params: Params) -> Inputs:
    """Return the arguments of `fit`, routed to the estimator, the scorer and the splitter."""
    if isinstance(search.estimator, type):
        name = search.estimator.__name__
        raise TypeError(f"estimator must be an instance, {name}(), not the class {name}.")
    scorers, refit_metric = scorers_of(search)
    is_single = search.scoring is None or isinstance(search.scoring, str)
    # The name of another metric is ignored, as by GridSearchCV.
    names = ("score", *get_scorer_names())
    if is_single and isinstance(search.refit, str) and search.refit not in names:
        raise ValueError(
            f"refit={search.refit!r} must be True, False or a callable if there is one metric. A "
            "text is the name of one of several metrics."
        )
    X, y = indexable(X, y)
    routed = routed_fit_params(search, method_params(X, params=params))
    return Inputs(
        X,
        y,
        scorers,
        refit_metric,
        Reward(search.refit),
        fit_params=routed.estimator.fit,
        score_params=routed.scorer.score,
        split_params=routed.splitter.split,
        random_state=search.random_state,
    )


def read_seconds(name: str, value: float | str | None) -> float | None:
    """Return a time in seconds; numbers and None are returned unchanged.

    Text is parsed by `pandas.Timedelta`, but needs a unit: pandas takes a number alone for
    nanoseconds.
    """
    if not isinstance(value, str):
        return value
    try:
        # The last character of a time such as 00:30:00 is not a unit.
        has_unit = value.strip()[-1:].isalpha() or ":" in value
        seconds = pd.Timedelta(value).total_seconds() if has_unit else 0.0
    except ValueError:
        seconds = 0.0
    if not seconds > 0:  # NaT is not either
        raise ValueError(
            f"{name} must be a positive time: a number of seconds, or text with a unit, such as "
            f"'90s', '30min', '1.5h' or '2 days'; got {value!r}."
        )
    return seconds


def read_bytes(name: str, value: int | str | None) -> int | None:
    """Return an amount of memory in bytes; numbers and None are returned unchanged."""
    if not isinstance(value, str):
        return value
    found = _MEMORY.fullmatch(value)
    n_bytes = 0
    if found:
        base = 1024 if found[3] else 1000
        n_bytes = round(float(found[1]) * base ** " kmgt".index(found[2].lower() or " "))
    if n_bytes < 1 or (found and found[3] and not found[2]):  # "5iB"
        raise ValueError(
            f"{name} must be a positive amount of memory: a number of bytes, or text with a unit, "
            "such as '500MB', '1.5GB' (1.5e9 bytes) or '2GiB' (2 * 2**30 bytes); got "
            f"{value!r}."
        )
    return n_bytes


def read_limits(search: SharedParameters) -> tuple[float, PullLimits]:
    """Return the seconds that a search may take, and the limits of a pull."""
    budget = read_seconds("time_budget", search.time_budget)
    seconds = read_seconds("fit_timeout", search.fit_timeout)
    memory = read_bytes("memory_limit", search.memory_limit)
    return budget or float("inf"), PullLimits(seconds, memory)
