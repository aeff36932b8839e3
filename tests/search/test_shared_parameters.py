"""What the searches share: parameters with the same words in all docstrings, and their errors."""

from __future__ import annotations

import pickle
import re
import warnings
from collections import defaultdict
from inspect import cleandoc, signature
from itertools import product

import pytest
from sklearn.base import clone
from sklearn.svm import SVC

from search.common import FITS, SEARCHES, Recording, data, parametrize_searches, small
from sklearn_halving import (
    AdaptiveSearchCV,
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.policies import Hyperband


def texts_of(owner, title):
    """Return the text of each entry of a section, which begins with its type."""
    pattern = rf"(?ms)^{title}\n-+\n(.*?)(?=\n\n[A-Z][\w ]+\n---|\Z)"
    section = re.search(pattern, cleandoc(owner.__doc__))[1]
    return re.findall(r"(?ms)^(\w+) : (.*?)(?=^\w|\Z)", section)


def written(default):
    """Return a default value as docstrings show it."""
    if isinstance(default, str):
        return f'"{default}"'
    return "np.nan" if repr(default) == "nan" else repr(default)


@parametrize_searches
def test_every_parameter_is_documented_in_order_with_its_default(search_class):
    documented = [
        (name, kind.rpartition("default=")[2] if "default=" in kind else None)
        for name, kind in ((n, t.splitlines()[0]) for n, t in texts_of(search_class, "Parameters"))
    ]
    assert signature(search_class).parameters.keys() - dict(documented) == set()
    assert documented == [
        (name, None if parameter.default is parameter.empty else written(parameter.default))
        for name, parameter in signature(search_class).parameters.items()
    ]


OWN_WORDS = {
    *("best_probability_", "cv", "cv_results_", "fits_in_flight", "initial_candidates"),
    *("max_resources", "min_resources", "n_candidates", "n_fits", "resource", "sampler"),
    "time_budget",
}


def test_what_searches_share_is_documented_in_the_same_words():
    """But for the entries of which each class says what is its own."""
    texts = defaultdict(list)
    for title, search_class in product(("Parameters", "Attributes"), SEARCHES):
        for name, text in texts_of(search_class, title):
            texts[name].append(text)
    different = {name for name, found in texts.items() if len(set(found)) > 1}
    assert different == OWN_WORDS


@parametrize_searches
def test_at_most_24_parameters(search_class):
    assert len(signature(search_class).parameters) <= 24


@parametrize_searches
def test_every_attribute_of_a_fitted_search_is_documented_once(search_class):
    names = [name for name, _ in texts_of(search_class, "Attributes")]
    assert len(names) == len(set(names))
    search = small(search_class, SVC(), {"C": [0.01, 0.1, 1.0, 10.0]}).fit(*data())
    found = {name for name in vars(search) if name.endswith("_") and not name.startswith("_")}
    assert found <= set(names)


@parametrize_searches
def test_names_of_grid_search_are_refused_with_the_name_to_use(search_class):
    with pytest.raises(TypeError, match=r"argument 'param_grid'; use param_distributions"):
        search_class(SVC(), param_grid={"C": [1.0]})
    number = "n_fits" if search_class is AdaptiveSearchCV else "n_candidates"
    with pytest.raises(TypeError, match=rf"{search_class.__name__}.*'n_iter'; use {number}"):
        search_class(SVC(), {"C": [1.0]}, n_iter=10)
    with pytest.raises(TypeError, match=r"'scorring'\. Did you mean 'scoring'\?$"):
        search_class(SVC(), {"C": [1.0]}, scorring="accuracy")
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'nonsense'$"):
        search_class(SVC(), {"C": [1.0]}, nonsense=10)
    assert number in signature(search_class).parameters


@pytest.mark.parametrize(
    ("search_class", "name", "owners"),
    [
        (HyperbandSearchCV, "sampler", "it is a parameter of AdaptiveSearchCV, BanditSearchCV"),
        (BanditSearchCV, "factor", "it is a parameter of HyperbandSearchCV"),
        (AdaptiveSearchCV, "kernel", "it is a parameter of BayesGapSearchCV"),
    ],
)
def test_a_parameter_of_another_search_is_refused_with_its_name(search_class, name, owners):
    with pytest.raises(TypeError, match=f"'{name}'; {owners}"):
        search_class(SVC(), {"C": [1.0]}, **{name: 1})


def test_a_subclass_may_have_parameters_of_other_searches_and_of_its_own():
    class Own(HyperbandSearchCV):
        def __init__(self, estimator, param_grid, **others):
            self.others = others
            super().__init__(estimator, param_grid)

    search = Own(SVC(), {"C": [1.0]}, sampler="mine", n_iter=3)
    assert search.param_distributions == {"C": [1.0]}
    assert search.others == {"sampler": "mine", "n_iter": 3}
    shown = Own.__signature__  # Sphinx reads it, and would else show that of `__new__`
    assert [*shown.parameters] == ["estimator", "param_grid", "others"]
    assert HyperbandSearchCV.__signature__ == signature(HyperbandSearchCV)


def test_a_subclass_gets_the_hints_of_its_search_and_for_its_own_parameters():
    class Own(AdaptiveSearchCV):
        def __init__(self, estimator, param_distributions, *, extra=1, n_fits=None):
            self.extra = extra
            super().__init__(estimator, param_distributions, n_fits=n_fits)

    for name, hint in {"n_iter": "; use n_fits", "extr": r"\. Did you mean 'extra'\?"}.items():
        with pytest.raises(TypeError, match=rf"Own\(\) got .* '{name}'{hint}"):
            Own(SVC(), {"C": [1.0]}, **{name: 2})
    assert Own(SVC(), {"C": [1.0]}, extra=2).extra == 2


@pytest.mark.parametrize(
    ("search_class", "name", "value"),
    [
        (VarianceHalvingSearchCV, "n_fits", 0),
        (VarianceHalvingSearchCV, "allocation", "known"),
        (VarianceHalvingSearchCV, "stop_probability", 0.4),
        (VarianceHalvingSearchCV, "tolerance", -1),
        (BayesGapSearchCV, "kernel", "cubic"),
        (BayesGapSearchCV, "n_candidates", 0),
        (BayesGapSearchCV, "beta", 0),
        (BayesGapSearchCV, "beta", "wide"),
        (BayesGapSearchCV, "acquisition", "ucb"),
        (BayesGapSearchCV, "fits_in_flight", 0),
        (HyperbandSearchCV, "error_score", "rise"),
    ],
)
def test_a_value_out_of_range_is_refused_before_any_fit(search_class, name, value):
    FITS.clear()
    search = small(search_class, Recording(), {"value": [0.1, 0.2]}, **{name: value})
    message = f"'{name}' parameter of {search_class.__name__} must be"
    with pytest.raises(ValueError, match=message):
        search.fit(*data())
    assert len(FITS) == 0


@parametrize_searches
def test_an_amount_alone_is_one_of_rows(search_class):
    search = search_class(SVC(), {"C": [0.1, 1.0]}, max_resources=70, random_state=0)
    assert search.fit(*data(100)).history_["n_resources"].max() == 70


@pytest.mark.parametrize("search_class", [AdaptiveSearchCV, BanditSearchCV])
def test_without_a_budget_of_fits_none_are_left(search_class):
    own = {BanditSearchCV: {"policy": Hyperband(), "resource": "n_samples"}}.get(search_class, {})
    search = search_class(SVC(), {"C": [0.1, 1.0]}, cv=3, **own)
    with warnings.catch_warnings(action="ignore"):
        assert search.fit(*data()).n_fits_left_ is None


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
