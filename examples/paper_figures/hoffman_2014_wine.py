"""Ten fits for 160 regressors: wine quality, Figures 3 and 4 of Hoffman et al. (2014)

The scores of all 160 regressors of section 6.2 on 200 random splits (10 % of the wines for
training, 10 % for testing) are recorded once, in about three minutes, and kept in ``--cache``.
On them searches are replayed 100 times, each on splits of its own. What they recommend is judged
by its mean RMSE over all 200 splits. Every rule is played twice:

- "paper": with the prior as printed, a squared exponential of unit length on parameters scaled to
  [0, 1] inside of each of the five methods, and nothing across; every pull on a new split; noise
  of 5 % of the arms' variance, as in section 6.1, since 6.2 names none;
- "search": by `BayesGapSearchCV` as it comes, which estimates length scales and noise, and puts
  every candidate's j-th pull on split j.

The order of the arms, to the first of which ties go, is random; ``--ordered`` keeps that of the
grids, whose first candidates are corners.

Forests have 1, 3, 10 and 30 trees where the paper's have 1, 10, 100 and 1000; other differences
are listed in ``_hoffman_2014_wine_scores.py``. Linear SVMs are libsvm's, the only ones
that scikit-learn had in 2013. ``--liblinear`` takes `LinearSVR` in their place, which penalises
the intercept, so that with C = 0.001 its RMSE is 5.2 where others have 0.72 to 0.97: a test of
what one such score does to the rest.

``python hoffman_2014_wine.py`` takes about ten minutes; ``--quick`` a few seconds.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from _common import Report, one_thread
from _hoffman_2014_wine_arms import (
    ARMS,
    FAMILIES,
    ROW,
    ReplayedRegressor,
    Table,
    load_table,
    paper_covariance,
    search_space,
)

from sklearn_halving import BayesGapSearchCV
from sklearn_halving.policies import BayesGap, Problem

RULES = {
    "BayesGap": "bayesgap",
    "Thompson": "thompson",
    "BayesUCB": "bayes_ucb",
    "GP-UCB": "gp_ucb",
    "EI": "ei",
    "PI": "pi",
}
NOISE = 0.05
N_SAME_ORDER = 5  # runs with the arms in the same order


@dataclass(frozen=True)
class Runs:
    """What many searches did.

    Parameters
    ----------
    chosen : ndarray of int of shape (n_runs,)
    pulls : ndarray of shape (160,)
        Mean number of fits of each arm in a run.
    """

    chosen: np.ndarray
    pulls: np.ndarray


def play_paper(table: Table, rule: str, n_pulls: int, n_runs: int, ordered: bool) -> Runs:
    """Play a rule with the prior as printed; every pull is on a split of its own."""
    rng = np.random.default_rng([2014, n_pulls])
    covariance, n_arms = paper_covariance(), len(ARMS)
    chosen, counts = np.zeros(n_runs, dtype=int), np.zeros(n_arms)
    for run in range(n_runs):
        if run % N_SAME_ORDER == 0:
            order = np.arange(n_arms) if ordered else rng.permutation(n_arms)
            covariance_of_run = covariance[np.ix_(order, order)]
        policy = BayesGap(n_pulls, covariance_of_run, NOISE, acquisition=rule)
        game = policy.start(Problem(n_arms), np.random.SeedSequence([n_pulls, run]))
        while not game.is_finished:
            [pull] = game.ask(1)
            arm, split = order[pull.arm], rng.integers(table.scores.shape[1])
            game.tell(pull, float(table.scores[arm, split]))
            counts[arm] += 1
        chosen[run] = order[game.recommend()]
    return Runs(chosen, counts / n_runs)


def play_search(table: Table, rule: str, n_pulls: int, n_runs: int, ordered: bool) -> Runs:
    """Search with BayesGapSearchCV, whose fits are looked up."""
    X = np.arange(table.scores.shape[1])[:, np.newaxis]
    chosen, counts = [], np.zeros(len(ARMS))
    for run in range(n_runs):
        rng = np.random.default_rng([run, n_pulls])
        columns = rng.choice(len(X), n_pulls)
        search = BayesGapSearchCV(
            ReplayedRegressor(table),
            search_space(None if ordered else rng),
            n_fits=n_pulls,
            acquisition=rule,
            cv=[([column], [column]) for column in columns],
            refit=False,
            random_state=run,
        ).fit(X)
        rows = [ROW[tuple(sorted(params.items()))] for params in search.cv_results_["params"]]
        chosen.append(rows[search.best_index_])
        counts[rows] += search.cv_results_["n_fits"]
    return Runs(np.array(chosen), counts / n_runs)


def play_random(table: Table, n_arms: int, n_splits: int, n_runs: int) -> Runs:
    """Fit some arms, drawn at random, on the same splits; take the one with the best mean."""
    rng, chosen = np.random.default_rng([n_arms, n_splits]), []
    for _ in range(n_runs):
        arms = rng.permutation(len(ARMS))[:n_arms]
        splits = rng.integers(table.scores.shape[1], size=n_splits)
        chosen.append(arms[table.scores[np.ix_(arms, splits)].mean(axis=1).argmax()])
    pulls = np.full(len(ARMS), n_arms * n_splits / len(ARMS))
    return Runs(np.array(chosen), pulls)


# ------------------------------------------------------------------------------- the report


def figure_3(report: Report, table: Table, runs: dict[tuple[str, int, str], Runs]) -> None:
    """Print the RMSE of what was recommended."""
    rows = []
    for (model, n_fits, rule), of_runs in runs.items():
        rmse = table.rmse[of_runs.chosen]
        low, middle, high = np.quantile(rmse, [0.25, 0.5, 0.75])
        error = rmse.std() / np.sqrt(len(rmse))
        worse = (rmse > table.rmse.min() + 0.01).mean()
        numbers = [f"{rmse.mean():.4f} ({error:.4f})", f"{low:.4f}", f"{middle:.4f}"]
        rows.append([rule, model, n_fits, *numbers, f"{high:.4f}", f"{worse:.0%}"])
    columns = "rule | model | fits | mean RMSE (s.e.) | lower quartile | median | upper quartile"
    columns += " | more than 0.01 behind the best"
    report.table("Figure 3: RMSE of the recommendation", columns, rows)


def figure_4(report: Report, runs: dict[tuple[str, int, str], Runs], n_pulls: int) -> None:
    """Print where fits and recommendations went."""
    family = np.array([arm["family"] for arm in ARMS])
    rows = []
    for (model, n_fits, rule), of_runs in runs.items():
        if n_fits != n_pulls or not model:
            continue
        shares = [of_runs.pulls[family == name].sum() / n_fits for name in FAMILIES]
        wins = [(family[of_runs.chosen] == name).mean() for name in FAMILIES]
        cells = [f"{p:.0%}, {w:.0%}" for p, w in zip(shares, wins, strict=True)]
        rows.append([rule, model, *cells, f"{(of_runs.pulls > 0).sum()}"])
    columns = " | ".join(["rule", "model", *FAMILIES, "arms ever fitted"])
    title = f"Figure 4: share of the fits, of the recommendations; T = {n_pulls}"
    report.table(title, columns, rows)


def draw(
    folder: Path, table: Table, runs: dict[tuple[str, int, str], Runs], horizons: tuple[int, int]
) -> None:
    """Draw both figures; needs matplotlib."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    figure, panels = plt.subplots(1, 2, figsize=(8, 2.8), sharey=True, layout="constrained")
    for panel, model in zip(panels, ("paper", "search"), strict=True):
        rmse = [table.rmse[runs[model, horizons[0], rule].chosen] for rule in RULES]
        panel.boxplot(rmse, tick_labels=list(RULES))
        panel.axhline(table.rmse.min(), color="grey", linewidth=0.8)
        panel.set(title=f"{model}, T = {horizons[0]}", ylim=(0.72, 0.80))
        panel.tick_params(axis="x", labelsize=7)
    panels[0].set_ylabel("RMSE")
    figure.savefig(folder / "hoffman_2014_wine_rmse.png", dpi=90)
    figure, panels = plt.subplots(2, 2, figsize=(8, 4), sharex=True, layout="constrained")
    pairs = product(("BayesGap", "EI"), ("paper", "search"))
    for panel, (rule, model) in zip(panels.flat, pairs, strict=True):
        _draw_allocation(panel, table, runs[model, horizons[1], rule])
        panel.set_title(f"{rule}, {model}, T = {horizons[1]}", fontsize=9)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(folder / "hoffman_2014_wine_allocation.png", dpi=90)


def _draw_allocation(panel: Any, table: Table, runs: Runs) -> None:
    """Draw fits upwards, recommendations downwards, and the true RMSE."""
    arms = np.arange(len(ARMS))
    chosen = np.bincount(runs.chosen, minlength=len(ARMS)) / len(runs.chosen)
    fitted = runs.pulls / runs.pulls.sum()
    panel.bar(arms, fitted, 1.0, color="C0", label="share of fits")
    panel.bar(arms, -chosen, 1.0, color="C1", label="share of recommendations, downwards")
    panel.plot([], [], color="black", linewidth=0.8, label="true RMSE (right)")
    panel.axhline(0, color="black", linewidth=0.5)
    most = 1.05 * max(fitted.max(), chosen.max())
    panel.set_ylim(-most, 2 * most)
    first, middles = 0, []
    for grid in FAMILIES.values():
        size = len(list(product(*grid.values())))
        middles.append(first + size / 2)
        first += size
        panel.axvline(first - 0.5, color="lightgrey", linewidth=0.5)
    panel.set_xticks(middles, list(FAMILIES), fontsize=6)
    truth = panel.twinx()
    truth.plot(arms, table.rmse, color="black", linewidth=0.8)
    truth.set_ylim(0.6, 1.0)


def main() -> None:
    """Print both figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="three small splits, three runs")
    parser.add_argument("--runs", type=int, default=100, help="of every rule")
    parser.add_argument("--only", default="", help="leave out rules without this in the name")
    parser.add_argument("--liblinear", action="store_true", help="linear SVMs with outliers")
    parser.add_argument("--ordered", action="store_true", help="candidates as in a grid")
    parser.add_argument("--output", type=Path, help="Markdown file for the report")
    parser.add_argument("--figures", type=Path, help="folder for two pictures")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path.home() / ".cache" / "sklearn_halving" / "recorded",
        help="folder of the recorded scores",
    )
    options = parser.parse_args()
    n_runs = 3 if options.quick else options.runs
    horizons = (5, 10) if options.quick else (10, 40)
    report, started = Report("Wine quality: few fits for 160 regressors", options), time.time()
    runs: dict[tuple[str, int, str], Runs] = {}
    with one_thread():
        table = load_table(options)
        if table is None:
            return
        for n_pulls in horizons:
            for model, play in (("paper", play_paper), ("search", play_search)):
                for name, rule in RULES.items():
                    if options.only not in name:
                        continue
                    runs[model, n_pulls, name] = play(
                        table, rule, n_pulls, n_runs, options.ordered
                    )
            runs["", n_pulls, "random candidates, one split"] = play_random(
                table, n_pulls, 1, n_runs
            )
            few = max(1, n_pulls // 5)
            runs["", 5 * few, "random candidates, five splits"] = play_random(
                table, few, 5, n_runs
            )
        for n_splits in (1, 2, 3, 5):
            n_fits = n_splits * len(ARMS)
            name = f"all candidates, {n_splits} split" + "s" * (n_splits > 1)
            runs["", n_fits, name] = play_random(table, len(ARMS), n_splits, n_runs)
    report.write(
        f"{table.scores.shape[1]} splits, {n_runs} runs. The best arm has RMSE "
        f"{table.rmse.min():.4f}, the middle one {np.median(table.rmse):.4f}.",
        "",
    )
    figure_3(report, table, runs)
    figure_4(report, runs, horizons[1])
    if options.figures is not None and not options.only:
        draw(options.figures, table, runs, horizons)
    report.write(f"Took {time.time() - started:.0f} s.")


if __name__ == "__main__":
    main()
