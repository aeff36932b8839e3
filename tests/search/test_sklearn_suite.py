"""scikit-learn's own tests of GridSearchCV and RandomizedSearchCV, run with our searches.

The test module that is installed with scikit-learn is loaded once for each of five replacements
of its two searches: a search that gives every candidate all rows, and each default search. By
default, each test runs with one of the five, in turn. All of them run with ``--cases=all``.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from types import ModuleType

import pytest
import sklearn.model_selection

from search.common import with_list
from search.substitutes import Correlated, Everyday, Halving, MoreSplits, OneRung

ORIGINAL = "sklearn.model_selection.tests.test_search"

# As in scikit-learn, whose own code may warn.
pytestmark = pytest.mark.filterwarnings("default")

CALLBACKS = "counts the tasks of callbacks; ours also has one for each bracket and rung"
ROWS = "expects a table with one row for each candidate; ours has one for each rung"
COLUMNS = "lists the columns exactly; ours also has n_fits, stage, bracket, iter and others"
COUNTS = "counts the fits of an exhaustive search"
METRIC = "compares searches with different metrics, which eliminate different candidates"
EVERY_FOLD = "expects a score of every candidate on every whole training fold"
NEIGHBOURS = "expects a tie of equal means; in the model, a candidate near a bad one is worse"
RESHUFFLED = "a list of splits ends where KFold is reshuffled"

LEFT_OUT = {
    "test_custom_run_search": "is about the private BaseSearchCV._run_search, which ours lacks",
    "test_search_callbacks_no_propagation": CALLBACKS,
    "test_search_callbacks_propagation": CALLBACKS,
    "test_search_callbacks_with_partial_fit_failures": CALLBACKS,
    "test_array_api_search_cv_classifier": "is skipped without PyTorch and SCIPY_ARRAY_API=1",
}
if not hasattr(sklearn, "callback"):  # before 1.9
    LEFT_OUT["test_random_search_bad_cv"] = "wants 'returned' where 1.9 and ours say 'return'"
LEFT_OUT_WITH_FEWER_FITS = LEFT_OUT | {
    "test_grid_search_cv_results": COLUMNS,
    "test_random_search_cv_results": COLUMNS,
    "test_grid_search_cv_results_multimetric": METRIC,
    "test_random_search_cv_results_multimetric": METRIC,
    "test_refit_callable": EVERY_FOLD,
    "test_grid_search_correct_score_results": EVERY_FOLD,
    "test_grid_search_with_multioutput_data": EVERY_FOLD,
    "test_grid_search_failing_classifier": COUNTS,
    "test_callable_multimetric_error_failing_clf": COUNTS,
}
"""Left out where candidates are eliminated; they pass with a single rung."""
LEFT_OUT_WHEN_HALVING = {
    "test_refit_callable_multi_metric": ROWS,
    "test_refit_callable_out_bound": ROWS,
    "test_search_cv_results_rank_tie_breaking": ROWS,
    "test_search_cv_results_none_param": ROWS,
    "test_search_with_2d_array": ROWS,
    "test_search_cv_sample_weight_equivalence": "weighted and repeated rows: unlike subsets",
    "test_grid_search_classifier_all_fits_fail": COUNTS,
    "test_callable_multimetric_clf_all_fits_fail": COUNTS,
    "test_search_cv_verbose_3": COUNTS,
}
LEFT_OUT_EVERY_DAY = {
    "test_callable_multimetric_clf_all_fits_fail": COUNTS,
    "test_grid_search_classifier_all_fits_fail": COUNTS,
    "test_grid_search_cv_splits_consistency": EVERY_FOLD,
    "test_refit_callable_multi_metric": ROWS,
    "test_search_with_2d_array": ROWS,
}
LEFT_OUT_WITH_MORE_SPLITS = {
    "test_grid_search_cv_splits_consistency": RESHUFFLED,
    "test_search_cv_sample_weight_equivalence": "standard errors count rows, not weights",
    "test_search_cv_verbose_3": COUNTS,
}
LEFT_OUT_WHEN_CORRELATED = {
    "test_grid_search": NEIGHBOURS,
    "test_grid_search_when_param_grid_includes_range": NEIGHBOURS,
    "test_search_cv_results_rank_tie_breaking": NEIGHBOURS,
    "test_grid_search_cv_splits_consistency": RESHUFFLED,
    "test_search_cv_verbose_3": COUNTS,
}


PAIRS = (OneRung, Everyday, Halving, MoreSplits, Correlated)


def load_with(searches: type) -> ModuleType:
    """Return a fresh copy of scikit-learn's test module, with other searches in it."""
    origin = importlib.util.find_spec(ORIGINAL).origin
    name = f"sklearn_test_search_with_{searches.__name__}"
    spec = importlib.util.spec_from_file_location(name, origin)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its classes are pickled by name
    with pytest.MonkeyPatch.context() as patch:
        for search in ("GridSearchCV", "RandomizedSearchCV"):
            patch.setattr(sklearn.model_selection, search, getattr(searches, search))
        spec.loader.exec_module(module)
    return module


def original_tests(module: ModuleType) -> dict[str, Callable[..., None]]:
    """Return the module's tests of searches: those in whose source one is named."""
    functions = {}
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if name.startswith("test_") and "SearchCV" in inspect.getsource(function):
            marks = getattr(function, "pytestmark", [])
            function.pytestmark = [
                with_list(mark).mark if mark.name == "parametrize" else mark for mark in marks
            ]
            functions[name] = function
    return functions


ORIGINALS = {searches: original_tests(load_with(searches)) for searches in PAIRS}


LEFT_OUT_OF = {
    OneRung: LEFT_OUT,
    Everyday: LEFT_OUT_WITH_FEWER_FITS | LEFT_OUT_EVERY_DAY,
    Halving: LEFT_OUT_WITH_FEWER_FITS | LEFT_OUT_WHEN_HALVING,
    MoreSplits: LEFT_OUT_WITH_FEWER_FITS | LEFT_OUT_WITH_MORE_SPLITS,
    Correlated: LEFT_OUT_WITH_FEWER_FITS | LEFT_OUT_WHEN_CORRELATED,
}


def suite(searches: type) -> type:
    """Return a class with the tests of the module. Each runs with one of the five by default."""
    tests = {}
    for number, (name, function) in enumerate(sorted(ORIGINALS[searches].items())):
        possible = [other for other, left_out in LEFT_OUT_OF.items() if name not in left_out]
        if searches not in possible:
            continue
        if searches is not possible[number % len(possible)]:
            function.pytestmark = [*getattr(function, "pytestmark", []), pytest.mark.full.mark]
        tests[name] = staticmethod(function)
    return type("Suite", (), tests)


TestOneRung = suite(OneRung)
TestEveryday = suite(Everyday)
TestHalving = suite(Halving)
TestMoreSplits = suite(MoreSplits)
TestCorrelated = suite(Correlated)


def test_what_is_left_out_exists_and_is_little() -> None:
    left_out = set().union(*LEFT_OUT_OF.values())
    unknown = left_out - set(ORIGINALS[Halving])
    since_1_9 = {name for name in left_out if "callbacks" in name or "array_api" in name}
    assert unknown <= (set() if hasattr(sklearn, "callback") else since_1_9)
    suites = (TestOneRung, TestEveryday, TestHalving, TestMoreSplits, TestCorrelated)
    n_run = [sum(name.startswith("test_") for name in vars(s)) for s in suites]
    least = [70, 57, 53, 58, 56]
    assert all(n >= n_least for n, n_least in zip(n_run, least, strict=True)), n_run


def test_no_original_is_left_in_the_module() -> None:
    for searches in PAIRS:
        names = vars(sys.modules[f"sklearn_test_search_with_{searches.__name__}"])
        assert names["GridSearchCV"] is searches.GridSearchCV
        assert names["RandomizedSearchCV"] is searches.RandomizedSearchCV
