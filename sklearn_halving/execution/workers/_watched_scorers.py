"""Scorers that keep the tracebacks of what is raised in them, of which `score` makes warnings."""

from __future__ import annotations

from traceback import format_exc
from typing import Any

from sklearn_halving._unstable_imports import MultimetricScorer, named_scorers


class _WatchedScorers(MultimetricScorer):  # type: ignore[misc]
    """Several named scorers; the tracebacks of those that raise are kept."""

    def __init__(self, scorers: Any, errors: list[str]) -> None:
        self._watched = scorers
        self._errors = errors

    def __call__(self, *args: Any, **params: Any) -> Any:
        scores = self._watched(*args, **params)
        self._errors += [text for text in scores.values() if isinstance(text, str)]
        return scores

    def __repr__(self) -> str:
        return repr(self._watched)


class _WatchedScorer:
    """One scorer; the traceback of what it raises is kept."""

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


def watched_scorer(scorer: Any, errors: list[str]) -> Any:
    """Return a scorer that appends the tracebacks of what is raised in it to ``errors``.

    `score` makes a warning of them, which nobody can read back. Goes when it returns them.
    """
    is_single = named_scorers(scorer) is None
    return (_WatchedScorer if is_single else _WatchedScorers)(scorer, errors)
