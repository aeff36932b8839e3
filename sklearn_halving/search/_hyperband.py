"""HyperbandSearchCV, a search with brackets of successive halving over a resource."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from sklearn_halving import _typing as t
from sklearn_halving.policies import AsynchronousBrackets
from sklearn_halving.policies._successive_halving import ScheduledPolicy
from sklearn_halving.resources import Resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._base_search import BaseBanditSearchCV
from sklearn_halving.search._run import Run
from sklearn_halving.search._search_results import ResultTable
from sklearn_halving.search._shared_parameters import PositiveFloat, PositiveInt, document_search
from sklearn_halving.search.preparing._candidates import DEFAULT_SAMPLER, resolve_sampler
from sklearn_halving.search.preparing._hyperband_policy import (
    bracket_factor,
    check_width,
    chooses_plan,
    halves_grid,
    make_bracket_policy,
    make_grid_policy,
    tie_break_of,
    warn_of_left_out,
    warn_of_small_grid,
)
from sklearn_halving.search.preparing._levels import Levels, choose_levels
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.preparing._preparation import Preparation, Setup
from sklearn_halving.search.preparing._search_space import SearchSpace, first_of_each
from sklearn_halving.search.preparing._splitting import SearchSplits
from sklearn_halving.search.reporting._statistics import ChoiceStatistics, Overlap
from sklearn_halving.search.reporting._tables import ResultRows, finalists

Brackets = ScheduledPolicy | AsynchronousBrackets


@document_search
class HyperbandSearchCV(BaseBanditSearchCV):
    """Search that compares many candidates cheaply before it compares a few in full.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV. Use it if a fit with little of
    a resource, such as few rows or few boosting iterations, is much cheaper than a full fit and
    indicates how good the full fit will be.

    For a **grid**, the default is one bracket that starts every candidate. From rung to rung, the
    better half of the candidates gets twice the resource. Rungs below ``max_resources`` use two
    splits, and at least three candidates are compared at ``max_resources`` on all splits. The
    plan never has more fits than GridSearchCV. If nothing can be halved, candidates are dropped
    after two full splits instead. Grids of one or two candidates are searched as by GridSearchCV.

    For **distributions**, the default is Hyperband. Bracket s starts with
    ``n = ceil((s_max + 1) / (s + 1) * factor ** s)`` candidates, which are fitted with
    ``max_resources / factor ** s`` of the resource. From rung to rung, one of every ``factor``
    candidates is kept and gets ``factor`` times the resource, up to ``max_resources``. The
    brackets are a hedge: the first one relies on cheap fits the most, and the last one (s = 0) not
    at all. Candidates of later brackets are chosen by the scores so far. In the paper, and with
    ``sampler="random"``, all candidates are random. ``brackets="all"`` uses these brackets for a
    grid.

    Parameters
    ----------
    param_distributions : dict or list of dict
        Parameter names (str) as keys, and lists of values or distributions as values.
        Distributions must have a method ``rvs``, like those of `scipy.stats`. If all values are
        lists, this is a grid. In a list of dicts, each dict is a search space of its own.
        Candidates are drawn without replacement. If candidates of a grid are left out, a warning
        gives their number.
    resource : str or Resource, default="n_samples"
        The resource that differs from rung to rung:

        - ``"n_samples"``: the number of training rows. Subsets are nested, contain at least two
          rows of every class and do not divide groups. If the splitter goes forward in time, they
          consist of the most recent rows. Test sets are never reduced. ``max_resources`` is the
          size of the training fold.
        - the name of a parameter that counts iterations, such as ``"n_estimators"`` or
          ``"clf__max_iter"``. From rung to rung, a fitted model is trained further if the
          estimator supports that.
        - ``"partial_fit"``: the number of epochs of ``partial_fit``.
        - ``"fit_time"``: the training time in seconds. ``max_resources`` may have a unit, as
          in ``"30s"``.
        - the name of any other integer or float parameter, such as
          ``"rbfsampler__n_components"``. The model is fitted from scratch in each rung.
        - an object from `sklearn_halving.resources`, or of your own.
    min_resources : "auto", float or str, default="auto"
        Smallest resource of a fit. For Hyperband's brackets, ``"auto"`` is
        ``max_resources / factor ** 4``, which allows five brackets, but at least one iteration, or
        enough rows for every class. With ``brackets="auto"``, rungs have at least 50 rows, 5 per
        class on average, and as many as there are columns, if the training fold has. For a grid,
        rungs two or more steps below the training fold have at least 200 rows and 10 per class. If
        this leaves fewer than five of Hyperband's brackets, they start more candidates than in the
        paper and cost as much as five, unless ``max_candidates`` limits them.
    max_resources : "auto", float or str, default="auto"
        Resource of the fits in the last rung of every bracket. ``"auto"`` is the size of the
        smallest training fold, or the value of the parameter in ``estimator``.
    factor : "auto" or float, default="auto"
        The paper's eta, at least 2 and usually at most 5: one of every ``factor`` candidates of a
        rung is promoted. ``"auto"`` is 2 for the bracket of a grid and 3 for Hyperband's brackets.
    brackets : {"auto", "all", "most_exploratory"} or list of int, default="auto"
        Which brackets to run. ``"auto"`` is one bracket that starts every candidate of a grid,
        and Hyperband with a minimum number of rows for distributions, see ``min_resources``.
        ``"all"`` is Hyperband as in the paper; numbers are values of its s, as in
        ``brackets=[4]``.
    n_loops : int or "auto", default=1
        Number of times that Hyperband's brackets are played, each time with new candidates.
        Candidates of a loop are drawn from distributions when the loop starts. ``"auto"`` plays
        loops until ``time_budget`` is over. With a time budget, loops of at most 500,000 fits are
        planned (without a checkpoint, of at most 50,000 for each second), and of at most 20,000
        candidates of a grid.
    min_candidates : int or None, default=None
        Leave out brackets that start with fewer candidates than this (n_min in the paper).
    max_candidates : int or None, default=None
        For a grid, the maximum number of candidates, which are drawn at random. For Hyperband's
        brackets, the maximum number with which a bracket starts (n_max in the paper).
        With ``brackets="all"``, a given ``min_resources`` or a resource other than rows, it is
        rounded down to a power of ``factor``, such as 9 for any number from 9 to 26. All brackets
        together have about twice as many candidates: 9 gives brackets of 9, 5 and 3 candidates.
    select : {"max_resources", "all_rungs"}, default="max_resources"
        Whether to choose the best candidate among those evaluated at ``max_resources``, or among
        all rungs. The ranks in ``cv_results_`` agree with it: with ``"max_resources"``, rows with
        more resource rank first.
    schedule : {"algorithm_1", "table_1"}, default="algorithm_1"
        Number of candidates in each bracket: by Algorithm 1 of the paper, or as in its Table 1,
        on which published results are based (for R = 81, brackets of 81, 27, 9, 6 and 5 candidates
        rather than 81, 34, 15, 8 and 5).
    promotion : {"synchronous", "asynchronous"}, default="synchronous"
        When candidates are promoted to the next rung. ``"synchronous"``: when their rung is
        complete. ``"asynchronous"``: one by one. With ``factor=3``, the best of the first three
        candidates is promoted, then the best remaining one of the first six, and so on [2]_. The
        plan is the same, and results come a little earlier with many workers, but a candidate may
        be promoted before a better one is known. The result does not depend on the number of
        workers.
    sampler : {"auto", "random", "evolution", "kernel_density", "gaussian_process"} or Sampler, \
default="auto"
        How candidates are generated:

        - ``"auto"``: ``"gaussian_process"`` for distributions and ``"random"`` for a grid.
        - ``"random"``: all candidates of a loop are drawn before its first fit, as in the paper.
        - ``"evolution"``: four out of five candidates are mutations of the best candidates so far
          (`sklearn_halving.samplers.EvolutionSampler`). Its gain grows with ``n_loops``.
        - ``"kernel_density"``: two out of three are drawn from kernel densities of good and bad
          candidates, as in BOHB (`sklearn_halving.samplers.KernelDensitySampler`).
        - ``"gaussian_process"``: four out of five have a large expected improvement under a
          Gaussian process of the scores so far
          (`sklearn_halving.samplers.GaussianProcessSampler`). A bracket takes 20 to 50 ms.
        - an object with the method of `sklearn_halving.samplers.Sampler`.

        Except with ``"random"``, the candidates of a bracket are generated when it starts, from
        the scores of all brackets except the one before it and the last rung of the second one
        before it. At most three brackets run at a time.
        In the last rung, a candidate is dropped after one split if it is behind the best one of
        earlier brackets by more than one standard error. There may thus be fewer fits than
        planned. This does not apply with ``select="all_rungs"`` or asynchronous promotion.
    early_splits : "auto", "all" or int, default="auto"
        Number of splits on which rungs below ``max_resources`` are evaluated: the first ones of
        ``cv``. The best candidates at ``max_resources`` are fitted on all splits. ``"all"`` uses
        all splits in all rungs, as in the paper; a grid is then searched exhaustively. For the
        bracket of a grid, ``"auto"`` uses two splits, or one if test folds have 2,000 rows. For
        Hyperband's brackets, it uses as few splits as contain 100 test rows, 10 rows of each
        class, and about the same mean target as all rows. It uses all splits with ``groups``, if
        the splitter goes forward in time, with ``select="all_rungs"``, and for a grid if the
        target of the first two test folds differs from that of all rows. With a number and
        ``select="all_rungs"``, means over few splits are compared with means over all splits, and
        are more often too high.
    cv : int, cross-validation generator or iterable, default=None
        Determines the cross-validation splitting strategy, as in GridSearchCV. The default is
        5-fold cross-validation.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in GridSearchCV, but with one row for each candidate and amount of resource, and with
        the additional columns ``bracket`` (the paper's s), ``iter`` (the last rung of the
        candidate at that amount), ``n_resources``, ``candidate`` and, if ``n_loops`` is larger
        than 1, ``loop``.
    best_probability_ : float
        Probability that the best candidate is the best of the finalists, by their scores and the
        noise between splits, as in VarianceHalvingSearchCV. The finalists are the rows at
        ``max_resources`` with all splits; candidates that were eliminated or dropped do not count,
        and identical ones count once. NaN, like ``best_regret_``, with fewer than two finalists or
        too few splits.
    best_regret_ : float
        Expected difference between the score of the best finalist and that of the best candidate.

    Warns
    -----
    UserWarning
        If candidates of a grid are left out, if there is only one rung, if a grid is smaller than
        a bracket, if a bracket ended because all scores of a rung were NaN, or if a model could
        not be trained further.
    sklearn.exceptions.FitFailedWarning
        If some fits failed.

    See Also
    --------
    VarianceHalvingSearchCV : For few candidates whose scores differ by less than the noise.
    BayesGapSearchCV : For fewer fits than candidates.
    sklearn_halving.policies.GridHalving, sklearn_halving.policies.Hyperband : The policies, which
        do not depend on scikit-learn.

    Notes
    -----
    In the bracket of a grid, ties at a cut are broken by a hash of the parameters and of
    ``random_state``, so the order of the grid does not matter. If several candidates have the best
    score, the first one in the grid wins, as in GridSearchCV.

    If there is only one level of the resource (because there are few rows, or ``min_resources`` is
    close to ``max_resources``), Hyperband's brackets cannot halve. 10 candidates are then drawn
    from distributions, and ``brackets="all"`` searches a grid exhaustively at this level.

    If the score of a candidate is NaN on one of the splits, its mean is NaN as well, and it is
    eliminated. A bracket ends if all candidates of a rung are eliminated.

    References
    ----------
    .. [1] Li, Jamieson, DeSalvo, Rostamizadeh and Talwalkar. Hyperband: a novel bandit-based
       approach to hyperparameter optimization. JMLR 18 (2018), Algorithm 1 and section 2.6.
       https://arxiv.org/abs/1603.06560
    .. [2] Li et al. A system for massively parallel hyperparameter tuning. MLSys 2020.
       https://arxiv.org/abs/1810.05934

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving import HyperbandSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> grid = {"C": [0.1, 1, 10, 100], "gamma": [1e-5, 1e-4, 1e-3, 1e-2]}
    >>> search = HyperbandSearchCV(SVC(), grid, random_state=0)
    >>> search.plan(X, y)[["n_candidates", "n_resources", "n_fits", "of_grid_search"]]
       n_candidates  n_resources  n_fits  of_grid_search
    0            16          359      32           0.100
    1             8          719      16           0.100
    2             4         1437       8           0.100
    3             3         1437       9           0.112
    >>> bool(search.fit(X, y).best_score_ > 0.95)
    True

    >>> from scipy.stats import loguniform
    >>> space = {"C": loguniform(1e-1, 1e3), "gamma": loguniform(1e-5, 1e-1)}
    >>> search = HyperbandSearchCV(SVC(), space, max_candidates=9, random_state=0)
    >>> search.plan(X, y)[["bracket", "rung", "n_candidates", "n_resources", "n_fits"]]
       bracket  rung  n_candidates  n_resources  n_fits
    0        2     0             9          160       9
    1        2     1             3          479       3
    2        2     2             1         1437       5
    3        1     0             5          479       5
    4        1     1             1         1437       5
    5        0     0             3         1437      15
    """

    resource: Annotated[str | Resource, object]
    min_resources: PositiveFloat | str
    max_resources: PositiveFloat | str
    factor: Literal["auto"] | float
    brackets: Literal["auto", "all", "most_exploratory"] | Annotated[Sequence[int], "array-like"]
    n_loops: Literal["auto"] | PositiveInt
    min_candidates: PositiveInt | None
    max_candidates: PositiveInt | None
    select: Literal["max_resources", "all_rungs"]
    schedule: Literal["algorithm_1", "table_1"]
    promotion: Literal["synchronous", "asynchronous"]
    sampler: Annotated[str | Sampler, object]
    early_splits: Literal["auto", "all"] | PositiveInt

    best_probability_: float
    best_regret_: float

    def __init__(
        self,
        estimator: t.Estimator,
        param_distributions: t.ParamDistributions,
        *,
        resource: str | Resource = "n_samples",
        min_resources: float | str = "auto",
        max_resources: float | str = "auto",
        factor: float | Literal["auto"] = "auto",
        brackets: Literal["auto", "all", "most_exploratory"] | Sequence[int] = "auto",
        n_loops: int | Literal["auto"] = 1,
        min_candidates: int | None = None,
        max_candidates: int | None = None,
        select: Literal["max_resources", "all_rungs"] = "max_resources",
        schedule: Literal["algorithm_1", "table_1"] = "algorithm_1",
        promotion: Literal["synchronous", "asynchronous"] = "synchronous",
        sampler: str | Sampler = "auto",
        early_splits: int | Literal["auto", "all"] = "auto",
        initial_candidates: Sequence[t.Params] | None = None,
        scoring: t.Scoring | None = None,
        n_jobs: int | None = None,
        refit: t.Refit = True,
        cv: t.CrossValidation | None = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: t.RandomState | None = None,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
        checkpoint: t.FilePath | None = None,
        time_budget: float | str | None = None,
        pull_timeout: float | str | None = None,
        memory_limit: int | str | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _resolve_sampler(self, space: SearchSpace) -> Sampler | None:
        if isinstance(self.sampler, str) and self.sampler == "auto":
            return resolve_sampler("random" if space.is_grid else DEFAULT_SAMPLER)
        return super()._resolve_sampler(space)

    def _make_levels(
        self, space: SearchSpace, sampler: Sampler | None, resource: Resource, splits: SearchSplits
    ) -> Levels:
        factor = None if halves_grid(self, space, sampler) else bracket_factor(self)
        has_floor = chooses_plan(self)
        return choose_levels(self, resource, splits, factor=factor, has_floor=has_floor)

    def _plays_until_deadline(self, plan: SearchPlan) -> bool:
        is_cut = self.n_loops == "auto" or plan.n_loops < self.n_loops
        return is_cut and plan.n_loops > 1

    def _draw_candidates(self, prepared: Preparation, rng: np.random.RandomState) -> t.Candidates:
        if not prepared.setup.space.is_grid:
            check_width(self, prepared.plan)
        return super()._draw_candidates(prepared, rng)

    def _make_results(self, run: Run, rows: ResultRows) -> ResultTable:
        results = super()._make_results(run, rows).cv_results
        index, name = finalists(results, rows, run.best_arm), f"mean_test_{run.metric}"
        # Equal candidates count once, or they would share the probability; the winner stays.
        index = index[np.argsort(rows.arm[index] != run.best_arm, kind="stable")]
        index = index[first_of_each(results["params"][row] for row in index)]
        mean = np.full(len(rows), np.nan)
        mean[index] = results[name][index]
        overlap = Overlap.of(run.outcomes, run.prepared.setup.splits.n_rows)
        compared = results | {name: mean}
        statistics = ChoiceStatistics.of(compared, run.metric, rows.level, overlap)
        return ResultTable(results, statistics)

    def _choose(self, run: Run) -> None:
        super()._choose(run)
        if hasattr(self, "best_index_"):
            is_finalist = ~np.isnan(self._statistics.mean)
            # A single finalist is not more likely to be the best candidate of all.
            is_known = is_finalist.sum() > 1 and is_finalist[self.best_index_]
            probability = self._statistics.probability_best()[self.best_index_]
            self.best_probability_ = float(probability) if is_known else np.nan
            is_known = not np.isnan(self.best_probability_)
            self.best_regret_ = self._statistics.regret(self.best_index_) if is_known else np.nan

    def _make_policy(self, setup: Setup) -> Brackets:
        policy: ScheduledPolicy
        if halves_grid(self, setup.space, setup.sampler):
            policy = make_grid_policy(self, setup)
        else:
            policy = make_bracket_policy(self, setup)
        return AsynchronousBrackets(policy) if self.promotion == "asynchronous" else policy

    def _tie_break(
        self, setup: Setup, candidates: t.Candidates, seed: np.random.SeedSequence
    ) -> tuple[int, ...] | None:
        if not halves_grid(self, setup.space, setup.sampler):
            return None
        return tie_break_of(candidates, seed)

    def _warn_of_candidates(self, prepared: Preparation, candidates: t.Candidates) -> None:
        setup = prepared.setup
        if not halves_grid(self, setup.space, setup.sampler):
            warn_of_small_grid(prepared)
        warn_of_left_out(self, prepared, candidates)
