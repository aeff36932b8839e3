"""Other libraries' searches for `yahpo.py`; `PEERS` has those whose library is installed.

All have their defaults and fit a candidate on all splits.
"""

from __future__ import annotations

import logging
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from _yahpo_searches import BUDGETS, Params, Runner, Task, Try, choices
from _yahpo_surrogates import LARGEST, Scenario

LARGEST_OF_GP = 100
"""Candidates of GPSampler: a proposal takes longer with every candidate that it knows."""


def optuna_search(sampler_name: str, most: int = BUDGETS[-1], **options: Any) -> Runner:
    """Return a search of Optuna with no more candidates than ``most``, looked at on the way."""

    def run(task: Task, seed: int) -> list[Params | None]:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        tries: list[Try] = []

        def objective(trial: Any) -> float:
            params = _suggested(trial, task.scenario)
            score = task.mean_score(params)
            tries.append((params, 1.0, score, float(task.n_splits)))
            return score

        sampler = getattr(optuna.samplers, sampler_name)(seed=seed, **options)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        known = [budget for budget in task.fits if budget <= most]
        study.optimize(objective, n_trials=known[-1])
        return choices(tries, task)[: len(known)]

    return run


def _suggested(trial: Any, scenario: Scenario) -> Params:
    """Return the parameters of a trial, those that a parent switches off left out."""
    spaces, params = scenario.space, {}
    by_name = {p["name"]: p for p in scenario.parameters}
    names = list(spaces[0])
    if len(spaces) > 1:
        parent = names[0]
        params[parent] = trial.suggest_categorical(parent, by_name[parent]["choices"])
        [names] = [list(space)[1:] for space in spaces if space[parent] == [params[parent]]]
    for name in names:
        p = by_name[name]
        if p["type"] == "categorical":
            params[name] = trial.suggest_categorical(name, p["choices"])
        elif p["type"] == "uniform_int":
            params[name] = trial.suggest_int(name, p["lower"], p["upper"], log=p["log"])
        else:
            params[name] = trial.suggest_float(name, p["lower"], p["upper"], log=p["log"])
    return params


def smac_full_fits(task: Task, seed: int) -> list[Params | None]:
    """Return what SMAC3 chooses with full fits alone, anew for each budget.

    It draws up to a quarter of its candidates before it models them, so the budget counts.
    """
    found = []
    for budget in task.fits:
        tries = _smac("HyperparameterOptimizationFacade", task, seed, n_trials=budget)
        found.append(choices(tries, task)[-1])
    return found


def smac_multi_fidelity(task: Task, seed: int) -> list[Params | None]:
    """Return what SMAC3 chooses with Hyperband's levels, looked at on the way."""
    levels = {"min_budget": 1, "max_budget": LARGEST, "n_trials": task.fits[-1] * LARGEST}
    return choices(_smac("MultiFidelityFacade", task, seed, **levels), task)


def _smac(facade: str, task: Task, seed: int, **options: Any) -> list[Try]:
    """Return the fits of SMAC3, no more than the largest budget."""
    import smac

    tries: list[Try] = []

    def cost(config: Any, seed: int = 0, budget: float = LARGEST) -> float:
        params, share = dict(config), round(budget) / LARGEST
        score = task.mean_score(params, round(budget))
        tries.append((params, share, score, share * task.n_splits))
        return -score

    class Limit(smac.Callback):
        def on_tell_end(self, smbo: Any, info: Any, value: Any) -> bool:
            return sum(tried[-1] for tried in tries) < task.budgets[-1]

    with TemporaryDirectory() as folder:
        scenario = smac.Scenario(
            _smac_space(task.scenario, seed),
            output_directory=Path(folder),
            deterministic=True,
            seed=seed,
            **options,
        )
        search = getattr(smac, facade)(
            scenario, cost, logging_level=logging.ERROR, callbacks=[Limit()], overwrite=True
        )
        search.optimize()
    return tries


def _smac_space(scenario: Scenario, seed: int) -> Any:
    """Return the space of a surrogate with its conditions."""
    import ConfigSpace

    space = ConfigSpace.ConfigurationSpace(seed=seed)
    for p in scenario.parameters:
        if p["type"] == "categorical":
            space.add(ConfigSpace.CategoricalHyperparameter(p["name"], p["choices"]))
        else:
            whole = p["type"] == "uniform_int"
            kind = (
                ConfigSpace.UniformIntegerHyperparameter
                if whole
                else ConfigSpace.UniformFloatHyperparameter
            )
            space.add(kind(p["name"], p["lower"], p["upper"], log=p["log"]))
    for c in scenario.conditions:
        values = c.get("values", [c.get("value")])
        space.add(ConfigSpace.InCondition(space[c["child"]], space[c["parent"]], values))
    return space


ALL: dict[str, tuple[tuple[str, ...], Runner]] = {
    "Optuna TPE": (
        ("optuna",),
        optuna_search("TPESampler", multivariate=True, group=True),
    ),
    "SMAC3, full fits": (("smac",), smac_full_fits),
    "SMAC3, multi-fidelity": (("smac",), smac_multi_fidelity),
    "Optuna GPSampler": (("optuna", "torch"), optuna_search("GPSampler", LARGEST_OF_GP)),
}
"""All peers: name, libraries that must be installed, search."""
PEERS = {name: run for name, (libraries, run) in ALL.items() if all(map(find_spec, libraries))}
