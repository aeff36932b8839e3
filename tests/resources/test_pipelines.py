from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

from resources.climbing import trained_to
from sklearn_halving.resources import FitTime, Iterations, PartialFit

X, Y = make_classification(120, 8, n_informative=5, random_state=0)
climb = partial(trained_to, X, Y)
WEIGHT = np.linspace(0.1, 2.0, len(Y))


class CountingScaler(TransformerMixin, BaseEstimator):
    """Counts its fits, and doubles the values."""

    def fit(self, X, y=None, sample_weight=None):
        self.n_fits_ = getattr(self, "n_fits_", 0) + 1
        self.weights_ = sample_weight
        return self

    def transform(self, X):
        return 2 * np.asarray(X)


class Resampler(BaseEstimator):
    def fit_resample(self, X, y):
        return X[::2], y[::2]


def forest(**params):
    return RandomForestClassifier(random_state=0, **params)


@pytest.mark.parametrize("with_memory", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_earlier_steps_are_fitted_once(tmp_path, with_memory, nested):
    memory = str(tmp_path) if with_memory else None
    model = Pipeline([("scale", CountingScaler()), ("clf", forest())], memory=memory)
    parameter = "clf__n_estimators"
    if nested:
        model = Pipeline([("first", CountingScaler()), ("last", model)])
        parameter = "last__clf__n_estimators"
    resource = Iterations(parameter)
    assert resource.can_continue(model)
    model = climb(resource, model, [2, 6, 12])
    for step in [model[0], model[-1][0]] if nested else [model[0]]:
        assert step.n_fits_ == 1
    scale = 4 if nested else 2
    cold = forest(n_estimators=12).fit(scale * X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), cold.predict_proba(scale * X))
    assert model.get_params()[parameter] == 12


def epochs_by_hand(n, **params):
    by_hand = SGDClassifier(shuffle=False)
    for _ in range(n):
        by_hand.partial_fit(2 * X, Y, classes=[0, 1], **params)
    return by_hand


@pytest.mark.parametrize("with_memory", [False, True])
def test_epochs_behind_a_transformer(tmp_path, with_memory):
    memory = str(tmp_path) if with_memory else None
    model = Pipeline(
        [("scale", CountingScaler()), ("clf", SGDClassifier(shuffle=False))], memory=memory
    )
    model = climb(PartialFit(), model, [1, 3])
    by_hand = epochs_by_hand(3)
    np.testing.assert_allclose(model[-1].coef_, by_hand.coef_)
    np.testing.assert_array_equal(model.predict(X), by_hand.predict(2 * X))
    assert model[0].n_fits_ == 1


def test_weights_of_a_continued_last_step():
    model = make_pipeline(StandardScaler(), forest())
    params = {"randomforestclassifier__sample_weight": WEIGHT}
    resource = Iterations("randomforestclassifier__n_estimators")
    model = climb(resource, model, [2, 6], **params)
    cold = make_pipeline(StandardScaler(), forest(n_estimators=6)).fit(X, Y, **params)
    np.testing.assert_array_equal(model.predict_proba(X), cold.predict_proba(X))


@pytest.mark.parametrize("epochs", [False, True])
def test_routed_metadata_reach_their_steps(epochs):
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = CountingScaler().set_fit_request(sample_weight=True)
        if epochs:
            last = SGDClassifier(shuffle=False).set_fit_request(sample_weight=True)
            resource = PartialFit()
        else:
            last = forest().set_fit_request(sample_weight=True)
            resource = Iterations("clf__n_estimators")
        model = Pipeline([("scale", scaler), ("clf", last)])
        model = climb(resource, model, [2, 6], sample_weight=WEIGHT)
        assert model[0].n_fits_ == 1
        assert model[0].weights_ is WEIGHT
        if epochs:
            expected = epochs_by_hand(6, sample_weight=WEIGHT).coef_
            np.testing.assert_allclose(model[-1].coef_, expected)
        else:
            cold = forest(n_estimators=6).fit(2 * X, Y, sample_weight=WEIGHT)
            np.testing.assert_array_equal(model.predict_proba(X), cold.predict_proba(2 * X))


@pytest.mark.parametrize(
    "first",
    [
        TargetEncoder(),
        make_pipeline(TargetEncoder(), StandardScaler()),
        ColumnTransformer([("target", TargetEncoder(), [0]), ("hot", OneHotEncoder(), [1])]),
        FeatureUnion([("target", make_pipeline(TargetEncoder())), ("scale", StandardScaler())]),
        StackingClassifier([("one", LogisticRegression())]),
        Resampler(),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_rows_that_are_transformed_otherwise_when_fitted_rule_continuing_out(first, nested):
    model = Pipeline([("first", first), ("clf", SGDClassifier())])
    parameter = "clf__max_iter"
    if nested:
        model, parameter = Pipeline([("all", model)]), "all__clf__max_iter"
    assert not Iterations(parameter).can_continue(model)
    assert not PartialFit().can_continue(model)


def test_a_target_encoder_behind_which_all_is_refitted():
    rng = np.random.default_rng(0)
    categories = rng.integers(0, 5, (120, 2)).astype(str)
    target = rng.integers(0, 2, 120)
    model = Pipeline([("enc", TargetEncoder()), ("clf", forest())])
    resource = Iterations("clf__n_estimators")
    model = resource.train(model, categories, target, 6, 0, {})
    assert model[-1].n_estimators == len(model[-1].estimators_) == 6


def test_only_a_parameter_of_the_last_step_is_continued():
    select = SelectFromModel(GradientBoostingClassifier())
    model = Pipeline([("select", select), ("clf", forest())])
    assert not Iterations("select__estimator__n_estimators").can_continue(model)
    assert Iterations("clf__n_estimators").can_continue(model)
    model.set_params(clf="passthrough")
    assert not Iterations("clf__n_estimators").can_continue(model)
    assert not PartialFit().can_continue(model)
    assert not FitTime().can_continue(model)


def test_steps_that_pass_through():
    model = Pipeline([("none", None), ("pass", "passthrough"), ("clf", forest())])
    model = climb(Iterations("clf__n_estimators"), model, [2, 4])
    assert len(model[-1].estimators_) == 4


def test_fit_time_of_a_pipeline():
    model = make_pipeline(CountingScaler(), forest())
    time = FitTime()
    time.check(model, frozenset())
    model = time.train(model, X, Y, 20, 0, {})
    n_trees = len(model[-1].estimators_)
    model = time.train(model, X, Y, 60, 20, {})
    assert len(model[-1].estimators_) == model[-1].n_estimators > n_trees
    assert model[0].n_fits_ == 1


def test_steps_that_hand_on_more_than_rows_are_fitted_anew():
    """With ``transform_input``, the earlier steps transform fit parameters too."""
    steps = [("scale", StandardScaler()), ("clf", forest(n_estimators=9))]
    trees = Iterations("clf__n_estimators")
    assert trees.can_continue(Pipeline(steps))
    assert not trees.can_continue(Pipeline(steps, transform_input=["X_val"]))
