"""The scores of a fit: what the scorers return, or ``error_score`` if the fit failed."""

from __future__ import annotations

from dataclasses import dataclass
from traceback import format_exc
from typing import Any

from sklearn_halving._unstable_imports import MultimetricScorer, named_scorers, score
from sklearn_halving.execution._types import EvaluationTask, Scores


@dataclass
class Part:
    """The data and the parameters of one side of a split."""

    X: Any
    y: Any
    params: dict[str, Any]


def scores_of(task: EvaluationTask, estimator: Any, part: Part, errors: list[str]) -> Scores:
    """Score a fitted estimator; the tracebacks of scorers that raise are added to ``errors``."""
    is_single = named_scorers(task.scorer) is None
    scorer = (_WatchedScorer if is_single else _WatchedScorers)(task.scorer, errors)
    scores: Scores = score(estimator, part.X, part.y, scorer, part.params, task.error_score)
    return scores


def failed_scores(task: EvaluationTask) -> Scores:
    """Return the scores of a fit that failed: ``error_score`` for every metric."""
    value = float(task.error_score)
    scorers = named_scorers(task.scorer)
    return value if scorers is None else dict.fromkeys(scorers, value)


class _WatchedScorer:
    """A scorer whose tracebacks are kept; `score` only makes warnings of them."""

    def __init__(self, scorer: Any, errors: list[str]) -> None:
        self._watched = scorer
        self._errors = errors

    def __call__(self, *args: Any, **params: Any) -> Any:
        try:
            return self._watched(*args, **params)
        except Exception:
            self._errors.append(format_exc())
            raise

    def __repr__(self) -> str:
        return repr(self._watched)


class _WatchedScorers(_WatchedScorer, MultimetricScorer):  # type: ignore[misc]
    """Several named scorers, which return tracebacks in place of scores."""

    def __call__(self, *args: Any, **params: Any) -> Any:
        scores = self._watched(*args, **params)
        self._errors += [text for text in scores.values() if isinstance(text, str)]
        return scores
