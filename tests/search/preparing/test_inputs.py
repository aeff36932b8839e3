"""Every kind of data, splitter and estimator that GridSearchCV takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    StratifiedGroupKFold,
    TimeSeriesSplit,
)
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from search.common import FITS, SEARCHES, WITH_RUNGS, Known, Recording, data, numbered, small

parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)
parametrize_with_rungs = pytest.mark.parametrize("search_class", WITH_RUNGS)
TREE = {"max_depth": [1, 2, 3, 5]}
KNOWN = {"value": [0.1, 0.2, 0.3, 0.4]}


def tree():
    return DecisionTreeClassifier(random_state=0)


def scores_like_grid_search(search, X, y=None, **params):
    """Fit both, and compare every score of ours that is of a whole training fold."""
    search.fit(X, y, **params)
    cv = search.cv
    reference = GridSearchCV(
        search.estimator, search.param_distributions, cv=cv, scoring=search.scoring
    ).fit(X, y, **params)
    for name in ("feature_names_in_", "n_features_in_", "classes_"):
        ours, theirs = (getattr(s, name, None) for s in (search, reference))
        np.testing.assert_array_equal(ours, theirs)
    table = reference.cv_results_
    row_of = {str(params): row for row, params in enumerate(table["params"])}
    ours = search.cv_results_
    level = ours.get("n_resources", np.ones(len(ours["params"])))
    n_compared = 0
    for row in np.flatnonzero(level == level.max()):
        for key in (f"split{split}_test_score" for split in range(reference.n_splits_)):
            if not np.isnan(ours[key][row]):
                expected = table[key][row_of[str(ours["params"][row])]]
                assert ours[key][row] == pytest.approx(expected, abs=1e-12)
                n_compared += 1
    assert n_compared >= 6
    return search


# ---------------------------------------------------------------------------------- containers


def plain(X):
    return X


CONTAINERS = {
    "list": lambda X: X.tolist(),
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcde")),
    "pandas shuffled index": lambda X: pd.DataFrame(
        X, columns=list("abcde"), index=np.random.default_rng(0).permutation(len(X)) + 1000
    ),
    "nullable": lambda X: pd.DataFrame(X, columns=list("abcde")).convert_dtypes(),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcde")),
    "csr_matrix": csr_matrix,
    "csr_array": csr_array,
}
TARGETS = {
    "list": lambda y: y.tolist(),
    "strings": lambda y: np.array(["no", "yes"])[y],
    "objects": lambda y: np.array(["no", "yes"], dtype=object)[y],
    "booleans": lambda y: y.astype(bool),
    "Series": lambda y: pd.Series(y, index=np.arange(len(y)) + 7),
    "categorical": lambda y: pd.Series(np.array(["no", "yes"])[y], dtype="category"),
    "Int64": lambda y: pd.Series(y, dtype="Int64"),
    "string dtype": lambda y: pd.Series(np.array(["no", "yes"])[y], dtype="string"),
    "polars": pl.Series,
}


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_of_rows(search_class, container):
    X, y = data()
    X = CONTAINERS[container](X)
    search = scores_like_grid_search(small(search_class, tree(), TREE), X, y)
    assert search.n_features_in_ == 5
    assert search.predict(X).shape == (60,)
    if container == "pandas":
        assert search.feature_names_in_.tolist() == list("abcde")


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("container", TARGETS)
def test_containers_of_targets(search_class, container):
    X, y = data()
    search = small(search_class, tree(), TREE)
    search = scores_like_grid_search(search, X, TARGETS[container](y))
    assert len(search.classes_) == 2


class Strict(Known):
    """Refuses everything that is not what the user gave."""

    def __init__(self, value=0.5, kind=None):
        super().__init__(value)
        self.kind = kind

    def fit(self, X, y=None):
        assert type(X) is self.kind, type(X)
        return super().fit(X, y)


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize(("convert", "kind"), [
    (lambda X: X.tolist(), list),
    (pd.DataFrame, pd.DataFrame),
    (pl.DataFrame, pl.DataFrame),
    (lambda X: X.reshape(60, 5, 1), np.ndarray),
], ids=["list", "pandas", "polars", "3-D"])  # fmt: skip
def test_data_reach_the_estimator_unconverted(search_class, convert, kind):
    X, y = data()
    search = small(search_class, Strict(kind=kind), KNOWN, error_score="raise")
    assert search.fit(convert(X), y).best_estimator_.n_rows_ == 60


@parametrize_searches
def test_text(search_class):
    texts = ["good fine nice", "bad awful poor"] * 20
    y = ["pos", "neg"] * 20
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression())
    search = small(search_class, pipeline, {"logisticregression__C": [0.1, 1.0, 2.0, 3.0]})
    assert scores_like_grid_search(search, texts, y).predict(["fine nice"]) == ["pos"]


@parametrize_searches
def test_mixed_types_in_a_pipeline(search_class):
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["city"] = np.array(["x", "y", "z"])[np.arange(60) % 3]
    columns = make_column_transformer(
        (StandardScaler(), list("abcde")), (OneHotEncoder(handle_unknown="ignore"), ["city"])
    )
    pipeline = make_pipeline(columns, LogisticRegression())
    search = small(search_class, pipeline, {"logisticregression__C": [0.1, 1.0, 2.0, 3.0]})
    scores_like_grid_search(search, frame, y)


@parametrize_searches
def test_precomputed_kernel(search_class):
    X, y = data()
    kernel = rbf_kernel(X)
    search = small(search_class, SVC(kernel="precomputed"), {"C": [0.1, 1.0, 10.0, 100.0]})
    assert search.__sklearn_tags__().input_tags.pairwise
    scores_like_grid_search(search, kernel, y)
    assert search.predict(kernel).shape == (60,)


@parametrize_searches
def test_several_targets(search_class):
    X, y = data()
    both = np.column_stack([y, 1 - y])
    regressor = DecisionTreeRegressor(random_state=0)
    scores_like_grid_search(small(search_class, regressor, TREE), X, both)
    search = scores_like_grid_search(small(search_class, tree(), TREE), X, both)
    assert search.predict(X).shape == (60, 2)
    frame = pd.DataFrame(both, columns=["one", "two"])
    scores_like_grid_search(small(search_class, tree(), TREE), X, frame)


# --------------------------------------------------------------------------- without a target


@parametrize_searches
def test_unsupervised(search_class):
    X, _ = data(90)
    means = small(search_class, KMeans(n_init=1, random_state=0), {"n_clusters": [2, 3, 4, 5]})
    scores_like_grid_search(means, X)
    assert means.transform(X).shape == (90, means.best_params_["n_clusters"])
    density = small(search_class, KernelDensity(), {"bandwidth": [0.1, 0.3, 1.0, 3.0]})
    scores_like_grid_search(density, X)
    np.testing.assert_array_equal(
        density.score_samples(X), density.best_estimator_.score_samples(X)
    )


@parametrize_searches
def test_delegates(search_class):
    X, y = data()
    svc = small(search_class, SVC(), {"C": [0.1, 1.0, 10.0, 100.0]}).fit(X, y)
    np.testing.assert_array_equal(
        svc.decision_function(X), svc.best_estimator_.decision_function(X)
    )
    assert not hasattr(svc, "transform")
    pca = small(search_class, PCA(random_state=0), {"n_components": [2, 3, 4, 5]}).fit(X)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)).shape, X.shape)
    assert not hasattr(pca, "predict")
    outliers = LocalOutlierFactor(novelty=True)
    scoring = lambda estimator, X, y=None: estimator.score_samples(X).mean()  # noqa: E731
    search = small(search_class, outliers, {"n_neighbors": [2, 3, 4, 5]}, scoring=scoring)
    assert search.fit(X).score_samples(X).shape == (60,)


# ------------------------------------------------------------------------------------ splitters


class AskedOnce(KFold):
    """Counts how often it is asked, and refuses to be asked twice."""

    n_asked = 0

    def split(self, X, y=None, groups=None):
        self.n_asked += 1
        assert self.n_asked == 1
        return super().split(X, y, groups)


def pairs_of(X):
    return list(KFold(3).split(X))


def masks_of(X):
    for train, test in KFold(3).split(X):
        yield np.isin(np.arange(60), train), np.isin(np.arange(60), test)


SPLITTERS = {
    "list": pairs_of,
    "generator": lambda X: (pair for pair in pairs_of(X)),
    "lists of int": lambda X: [(a.tolist(), b.tolist()) for a, b in pairs_of(X)],
    "masks": masks_of,
    "asked once": lambda X: AskedOnce(3),
    "predefined": lambda X: PredefinedSplit(np.repeat([0, 1, 2], 20)),
}


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_splitters_are_asked_once_and_give_the_same(search_class, splitter):
    X, y = data()
    search = small(search_class, tree(), TREE, cv=SPLITTERS[splitter](X)).fit(X, y)
    plain = small(search_class, tree(), TREE, cv=pairs_of(X)).fit(X, y)
    for key, column in plain.cv_results_.items():
        if "_time" not in key:
            np.testing.assert_array_equal(search.cv_results_[key], column)


@parametrize_searches
def test_an_empty_splitter(search_class):
    X, y = data()
    with pytest.raises(ValueError, match="No fits were performed"):
        small(search_class, tree(), TREE, cv=iter(())).fit(X, y)


@parametrize_searches
def test_a_splitter_that_contradicts_itself(search_class):
    class Broken(KFold):
        def get_n_splits(self, *args, **kwargs):
            return 1

    X, y = data()
    with pytest.raises(ValueError, match="Expected 1 splits, got 3"):
        small(search_class, tree(), TREE, cv=Broken(3)).fit(X, y)


@parametrize_with_rungs
def test_time_series_keep_the_most_recent_rows(search_class):
    X, y = numbered(120)
    FITS.clear()
    search = small(search_class, Recording(), KNOWN, cv=TimeSeriesSplit(3, test_size=20))
    search.fit(X, y)
    ends = {59, 79, 99}
    n_small = 0
    for rows in FITS.rows[:-1]:
        np.testing.assert_array_equal(rows, np.arange(rows[0], rows[-1] + 1))
        assert rows[-1] in ends
        n_small += rows[0] > 0
    assert n_small == 9
    np.testing.assert_array_equal(FITS.rows[-1], np.arange(120))


@parametrize_with_rungs
def test_a_hold_out_at_the_end_is_no_time_series(search_class):
    X, _ = numbered(90)
    y = np.repeat([0, 1, 0], [30, 30, 30])  # in order of time, a subset would have one class
    FITS.clear()
    cv = [(np.arange(60), np.arange(60, 90))]
    small(search_class, Recording(), KNOWN, cv=cv).fit(X, y)
    assert {len(rows) for rows in FITS.rows} == {20, 60, 90}
    assert all(len(set(y[rows])) == 2 for rows in FITS.rows)


@parametrize_searches
@pytest.mark.parametrize("X", [[], np.empty((0, 3)), pd.DataFrame({"a": []})])
def test_no_rows(search_class, X):
    with pytest.raises(ValueError, match="0 sample"):
        small(search_class, tree(), TREE).fit(X, [])


@pytest.mark.filterwarnings("ignore:No numeric parameter varies")
@parametrize_searches
def test_functions_and_arrays_as_candidates(search_class):
    X, y = data()
    pipeline = make_pipeline(FunctionTransformer(), tree())
    space = {"functiontransformer__func": [None, np.abs, np.square, np.negative]}
    scores_like_grid_search(small(search_class, pipeline, space), X, y)
    priors = {"class_weight": [{0: 1, 1: 1}, {0: 1, 1: 2}, {0: 2, 1: 1}, "balanced"]}
    search = small(search_class, tree(), priors).fit(X, y)
    assert search.best_estimator_.class_weight == search.best_params_["class_weight"]


# ------------------------------------------------------------------------- what is wrong, and why

PIPELINE = make_pipeline(StandardScaler(), SVC())
WRONG_NAMES = {
    "a letter": (SVC(), "gama", "gamma"),
    "a capital": (PIPELINE, "svc__c", "svc__C"),
    "another step": (PIPELINE, "svm__C", "svc__C"),
    "no step": (PIPELINE, "C", "svc__C"),
    "a step too many": (SVC(), "estimator__C", "C"),
}


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("case", WRONG_NAMES)
def test_a_wrong_name_gets_the_nearest_right_one_first(search_class, case):
    estimator, wrong, right = WRONG_NAMES[case]
    search = small(search_class, estimator, {wrong: [0.1, 1, 10, 100]})
    words = rf"Invalid parameter '{wrong}' for .*Did you mean '{right}'\? Valid parameters are: \["
    with pytest.raises(ValueError, match=words):
        search.fit(*data())


@parametrize_searches
def test_a_name_may_belong_to_an_object_of_the_same_candidate(search_class):
    space = {"standardscaler": [PCA()], "standardscaler__n_component": [1, 2, 3]}
    with pytest.raises(ValueError, match=r"Did you mean 'standardscaler__n_components'\?"):
        small(search_class, PIPELINE, space).fit(*data())


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("space", ["abc", None, ["abc"], SVC(), 3])
def test_a_wrong_space_says_what_is_accepted(search_class, space):
    with pytest.raises(
        ValueError, match=r"must be a dict .*'C': .* list of such dicts, or 'auto'. Got "
    ):
        small(search_class, SVC(), space).fit(*data())


@parametrize_searches
def test_no_jobs_says_what_is_accepted(search_class):
    with pytest.raises(ValueError, match=r"'n_jobs' .* must be an int .* or None. Got 0"):
        small(search_class, SVC(), {"C": [0.1, 1, 10, 100]}, n_jobs=0).fit(*data())


@parametrize_searches
def test_a_used_up_generator_says_what_to_do(search_class):
    X, y = data()
    search = small(search_class, SVC(), {"C": [0.1, 1, 10, 100]}, cv=KFold(3).split(X))
    search.fit(X, y)
    with pytest.raises(ValueError, match="used only once: pass a list of its splits"):
        search.fit(X, y)


@parametrize_searches
@pytest.mark.parametrize("cv", [GroupKFold(3), StratifiedGroupKFold(3), LeaveOneGroupOut()])
def test_missing_groups_say_what_to_do(search_class, cv):
    with pytest.raises(ValueError, match=r"'groups' parameter should not be None.*Pass groups to"):
        small(search_class, SVC(), {"C": [0.1, 1, 10, 100]}, cv=cv).fit(*data())
