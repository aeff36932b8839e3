"""Mutations of the best candidates, and candidates from kernel densities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_halving.samplers._evolution import EvolutionSampler
from sklearn_halving.samplers._kernel_densities import KernelDensitySampler
from sklearn_halving.samplers._random import Batch
from sklearn_halving.samplers._space import Params
from sklearn_halving.samplers._types import Told, check_share


@dataclass(frozen=True)
class MixedSampler:
    """Propose mutations of the best candidates, and candidates from kernel densities.

    It is meant for long searches in which cheap fits mislead. On four surrogates of this kind, the
    mean regret was lower than with mutations alone after 200 full fits, by nearly two standard
    errors, and about the same before.

    Parameters
    ----------
    share_density : float, default=0.3
        Share of the candidates that are drawn from kernel densities, among those that are not
        random. The others are mutations. As long as there are too few scores for densities, all
        of them are mutations.
    share_random : float, default=0.2
        Share of the candidates that are drawn at random, so that no part of the space is excluded.
        It is above 0 and at most 1.

    See Also
    --------
    EvolutionSampler : The mutations, with the default values of its other parameters.
    KernelDensitySampler : The densities, with the default values of its other parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import uniform
    >>> from sklearn_halving.samplers import MixedSampler, Space, Told
    >>> told = Told(Space.of({"x": uniform(0, 1)}))
    >>> for arm in range(100):
    ...     told.add({"x": arm / 100})
    ...     told.tell(arm, level=1, score=-abs(arm / 100 - 0.4))
    >>> made = MixedSampler().propose(told, 100, np.random.default_rng(0))
    >>> bool(np.mean([abs(params["x"] - 0.4) < 0.3 for params in made]) > 0.7)
    True
    """

    share_density: float = 0.3
    share_random: float = 0.2

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_share(self, "share_density", "Use 0.3, the default, or EvolutionSampler.")
        check_share(self, "share_random", "Use 0.2, the default, or RandomSampler.", may_be_1=True)

    def propose(self, told: Told, n: int, rng: np.random.Generator) -> list[Params]:
        """Return ``n`` candidates: mutations, draws from the densities, and random candidates."""
        evolution, kernels = EvolutionSampler(), KernelDensitySampler()
        parents, densities = evolution.parents(told), kernels.densities(told, rng)

        def make(batch: Batch) -> Params | None:
            if densities is not None and rng.random() < self.share_density:
                return kernels.likely(told, *densities, batch, rng)
            return evolution.child(told, int(rng.choice(parents)), batch, rng)

        return Batch(told).filled(n, rng, make if len(parents) else None, self.share_random)
