"""A Hyperband search and GridSearchCV on the handwritten digits that scikit-learn ships.

Both choose C and gamma of a support vector classifier from the same grid, with the same five
folds. They differ in the number of rows on which a candidate is tried before it is eliminated.

    python examples/quick_start.py
"""

import sys
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_halving import HyperbandSearchCV


def main() -> None:
    """Run both searches and print what each found and spent."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    pipeline = make_pipeline(StandardScaler(), SVC())
    grid = {"svc__C": np.logspace(-2, 4, 10), "svc__gamma": np.logspace(-5, 0, 10)}
    searches = {
        "GridSearchCV": GridSearchCV(pipeline, grid, n_jobs=2),
        "HyperbandSearchCV": HyperbandSearchCV(pipeline, grid, n_jobs=2, random_state=0),
    }
    print("HyperbandSearchCV will do this (n_resources: training rows of a fit):")
    print(searches["HyperbandSearchCV"].plan(X_train, y_train).to_string(index=False))

    n_rows = round(0.8 * len(X_train))
    header = f"{'':18}{'fits':>6}{'rows trained on':>17}{'seconds':>9}{'cv score':>10}{'test':>7}"
    print("\n" + header)
    for name, search in searches.items():
        if sys.stdout.isatty():  # the row of results is longer and takes its place
            print(f"{name} is running ...", end="\r", flush=True)
        start = time.perf_counter()
        search.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        n_fits = getattr(search, "n_fits_", 100 * search.n_splits_)
        n_trained = int(getattr(search, "n_resources_spent_", n_fits * n_rows))
        print(
            f"{name:18}{n_fits:>6}{n_trained:>17,}{seconds:>9.1f}{search.best_score_:>10.4f}"
            f"{search.score(X_test, y_test):>7.3f}"
        )
    print()
    for name, search in searches.items():
        found = sorted((key[5:], value) for key, value in search.best_params_.items())
        print(f"{name:18} found", ", ".join(f"{key} = {value:.3g}" for key, value in found))


if __name__ == "__main__":
    main()
