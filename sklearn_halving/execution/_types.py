"""What goes to a worker and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sklearn_halving.execution._train_test_rows import Folds
from sklearn_halving.policies._types import Pull
from sklearn_halving.resources._types import Resource

Scores = float | dict[str, float]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a pull gave.

    Parameters
    ----------
    pull : Pull
        Which pull it was.
    test_scores, train_scores : float or dict of str to float
        Scores on the two sides of the split, one number or one a metric; ``train_scores``
        is None unless asked for.
    started : float
        When the training began, in seconds since the epoch.
    fit_seconds, score_seconds : float
        Time for training (of what was missing) and for scoring.
    n_train, n_test : int
        Number of rows on each side.
    previous_level : int
        The level from which a fitted model was trained on; 0 if it was fitted from scratch.
    error : str or None
        The traceback if the fit failed.
    score_error : str or None
        The traceback if the fit went well and a scorer failed.
    """

    pull: Pull
    test_scores: Scores
    train_scores: Scores | None
    started: float
    fit_seconds: float
    score_seconds: float
    n_train: int
    n_test: int
    previous_level: int = 0
    error: str | None = None
    score_error: str | None = None


@dataclass(frozen=True)
class PullLimits:
    """What a single pull may use before it is given up and counts as failed.

    Parameters
    ----------
    seconds : float or None, default=None
        Wall time of the fit and its scoring; None: as long as it takes.
    memory : int or None, default=None
        Bytes of address space that a fit may take on top of what its process has; None: as
        many as there are.
    """

    seconds: float | None = None
    memory: int | None = None


NO_LIMITS = PullLimits()


class Job(NamedTuple):
    """A pull on its way to a worker.

    ``model`` is the fitted model of the same arm and split at ``previous_level``, which may
    be trained on; None and 0 ask for a fit from scratch. ``levels`` are those through which
    that one goes: where the model of the last of them was lost, the way to this level is gone
    once more, so that it ends in the same model. ``context`` is scikit-learn's callback context
    of the pull, None if there are no callbacks.
    """

    pull: Pull
    model: Any = None
    previous_level: int = 0
    keep_model: bool = False
    context: Any = None
    levels: tuple[int, ...] = ()


class Landing(NamedTuple):
    """A pull that came back, with its fitted model if that may be needed.

    ``stop`` says whether one of scikit-learn's callbacks wants the search to end; ``lost`` why a
    model could not be sent from one process to another, None where there is nothing to say.
    """

    outcome: Outcome
    model: Any = None
    stop: bool = False
    lost: str | None = None


@dataclass(frozen=True)
class EvaluationTask:
    """Everything a worker needs to evaluate any pull; never the search estimator itself.

    Parameters
    ----------
    estimator : estimator
        Cloned for every arm.
    X, y : array-like
        The data, as the user gave them; y may be None.
    candidates : tuple of dict
        The parameters of each arm.
    splits : Folds
        Train and test rows of each repetition.
    resource : Resource
        What a level means.
    scorer : callable
        A scorer, or scikit-learn's container of several.
    fit_params, score_params : dict
        Passed on; what has one entry a row is cut to the rows in use.
    error_score : "raise" or float
        What a failing fit scores.
    rescaling : Rescaling or None
        Parameters that change with the level.
    seed : numpy.random.SeedSequence or None
        Seeds every ``random_state`` that was left at None; None leaves them alone.
    config : dict
        scikit-learn's configuration in the calling process.
    caller : estimator or None
        The search, for callbacks only.
    """

    estimator: Any
    X: Any
    y: Any
    candidates: tuple[dict[str, Any], ...]
    splits: Folds
    resource: Resource
    scorer: Any
    fit_params: dict[str, Any] = field(default_factory=dict)
    score_params: dict[str, Any] = field(default_factory=dict)
    return_train_score: bool = False
    error_score: float | str = np.nan
    verbose: int = 0
    n_repetitions: int | None = 1
    max_level: int = 1
    rescaling: Any = None
    seed: np.random.SeedSequence | None = None
    config: dict[str, Any] = field(default_factory=dict)
    caller: Any = None
