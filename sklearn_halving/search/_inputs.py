"""What `fit` is given, checked and taken apart; and the splits, asked for once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.multiclass import type_of_target

from sklearn_halving._unstable_imports import (
    BaseSearchCV,
    method_params,
    num_samples,
    routed_fit_params,
    scorers_of,
)
from sklearn_halving.execution._splits import FixedSplits, Fold, Rows, row_numbers
from sklearn_halving.resources._training_size import rows_needed, subset_order

MIN_PER_CLASS = 2
"""Rows of each class that the smallest training subset holds."""


@dataclass(frozen=True)
class FitInputs:
    """The arguments of `fit`, and the scorers.

    X and y are as the user gave them, indexable at most; the estimator judges them.
    """

    X: Any
    y: Any
    scorers: Any
    refit_metric: Any
    fit_params: dict[str, Any]
    score_params: dict[str, Any]
    split_params: dict[str, Any]


def check_inputs(search: BaseSearchCV, X: Any, y: Any, params: dict[str, Any]) -> FitInputs:
    """Return the arguments of `fit`, routed to those who asked for them."""
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
    """Return the splits, which the splitter is asked for once a fit."""
    if num_samples(inputs.X) == 0:
        raise ValueError("Found array with 0 sample(s): X is empty, and there is nothing to fit.")
    splitter = check_cv(search.cv, inputs.y, classifier=is_classifier(search.estimator))
    n_splits = splitter.get_n_splits(inputs.X, inputs.y, **inputs.split_params)
    pairs = [
        (row_numbers(train), row_numbers(test))
        for train, test in splitter.split(inputs.X, inputs.y, **inputs.split_params)
    ]
    if not pairs:
        raise ValueError(
            "No fits were performed. Was the CV iterator empty? Were there no candidates?"
        )
    for place, (train, test) in enumerate(pairs):
        if len(train) == 0 or len(test) == 0:
            raise ValueError(
                f"Split {place} of cv has {len(train)} training and {len(test)} test rows; both "
                "must have at least one. Use fewer splits, or another cv."
            )
    if len(pairs) != n_splits:
        raise ValueError(
            "cv.split and cv.get_n_splits return inconsistent results. "
            f"Expected {n_splits} splits, got {len(pairs)}"
        )
    return pairs


def whole_folds(pairs: list[tuple[Rows, Rows]]) -> FixedSplits:
    """Return the splits for a resource that leaves the rows alone."""
    return FixedSplits(tuple(Fold(train, test) for train, test in pairs))


def nested_folds(
    search: BaseSearchCV,
    inputs: FitInputs,
    pairs: list[tuple[Rows, Rows]],
    seed: np.random.SeedSequence,
) -> tuple[FixedSplits, int]:
    """Return the splits with an order for nested subsets, and the rows every subset needs."""
    target = _class_target(search, inputs)
    groups = inputs.split_params.get("groups")
    groups = None if groups is None else np.asarray(groups)
    keep_order = _goes_forward(pairs)
    full_level = min(len(train) for train, _ in pairs)
    folds, needed = [], 1
    for repetition, (train, test) in enumerate(pairs):
        rng = np.random.default_rng(
            np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, repetition))
        )
        y_train = None if target is None else target[train]
        order = subset_order(
            y_train,
            None if groups is None else groups[train],
            rng,
            stratify=y_train is not None,
            keep_order=keep_order,
            min_per_class=MIN_PER_CLASS,
            n_rows=len(train),
        )
        folds.append(Fold(train, test, order, full_level))
        if y_train is not None:
            needed = max(needed, rows_needed(order, y_train, MIN_PER_CLASS))
    return FixedSplits(tuple(folds)), needed


def _goes_forward(pairs: list[tuple[Rows, Rows]]) -> bool:
    """Return whether every split tests on rows after its training rows, as in time series.

    A single split tells nothing: it may be a hold-out set at the end of the table.
    """
    return len(pairs) > 1 and all(
        len(train) and len(test) and train.max() < test.min() for train, test in pairs
    )


def _class_target(search: BaseSearchCV, inputs: FitInputs) -> Any:
    """Return y as class numbers where subsets are to hold every class; None elsewhere."""
    if inputs.y is None or not is_classifier(search.estimator):
        return None
    if type_of_target(inputs.y) not in ("binary", "multiclass"):
        return None
    classes = np.unique(np.asarray(inputs.y).ravel(), return_inverse=True)[1]
    return np.asarray(classes).ravel()
