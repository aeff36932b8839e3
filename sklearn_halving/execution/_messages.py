"""The lines that workers write if ``verbose > 1``, in the format of GridSearchCV.

They always name the split, which GridSearchCV does only if ``verbose > 2``: rungs have different
numbers of splits.
"""

from __future__ import annotations

import sys

from joblib.logger import short_format_time

from sklearn_halving.execution._types import EvaluationTask, Outcome, Scores
from sklearn_halving.policies._types import Pull

WIDTH = 80


def write_line(line: str) -> None:
    """Write a line to the standard output, like ``print``."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def start_message(task: EvaluationTask, pull: Pull) -> str:
    """Return the line that is written before a pull starts."""
    line = f"[CV{_progress(task, pull)}] START {_params_text(task, pull)}"
    return line.ljust(WIDTH, ".")


def end_message(task: EvaluationTask, outcome: Outcome) -> str:
    """Return the line that is written after a pull has ended."""
    params = _params_text(task, outcome.pull)
    result = params + (";" if params else "")
    if task.verbose > 2:
        result += _scores_text(outcome)
    seconds = outcome.fit_seconds + outcome.score_seconds
    result += f" total time={short_format_time(seconds)}"
    start = f"[CV{_progress(task, outcome.pull)}] END "
    return start + result.rjust(WIDTH - len(start), ".")


def pull_text(task: EvaluationTask, pull: Pull) -> str:
    """Return a text that identifies a pull within the search."""
    amount = task.resource.to_amount(pull.level)
    split = task.splits.number(pull.repetition)
    return f"{pull.arm} at n_resources={amount}, split {split}: {task.candidates[pull.arm]}"


def _progress(task: EvaluationTask, pull: Pull) -> str:
    text = f" {task.splits.number(pull.repetition) + 1}"
    if task.n_repetitions is not None:
        text += f"/{task.n_repetitions}"
    if task.verbose > 9:
        text += f"; {pull.arm + 1}/{len(task.candidates)}"
    return text


def _params_text(task: EvaluationTask, pull: Pull) -> str:
    level_params = task.resource.params_at(pull.level)
    params = task.candidates[pull.arm] | level_params
    texts = [f"{name}={params[name]}" for name in sorted(params)]
    if not level_params and pull.level < task.max_level:
        # Without the amount, a candidate would seem to have several scores on the same split.
        texts.append(f"n_resources={task.resource.to_amount(pull.level)}")
    return ", ".join(texts)


def _scores_text(outcome: Outcome) -> str:
    test, train = outcome.test_scores, outcome.train_scores
    if isinstance(test, dict):
        return "".join(
            f" {name}: ({_train_text(train, name)}test={test[name]:.3f})" for name in sorted(test)
        )
    if train is None:
        return f", score={test:.3f}"
    return f", score=({_train_text(train, None)}test={test:.3f})"


def _train_text(train: Scores | None, name: str | None) -> str:
    if train is None:
        return ""
    value = train[name] if isinstance(train, dict) and name is not None else train
    return f"train={value:.3f}, "
