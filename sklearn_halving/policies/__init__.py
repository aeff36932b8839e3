"""Which arm next: pure ask/tell policies. NumPy and SciPy only.

Play a schedule of rungs and brackets
    `Hyperband`, `SuccessiveHalving`, `FiniteHorizonHalving`
Types that policies exchange with their caller
    `Policy`, `Problem`, `Pull`, `Pulls`, `Schedule`, `Bracket`, `Rung`
"""

from sklearn_halving.policies._hyperband import Hyperband
from sklearn_halving.policies._successive_halving import FiniteHorizonHalving, SuccessiveHalving
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

__all__ = [
    "NO_ARM",
    "Bracket",
    "FiniteHorizonHalving",
    "Hyperband",
    "Policy",
    "Problem",
    "Pull",
    "Pulls",
    "Rung",
    "Schedule",
    "SuccessiveHalving",
]
