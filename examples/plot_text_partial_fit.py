"""
Text, epoch by epoch
====================

The task is to find the module of a function from the first lines of its documentation. Text has
many sparse columns, and a linear model trained by stochastic gradient descent learns from them in
passes over the data. With ``resource="partial_fit"`` the unit of the resource is one such pass,
an epoch. A candidate that goes on to the next rung keeps its weights and its learning rate.

The texts are the docstrings of the installed NumPy, SciPy, pandas and scikit-learn. They are real
texts and need no download. For longer texts, use :func:`sklearn.datasets.fetch_20newsgroups`
instead of ``docstrings``.
"""

import inspect
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from scipy.stats import loguniform, uniform
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import RandomizedSearchCV, train_test_split

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.plotting import RungDisplay

MODULES = [
    *("numpy", "pandas", "scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.signal"),
    *("scipy.interpolate", "scipy.sparse", "scipy.special", "scipy.stats"),
    *("sklearn.datasets", "sklearn.ensemble", "sklearn.linear_model", "sklearn.metrics"),
]


def docstrings(owner: Any, depth: int = 1) -> Iterator[str]:
    """Yield the texts of what a module offers, and of the methods of its classes."""
    for name in sorted(dir(owner)):
        with warnings.catch_warnings(action="ignore"):  # some names are deprecated
            member = getattr(owner, name, None)
        if name.startswith("_") or not callable(member):
            continue
        yield inspect.getdoc(member) or ""
        if inspect.isclass(member) and depth > 0:
            yield from docstrings(member, depth - 1)


texts = {text[:400]: module for module in MODULES for text in docstrings(import_module(module))}
table = pd.Series({text: module for text, module in texts.items() if len(text) >= 60})
print(table.value_counts().to_string())
print(f"\n{len(table)} texts, such as\n\n{table.index[0]}")

# %%
# A ``HashingVectorizer`` learns nothing from the texts. They can be vectorized once before the
# search without leaking information between folds. A ``TfidfVectorizer`` learns word counts and
# has to be part of the pipeline.
X = HashingVectorizer(n_features=2**14, ngram_range=(1, 2)).fit_transform(table.index)
y = table.to_numpy()
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

model = SGDClassifier(learning_rate="invscaling")
space = {
    "loss": ["hinge", "modified_huber", "log_loss"],
    "alpha": loguniform(1e-8, 1e-2),
    "eta0": loguniform(1e-2, 1e2),
    "power_t": uniform(0.1, 0.6),
}
search = HyperbandSearchCV(
    model, space, resource="partial_fit", max_resources=27, cv=3, random_state=0
)
print(search.plan(X_train, y_train).to_string(index=False))

# %%
# The same number of epochs can also train a few candidates completely, with ``max_iter`` epochs
# each. RandomizedSearchCV does this. A single run of both does not show which one is better on
# your texts.
search.fit(X_train, y_train)
n_full_length = round(search.n_resources_spent_ / (27 * 3))
whole = SGDClassifier(learning_rate="invscaling", max_iter=27, tol=None, random_state=0)
plain = RandomizedSearchCV(whole, space, n_iter=n_full_length, cv=3, random_state=0)
plain.fit(X_train, y_train)
n_drawn = search.history_["candidate"].nunique()
print(f"{'':20}{'candidates':>12}{'epochs':>9}{'validated':>11}{'new texts':>11}")
rows = {
    "HyperbandSearchCV": (search, n_drawn, search.n_resources_spent_),
    "RandomizedSearchCV": (plain, n_full_length, n_full_length * 27 * 3),
}
for name, (one, n_candidates, n_epochs) in rows.items():
    scores = f"{one.best_score_:>11.4f}{one.score(X_test, y_test):>11.4f}"
    print(f"{name:20}{n_candidates:>12}{n_epochs:>9,.0f}{scores}")
print(f"\n{pd.Series(search.best_params_).to_string()}")

# %%
# The axis of the number of epochs is logarithmic. If a line falls, the candidate gets worse with
# more epochs. If lines cross, the order after a few epochs was misleading.
RungDisplay.from_estimator(search)
plt.show()
