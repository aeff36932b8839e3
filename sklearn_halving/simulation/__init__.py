"""Policies against synthetic or recorded arms, thousands of problems at a time.

Play
    `simulate` -> `SimulationResult`, whose means are `Estimate`
Environments, what problems are drawn from
    `GaussianArms`, `BernoulliArms`, `GaussianProcessArms`, `LearningCurves` (with
    `PowerEnvelope` and `PowerLimits`), `RecordedScores`
For an environment of one's own
    `Environment`, `Arms`, `Randomness`
"""

from sklearn_halving.simulation._learning_curves import LearningCurves, PowerEnvelope, PowerLimits
from sklearn_halving.simulation._noisy_arms import (
    BernoulliArms,
    GaussianArms,
    GaussianProcessArms,
)
from sklearn_halving.simulation._randomness import Randomness
from sklearn_halving.simulation._recorded_scores import RecordedScores
from sklearn_halving.simulation._result import Estimate, SimulationResult
from sklearn_halving.simulation._simulate import simulate
from sklearn_halving.simulation._types import Arms, Environment

__all__ = [
    "Arms",
    "BernoulliArms",
    "Environment",
    "Estimate",
    "GaussianArms",
    "GaussianProcessArms",
    "LearningCurves",
    "PowerEnvelope",
    "PowerLimits",
    "Randomness",
    "RecordedScores",
    "SimulationResult",
    "simulate",
]
