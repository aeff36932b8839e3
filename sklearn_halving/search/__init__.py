"""The public searches, and the error of a checkpoint that they cannot use."""

from sklearn_halving.execution._store import CheckpointError
from sklearn_halving.search._adaptive import AdaptiveSearchCV
from sklearn_halving.search._bandit import BanditSearchCV
from sklearn_halving.search._candidate_prior import candidate_covariance, candidate_features
from sklearn_halving.search._papers import (
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)

__all__ = ["AdaptiveSearchCV", "BanditSearchCV", "BayesGapSearchCV", "HyperbandSearchCV"]
__all__ += [
    "CheckpointError",
    "VarianceHalvingSearchCV",
    "candidate_covariance",
    "candidate_features",
]
