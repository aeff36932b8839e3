"""Base class of the searches whose policies decide after each fit which candidate is next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np

from sklearn_halving._typing import Candidates
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies import IncumbentRace
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.resources import Resource, WholeFit, resolve_resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._base import BaseBanditSearchCV
from sklearn_halving.search._formatting import counted
from sklearn_halving.search._shared_parameters import (
    FitInputs,
    PositiveFloat,
    PositiveInt,
    check_defaults,
)
from sklearn_halving.search.preparing._arriving import DEFAULT_SAMPLER, resolve_sampler
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.preparing._setup import Setup
from sklearn_halving.search.preparing._space import (
    SearchSpace,
    check_number,
    search_space,
    with_own_parameters,
)
from sklearn_halving.search.preparing._splits import SearchSplits

N_OF_DISTRIBUTIONS = 10
"""Default number of candidates that are drawn from distributions: the default ``n_iter`` of
RandomizedSearchCV."""
FITS_OF_GRID_SEARCH = 5
"""Number of fits of a candidate in GridSearchCV with its default cv."""
N_SAMPLED = N_OF_DISTRIBUTIONS * FITS_OF_GRID_SEARCH
"""Default number of fits if candidates are created during the search."""


class AdaptiveSearchCV(BaseBanditSearchCV):
    """Base class of searches with an unlimited number of splits and one row for each candidate.

    Parameters
    ----------
    resource : str, Resource or None, default=None
        Unit of ``max_resources``, see HyperbandSearchCV. With None, every fit has full size.
    max_resources : "auto", float or str, default="auto"
        Largest resource of a fit. ``"auto"`` is all training rows, or the value of the parameter
        in ``estimator``.

    Attributes
    ----------
    best_corrected_score_ : float
        ``best_score_`` without the optimism of choosing the largest of many noisy means.
    n_fits_left_ : int
        Number of fits, out of ``n_fits``, that were not used.
    """

    best_probability_: float
    best_regret_: float
    best_corrected_score_: float
    n_fits_left_: int | None

    _of_drawn: ClassVar[Mapping[str, object]]
    """Parameters that apply only to drawn candidates, and their defaults."""

    n_candidates: str | int
    n_fits: Literal["auto"] | PositiveInt
    sampler: Annotated[str | Sampler, object]
    resource: Annotated[str | Resource, object] | None
    max_resources: PositiveFloat | str

    def _resource(self) -> Resource:
        """Return the resource; without one, all fits have the same size."""
        if self.resource is not None:
            return resolve_resource(self.resource, self.estimator)
        for name in ("min_resources", "max_resources"):
            if getattr(self, name, None) not in (None, "auto"):
                raise ValueError(
                    f"{name}={getattr(self, name)} must come with a resource; got resource=None, "
                    "with which all fits have the same size. Set resource, for example to "
                    f"'n_samples', or leave {name} out."
                )
        return WholeFit()

    def _space(self, resource: Resource, inputs: FitInputs) -> tuple[SearchSpace, Sampler | None]:
        """Return the space and the sampler, which is None if the candidates are drawn.

        The first candidate of a race is close to the estimator's own parameters.
        """
        space = search_space(self, resource, inputs)
        changed = [name for name, usual in self._of_drawn.items() if getattr(self, name) != usual]
        name = self.sampler
        if isinstance(name, str) and name == "auto":
            n_fits = N_SAMPLED if isinstance(self.n_fits, str) else self.n_fits
            is_small = space.size is not None and space.size * FITS_OF_GRID_SEARCH <= n_fits
            name = "random" if space.is_grid or is_small or changed else DEFAULT_SAMPLER
        sampler = resolve_sampler(name)
        if sampler is None:
            return space, None
        other = f"sampler={self.sampler!r}, whose candidates race against the best one so far"
        check_defaults(self, self._of_drawn, other, "sampler='random'")
        if self.initial_candidates is None and not space.initial:
            space = with_own_parameters(space, self.estimator)
        return space, sampler

    def _race(self, setup: Setup) -> IncumbentRace:
        """Return the policy for candidates that a sampler creates."""
        self._check_splits(setup, setup.n_candidates)
        n_splits = max(IncumbentRace.n_splits, setup.splits.n_named)
        return IncumbentRace(setup.n_fits, n_splits=n_splits)

    def _count_candidates(
        self,
        space: SearchSpace,
        sampler: Sampler | None,
        least_n_fits: Callable[[int], int],
        fits_of_a_drawn: int = FITS_OF_GRID_SEARCH,
    ) -> int:
        """Return the number of candidates, or the maximum number if a sampler creates them.

        ``least_n_fits`` is the smallest budget for a number of candidates, and one candidate is
        drawn from distributions for ``fits_of_a_drawn`` fits.
        """
        if not isinstance(self.n_candidates, str):
            return min(int(self.n_candidates), space.size or int(self.n_candidates))
        if sampler is not None:
            n_fits = N_SAMPLED if isinstance(self.n_fits, str) else int(self.n_fits)
            return min(n_fits, space.size or n_fits)
        if space.is_grid and space.size is not None:
            if isinstance(self.n_fits, str):
                check_number(space.size)  # otherwise the policy compares it with its budget
            return space.size
        n_arms = N_OF_DISTRIBUTIONS
        if not isinstance(self.n_fits, str):
            n_arms = max(1, int(self.n_fits) // fits_of_a_drawn)
            while n_arms > 1 and least_n_fits(n_arms) > self.n_fits:
                n_arms -= 1
        n_arms = max(n_arms, len(space.initial))
        return min(n_arms, space.size or n_arms)

    def _count_fits(
        self, n_arms: int, sampler: Sampler | None, splits: SearchSplits, least: int
    ) -> int:
        """Return the budget."""
        if not isinstance(self.n_fits, str):
            return int(self.n_fits)
        if sampler is not None:
            return N_SAMPLED
        n_each = min(FITS_OF_GRID_SEARCH, splits.n_repetitions or FITS_OF_GRID_SEARCH)
        return max(n_each * n_arms, least)

    def _check_splits(self, setup: Setup, least: int, n_levels: int = 1) -> None:
        """Raise if there are not enough splits for the number of fits."""
        n_arms, n_splits = setup.n_candidates, setup.splits.n_repetitions
        if n_splits is None or isinstance(self.n_fits, str):
            return
        most = max(n_arms * n_splits * n_levels, least)
        if self.n_fits > most:
            raise ValueError(
                f"n_fits={self.n_fits} is too large for {counted(n_arms, 'candidate')} on the "
                f"{counted(n_splits, 'split')} of cv: at most {most} fits are possible. Use "
                "n_fits='auto', or a cv that can be reshuffled, such as a number of folds."
            )

    def _candidates(
        self, setup: Setup, policy: BasePolicy, plan: SearchPlan, rng: np.random.RandomState
    ) -> Candidates:
        candidates = super()._candidates(setup, policy, plan, rng)
        self._warn_of_candidates(setup)
        return candidates

    def _warn_of_candidates(self, setup: Setup) -> None:
        """Warn if there are fewer candidates than were asked for, or too few for a sampler."""
        size, wanted = setup.space.size, self.n_candidates
        if size is None:
            return
        if setup.sampler is None:
            if not isinstance(wanted, str) and size < wanted:
                warn_user(
                    f"There are only {size} candidates, fewer than n_candidates={wanted}: all of "
                    "them are tried."
                )
        elif size * FITS_OF_GRID_SEARCH <= setup.n_fits:
            warn_user(
                f"There are only {size} candidates, and {setup.n_fits} fits are enough to compare "
                "all of them: a sampler has nothing to choose from. Use sampler='random'."
            )
