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
    `AdaptiveGapEV`, `UGapEb`, `VarianceRejects`
Stop when the best arm is known with a confidence
    `UGapEc`, `LUCB`, `LilUCB`, `SuccessiveElimination`, `MedianElimination`, `HoeffdingRace`,
    `BernsteinRace`
Earn large rewards on the way
    `UCB1`, `UCBV`, `MOSS`, `EXP3`
Learn a mean well enough
    `BernsteinStopping`
Types that policies exchange with their caller
    `Policy`, `Problem`, `Pull`, `Pulls`, `Schedule`, `Bracket`, `Rung`
"""

from sklearn_halving.policies._anytime_halving import DoublingHalving, InfiniteHorizonHalving
from sklearn_halving.policies._arm_covariance import FactorCovariance, KernelCovariance
from sklearn_halving.policies._bayes_gap import BayesGap
from sklearn_halving.policies._bernstein_stopping import BernsteinStopping
from sklearn_halving.policies._confidence_bounds import LUCB, LilUCB
from sklearn_halving.policies._cumulative_reward import MOSS, UCB1, UCBV
from sklearn_halving.policies._elimination import MedianElimination, SuccessiveElimination
from sklearn_halving.policies._exp3 import EXP3
from sklearn_halving.policies._gap_exploration import AdaptiveGapEV, GapE, GapEV
from sklearn_halving.policies._hyperband import Hyperband
from sklearn_halving.policies._infinite_hyperband import GrowingHyperband, InfiniteHyperband
from sklearn_halving.policies._posterior_hyperparameters import KernelFamily
from sklearn_halving.policies._races import BernsteinRace, HoeffdingRace
from sklearn_halving.policies._successive_halving import FiniteHorizonHalving, SuccessiveHalving
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

__all__ = [
    "EXP3",
    "LUCB",
    "MOSS",
    "NO_ARM",
    "UCB1",
    "UCBE",
    "UCBV",
    "AdaptiveGapEV",
    "AdaptiveUCBE",
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
