"""The public searches.

Each search is imported at its first use, which keeps the import of the package fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn_halving.search._bandit import BanditSearchCV
    from sklearn_halving.search._bayes_gap import BayesGapSearchCV
    from sklearn_halving.search._candidate_model import candidate_covariance, candidate_features
    from sklearn_halving.search._hyperband import HyperbandSearchCV
    from sklearn_halving.search._variance_halving import VarianceHalvingSearchCV

__all__ = [
    "BanditSearchCV",
    "BayesGapSearchCV",
    "HyperbandSearchCV",
    "VarianceHalvingSearchCV",
    "candidate_covariance",
    "candidate_features",
]

_MODULE_OF = {
    "BanditSearchCV": "_bandit",
    "BayesGapSearchCV": "_bayes_gap",
    "HyperbandSearchCV": "_hyperband",
    "VarianceHalvingSearchCV": "_variance_halving",
    "candidate_covariance": "_candidate_model",
    "candidate_features": "_candidate_model",
}


def __getattr__(name: str) -> Any:
    """Import a search at its first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return all public names, including those that are not imported yet."""
    return [*__all__, "__all__", "__doc__", "__name__"]
