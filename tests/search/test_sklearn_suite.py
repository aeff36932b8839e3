"""scikit-learn's own tests of GridSearchCV and RandomizedSearchCV, with ours in their place.

The module that is installed with scikit-learn is loaded afresh while its two searches are
replaced, once by a search that gives every candidate all rows and once by the default search.
"""

from __future__ import annotations

import importlib.util
import sys
from inspect import isfunction
from types import ModuleType

import pytest
import sklearn.model_selection

from search.substitutes import Halving, OneRung

ORIGINAL = "sklearn.model_selection.tests.test_search"

# As scikit-learn runs them: what its own code warns of is not our concern.
pytestmark = pytest.mark.filterwarnings("default")


def load_with(searches: type) -> ModuleType:
    """Return a fresh copy of scikit-learn's test module, with other searches in it."""
    spec = importlib.util.find_spec(ORIGINAL)
    name = f"sklearn_test_search_with_{searches.__name__}"
    spec = importlib.util.spec_from_file_location(name, spec.origin)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its classes are pickled by name
    names = ("GridSearchCV", "RandomizedSearchCV")
    with pytest.MonkeyPatch.context() as patch:
        for search in names:
            patch.setattr(sklearn.model_selection, search, getattr(searches, search))
        spec.loader.exec_module(module)
    return module


def functions_of(module: ModuleType) -> dict:
    return {
        name: value
        for name, value in vars(module).items()
        if name.startswith("test_") and isfunction(value)
    }


def _with_lists(mark: pytest.Mark) -> pytest.Mark:
    """Return the mark with a list where it has a generator, which pytest 10 will refuse."""
    if mark.name != "parametrize":
        return mark
    names, values = mark.args
    return pytest.mark.parametrize(names, list(values), **mark.kwargs).mark


LEFT_OUT: dict[str, str] = {}
LEFT_OUT_WHEN_HALVING: dict[str, str] = {}


def _class_of(module, left_out):
    kept = {}
    for name, function in functions_of(module).items():
        if name not in left_out:
            function.pytestmark = [_with_lists(m) for m in getattr(function, "pytestmark", [])]
            kept[name] = staticmethod(function)
    return type("Suite", (), kept)


TestOneRung = _class_of(load_with(OneRung), LEFT_OUT)
TestHalving = _class_of(load_with(Halving), LEFT_OUT | LEFT_OUT_WHEN_HALVING)
