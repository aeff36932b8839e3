"""BayesGapSearchCV with a sampler: BayesGap first, then a race with new candidates."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import loguniform, randint
from sklearn.model_selection import KFold

from search.resuming import Steady
from search.sampling import SPACE, X, Y, sampled
from sklearn_halving.policies import BayesGap, IncumbentRace, Problem, Pull, Pulls
from sklearn_halving.search.candidate_model._gap_then_race import GapThenRace

N_DRAWN = 30
FEW_ARMS = ((2, 6), (30, 121), (1, 6))
"""Ranges of the numbers of drawn arms, of pulls, and of pulls in flight."""
search_of = partial(sampled, "gap then race")


@pytest.mark.parametrize("other", [{"n_fits": 100}, {"n_candidates": 20}, {"fits_in_flight": 2}])
def test_a_checkpoint_is_refused_if_other_candidates_would_arrive(other, tmp_path):
    path = tmp_path / "journal"
    search_of("gaussian_process", checkpoint=path).fit(X, Y)
    with pytest.raises(ValueError, match=f"these settings differ:.*{next(iter(other))}"):
        search_of("gaussian_process", checkpoint=path, **other).fit(X, Y)


@pytest.mark.parametrize("n_pulls", [1, 2, 9, 10, 11, 40, 80, 200])
def test_the_budget_and_the_plan_are_kept(n_pulls):
    search = search_of("gaussian_process", n_fits=n_pulls)
    plan = search.plan(X, Y)
    assert plan["n_fits"].sum() == n_pulls
    search.fit(X, Y)
    assert search.n_fits_ <= n_pulls
    assert search.n_fits_ + search.n_fits_left_ == n_pulls
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
    if n_pulls <= 10:
        assert max(search.cv_results_["candidate"]) < N_DRAWN


def test_the_default_number_of_fits_is_50():
    search = search_of("gaussian_process", n_fits="auto", n_candidates="auto")
    assert search.fit(X, Y).n_fits_ == 50


@pytest.mark.parametrize(("cv", "n_splits"), [(4, 10), (12, 12), (list(KFold(3).split(X)), 3)])
def test_the_winner_has_as_many_splits_as_cv_stands_for(cv, n_splits):
    search = search_of("gaussian_process", cv=cv, n_fits=120).fit(X, Y)
    assert search.cv_results_["n_fits"][search.best_index_] >= n_splits


@pytest.mark.parametrize("n_candidates", [2, 30])
def test_new_candidates_race_on_10_splits_after_a_long_first_part(n_candidates):
    """The first part has 100 fits and may make more than 10 of one candidate."""
    search = search_of("gaussian_process", n_fits=400, n_candidates=n_candidates).fit(X, Y)
    results = search.cv_results_
    has_arrived = np.array(results["candidate"]) >= n_candidates
    assert results["n_fits"][~has_arrived].max() > 10
    assert results["n_fits"][has_arrived].max() == 10
    assert has_arrived.sum() > 40
    counts = search.history_["candidate"].value_counts().sort_index()
    of_table = dict(zip(results["candidate"], results["n_fits"], strict=True))
    assert of_table == counts.to_dict()  # no score is lost


def test_the_races_of_few_arms_end():
    """With few arms, the first part pulls some of them on more splits than the race has."""
    n_long = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n_drawn, n_pulls, in_flight = (int(rng.integers(*ends)) for ends in FEW_ARMS)
        gap = BayesGap(
            min(n_pulls, 30), pulls_in_flight=in_flight, confirm=True, split_variance=0.25
        )
        race = IncumbentRace(n_pulls, pulls_in_flight=in_flight)
        policy = GapThenRace(gap, race, n_drawn)
        problem = Problem(n_drawn + 1 + seed % 7)  # 1 to 7 arms arrive
        state = policy.start(problem, seed=np.random.SeedSequence(seed))
        means = rng.normal(size=problem.n_arms)
        made: list[Pull] = []
        untold: list[Pull] = []
        while not policy.is_finished(state):
            asked = list(policy.ask(state, 1).each())
            made += asked
            untold += asked
            if not asked or len(untold) >= in_flight or rng.random() < 0.2:
                pull = untold.pop(0)
                policy.tell(state, Pulls.of(pull), np.array([means[pull.arm] + rng.normal()]))
        assert not untold
        assert len(made) == len(set(made)) <= n_pulls
        n_long += max(pull.repetition for pull in made) >= race.n_splits
    assert n_long > 15


@pytest.mark.parametrize("n_pulls", [20, 80, 400])
def test_only_candidates_that_can_come_are_planned(n_pulls):
    search = search_of("gaussian_process", n_fits=n_pulls)
    n_of_gap = min(n_pulls, max(10, n_pulls // 4))
    n_planned = N_DRAWN + n_pulls - min(n_of_gap, N_DRAWN)
    assert search.plan(X, Y)["n_candidates"].tolist() == [n_planned]


def test_a_single_drawn_candidate_is_refused(tmp_path):
    log = tmp_path / "log"
    search = search_of("gaussian_process", Steady(log=str(log)), n_candidates=1)
    message = "n_candidates must be at least 2 with sampler='gaussian_process'.*got 1. Set it to 2"
    with pytest.raises(ValueError, match=message):
        search.fit(X, Y)
    assert not log.exists()


class Fixed:
    """Proposes the same candidates each time, and counts the calls."""

    def __init__(self, made):
        self.made = made
        self.n_calls = 0

    def propose(self, told, n, rng):
        self.n_calls += 1
        return self.made


WITH_A_WRONG_NAME = [*[SPACE] * 9, {"value": [0.1, 0.2], "wrong": [1, 2]}]


@pytest.mark.parametrize(
    ("sampler", "space", "message"),
    [
        ("gaussian_process", WITH_A_WRONG_NAME, "Invalid parameter 'wrong'"),
        (Fixed([]), SPACE, "must propose 1 dicts"),
        (Fixed([{"wrong": 1}]), SPACE, "Invalid parameter 'wrong'"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_sampler_that_cannot_propose_is_refused_before_any_fit(
    sampler, space, message, seed, tmp_path
):
    log = tmp_path / "log"
    estimator = Steady(log=str(log))
    search = search_of(sampler, estimator, space, n_candidates=2, random_state=seed)
    with pytest.raises(ValueError, match=message):
        search.fit(X, Y)
    assert not log.exists()


def test_the_trial_leaves_no_trace_in_the_sampler():
    sampler = Fixed([{"value": 0.5}])
    search = search_of(sampler).fit(X, Y)
    n_arrived = sum(candidate >= N_DRAWN for candidate in search.cv_results_["candidate"])
    assert sampler.n_calls == n_arrived


def test_the_certainty_of_candidates_that_arrived():
    """The initial candidates are far below those that the sampler makes."""
    given = [{"value": i / 100} for i in range(N_DRAWN)]
    search = search_of("gaussian_process", initial_candidates=given).fit(X, Y)
    results = search.cv_results_
    has_arrived = np.array(results["candidate"]) >= N_DRAWN
    assert has_arrived.any()
    assert not has_arrived.all()
    assert (results["n_fits"] > 0).all()
    for name in ("posterior_mean", "posterior_sd", "lower_bound", "upper_bound"):
        assert np.isnan(results[name][has_arrived]).all()
        assert np.isfinite(results[name][~has_arrived]).all()
    assert search.best_index_ in np.flatnonzero(has_arrived)
    assert np.nanargmax(results["probability_best"]) in np.flatnonzero(has_arrived)
    assert results["probability_best"][has_arrived].sum() > 0.99
    assert results["probability_best"].sum() == pytest.approx(1)
    assert search.best_probability_ == results["probability_best"][search.best_index_]
    assert search.best_regret_ >= 0
    assert np.isfinite(search.best_corrected_score_)
    assert len(search.regret_bounds_) == 20


def test_the_first_part_is_the_search_without_a_sampler():
    """The fits of a search with as many fits as the first part, in the same order."""
    alone = search_of("random", n_fits=20, fits_in_flight=10).fit(X, Y)
    joint = search_of("gaussian_process", n_fits=80).fit(X, Y)
    pulls = [
        list(zip(search.history_["candidate"], search.history_["split"], strict=True))
        for search in (alone, joint)
    ]
    assert sorted(pulls[0]) == sorted(pulls[1][:20])


def test_candidates_of_a_sampler_are_better_than_those_that_were_drawn():
    best = {
        name: np.mean(
            [
                search_of(name, n_fits=200, random_state=seed).fit(X, Y).best_params_["value"]
                for seed in range(5)
            ]
        )
        for name in ("random", "gaussian_process")
    }
    assert best["gaussian_process"] > best["random"]


def test_an_initial_candidate_outside_of_the_space_wins():
    given = {"value": 1.5}
    search = search_of("gaussian_process", initial_candidates=[given]).fit(X, Y)
    assert search.best_params_ == given
    assert "1 of them initial" in search.summary()


def test_all_initial_candidates_belong_to_the_first_part():
    given = [{"value": 0.9 + i / 50} for i in range(5)]
    search = search_of("gaussian_process", n_candidates=2, initial_candidates=given)
    assert search.plan(X, Y)["n_initial"].sum() == 5
    results = search.fit(X, Y).cv_results_
    is_initial = [params in given for params in results["params"]]
    assert sum(is_initial) > 1
    np.testing.assert_array_equal(~np.isnan(results["posterior_mean"]), is_initial)


class Fragile(Steady):
    """Fails if its value is above a limit."""

    limit = 0.5

    def fit(self, X, y=None):
        if self.value > self.limit:
            raise ArithmeticError("told to fail")
        return super().fit(X, y)


@pytest.mark.filterwarnings("ignore")
def test_candidates_that_fail_do_not_win():
    search = search_of("gaussian_process", Fragile()).fit(X, Y)
    assert 0.3 < search.best_params_["value"] <= 0.5
    results = search.cv_results_
    failed = np.isnan(results["mean_test_score"])
    assert failed.any()
    assert (results["n_fits"][failed] <= 2).all()


@pytest.mark.filterwarnings("ignore")
def test_candidates_come_for_the_fits_that_drawn_candidates_did_not_need():
    """Each of two drawn candidates fails once, which leaves 24 fits of the planned 26."""
    given = [{"value": 0.9}, {"value": 0.8}]
    params = {"n_fits": 26, "n_candidates": 2, "initial_candidates": given}
    search = search_of("gaussian_process", Fragile(), **params)
    assert search.plan(X, Y)["n_candidates"].tolist() == [26]
    results = search.fit(X, Y).cv_results_
    assert len(results["params"]) > 5
    assert results["n_fits"].sum() > 20


def test_the_race_goes_on_if_all_drawn_candidates_failed():
    policy = GapThenRace(BayesGap(10, split_variance=0.25), IncumbentRace(300), 4)
    state = policy.start(Problem(30), seed=np.random.SeedSequence(0))
    pulls: list[Pull] = []
    while not policy.is_finished(state):
        asked = policy.ask(state, 4)
        pulls += asked.each()
        rewards = np.where(asked.arm < 4, np.nan, -abs(asked.arm - 17.0))
        policy.tell(state, asked, rewards)
    assert int(policy.recommend(state)) == 17
    assert len(pulls) == len(set(pulls)) <= 300


def test_arms_that_may_still_be_pulled():
    policy = GapThenRace(BayesGap(5, split_variance=0.25), IncumbentRace(60), 10)
    state = policy.start(Problem(30), seed=np.random.SeedSequence(0))
    may_be_pulled = np.full(30, True)
    while not policy.is_finished(state):
        pulls = policy.ask(state, 4)
        assert may_be_pulled[pulls.arm].all()
        policy.tell(state, pulls, np.random.default_rng(pulls.arm).random(len(pulls)))
        alive = policy.is_alive(state)
        assert not (alive & ~may_be_pulled).any()
        may_be_pulled = alive
    assert may_be_pulled[policy.recommend(state)]


def test_a_space_whose_candidates_the_model_all_knows_is_refused():
    grid = {"value": np.linspace(0, 1, 40).tolist()}
    with pytest.raises(ValueError, match="sampler must be 'random' if the model knows all 40"):
        search_of("gaussian_process", space=grid, n_candidates="auto").fit(X, Y)
    with pytest.raises(ValueError, match="sampler must be 'random' if the model knows all 10"):
        search_of("gaussian_process", space={"value": randint(0, 10)}).fit(X, Y)


def test_a_part_of_a_grid_grows_without_duplicates():
    grid = {"value": np.linspace(0, 1, 60).tolist()}
    search = search_of("gaussian_process", space=grid, n_candidates=10).fit(X, Y)
    values = [params["value"] for params in search.cv_results_["params"]]
    assert len(values) == len(set(values)) > 10
    assert search.best_params_["value"] > 0.9


@pytest.mark.parametrize("acquisition", ["thompson", "ei"])
def test_other_acquisitions_and_kernels(acquisition):
    space = {"value": loguniform(1e-2, 1)}
    search = search_of("gaussian_process", space=space, acquisition=acquisition, kernel="matern")
    assert search.fit(X, Y).best_params_["value"] > 0.8
