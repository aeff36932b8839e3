"""
Candidates that are nearly as good as each other
================================================

Many of these forty support vector machines differ by less than the noise of five folds. The
search fits all of them on a first split, and makes further fits for those that may still be the
best.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_halving import VarianceHalvingSearchCV

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
pipeline = make_pipeline(StandardScaler(), SVC())
grid = {"svc__C": np.logspace(-2, 4, 8), "svc__gamma": np.logspace(-4, 0, 5)}

# %%
# Both searches make 200 fits. VarianceHalvingSearchCV makes more of them for the candidates that
# matter, and reports how certain its choice is.
reference = GridSearchCV(pipeline, grid).fit(X_train, y_train)
search = VarianceHalvingSearchCV(pipeline, grid, random_state=0).fit(X_train, y_train)
print(f"GridSearchCV: {reference.best_params_}, score {reference.best_score_:.4f}")
print(f"this search:  {search.best_params_}, score {search.best_score_:.4f}")
print(f"the best with a probability of {search.best_probability_:.2f}")
print(f"score on new data: {search.score(X_test, y_test):.4f}")

# %%
# Most candidates are eliminated after one or two splits.
table = pd.DataFrame(search.cv_results_).sort_values("rank_test_score").head(12)
columns = ["param_svc__C", "param_svc__gamma", "n_fits", "mean_test_score", "probability_best"]
print(table[columns].round(4).to_string(index=False))

# %%
# The plot shows the number of fits of each candidate against its score. Candidates close to the
# best have the most fits.
results = search.cv_results_
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.scatter(results["mean_test_score"], results["n_fits"], alpha=0.6)
axes.axhline(5, color="grey", linestyle="--", label="GridSearchCV: 5 for each")
axes.set(xlabel="mean test score", ylabel="fits", title="Where 200 fits went")
axes.legend()
plt.show()
