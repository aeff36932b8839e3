"""
Nested cross-validation
=======================

The score of a search's winner is the largest of many noisy numbers, and so too good on
average. An outer loop shows by how much: each of its splits runs a whole search on a part of
the rows, and judges the winner on the rows that this search has never seen.

The lesson needs many searches that choose from few rows: here twelve times 100 of 442
patients with diabetes, whose disease got worse than the median's or not, with the other 342
patients for the judgement.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import loguniform, randint, uniform
from sklearn.datasets import load_diabetes
from sklearn.model_selection import StratifiedShuffleSplit, cross_validate
from sklearn.tree import DecisionTreeClassifier

from sklearn_halving import HyperbandSearchCV, VarianceHalvingSearchCV
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
# A search is an estimator, and goes into ``cross_validate`` as any other does. The searches
# are asked back, as they know what they thought of their winners.
searches = {
    "Hyperband": HyperbandSearchCV(tree, space, random_state=0),
    "variance halving": VarianceHalvingSearchCV(tree, space, n_pulls=150, random_state=0),
}
nested = {
    name: cross_validate(search, X, y, cv=outer, return_estimator=True)
    for name, search in searches.items()
}

# %%
# ``best_score_`` is what the search itself says, ``test_score`` what new rows say. The
# difference is the optimism, with its standard error over the outer splits (which share rows,
# so that it is a rough one). ``best_corrected_score_`` takes off what the winner may owe to
# having been chosen, and errs on the side of caution: where the noise of a score is larger than
# the differences between candidates, as here, the winner is taken for little better than the
# others. Not all of a difference is luck: the refit has all 100 rows, the fits of the search
# had 80, and that alone makes a search promise too little.
rows = []
for name, result in nested.items():
    claims = {"best_score_": [search.best_score_ for search in result["estimator"]]}
    if name == "variance halving":
        claims["best_corrected_score_"] = [
            search.best_corrected_score_ for search in result["estimator"]
        ]
    for claim, inner in claims.items():
        optimism = np.array(inner) - result["test_score"]
        rows.append(
            {
                "search": name,
                "claim": claim,
                "inner": np.mean(inner),
                "outer": result["test_score"].mean(),
                "optimism": optimism.mean(),
                "standard error": optimism.std(ddof=1) / np.sqrt(len(optimism)),
            }
        )
print(pd.DataFrame(rows).round(4).to_string(index=False))

# %%
# The same split by split. Points below the diagonal are searches that promised too much.
figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
for name, result in nested.items():
    inner = [search.best_score_ for search in result["estimator"]]
    axes.scatter(inner, result["test_score"], label=f"{name}, best_score_")
inner = [search.best_corrected_score_ for search in nested["variance halving"]["estimator"]]
axes.scatter(inner, nested["variance halving"]["test_score"], label="corrected", marker="x")
axes.axline((0.7, 0.7), slope=1, color="grey", linestyle="--")
axes.set(xlabel="score that the search reports", ylabel="score on rows it has not seen")
axes.legend()

# %%
# Where the optimism comes from: one of the searches, with a standard error on each side. Many
# candidates are within each other's errors, and the luckiest of them wins.
ConfidenceDisplay.from_estimator(nested["variance halving"]["estimator"][0])

# %%
# The outer score is that of the *procedure*, search and all: it says what to expect when this
# search is run on 100 rows, and is no property of one winner. Nor is it a reason to choose
# among the twelve winners; that would begin the game anew. Run the search once on all rows, and
# report the outer score beside it.
plt.show()
