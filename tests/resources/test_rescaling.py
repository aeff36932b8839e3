from __future__ import annotations

import pickle

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from sklearn_halving.resources import Rescaling


def test_rules():
    rescaling = Rescaling.from_option({"C": "inverse", "gamma": "proportional"})
    assert rescaling.apply({"C": 3, "gamma": 0.5}, SVC(), 10, 40) == {"C": 12, "gamma": 0.125}
    assert rescaling.apply({"gamma": 0.5}, SVC(C=2.0), 10, 40) == {"C": 8.0, "gamma": 0.125}


def test_the_largest_amount_changes_nothing():
    value = 0.1 + 0.2
    rescaling = Rescaling.from_option({"C": "inverse", "gamma": lambda *_: 1 / 0})
    assert rescaling.apply({"C": value, "gamma": "scale"}, SVC(), 27, 27) == {
        "C": value,
        "gamma": "scale",
    }
    assert rescaling.apply({"C": value}, SVC(), 27, 27)["C"] is value


def test_callables():
    rule = {"min_samples_leaf": lambda value, amount, most: max(1, round(value * amount / most))}
    rescaling = Rescaling.from_option(rule)
    assert rescaling.apply({"min_samples_leaf": 10}, RandomForestClassifier(), 1, 3) == {
        "min_samples_leaf": 3
    }


def test_nothing_to_rescale():
    assert Rescaling.from_option(None) == Rescaling() == Rescaling.from_option({})
    assert Rescaling().apply({"C": 1.0}, SVC(), 1, 3) == {}


def test_a_parameter_that_only_other_candidates_have():
    pipeline = Pipeline([("clf", SVC())])
    rescaling = Rescaling.from_option({"clf__C": "inverse"})
    neighbors = KNeighborsClassifier()
    rescaling.check(pipeline, frozenset({"clf"}))
    pipeline.set_params(clf=neighbors)
    rescaling.check(pipeline, frozenset({"clf"}))
    assert rescaling.apply({"clf": neighbors}, pipeline, 1, 3) == {}


def test_the_tradeoff_of_ridge_stays():
    """n times the rows at n times alpha is the same fit."""
    X, y = [[0.0], [1.0], [3.0]], [0.0, 2.0, 1.0]
    rescaling = Rescaling.from_option({"alpha": "proportional"})
    params = rescaling.apply({"alpha": 5.0}, Ridge(), len(y), 4 * len(y))
    small = Ridge(**params).fit(X, y)
    large = Ridge(alpha=5.0).fit(4 * X, 4 * y)
    assert small.coef_ == pytest.approx(large.coef_)


def test_pickle():
    rescaling = Rescaling.from_option({"C": "inverse"})
    assert pickle.loads(pickle.dumps(rescaling)) == rescaling


def test_errors():
    with pytest.raises(ValueError, match=r"rescale\['C'\] must be 'inverse'.*got 'double'"):
        Rescaling.from_option({"C": "double"})
    with pytest.raises(ValueError, match="rescale must be None or a dict"):
        Rescaling.from_option("C")
    with pytest.raises(ValueError, match=r"rescale\['gama'\] must name.*Did you mean 'gamma'"):
        Rescaling.from_option({"gama": "inverse"}).check(SVC(), frozenset())
    for value in ("scale", None, True):
        with pytest.raises(ValueError, match=r"rescale\['gamma'\]='inverse' needs a numeric"):
            Rescaling.from_option({"gamma": "inverse"}).apply({"gamma": value}, SVC(), 1, 3)
