"""Model selection as a bandit problem, with the API of GridSearchCV.

Searches (`sklearn_halving.search`)
    `HyperbandSearchCV`
Policies, usable without scikit-learn (`sklearn_halving.policies`)
    `~policies.Hyperband`, `~policies.SuccessiveHalving`, `~policies.FiniteHorizonHalving`
Resources (`sklearn_halving.resources`)
    what a level means: rows, iterations, epochs, features, seconds
"""

from sklearn_halving.search import HyperbandSearchCV

__version__ = "0.1.0.dev0"

__all__ = ["HyperbandSearchCV", "__version__"]
