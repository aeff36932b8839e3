"""Policies decide which arm to pull next, with an ask/tell interface. NumPy and SciPy only.

Their names for `BanditSearchCV` are in `search/_bandit`.

Rungs and brackets, planned in advance
    `Hyperband`, `SuccessiveHalving`, `FiniteHorizonHalving`, `InfiniteHorizonHalving`,
    `GridHalving`, `DoublingHalving`, `InfiniteHyperband`, `GrowingHyperband`
Rungs without waiting, for many workers
    `AsynchronousBrackets`
New arms against the best so far, within a budget of pulls or of time
    `BudgetedRace`
Pulls at the largest level, for noisy arms
    `VarianceHalving`, `UniformAllocation`
Best of correlated arms, also with fewer pulls than arms
    `BayesGap`; a prior covariance whose length scales are estimated: `KernelFamily`
Best arm with a fixed number of pulls
    `SuccessiveRejects`, `AnytimeSuccessiveRejects`, `UCBE`, `AdaptiveUCBE`, `GapE`, `GapEV`,
    `AdaptiveGapEV`, `UGapEb`, `AdaptiveUGapEb`, `VarianceRejects`
Best arm with a fixed confidence
    `UGapEc`, `LUCB`, `LilUCB`, `SuccessiveElimination`, `MedianElimination`,
    `ExponentialGapElimination`, `HoeffdingRace`, `BernsteinRace`
Large cumulative reward
    `UCB1`, `UCBV`, `MOSS`, `EXP3`
Optimization over a continuous space
    `HOO`
Estimation of a mean with a given precision
    `BernsteinStopping`
A policy of your own
    `SimplePolicy`, which knows every reward when it decides; `IndexPolicy`, for an index of each
    arm; `PlannedPolicy`, for many pulls at a time; `BasePolicy`
Types of the interface between a policy and its caller
    `Policy`, `Game`, `Problem`, `Pull`, `Pulls`; `Plan`, `Bracket`, `Round`, `open_plan`
Types of what only some policies or games can do
    `GrowsArms`, `ChoosesPoints`, `PlaysLevels`; `PlaysStages`, `Believes`, `Guarantees`,
    `StopsEarly`; `ScoresAtLevel`
"""

from sklearn_halving._gaussian_process import KernelFamily
from sklearn_halving.policies._bayes_gap import BayesGap
from sklearn_halving.policies._budgeted_race import BudgetedRace
from sklearn_halving.policies._exp3 import EXP3
from sklearn_halving.policies._gap_exploration import (
    AdaptiveGapEV,
    AdaptiveUGapEb,
    GapE,
    GapEV,
    UGapEb,
    UGapEc,
)
from sklearn_halving.policies._hoo import HOO
from sklearn_halving.policies._hyperband import GrowingHyperband, Hyperband, InfiniteHyperband
from sklearn_halving.policies._plan import Bracket, Plan, Round, open_plan
from sklearn_halving.policies._protocol import (
    Believes,
    ChoosesPoints,
    Game,
    GrowsArms,
    Guarantees,
    PlaysLevels,
    PlaysStages,
    Policy,
    StopsEarly,
)
from sklearn_halving.policies._races import (
    BernsteinRace,
    BernsteinStopping,
    ExponentialGapElimination,
    HoeffdingRace,
    MedianElimination,
    SuccessiveElimination,
)
from sklearn_halving.policies._successive_halving import (
    AsynchronousBrackets,
    DoublingHalving,
    FiniteHorizonHalving,
    GridHalving,
    InfiniteHorizonHalving,
    SuccessiveHalving,
)
from sklearn_halving.policies._successive_rejects import (
    AnytimeSuccessiveRejects,
    SuccessiveRejects,
    VarianceRejects,
)
from sklearn_halving.policies._types import NO_ARM, Problem, Pull, Pulls, ScoresAtLevel
from sklearn_halving.policies._upper_confidence import (
    LUCB,
    MOSS,
    UCB1,
    UCBE,
    UCBV,
    AdaptiveUCBE,
    LilUCB,
)
from sklearn_halving.policies._variance_halving import UniformAllocation, VarianceHalving
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._index_policy import IndexPolicy
from sklearn_halving.policies.bases._planned_policy import PlannedPolicy
from sklearn_halving.policies.bases._simple_policy import SimplePolicy

__all__ = ["DoublingHalving", "GridHalving", "GrowingHyperband", "Hyperband", "InfiniteHyperband"]
__all__ += ["FiniteHorizonHalving", "InfiniteHorizonHalving", "SuccessiveHalving"]
__all__ += ["AsynchronousBrackets", "BudgetedRace", "UniformAllocation", "VarianceHalving"]
__all__ += ["BayesGap", "KernelFamily"]
__all__ += ["AnytimeSuccessiveRejects", "SuccessiveRejects", "VarianceRejects"]
__all__ += ["UCBE", "AdaptiveGapEV", "AdaptiveUCBE", "AdaptiveUGapEb", "GapE", "GapEV", "UGapEb"]
__all__ += ["LUCB", "LilUCB", "MedianElimination", "SuccessiveElimination", "UGapEc"]
__all__ += ["EXP3", "HOO", "MOSS", "UCB1", "UCBV"]
__all__ += ["BernsteinRace", "BernsteinStopping", "ExponentialGapElimination", "HoeffdingRace"]
__all__ += ["NO_ARM", "BasePolicy", "Policy", "Problem", "Pull", "Pulls"]
__all__ += ["Bracket", "Plan", "Round", "ScoresAtLevel", "open_plan"]
__all__ += ["Believes", "ChoosesPoints", "GrowsArms", "Guarantees", "PlaysLevels", "PlaysStages"]
__all__ += ["Game", "IndexPolicy", "PlannedPolicy", "SimplePolicy", "StopsEarly"]
