"""What a search is known by: what changes a score changes the digest, and nothing else does."""

from __future__ import annotations

import logging
import math
import re
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import Memory
from scipy import sparse
from scipy.stats import uniform
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import make_scorer, precision_score
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from scripts import ROOT
from search.common import data, numbered
from sklearn_halving import HyperbandSearchCV
from sklearn_halving._content_hash import (
    code_as_first_seen,
    content_hash,
    hash_and_code,
    params_digest,
)

X, Y = numbered(60)
SCORER = """
def scorer(estimator, X, y, cost=10.0, *, floor=0.0):
    "Says what it costs."
    return [max(floor, s * cost if s in {0.5, 1.0} else -s) for s in [estimator.score(X, y)]][0]
"""


def scorer_of(source):
    namespace = {"__name__": "users_own"}
    exec(compile(source, "users_own.py", "exec"), namespace)
    return namespace["scorer"]


USES = """
import functools
COSTS, CALLS, UNUSED = {"a": 1.0}, 0, 1
def helper(score):
    return [COSTS["a"] * part for part in [score]][0]
@functools.lru_cache
def cached(limit):
    return 2 * limit
class Scorer:
    SIGN = 1
    @property
    def floor(self):
        return 0.1
    @staticmethod
    def static():
        return 0.2
    def __init__(self, of=helper):
        self.of = of
    def __call__(self, estimator, X, y):
        return self.method(estimator.score(X, y))
    def method(self, score):
        return self.of(score)
def decorated(function):
    @functools.wraps(function)
    def inner(score):
        global CALLS
        CALLS += 1
        return function(score)
    return inner
@decorated
def plain(estimator, X, y):
    return (lambda score: helper(score) + cached(1))(estimator.score(X, y))
"""
CHANGES = (("1.0", "20.0"), ("part for", "-part for"), ("2 * limit", "3 * limit"))


def users_own(name, *changes):
    """Return a part of a user's module in which some text is replaced."""
    source, namespace = USES, {"__name__": "users_own"}
    for before, after in changes:
        assert before in source
        source = source.replace(before, after)
    exec(compile(source, "users_own.py", "exec"), namespace)
    found = namespace[name]
    return found() if isinstance(found, type) else found


def scorer_reading(value):
    """Return a function that reads a value of its module."""
    namespace = {"__name__": "users_own", "VALUE": value}
    exec(compile("def scorer(*args):\n    return VALUE", "users_own.py", "exec"), namespace)
    return namespace["scorer"]


def score_above(limit):
    return lambda estimator, X, y: estimator.score(X, y) > limit


def frozen(n_rows):
    return FrozenEstimator(DecisionTreeClassifier(random_state=0).fit(X[:n_rows], Y[:n_rows]))


def categories(names):
    return pd.Series(pd.Categorical([names[0]], categories=names))


class OnGpu:
    """Cannot become an array of NumPy, but be pickled: a tensor on a GPU."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __array__(self, *options, **more):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


NAMES = [f"c{i}" for i in range(1000)]


def variants():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    yield from (None, 0, False, 0.0, "", b"", [], (), {}, set(), np.zeros(0), np.nan, "nan")
    yield from (["ab", "c"], ["a", "bc"], [1, 2], [1.0, 2.0], [[1], 2], np.array([1, 2]))
    yield from (X, X.astype("f4"), X[:-1], X.T, -X, np.array(["a", 1], dtype=object))
    yield from (frame, frame[["b", "a"]], frame.rename(columns={"a": "z"}), frame[::-1])
    yield from (sparse.csr_matrix(X), sparse.csc_matrix(X[:, :2]), frame["a"], frame["b"])
    yield from (DecisionTreeClassifier(), DecisionTreeClassifier(max_depth=2), uniform(0, 1))
    yield from (
        uniform(0, 2),
        len,
        max,
        np.sin,
        np.cos,
        DecisionTreeClassifier,
        KFold(3),
        KFold(4),
    )
    with config_context(enable_metadata_routing=True):
        yield from (StandardScaler(), StandardScaler().set_fit_request(sample_weight=True))
    yield StandardScaler().set_output(transform="pandas")
    yield from (lambda x: x, lambda x: x + 1, make_scorer(precision_score))
    yield from (make_scorer(precision_score, pos_label=0), np.random.RandomState(0))
    yield from (np.random.RandomState(1), np.random.default_rng(0), np.random.PCG64(1))
    yield from (re.compile("a"), re.compile("b"), partial(max, 1), partial(max, 2), math, np)
    yield from (X.sum, X.max, np.ma.masked_array([1, 2], [0, 1]), np.ma.masked_array([1, 2]))
    yield from (logging.getLogger("one"), logging.getLogger("two"), frozen(60), frozen(40))
    yield from (categories(NAMES), categories([NAMES[0], NAMES[2], NAMES[1], *NAMES[3:]]))
    yield from (score_above(1), score_above(2), Memory("one", verbose=0))
    yield from (Memory("one", verbose=0).cache(score_above(limit)) for limit in (1, 2))
    yield from (scorer_of(SCORER), OnGpu([1.0]), OnGpu([2.0]))
    changes = [
        ("cost=10.0", "cost=5.0"),
        ("floor=0.0", "floor=1.0"),
        ("s * c", "s / c"),
        ("-s", "s"),
    ]
    yield from (scorer_of(SCORER.replace(before, after)) for before, after in changes)
    yield from (users_own("plain", *change) for change in [(), *((c,) for c in CHANGES)])
    yield from (scorer_reading(value) for value in (1.0, np.float32(2), pd.Series([1]), (1, [2])))
    yield from (scorer_reading(value) for value in (partial(max, 1), make_scorer(precision_score)))
    of_call = ("self.method(estimator", "-self.method(estimator")
    method = ("return self.of(score)", "return -self.of(score)")
    of_class = [(("SIGN = 1", "SIGN = 2"),), (("0.1", "0.3"),), (("0.2", "0.3"),)]
    for change in [(), (CHANGES[0],), (of_call,), (method,), *of_class]:
        scorer = users_own("Scorer", *change)
        yield from (scorer, scorer.method, type(scorer))


def test_different_contents_have_different_hashes():
    hashes = [content_hash(value, with_code=True) for value in variants()]
    assert len(set(hashes)) == len(hashes)


def equals():
    """Return pairs whose results are the same."""
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": ["x", None], "c": pd.Categorical(["u", "v"])})
    yield frame, pd.concat([frame[["a"]], frame[["b"]], frame[["c"]]], axis=1)
    yield {"a": 1, "b": {2, 3, 10**9}}, {"b": {10**9, 3, 2}, "a": 1}
    yield score_above(1), score_above(1)
    yield np.asfortranarray(X), X
    yield np.random.RandomState(0), np.random.RandomState(0)
    yield frozen(60), frozen(60)
    moved = "# a comment\n\n" + SCORER.replace("    return", "    # another\n    return")
    yield scorer_of(SCORER), scorer_of(moved)
    yield RandomForestClassifier(n_jobs=2, verbose=1), RandomForestClassifier(n_jobs=64)
    kind = np.dtype([("a", "i1"), ("b", "f8")], align=True)  # has bytes between its fields
    records = [np.full(3 * kind.itemsize, fill, dtype=np.uint8).view(kind) for fill in (0, 255)]
    for record in records:
        record["a"], record["b"] = 1, [1.0, 2.0, 3.0]
    yield tuple(records)
    yield users_own("plain"), users_own("plain", (", 0, 1", ", 0, 2"))
    yield Memory("one", verbose=0), Memory("two", verbose=0)
    yield tuple(Memory(name, verbose=0).cache(score_above(1)) for name in ("one", "two"))
    yield OnGpu([1.0]), OnGpu([1.0])


def test_equal_contents_have_equal_hashes():
    for one, other in equals():
        assert content_hash(one, with_code=True) == content_hash(other, with_code=True), one
    itself: list[object] = [1]
    itself.append(itself)
    assert len(content_hash(itself)) == 32


OWN = '''
import functools
from contextlib import contextmanager
from functools import cached_property, partialmethod, singledispatch
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
LIMIT, __scale__, N_CALLS = 3, 5, 0
NOTES = []
@contextmanager
def opened(value):
    yield value + 31
@singledispatch
def cleaned(value):
    return value + 32
@cleaned.register
def _(value: int):
    return value + 33
def noted(value):
    "Says what it does."
    global N_CALLS
    N_CALLS += 1
    NOTES.append(value)
    return value
noted.weight = 34
class Rule:
    cost = 35
    def __init__(self):
        self.of = {"a": 36}
class Base(TransformerMixin, BaseEstimator):
    """Says what it does."""
    columns = ["a", 41]
    rule, n_fits, _parameter_constraints = Rule(), 0, {}
    class Inner:
        depth = 42
    def power(self, by):
        return by + LIMIT
    square = partialmethod(power, 43)
    @property
    def level(self):
        return 44
    @level.setter
    def level(self, value):
        self._level = value + 45
    @cached_property
    def late(self):
        return 46
    @staticmethod
    def still(value):
        return value + 47
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        Base.n_fits += 1
        try:
            noted(X)
        except ValueError:
            cleaned(X)
        return self
    def transform(self, X):
        with opened(X) as value:
            return value + 48 + __scale__
class Sub(Base):
    extra = 49
'''
OWN_CHANGES = [
    ("= 3, 5, 0", "= 4, 5, 0", "LIMIT"),
    ("= 3, 5, 0", "= 3, 6, 0", "__scale__"),
    ("= 3, 5, 0", "= 3, 5, 1", "N_CALLS"),
    ("NOTES = []", "NOTES = [1]", "NOTES"),
    *[(f"{n}", f"{n + 100}", "") for n in [31, 32, 33, 34, 35, 36, *range(41, 50)]],
    ("(TransformerMixin, BaseEstimator)", "(BaseEstimator, TransformerMixin)", "Base"),
    ("            noted(X)\n        except", "            pass\n        except", "Base.fit"),
    ("except ValueError", "except TypeError", "Base.fit"),
    ('["a", 41]', '["a", 41, "b"]', "Base.columns"),
    ("by + LIMIT", "LIMIT + by", "Base.power"),
    ("def power(self, by)", "def power(self, by=1)", "Base.power"),
    ("def power(self, by)", "def power(self, *, by)", "Base.power"),
]
UNCHANGED = [
    ("Says what it does.", "Says it."),
    ('    "Says what it does."\n', ""),
    ('    """Says what it does."""\n', ""),
    ("def transform", "# a comment\n\n    def transform"),
    ("def noted(value):\n", "def noted(value):\n    # why\n"),
]


def own_estimator(before="", after=""):
    """Return an estimator of a user's module in which some text is replaced."""
    assert before in OWN
    namespace: dict[str, Any] = {"__name__": "users_own"}
    exec(compile(OWN.replace(before, after) if before else OWN, "own.py", "exec"), namespace)
    return namespace["Sub"]()


@pytest.mark.parametrize(("before", "after", "name"), OWN_CHANGES)
def test_a_change_of_own_code_is_seen_and_named(before, after, name):
    first, changed = own_estimator(), own_estimator(before, after)
    assert content_hash(changed, with_code=True) != content_hash(first, with_code=True)
    parts, others = (hash_and_code(each)[1] for each in (first, changed))
    differing = {each for each in parts | others if parts.get(each) != others.get(each)}
    assert f"your own {name}" in differing if name else differing


@pytest.mark.parametrize(("before", "after"), [("", ""), *UNCHANGED])
def test_comments_and_docstrings_do_not_count(before, after):
    changed = content_hash(own_estimator(before, after), with_code=True)
    assert changed == content_hash(own_estimator(), with_code=True)


def test_what_own_code_changes_while_it_runs_counts_as_it_was_first_seen():
    estimator = own_estimator()
    with code_as_first_seen():
        before = content_hash(estimator, with_code=True)
        estimator.fit(1).transform(2.0)
        assert estimator.n_fits == 1
    assert content_hash(estimator, with_code=True) == before
    type(estimator).columns = ["b"]  # by the user
    assert content_hash(estimator, with_code=True) != before


KINDS = """
from collections import defaultdict, deque
from enum import Enum
from functools import cached_property
from typing import NamedTuple
import pandas as pd
class Level(Enum):
    LOW = 11
class Mode(str, Enum):
    FAST = "fast"
    def factor(self):
        return 12
class Pair(NamedTuple):
    left: int
    def both(self):
        return self.left + 13
class Costs(dict):
    def __missing__(self, key):
        return 14
class Weight(float):
    pass
class Slots:
    __slots__ = ("value",)
    def __init__(self, value):
        self.value = value
    def __reduce_ex__(self, protocol):
        raise TypeError
LAST, OTHERWISE = deque([1, 15]), defaultdict(lambda: 16)
MODE, PAIR, COSTS, WEIGHT, SLOTS = Mode.FAST, Pair(1), Costs(), Weight(1), Slots(17)
WEIGHT.unit = 18
GRADES = pd.Categorical(["a"], categories=["a", "b19"])
NAMED = 20
class Scorer:
    @cached_property
    def of(self):
        "Says what it does."
        return LAST, OTHERWISE, MODE, PAIR, COSTS, WEIGHT, SLOTS, GRADES, globals()["NAMED"]
    def __call__(self, *args):
        pass
        return Level.LOW
def scorer(*args):
    return Scorer()(*args)
"""


@pytest.mark.parametrize("number", range(11, 21))
def test_subclasses_of_plain_types_and_containers_count_with_all_that_they_hold(number):
    first, changed = scorer_of(KINDS), scorer_of(KINDS.replace(str(number), f"{number}0"))
    assert content_hash(changed, with_code=True) != content_hash(first, with_code=True)


@pytest.mark.parametrize("before", ["Says what it does.", "        pass\n"])
def test_what_does_nothing_does_not_count(before):
    first, changed = scorer_of(KINDS), scorer_of(KINDS.replace(before, ""))
    assert content_hash(changed, with_code=True) == content_hash(first, with_code=True)


READERS = [
    "def scorer(*args):\n    import OWN.part\n    return OWN.part.COST",
    "def scorer(*args):\n    from OWN import part\n    return part.COST",
    "def scorer(*args):\n    from OWN.part import cost\n    return cost()",
    "import OWN.part\ndef scorer(*args):\n    return OWN.part.COST",
    "import OWN.part\ndef scorer(*args):\n    return getattr(OWN.part, 'COST')",
    "import OWN.part\nPARTS = [OWN.part]\ndef scorer(*args):\n    return PARTS[0].cost()",
]


@pytest.mark.parametrize("reader", range(len(READERS)))
def test_what_a_function_reads_from_a_module_of_an_own_package_counts(
    reader, tmp_path, monkeypatch
):
    name = f"own_package_{reader}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    source = "COST = 1\ndef cost():\n    return COST\ndef unused():\n    return 1\n"
    (tmp_path / name / "part.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    scorer = scorer_of(READERS[reader].replace("OWN", name))
    before = content_hash(scorer, with_code=True)
    assert content_hash(scorer, with_code=True) == before
    sys.modules[f"{name}.part"].COST = 2
    assert content_hash(scorer, with_code=True) != before


class Holding:
    """A scorer that holds a model and counts its calls."""

    def __init__(self, model):
        self.model, self.calls = model, 0

    def __call__(self, estimator, X, y):
        self.calls += 1
        return 0.5


FITTED = {
    "forest": lambda: RandomForestClassifier(3, random_state=0),
    "pipeline": lambda: make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)),
    "bagging": lambda: BaggingClassifier(n_estimators=2, random_state=0),
    "voting": lambda: VotingClassifier([("tree", DecisionTreeClassifier(random_state=0))]),
    "calibrated": lambda: CalibratedClassifierCV(DecisionTreeClassifier(random_state=0), cv=2),
}
HOLDERS = {
    "frozen": FrozenEstimator,
    "step": lambda model: make_pipeline(FrozenEstimator(model), StandardScaler()),
    "partial": lambda model: FunctionTransformer(partial(max, model)),
    "scorer": Holding,
    "module": scorer_reading,
    "method": lambda model: model.predict,
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("model", FITTED)
def test_a_fitted_model_that_is_not_cloned_counts_with_what_it_has_learned(model, holder):
    models = [FITTED[model]().fit(X, y) for y in (Y, Y, 1 - Y)]
    one, same, other = (content_hash(HOLDERS[holder](m), with_code=True) for m in models)
    assert one == same != other
    assert len({content_hash(m, with_code=True) for m in models}) == 1, "these are cloned"


def test_a_scorer_that_counts_its_calls_can_be_used_twice(tmp_path):
    scorer = Holding(1)
    for kept in ({"checkpoint": tmp_path / "j"}, {"warm_start": True}):
        tree = DecisionTreeClassifier()
        search = HyperbandSearchCV(tree, {"max_depth": [1, 2, 3]}, scoring=scorer, **kept)
        n_calls = search.fit(X, Y) and scorer.calls
        search.fit(X, Y)
        assert scorer.calls == n_calls > 0
    scorer.model = 2  # by the user
    with pytest.warns(UserWarning, match=r"only in scoring.model \(1 before, 2 now\)"):
        search.fit(X, Y)


def test_folders_and_threads_do_not_count():
    one, other = (Pipeline([("scaler", StandardScaler())], memory=name) for name in "ab")
    assert content_hash(one, with_code=True) == content_hash(other, with_code=True)


def test_functions_that_call_each_other_are_read_once():
    """Otherwise, this would take years."""
    calls = "+".join(f"f{i}(x)" for i in range(30)) + "+len(DEEP)"
    source = "".join(f"def f{i}(x): return {calls}\n" for i in range(30))
    namespace: dict[str, Any] = {"__name__": "users_own"}
    exec(compile(source, "users_own.py", "exec"), namespace)
    deep: Any = None
    for _ in range(5000):
        deep = [deep]
    namespace["DEEP"] = deep
    assert len(content_hash(namespace["f0"], with_code=True)) == 32


ELSEWHERE = """
import sys
sys.path[:0] = sys.argv[1:]
import test_content_hash as test
print(test.content_hash(*test.variants(), {"a", "b", "c", frozenset("xyz")}, with_code=True))
"""


def test_hashes_are_the_same_in_another_process(monkeypatch):
    paths = [str(ROOT), str(ROOT / "tests")]
    hashes = set()
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        command = [sys.executable, "-c", ELSEWHERE, *paths]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        hashes.add(done.stdout)
    assert len(hashes) == 1


def test_a_changed_estimator_has_another_digest_beside_another_search():
    model = DecisionTreeClassifier(max_depth=1)
    with code_as_first_seen():
        with code_as_first_seen():
            before = params_digest({"model": model})
        model.set_params(max_depth=8)
        assert params_digest({"model": model}) != before


SENT = """
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn_halving._content_hash import hash_and_code

class Squared(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self
    def transform(self, X):
        return X**2

if __name__ == "__main__":
    here = hash_and_code(Squared())
    there = Parallel(n_jobs=2)([delayed(hash_and_code)(Squared())])[0]
    print(here == there, *here[1])
"""


def test_a_class_of_the_script_counts_in_a_worker_as_here(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SENT)
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    equal, *names = done.stdout.split()
    assert equal == "True"
    assert "Squared.transform" in names


def is_good(estimator, X, y):
    return bool(estimator.score(X, y) > 0.9)


def long_score(estimator, X, y):
    return np.longdouble(estimator.score(X, y)) / 3


@pytest.mark.parametrize("scoring", [None, is_good, long_score])
def test_numbers_of_numpy_and_scores_that_are_true_are_read_back(scoring, tmp_path):
    path = tmp_path / "j"
    search = HyperbandSearchCV(
        DecisionTreeClassifier(), {"max_depth": [1, 2, 3]}, min_resources=np.int64(25),
        n_candidates=np.int64(3), scoring=scoring, cv=2, random_state=0, checkpoint=path,
    )  # fmt: skip
    first = search.fit(*data()).cv_results_["mean_test_score"].tolist()
    again = search.set_params(min_resources=25, n_candidates=3).fit(*data())
    assert again.cv_results_["mean_test_score"].tolist() == first
    assert str(again.summary()).count(" known") == 1
