"""Ends a search if the data or the fit parameters make every fit fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isnan

from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets

from sklearn_halving._typing import Params
from sklearn_halving.execution._evaluation import arm_estimator
from sklearn_halving.execution._types import EvaluationTask, Outcome
from sklearn_halving.resources._parameters import number_of
from sklearn_halving.search.preparing._arriving import ArrivingCandidates
from sklearn_halving.search.watching._failure_messages import report_failures

Kind = frozenset[tuple[str, str]]


@dataclass
class CommonFaults:
    """Ends a search after one failed fit of each kind of candidate, if all others will fail too.

    Candidates of the same kind differ only in numbers of the last step, which cannot change
    whether the data and the fit parameters are accepted. As soon as a fit succeeds, or fails for
    another reason, nothing more is checked.

    Parameters
    ----------
    task : EvaluationTask
        The task of the workers.
    """

    task: EvaluationTask
    _outcomes: list[Outcome] = field(default_factory=list)
    _kinds: set[Kind] = field(default_factory=set)
    _is_over: bool = False

    def check(self, outcome: Outcome) -> None:
        """Raise a ValueError if all candidates have failed, or will fail, like this one."""
        if self._is_over:
            return
        error = outcome.error
        if error is None or not self._all_kinds or not self._is_common(outcome, error):
            self._is_over = True
            return
        self._outcomes.append(outcome)
        self._kinds.add(self._kind_of(self.task.candidates[outcome.pull.arm]))
        if self._kinds >= self._all_kinds:
            why = "The search ended here, because this error does not depend on the candidate."
            report_failures(self.task, self._outcomes, why)

    @cached_property
    def _all_kinds(self) -> set[Kind]:
        """The kinds of all candidates; empty if they are not known.

        A sampler creates candidates during the search. Examples stand for them.
        """
        known = self.task.candidates
        if isinstance(known, ArrivingCandidates):
            # The first loop of brackets may not have all kinds of candidates.
            known = known.source.examples if known.source.depends_on_scores else ()
        return set(map(self._kind_of, known))

    def _kind_of(self, params: Params) -> Kind:
        """Return the parameters of a candidate, without numbers of the last step."""
        estimator = self.task.estimator
        step = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
        return frozenset(
            (name, repr(value))
            for name, value in params.items()
            if not (_is_number(value) and name.startswith(step) and "__" not in name[len(step) :])
        )

    def _is_common(self, outcome: Outcome, error: str) -> bool:
        """Return whether a fit failed because of the fit parameters or the data."""
        if any(fault in error for fault in _faults_of_params(self.task)):
            return True
        if not any(fault in error for fault in self._faults_of_data):
            return False
        # The fault may be in some splits only. With NaN, no candidate has a score anyway.
        if isinstance(self.task.error_score, str) or not isnan(self.task.error_score):
            return False
        estimator = arm_estimator(self.task, outcome.pull)
        last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
        values = last.get_params(deep=False).values() if hasattr(last, "get_params") else [last]
        # An ensemble may give some of its members only columns without missing values.
        return not any(hasattr(value, "get_params") for value in values)

    @cached_property
    def _faults_of_data(self) -> list[str]:
        """What scikit-learn's validation of the whole X and y finds, as in the error of a fit."""
        X, y = self.task.X, self.task.y
        options = {"accept_sparse": True, "allow_nd": True, "ensure_min_features": 0}
        checks: list[Callable[[], object]] = [
            partial(check_array, X, input_name="X", **options),
            partial(assert_all_finite, y, input_name="y"),
            partial(check_classification_targets, y),
        ]
        faults = []
        for check in checks:
            try:
                check()
            except ValueError as error:
                faults.append(f"ValueError: {str(error).splitlines()[0]}")
            except Exception:  # noqa: BLE001 - data of another kind than arrays
                continue
        return faults


def _faults_of_params(task: EvaluationTask) -> Iterator[str]:
    """Return the errors of fit parameters that no step takes."""
    known = task.estimator.get_params()
    for name in task.fit_params:
        step, separator, leaf = name.partition("__")
        yield f"got an unexpected keyword argument '{leaf.rpartition('__')[2] or name}'"
        yield f"does not accept the {name} parameter"
        if separator and step not in known:
            yield f"\nKeyError: {step!r}\n"


def _is_number(value: object) -> bool:
    number = number_of(value)
    return number is not None and not isnan(number)
