"""Surrogates of YAHPO Gym as estimators whose score is what a network predicts.

Pfisterer, Schneider, Moosbauer, Binder and Bischl. YAHPO Gym: an efficient multi-objective
multi-fidelity benchmark for hyperparameter optimization. AutoML-Conf 2022.
"""

from __future__ import annotations

import json
from functools import cached_property, lru_cache
from math import exp, floor, log
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator

from sklearn_halving.samplers import Space

LARGEST = 27
"""Level of a full fit; the others are shares of it."""
NUMBERS = {
    "lcbench": [
        *("epoch", "batch_size", "learning_rate", "momentum", "weight_decay", "num_layers"),
        *("max_units", "max_dropout"),
    ],
    "rbv2_rpart": ["cp", "maxdepth", "minbucket", "minsplit", "trainsize", "repl"],
    "rbv2_xgboost": [
        *("nrounds", "eta", "gamma", "lambda", "alpha", "subsample", "max_depth"),
        *("min_child_weight", "colsample_bytree", "colsample_bylevel", "rate_drop", "skip_drop"),
        *("trainsize", "repl"),
    ],
}
DATA_SET = {"lcbench": "OpenML_task_id"}
TARGET = {"lcbench": 1}
"""Which of the outputs is the accuracy; elsewhere the first."""


class LogInteger:
    """Whole numbers from ``low`` to ``high``, evenly spread in their logarithm."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def support(self) -> tuple[int, int]:
        return self.low, self.high

    def cdf(self, value: Any) -> Any:
        below = np.clip(np.floor(np.asarray(value, dtype=float)) + 1, self.low, self.high + 1)
        return np.log(below / self.low) / log((self.high + 1) / self.low)

    def pmf(self, value: Any) -> Any:
        return self.cdf(value) - self.cdf(np.asarray(value) - 1)

    def ppf(self, x: float) -> int:
        value = floor(self.low * exp(x * log((self.high + 1) / self.low)) + 1e-9)
        return min(max(value, self.low), self.high)

    def rvs(self, random_state: np.random.RandomState) -> int:
        return self.ppf(float(random_state.uniform()))


class Scenario:
    """One surrogate: its parameters, and its predictions for all its data sets."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self._folder = folder
        self._config = json.loads((folder / "config_space.json").read_text())
        self._codes = json.loads((folder / "encoding.json").read_text())
        self._key = DATA_SET.get(self.name, "task_id")
        self._numbers = NUMBERS[self.name]
        fixed = {self._key, "epoch", "trainsize", "repl"}
        self.parameters = [p for p in self._config["hyperparameters"] if p["name"] not in fixed]
        self.conditions = self._config["conditions"]
        categories = [p for p in self._config["hyperparameters"] if p["type"] == "categorical"]
        self._categories = [p["name"] for p in categories if p["name"] != self._key]

    def __reduce__(self) -> Any:
        return scenario_at, (str(self._folder),)

    @property
    def data_sets(self) -> list[str]:
        """Names of all data sets."""
        own = next(p for p in self._config["hyperparameters"] if p["name"] == self._key)
        return sorted(own["choices"], key=int)

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return onnxruntime.InferenceSession(str(self._folder / "model.onnx"), options)

    @cached_property
    def space(self) -> list[dict[str, Any]]:
        """The parameters as a list of dicts, one for each value that others depend on."""
        parents = {condition["parent"] for condition in self.conditions}
        of_name = {p["name"]: _values(p) for p in self.parameters}
        if not parents:
            return [of_name]
        [parent] = parents
        children = {c["child"]: c.get("values", [c.get("value")]) for c in self.conditions}
        return [
            {parent: [value]}
            | {
                name: values
                for name, values in of_name.items()
                if name != parent and value in children.get(name, of_name[parent])
            }
            for value in of_name[parent]
        ]

    @cached_property
    def middle(self) -> dict[str, Any]:
        """The middle of the range of each parameter."""
        spaces = [Space.of(one_dict) for one_dict in reversed(self.space)]
        middles = [space.params_at(np.full(space.n_dimensions, 0.5)) for space in spaces]
        return {name: value for params in middles for name, value in params.items()}

    def active(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters that no parent switches off."""
        for one_dict in self.space:
            fixed = {n: v[0] for n, v in one_dict.items() if isinstance(v, list) and len(v) == 1}
            if all(params[name] == value for name, value in fixed.items()):
                return {name: params[name] for name in one_dict}
        raise ValueError(f"{params} are in no part of the space.")

    def accuracy(self, data_set: str, candidates: list[dict[str, Any]], level: int) -> np.ndarray:
        """Return the accuracy of candidates after a share of the epochs, or on one of the rows."""
        codes = np.zeros((len(candidates), 1 + len(self._categories)), dtype=np.int32)
        codes[:, 0] = self._codes[self._key][data_set]
        numbers = np.zeros((len(candidates), len(self._numbers)), dtype=np.float32)
        fidelity = {
            "epoch": max(1, round(52 * level / LARGEST)),
            "trainsize": max(0.03, level / LARGEST),
            "repl": 10,
        }
        for i, params in enumerate(candidates):
            known = {**fidelity, **params}
            numbers[i] = [known.get(name, 0.0) for name in self._numbers]
            for j, name in enumerate(self._categories, start=1):
                codes[i, j] = self._codes[name][known.get(name, "#na#")]
        of_codes, of_numbers = self._session.get_inputs()
        if "int" not in of_codes.type:
            of_codes, of_numbers = of_numbers, of_codes
        kind = np.int64 if "64" in of_codes.type else np.int32
        fed = {of_codes.name: codes.astype(kind), of_numbers.name: numbers}
        [outputs] = self._session.run(None, fed)
        accuracy: np.ndarray = outputs[:, TARGET.get(self.name, 0)].astype(np.float64)
        return accuracy


@lru_cache
def scenario_at(folder: str) -> Scenario:
    """Return the surrogate in a folder, read once in a process."""
    return Scenario(Path(folder))


def _values(parameter: dict[str, Any]) -> Any:
    """Return one parameter as a search takes it."""
    if parameter["type"] == "categorical":
        return parameter["choices"]
    low, high = parameter["lower"], parameter["upper"]
    if parameter["type"] == "uniform_int":
        return LogInteger(low, high) if parameter["log"] else randint(low, high + 1)
    return loguniform(low, high) if parameter["log"] else uniform(low, high - low)


class Surrogate(BaseEstimator):
    """An estimator with the parameters of a surrogate, whose score is its prediction.

    As it is, it has the middle of each range.

    With ``noise`` the score of a split has an error that all candidates share, of standard
    deviation .010, and one of its own, of standard deviation .006 times a factor between .5 and 2
    that belongs to the candidate; both in units of the accuracy, from 0 to 1.
    """

    def __init__(
        self,
        scenario: Scenario | None = None,
        data_set: str = "",
        level: int = LARGEST,
        noise: int | None = None,
        **params: Any,
    ) -> None:
        self.scenario = scenario
        self.data_set = data_set
        self.level = level
        self.noise = noise
        self._params = params

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("scenario", "data_set", "level", "noise")}
        return {**own, **(self.scenario.middle if self.scenario else {}), **self._params}

    def set_params(self, **params: Any) -> Surrogate:
        for name, value in params.items():
            if name in ("scenario", "data_set", "level", "noise"):
                setattr(self, name, value)
            else:
                self._params[name] = value
        return self

    def fit(self, X: Any, y: Any = None) -> Surrogate:
        given = self.scenario.active({**self.scenario.middle, **self._params})
        [value] = self.scenario.accuracy(self.data_set, [given], self.level)
        self.value_ = value / 100 if self.scenario.name == "lcbench" else value
        self.digest_ = crc32(repr(sorted(given.items())).encode())
        return self

    def score(self, X: Any, y: Any = None) -> float:
        if self.noise is None:
            return float(self.value_)
        split = int(np.asarray(X)[0, 0])  # rows are numbered by their split
        shared = 0.010 * np.random.default_rng([self.noise, split]).standard_normal()
        own = np.random.default_rng([self.noise, self.digest_])
        width = 0.006 * 2 ** own.uniform(-1, 1)
        noise = np.random.default_rng([self.noise, self.digest_, split, self.level])
        return float(self.value_ + shared + width * noise.standard_normal())
