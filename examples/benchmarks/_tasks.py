"""The searches that `time_to_quality.py` puts side by side: what is searched, on which data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from _common import load_images
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer, MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import SVC

PREPROCESSORS = ["passthrough", MinMaxScaler(), StandardScaler(), Normalizer()]


class KernelRidgeClassifier(ClassifierMixin, KernelRidge):
    """Kernel ridge regression on one column for each class (Li et al. 2018, 3.2.2)."""

    def fit(self, X: Any, y: Any) -> KernelRidgeClassifier:
        """Solve for all classes at once."""
        self._binarizer = LabelBinarizer(neg_label=-1)
        targets = self._binarizer.fit_transform(y)
        self.classes_ = self._binarizer.classes_
        return super().fit(X, targets)

    def predict(self, X: Any) -> Any:
        """Return the class with the largest output."""
        return self.classes_[super().predict(X).argmax(axis=1)]


class Task(NamedTuple):
    """What is searched, on which data.

    ``reference`` are parameters known to be good: where random search may well find nothing,
    what they score is to be reached.
    """

    name: str
    estimator: BaseEstimator
    space: Any
    load: Callable[[int], tuple[Any, Any]]
    target: str = ""
    options: dict[str, Any] = {}  # noqa: RUF012 - never changed
    reference: dict[str, Any] | None = None


def tasks(quick: bool) -> Iterator[Task]:
    """Yield the tasks of the issue."""
    n_images, n_features = (200, 50) if quick else (1500, 1000)

    def digits(seed: int) -> tuple[Any, Any]:
        X, y = load_digits(return_X_y=True)
        step = 5 if quick else 1
        return X[::step], y[::step]

    def images(seed: int) -> tuple[Any, Any]:
        return load_images(n_images, seed)[:2]

    svc = {"C": loguniform(1e-2, 1e4), "gamma": loguniform(1e-6, 1e1)}
    yield Task("SVC on digits, n_samples", SVC(), svc, digits, ">= 20")
    # The space of section 3.2.2 of the paper, with alpha = 1 / (2 C).
    kernel_ridge = Pipeline([("scale", "passthrough"), ("model", KernelRidgeClassifier())])
    kernels = {
        "scale": PREPROCESSORS,
        "model__kernel": ["rbf", "poly", "sigmoid"],
        "model__alpha": loguniform(5e-6, 5e2),
        "model__gamma": loguniform(1e-5, 1e1),
        "model__degree": randint(2, 6),
        "model__coef0": uniform(-1, 2),
    }
    yield Task("kernel ridge on images, n_samples", kernel_ridge, kernels, images)
    features = Pipeline(
        [
            ("scale", "passthrough"),
            ("rbf", RBFSampler(n_components=n_features, random_state=0)),
            ("model", RidgeClassifier()),
        ]
    )
    space = {
        "scale": PREPROCESSORS,
        "rbf__gamma": loguniform(1e-5, 1e1),
        "model__alpha": loguniform(5e-6, 5e2),
    }
    resource = {"resource": "rbf__n_components"}
    yield Task("random features on images", features, space, images, options=resource)
    wide = {"C": loguniform(1e-6, 1e6), "gamma": loguniform(1e-12, 1e2)}
    known = {"C": 10, "gamma": 1e-3}
    yield Task("SVC on digits, one in sixty is good", SVC(), wide, digits, reference=known)
