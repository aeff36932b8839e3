"""What users import: scikit-learn estimators that search."""

from sklearn_halving.search._hyperband import HyperbandSearchCV

__all__ = ["HyperbandSearchCV"]
