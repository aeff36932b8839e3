"""
Grids over estimators: 160 regressors, 40 fits
==============================================

Hoffman, Shahriari and de Freitas (2014, section 6.2) choose among 160 regressors of five kinds to
predict the quality of wine, with fewer fits than regressors. Each fit is trained on a tenth of
the wines and scored on another tenth. ``BayesGapSearchCV`` needs only a few fits because each of
them provides information about all regressors with similar parameters. Regressors of different
kinds are independent.

The five grids are a list of dicts, as for ``GridSearchCV``. Two settings differ from the paper. A
split in a forest needs at least two rows, while the grid of the paper starts at one. Red and
white wines are used together.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _data import load_wine_quality
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso
from sklearn.model_selection import GridSearchCV, ParameterGrid, RandomizedSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVR

from sklearn_halving import BayesGapSearchCV, RepeatedLearningTesting
from sklearn_halving.plotting import ConfidenceDisplay, HistoryDisplay

X, y = load_wine_quality()
X = pd.get_dummies(X, drop_first=True, dtype=float)

C, epsilon = [1e-3, 1e-2, 1e-1, 1.0], [1e-4, 1e-3, 1e-2, 1e-1]
grids = [
    {"model": [Lasso()], "model__alpha": [1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5]},
    {
        "model": [RandomForestRegressor(random_state=0)],
        "model__n_estimators": [1, 3, 10, 30],
        "model__min_samples_leaf": [2, 6, 10, 14],
        "model__min_samples_split": [2, 3, 5, 7],
    },
    {
        "model": [LinearSVR(max_iter=10_000, random_state=0)],
        "model__C": C,
        "model__epsilon": epsilon,
    },
    {
        "model": [SVR()],
        "model__gamma": [0.025, 0.05, 0.1, 0.2],
        "model__C": C,
        "model__epsilon": epsilon,
    },
    {"model": [KNeighborsRegressor()], "model__n_neighbors": list(range(1, 17, 2))},
]
print(f"{len(ParameterGrid(grids))} regressors")
pipeline = Pipeline([("scale", StandardScaler()), ("model", Lasso())])


def tenths(n_splits: int, seed: int) -> RepeatedLearningTesting:
    """Train on a tenth of the rows and test on another, again and again."""
    return RepeatedLearningTesting(
        n_splits, train_size=0.1, test_size=0.1, stratify=False, random_state=seed
    )


# %%
# With 40 fits, a quarter of the regressors can be fitted once, or some of them several times.
# The search decides after each fit. The j-th fit of every regressor is on split j, so that
# regressors are comparable.
error = "neg_root_mean_squared_error"
search = BayesGapSearchCV(
    pipeline, grids, n_fits=40, cv=tenths(10, seed=0), scoring=error, random_state=0
).fit(X, y)
results = pd.DataFrame(search.cv_results_)
results["kind"] = [type(params["model"]).__name__ for params in results["params"]]
print(
    results.groupby("kind")
    .agg(
        regressors=("n_fits", "size"),
        fits=("n_fits", "sum"),
        highest_mean=("posterior_mean", "max"),
        highest_bound=("upper_bound", "max"),
    )
    .to_string(float_format="{:.3f}".format)
)
print(f"\nchosen: {search.best_params_}")

# %%
# To evaluate the choice, fit all 160 regressors on two new splits. This gives their true order,
# up to the noise of two splits, for eight times as many fits. RandomizedSearchCV also makes 40
# fits, for 20 regressors on two splits each. The table shows the error of each choice on the two
# new splits, for three seeds. Three seeds are too few to tell which search is better, but they
# show how close both are to the best.
judge = GridSearchCV(pipeline, grids, cv=tenths(2, seed=100), scoring=error, refit=False).fit(X, y)


def as_text(params: dict) -> str:
    return str(sorted(params.items()))  # a random search names parameters in another order


errors = {
    as_text(params): -score
    for params, score in zip(
        judge.cv_results_["params"], judge.cv_results_["mean_test_score"], strict=True
    )
}
rows = []
for seed in range(3):
    common = {"scoring": error, "random_state": seed, "refit": False}
    gap = BayesGapSearchCV(pipeline, grids, n_fits=40, cv=tenths(10, seed), **common)
    plain = RandomizedSearchCV(pipeline, grids, n_iter=20, cv=tenths(2, seed), **common)
    rows.append(
        {type(one).__name__: errors[as_text(one.fit(X, y).best_params_)] for one in (gap, plain)}
    )
print(
    pd.DataFrame(rows)
    .assign(best_of_160=min(errors.values()), median_of_160=np.median(list(errors.values())))
    .to_string(float_format="{:.4f}".format)
)

# %%
# Many regressors were never fitted. They are ranked by the scores of similar ones.
HistoryDisplay.from_estimator(search)

# %%
# The posterior of the best regressors, with its bounds:
ConfidenceDisplay.from_estimator(search)
plt.show()
