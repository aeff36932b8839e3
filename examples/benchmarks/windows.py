"""What pulls in flight cost in regret, at equal numbers of fits.

    python examples/benchmarks/windows.py [--quick] [--replays N] [--only TEXT] [--cache FOLDER]
        [--output FILE.md]

The tasks are those of `few_fits.py`. The scores of 100 candidates on 40 splits are recorded once
and kept in ``--cache`` (about five minutes). BayesGapSearchCV, with its defaults, and UGap are
then replayed on these tables: the splits are drawn anew, with replacement, and ties are broken
by another seed. The true score of a candidate is its mean over all splits. The regret is given
in percent of the distance from the best to the median candidate. The same seeds are used for all
windows. The cost of a window is the ratio of its mean regret, over tasks, to that of one pull at
a time, with the standard error over replays.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import sklearn
from _common import RECORDED, Report, one_thread, parse_options
from _few_fits_tasks import QUICK_NAMES, TASKS, Task, rows_of
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import ParameterSampler

from sklearn_halving.policies import AdaptiveUGapEb, BayesGap, Problem
from sklearn_halving.search.candidate_model._features import draw_evenly
from sklearn_halving.search.candidate_model._prior import NOISE, make_prior
from sklearn_halving.splits import RepeatedLearningTesting

N_CANDIDATES, N_SPLITS = 100, 40
WINDOWS = {20: (1, 2, 4), 50: (1, 6, 10), 100: (1, 12, 20)}
"""Pulls in flight for each number of fits of BayesGapSearchCV; the second is the default."""
WINDOWS_OF_UGAP = (1, 8, 20)
MOST_COST = 0.05
"""Target for the additional regret, as a share of the regret with one pull at a time."""


def candidates_of(task: Task, n: int) -> list[dict]:
    """Return what BayesGapSearchCV draws with its default number of candidates."""
    found = draw_evenly([task.space], n, np.random.RandomState(0))
    return list(found or ParameterSampler(task.space, n, random_state=0))


def table_of(name: str, cache: Path, n_candidates: int, n_splits: int) -> np.ndarray | None:
    """Return the scores of all candidates on all splits, recorded now if there are none."""
    label = f"windows-{name.replace(' ', '-')}-{n_candidates}-{n_splits}"
    path, task = cache / f"{label}-sklearn{sklearn.__version__}.npy", TASKS[name]
    if path.exists():
        return np.load(path)
    if (data := task.load()) is None:
        return None
    X, y = data
    rows = rows_of(task, len(X), 0)
    X, y, score = X[rows], y[rows], get_scorer(task.scoring)
    table = [
        [
            score(clone(task.model).set_params(**params).fit(X[train], y[train]), X[test], y[test])
            for train, test in RepeatedLearningTesting(n_splits, random_state=1).split(X, y)
        ]
        for params in candidates_of(task, n_candidates)
    ]
    cache.mkdir(parents=True, exist_ok=True)
    np.save(path, table)
    return np.array(table)


def bayes_gap(n_fits: int, window: int, task: Task, n_arms: int) -> BayesGap:
    """Return the policy of BayesGapSearchCV."""
    covariance = make_prior("squared_exponential", candidates_of(task, n_arms), [task.space])
    options = {"confirm": True, "breaks_ties": True, "pulls_in_flight": window}
    return BayesGap(n_fits, covariance, NOISE, NOISE, **options)


def replay(policy: object, window: int, table: np.ndarray, seed: int) -> int:
    """Play a search; return its choice."""
    columns = np.random.default_rng(seed).integers(table.shape[1], size=1000)
    state = policy.start(Problem(len(table)), seed=np.random.SeedSequence(seed))
    waiting = []
    while not policy.is_finished(state):
        while len(waiting) < window and len(pulls := policy.ask(state, 1)):
            waiting.append(pulls)
        pulls = waiting.pop(0)
        policy.tell(state, pulls, table[pulls.arm, columns[pulls.repetition]])
    return int(policy.recommend(state))


def regrets(
    name: str, table: np.ndarray, n_fits: int, windows: tuple[int, ...], n_replays: int
) -> np.ndarray:
    """Return the regret of each window and replay, shape (n_windows, n_replays).

    The search is UGap if there are more fits than candidates, and otherwise BayesGapSearchCV.
    """
    truth = table.mean(axis=1)
    worth = 100 * (truth.max() - truth) / (truth.max() - np.median(truth))
    found = []
    for window in windows:
        if n_fits > len(table):
            policy = AdaptiveUGapEb(n_fits, reward_range=(table.min(), table.max()))
        else:
            policy = bayes_gap(n_fits, window, TASKS[name], len(table))
        found.append([worth[replay(policy, window, table, s)] for s in range(n_replays)])
    return np.array(found)


def all_rows(tables: list[tuple[str, np.ndarray]], options: argparse.Namespace) -> Iterator[list]:
    """Yield the mean regret over tasks for each number of fits and window."""
    n_arms = len(tables[0][1])
    cases = {n_arms // 2: (1, 2)} if options.quick else dict(WINDOWS)
    cases[8 * n_arms // 5] = WINDOWS_OF_UGAP
    for n_fits, windows in cases.items():
        by_task = [regrets(*table, n_fits, windows, options.replays) for table in tables]
        found = np.mean(by_task, axis=0)
        first = found[0].mean()
        error = (found - found[0]).std(axis=1, ddof=1) / np.sqrt(options.replays) / first
        for window, mean, its_error in zip(windows, found.mean(axis=1), error, strict=True):
            way = "UGap" if n_fits > n_arms else "BayesGapSearchCV"
            cost = mean / first - 1
            last = ["", "", ""]
            if window > 1:
                reached = "yes" if cost <= MOST_COST else "**no**"
                last = [f"{cost:+.1%} ({its_error:.1%})", f"<= {MOST_COST:.0%}", reached]
            yield [way, n_fits, window, mean, *last]


def main() -> None:
    """Print the table."""
    options = parse_options(
        __doc__, seeds=200, quick_seeds=2, name="replays", files={"cache": "folder of tables"}
    )
    report = Report("Pulls in flight and regret", options)
    names = [n for n in (QUICK_NAMES if options.quick else TASKS) if options.only in n]
    sizes = (20, 5) if options.quick else (N_CANDIDATES, N_SPLITS)
    columns = "search | fits | in flight | regret, % | cost (s.e.) | target | reached"
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [(name, table_of(name, options.cache or RECORDED, *sizes)) for name in names]
        tables = [(name, table) for name, table in found if table is not None]
        title = f"Regret with several pulls in flight, mean of {len(tables)} tasks"
        report.table(title, columns, all_rows(tables, options))
    report.save()


if __name__ == "__main__":
    main()
