"""
Displays of a search
====================

Eight displays show what a search did and why it made its choice. As in scikit-learn, they are
created by ``from_estimator`` and need only the fitted search.

With ``--save FOLDER`` the script writes the images of the guide page on plots.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_halving import BayesGapSearchCV, HyperbandSearchCV
from sklearn_halving.plotting import (
    BracketDisplay,
    ConfidenceDisplay,
    ImportanceDisplay,
    ParameterDisplay,
    ParameterPairDisplay,
    PullsDisplay,
    RegretDisplay,
    RungDisplay,
)

# %%
# This search plays the brackets of the paper: few rows for many candidates, all rows for few.
X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), SVC())
space = {"svc__C": loguniform(1e-2, 1e3), "svc__gamma": loguniform(1e-5, 1)}
rungs = HyperbandSearchCV(model, space, n_candidates=30, random_state=0).fit(X, y)
displays = {}

# %%
# The number of candidates in each rung of each bracket, and the best score of each bracket:
displays["brackets"] = BracketDisplay.from_estimator(rungs)

# %%
# The scores in each rung. If lines cross late, cheap fits mislead.
displays["rungs"] = RungDisplay.from_estimator(rungs)

# %%
# The effect of C on the score. Large marks were fitted on all rows.
displays["parameter"] = ParameterDisplay.from_estimator(rungs, "svc__C")

# %%
# Two parameters at a time, and how much each of them matters:
displays["pair"] = ParameterPairDisplay.from_estimator(rungs, ("svc__C", "svc__gamma"))
displays["importance"] = ImportanceDisplay.from_estimator(rungs)

# %%
# How soon the winner was found:
displays["regret"] = RegretDisplay.from_estimator(rungs, cost="resources")

# %%
# This search models the scores and fits the candidates that may still be the best. The displays
# show how many fits each candidate got, and how certain its score is.
grid = {"svc__C": np.logspace(-1, 2, 4), "svc__gamma": np.logspace(-3, 0, 4)}
gap = BayesGapSearchCV(model, grid, n_fits=30, random_state=0).fit(X, y)
displays["pulls"] = PullsDisplay.from_estimator(gap)
displays["confidence"] = ConfidenceDisplay.from_estimator(gap)

# %%
# Existing axes can be used to combine several displays in one figure or several searches in one
# plot.
figure, (left, right) = plt.subplots(ncols=2, figsize=(10, 4), layout="constrained")
ParameterDisplay.from_estimator(gap, "svc__gamma", ax=left)
for search in (rungs, gap):
    RegretDisplay.from_estimator(search, quantity="score", ax=right)

if "--save" in sys.argv:
    folder = Path(sys.argv[sys.argv.index("--save") + 1])
    for name, display in displays.items():
        display.figure_.savefig(folder / f"plots_{name}.png", dpi=80)
else:
    plt.show()
