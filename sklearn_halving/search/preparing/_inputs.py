"""The arguments of `fit`, validated and routed, and the splits of the splitter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from sklearn_halving._typing import Params, Refit, Scorer
from sklearn_halving._unstable_imports import (
    BaseSearchCV,
    method_params,
    num_samples,
    routed_fit_params,
    scorers_of,
)
from sklearn_halving.execution._train_test_rows import Rows
from sklearn_halving.splits._split_stream import check_count, check_groups, row_numbers


@dataclass(frozen=True)
class FitInputs:
    """The arguments of `fit`, and the scorers.

    X and y are only made indexable. The estimator validates them.
    """

    X: object
    y: object
    scorers: Scorer
    refit_metric: Refit
    fit_params: Params
    score_params: Params
    split_params: Params


def check_inputs(search: BaseSearchCV, X: object, y: object, params: Params) -> FitInputs:
    """Return the arguments of `fit`, routed to the estimator, the scorer and the splitter."""
    scorers, refit_metric = scorers_of(search)
    X, y = indexable(X, y)
    routed = routed_fit_params(search, method_params(X, params=params))
    return FitInputs(
        X,
        y,
        scorers,
        refit_metric,
        fit_params=routed.estimator.fit,
        score_params=routed.scorer.score,
        split_params=routed.splitter.split,
    )


def ask_splitter(search: BaseSearchCV, inputs: FitInputs) -> list[tuple[Rows, Rows]]:
    """Return the splits of the splitter. It is called only once in each `fit`."""
    splitter = check_cv(search.cv, inputs.y, classifier=is_classifier(search.estimator))
    check_groups(splitter, inputs.split_params)
    n_splits = splitter.get_n_splits(inputs.X, inputs.y, **inputs.split_params)
    pairs = [
        (row_numbers(train), row_numbers(test))
        for train, test in splitter.split(inputs.X, inputs.y, **inputs.split_params)
    ]
    check_sides(pairs)
    check_count(len(pairs), n_splits)
    return pairs


def check_rows(inputs: FitInputs) -> None:
    """Raise if the data have no rows."""
    if num_samples(inputs.X) == 0:
        raise ValueError("Found array with 0 sample(s): X is empty, and there is nothing to fit.")


def check_sides(pairs: Iterable[tuple[Rows, Rows]]) -> None:
    """Raise if a split has no training rows or no test rows."""
    for place, (train, test) in enumerate(pairs):
        if len(train) == 0 or len(test) == 0:
            raise ValueError(
                f"Split {place} of cv has {len(train)} training and {len(test)} test rows; both "
                "must have at least one. Use fewer splits, or another cv."
            )
