"""What every resource must do.

The classes are found by walking `sklearn_halving.resources`. A new one needs an entry in
`CASES`: an estimator that it trains, levels to train to, and a setting that it must refuse.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pickle
import pkgutil
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sklearn_halving.resources
from sklearn_halving import HyperbandSearchCV
from sklearn_halving.resources import (
    FitTime,
    Iterations,
    ParameterValue,
    PartialFit,
    Resource,
    TrainingSize,
    WholeFit,
)
from sklearn_halving.testing import check_resource

X, Y = make_classification(120, 6, random_state=0)


@dataclass(frozen=True)
class Case:
    """A resource, an estimator that it trains, and what is true of the two together."""

    resource: Any
    estimator: Any
    levels: tuple[int, ...]
    """Some levels, in ascending order."""
    space: dict[str, list[Any]]
    """Parameters to search over with this resource."""
    continues: bool = False
    """Whether training goes on from one level to the next."""
    is_exact: bool = True
    """Whether a model trained level by level equals one trained from scratch."""
    refused: tuple[Any, frozenset[str]] | None = None
    """An estimator and the names of searched parameters that do not suit the resource."""


def sgd(**params: Any) -> Any:
    """Return an estimator that gives the same with one call for all epochs or one for each."""
    return SGDClassifier(
        learning_rate="constant", eta0=0.01, shuffle=False, tol=None, random_state=0, **params
    )


FOREST = RandomForestClassifier(n_estimators=9, max_depth=3, random_state=0)
FEATURES = make_pipeline(RBFSampler(n_components=32, random_state=0), RidgeClassifier())
NONE = frozenset[str]()

CASES: dict[type, list[Case]] = {
    TrainingSize: [Case(TrainingSize(), LogisticRegression(), (20, 60), {"C": [0.1, 1.0]})],
    Iterations: [
        Case(
            Iterations("n_estimators"),
            FOREST,
            (2, 5, 9),
            {"max_depth": [1, 3]},
            continues=True,
            refused=(FOREST, frozenset({"n_estimators"})),
        ),
        Case(
            Iterations("max_iter"),
            HistGradientBoostingClassifier(max_iter=9, random_state=0),
            (2, 9),
            {"max_depth": [1, 3]},
            continues=True,
            refused=(FOREST, NONE),
        ),
        Case(
            Iterations("sgdclassifier__max_iter"),
            make_pipeline(StandardScaler(), sgd(max_iter=9)),
            (2, 9),
            {"sgdclassifier__alpha": [0.01, 0.1]},
            continues=True,
            refused=(make_pipeline(StandardScaler(), FOREST), NONE),
        ),
        Case(
            Iterations("n_estimators", "refit"),
            FOREST,
            (2, 5, 9),
            {"max_depth": [1, 3]},
            refused=(LogisticRegression(), NONE),
        ),
    ],
    PartialFit: [
        Case(
            PartialFit(),
            make_pipeline(StandardScaler(), sgd()),
            (1, 3, 9),
            {"sgdclassifier__alpha": [0.01, 0.1]},
            continues=True,
            refused=(FOREST, NONE),
        ),
        Case(
            PartialFit((0, 1)),
            GaussianNB(),
            (1, 3),
            {"var_smoothing": [1e-9, 1e-3]},
            continues=True,
            refused=(LogisticRegression(), NONE),
        ),
    ],
    ParameterValue: [
        Case(
            ParameterValue("rbfsampler__n_components"),
            FEATURES,
            (4, 32),
            {"ridgeclassifier__alpha": [0.1, 1.0]},
            refused=(FEATURES, frozenset({"rbfsampler__n_components"})),
        ),
        Case(
            ParameterValue("max_samples", 0.01),
            BaggingClassifier(n_estimators=3, max_samples=0.9, random_state=0),
            (20, 90),
            {"max_features": [0.5, 1.0]},
            refused=(FEATURES, NONE),
        ),
    ],
    FitTime: [
        Case(
            FitTime(),
            sgd(),
            (1, 3),
            {"alpha": [0.01, 0.1]},
            continues=True,
            is_exact=False,
            refused=(LogisticRegression(), NONE),
        ),
    ],
    WholeFit: [Case(WholeFit(), LogisticRegression(), (1,), {"C": [0.1, 1.0]})],
}
ALL = [
    pytest.param(case, id=f"{cls.__name__}-{i}")
    for cls, cases in CASES.items()
    for i, case in enumerate(cases)
]
every_case = pytest.mark.parametrize("case", ALL)


# ------------------------------------------------------------------- the package is walked


def resource_classes() -> set[type]:
    """Return the classes of the package that have the methods of `Resource`."""
    methods = [name for name, _ in inspect.getmembers(Resource, inspect.isfunction)]
    methods = [name for name in methods if not name.startswith("_")]
    package = sklearn_halving.resources
    found = {
        cls
        for module in pkgutil.iter_modules(package.__path__)
        for _, cls in inspect.getmembers(
            importlib.import_module(f"{package.__name__}.{module.name}"), inspect.isclass
        )
        if cls is not Resource
        and cls.__module__.startswith(package.__name__)
        and all(hasattr(cls, name) for name in methods)
    }
    # Bases of others are left out.
    return {cls for cls in found if not any(cls in other.__mro__[1:] for other in found)}


def test_every_resource_is_tested() -> None:
    missing = sorted(cls.__name__ for cls in resource_classes() if not CASES.get(cls))
    assert not missing, (
        f"{', '.join(missing)}: found in sklearn_halving.resources, but without an entry in "
        f"CASES of {__file__}. Add an estimator and levels, so that it is tested like the rest."
    )


def test_every_resource_is_public() -> None:
    public = set(sklearn_halving.resources.__all__)
    assert {cls.__name__ for cls in resource_classes()} <= public
    assert resource_classes() >= set(CASES), "the walk finds what is tested"


# --------------------------------------------------------------------------- as an object


@every_case
def test_is_a_frozen_value(case: Case) -> None:
    resource = case.resource
    assert isinstance(resource, Resource)
    assert is_dataclass(resource)
    again = pickle.loads(pickle.dumps(resource))
    assert again == resource
    assert hash(again) == hash(resource)
    for field in fields(resource):
        with pytest.raises(FrozenInstanceError):
            setattr(resource, field.name, None)


# --------------------------------------------------------------------------------- levels


@every_case
@given(n_train=st.integers(1, 10**6), share=st.floats(0, 1))
def test_the_range_of_levels(case: Case, n_train: int, share: float) -> None:
    smallest, largest = case.resource.level_range(case.estimator, n_train, int(share * n_train))
    assert type(smallest) is type(largest) is int
    assert smallest >= 1
    assert largest == 0 or largest >= smallest, "0: the user must set it"


@every_case
@given(level=st.integers(1, 10**6), further=st.integers(1, 1000))
def test_amounts_grow_with_levels_and_lead_back_to_them(
    case: Case, level: int, further: int
) -> None:
    amount = case.resource.to_amount(level)
    assert math.isfinite(amount)
    assert 0 < amount < case.resource.to_amount(level + further)
    assert case.resource.to_level(amount) == level


# --------------------------------------------------------------------------------- checks


@every_case
def test_conforms(case: Case) -> None:
    check_resource(case.resource, case.estimator, exact=case.is_exact)


@every_case
def test_what_does_not_suit_it_is_an_error_before_any_fit(case: Case) -> None:
    if case.refused is None:
        case.resource.check(object(), frozenset({case.resource.name}))
        return
    estimator, searched = case.refused
    with pytest.raises(ValueError, match="resource") as error:
        case.resource.check(estimator, searched)
    name = case.resource.name
    assert f"'{name}'" in str(error.value)
    assert str(error.value).endswith("."), "sentences, and the last one says what to do"
    space = {name: [1, 2] for name in searched} or {"random_state": [0, 1]}
    search = HyperbandSearchCV(estimator, space, resource=case.resource, max_resources=9)
    with pytest.raises(ValueError, match="resource"):
        search.fit(X, Y)
    assert not hasattr(search, "history_")


# ------------------------------------------------------------------------------- training


def climb(case: Case, levels: tuple[int, ...], *, travels: bool = False) -> Any:
    """Train to one level after the other, on the rows of the level."""
    model, previous = clone(case.estimator), 0
    for level in levels:
        rows = slice(level if case.resource.subsamples_rows else None)
        if travels:
            model = pickle.loads(pickle.dumps(model))
        model = case.resource.train(model, X[rows], Y[rows], level, previous, {})
        previous = level
    return model


def output(model: Any) -> np.ndarray:
    """Return what tells two models apart."""
    method = model.predict_proba if hasattr(model, "predict_proba") else model.decision_function
    return np.asarray(method(X))


@every_case
def test_level_by_level_is_from_scratch(case: Case) -> None:
    if not case.is_exact:
        pytest.skip("depends on the clock")
    at_once = output(climb(case, case.levels[-1:]))
    np.testing.assert_allclose(output(climb(case, case.levels)), at_once, rtol=1e-9, atol=1e-12)


@every_case
def test_continues_where_it_says_so(case: Case) -> None:
    estimator = clone(case.estimator)
    assert case.resource.can_continue(estimator) == case.continues
    if case.continues:
        model = climb(case, case.levels)
        before, level = output(model), case.levels[-1]
        assert case.resource.train(model, X, Y, level, level, {}) is model
        np.testing.assert_array_equal(output(model), before, "nothing was left to train")


@every_case
def test_a_failing_fit_does_not_change_the_other_parameters(case: Case) -> None:
    estimator = clone(case.estimator)
    with pytest.raises(ValueError, match=r".+"):
        case.resource.train(estimator, X[:0], Y[:0], case.levels[-1], 0, {})
    expected = clone(case.estimator).set_params(**case.resource.params_at(case.levels[-1]))
    assert str(clone(estimator).get_params()) in (
        str(expected.get_params()),
        str(case.estimator.get_params()),
    )


# ------------------------------------------------------------------------------ in a search


def search_of(case: Case, **params: Any) -> Any:
    amounts = [case.resource.to_amount(case.levels[i]) for i in (0, -1)]
    options = {"min_resources": amounts[0], "max_resources": amounts[1], "factor": 2, "cv": 2}
    options |= {"random_state": 0, "error_score": "raise"}
    options |= {"resource": case.resource, "brackets": "most_exploratory"}
    return HyperbandSearchCV(case.estimator, case.space, **options | params)


@every_case
def test_a_search_plays_what_it_plans(case: Case) -> None:
    search = search_of(case)
    planned = search.plan(X, Y)
    search.fit(X, Y)
    assert search.n_fits_ == planned["n_fits"].sum()
    if len(case.levels) > 1:
        played = set(search.cv_results_["n_resources"])
        assert played == set(planned["n_resources"])
        assert max(played) == pytest.approx(case.resource.to_amount(case.levels[-1]))
    continued = search.history_["continued_from"] > 0
    assert continued.any() == (case.continues and len(case.levels) > 1)
