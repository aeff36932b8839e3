"""Model selection as a bandit problem, with the API of GridSearchCV.

Searches (`sklearn_halving.search`)
    `AdaptiveSearchCV` for everyday use; `HyperbandSearchCV`, `VarianceHalvingSearchCV` and
    `BayesGapSearchCV`, as in their papers; `BanditSearchCV` for any other policy
Splits (`sklearn_halving.splits`)
    `RepeatedLearningTesting`, and streams of splits without end
Policies, usable without scikit-learn (`sklearn_halving.policies`)
    what decides which candidate is fitted next
Samplers (`sklearn_halving.samplers`)
    what parameters a new candidate gets: at random, or by a Gaussian process
Simulation (`sklearn_halving.simulation`)
    policies against synthetic or recorded arms, thousands of problems at a time
Resources (`sklearn_halving.resources`)
    what a level means: rows, iterations, epochs, features, seconds
Plots (`sklearn_halving.plotting`)
    what a fitted search did, as displays in the style of scikit-learn
Checks of your own classes (`sklearn_halving.testing`)
    what a policy, a sampler or a resource must do
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn_halving.search import (
        AdaptiveSearchCV,
        BanditSearchCV,
        BayesGapSearchCV,
        HyperbandSearchCV,
        VarianceHalvingSearchCV,
    )
    from sklearn_halving.splits import RepeatedLearningTesting

__version__ = "0.1.0"

__all__ = ["AdaptiveSearchCV", "BanditSearchCV", "BayesGapSearchCV", "HyperbandSearchCV"]
__all__ += ["RepeatedLearningTesting", "VarianceHalvingSearchCV", "__version__"]

_FOLDERS = ["plotting", "policies", "resources", "samplers", "search", "simulation", "splits"]
_FOLDERS += ["testing"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: a search that is not used costs no time."""
    if name in _FOLDERS:
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    folder = "splits" if name == "RepeatedLearningTesting" else "search"
    value = getattr(import_module(f"{__name__}.{folder}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return what there is, imported or not."""
    return [*__all__, *_FOLDERS, "__all__", "__doc__", "__name__"]
