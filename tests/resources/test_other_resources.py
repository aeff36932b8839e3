"""ParameterValue, FitTime, and the resource that a name stands for."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.resources import (
    FitTime,
    Iterations,
    ParameterValue,
    PartialFit,
    Resource,
    TrainingSize,
    resolve_resource,
)
from sklearn_halving.resources._resources import units_of

X, Y = make_classification(200, 6, random_state=0)
FEATURES = make_pipeline(RBFSampler(n_components=64, random_state=0), RidgeClassifier())


def test_a_parameter_value_errors():
    with pytest.raises(ValueError, match="unit must be finite and larger than 0, got 0"):
        ParameterValue("C", 0)
    with pytest.raises(ValueError, match=r"Did you mean 'partial_fit'\? Its"):
        ParameterValue("ridgeclassifier__partial_fit").check(FEATURES, frozenset())
    with pytest.raises(ValueError, match=r"of Pipeline\. Its parameters"):  # nothing is similar
        ParameterValue("ridgeclassifier__beta").check(FEATURES, frozenset())
    names = {"rbfsampler__n_component": "rbfsampler__n_components", "gamma": "rbfsampler__gamma"}
    for name, meant in names.items():
        with pytest.raises(ValueError, match=f"Did you mean '{meant}'"):
            ParameterValue(name).check(FEATURES, frozenset())


@pytest.mark.parametrize(("parameter", "value"), [("kernel", "'rbf'"), ("shrinking", "True")])
def test_a_parameter_that_is_no_number_is_refused(parameter, value):
    with pytest.raises(ValueError, match=f"must be a numeric parameter; its value is {value}"):
        ParameterValue(parameter).check(SVC(), frozenset())


def test_fit_time_ends_before_the_step_that_would_be_too_late(counting_epochs):
    resource = FitTime()
    seconds = []
    for _ in range(3):  # on a busy machine, a step may take much longer than the others
        model = counting_epochs(seconds=0.02)
        begin = time.perf_counter()
        model = resource.train(model, X, Y, resource.to_level(0.2), 0, {})
        seconds.append(time.perf_counter() - begin)
        assert 1 <= model.units_ <= 9
    assert min(seconds) < 0.2 + 0.1
    units = model.units_
    model = resource.train(model, X, Y, 250, 200, {})
    assert units + 1 <= model.units_ <= units + 2


def test_fit_time_makes_at_least_one_step(counting_epochs):
    model = FitTime().train(counting_epochs(seconds=0.01), X, Y, 1, 0, {})
    assert model.units_ == 1
    assert FitTime().train(model, X, Y, 1, 1, {}).units_ == 1


def test_fit_time_knows_the_classes():
    resource = FitTime().for_target(np.array([0, 1, 2]))
    model = resource.train(SGDClassifier(), X, Y, 5, 0, {})
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])


def test_fit_time_check():
    resource = FitTime()
    resource.check(SGDClassifier(), frozenset({"max_iter"}))
    pipeline = make_pipeline(RBFSampler(), LogisticRegression())
    resource.check(pipeline, frozenset({"logisticregression"}))  # candidates replace the step
    with pytest.raises(
        ValueError, match="'n_estimators' as the resource since it is part of the searched"
    ):
        resource.check(RandomForestClassifier(), frozenset({"n_estimators"}))
    with pytest.raises(ValueError, match=r"resource='fit_time' needs .*LogisticRegression"):
        resource.check(LogisticRegression(), frozenset())
    with pytest.raises(ValueError, match=r"resource='fit_time' needs .*BaggingClassifier"):
        resource.train(BaggingClassifier(oob_score=True), X, Y, 5, 0, {})
    assert resource.level_range(SGDClassifier(), 100, 4) == (1, 0)
    assert (resource.to_level(1.5), resource.to_amount(1500)) == (1500, 1.5)
    assert resource.params_at(5) == {}


@pytest.mark.parametrize(
    ("resource", "estimator", "expected"),
    [
        ("n_samples", LogisticRegression(), TrainingSize()),
        ("partial_fit", SGDClassifier(), PartialFit()),
        ("fit_time", SGDClassifier(), FitTime()),
        ("n_estimators", BaggingClassifier(), Iterations("n_estimators")),
        ("max_iter", LogisticRegression(), Iterations("max_iter")),
        ("max_samples", BaggingClassifier(max_samples=1.0), ParameterValue("max_samples", 1e-3)),
        ("n_iter_no_change", SGDClassifier(), ParameterValue("n_iter_no_change")),
        ("rbfsampler__n_components", FEATURES, ParameterValue("rbfsampler__n_components")),
        ("ridgeclassifier__max_iter", FEATURES, Iterations("ridgeclassifier__max_iter")),
        # candidates may replace the step: `check` knows whether they do
        ("ridgeclassifier__n_estimators", FEATURES, Iterations("ridgeclassifier__n_estimators")),
        (ParameterValue("C"), LogisticRegression(C=1.0), ParameterValue("C", 1e-3)),
        (Iterations("x"), LogisticRegression(), Iterations("x")),
    ],
)
def test_resolve_resource(resource, estimator, expected):
    assert resolve_resource(resource, estimator) == expected


@pytest.mark.parametrize("resource", ["n_sample", "n_estimator", "nothing", 3, None, PartialFit])
def test_resolve_resource_errors(resource):
    with pytest.raises(ValueError, match="resource must be 'n_samples', 'partial_fit'") as error:
        resolve_resource(resource, BaggingClassifier())
    if resource == "n_sample":
        assert "Did you mean 'n_samples'" in str(error.value)
    if resource == "n_estimator":
        assert "Did you mean 'n_estimators'" in str(error.value)


@pytest.mark.parametrize(
    ("method", "answer", "rule"),
    [
        ("name", None, "be of type str"),
        ("level_range", (1.5, 20), "be two integers"),
        ("level_range", None, "be two integers"),
        ("to_amount", "a lot", "be a finite number"),
        ("to_amount", float("nan"), "be a finite number"),
        ("to_level", 1.5, "be of type Integral"),
        ("params_at", None, "be of type Mapping"),
        ("for_target", None, "be of type Resource"),
        ("train", None, "return the model"),
    ],
)
def test_nonsense_of_a_resource_is_named(method, answer, rule):
    class Own(Resource):
        name = "own"

        def level_range(self, *known):
            return 1, 27

    setattr(Own, method, answer if method == "name" else lambda *given: answer)
    search = HyperbandSearchCV(SVC(), {"C": [1, 2, 3]}, resource=Own(), error_score="raise")
    with pytest.raises((ValueError, TypeError), match=f"{method}.* must {rule}"):
        search.fit(X, Y)


@pytest.mark.parametrize(
    ("resource", "units"),
    [
        ("n_samples", "training rows"),
        (TrainingSize(), "training rows"),
        ("partial_fit", "epochs"),
        ("fit_time", "seconds of training"),
        ("n_estimators", "n_estimators"),
        (ParameterValue("max_features"), "max_features"),
    ],
)
def test_what_levels_count_is_known_by_the_name_and_by_the_object(resource, units):
    assert units_of(resource) == units


def test_max_iter_cannot_be_searched_if_epochs_are_the_resource():
    search = HyperbandSearchCV(
        SGDClassifier(), {"max_iter": [1, 2], "alpha": [1e-4, 1e-3]}, resource="partial_fit"
    )
    with pytest.raises(ValueError, match="Cannot use parameter 'max_iter' as the resource"):
        search.fit(*make_classification(60, random_state=0))
