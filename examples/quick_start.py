"""AdaptiveSearchCV and GridSearchCV on the handwritten digits that scikit-learn ships.

Both choose C and gamma of a support vector machine from the same grid of 100 candidates, with the
same five folds. They differ in the number of rows on which a candidate is tried before it is
dropped.

    python examples/quick_start.py
    python examples/quick_start.py --draw docs/images/quick_start.png    the picture of the README
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC

from sklearn_halving import AdaptiveSearchCV


def main() -> None:
    """Run both searches, and print what each found and spent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", metavar="FILE", help="also draw both searches; needs matplotlib")
    file = parser.parse_args().draw

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    grid = {"C": np.logspace(-2, 4, 10), "gamma": np.logspace(-6, -1, 10)}
    searches = {
        "AdaptiveSearchCV": AdaptiveSearchCV(SVC(), grid, n_jobs=2, random_state=0),
        "GridSearchCV": GridSearchCV(SVC(), grid, n_jobs=2),
    }
    print("AdaptiveSearchCV will make these fits (n_resources: training rows of a fit):")
    print(searches["AdaptiveSearchCV"].plan(X_train, y_train).to_string(index=False))
    GridSearchCV(SVC(), {"C": [1]}, n_jobs=2).fit(X_train, y_train)  # the workers start here
    print(f"\n{'':18}{'fits':>6}{'seconds':>9}{'cv score':>10}{'test':>7}  choice")
    seconds = {}
    for name, search in searches.items():
        start = time.perf_counter()
        search.fit(X_train, y_train)
        seconds[name] = time.perf_counter() - start
        n_fits = getattr(search, "n_fits_", 100 * search.n_splits_)
        choice = ", ".join(f"{key}={value:.3g}" for key, value in search.best_params_.items())
        print(
            f"{name:18}{n_fits:>6}{seconds[name]:>9.1f}{search.best_score_:>10.4f}"
            f"{search.score(X_test, y_test):>7.3f}  {choice}"
        )
    halving, full = searches.values()
    same = "same" if halving.best_params_ == full.best_params_ else "another"
    print(
        f"\nSame grid, same folds, {same} choice: "
        f"{seconds['AdaptiveSearchCV']:.0f} s instead of {seconds['GridSearchCV']:.0f} s."
    )
    if file:
        draw(halving.history_, seconds, file)


def draw(history, seconds, file) -> None:
    """Draw both searches on one axis of time, and the rungs of AdaptiveSearchCV."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 2), layout="constrained")
    total = seconds["GridSearchCV"]
    ax.barh(0, total, color="0.75")
    ax.text(total / 2, 0, "100 candidates, five folds of 1,077 rows", ha="center", va="center")
    rungs = history.groupby("rung").agg({"candidate": "nunique", "n_resources": "max"})
    ended = history.groupby("rung")["ended"].max()
    ends = np.r_[0, ended / ended.max() * seconds["AdaptiveSearchCV"]]
    ax.barh(1, np.diff(ends), left=ends[:-1], color=plt.cm.viridis([0.9, 0.7, 0.5, 0.3]))
    candidates = " → ".join(map(str, rungs["candidate"]))
    rows = " → ".join(f"{n_rows:,}" for n_rows in rungs["n_resources"])
    ax.text(ends[-1] + total / 50, 1, f"{candidates} candidates\non {rows} rows", va="center")
    ax.set_yticks([1, 0], ["AdaptiveSearchCV", "GridSearchCV"])
    ax.set_xlabel("seconds on two cores")
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=150)


if __name__ == "__main__":
    main()
