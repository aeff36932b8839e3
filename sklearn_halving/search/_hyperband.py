"""HyperbandSearchCV: many brackets of successive halving over a resource."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

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
from sklearn_halving.policies._types import Schedule
from sklearn_halving.policies.bases._bracket_policy import ScheduledPolicy
from sklearn_halving.policies.bases._rungs import exact_factor
from sklearn_halving.resources import Resource
from sklearn_halving.search._base_search import BaseBanditSearchCV
from sklearn_halving.search._shared_parameters import (
    PositiveFloat,
    PositiveInt,
    document_search,
)
from sklearn_halving.search.preparing._plan import ScheduledLayout
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
    """Search by Hyperband: little resource for many candidates, all of it for few.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV. Bracket s starts
    ``n = ceil((s_max + 1) / (s + 1) * factor ** s)`` candidates at
    ``max_resources / factor ** s`` and, rung by rung, keeps the best of every ``factor``
    candidates and gives each ``factor`` times the resource, up to ``max_resources``. The
    brackets hedge: the first trusts cheap fits most, the last (s = 0) not at all. They run
    at the same time, and every candidate of a rung is evaluated on the same splits, below
    ``max_resources`` on as few of them as tell enough (``early_splits``).

    Parameters
    ----------
    estimator : estimator object
        Implements the scikit-learn estimator interface. It, or ``scoring``, gives the score.
    param_distributions : dict or list of dict
        Parameter names to lists of values or to distributions with a method ``rvs``, as for
        GridSearchCV and RandomizedSearchCV. Values may be estimators. Candidates are drawn
        without replacement; a grid smaller than a bracket is used whole, with a warning.
    resource : str or Resource, default="n_samples"
        What a fit is given little or much of:

        - ``"n_samples"``: rows of the training fold. Subsets are nested, hold at least two
          rows of every class, keep groups together and, where the splitter goes forward in
          time, are the most recent rows. Test folds are never cut. The largest level is the
          whole training fold.
        - the name of an iteration count, such as ``"n_estimators"`` or ``"clf__max_iter"``:
          fitted models are trained on from rung to rung where the estimator can do that.
        - ``"partial_fit"``: epochs of ``partial_fit``.
        - ``"fit_time"``: seconds of training.
        - the name of any other integer or float parameter, such as
          ``"rbfsampler__n_components"``: fitted anew in each rung.
        - an object from `sklearn_halving.resources`.
    min_resources : "auto" or float, default="auto"
        Least resource of a fit. ``"auto"`` makes five brackets, or as many as the resource
        allows: the smallest rung is at ``max_resources / factor ** 4``, raised to one
        iteration or to the rows that every class needs.
    max_resources : "auto" or float, default="auto"
        Resource of a fit in the last rung of every bracket. ``"auto"`` is all rows of the
        smallest training fold, or the value that ``estimator`` has for the parameter.
    factor : float, default=3
        The paper's eta, at least 2: one of every ``factor`` candidates of a rung goes on.
    brackets : {"all", "most_exploratory"} or list of int, default="all"
        Which brackets to play; numbers are values of the paper's s, as in ``brackets=[4]``.
    n_loops : int, default=1
        How often the brackets are played, each time with new candidates.
    min_candidates : int or None, default=None
        The paper's n_min: leave out brackets that start with fewer candidates.
    max_candidates : int or None, default=None
        The paper's n_max, the most with which a bracket may start: rounded down to a power of
        ``factor``, since the widest bracket starts with ``factor ** s``. All brackets together
        have about twice as many; 9 makes 9 + 5 + 3 candidates.
    select : {"max_resources", "all_rungs"}, default="max_resources"
        Whether the best candidate is the best at ``max_resources``, or the one with the best
        score of any rung. Ranks in ``cv_results_`` follow: with ``"max_resources"`` more
        resource ranks first.
    schedule : {"algorithm_1", "table_1"}, default="algorithm_1"
        Numbers of candidates by the paper's Algorithm 1, or as in its printed Table 1 (81,
        27, 9, 6, 5 instead of 81, 34, 15, 8, 5 for R = 81), which published results used.
    early_splits : "auto", "all" or int, default="auto"
        On how many of the splits the rungs below ``max_resources`` are evaluated, the first
        ones of ``cv``; those at ``max_resources`` are on all of them. ``"auto"`` takes as few
        as have 100 test rows between them, 10 of each class, and about the mean target of all
        rows; with ``groups``, with splits
        that go forward in time, and with ``select="all_rungs"``, all. In the paper a score is
        one number, so that all rungs of a bracket cost the same; with ``"all"`` they do. A
        number with ``select="all_rungs"`` compares means over few splits with means over all:
        one of few is more often far too good.
    cv : int, cross-validation generator or iterable, default=None
        As in GridSearchCV; 5 folds by default.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in GridSearchCV, one row for each candidate and rung, and the columns ``bracket``
        (the paper's s), ``iter`` (the rung), ``n_resources``, ``candidate`` and, with
        several loops, ``loop``.

    Warns
    -----
    UserWarning
        If there is room for one rung only, a grid is smaller than a bracket, a bracket was
        stopped because all scores of a rung were NaN, or a model could not be continued.
    sklearn.exceptions.FitFailedWarning
        If some fits failed.

    See Also
    --------
    sklearn_halving.policies.Hyperband : The policy, usable without scikit-learn.

    Notes
    -----
    With room for one level only (few rows, or ``min_resources`` close to
    ``max_resources``) nothing can be halved: a grid is then searched whole at that level,
    distributions are sampled 10 times.

    References
    ----------
    Li, Jamieson, DeSalvo, Rostamizadeh and Talwalkar. Hyperband: a novel bandit-based
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

    def _make_layout(
        self, policy: ScheduledPolicy, levels: Levels, space: SearchSpace, rows: SplitRows
    ) -> ScheduledLayout:
        schedule = policy.schedule(levels.smallest, levels.largest, space.size)
        return ScheduledLayout(schedule, ranks_by_level=self.select == "max_resources")

    def _warn_of_space(self, prepared: Preparation) -> None:
        schedule = self._schedule(prepared, prepared.space.size)
        warn_of_small_grid(prepared, schedule, wanted=self._schedule(prepared, None))

    @staticmethod
    def _schedule(prepared: Preparation, n_available: int | None) -> Schedule:
        """Return the schedule with so many candidates, None for no end of them."""
        policy, levels = prepared.policy, prepared.levels
        schedule = policy.schedule(levels.smallest, levels.largest, n_available)
        return schedule or Schedule(())

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
