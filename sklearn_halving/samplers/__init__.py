"""Samplers choose the parameters of new candidates. NumPy and SciPy only.

Samplers
    `RandomSampler`, `GaussianProcessSampler`
Inputs of samplers
    `Space`, a search space mapped to the unit cube; `Told`, the candidates and scores so far
The protocol for a sampler of your own
    `Sampler`
"""

from sklearn_halving.samplers._gaussian_process import GaussianProcessSampler
from sklearn_halving.samplers._sampler import RandomSampler, Sampler, Told
from sklearn_halving.samplers._space import Space

__all__ = ["GaussianProcessSampler", "RandomSampler", "Sampler", "Space", "Told"]
