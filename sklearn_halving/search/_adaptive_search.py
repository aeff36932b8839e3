"""Base class of the searches whose policies decide after each fit which candidate is next."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from sklearn_halving._typing import Candidates, CvResults
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.resources import Resource, WholeFit
from sklearn_halving.search._base_search import BaseBanditSearchCV
from sklearn_halving.search._formatting import counted
from sklearn_halving.search._run import Run
from sklearn_halving.search._search_results import ResultTable
from sklearn_halving.search._shared_parameters import PositiveInt
from sklearn_halving.search.preparing._inputs import FitInputs
from sklearn_halving.search.preparing._preparation import Preparation, Setup
from sklearn_halving.search.preparing._search_space import check_number
from sklearn_halving.search.preparing._splitting import SearchSplits, streamed_splits
from sklearn_halving.search.reporting._statistics import (
    ChoiceStatistics,
    Overlap,
    add_standard_errors,
)
from sklearn_halving.search.reporting._tables import ResultRows, make_cv_results, ranks

N_OF_DISTRIBUTIONS = 10
"""Default number of candidates that are drawn from distributions: the default ``n_iter`` of
RandomizedSearchCV."""
PULLS_OF_GRID_SEARCH = 5
"""Number of fits of a candidate in GridSearchCV with its default cv."""
N_SAMPLED = N_OF_DISTRIBUTIONS * PULLS_OF_GRID_SEARCH
"""Default number of fits if candidates are created during the search."""


class AdaptiveSearchCV(BaseBanditSearchCV):
    """Base class of searches with an unlimited number of splits and one row for each candidate.

    Parameters
    ----------
    resource : str, Resource or None, default=None
        Resource that is varied in addition to the number of splits; see HyperbandSearchCV for the
        possible values. With None, every fit uses the whole training fold and the estimator as
        it is.
    max_resources : "auto", float or str, default="auto"
        Largest resource of a fit. ``"auto"`` is the size of the smallest training fold, or the
        value of the parameter in ``estimator``.

    Attributes
    ----------
    best_probability_ : float
        Probability that the chosen candidate is the best one. NaN, like the next two attributes,
        if too few splits were repeated to estimate the noise of the scores.
    best_regret_ : float
        Expected difference between the score of the best candidate and that of the chosen one.
    best_corrected_score_ : float
        Mean test score of the chosen candidate, corrected for the selection: the largest of many
        noisy means is too large on average.
    n_pulls_left_ : int
        Number of fits, out of ``n_pulls``, that were not used: because the search stopped early,
        because there were no splits left, or because the stages do not divide the budget evenly.
    """

    best_probability_: float
    best_regret_: float
    best_corrected_score_: float
    n_pulls_left_: int | None

    n_candidates: str | int
    n_pulls: Literal["auto"] | PositiveInt
    resource: Annotated[str | Resource, object] | None

    def _least_n_pulls(self, n_arms: int) -> int:
        """Return the smallest budget with which the policy can run."""
        return n_arms

    def _resolve_resource(self) -> Resource:
        if self.resource is not None:
            return super()._resolve_resource()
        for name in ("min_resources", "max_resources"):
            if getattr(self, name, None) not in (None, "auto"):
                raise ValueError(
                    f"{name}={getattr(self, name)} must come with a resource; got resource=None, "
                    "with which all fits have the same size. Set resource, for example to "
                    f"'n_samples', or leave {name} out."
                )
        return WholeFit()

    def _make_splits(
        self, inputs: FitInputs, resource: Resource, seed: np.random.SeedSequence
    ) -> SearchSplits:
        return streamed_splits(self, inputs, resource, seed)

    @property
    def _pulls_of_a_drawn(self) -> int:
        """Number of fits in ``n_pulls`` for which one candidate is drawn from distributions."""
        return PULLS_OF_GRID_SEARCH

    def _count_candidates(self, setup: Setup) -> int:
        """Return the number of candidates, or the maximum number if a sampler creates them."""
        space = setup.space
        if setup.sampler is not None and isinstance(self.n_candidates, str):
            n_pulls = self._count_pulls(1, setup)
            return min(n_pulls, space.size or n_pulls)
        if not isinstance(self.n_candidates, str):
            return min(int(self.n_candidates), space.size or int(self.n_candidates))
        if space.is_grid and space.size is not None:
            if isinstance(self.n_pulls, str):
                check_number(space.size)  # otherwise the policy compares it with its budget
            return space.size
        n_arms = N_OF_DISTRIBUTIONS
        if not isinstance(self.n_pulls, str):
            n_arms = max(1, int(self.n_pulls) // self._pulls_of_a_drawn)
            while n_arms > 1 and self._least_n_pulls(n_arms) > self.n_pulls:
                n_arms -= 1
        n_arms = max(n_arms, len(space.initial))
        return min(n_arms, space.size or n_arms)

    def _warn_of_candidates(self, prepared: Preparation, candidates: Candidates) -> None:
        setup, wanted = prepared.setup, self.n_candidates
        size = setup.space.size
        if setup.sampler is None and not isinstance(wanted, str) and (size or wanted) < wanted:
            warn_user(
                f"There are only {size} candidates, fewer than n_candidates={wanted}: all of them "
                "are tried."
            )
        if setup.sampler is None or size is None:
            return
        n_pulls = self._count_pulls(size, setup)
        if size * PULLS_OF_GRID_SEARCH <= n_pulls:
            warn_user(
                f"There are only {size} candidates, and {n_pulls} fits are enough to compare all "
                "of them: a sampler has nothing to choose from. Use sampler='random'."
            )

    def _count_pulls(self, n_arms: int, setup: Setup) -> int:
        """Return the budget."""
        if not isinstance(self.n_pulls, str):
            return int(self.n_pulls)
        if setup.sampler is not None:
            return N_SAMPLED
        n_each = min(PULLS_OF_GRID_SEARCH, setup.splits.n_repetitions or PULLS_OF_GRID_SEARCH)
        return max(n_each * n_arms, self._least_n_pulls(n_arms))

    def _check_splits(self, n_arms: int, splits: SearchSplits, n_levels: int = 1) -> None:
        """Raise if there are not enough splits for the number of fits."""
        if splits.n_repetitions is None or isinstance(self.n_pulls, str):
            return
        most = max(n_arms * splits.n_repetitions * n_levels, self._least_n_pulls(n_arms))
        if self.n_pulls > most:
            raise ValueError(
                f"n_pulls={self.n_pulls} is too large for {counted(n_arms, 'candidate')} on the "
                f"{counted(splits.n_repetitions, 'split')} of cv: at most {most} fits are "
                "possible. Use n_pulls='auto', or a cv that can be reshuffled, such as a number "
                "of folds."
            )

    def _results_with_errors(self, run: Run, rows: ResultRows) -> tuple[CvResults, Overlap]:
        """Return the columns with standard errors, and the overlap of the splits."""
        outcomes = run.outcomes
        results = make_cv_results(run.task, outcomes, rows, run.comparable_means(rows))
        overlap = Overlap.of(outcomes, run.prepared.setup.splits.n_rows)
        add_standard_errors(results, overlap)
        return results, overlap

    def _make_results(self, run: Run, rows: ResultRows) -> ResultTable:
        (results, overlap), metric = self._results_with_errors(run, rows), run.metric
        statistics = ChoiceStatistics.of(results, metric, rows.level, overlap)
        results["probability_best"] = statistics.probability_best()
        is_winner = rows.arm == run.best_arm
        if (results[f"rank_test_{metric}"][is_winner] != 1).any():
            # The policy may choose another candidate, for example if it ignores earlier stages.
            of_all = results[f"mean_test_{metric}"]
            results[f"rank_test_{metric}"] = ranks(of_all, rows.rank_group + is_winner)
        return ResultTable(results, statistics)

    def _choose(self, run: Run) -> None:
        super()._choose(run)
        if hasattr(self, "best_index_") and "probability_best" in self.cv_results_:
            best = int(self.best_index_)
            self.best_probability_ = float(self.cv_results_["probability_best"][best])
            self.best_regret_ = self._statistics.regret(best)
            self.best_corrected_score_ = self._statistics.corrected_score(best)
            if np.isnan(self.cv_results_[f"mean_test_{run.metric}"]).all():  # there is no score
                self.best_probability_ = self.best_regret_ = self.best_corrected_score_ = np.nan
