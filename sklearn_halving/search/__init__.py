"""The searches: what users import."""

from sklearn_halving.search._hyperband import HyperbandSearchCV
from sklearn_halving.search._variance_halving import VarianceHalvingSearchCV

__all__ = ["HyperbandSearchCV", "VarianceHalvingSearchCV"]
