"""The faster forms of `clone`, `get_params` and `set_params` do the same as scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_halving.resources._fitting import all_params, cloned, set_params


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
