from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.resources import FitTime, Iterations, ParameterValue, PartialFit, TrainingSize

X, Y = np.arange(120.0).reshape(60, 2), np.arange(60) % 2


def test_rules():
    rows = TrainingSize(rescale={"C": "inverse", "gamma": "proportional"})
    assert rows.rescaled(SVC(C=3, gamma=0.5), 10, 40) == {"C": 12, "gamma": 0.125}
    assert rows.rescaled(SVC(C=2.0, gamma=0.5), 80, 40) == {"C": 1.0, "gamma": 1.0}


def test_callables():
    rule = {"min_samples_leaf": lambda value, amount, most: max(1, round(value * amount / most))}
    forest = RandomForestClassifier(min_samples_leaf=10)
    assert TrainingSize(rescale=rule).rescaled(forest, 1, 3) == {"min_samples_leaf": 3}


@pytest.mark.parametrize(("level", "expected"), [(30, 20), (20, 13), (1, 1), (60, 40), (90, 60)])
@pytest.mark.parametrize("value", [40, np.int64(40)])
def test_a_whole_number_stays_one(level, expected, value):
    """``min_samples_leaf=20.0`` is an error of scikit-learn."""
    forest = RandomForestClassifier(min_samples_leaf=value, max_leaf_nodes=value)
    names = ("min_samples_leaf", "max_leaf_nodes")  # with the defaults 1 and None
    rows = TrainingSize(rescale=dict.fromkeys(names, "proportional"))
    rescaled = rows.rescaled(forest, level, 60)
    assert rescaled == dict.fromkeys(names, expected)
    in_pipeline = Pipeline([("clf", forest)])
    rows = TrainingSize(rescale={"clf__min_samples_leaf": "proportional"})
    rescaled |= rows.rescaled(in_pipeline, level, 60)
    assert rescaled["clf__min_samples_leaf"] == expected
    assert all(isinstance(number, (int, np.integer)) for number in rescaled.values())


def test_nothing_to_rescale():
    assert TrainingSize() == TrainingSize(rescale=None)
    assert TrainingSize(rescale={}).rescaled(SVC(), 1, 3) == TrainingSize().rescaled(SVC(), 1, 3)
    assert TrainingSize().rescaled(SVC(), 1, 3) == {}


def test_a_parameter_that_only_other_candidates_have():
    pipeline = Pipeline([("clf", KNeighborsClassifier())])
    assert TrainingSize(rescale={"clf__C": "inverse"}).rescaled(pipeline, 1, 3) == {}
    search = HyperbandSearchCV(
        pipeline,
        {"clf": [SVC(C=4.0), KNeighborsClassifier()]},
        resource=TrainingSize(rescale={"clf__C": "inverse"}),
        cv=2,
        random_state=0,
    ).fit(X, Y)
    shown = search.cv_results_["rescaled_clf__C"]
    is_svc = np.array([isinstance(value, SVC) for value in search.cv_results_["param_clf"]])
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), ~is_svc)
    spent = search.cv_results_["n_resources"][is_svc]
    np.testing.assert_allclose(shown[is_svc].astype(float), 4 * 30 / spent)


def test_seconds_are_the_amounts_of_a_time():
    time = FitTime(rescale={"C": lambda value, amount, most: (amount, most)[0]})
    assert time.rescaled(SVC(), 50, 1000) == {"C": 0.05}


@pytest.mark.parametrize(
    "make",
    [Iterations, ParameterValue, PartialFit, TrainingSize, FitTime],
    ids=lambda m: m.__name__,
)
def test_rules_are_checked_when_a_resource_is_created(make):
    named = ("max_iter",) if make in (Iterations, ParameterValue) else ()
    make(*named, rescale={"C": "inverse", "gamma": abs})
    with pytest.raises(ValueError, match=r"rescale\['C'\] must be 'inverse'.*got 'double'"):
        make(*named, rescale={"C": "double"})
    for rules in ("C", ["C"], 3):
        with pytest.raises(ValueError, match=r"rescale must be a dict.*An example is \{'C'"):
            make(*named, rescale=rules)


@pytest.mark.parametrize("value", ["scale", None, True])
def test_named_rules_need_a_number(value):
    with pytest.raises(ValueError, match=r"rescale\['gamma'\]='inverse' needs a numeric"):
        TrainingSize(rescale={"gamma": "inverse"}).rescaled(SVC(gamma=value), 1, 3)


def test_a_callable_may_return_what_the_value_is():
    for value, result in (("scale", "auto"), ("scale", 0.1), (0.1, 2)):
        rows = TrainingSize(rescale={"gamma": lambda *_, r=result: r})
        assert rows.rescaled(SVC(gamma=value), 1, 3) == {"gamma": result}
