"""BayesGapSearchCV: few fits for many candidates, what is reported, kernels, determinism."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from joblib import parallel_backend
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.model_selection import ParameterGrid, PredefinedSplit
from sklearn.tree import DecisionTreeClassifier

from search.common import FITS, Constant, Known, Recording, data, numbered
from sklearn_halving import BanditSearchCV, BayesGapSearchCV, RepeatedLearningTesting
from sklearn_halving.policies import AdaptiveUGapEb, BayesGap
from sklearn_halving.search import candidate_covariance, candidate_features

GRID = {"a": np.logspace(-3, 3, 8), "b": [0, 1, 2, 3, 4], "c": ["x", "y", "z", "w"]}
"""160 candidates."""


class Surface(Constant):
    """Scores a smooth function of its parameters, plus a split's worth, plus noise."""

    def __init__(self, a=1.0, b=0.0, c="x", noise=0.0, fails_above=np.inf):
        self.a = a
        self.b = b
        self.c = c
        self.noise = noise
        self.fails_above = fails_above

    def fit(self, X, y=None):
        if self.a > self.fails_above:
            raise ArithmeticError("told to fail")
        return super().fit(X, y)

    def score(self, X, y=None):
        rows = [int(row) for row in X[:, 0]]
        of_split = np.random.default_rng(rows).normal()
        own = np.random.default_rng([*rows, *map(ord, f"{self.a}{self.b}{self.c}")]).normal()
        return value_of(self) + 2 * self.noise * of_split + self.noise * own


def value_of(params):
    """Return the score without noise: between 0 and 1."""
    if isinstance(params, dict):
        params = Surface(**params)
    distance = (np.log10(params.a) - 1) ** 2 / 4 + (params.b - 3) ** 2 / 8
    return {"x": 0.8, "y": 1.0, "z": 0.6, "w": 0.7}[params.c] * float(np.exp(-distance))


def surface_search(grid=GRID, noise=0.0, **params):
    params = {"random_state": 0, "n_fits": 30} | params
    return BayesGapSearchCV(Surface(noise=noise), grid, **params)


def bandit_search(policy, grid=GRID, noise=0.0, **params):
    return BanditSearchCV(Surface(noise=noise), grid, policy=policy, random_state=0, **params)


def gap_search(covariance, grid=GRID, noise=0.0, n_fits=30, **fields):
    """Return a search by a policy with a covariance of one's own, for a whole grid."""
    fields = {"split_variance": 0.25, "confirm": True} | fields
    return bandit_search(BayesGap(n_fits, covariance=covariance, **fields), grid, noise)


def column(search, name):
    return search.cv_results_[name]


def table(search):
    """Return what two equal searches have in common."""
    kept = {k: str(v) for k, v in search.cv_results_.items() if not k.endswith("_time")}
    return (
        kept,
        sorted(pulls_of(search)),
        search.best_params_,
        search.best_score_,
        search.regret_bounds_.tolist(),
    )


def pulls_of(search):
    """Return candidate, split and score, in the order in which they came back."""
    return search.history_[["candidate", "split", "test_score"]].to_numpy().tolist()


# ------------------------------------------------------------------------------ the choice


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern"])
def test_twenty_fits_for_160_candidates_beat_random_search(kernel):
    X, y = numbered(60)
    values = np.array([value_of(params) for params in ParameterGrid(GRID)])
    rng = np.random.default_rng(0)
    ours, random = [], []
    for seed in range(12):
        search = surface_search(noise=0.03, n_fits=20, kernel=kernel, random_state=seed)
        search.set_params(refit=False).fit(X, y)
        ours.append(values.max() - value_of(search.best_params_))
        drawn = rng.choice(160, 20, replace=False)
        random.append(values.max() - values[drawn].max())  # even if it knew the values
    assert np.mean(random) > 0.1
    assert np.mean(ours) < 0.4 * np.mean(random)
    assert np.median(ours) <= 0.02


@pytest.mark.parametrize(
    "acquisition", ["bayesgap", "thompson", "bayes_ucb", "gp_ucb", "ei", "pi"]
)
def test_every_acquisition_plays_its_budget(acquisition):
    X, y = numbered(60)
    search = surface_search(acquisition=acquisition, n_fits=25, noise=0.02).fit(X, y)
    assert search.n_fits_ == column(search, "n_fits").sum() == 25
    assert len(search.regret_bounds_) == (25 if acquisition == "bayesgap" else 0)
    assert value_of(search.best_params_) > 0.5


@pytest.mark.parametrize(("bounds", "n_first"), [("hoeffding", 1), ("bernstein", 2)])
def test_ugap_takes_candidates_for_independent(bounds, n_first):
    tree, grid = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3, 4]}
    policy = AdaptiveUGapEb(20, epsilon=0.01, bounds=bounds)
    search = BanditSearchCV(tree, grid, policy=policy, random_state=0).fit(*data())
    n_fits, rank = column(search, "n_fits"), column(search, "rank_test_score")
    assert search.n_fits_ == n_fits.sum() == 20
    assert n_fits.min() >= n_first
    assert rank[search.best_index_] == 1
    assert column(search, "probability_best").sum() == pytest.approx(1)
    assert "posterior_mean" not in search.cv_results_


def test_ugap_knows_the_range_of_the_metric_that_steers():
    tree, grid = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]}
    several = {"acc": "accuracy", "loss": "neg_log_loss"}
    for scoring, metric in (
        (["accuracy", "balanced_accuracy"], "accuracy"),
        (("neg_log_loss", "accuracy"), "accuracy"),
        (several, "acc"),
    ):
        params = {"policy": "adaptive_ugap_eb", "scoring": scoring, "random_state": 0}
        search = BanditSearchCV(tree, grid, refit=metric, **params).fit(*data())
        assert search.n_fits_ == 10
        assert column(search, f"rank_test_{metric}")[search.best_index_] == 1
    for scoring, metric in (
        (several, "loss"),
        (["neg_log_loss", "accuracy"], False),
        ("r2", True),
    ):
        search.set_params(scoring=scoring, refit=metric)
        with pytest.raises(ValueError, match="needs rewards of a known range"):
            search.fit(*data())


def test_ugap_says_if_the_range_was_none():
    search = bandit_search("adaptive_ugap_eb", {"b": [0, 3, 4]}, noise=1.0)
    with pytest.warns(UserWarning, match=r"scores are outside reward_range=\(0.0, 1.0\)"):
        search.fit(*numbered(60))


def test_ugap_fits_every_candidate():
    search = bandit_search("adaptive_ugap_eb", n_fits=159)
    search.estimator.set_params(fails_above=-np.inf)  # a fit would raise another error
    message = "n_pulls=159 is too small to pull each of 160 candidates 1 times"
    with pytest.raises(ValueError, match=message):
        search.fit(*numbered(60))


BRANCHES = [{"c": ["x"], "a": GRID["a"]}, {"c": ["y"], "b": [0, 1, 2, 3, 4]}]


def sd_by_branch(search):
    """Return the deviations of the branch with the one fit, and of the other."""
    search.fit(*numbered(60))
    sd, fitted = column(search, "posterior_sd"), column(search, "n_fits") > 0
    first = np.arange(13) < 8
    in_branch = first if first[fitted].all() else ~first
    return sd[in_branch], sd[~in_branch]


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern"])
def test_a_branch_says_nothing_of_another(kernel):
    own, other = sd_by_branch(surface_search(BRANCHES, n_fits=1, kernel=kernel))
    assert other == pytest.approx(np.full(len(other), other[0]))
    assert own.max() < other[0]


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern"])
def test_a_branch_says_a_little_of_another_if_it_may(kernel):
    candidates = list(ParameterGrid(BRANCHES))
    none, a_little, much = (
        sd_by_branch(
            gap_search(candidate_covariance(candidates, BRANCHES, kernel, share), BRANCHES, 0.0, 1)
        )
        for share in (0.0, 0.3, 0.9)
    )
    np.testing.assert_array_equal(none[0], a_little[0])
    assert a_little[1].min() < 0.999 * none[1][0]
    assert much[1].min() < a_little[1].min()
    assert much[0].min() < much[1].min()


# ------------------------------------------------------------------------------- the table


def test_the_table():
    X, y = numbered(60)
    search = surface_search(noise=0.05).fit(X, y)
    n_pulls, mean = column(search, "n_fits"), column(search, "mean_test_score")
    assert len(n_pulls) == 160
    assert (n_pulls == 0).sum() > 10
    assert n_pulls.sum() == 30 == search.n_fits_
    assert search.n_fits_left_ == 0
    np.testing.assert_array_equal(np.isnan(mean), n_pulls == 0)
    np.testing.assert_array_equal(np.isnan(column(search, "split0_test_score")), n_pulls == 0)
    posterior, sd = column(search, "posterior_mean"), column(search, "posterior_sd")
    assert np.isfinite(posterior).all()
    assert (sd > 0).all()
    assert sd[n_pulls > 0].mean() < sd[n_pulls == 0].mean()
    lower, upper = column(search, "lower_bound"), column(search, "upper_bound")
    np.testing.assert_allclose((lower + upper) / 2, posterior)
    width = (upper - posterior) / sd
    np.testing.assert_allclose(width, width[0])
    assert width[0] > 1
    rank = column(search, "rank_test_score")
    assert rank[search.best_index_] == 1
    assert (posterior[np.argsort(rank)] == np.sort(posterior)[::-1]).all()
    assert search.best_corrected_score_ == posterior[search.best_index_] == posterior.max()
    assert not hasattr(search, "best_probability_")  # of the scores, not of the model
    assert "probability_best" not in search.cv_results_
    assert (search.regret_bounds_ > 0).all()
    assert search.regret_bounds_.shape == (30,)
    for j in range(search.n_splits_):  # every candidate's j-th fit is on split j
        assert (n_pulls[~np.isnan(column(search, f"split{j}_test_score"))] > j).all()


@pytest.mark.walk
@pytest.mark.parametrize("n_pulls", [1, 2, 3, 5, 8, 30])
@pytest.mark.parametrize("pulls_in_flight", [1, 4])
def test_the_winner_was_fitted(n_pulls, pulls_in_flight):
    X, y = numbered(60)
    for seed in range(4):
        search = surface_search(
            n_fits=n_pulls,
            random_state=seed,
            noise=0.1 * (seed % 2),
            fits_in_flight=pulls_in_flight,
        ).fit(X, y)
        assert search.n_fits_ == column(search, "n_fits").sum() == n_pulls
        best = search.best_index_
        assert column(search, "n_fits")[best] > 0
        assert search.best_score_ == column(search, "mean_test_score")[best]
        assert np.isfinite(search.best_score_)
        assert column(search, "rank_test_score")[best] == 1


def test_the_last_fits_confirm_the_winner():
    """The winner has as many fits as the candidates that look nearly as good."""
    X, y = numbered(60)
    n_confirmed = 0
    for seed in range(10):
        search = surface_search(n_fits=40, random_state=seed, noise=0.1, fits_in_flight=1)
        search.fit(X, y)
        mean, deviation = (column(search, f"posterior_{name}") for name in ("mean", "sd"))
        n_pulls, best = column(search, "n_fits"), search.best_index_
        n_confirmed += n_pulls[best] >= n_pulls[mean + deviation >= mean[best]].max()
    assert n_confirmed >= 8


def test_several_metrics_are_ranked_each_by_its_own():
    X, y = numbered(60)

    def scores(estimator, X, y):
        value = estimator.score(X, y)
        return {"good": value, "bad": -value}

    search = surface_search(scoring=scores, refit="good").fit(X, y)
    bad, fitted = column(search, "rank_test_bad"), column(search, "n_fits") > 0
    assert column(search, "rank_test_good")[search.best_index_] == 1
    assert fitted[bad == 1].all()
    assert set(bad[~fitted]) == {fitted.sum() + 1}


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_candidates_that_fail_rank_last():
    X, y = numbered(60)
    search = surface_search()
    search.estimator.set_params(fails_above=200)
    with pytest.warns(FitFailedWarning, match="told to fail"):
        search.fit(X, y)
    failed = (column(search, "n_fits") > 0) & np.isnan(column(search, "mean_test_score"))
    rank = column(search, "rank_test_score")
    assert 0 < failed.sum() <= 8  # of 30: the corner of 40 candidates in which all fail is left
    assert set(rank[failed]) == {160 - failed.sum() + 1}
    assert rank[~failed].max() <= 160 - failed.sum()
    assert value_of(search.best_params_) > 0.5


def test_if_all_fits_fail_it_says_so():
    X, y = numbered(60)
    search = surface_search(n_fits=5)
    search.estimator.set_params(fails_above=0)
    with pytest.raises(ValueError, match=r"All the 5 fits failed\.\n(.|\n)*told to fail"):
        search.fit(X, y)


def test_bounds_of_the_regret_hold_and_shrink():
    X, y = numbered(60)
    search = surface_search(noise=0.02, n_fits=40).fit(X, y)
    regret = max(map(value_of, ParameterGrid(GRID))) - value_of(search.best_params_)
    assert regret <= search.regret_bounds_[-1] < 0.5 * search.regret_bounds_[0]


# -------------------------------------------------------------------- budgets and candidates


@pytest.mark.parametrize(
    ("n_candidates", "n_pulls"), [(1, 5), (3, 15), (4, 20), (80, 20), (160, 40), (1000, 100)]
)
def test_default_budget(n_candidates, n_pulls):
    search = BayesGapSearchCV(Known(), {"value": np.linspace(0, 1, n_candidates)})
    plan = search.plan(*data())
    assert plan[["n_candidates", "n_fits"]].to_numpy().tolist() == [[n_candidates, n_pulls]]


def test_a_budget_of_one():
    search = surface_search(n_fits=1).fit(*numbered(60))
    assert search.n_fits_ == 1
    assert search.best_index_ == np.flatnonzero(column(search, "n_fits"))[0]


def test_a_single_candidate():
    search = BayesGapSearchCV(Known(), {"value": [0.3]}, cv=3).fit(*data())
    assert search.n_fits_ == 5
    assert search.best_score_ == search.best_corrected_score_ == pytest.approx(0.3)
    assert search.best_probability_ == 1
    assert search.best_regret_ == 0


def test_distributions_are_sampled_evenly():
    X, y = numbered(60)
    space = {"a": loguniform(1e-3, 1e3), "b": uniform(0, 4), "c": ["x", "y"]}
    search = surface_search(space, n_fits=5, sampler="random").fit(X, y)
    assert len(column(search, "params")) == 100
    logs = np.log10(np.array(column(search, "param_a"), dtype=float))
    counts = np.histogram(logs, 10, (-3, 3))[0]
    assert np.ptp(counts) <= 4  # of independent draws it would be about 9
    fewer = clone(search).set_params(n_candidates=30).fit(X, y)
    assert len(column(fewer, "params")) == 30
    other = clone(search).set_params(random_state=1).fit(X, y)
    assert column(other, "params") != column(search, "params")


def test_discrete_distributions_with_few_values_are_used_whole():
    tree = DecisionTreeClassifier(random_state=0)
    depths = {"max_depth": randint(1, 9)}
    search = BayesGapSearchCV(tree, depths, n_fits=6, sampler="random", random_state=0)
    assert [p["max_depth"] for p in search.fit(*data()).cv_results_["params"]] == [*range(1, 9)]


def test_part_of_a_grid():
    search = surface_search(n_candidates=20, n_fits=5).fit(*numbered(60))
    params = column(search, "params")
    assert len(params) == len({str(p) for p in params}) == 20
    with pytest.warns(UserWarning, match="only 160 candidates"):
        surface_search(n_candidates=200, n_fits=5).fit(*numbered(60))


def test_splits_of_the_paper():
    X, y = numbered(200)
    cv = RepeatedLearningTesting(train_size=0.1, test_size=0.1)
    search = surface_search(cv=cv, n_fits=10).fit(X, y)
    assert set(search.history_["n_train"]) == set(search.history_["n_test"]) == {20}


def test_splits_that_come_to_an_end():
    X, y = numbered(60)
    cv = PredefinedSplit(np.arange(60) % 2)
    search = surface_search({"b": [2, 3, 4]}, cv=cv, n_fits="auto").fit(X, y)
    assert column(search, "n_fits").tolist() == [2, 2, 2]
    assert search.n_fits_left_ == 0
    assert search.plan(X, y)["n_fits"].tolist() == [6]
    with pytest.raises(ValueError, match="n_fits=7 is too large for"):
        surface_search({"b": [2, 3, 4]}, cv=cv, n_fits=7).fit(X, y)


@pytest.mark.parametrize(
    ("n_splits", "bounds"), [(1, "hoeffding"), (1, "bernstein"), (2, "bernstein")]
)
def test_ugap_ends_with_the_splits(n_splits, bounds):
    cv = PredefinedSplit(np.arange(60) % (n_splits + 1) - 1)
    policy = AdaptiveUGapEb(20, bounds=bounds)
    search = bandit_search(policy, {"b": [2, 3, 4]}, cv=cv).fit(*numbered(60))
    assert column(search, "n_fits").tolist() == [n_splits] * 3
    assert search.best_params_ == {"b": 3}


def test_every_fit_is_at_max_resources():
    X, y = numbered(100)
    FITS.clear()
    search = BayesGapSearchCV(
        Recording(),
        {"value": [0.1, 0.2, 0.3, 0.4]},
        n_fits=6,
        resource="n_samples",
        max_resources=30,
        random_state=0,
    ).fit(X, y)
    assert [len(rows) for rows in FITS.rows] == [30] * 6 + [100]
    assert set(column(search, "n_resources")) == {30}
    with pytest.raises(ValueError, match=r"max_resources=30 must come with a resource"):
        clone(search).set_params(resource=None).fit(X, y)


# --------------------------------------------------------------------------------- kernels


def line_covariance(length):
    x = np.arange(160)
    return np.exp(-0.5 * ((x[:, np.newaxis] - x) / length) ** 2)


FEATURES = candidate_features(list(ParameterGrid(GRID)), GRID)


@pytest.mark.walk
@pytest.mark.parametrize(
    "covariance",
    [
        RBF(0.3)(FEATURES),
        (2.0 * Matern(0.5, nu=1.5))(FEATURES),
        line_covariance(20),
        line_covariance(20).tolist(),
    ],
    ids=["rbf", "matern", "array", "list"],
)
@pytest.mark.parametrize("noise", [0.25, 0.1])
def test_covariances(covariance, noise):
    search = gap_search(covariance, noise=0.01, noise_variance=noise).fit(*numbered(60))
    assert search.n_fits_ == 30
    assert value_of(search.best_params_) > 0.4
    assert np.isfinite(column(search, "posterior_mean")).all()


def test_a_covariance_of_ones_own_decides_what_a_fit_says():
    X, y = numbered(60)
    groups = np.arange(160) % 4
    covariance = (groups[:, np.newaxis] == groups) + 0.001 * np.eye(160)
    search = gap_search(covariance, n_fits=1).fit(X, y)
    (fitted,) = np.flatnonzero(column(search, "n_fits"))
    sd = column(search, "posterior_sd")
    assert sd[groups == groups[fitted]].max() < 0.9 * sd[groups != groups[fitted]].min()
    # It says just as much in other units, as the scale of scores is estimated.
    variances = {"noise_variance": 25.0, "split_variance": 25.0}
    once, again = gap_search(covariance).fit(X, y), gap_search(100 * covariance, **variances)
    again.fit(X, y)
    assert column(once, "n_fits").tolist() == column(again, "n_fits").tolist()
    np.testing.assert_allclose(column(once, "posterior_sd"), column(again, "posterior_sd"))


def test_a_white_covariance_gives_every_candidate_a_fit():
    search = gap_search(np.eye(8), {"a": GRID["a"]}, n_fits=8).fit(*numbered(60))
    assert column(search, "n_fits").tolist() == [1] * 8


@pytest.mark.parametrize(
    ("covariance", "grid", "message"),
    [
        (np.eye(3), GRID, r"covariance must have shape \(160, 160\).*got \(3, 3\)"),
        (np.eye(2), {"b": [3]}, r"covariance must have shape \(1, 1\).*got \(2, 2\)"),
        (FEATURES, GRID, r"covariance must have shape \(160, 160\).*got \(160, 6\)"),
        (line_covariance(20) - 0.9, GRID, "covariance must be positive semi-definite"),
        (-FEATURES @ FEATURES.T, GRID, r"diagonal of covariance must be .*not negative"),
        (np.ones(160), GRID, r"shape \(160, 160\).*got \(160,\)"),
        (np.diag([np.nan, *[1.0] * 159]), GRID, "must be finite.* 1 of 25600 entries"),
        (np.eye(160) + np.triu(np.ones((160, 160)), 1), GRID, "symmetric, .* differ by 1"),
        (np.zeros((160, 160)), GRID, "diagonal of covariance must be .*not all 0"),
    ],
)
def test_what_is_no_covariance_is_refused_before_any_fit(covariance, grid, message):
    search = gap_search(covariance, grid)
    search.estimator.set_params(fails_above=-np.inf)  # a fit would raise another error
    with pytest.raises(ValueError, match=message):
        search.fit(*numbered(60))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": "cubic"}, "'kernel' parameter of BayesGapSearchCV must be"),
        ({"n_fits": 0}, "'n_fits' parameter of BayesGapSearchCV must be"),
        ({"n_candidates": 0}, "'n_candidates' parameter of BayesGapSearchCV must be"),
        ({"beta": 0}, "'beta' parameter of BayesGapSearchCV must be"),
        ({"beta": "wide"}, "'beta' parameter of BayesGapSearchCV must be"),
        ({"acquisition": "ucb"}, "'acquisition' parameter of BayesGapSearchCV must be"),
        ({"fits_in_flight": 0}, "'fits_in_flight' parameter of BayesGapSearchCV must be"),
        ({"grid": {"a": [[0, 1], [(n for n in "ab")]]}}, "in candidate 1. Use"),
    ],
)
def test_bad_input_is_refused_before_any_fit(params, message):
    X, y = numbered(60)
    space = params.get("grid")
    params = {name: value for name, value in params.items() if name != "grid"}
    search = surface_search(space or GRID).set_params(**params)
    search.estimator.set_params(fails_above=-np.inf)  # a fit would raise another error
    with pytest.raises(ValueError, match=message):
        search.fit(X, y)


# ----------------------------------------------------------------------------- reproducibility


@pytest.fixture(scope="module")
def expected():
    """Return the serial results, for each number of fits that are under way at a time."""
    X, y = numbered(60)
    windows = (1, 4, "auto")
    return {n: table(surface_search(noise=0.05, fits_in_flight=n).fit(X, y)) for n in windows}


@pytest.mark.walk
@pytest.mark.parametrize("pulls_in_flight", [1, 4, "auto"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_result_does_not_depend_on_the_workers(pulls_in_flight, n_jobs, backend, expected):
    X, y = numbered(60)
    search = surface_search(noise=0.05, fits_in_flight=pulls_in_flight, n_jobs=n_jobs)
    with parallel_backend(backend):
        assert table(search.fit(X, y)) == expected[pulls_in_flight]


def test_fits_under_way_count():
    X, y = numbered(60)
    one, four = (pulls_of(surface_search(noise=0.05, fits_in_flight=n).fit(X, y)) for n in (1, 4))
    assert one[0] == four[0]
    assert one != four
    assert len({candidate for candidate, _, _ in four[:4]}) == 4


def test_thompson_sampling_depends_on_the_seed_only():
    X, y = numbered(60)
    one, same, other = (
        table(surface_search(acquisition="thompson", random_state=seed).fit(X, y))
        for seed in (0, 0, 1)
    )
    assert one == same != other


def test_plan_leaves_the_candidates_of_fit_alone():
    X, y = numbered(60)
    space = {"a": loguniform(1e-3, 1e3), "b": uniform(0, 4)}
    search = surface_search(space, n_fits=3, random_state=np.random.RandomState(0))
    search.plan(X, y)
    plain = surface_search(space, n_fits=3, random_state=np.random.RandomState(0))
    assert column(search.fit(X, y), "params") == column(plain.fit(X, y), "params")


def test_a_model_without_numbers_is_warned_of():
    X, y = numbered(60)
    categories = {"c": ["x", "y", "z", "w"], "a": ["1", "2"]}
    with pytest.warns(UserWarning, match="No numeric parameter varies"):
        surface_search(categories).plan(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        surface_search(categories | {"b": [0, 1, 2]}).plan(X, y)
        gap_search(np.eye(8), categories).plan(X, y)
