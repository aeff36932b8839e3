"""
Seeing a search
===============

Seven displays say what a search did and why it chose what it chose. They are made as those of
scikit-learn, by ``from_estimator``, from a fitted search and nothing else.

With ``--save FOLDER`` the images of the guide page on plots are written there.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import loguniform
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_halving import BayesGapSearchCV, HyperbandSearchCV
from sklearn_halving.plotting import (
    BracketDisplay,
    ConfidenceDisplay,
    ParameterDisplay,
    PullsDisplay,
    RegretDisplay,
    RungDisplay,
    WorkerDisplay,
)

# %%
# A search that plays rungs: few rows for many candidates, all rows for few of them.
X, y = load_wine(return_X_y=True)
model = make_pipeline(StandardScaler(), SVC())
space = {"svc__C": loguniform(1e-2, 1e3), "svc__gamma": loguniform(1e-4, 1e1)}
rungs = HyperbandSearchCV(model, space, cv=3, random_state=0).fit(X, y)
displays = {}

# %%
# How many candidates each bracket has, rung by rung, and what came of it.
displays["brackets"] = BracketDisplay.from_estimator(rungs)

# %%
# Their scores on the way. Lines that cross late would say that cheap fits mislead.
displays["rungs"] = RungDisplay.from_estimator(rungs)

# %%
# What C does to the score: large marks had all rows.
displays["parameter"] = ParameterDisplay.from_estimator(rungs, "svc__C")

# %%
# How soon the winner was found.
displays["regret"] = RegretDisplay.from_estimator(rungs, cost="resources")

# %%
# When each fit ran.
displays["workers"] = WorkerDisplay.from_estimator(rungs)

# %%
# A search with a model of the scores, which fits what may still be the best: where its fits
# went, and how sure it is of each candidate.
grid = {"svc__C": np.logspace(-1, 2, 4), "svc__gamma": np.logspace(-3, 0, 4)}
gap = BayesGapSearchCV(model, grid, n_pulls=30, random_state=0).fit(X, y)
displays["pulls"] = PullsDisplay.from_estimator(gap)
displays["confidence"] = ConfidenceDisplay.from_estimator(gap)

# %%
# Axes of your own, for several displays in one figure or several searches in one plot.
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
