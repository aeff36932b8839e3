"""Optuna's TPE for `yahpo.py`, if it is installed. It fits a candidate on all splits."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from _yahpo_searches import Params, Task, Try, choices
from _yahpo_surrogates import Scenario


def optuna_tpe(task: Task, seed: int) -> list[Params | None]:
    """Return the choices of TPE, looked at on the way."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    tries: list[Try] = []

    def objective(trial: Any) -> float:
        params = suggested(trial, task.scenario)
        score = task.mean_score(params)
        tries.append((params, 1.0, score, float(task.n_splits)))
        return score

    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=task.fits[-1])
    return choices(tries, task)


def suggested(trial: Any, scenario: Scenario) -> Params:
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


PEERS = {"Optuna TPE": optuna_tpe} if find_spec("optuna") else {}
