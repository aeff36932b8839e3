"""
Displays of a search
====================

Six displays show what a search did and why it made its choice. As in scikit-learn, they are
created by ``from_estimator`` and need only the fitted search. A color means the same in all of
them: blue for candidates, orange for the winner, green for your model as it is.

With ``--save FOLDER`` the script writes the images of the guide page on plots.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from scipy.stats import loguniform
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_halving import AdaptiveSearchCV, HyperbandSearchCV
from sklearn_halving.plotting import (
    BracketDisplay,
    ConfidenceDisplay,
    HistoryDisplay,
    ParameterDisplay,
    ParameterPairDisplay,
    RungDisplay,
)

# %%
# This search gets 60 fits, all with all rows.
X, y = load_digits(return_X_y=True)
model = make_pipeline(StandardScaler(), SVC(gamma=0.01))
space = {"svc__C": loguniform(1e-2, 1e3), "svc__gamma": loguniform(1e-5, 1e-1)}
adaptive = AdaptiveSearchCV(model, space, n_fits=60, random_state=0).fit(X, y)
displays = {}

# %%
# Every fit, and the best candidate so far. The green line is the score of the model as
# it is. Use ``cost="seconds"`` to see when the search found its winner.
displays["history"] = HistoryDisplay.from_estimator(adaptive)

# %%
# The best candidates with their intervals. Hollow points have scores on fewer splits.
displays["confidence"] = ConfidenceDisplay.from_estimator(adaptive)

# %%
# The score against each parameter. If the winner is at the end of a range, widen it.
displays["parameter"] = ParameterDisplay.from_estimator(adaptive)

# %%
# The same candidates in the plane of two parameters:
displays["pair"] = ParameterPairDisplay.from_estimator(adaptive, ("svc__C", "svc__gamma"))

# %%
# This search plays the brackets of the paper: few rows for many candidates, all rows for few. A
# line is a candidate. If lines cross late, scores on few rows are misleading.
rungs = HyperbandSearchCV(model, space, random_state=0).fit(X, y)
displays["rungs"] = RungDisplay.from_estimator(rungs)

# %%
# The number of candidates in each rung of each bracket, and the best score of each bracket:
displays["brackets"] = BracketDisplay.from_estimator(rungs)

# %%
# Existing axes can be used to combine several displays in one figure.
figure, (left, right) = plt.subplots(ncols=2, figsize=(11, 4), layout="constrained")
ParameterDisplay.from_estimator(adaptive, "svc__gamma", ax=left)
HistoryDisplay.from_estimator(adaptive, cost="seconds", ax=right)

if "--save" in sys.argv:
    folder = Path(sys.argv[sys.argv.index("--save") + 1])
    for name, display in displays.items():
        display.figure_.savefig(folder / f"plots_{name}.png", dpi=100)
else:
    plt.show()
