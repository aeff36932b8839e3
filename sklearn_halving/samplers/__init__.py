"""What parameters a new candidate gets. NumPy and SciPy only.

Samplers
    `RandomSampler`, `EvolutionSampler`, `KernelDensitySampler`
What they are given
    `Space`, a search space as the unit cube; `Told`, the candidates and scores so far
What a sampler of one's own must have
    `Sampler`
"""

from sklearn_halving.samplers._evolution import EvolutionSampler
from sklearn_halving.samplers._kernel_densities import KernelDensitySampler
from sklearn_halving.samplers._random import RandomSampler
from sklearn_halving.samplers._space import Space
from sklearn_halving.samplers._types import Sampler, Told

__all__ = [
    "EvolutionSampler",
    "KernelDensitySampler",
    "RandomSampler",
    "Sampler",
    "Space",
    "Told",
]
