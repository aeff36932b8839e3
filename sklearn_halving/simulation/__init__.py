"""Play policies against synthetic or recorded arms, on thousands of problems at a time.

Play
    `simulate` returns a `SimulationResult`, whose means are `Estimate`s
Environments, from which problems are drawn
    `GaussianArms`, `BernoulliArms`, `GaussianProcessArms`, `LearningCurves` (with
    `PowerEnvelope` and `PowerLimits`), `RecordedScores`
For your own environments
    `Environment`, `Arms`, `Randomness`
"""

from sklearn_halving.simulation._randomness import Arms, Environment, Randomness
from sklearn_halving.simulation._recorded_scores import RecordedScores
from sklearn_halving.simulation._simulate import Estimate, SimulationResult, simulate
from sklearn_halving.simulation._synthetic_arms import (
    BernoulliArms,
    GaussianArms,
    GaussianProcessArms,
    LearningCurves,
    PowerEnvelope,
    PowerLimits,
)

__all__ = ["Arms", "Environment", "Estimate", "Randomness", "SimulationResult", "simulate"]
__all__ += ["BernoulliArms", "GaussianArms", "GaussianProcessArms"]
__all__ += ["LearningCurves", "PowerEnvelope", "PowerLimits", "RecordedScores"]
