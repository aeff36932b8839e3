"""Each search plays the policy that its docstring names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scipy.stats import uniform

from search.common import Noisy, numbered
from sklearn_halving import (
    AdaptiveSearchCV,
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.policies import (
    HOO,
    UCB1,
    BayesGap,
    BudgetedRace,
    GridHalving,
    Hyperband,
    SuccessiveRejects,
    VarianceHalving,
)
from sklearn_halving.samplers import GaussianProcessSampler
from sklearn_halving.search._parameters import check_inputs
from sklearn_halving.search.preparing._candidates import SampledCandidates

DOCS = Path(__file__).parents[2] / "docs"
X, Y = numbered(600)
VALUES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
GRIDS = {
    "grid": {"value": VALUES},
    "list of grids": [{"value": VALUES[:5]}, {"value": VALUES[5:], "noise_sd": [0.0, 0.1]}],
}
DISTRIBUTIONS = {
    "distributions": {"value": uniform(0, 1)},
    "list of distributions": [
        {"value": uniform(0, 0.5)},
        {"value": uniform(0.5, 0.5), "noise_sd": [0.0, 0.1]},
    ],
    "mixed list": [{"value": VALUES}, {"value": uniform(0.5, 0.5), "noise_sd": [0.0, 0.1]}],
}
SPACES = GRIDS | DISTRIBUTIONS
ON_A_GRID, ON_DISTRIBUTIONS = list(GRIDS), list(DISTRIBUTIONS)
ANYWHERE = list(SPACES)
FITS, TIME, BOTH = {"n_fits": 40}, {"time_budget": "1h"}, {"n_fits": 40, "time_budget": "1h"}


def prepared(search):
    """Return what a search knows before its first fit, which `plan` shows a part of."""
    return search._prepare(check_inputs(search, X, Y, {}))


PLAYS = [
    (AdaptiveSearchCV, {}, ON_A_GRID, GridHalving, {}),
    (AdaptiveSearchCV, {}, ON_DISTRIBUTIONS, BudgetedRace, {"n_pulls": 50}),
    (AdaptiveSearchCV, FITS, ANYWHERE, BudgetedRace, {"n_pulls": 40}),
    (AdaptiveSearchCV, TIME, ANYWHERE, BudgetedRace, {"n_pulls": None}),
    (AdaptiveSearchCV, BOTH, ANYWHERE, BudgetedRace, {"n_pulls": 40}),
    (HyperbandSearchCV, {}, ON_A_GRID, GridHalving, {}),
    (HyperbandSearchCV, TIME, ON_A_GRID, GridHalving, {}),
    (HyperbandSearchCV, {"brackets": "all"}, ANYWHERE, Hyperband, {"brackets": "all"}),
    (HyperbandSearchCV, {}, ON_DISTRIBUTIONS, Hyperband, {"brackets": "all", "n_loops": 1}),
    (HyperbandSearchCV, {"n_loops": 2}, ON_DISTRIBUTIONS, Hyperband, {"n_loops": 2}),
    (VarianceHalvingSearchCV, {}, ANYWHERE, VarianceHalving, {}),
    (VarianceHalvingSearchCV, FITS, ANYWHERE, VarianceHalving, {"n_pulls": 40}),
    (VarianceHalvingSearchCV, TIME, ANYWHERE, VarianceHalving, {}),
    (BayesGapSearchCV, {}, ANYWHERE, BayesGap, {}),
    (BayesGapSearchCV, FITS, ANYWHERE, BayesGap, {"n_pulls": 40}),
    (BayesGapSearchCV, TIME, ANYWHERE, BayesGap, {}),
    (BanditSearchCV, {}, ANYWHERE, SuccessiveRejects, {}),
    (BanditSearchCV, FITS, ANYWHERE, SuccessiveRejects, {"n_pulls": 40}),
    (BanditSearchCV, TIME, ANYWHERE, SuccessiveRejects, {}),
    (BanditSearchCV, {"policy": "budgeted_race"}, ANYWHERE, BudgetedRace, {"n_pulls": 50}),
]


@pytest.mark.parametrize(
    ("search_class", "params", "space", "policy_class", "fields"),
    [(*play[:2], space, *play[3:]) for play in PLAYS for space in play[2]],
)
def test_the_policy_that_is_played_is_the_one_of_the_docstring(
    search_class, params, space, policy_class, fields
):
    known = prepared(search_class(Noisy(), SPACES[space], random_state=0, **params))
    assert type(known.policy) is policy_class
    assert {name: getattr(known.policy, name) for name in fields} == fields
    # Candidates are created during the search by a race, and are drawn before all other plays.
    creates = policy_class is BudgetedRace
    assert isinstance(known.candidates, SampledCandidates) == creates
    assert isinstance(known.setup.sampler, GaussianProcessSampler) == creates
    text, name = " ".join(search_class.__doc__.split()), policy_class.__name__
    if (search_class, policy_class) == (HyperbandSearchCV, GridHalving):
        assert "Over a **grid**, it is a single bracket" in text
    elif search_class is not BanditSearchCV:  # has a parameter for it
        assert re.search(rf"policies\.{name}`|policy={name}\(", text)


def stages_of(allocation, n_fits=312):
    """Return the numbers of fits of each candidate in each stage, all of them equally good."""
    search = VarianceHalvingSearchCV(
        Noisy(noise_sd=0.1),
        {"value": [i * 1e-6 for i in range(8)]},
        allocation=allocation,
        n_fits=n_fits,
        random_state=0,
    )
    return search.fit(X, Y).history_.groupby("stage")["candidate"].value_counts()


@pytest.mark.parametrize("allocation", ["ucb", "pooled", "uniform"])
def test_allocations_of_the_paper_play_its_algorithm(allocation):
    """Algorithm 1: the budget is divided by the stages, and each halves the candidates in play."""
    stages = stages_of(allocation)
    fitted = [set(stages[stage].index) for stage in range(3)]
    assert [len(each) for each in fitted] == [8, 4, 2]
    assert fitted[0] > fitted[1] > fitted[2], "nobody returns"
    assert [stages[stage].sum() for stage in range(3)] == [104, 104, 104]
    is_even = [stages[stage].max() - stages[stage].min() <= 1 for stage in range(3)]
    assert all(is_even) == (allocation == "uniform")


def test_the_default_allocation_is_not_that_of_the_paper_and_says_so():
    stages = stages_of("likelihood", n_fits=80)
    assert [len(stages[stage]) for stage in range(3)] != [8, 4, 2]
    assert stages[0].sum() > 80 / 2, "and not a third of the budget"
    for text in (VarianceHalvingSearchCV.__doc__, (DOCS / "variance_halving.md").read_text()):
        assert re.search("likelihood.* is (not that of the paper|ours)", text[:1500])


@pytest.mark.parametrize("space", ON_DISTRIBUTIONS)
def test_hyperband_plays_loops_until_the_time_is_over(space):
    known = prepared(HyperbandSearchCV(Noisy(), SPACES[space], time_budget="1h", random_state=0))
    once = prepared(HyperbandSearchCV(Noisy(), SPACES[space], random_state=0))
    assert type(known.policy) is Hyperband
    assert known.policy.n_loops > 1000
    loop = known.plan.brackets[: len(once.plan.brackets)]
    assert loop == once.plan.brackets, "each loop is Algorithm 1"


@pytest.mark.parametrize("policy", [HOO(20), VarianceHalving(20), UCB1(20)])
def test_what_a_policy_leaves_open_stays_open_and_the_problem_has_what_is_known(policy):
    """None has a meaning of its own: of `HOO.n_splits`, it is no limit."""
    known = prepared(BanditSearchCV(Noisy(), SPACES["distributions"], policy=policy, cv=3))
    assert known.policy == policy
    assert (known.plan.problem.reward_range, known.plan.problem.overlap) == ((0, 1), 0.5)
