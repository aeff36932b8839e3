"""What the searches share is documented in all of them, and validated by one rule."""

from __future__ import annotations

import pickle
import re
from inspect import cleandoc, signature

import pytest
from sklearn.base import clone
from sklearn.svm import SVC

from search.common import SEARCHES, data, small
from sklearn_halving.search._parameters import SharedParameters, document_search

parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)


def entries(owner, title):
    """Return the headings of a section: names and types."""
    pattern = rf"(?ms)^{title}\n-+\n(.*?)(?=\n\n[A-Z][\w ]+\n---|\Z)"
    section = re.search(pattern, cleandoc(owner.__doc__))
    return re.findall(r"^(\w+) : (.+)$", section[1], re.MULTILINE)


def written(default):
    """Return a default value as docstrings show it."""
    if isinstance(default, str):
        return f'"{default}"'
    return "np.nan" if repr(default) == "nan" else repr(default)


@parametrize_searches
def test_every_parameter_is_documented_in_order_with_its_default(search_class):
    documented = [
        (name, kind.rpartition("default=")[2] if "default=" in kind else None)
        for name, kind in entries(search_class, "Parameters")
    ]
    assert signature(search_class).parameters.keys() - dict(documented) == set()
    assert documented == [
        (name, None if parameter.default is parameter.empty else written(parameter.default))
        for name, parameter in signature(search_class).parameters.items()
    ]


@parametrize_searches
def test_a_shared_parameter_is_in_every_constructor(search_class):
    shared = {name for name, _ in entries(SharedParameters, "Parameters")}
    assert shared - signature(search_class).parameters.keys() == set()


@parametrize_searches
def test_every_attribute_of_a_fitted_search_is_documented_once(search_class):
    names = [name for name, _ in entries(search_class, "Attributes")]
    assert len(names) == len(set(names))
    search = small(search_class, SVC(), {"C": [0.01, 0.1, 1.0, 10.0]}).fit(*data())
    found = {name for name in vars(search) if name.endswith("_") and not name.startswith("_")}
    assert found <= set(names)


def test_a_parameter_without_a_type_is_named_when_its_class_is_created():
    def new_class():
        class Search(SharedParameters):
            def __init__(self, estimator, forgotten=1):
                self._set_parameters(locals())

        return document_search(Search)

    with pytest.raises(KeyError, match="forgotten"):
        new_class()


@parametrize_searches
def test_names_of_grid_search_are_refused_with_the_name_to_use(search_class):
    with pytest.raises(TypeError, match=r"argument 'param_grid'; use param_distributions"):
        search_class(SVC(), param_grid={"C": [1.0]})
    number = "n_candidates"
    with pytest.raises(TypeError, match=rf"{search_class.__name__}.*'n_iter'; use {number}"):
        search_class(SVC(), {"C": [1.0]}, n_iter=10)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'nonsense'$"):
        search_class(SVC(), {"C": [1.0]}, nonsense=10)
    assert number in signature(search_class).parameters


@parametrize_searches
def test_searches_are_subclassed_cloned_and_pickled(search_class):
    class Own(search_class):
        def __init__(self, estimator, param_grid, n_iter=10):
            super().__init__(estimator, param_grid, random_state=n_iter)
            self.param_grid = param_grid
            self.n_iter = n_iter

    own = clone(Own(SVC(), param_grid={"C": [1.0]}, n_iter=3))
    assert own.get_params(deep=False).keys() == {"estimator", "param_grid", "n_iter"}
    assert own.random_state == 3
    search = pickle.loads(pickle.dumps(clone(search_class(SVC(), {"C": [1.0]}, n_jobs=2))))
    assert search.get_params(deep=False).keys() == signature(search_class).parameters.keys()
    assert (search.n_jobs, search.param_distributions) == (2, {"C": [1.0]})
