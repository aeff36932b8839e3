"""HyperbandSearchCV, a search with brackets of successive halving over a resource."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from joblib import effective_n_jobs

from sklearn_halving import _typing as t
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies import GridHalving, Hyperband
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._rungs import exact_factor
from sklearn_halving.policies.timed._timed_halving import TimedHalving
from sklearn_halving.resources import Resource, resolve_resource
from sklearn_halving.samplers import RandomSampler, Sampler
from sklearn_halving.search._base import BaseBanditSearchCV
from sklearn_halving.search._shared_parameters import (
    FitInputs,
    PositiveFloat,
    PositiveInt,
    document_search,
)
from sklearn_halving.search.preparing._arriving import (
    BRACKETS_IN_PLAY,
    DEFAULT_SAMPLER,
    resolve_sampler,
)
from sklearn_halving.search.preparing._levels import (
    MAX_ELIMINATIONS,
    choose_levels,
    screening_levels,
)
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.preparing._setup import Setup
from sklearn_halving.search.preparing._space import (
    SearchSpace,
    check_number,
    n_different,
    search_space,
    with_own_parameters,
)
from sklearn_halving.search.preparing._splits import SearchSplits, fixed_splits

BRACKET_FACTOR = 3
"""Default factor of Hyperband's brackets."""
EARLY_SPLITS = 2
"""Number of splits of the early rungs of a grid. A single split was worse on recorded learning
curves."""
GRID_FACTOR = 2
"""Default factor of the bracket of a grid."""
MIN_LOOP_COST = (MAX_ELIMINATIONS + 1) ** 2
"""Cost of Hyperband's five brackets in full pulls. If there are fewer because of the minimum
number of rows, they start more candidates than in the paper: with the paper's numbers, the scores
of the winners were lower on small tables than with five brackets, and with these they were not."""
N_WITHOUT_HALVING = 40
"""Number of candidates that are drawn from distributions if only one level is possible. With five
splits, they cost as much as Hyperband's five brackets, or 25 candidates on all splits."""
MAX_STARTED = 2**16
"""Maximum number of candidates that a bracket may start. Drawing them takes a few seconds."""
MAX_TIMED = 10_000
"""Maximum number of candidates of a search that plans by its time budget."""


@document_search
class HyperbandSearchCV(BaseBanditSearchCV):
    """Search that compares many candidates cheaply before it compares a few in full.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV, if fits with few rows or few
    iterations are cheap and indicate how good the full fit will be.

    For a **grid**, the default is one bracket that starts every candidate. From rung to rung, the
    better half gets twice the resource. At least three candidates are compared in full. There are
    never more fits than in GridSearchCV.

    For **distributions**, the default is Hyperband [1]_. Bracket s starts with
    ``max_resources / factor ** s`` of the resource. From rung to rung, one of every ``factor``
    candidates is kept and gets ``factor`` times the resource.

    With a **time budget**, the search adapts to the measured times of its fits. The first
    candidate is fitted in full. Unless ``initial_candidates`` is set, it has the estimator's own
    parameters, or the middle of a range that does not contain them. Others are tried in small
    loops: if fits with a ninth of the resource are cheap, they decide which are fitted in full.
    The best are fitted on further splits.

    Parameters
    ----------
    time_budget : float, str or None, default=None
        Maximum time of `fit` with the refit, in seconds or as text, such as ``"30min"``. It can be
        exceeded by running fits, and by the refit if they leave no time for it. The result may
        depend on the speed of the machine. If ``brackets``, ``n_loops`` or
        ``early_splits`` is set, the brackets are played until the time is over, and the refit
        follows.
    cv : int, cross-validation generator or iterable, default=None
        As in GridSearchCV. The default is 5-fold cross-validation.
    resource : str or Resource, default="n_samples"
        What grows from rung to rung:

        - ``"n_samples"``: the number of training rows. Test sets are never reduced.
        - the name of a numeric parameter, such as ``"n_estimators"`` or ``"clf__max_iter"``.
          Models are trained further from rung to rung if the estimator supports that.
        - ``"partial_fit"``: the number of epochs of ``partial_fit``.
        - ``"fit_time"``: the training time in seconds. Limits may have a unit, as in ``"30s"``.
        - an object from `sklearn_halving.resources`, or of your own.
    min_resources : "auto", float or str, default="auto"
        Smallest resource of a fit. ``"auto"`` is ``max_resources / factor ** 4``, but at least
        one iteration, or enough rows to compare candidates.
    max_resources : "auto", float or str, default="auto"
        Resource of the fits in the last rung. ``"auto"`` is all training rows, or the value of
        the parameter in ``estimator``.
    factor : "auto" or float, default="auto"
        The paper's eta, at least 2: one of every ``factor`` candidates of a rung is promoted.
        ``"auto"`` is 2 for the bracket of a grid and 3 for Hyperband's brackets.
    brackets : {"auto", "all", "most_exploratory"} or list of int, default="auto"
        ``"auto"`` is one bracket for a grid and Hyperband for distributions. ``"all"`` is
        Hyperband as in the paper, also for a grid. Numbers are values of s.
    n_candidates : int or None, default=None
        Maximum number of different candidates. From distributions, it is that of one loop, which
        the brackets share: 17 gives brackets of 9, 5 and 3. None is the whole grid, or as many as
        the brackets need.
    n_loops : int, default=1
        Number of times that the brackets are played, each time with new candidates.
    early_splits : "auto", "all" or int, default="auto"
        Number of splits for rungs below ``max_resources``. ``"auto"`` uses as few as are enough
        to compare candidates, usually two for a grid, and ``"all"`` all of them, as in the paper.
    sampler : {"auto", "random", "gaussian_process"} or Sampler, default="auto"
        How candidates are generated:

        - ``"auto"``: ``"gaussian_process"`` for distributions and ``"random"`` for a grid.
        - ``"random"``: at random, as in the paper.
        - ``"gaussian_process"``: most have a large expected improvement.
        - an object from `sklearn_halving.samplers`, or of your own.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in GridSearchCV, with one row for each candidate and amount of resource, or with a
        time budget, for each candidate.
    best_probability_ : float
        Probability that the chosen candidate is the best of the finalists. NaN, like
        ``best_regret_``, if these are too few.
    best_regret_ : float
        Expected difference between the best score and that of the chosen candidate.
    best_corrected_score_ : float
        ``best_score_`` without the optimism of choosing the largest of many noisy means.

    Raises
    ------
    ValueError
        If a parameter is invalid, or if every fit failed.

    Warns
    -----
    UserWarning
        If candidates of a grid are left out, if there is only one rung, or if a model could not
        be trained further.

    See Also
    --------
    VarianceHalvingSearchCV : For few candidates whose scores differ by less than the noise.
    BayesGapSearchCV : For fewer fits than candidates.
    BanditSearchCV : For more parameters of the paper, with ``policy=Hyperband(...)``.

    References
    ----------
    .. [1] Li, Jamieson, DeSalvo, Rostamizadeh and Talwalkar. Hyperband: a novel bandit-based
       approach to hyperparameter optimization. JMLR 18 (2018), Algorithm 1.
       https://arxiv.org/abs/1603.06560

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving import HyperbandSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> space = {"C": loguniform(1e-1, 1e3), "gamma": loguniform(1e-5, 1e-1)}
    >>> search = HyperbandSearchCV(SVC(), space, n_candidates=5, random_state=0)
    >>> search.plan(X, y)[["bracket", "n_candidates", "n_resources", "n_fits"]]
       bracket  n_candidates  n_resources  n_fits
    0        1             3          479       3
    1        1             1         1437       5
    2        0             2         1437      10
    >>> bool(search.fit(X, y).best_score_ > 0.95)
    True
    """

    resource: Annotated[str | Resource, object]
    min_resources: PositiveFloat | str
    max_resources: PositiveFloat | str
    factor: Literal["auto"] | float
    brackets: Literal["auto", "all", "most_exploratory"] | Annotated[Sequence[int], "array-like"]
    n_candidates: PositiveInt | None
    n_loops: PositiveInt
    early_splits: Literal["auto", "all"] | PositiveInt
    sampler: Annotated[str | Sampler, object]

    best_probability_: float
    best_regret_: float
    best_corrected_score_: float

    def __init__(
        self,
        estimator: t.Estimator,
        param_distributions: t.ParamDistributions,
        *,
        time_budget: float | str | None = None,
        n_jobs: int | None = None,
        scoring: t.Scoring | None = None,
        cv: t.CrossValidation | None = None,
        refit: t.Refit = True,
        random_state: t.RandomState | None = None,
        verbose: int = 0,
        resource: str | Resource = "n_samples",
        min_resources: float | str = "auto",
        max_resources: float | str = "auto",
        factor: float | Literal["auto"] = "auto",
        brackets: Literal["auto", "all", "most_exploratory"] | Sequence[int] = "auto",
        n_candidates: int | None = None,
        n_loops: int = 1,
        early_splits: int | Literal["auto", "all"] = "auto",
        sampler: str | Sampler = "auto",
        initial_candidates: Sequence[t.Params] | None = None,
        checkpoint: t.FilePath | None = None,
        fit_timeout: float | str | None = None,
        memory_limit: int | str | None = None,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
        pre_dispatch: int | str = "2*n_jobs",
    ) -> None:
        self._set_parameters(locals())

    @property
    def _chooses_plan(self) -> bool:
        """Whether the brackets are not those of the paper, but chosen by the search."""
        return isinstance(self.brackets, str) and self.brackets == "auto"

    @property
    def _bracket_factor(self) -> float:
        return BRACKET_FACTOR if isinstance(self.factor, str) else self.factor

    def _halves_grid(self, space: SearchSpace, sampler: Sampler | None) -> bool:
        """Return whether all candidates of a grid start in one bracket."""
        return self._chooses_plan and space.is_grid and sampler is None

    def _setup(
        self, inputs: FitInputs, rng: np.random.RandomState, seed: np.random.SeedSequence
    ) -> Setup:
        resource = resolve_resource(self.resource, self.estimator)
        space = search_space(self, resource, inputs)
        name = self.sampler
        if isinstance(name, str) and name == "auto":
            name = "random" if space.is_grid else DEFAULT_SAMPLER
        sampler = resolve_sampler(name)
        splits = fixed_splits(self, inputs, resource, seed)
        if self._keeps_time:
            return self._timed_setup(inputs, resource, space, splits)
        levels = choose_levels(
            (self.min_resources, self.max_resources),
            self.estimator,
            resource,
            splits,
            factor=None if self._halves_grid(space, sampler) else self._bracket_factor,
            has_floor=self._chooses_plan,
        )
        return Setup(inputs, space, sampler, resource, splits, levels)

    @property
    def _keeps_time(self) -> bool:
        """Whether the search plans by the times of its fits, instead of playing brackets."""
        has_own_plan = self.n_loops != 1 or self.early_splits != "auto"
        return self.time_budget is not None and self._chooses_plan and not has_own_plan

    def _timed_setup(
        self, inputs: FitInputs, resource: Resource, space: SearchSpace, splits: SearchSplits
    ) -> Setup:
        """Return the setup of a search that plans by its time budget."""
        limits = self.min_resources, self.max_resources
        levels = screening_levels(limits, self.estimator, resource, splits, self._bracket_factor)
        is_automatic = isinstance(self.sampler, str) and self.sampler == "auto"
        sampler = resolve_sampler(DEFAULT_SAMPLER if is_automatic else self.sampler)
        if self.initial_candidates is None and not space.initial:
            space = with_own_parameters(space, self.estimator)
        sizes = (size for size in (space.size, self.n_candidates) if size is not None)
        n_most = min(MAX_TIMED, *sizes, MAX_TIMED)
        return Setup(inputs, space, sampler or RandomSampler(), resource, splits, levels, n_most)

    def _policy(self, setup: Setup) -> BasePolicy:
        if self._keeps_time:
            levels, splits = setup.levels, setup.splits
            n_train = len(splits.folds.fold(0).train)
            return TimedHalving(
                levels.smallest if levels.smallest < levels.largest else None,
                n_workers=effective_n_jobs(self.n_jobs),
                refit_cost=splits.n_rows / n_train if self.refit else 0.0,
            )
        if self._halves_grid(setup.space, setup.sampler):
            if self.n_loops != 1:
                raise ValueError(
                    f"n_loops={self.n_loops!r} must be 1 for a grid with brackets='auto', whose "
                    "one bracket starts every candidate. Use brackets='all', or leave n_loops out."
                )
            return self._grid_policy(setup)
        chosen = self.brackets if isinstance(self.brackets, str) else tuple(self.brackets)
        loop = Hyperband(
            factor=self._bracket_factor,
            brackets="all" if self._chooses_plan else chosen,
            max_eliminations=setup.levels.n_eliminations,
            early_repetitions=self._n_early_splits(setup.splits),
            brackets_in_play=None if setup.sampler is None else BRACKETS_IN_PLAY,
            # A callable ``refit`` may prefer candidates other than those with the best scores.
            races=setup.sampler is not None and not callable(self.refit),
            min_loop_cost=MIN_LOOP_COST if self._may_be_short(setup.resource) else 1,
        )
        levels, eta = setup.levels, exact_factor(loop.factor)
        can_halve = levels.n_eliminations or levels.largest >= levels.smallest * eta
        n_most, size = self.n_candidates, setup.space.size
        if n_most is not None and can_halve and (size is None or size > n_most):
            widest = _widest_bracket(loop, setup, n_most)
            loop, can_halve = replace(loop, max_candidates=widest), widest >= eta
        if isinstance(self.brackets, str) and not can_halve:
            return self._grid_policy(setup)
        return replace(loop, n_loops=self.n_loops)

    def _may_be_short(self, resource: Resource) -> bool:
        """Return whether the minimum number of rows may leave few brackets."""
        is_automatic = self._chooses_plan and self.min_resources == "auto"
        return is_automatic and resource.subsamples_rows

    def _grid_policy(self, setup: Setup) -> GridHalving:
        """Return the policy for a grid, or for candidates that are compared at one level.

        It has the minimum numbers of rows if rows count.
        """
        splits = setup.splits
        n_splits = splits.n_repetitions or 1
        n_early = n_splits if isinstance(self.early_splits, str) else self.early_splits
        if self.early_splits == "auto" and splits.early.has_like_folds:
            n_early = EARLY_SPLITS
        first_floor = deep_floor = 1
        if setup.resource.subsamples_rows and self.min_resources == "auto":
            first_floor, deep_floor = splits.early.row_floors(setup.levels.largest)
        space = setup.space
        n_drawn = self.n_loops * (self.n_candidates or N_WITHOUT_HALVING)
        n_most = self.n_candidates if space.is_grid else n_drawn
        n_arms = min(n for n in (n_most, space.size) if n is not None)
        check_number(n_arms)
        return GridHalving(
            n_arms=n_arms,
            n_repetitions=n_splits,
            factor=GRID_FACTOR if isinstance(self.factor, str) else self.factor,
            early_repetitions=n_early,
            first_floor=first_floor,
            deep_floor=deep_floor,
        )

    def _n_early_splits(self, splits: SearchSplits) -> int | None:
        """Return the number of splits on which the early rungs are evaluated; None for all."""
        if self.early_splits == "all" or splits.n_repetitions is None:
            return None
        wanted = splits.early.n_telling
        if not isinstance(self.early_splits, str):
            wanted = int(self.early_splits)
        return None if wanted is None or wanted >= splits.n_repetitions else wanted

    def _candidates(
        self, setup: Setup, policy: BasePolicy, plan: SearchPlan, rng: np.random.RandomState
    ) -> t.Candidates:
        if not setup.space.is_grid:
            self._check_width(plan)
        candidates = super()._candidates(setup, policy, plan, rng)
        if setup.space.is_grid and not self._keeps_time:
            self._warn_of_left_out(setup, plan, candidates)
        return candidates

    def _check_width(self, plan: SearchPlan) -> None:
        """Raise if planning the brackets would take minutes."""
        factor, n_widest = self.factor, max(plan.n_of_bracket)
        if n_widest > MAX_STARTED:
            raise ValueError(
                f"factor={factor!r} must be small enough that no bracket starts more than "
                f"{MAX_STARTED} candidates, but one would start {n_widest}. Use a smaller factor, "
                "usually from 2 to 5, raise min_resources, or set n_candidates."
            )

    def _warn_of_left_out(self, setup: Setup, plan: SearchPlan, candidates: t.Candidates) -> None:
        """Warn if candidates of a grid are left out."""
        # Those of a sampler do not exist yet. It does not repeat any while there are others.
        n_started = plan.problem.n_arms if setup.sampler is not None else n_different(candidates)
        if setup.space.size in (n_started, max(plan.n_of_bracket)):
            return
        n_all = setup.space.n_different_in_grid
        if n_started < n_all:
            warn_user(
                f"{n_all - n_started} of the {n_all} candidates of the grid are left out: the "
                f"search starts {n_started} of them. Without n_candidates and with "
                "brackets='auto' and sampler='auto', the defaults, it starts all of them."
            )


def _widest_bracket(loop: Hyperband, setup: Setup, n_candidates: int) -> int:
    """Return the largest start of a bracket with which a loop has at most this many candidates.

    Without a loop that is so small, it is less than ``factor``.
    """
    levels, eta = setup.levels, exact_factor(loop.factor)
    least = 1 if isinstance(loop.brackets, str) else int(eta ** max(loop.brackets))

    def n_arms(widest: int | None) -> int:
        within = replace(loop, max_candidates=widest)
        return within.schedule(levels.smallest, levels.largest, setup.space.size).n_arms

    if n_arms(None) <= n_candidates:
        return n_candidates
    widest = least - 1 + bisect_right(range(least, n_candidates + 1), n_candidates, key=n_arms)
    if widest < least:
        raise ValueError(
            f"n_candidates={n_candidates} is too small for brackets={list(loop.brackets)}, which "
            f"start {n_arms(least)} candidates. Use n_candidates={n_arms(least)} or more."
        )
    return widest
