"""Policies decide which arm to pull next, with an ask/tell interface. NumPy and SciPy only.

Rungs and brackets, planned in advance
    `Hyperband`, `SuccessiveHalving`, `FiniteHorizonHalving`, `InfiniteHorizonHalving`,
    `GridHalving`, `DoublingHalving`, `InfiniteHyperband`, `GrowingHyperband`
Rungs without waiting, for many workers
    `AsynchronousBrackets`, `AsynchronousHalving`
Pulls at the largest level, for noisy arms
    `VarianceHalving`, `UniformAllocation`
Best of correlated arms, also with fewer pulls than arms
    `BayesGap`; prior covariances: `FactorCovariance`, `KernelCovariance`, `KernelFamily`
Best arm with a fixed number of pulls
    `SuccessiveRejects`, `AnytimeSuccessiveRejects`, `UCBE`, `AdaptiveUCBE`, `GapE`, `GapEV`,
    `AdaptiveGapEV`, `UGapEb`, `AdaptiveUGapEb`, `VarianceRejects`, `IncumbentRace`
Best arm with a fixed confidence
    `UGapEc`, `LUCB`, `LilUCB`, `SuccessiveElimination`, `MedianElimination`, `HoeffdingRace`,
    `BernsteinRace`
Large cumulative reward
    `UCB1`, `UCBV`, `MOSS`, `EXP3`
Optimization over a continuous space
    `HOO`
Estimation of a mean with a given precision
    `BernsteinStopping`
Types of the interface between a policy and its caller
    `Policy`, `BasePolicy`, `PolicyDescription`, `Stage`, `Problem`, `Pull`, `Pulls`, `Schedule`,
    `Bracket`, `Rung`
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn_halving.policies._anytime_halving import DoublingHalving as DoublingHalving
    from sklearn_halving.policies._asynchronous_halving import (
        AsynchronousBrackets as AsynchronousBrackets,
    )
    from sklearn_halving.policies._asynchronous_halving import (
        AsynchronousHalving as AsynchronousHalving,
    )
    from sklearn_halving.policies._bayes_gap import BayesGap as BayesGap
    from sklearn_halving.policies._bernstein_stopping import BernsteinStopping as BernsteinStopping
    from sklearn_halving.policies._confidence_bounds import LUCB as LUCB
    from sklearn_halving.policies._confidence_bounds import LilUCB as LilUCB
    from sklearn_halving.policies._exp3 import EXP3 as EXP3
    from sklearn_halving.policies._gap_exploration import AdaptiveGapEV as AdaptiveGapEV
    from sklearn_halving.policies._gap_exploration import AdaptiveUGapEb as AdaptiveUGapEb
    from sklearn_halving.policies._gap_exploration import GapE as GapE
    from sklearn_halving.policies._gap_exploration import GapEV as GapEV
    from sklearn_halving.policies._gap_exploration import UGapEb as UGapEb
    from sklearn_halving.policies._gap_exploration import UGapEc as UGapEc
    from sklearn_halving.policies._grid_halving import GridHalving as GridHalving
    from sklearn_halving.policies._hoo import HOO as HOO
    from sklearn_halving.policies._hyperband import GrowingHyperband as GrowingHyperband
    from sklearn_halving.policies._hyperband import Hyperband as Hyperband
    from sklearn_halving.policies._hyperband import InfiniteHyperband as InfiniteHyperband
    from sklearn_halving.policies._incumbent_race import IncumbentRace as IncumbentRace
    from sklearn_halving.policies._races import BernsteinRace as BernsteinRace
    from sklearn_halving.policies._races import HoeffdingRace as HoeffdingRace
    from sklearn_halving.policies._races import MedianElimination as MedianElimination
    from sklearn_halving.policies._races import SuccessiveElimination as SuccessiveElimination
    from sklearn_halving.policies._successive_halving import (
        FiniteHorizonHalving as FiniteHorizonHalving,
    )
    from sklearn_halving.policies._successive_halving import (
        InfiniteHorizonHalving as InfiniteHorizonHalving,
    )
    from sklearn_halving.policies._successive_halving import SuccessiveHalving as SuccessiveHalving
    from sklearn_halving.policies._successive_rejects import (
        AnytimeSuccessiveRejects as AnytimeSuccessiveRejects,
    )
    from sklearn_halving.policies._successive_rejects import SuccessiveRejects as SuccessiveRejects
    from sklearn_halving.policies._successive_rejects import VarianceRejects as VarianceRejects
    from sklearn_halving.policies._types import NO_ARM as NO_ARM
    from sklearn_halving.policies._types import Bracket as Bracket
    from sklearn_halving.policies._types import Policy as Policy
    from sklearn_halving.policies._types import PolicyDescription as PolicyDescription
    from sklearn_halving.policies._types import Problem as Problem
    from sklearn_halving.policies._types import Pull as Pull
    from sklearn_halving.policies._types import Pulls as Pulls
    from sklearn_halving.policies._types import Rung as Rung
    from sklearn_halving.policies._types import Schedule as Schedule
    from sklearn_halving.policies._types import Stage as Stage
    from sklearn_halving.policies._upper_confidence import MOSS as MOSS
    from sklearn_halving.policies._upper_confidence import UCB1 as UCB1
    from sklearn_halving.policies._upper_confidence import UCBE as UCBE
    from sklearn_halving.policies._upper_confidence import UCBV as UCBV
    from sklearn_halving.policies._upper_confidence import AdaptiveUCBE as AdaptiveUCBE
    from sklearn_halving.policies._variance_halving import UniformAllocation as UniformAllocation
    from sklearn_halving.policies._variance_halving import VarianceHalving as VarianceHalving
    from sklearn_halving.policies.bases._base_policy import BasePolicy as BasePolicy
    from sklearn_halving.policies.posterior._arm_covariance import (
        FactorCovariance as FactorCovariance,
    )
    from sklearn_halving.policies.posterior._arm_covariance import (
        KernelCovariance as KernelCovariance,
    )
    from sklearn_halving.policies.posterior._hyperparameters import KernelFamily as KernelFamily

# A search needs only one policy. Importing all of them would take most of the time that it takes
# to import the package.
_NAMES_IN = {
    "_anytime_halving": ("DoublingHalving",),
    "_asynchronous_brackets": ("AsynchronousBrackets",),
    "_asynchronous_halving": ("AsynchronousHalving",),
    "_bayes_gap": ("BayesGap",),
    "_bernstein_stopping": ("BernsteinStopping",),
    "_confidence_bounds": ("LUCB", "LilUCB"),
    "_exp3": ("EXP3",),
    "_gap_e": ("AdaptiveGapEV", "GapE", "GapEV"),
    "_grid_halving": ("GridHalving",),
    "_hoo": ("HOO",),
    "_hyperband": ("Hyperband",),
    "_incumbent_race": ("IncumbentRace",),
    "_infinite_hyperband": ("GrowingHyperband", "InfiniteHyperband"),
    "_median_elimination": ("MedianElimination",),
    "_races": ("BernsteinRace", "HoeffdingRace", "SuccessiveElimination"),
    "_successive_halving": (
        "FiniteHorizonHalving",
        "InfiniteHorizonHalving",
        "SuccessiveHalving",
    ),
    "_successive_rejects": ("AnytimeSuccessiveRejects", "SuccessiveRejects", "VarianceRejects"),
    "_types": (
        *("Bracket", "NO_ARM", "Policy", "PolicyDescription", "Problem", "Pull", "Pulls"),
        *("Rung", "Schedule", "Stage"),
    ),
    "_ugap": ("AdaptiveUGapEb", "UGapEb", "UGapEc"),
    "_uniform": ("UniformAllocation",),
    "_upper_confidence": ("MOSS", "UCB1", "UCBE", "UCBV", "AdaptiveUCBE"),
    "_variance_halving": ("VarianceHalving",),
    "bases._base_policy": ("BasePolicy",),
    "posterior._arm_covariance": ("FactorCovariance", "KernelCovariance"),
    "posterior._hyperparameters": ("KernelFamily",),
}
_MODULE_OF = {name: module for module, names in _NAMES_IN.items() for name in names}

__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return all public names, whether they have been imported or not."""
    return [*__all__, "__all__", "__doc__", "__name__"]
