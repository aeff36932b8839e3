"""The scores of a fit, or ``error_score`` if the fit failed."""

from __future__ import annotations

from dataclasses import dataclass
from traceback import format_exc

from sklearn_halving._typing import Estimator, Params, Scorer
from sklearn_halving._unstable_imports import MultimetricScorer, named_scorers, score
from sklearn_halving.execution._types import EvaluationTask, Scores


@dataclass
class Part:
    """The data and the parameters of one side of a split."""

    X: object
    y: object
    params: Params


def scores_of(task: EvaluationTask, estimator: Estimator, part: Part, errors: list[str]) -> Scores:
    """Score a fitted estimator.

    The tracebacks of scorers that raise are added to ``errors``, and are reported after the
    search. Scores that are not numbers raise a ValueError for any ``error_score``, as in
    GridSearchCV.
    """
    is_single = named_scorers(task.scorer) is None
    watched = _WatchedScorer if is_single else _WatchedScorers
    scorer = watched(task.scorer, task.error_score, errors)
    scores: Scores = score(estimator, part.X, part.y, scorer, part.params, task.error_score)
    _check_numbers(scores, task.scorer)
    return scores


def _check_numbers(scores: Scores, scorer: Scorer) -> None:
    """Raise if scores cannot be compared although `score` accepts them."""
    values = scores.values() if isinstance(scores, dict) else [scores]
    if not values:
        raise ValueError(
            "scoring must return a number, or a dict with one number for each metric; got an "
            f"empty dict. (scorer={scorer})"
        )
    for value in values:
        if isinstance(value, complex):
            raise ValueError(
                f"scoring must return a number that can be compared, got {value} "
                f"({type(value)}) instead. Return its real part or its modulus. (scorer={scorer})"
            )


def failed_scores(task: EvaluationTask) -> Scores:
    """Return the scores of a fit that failed: ``error_score`` for every metric."""
    value = float(task.error_score)
    scorers = named_scorers(task.scorer)
    return value if scorers is None else dict.fromkeys(scorers, value)


class _WatchedScorer:
    """A scorer that returns ``error_score`` if it fails, and stores the traceback.

    `score` would issue a warning with the whole traceback for each failure.
    """

    def __init__(self, scorer: Scorer, error_score: float | str, errors: list[str]) -> None:
        self._watched = scorer
        self._error_score = error_score
        self._errors = errors

    def __call__(self, *args: object, **params: object) -> object:
        try:
            return self._watched(*args, **params)
        except Exception:
            if self._error_score == "raise":
                raise
            self._errors.append(format_exc())
            return self._error_score

    def __repr__(self) -> str:
        return repr(self._watched)


class _WatchedScorers(_WatchedScorer, MultimetricScorer):  # type: ignore[misc]
    """A container of several scorers, which return a traceback if they fail."""

    def __call__(self, *args: object, **params: object) -> object:
        scores = self._watched(*args, **params)
        self._errors += [text for text in scores.values() if isinstance(text, str)]
        return {
            name: self._error_score if isinstance(value, str) else value
            for name, value in scores.items()
        }
