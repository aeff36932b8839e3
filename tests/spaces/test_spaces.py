"""Ready search spaces."""

from __future__ import annotations

import pickle
import re
from importlib.util import find_spec
from inspect import getsource
from pathlib import Path

import numpy as np
import pytest
import sklearn.utils
from scipy.sparse import csr_matrix
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier
from sklearn.ensemble import RandomForestClassifier as Forest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, ParameterSampler
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from sklearn_halving import AdaptiveSearchCV, HyperbandSearchCV
from sklearn_halving.samplers import GaussianProcessSampler, Space, Told
from sklearn_halving.spaces import loguniform_int, space_for
from sklearn_halving.spaces._tables import SPACES
from tests.search.common import SEARCHES, small

X, Y = load_wine(return_X_y=True)
PAGE = Path(__file__).parents[2] / "docs" / "spaces.md"


def instance(name):
    """Return an estimator by the name of its package and class."""
    package, _, kind = name.partition(".")
    if package == "sklearn":
        return dict(sklearn.utils.all_estimators())[kind]()
    module = pytest.importorskip(package)
    quiet = {"verbose": -1, "n_jobs": 1} if package == "lightgbm" else {"n_jobs": 1}
    quiet = {"verbose": False, "thread_count": 1} if package == "catboost" else quiet
    return getattr(module, kind)(**quiet)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.filterwarnings("ignore")
def test_candidates_of_each_space_can_be_fitted(name):
    estimator = instance(name)
    data = load_diabetes if name.endswith(("Regressor", "SVR", "Ridge", "Net")) else load_wine
    X, y = data(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:60]
    X, y = StandardScaler().fit_transform(X[rows]), y[rows]
    for params in ParameterSampler(space_for(estimator, X, y), 2, random_state=0):
        fitted = clone(estimator).set_params(**params).fit(X, y)
        assert len(fitted.predict(X)) == 60


def test_steps_of_a_pipeline_and_wrappers_get_their_prefix():
    assert sorted(space_for(make_pipeline(StandardScaler(), SVC()))) == ["svc__C", "svc__gamma"]
    wrapped = TransformedTargetRegressor(make_pipeline(StandardScaler(), SVR()))
    assert "regressor__svr__epsilon" in space_for(wrapped)
    encoded = make_pipeline(make_column_transformer((StandardScaler(), [0])), SVC())
    assert sorted(space_for(encoded)) == ["svc__C", "svc__gamma"]


def test_models_for_the_last_step_have_a_dict_each():
    models = [SVC(kernel="linear"), make_pipeline(StandardScaler(), KNeighborsClassifier())]
    pipe = Pipeline([("scale", StandardScaler()), ("model", SVC())])
    linear, neighbors = space_for(pipe, X, models=models)
    assert sorted(linear) == ["model", "model__C"]
    assert linear["model"] == models[:1]
    prefix = "model__kneighborsclassifier__"
    assert sorted(neighbors) == [
        "model",
        *(f"{prefix}{n}" for n in ("n_neighbors", "p", "weights")),
    ]
    assert neighbors[f"{prefix}n_neighbors"].support()[1] == 17
    wrapped = TransformedTargetRegressor(make_pipeline(StandardScaler(), SVR()))
    assert "regressor__svr__alpha" in space_for(wrapped, models=[Ridge()])[0]
    search = AdaptiveSearchCV(pipe, [linear, neighbors], n_fits=12, cv=2, random_state=0)
    found = search.fit(X, Y).cv_results_["param_model"]
    assert {type(model) for model in found} == {type(model) for model in models}


@pytest.mark.parametrize("models", [SVC(), [], "svc", [SVC]])
def test_models_are_a_list_of_estimators(models):
    with pytest.raises(ValueError, match="models must be a list of estimators, got"):
        space_for(make_pipeline(SVC()), models=models)


def test_models_need_a_step_and_a_known_class():
    with pytest.raises(
        ValueError, match=r"models need a Pipeline.* got SVC.*Pipeline\(\[\('model"
    ):
        space_for(SVC(), models=[SVC(), Ridge()])
    with pytest.raises(ValueError, match="no ready search space for BaggingClassifier"):
        space_for(make_pipeline(SVC()), models=[BaggingClassifier()])


def test_parameters_that_cannot_be_tuned_are_left_out():
    for kernel in ("linear", "precomputed", lambda a, b: a @ b.T):
        assert list(space_for(SVC(kernel=kernel))) == ["C"]
    assert "bootstrap" not in space_for(Forest(oob_score=True))
    assert "p" not in space_for(KNeighborsClassifier(metric="cosine"))
    assert "learning_rate_init" not in space_for(MLPClassifier(solver="lbfgs"))
    assert "max_iter" not in space_for(HistGradientBoostingClassifier(early_stopping=True))


def names_of_lightgbm(parameter):
    from lightgbm.basic import _ConfigAliases

    return sorted(_ConfigAliases.get(parameter))


def names_of_catboost(parameter):
    from catboost import core

    groups = re.findall(r"\[('.*?')\]", getsource(core._process_synonyms_groups))
    names = [re.findall(r"'(\w+)'", group) for group in groups]
    return next(group for group in names if parameter in group)


def names_of_xgboost(parameter):
    return {"learning_rate": ["learning_rate", "eta"], "reg_lambda": ["reg_lambda", "lambda"]}.get(
        parameter, [parameter]
    )


NAMES_OF = {
    "lightgbm": names_of_lightgbm,
    "catboost": names_of_catboost,
    "xgboost": names_of_xgboost,
}
VALUES = {
    "n_estimators": 20, "learning_rate": 0.2, "num_leaves": 5, "min_child_samples": 8,
    "reg_lambda": 2.0, "colsample_bytree": 0.5, "iterations": 20, "depth": 3, "l2_leaf_reg": 2.0,
    "max_depth": 3, "min_child_weight": 2.0, "subsample": 0.7,
}  # fmt: skip


def aliases():
    for name, space in SPACES.items():
        package = name.partition(".")[0]
        if name.endswith("Regressor") and package in NAMES_OF and find_spec(package):
            for parameter in space:
                for alias in NAMES_OF[package](parameter):
                    yield name, parameter, alias


@pytest.mark.parametrize(("name", "parameter", "alias"), [*aliases()])
def test_a_parameter_is_searched_under_the_name_that_is_set(name, parameter, alias):
    X, y = load_diabetes(return_X_y=True)
    n_trees = "iterations" if name.startswith("cat") else "n_estimators"
    few = {} if parameter == n_trees else {n_trees: 10}
    own = instance(name).set_params(**few, **{alias: VALUES[parameter]})
    space, plain = space_for(own), space_for(instance(name))
    assert len(space) == len(plain)
    (used,) = space.keys() - (plain.keys() - {parameter})
    assert used == alias or own.get_params()[used] is not None
    ends = ParameterSampler({used: space[used]}, 2, random_state=1)
    both = [clone(own).set_params(**params) for params in ends]
    first, last = (model.fit(X, y).predict(X) for model in both)
    assert not np.allclose(first, last)


def small_booster(package, **params):
    module = pytest.importorskip(package)
    kind = {"catboost": "CatBoost", "lightgbm": "LGBM", "xgboost": "XGB"}[package]
    quiet = {"verbose": -1, "n_jobs": 1} if package == "lightgbm" else {"n_jobs": 1}
    if package == "catboost":
        quiet = {"allow_writing_files": False, "verbose": False, "thread_count": 1}
    return getattr(module, f"{kind}Classifier")(**quiet, **params)


@pytest.mark.parametrize(
    ("package", "own", "searched", "other"),
    [
        ("catboost", {"n_estimators": 50}, "iterations", "n_estimators"),
        ("catboost", {"depth": 3}, "max_depth", "depth"),
        ("lightgbm", {"num_trees": 50}, "n_estimators", "num_trees"),
        ("lightgbm", {}, "eta", "learning_rate"),
        ("xgboost", {"learning_rate": 0.1}, "eta", "learning_rate"),
    ],
)
def test_a_searched_parameter_that_is_set_under_another_name_is_said(
    package, own, searched, other
):
    model = make_pipeline(StandardScaler(), small_booster(package, **own))
    step = model.steps[-1][0]
    search = AdaptiveSearchCV(model, {f"{step}__{searched}": [3, 5]}, n_fits=10)
    with pytest.raises(ValueError, match=f"'{step}__{searched}' in .* and '{step}__{other}'"):
        search.fit(X, Y)


@pytest.mark.parametrize(
    ("package", "own", "searched"),
    [
        ("catboost", {"n_estimators": 5}, "n_estimators"),
        ("lightgbm", {"n_estimators": 5}, "num_trees"),
        ("lightgbm", {"n_estimators": 5}, "lambda_l2"),
        ("xgboost", {"n_estimators": 5}, "eta"),
    ],
)
def test_another_name_can_be_searched_if_it_counts(package, own, searched):
    model = small_booster(package, **own)
    search = small(HyperbandSearchCV, model, {searched: [1, 8]}, min_resources=60).fit(X, Y)
    assert set(search.best_params_) == {searched}


def test_trees_under_any_name_are_the_resource_of_auto():
    model = small_booster("catboost", depth=2, learning_rate=0.1)
    search = HyperbandSearchCV(
        model, "auto", resource="n_estimators", max_resources=4, n_candidates=3, cv=2
    ).fit(X, Y)
    searched = {"learning_rate", "depth", "l2_leaf_reg"}
    assert set(search.best_params_) == {*searched, "n_estimators"}


def test_neighbours_are_fewer_than_the_rows_of_small_fits():
    assert space_for(KNeighborsClassifier(), X)["n_neighbors"].support()[1] == 17
    assert space_for(KNeighborsClassifier(), csr_matrix(X))["n_neighbors"].support()[1] == 17
    assert space_for(KNeighborsClassifier())["n_neighbors"].support()[1] == 50


def test_boosting_may_have_more_and_larger_trees_with_many_rows():
    model = make_pipeline(HistGradientBoostingClassifier())
    few, many = (space_for(model, np.zeros((n_rows, 1))) for n_rows in (3_999, 4_000))
    trees, leaves = (f"histgradientboostingclassifier__max_{n}" for n in ("iter", "leaf_nodes"))
    assert list(few) == list(many)
    assert max(few[trees]) == 200
    assert (many[trees].support(), many[leaves].support()) == ((50, 1000), (3, 255))
    forest = Forest()
    assert space_for(forest, np.zeros((4_000, 1))) == space_for(forest)


@pytest.mark.parametrize("estimator", [BaggingClassifier(), StandardScaler(), "SVC"])
def test_an_unknown_class_is_refused_with_the_known_ones(estimator):
    name = repr(estimator) if estimator == "SVC" else type(estimator).__name__
    with pytest.raises(
        ValueError, match=rf"no ready search space for {name}; .*SVC.*Write a dict"
    ):
        space_for(estimator)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (TransformedTargetRegressor(), "for None; there is one for instances of"),
        (make_pipeline(StandardScaler(), "passthrough"), "for 'passthrough'; there is one for"),
        (SVC, "for <class .*SVC'>; there is one for instances of"),
        (FrozenEstimator(SVC()), r"FrozenEstimator.* space_for\(SVC\(\)\)"),
        (GridSearchCV(SVC(), {"C": [1, 2]}), r"GridSearchCV.* space_for\(SVC\(\)\)"),
    ],
)
def test_what_is_no_model_is_refused_with_what_to_do(estimator, message):
    with pytest.raises(ValueError, match=message):
        space_for(estimator)


def test_whole_numbers_are_evenly_spread_in_their_logarithm():
    drawn = loguniform_int(1, 1000).rvs(size=20_000, random_state=0)
    assert drawn.min() == 1
    assert drawn.max() <= 1000
    spread = np.log(drawn + np.random.default_rng(0).random(20_000)) / np.log(1001)
    assert kstest(spread, "uniform").pvalue > 0.001


def test_the_methods_of_the_distribution_agree():
    numbers = loguniform_int(2, 60)
    values = np.arange(2, 61)
    assert numbers.pmf(values).sum() == pytest.approx(1)
    assert np.cumsum(numbers.pmf(values)) == pytest.approx(numbers.cdf(values))
    assert (numbers.ppf(numbers.cdf(values)) == values).all()
    again = pickle.loads(pickle.dumps(numbers))
    assert again.rvs(size=5, random_state=1).tolist() == numbers.rvs(5, random_state=1).tolist()


@pytest.mark.parametrize(("low", "high"), [(0, 3), (5, 4), (1.5, 3), (1, 2.5)])
def test_other_bounds_are_refused(low, high):
    with pytest.raises(ValueError, match="whole numbers with 1 <= low <= high"):
        loguniform_int(low, high)


def test_the_samplers_know_it():
    space = Space.of({"n": loguniform_int(1, 50)})
    told = Told(space)
    for arm, n in enumerate((1, 3, 9, 20, 30, 40, 45, 50)):
        told.add({"n": n})
        told.tell(arm, 1, -abs(np.log(n / 10)))
    made = GaussianProcessSampler().propose(told, 4, np.random.default_rng(0))
    assert {type(params["n"]) for params in made} == {int}
    assert any(6 <= params["n"] <= 14 for params in made)


@pytest.mark.parametrize("search_class", SEARCHES)
def test_auto_is_the_ready_space(search_class):
    own = {"min_resources": 18} if search_class is HyperbandSearchCV else {}
    search = small(search_class, SVC(), "auto", **own).fit(X, Y)
    same = small(search_class, SVC(), space_for(SVC(), X, Y), **own).fit(X, Y)
    assert search.cv_results_["params"] == same.cv_results_["params"]
    assert set(search.best_params_) == {"C", "gamma"}


def test_a_resource_leaves_the_space():
    search = HyperbandSearchCV(
        HistGradientBoostingClassifier(early_stopping=False),
        "auto",
        resource="max_iter",
        max_resources=6,
        n_candidates=5,
        random_state=0,
        cv=2,
    ).fit(X, Y)
    assert max(search.cv_results_["param_max_iter"]) == 6


def test_another_text_is_refused():
    with pytest.raises(ValueError, match="or 'auto'"):
        HyperbandSearchCV(SVC(), "automatic").fit(X, Y)


def test_the_page_has_every_space():
    text = PAGE.read_text(encoding="utf-8")
    for name, space in SPACES.items():
        assert f"`{name.partition('.')[2]}`" in text
        assert all(re.search(rf"^\| `{one}` \|", text, re.MULTILINE) for one in space)
