"""Which arm next: pure ask/tell policies. NumPy and SciPy only.

Play a schedule of rungs and brackets
    `Hyperband`, `SuccessiveHalving`, `FiniteHorizonHalving`, `InfiniteHorizonHalving`,
    `DoublingHalving`, `InfiniteHyperband`, `GrowingHyperband`
Play single pulls at the largest level, for noisy arms
    `VarianceHalving`, `UniformAllocation`
Find the best of correlated arms, with fewer pulls than arms if need be
    `BayesGap`; prior covariances: `FactorCovariance`, `KernelCovariance`,
    `KernelFamily`
Find the best arm within a number of pulls
    `SuccessiveRejects`, `AnytimeSuccessiveRejects`, `UCBE`, `AdaptiveUCBE`, `GapE`, `GapEV`,
    `AdaptiveGapEV`, `UGapEb`, `AdaptiveUGapEb`, `VarianceRejects`, `IncumbentRace`
Stop when the best arm is known with a confidence
    `UGapEc`, `LUCB`, `LilUCB`, `SuccessiveElimination`, `MedianElimination`, `HoeffdingRace`,
    `BernsteinRace`
Earn large rewards on the way
    `UCB1`, `UCBV`, `MOSS`, `EXP3`
Search a space of numbers
    `HOO`
Learn a mean well enough
    `BernsteinStopping`
Types that policies exchange with their caller
    `Policy`, `Problem`, `Pull`, `Pulls`, `Schedule`, `Bracket`, `Rung`
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn_halving.policies._adaptive_unified_gap import AdaptiveUGapEb
    from sklearn_halving.policies._anytime_halving import DoublingHalving, InfiniteHorizonHalving
    from sklearn_halving.policies._bayes_gap import BayesGap
    from sklearn_halving.policies._bernstein_stopping import BernsteinStopping
    from sklearn_halving.policies._confidence_bounds import LUCB, LilUCB
    from sklearn_halving.policies._cumulative_reward import MOSS, UCB1, UCBV
    from sklearn_halving.policies._elimination import MedianElimination, SuccessiveElimination
    from sklearn_halving.policies._exp3 import EXP3
    from sklearn_halving.policies._gap_exploration import AdaptiveGapEV, GapE, GapEV
    from sklearn_halving.policies._hoo import HOO
    from sklearn_halving.policies._hyperband import Hyperband
    from sklearn_halving.policies._incumbent_race import IncumbentRace
    from sklearn_halving.policies._infinite_hyperband import GrowingHyperband, InfiniteHyperband
    from sklearn_halving.policies._races import BernsteinRace, HoeffdingRace
    from sklearn_halving.policies._successive_halving import (
        FiniteHorizonHalving,
        SuccessiveHalving,
    )
    from sklearn_halving.policies._successive_rejects import (
        AnytimeSuccessiveRejects,
        SuccessiveRejects,
    )
    from sklearn_halving.policies._types import (
        NO_ARM,
        Bracket,
        Policy,
        Problem,
        Pull,
        Pulls,
        Rung,
        Schedule,
    )
    from sklearn_halving.policies._unified_gap import UGapEb, UGapEc
    from sklearn_halving.policies._uniform import UniformAllocation
    from sklearn_halving.policies._upper_confidence import UCBE, AdaptiveUCBE
    from sklearn_halving.policies._variance_halving import VarianceHalving
    from sklearn_halving.policies._variance_rejects import VarianceRejects
    from sklearn_halving.policies.posterior._arm_covariance import (
        FactorCovariance,
        KernelCovariance,
    )
    from sklearn_halving.policies.posterior._hyperparameters import KernelFamily

# A search needs one policy: the others, and their dataclasses, would be most of what it takes
# to import the package.
_MODULE_OF = {
    "AdaptiveGapEV": "_gap_exploration",
    "AdaptiveUGapEb": "_adaptive_unified_gap",
    "AdaptiveUCBE": "_upper_confidence",
    "AnytimeSuccessiveRejects": "_successive_rejects",
    "BayesGap": "_bayes_gap",
    "BernsteinRace": "_races",
    "BernsteinStopping": "_bernstein_stopping",
    "Bracket": "_types",
    "DoublingHalving": "_anytime_halving",
    "EXP3": "_exp3",
    "FactorCovariance": "posterior._arm_covariance",
    "FiniteHorizonHalving": "_successive_halving",
    "GapE": "_gap_exploration",
    "GapEV": "_gap_exploration",
    "GrowingHyperband": "_infinite_hyperband",
    "HOO": "_hoo",
    "HoeffdingRace": "_races",
    "Hyperband": "_hyperband",
    "IncumbentRace": "_incumbent_race",
    "InfiniteHorizonHalving": "_anytime_halving",
    "InfiniteHyperband": "_infinite_hyperband",
    "KernelCovariance": "posterior._arm_covariance",
    "KernelFamily": "posterior._hyperparameters",
    "LUCB": "_confidence_bounds",
    "LilUCB": "_confidence_bounds",
    "MOSS": "_cumulative_reward",
    "MedianElimination": "_elimination",
    "NO_ARM": "_types",
    "Policy": "_types",
    "Problem": "_types",
    "Pull": "_types",
    "Pulls": "_types",
    "Rung": "_types",
    "Schedule": "_types",
    "SuccessiveElimination": "_elimination",
    "SuccessiveHalving": "_successive_halving",
    "SuccessiveRejects": "_successive_rejects",
    "UCB1": "_cumulative_reward",
    "UCBE": "_upper_confidence",
    "UCBV": "_cumulative_reward",
    "UGapEb": "_unified_gap",
    "UGapEc": "_unified_gap",
    "UniformAllocation": "_uniform",
    "VarianceHalving": "_variance_halving",
    "VarianceRejects": "_variance_rejects",
}

__all__ = [
    "EXP3",
    "HOO",
    "LUCB",
    "MOSS",
    "NO_ARM",
    "UCB1",
    "UCBE",
    "UCBV",
    "AdaptiveGapEV",
    "AdaptiveUCBE",
    "AdaptiveUGapEb",
    "AnytimeSuccessiveRejects",
    "BayesGap",
    "BernsteinRace",
    "BernsteinStopping",
    "Bracket",
    "DoublingHalving",
    "FactorCovariance",
    "FiniteHorizonHalving",
    "GapE",
    "GapEV",
    "GrowingHyperband",
    "HoeffdingRace",
    "Hyperband",
    "IncumbentRace",
    "InfiniteHorizonHalving",
    "InfiniteHyperband",
    "KernelCovariance",
    "KernelFamily",
    "LilUCB",
    "MedianElimination",
    "Policy",
    "Problem",
    "Pull",
    "Pulls",
    "Rung",
    "Schedule",
    "SuccessiveElimination",
    "SuccessiveHalving",
    "SuccessiveRejects",
    "UGapEb",
    "UGapEc",
    "UniformAllocation",
    "VarianceHalving",
    "VarianceRejects",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return what there is, imported or not."""
    return [*__all__, "__all__", "__doc__", "__name__"]
