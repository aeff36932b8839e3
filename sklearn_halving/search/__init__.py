"""The searches: what users import."""

from sklearn_halving.search._bandit_search import BanditSearchCV
from sklearn_halving.search._bayes_gap import BayesGapSearchCV
from sklearn_halving.search._hyperband import HyperbandSearchCV
from sklearn_halving.search._variance_halving import VarianceHalvingSearchCV

__all__ = ["BanditSearchCV", "BayesGapSearchCV", "HyperbandSearchCV", "VarianceHalvingSearchCV"]
