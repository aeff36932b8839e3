"""Model selection as a bandit problem, with the API of GridSearchCV.

Searches (`sklearn_halving.search`)
    `HyperbandSearchCV`, `VarianceHalvingSearchCV`, `BayesGapSearchCV`; `BanditSearchCV` for any
    other policy
Splits (`sklearn_halving.splits`)
    `RepeatedLearningTesting`, and streams of splits without end
Policies, usable without scikit-learn (`sklearn_halving.policies`)
    what decides which candidate is fitted next
Simulation (`sklearn_halving.simulation`)
    policies against synthetic or recorded arms, thousands of problems at a time
Resources (`sklearn_halving.resources`)
    what a level means: rows, iterations, epochs, features, seconds
"""

from sklearn_halving.search import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.splits import RepeatedLearningTesting

__version__ = "0.1.0.dev0"

__all__ = [
    "BanditSearchCV",
    "BayesGapSearchCV",
    "HyperbandSearchCV",
    "RepeatedLearningTesting",
    "VarianceHalvingSearchCV",
    "__version__",
]
