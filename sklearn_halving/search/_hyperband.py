"""HyperbandSearchCV: many brackets of successive halving over a resource."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal, cast

import numpy as np

from sklearn_halving._typing import (
    CrossValidation,
    Estimator,
    FilePath,
    ParamDistributions,
    RandomState,
    Refit,
    Rescale,
    Scoring,
)
from sklearn_halving.policies import FiniteHorizonHalving, Hyperband
from sklearn_halving.policies.bases._bracket_policy import ScheduledPolicy
from sklearn_halving.policies.bases._rungs import exact_factor
from sklearn_halving.resources import Resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._base_search import BaseBanditSearchCV
from sklearn_halving.search._shared_parameters import (
    PositiveFloat,
    PositiveInt,
    document_search,
)
from sklearn_halving.search.preparing._arriving import (
    BRACKETS_IN_PLAY,
    ArrivingCandidates,
    arriving,
    resolve_sampler,
)
from sklearn_halving.search.preparing._preparation import (
    Levels,
    Preparation,
    choose_levels,
    warn_of_small_grid,
)
from sklearn_halving.search.preparing._search_space import SearchSpace
from sklearn_halving.search.preparing._splitting import SplitRows

N_WITHOUT_HALVING = 10
"""Candidates drawn from distributions where only one level is possible, the default
``n_iter`` of RandomizedSearchCV."""


@document_search
class HyperbandSearchCV(BaseBanditSearchCV):
    """Search over parameters with Hyperband: many cheap fits, few expensive ones.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV. Use it if a fit with little of
    a resource, such as few rows or few boosting iterations, is much cheaper than a full fit and
    tells something about it. Many candidates are fitted with little of the resource. The best
    of them are fitted with more, and only a few with all of it.

    Bracket s of the search starts with ``n = ceil((s_max + 1) / (s + 1) * factor ** s)``
    candidates, which are fitted with ``max_resources / factor ** s`` of the resource. From rung
    to rung, one of every ``factor`` candidates is kept and gets ``factor`` times the resource,
    up to ``max_resources``. The brackets are a hedge: bracket s_max relies on cheap fits the
    most, and bracket 0 not at all. All candidates of a rung are evaluated on the same splits.
    Rungs below ``max_resources`` use only some of the splits, see ``early_splits``.

    Parameters
    ----------
    param_distributions : dict or list of dict
        Parameter names (str) as keys, and lists of values or distributions as values.
        Distributions must have a method ``rvs``, like those of `scipy.stats`. If all values are
        lists, this is a grid. In a list of dicts, each dict is a search space of its own.
        Candidates are drawn without replacement. If a grid is smaller than a bracket, the bracket
        takes all of it, and a warning is issued.
    resource : str or Resource, default="n_samples"
        The resource that a fit gets more or less of:

        - ``"n_samples"``: the number of training rows. Subsets are nested, contain at least two
          rows of every class and do not divide groups. If the splitter goes forward in time, they
          consist of the most recent rows. Test sets are never reduced. ``max_resources`` is the
          size of the training fold.
        - the name of a parameter that counts iterations, such as ``"n_estimators"`` or
          ``"clf__max_iter"``. From rung to rung, a fitted model is trained further if the
          estimator supports that.
        - ``"partial_fit"``: the number of epochs of ``partial_fit``.
        - ``"fit_time"``: the training time in seconds.
        - the name of any other integer or float parameter, such as
          ``"rbfsampler__n_components"``. The model is fitted anew in each rung.
        - an object from `sklearn_halving.resources`, or of your own.
    min_resources : "auto" or float, default="auto"
        Smallest resource of a fit. ``"auto"`` is ``max_resources / factor ** 4``, which allows
        five brackets, but at least one iteration, or as many rows as are needed to contain every
        class.
    max_resources : "auto" or float, default="auto"
        Resource of the fits in the last rung of every bracket. ``"auto"`` is the size of the
        smallest training fold, or the value of the parameter in ``estimator``.
    factor : float, default=3
        The paper's eta, at least 2: one of every ``factor`` candidates of a rung goes on.
    brackets : {"all", "most_exploratory"} or list of int, default="all"
        Which brackets to play; numbers are values of the paper's s, as in ``brackets=[4]``.
    n_loops : int, default=1
        Number of times that the brackets are played, each time with new candidates.
    min_candidates : int or None, default=None
        Leave out brackets that start with fewer candidates than this (n_min in the paper).
    max_candidates : int or None, default=None
        Maximum number of candidates with which a bracket starts (n_max in the paper). It is
        rounded down to a power of ``factor``. All brackets together have about twice as many
        candidates: 9 gives brackets of 9, 5 and 3 candidates.
    select : {"max_resources", "all_rungs"}, default="max_resources"
        Whether to choose the best candidate among those evaluated at ``max_resources``, or among
        all rungs. The ranks in ``cv_results_`` agree with it: with ``"max_resources"``, rows with
        more resource rank first.
    schedule : {"algorithm_1", "table_1"}, default="algorithm_1"
        Number of candidates in each bracket: by Algorithm 1 of the paper, or as in its Table 1,
        on which published results are based (for R = 81, brackets of 81, 27, 9, 6 and 5 candidates
        rather than 81, 34, 15, 8 and 5).
    sampler : {"random", "evolution", "kernel_density"} or Sampler, default="random"
        How candidates are made:

        - ``"random"``: all are drawn before the first fit, as in the paper.
        - ``"evolution"``: four out of five candidates are mutations of the best candidates so far
          (`sklearn_halving.samplers.EvolutionSampler`). It learns from bracket to bracket, so use
          ``n_loops`` above 1.
        - ``"kernel_density"``: two out of three candidates are drawn from kernel densities of the
          good and the bad candidates so far, as in BOHB
          (`sklearn_halving.samplers.KernelDensitySampler`).
        - an object with the method of `sklearn_halving.samplers.Sampler`.

        Except with ``"random"``, the candidates of a bracket are made when it starts, from the
        scores of all brackets except the one before it. At most two brackets run at a time.
    early_splits : "auto", "all" or int, default="auto"
        Number of splits on which rungs below ``max_resources`` are evaluated: the first ones of
        ``cv``. Rungs at ``max_resources`` always use all splits. ``"all"`` uses all splits in
        all rungs, as in the paper. ``"auto"`` uses as few splits as contain 100 test rows, 10
        rows of each class, and about the same mean target as all rows. It uses all splits with
        ``groups``, if the splitter goes forward in time, and with ``select="all_rungs"``. With
        a number and ``select="all_rungs"``, means over few splits are compared with means over
        all, and the former are more often much too high.
    cv : int, cross-validation generator or iterable, default=None
        Determines the cross-validation splitting strategy, as in GridSearchCV. The default is
        5-fold cross-validation.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in GridSearchCV, but with one row for each candidate and rung, and with the additional
        columns ``bracket`` (the paper's s), ``iter`` (the rung), ``n_resources``, ``candidate``
        and, if ``n_loops`` is larger than 1, ``loop``.

    Warns
    -----
    UserWarning
        If there is only one rung, if a grid is smaller than a bracket, if a bracket ended because
        all scores of a rung were NaN, or if a model could not be trained further.
    sklearn.exceptions.FitFailedWarning
        If some fits failed.

    See Also
    --------
    VarianceHalvingSearchCV : For few candidates whose scores differ by less than the noise.
    BayesGapSearchCV : For expensive fits, fewer than there are candidates.
    sklearn_halving.policies.Hyperband : The policy, which does not depend on scikit-learn.

    Notes
    -----
    If there is only one level of the resource (because there are few rows, or ``min_resources`` is
    close to ``max_resources``), nothing can be halved. A grid is then searched exhaustively at
    this level, and 10 candidates are drawn from distributions.

    If the score of a candidate is NaN on one of the splits, its mean is NaN as well, and it is
    eliminated. A bracket ends if all candidates of a rung are eliminated.

    References
    ----------
    .. [1] Li, Jamieson, DeSalvo, Rostamizadeh and Talwalkar. Hyperband: a novel bandit-based
       approach to hyperparameter optimization. JMLR 18 (2018), Algorithm 1 and section 2.6.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving import HyperbandSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> space = {"C": loguniform(1e-1, 1e3), "gamma": loguniform(1e-5, 1e-1)}
    >>> search = HyperbandSearchCV(SVC(), space, max_candidates=9, random_state=0)
    >>> search.plan(X, y)
       bracket  rung  n_candidates  n_resources  n_fits
    0        2     0             9          160       9
    1        2     1             3          479       3
    2        2     2             1         1437       5
    3        1     0             5          479       5
    4        1     1             1         1437       5
    5        0     0             3         1437      15
    >>> search.fit(X, y).n_fits_
    42
    >>> bool(search.best_score_ > 0.95)
    True
    """

    resource: Annotated[str | Resource, object]
    min_resources: Literal["auto"] | PositiveFloat
    max_resources: Literal["auto"] | PositiveFloat
    factor: float
    brackets: Literal["all", "most_exploratory"] | Annotated[Sequence[int], "array-like"]
    n_loops: PositiveInt
    min_candidates: PositiveInt | None
    max_candidates: PositiveInt | None
    select: Literal["max_resources", "all_rungs"]
    schedule: Literal["algorithm_1", "table_1"]
    sampler: Annotated[str | Sampler, object]
    early_splits: Literal["auto", "all"] | PositiveInt

    def __init__(
        self,
        estimator: Estimator,
        param_distributions: ParamDistributions,
        *,
        resource: str | Resource = "n_samples",
        min_resources: float | Literal["auto"] = "auto",
        max_resources: float | Literal["auto"] = "auto",
        factor: float = 3,
        brackets: Literal["all", "most_exploratory"] | Sequence[int] = "all",
        n_loops: int = 1,
        min_candidates: int | None = None,
        max_candidates: int | None = None,
        select: Literal["max_resources", "all_rungs"] = "max_resources",
        schedule: Literal["algorithm_1", "table_1"] = "algorithm_1",
        sampler: str | Sampler = "random",
        early_splits: int | Literal["auto", "all"] = "auto",
        rescale: Rescale | None = None,
        scoring: Scoring | None = None,
        n_jobs: int | None = None,
        refit: Refit = True,
        cv: CrossValidation | None = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: RandomState | None = None,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
        checkpoint: FilePath | None = None,
        checkpoint_models: bool = False,
        time_budget: float | None = None,
        pull_timeout: float | None = None,
        memory_limit: int | None = None,
        refit_on_interrupt: bool = False,
        progress_bar: bool = False,
    ) -> None:
        self._set_parameters(locals())

    def _make_levels(self, resource: Resource, rows: SplitRows) -> Levels:
        smallest, largest = resource.level_range(self.estimator, rows.n_train, rows.n_rows_needed)
        return choose_levels(
            resource,
            smallest,
            largest,
            min_resources=self.min_resources,
            max_resources=self.max_resources,
            factor=float(self.factor),
        )

    def _draw_candidates(self, prepared: Preparation, rng: np.random.RandomState) -> Any:
        sampler, schedule = resolve_sampler(self.sampler), prepared.plan.schedule
        if sampler is None or schedule is None:
            return super()._draw_candidates(prepared, rng)
        brackets = cast(ScheduledPolicy, prepared.policy)
        n_of_bracket, order = prepared.plan.n_of_bracket, brackets.order_of_play(schedule)
        candidates = arriving(self, sampler, n_of_bracket, order, rng)
        self._warn_of_space(prepared)
        return candidates

    def _start(self, prepared: Preparation, candidates: Any, seed: np.random.SeedSequence) -> Any:
        state = super()._start(prepared, candidates, seed)
        if isinstance(candidates, ArrivingCandidates):
            brackets = cast(ScheduledPolicy, prepared.policy)
            candidates.follow(partial(brackets.rungs_before, state))
        return state

    def _warn_of_space(self, prepared: Preparation) -> None:
        levels = prepared.levels
        wanted = prepared.policy.schedule(levels.smallest, levels.largest)
        warn_of_small_grid(prepared, wanted)

    def _make_policy(self, levels: Levels, space: SearchSpace, rows: SplitRows) -> ScheduledPolicy:
        eta = exact_factor(self.factor)
        can_halve = levels.n_eliminations or levels.largest >= levels.smallest * eta
        if self.max_candidates is not None and self.max_candidates < eta:
            can_halve = False
        if isinstance(self.brackets, str) and not can_halve:
            # With one level there is nothing to halve, and Algorithm 1 would try one
            # candidate. What is left is a plain search at that level.
            n_arms = max(N_WITHOUT_HALVING, self.min_candidates or 1)
            if space.size is not None:
                n_arms = space.size if space.is_grid else min(n_arms, space.size)
            n_arms = min(n_arms, self.max_candidates or n_arms)
            return FiniteHorizonHalving(n_arms, n_arms * levels.largest, float(self.factor))
        brackets = self.brackets
        return Hyperband(
            factor=self.factor,
            brackets=brackets if isinstance(brackets, str) else tuple(brackets),
            n_loops=self.n_loops,
            min_candidates=self.min_candidates,
            max_candidates=self.max_candidates,
            max_eliminations=levels.n_eliminations,
            select=self.select,
            schedule_rule=self.schedule,
            early_repetitions=self._n_early_splits(rows),
            brackets_in_play=None if resolve_sampler(self.sampler) is None else BRACKETS_IN_PLAY,
        )

    def _n_early_splits(self, rows: SplitRows) -> int | None:
        """Return on how many splits the early rungs are evaluated; None for all."""
        if self.early_splits == "all" or rows.n_repetitions is None:
            return None
        wanted = None if isinstance(self.early_splits, str) else int(self.early_splits)
        if wanted is None and self.select == "max_resources":
            # Elsewhere early rungs may win, and the best of many means over few splits would be
            # taken for better than what all splits say.
            wanted = rows.n_telling
        return None if wanted is None or wanted >= rows.n_repetitions else wanted
