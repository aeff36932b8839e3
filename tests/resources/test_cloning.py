"""The faster forms of `clone`, `get_params` and `set_params` do the same as scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_halving.resources._cloning import all_params, cloned, set_params


class Logged(BaseEstimator):
    """Counts calls of its own methods."""

    def __init__(self, alpha=1.0, model=None):
        self.alpha = alpha
        self.model = model

    def get_params(self, deep=True):
        return {"alpha": self.alpha, "model": self.model, "extra": 7}

    def set_params(self, **params):
        self.set_with_ = dict(params)
        return self


class NamesOfItsOwn(BaseEstimator):
    """Has other parameters in every instance, like the estimators of SciKeras."""

    def __init__(self, alpha=1.0, **others):
        self.alpha = alpha
        vars(self).update(others)

    def _get_param_names(self):
        return (name for name in vars(self) if not name.endswith("_"))


class ClonesItself(BaseEstimator):
    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def __sklearn_clone__(self):
        return self


class Rounds(BaseEstimator):
    """Changes its parameter in the constructor, which scikit-learn forbids."""

    def __init__(self, alpha=1.0):
        self.alpha = [alpha]


class WithProperty(BaseEstimator):
    """Stores its parameter under another name."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    @property
    def alpha(self):
        return self._alpha

    @alpha.setter
    def alpha(self, value):
        self._alpha = value


ESTIMATORS = [
    Ridge(alpha=3),
    SVC(C=np.float64(2.0), class_weight={0: 1.0, 1: 2.0}),
    RandomForestClassifier(max_features=None),
    BaggingClassifier(LogisticRegression(C=0.5)),
    CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC())),
    SelectFromModel(Ridge, threshold=-np.inf),
    make_pipeline(StandardScaler(), SVC(C=7)),
    WithProperty(alpha=3),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_an_estimator_of_scikit_learn_is_treated_as_by_its_own_methods(estimator):
    theirs, ours = clone(estimator), cloned(estimator)
    assert type(ours) is type(theirs)
    assert repr(ours.get_params()) == repr(theirs.get_params())
    assert all_params(estimator) == estimator.get_params(deep=True)
    for name in ("alpha", "C", "estimator__C", "svc__C", "estimator__svc__gamma"):
        if name in estimator.get_params():
            theirs.set_params(**{name: 0.125})
            set_params(ours, {name: 0.125})
            assert ours.get_params()[name] == 0.125
            assert repr(ours.get_params()) == repr(theirs.get_params())


def test_parameters_that_are_estimators_are_cloned():
    bagging = BaggingClassifier(LogisticRegression().fit([[0], [1]], [0, 1]))
    assert cloned(bagging).estimator is not bagging.estimator
    assert not hasattr(cloned(bagging).estimator, "coef_")


def test_unknown_names_raise_the_error_of_scikit_learn():
    with pytest.raises(ValueError, match="Invalid parameter 'beta' for estimator Ridge"):
        set_params(Ridge(), {"alpha": 1, "beta": 2})
    with pytest.raises(ValueError, match="Invalid parameter 'C' for estimator Ridge"):
        set_params(BaggingClassifier(Ridge()), {"estimator__C": 2})


def test_methods_that_a_class_defines_itself_are_called():
    logged = Logged()
    assert all_params(logged) == {"alpha": 1.0, "model": None, "extra": 7}
    set_params(logged, {"alpha": 2.0})
    assert logged.set_with_ == {"alpha": 2.0}
    assert logged.alpha == 1.0
    itself = ClonesItself()
    assert cloned(itself) is itself


def test_a_constructor_that_changes_a_parameter_raises_the_error_of_scikit_learn():
    with pytest.raises(RuntimeError, match="constructor either does not set or modifies"):
        cloned(Rounds())


def test_a_clone_keeps_settings_and_drops_what_was_fitted():
    scaler = StandardScaler().set_output(transform="pandas").fit([[1.0], [3.0]])
    assert type(cloned(scaler).fit_transform([[1.0], [3.0]])).__name__ == "DataFrame"
    assert not hasattr(cloned(scaler), "mean_")
    with config_context(enable_metadata_routing=True):
        requested = cloned(Ridge().set_fit_request(sample_weight=True)).get_metadata_routing()
        assert requested.fit.requests == {"sample_weight": True}


def test_parameters_may_differ_between_the_instances_of_a_class():
    first, second = NamesOfItsOwn(hidden=10), NamesOfItsOwn(rate=0.1)
    assert all_params(first) == {"alpha": 1.0, "hidden": 10}
    assert all_params(second) == {"alpha": 1.0, "rate": 0.1}
    assert cloned(second).rate == 0.1
    set_params(first, {"hidden": 20})
    assert first.hidden == 20


def test_a_constructor_may_be_replaced():
    """As ``%autoreload 2`` does in a notebook."""

    class Edited(BaseEstimator):
        def __init__(self, alpha=1.0):
            self.alpha = alpha

    class Later(BaseEstimator):
        def __init__(self, alpha=1.0, beta=2.0):
            self.alpha, self.beta = alpha, beta

    assert all_params(Edited()) == {"alpha": 1.0}
    Edited.__init__ = Later.__init__
    assert all_params(Edited()) == {"alpha": 1.0, "beta": 2.0}
    assert cloned(Edited(beta=3.0)).beta == 3.0
