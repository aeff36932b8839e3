"""
Nested cross-validation
=======================

The score of the winner of a search is the largest of many noisy scores, and therefore too high on
average. An outer loop shows by how much: each of its splits runs a whole search on some of the
rows and scores the winner on the other rows, which the search has not seen.

To see the effect, many searches with few rows are needed. This example runs twelve searches on
100 of 442 patients with diabetes each. The target is whether the progression of the disease is
above the median. The other 342 patients are the outer test set.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import loguniform, randint, uniform
from sklearn.datasets import load_diabetes
from sklearn.model_selection import StratifiedShuffleSplit, cross_validate
from sklearn.tree import DecisionTreeClassifier

from sklearn_halving import AdaptiveSearchCV, VarianceHalvingSearchCV
from sklearn_halving.plotting import ConfidenceDisplay

X, progression = load_diabetes(return_X_y=True)
y = progression > np.median(progression)
tree = DecisionTreeClassifier()
space = {
    "max_depth": randint(1, 12),
    "max_features": uniform(0.1, 0.9),
    "ccp_alpha": loguniform(1e-4, 1e-1),
}
outer = StratifiedShuffleSplit(n_splits=12, train_size=100, random_state=0)

# %%
# A search is an estimator and can be passed to ``cross_validate`` like any other. With
# ``return_estimator=True`` it returns the fitted searches, which have the scores of their
# winners.
searches = {
    "adaptive": AdaptiveSearchCV(tree, space, n_fits=150, random_state=0),
    "variance halving": VarianceHalvingSearchCV(tree, space, n_fits=150, random_state=0),
}
nested = {
    name: cross_validate(search, X, y, cv=outer, return_estimator=True)
    for name, search in searches.items()
}

# %%
# ``best_score_`` is the score reported by the search, and ``test_score`` is the score on new
# rows. Their difference is the optimism. Its standard error over the outer splits is only
# approximate, since these share rows. Selection is not the only reason for a difference: the
# refit has all 100 rows while the fits of the search had 80, so the search underestimates the
# score of the refit.
rows = []
for name, result in nested.items():
    inner = np.array([search.best_score_ for search in result["estimator"]])
    optimism = inner - result["test_score"]
    rows.append(
        {
            "search": name,
            "best_score_": inner.mean(),
            "outer score": result["test_score"].mean(),
            "optimism": optimism.mean(),
            "standard error": optimism.std(ddof=1) / np.sqrt(len(optimism)),
        }
    )
print(pd.DataFrame(rows).round(4).to_string(index=False))

# %%
# The same values for each split. Points below the diagonal are searches that were too
# optimistic.
figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
for name, result in nested.items():
    inner = [search.best_score_ for search in result["estimator"]]
    axes.scatter(inner, result["test_score"], label=name)
axes.axline((0.7, 0.7), slope=1, color="grey", linestyle="--")
axes.set(xlabel="score that the search reports", ylabel="score on rows it has not seen")
axes.legend()

# %%
# The source of the optimism: scores in one of the searches, with one standard error to each
# side. Many candidates are within each other's errors, and the luckiest of them wins.
ConfidenceDisplay.from_estimator(nested["variance halving"]["estimator"][0])

# %%
# The outer score is the score of the *procedure*, including the search. It estimates the result
# of running this search on 100 rows, and is not a property of one winner. Do not use it to
# choose among the twelve winners, since this would be another selection. Run the search once on
# all rows, and report the outer score with it.
plt.show()
