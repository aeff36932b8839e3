"""
Your own scorer, several metrics, and your own selection rule
=============================================================

Overlooking a tumor is worse than a false alarm, and a model that needs few measurements is
better than one that needs thirty. scikit-learn has no metric for either. A scorer defines the
value of a model, a dictionary of scorers defines several values, and ``refit`` defines how the
winner is selected.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import confusion_matrix, make_scorer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sklearn_halving import VarianceHalvingSearchCV
from sklearn_halving.plotting import ConfidenceDisplay, ParameterDisplay

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)


# %%
# ``make_scorer`` turns a function of labels and predictions into a scorer. Use
# ``greater_is_better=False`` for a loss. Any other property of a fitted model is a function of
# ``(estimator, X, y)``, here the negative number of measurements that the model uses.
def cost_per_patient(y_true, y_pred):
    """Count one for a false alarm, ten for a malignant tumor (class 0) that is overlooked."""
    (_, overlooked), (alarms, _) = confusion_matrix(y_true, y_pred, labels=[0, 1])
    return (10 * overlooked + alarms) / len(y_true)


def minus_n_measurements(estimator, X, y):
    """Count the measurements with a weight."""
    return -float(np.count_nonzero(estimator[-1].coef_))


scoring = {
    "cost": make_scorer(cost_per_patient, greater_is_better=False),
    "measurements": minus_n_measurements,
    "accuracy": "accuracy",
}

# %%
# With ``refit="cost"`` the search optimizes the cost: candidates that may have the lowest cost
# get the most fits. The other metric is recorded.
model = make_pipeline(StandardScaler(), LinearSVC(penalty="l1", dual=False, max_iter=20000))
grid = {"linearsvc__C": np.logspace(-2.5, 0, 11), "linearsvc__class_weight": [None, {0: 10}]}
cheapest = VarianceHalvingSearchCV(model, grid, scoring=scoring, refit="cost", random_state=0).fit(
    X_train, y_train
)
results = pd.DataFrame(cheapest.cv_results_).sort_values("rank_test_cost")
columns = ["params", "n_fits", *(f"mean_test_{name}" for name in scoring)]
with pd.option_context("display.max_colwidth", 70, "display.width", 160):
    print(results[columns].head(8).round(3).to_string(index=False))

# %%
# How certain is the choice? Many of the best candidates are within each other's errors.
ConfidenceDisplay.from_estimator(cheapest, metric="cost")


# %%
# In this case, choose the simplest of them: among all candidates within one standard error of
# the best, the one with the fewest measurements. A selection rule is a function of
# ``cv_results_`` that returns a row. The search then optimizes the first metric. Only candidates
# with a known standard error, that is with at least two fits, are considered.
def simplest_within_one_error(results):
    """Return the row of the candidate with the fewest measurements that is nearly the cheapest."""
    cost = -results["mean_test_cost"]
    error = results["standard_error_test_cost"]
    known = np.flatnonzero(results["n_fits"] >= 2)
    best = known[cost[known].argmin()]
    good = known[cost[known] <= cost[best] + error[best]]
    return good[results["mean_test_measurements"][good].argmax()]


simplest = clone(cheapest).set_params(refit=simplest_within_one_error).fit(X_train, y_train)
ParameterDisplay.from_estimator(simplest, "linearsvc__C", metric="measurements")

# %%
# The scores of both choices on patients that neither search has seen:
rows = {}
for name, search in {"cheapest": cheapest, "simplest": simplest}.items():
    rows[name] = {
        **search.best_params_,
        "measurements": -minus_n_measurements(search.best_estimator_, X_test, y_test),
        "cost on new patients": cost_per_patient(y_test, search.predict(X_test)),
        "accuracy on new patients": (search.predict(X_test) == y_test).mean(),
    }
print(pd.DataFrame(rows).T.to_string())
plt.show()
