"""The data of the examples, with which the site is built on any machine."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from scripts import ROOT


@pytest.fixture
def data_module(monkeypatch, tmp_path):
    """Return the module of the data on a machine without the files and without a network."""
    monkeypatch.setenv("SKLEARN_HALVING_DATA", str(tmp_path / "nothing"))
    for name in ("socket.socket.connect", "socket.getaddrinfo"):
        monkeypatch.setattr(name, pytest.fail)
    spec = importlib.util.spec_from_file_location("_data", ROOT / "examples" / "_data.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_census_is_replaced_by_data_of_the_same_shape(data_module, capsys):
    X, y = data_module.load_adult()
    assert list(X.columns) == data_module.ADULT_COLUMNS[:-1]
    assert "make_classification of scikit-learn replaces it" in capsys.readouterr().out
    assert 0.2 < y.mean() < 0.35
    assert X["workclass"].isna().any()
    assert len(X.select_dtypes("number").columns) == 6
    assert (X["fnlwgt"] > 0).all()


def test_the_wines_are_replaced_by_data_of_the_same_kind(data_module, capsys):
    X, y = data_module.load_wine_quality()
    assert "load_diabetes of scikit-learn replaces them" in capsys.readouterr().out
    assert (X.shape, np.ptp(y) > 100) == ((442, 10), True)
    assert X.select_dtypes(exclude="number").nunique().tolist() == [2]
