"""Hyperband and its brackets: Table 1 and Figures 4, 7 and 8 of Li et al. (2018), in small

Table 1 is compared number by number. For the figures, random configurations are trained once at
every level of the resource, and searches are replayed on what was recorded: each bracket alone,
Hyperband, random search, and random search with twice the time ("random 2x").

- Figure 4: networks by SGD, epochs, R = 81 and eta = 3. The paper's LeNet on MNIST is a network
  with two hidden layers here, on 900 of the MNIST test images at half their resolution.
- Figure 7: kernel regularised least squares, training rows, eta = 4. CIFAR-10 is MNIST here, and
  the largest level 1,024 rows instead of 40,000.
- Figure 8: random features and ridge regression, eta = 4, 512 features instead of 100,000.

A replay draws its configurations from some hundred recorded ones, so that replays have much in
common: standard errors say how far they differ, not how far another data set would.

``python li_2018.py`` takes a few minutes; ``--figure 7`` and the like plays one alone; ``--quick``
takes a few seconds, on the digits of scikit-learn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from _li_2018_pools import Pool, load_images, record_features, record_kernel, record_network
from _pictures import Panel, save_lines

from sklearn_halving.policies import Hyperband, Problem, Pulls

PRINTED = {  # Table 1 of the paper: s -> (n_i, r_i) for R = 81, eta = 3
    4: [(81, 1), (27, 3), (9, 9), (3, 27), (1, 81)],
    3: [(27, 3), (9, 9), (3, 27), (1, 81)],
    2: [(9, 9), (3, 27), (1, 81)],
    1: [(6, 27), (2, 81)],
    0: [(5, 81)],
}


def table_1() -> None:
    """Compare the brackets, and show those that Algorithm 1 gives."""
    print("Table 1: R = 81, eta = 3\n")
    for rule in ("table_1", "algorithm_1"):
        brackets = Hyperband(schedule_rule=rule).plan(Problem(max_level=81)).brackets
        ours = {b.label: [(r.n_arms, r.level) for r in b.rounds] for b in brackets}
        same = "as printed" if ours == PRINTED else "not as printed"
        print(f"schedule_rule={rule!r}: {same}")
        for label, rungs in ours.items():
            print(f"  s={label}: {rungs}")


class Curve:
    """Test error of the best configuration so far, by validation error, against the cost."""

    def __init__(self, costs: np.ndarray, validation: np.ndarray, test: np.ndarray) -> None:
        self.costs = np.concatenate([[0.0], np.cumsum(costs)])
        is_new = validation < np.minimum.accumulate(np.concatenate([[np.inf], validation[:-1]]))
        best = np.maximum.accumulate(np.where(is_new, np.arange(len(test)), 0))
        self.errors = np.concatenate([[np.nan], test[best]])

    def at(self, cost: np.ndarray | float) -> np.ndarray:
        """Return the error once so much was spent; NaN before the first."""
        return self.errors[np.searchsorted(self.costs, cost, side="right") - 1]


def play(policy: Hyperband, pool: Pool, seed: int) -> Curve:
    """Play a policy on configurations drawn from the pool."""
    n_arms = policy.plan(Problem(1, pool.levels[0], pool.levels[-1])).n_arms
    drawn = np.random.default_rng(seed).integers(len(pool.cost), size=n_arms)
    game = policy.start(Problem(n_arms, pool.levels[0], pool.levels[-1], 1))
    rungs = []
    while not game.is_finished:
        pulls = Pulls.of(game.ask(10**6))
        place = drawn[pulls.arm], np.searchsorted(pool.levels, pulls.level)
        rungs.append((pool.cost[place], pool.validation[place], pool.test[place]))
        for pull, loss in zip(pulls, pool.validation[place].tolist(), strict=True):
            game.tell(pull, -loss)
    return Curve(*(np.concatenate(column) for column in zip(*rungs, strict=True)))


def play_random(pool: Pool, budget: float, seed: int, workers: int = 1) -> Curve:
    """Train random configurations to the end, ``workers`` at a time for the cost of one."""
    n = int(budget / pool.cost[:, -1].mean()) * workers
    drawn = np.random.default_rng(seed).integers(len(pool.cost), size=n)
    table = pool.cost[drawn, -1] / workers, pool.validation[drawn, -1], pool.test[drawn, -1]
    return Curve(*table)


def compare(
    pool: Pool, n_replays: int, n_loops: int, options: dict[str, object]
) -> dict[str, list[Curve]]:
    """Play all searchers; a bracket alone is repeated until it costs about as much."""
    s_max = len(pool.levels) - 1
    searchers: dict[str, Callable[[int], Curve]] = {}
    for s in range(s_max, -1, -1):
        policy = Hyperband(
            brackets=[s], n_loops=n_loops * (s_max + 1), select="all_rungs", **options
        )
        searchers[f"bracket s={s}"] = lambda seed, policy=policy: play(policy, pool, seed)
    policy = Hyperband(n_loops=n_loops, select="all_rungs", **options)
    searchers["Hyperband"] = lambda seed: play(policy, pool, seed)
    budget = float(np.mean([play(policy, pool, seed).costs[-1] for seed in range(5)])) * 4
    searchers["random"] = lambda seed: play_random(pool, budget, seed)
    searchers["random 2x"] = lambda seed: play_random(pool, budget, seed, 2)
    return {name: [run(seed) for seed in range(n_replays)] for name, run in searchers.items()}


def show(curves: dict[str, list[Curve]], costs: dict[str, float]) -> None:
    """Print mean test errors, with standard errors, at some costs."""
    print("| | " + " | ".join(costs) + " |")
    print("|---" * (len(costs) + 1) + "|")
    for name, of_searcher in curves.items():
        cells = []
        for cost in costs.values():
            errors = np.array([curve.at(cost) for curve in of_searcher])
            if np.isnan(errors).any():
                cells.append("")
                continue
            spread = errors.std(ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.nan
            cells.append(f"{errors.mean():.4f} ({spread:.4f})")
        print(f"| {name} | " + " | ".join(cells) + " |")


def panel_of(title: str, label: str, curves: dict[str, list[Curve]]) -> Panel:
    """Return mean test errors with standard errors, from where all replays have one."""
    grid = np.geomspace(0.05, 1, 25) * max(curve.costs[-1] for curve in curves["Hyperband"])
    lines = {}
    for name, of_searcher in curves.items():
        errors = np.array([curve.at(grid) for curve in of_searcher])
        known = ~np.isnan(errors).any(axis=0)
        spread = errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
        lines[name] = grid[known], errors.mean(axis=0)[known], spread[known]
    return Panel(title, label, "test error", lines, log="xy")


def show_speed(curves: dict[str, list[Curve]]) -> None:
    """Print how much longer random search takes to where Hyperband is after its first loop."""
    grid = np.geomspace(1e-3, 1, 400) * max(c.costs[-1] for c in curves["random"])
    means = {n: np.array([c.at(grid) for c in cs]) for n, cs in curves.items()}
    means = {n: np.where(np.isnan(m), 1.0, m).mean(axis=0) for n, m in means.items()}
    half = float(np.mean([c.costs[-1] for c in curves["Hyperband"]])) / 2
    n_first = min(len(grid) - 1, int(np.searchsorted(grid, half)))
    goal = means["Hyperband"][n_first]
    print(f"\nMean test error of Hyperband after half its time: {goal:.4f}. Reached after")
    reference = None
    for name in ("Hyperband", *(n for n in curves if n != "Hyperband")):
        reached = np.flatnonzero(means[name] <= goal)
        if len(reached):
            cost = grid[reached[0]]
            reference = cost if reference is None else reference
            print(f"  {name}: {cost:.3g}, {cost / reference:.1f} times as long")
        else:
            print(f"  {name}: not reached in {grid[-1]:.3g}")


def figure_4(*, quick: bool) -> None:
    """Networks, epochs."""
    levels = (1, 3, 9, 27, 81)
    images = load_images(300 if quick else 900, quick=quick)
    start = time.process_time()
    pool = record_network(12 if quick else 100, levels[: 3 if quick else 5], images)
    spent = time.process_time() - start
    print(
        f"\nFigure 4: {len(pool.cost)} networks on {images.name}, {len(images.X)} training rows,"
    )
    print(f"{pool.levels[-1]} epochs; recorded in {spent:.0f} s. Mean test error:\n")
    rule = "algorithm_1" if quick else "table_1"
    curves = compare(pool, 3 if quick else 70, 2, {"factor": 3, "schedule_rule": rule})
    R = pool.levels[-1]
    show(curves, {f"{k}R": k * R for k in (5, 10, 25, 50)})
    show_speed(curves)
    if not quick:
        save_lines("li_2018_figure_4.png", [panel_of("Figure 4: networks", "epochs", curves)], 4)


def figure_7(*, quick: bool) -> None:
    """Kernels, rows."""
    levels = (8, 32, 128) if quick else (16, 64, 256, 1024)
    images = load_images(levels[-1], quick=quick)
    start = time.process_time()
    pool = record_kernel(20 if quick else 150, levels, images)
    spent = time.process_time() - start
    print(f"\nFigure 7: {len(pool.cost)} kernel least squares on {images.name}, at most")
    print(f"{levels[-1]} rows; recorded in {spent:.0f} s. Mean test error after seconds:\n")
    show_in_seconds(pool, 7, quick=quick)


def figure_8(*, quick: bool) -> None:
    """Random features, their number."""
    levels = (4, 16, 64) if quick else (8, 32, 128, 512)
    images = load_images(300 if quick else 1500, quick=quick)
    start = time.process_time()
    pool = record_features(20 if quick else 200, levels, images)
    spent = time.process_time() - start
    print(f"\nFigure 8: {len(pool.cost)} random-feature models on {images.name}, at most")
    print(f"{levels[-1]} features; recorded in {spent:.0f} s. Mean test error after seconds:\n")
    show_in_seconds(pool, 8, quick=quick)


def show_in_seconds(pool: Pool, number: int, *, quick: bool) -> None:
    """Compare the searchers by processor time."""
    full = float(pool.cost[:, -1].mean())
    print(f"A model at all of the resource takes {full:.3f} s, ", end="")
    print(f"at the smallest level {pool.cost[:, 0].mean():.3f} s.\n")
    curves = compare(pool, 3 if quick else 100, 2, {"factor": 4})
    show(curves, {f"{k * full:.3g} s ({k} models)": k * full for k in (3, 5, 10, 20, 40)})
    show_speed(curves)
    if not quick:
        title = {7: "Figure 7: kernels", 8: "Figure 8: random features"}[number]
        panels = [panel_of(title, "seconds of processor time", curves)]
        save_lines(f"li_2018_figure_{number}.png", panels, 4)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--figure", type=int, choices=(1, 4, 7, 8), help="1 is Table 1")
    options = parser.parse_args()
    if options.figure in (None, 1):
        table_1()
    for number, figure in {4: figure_4, 7: figure_7, 8: figure_8}.items():
        if options.figure in (None, number):
            figure(quick=options.quick)


if __name__ == "__main__":
    main()
