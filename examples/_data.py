"""The two data sets of the examples: from a folder if there is one, otherwise substitutes.

Set ``SKLEARN_HALVING_DATA`` to a folder with the files of the UCI repository. By default, a
folder ``shared/data`` beside the checkout is used if it exists. Without it, the examples of the
gallery run on data that come with scikit-learn, and say so: nothing is downloaded.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml, load_diabetes, make_classification

ADULT_COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status"),
    *("occupation", "relationship", "race", "sex", "capital_gain", "capital_loss"),
    *("hours_per_week", "native_country", "income"),
]
WINE_COLUMNS = [
    *("fixed_acidity", "volatile_acidity", "citric_acid", "residual_sugar", "chlorides"),
    *("free_sulfur_dioxide", "total_sulfur_dioxide", "density", "pH", "sulphates"),
    *("alcohol", "quality"),
]


def data_folder() -> Path | None:
    """Return the folder with the data files, or None."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SKLEARN_HALVING_DATA", beside))
    return folder if folder.is_dir() else None


def load_adult(*, must_be_real: bool = False) -> tuple[pd.DataFrame, pd.Series]:
    """Return the census data of 32,561 people, and who earns more than 50,000 dollars.

    Without the file, artificial people in columns of the same names and types. Figures that are
    published must come from the real data, which are then downloaded from OpenML.
    """
    folder = data_folder()
    if folder is None and not must_be_real:
        return _artificial_census()
    if folder is None:
        frame = fetch_openml("adult", version=2, as_frame=True).frame
        frame.columns = ADULT_COLUMNS
    else:
        path = folder / "adult-train.csv.gz"
        frame = pd.read_csv(path, names=ADULT_COLUMNS, skipinitialspace=True, na_values="?")
    return frame.drop(columns="income"), frame["income"].astype(str).str.strip() == ">50K"


def load_wine_quality() -> tuple[pd.DataFrame, pd.Series]:
    """Return 6,497 wines, red and white, and the marks that tasters gave them.

    Without the files, 442 patients and the progression of their diabetes.
    """
    folder = data_folder()
    if folder is None:
        print("The files of the wines are missing: load_diabetes of scikit-learn replaces them.")
        X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
        return X.assign(sex=X["sex"].map({1.0: "a", 2.0: "b"})), y
    wines = pd.concat(
        [
            pd.read_csv(folder / f"winequality-{colour}.csv", names=WINE_COLUMNS).assign(
                colour=colour
            )
            for colour in ("red", "white")
        ],
        ignore_index=True,
    )
    return wines.drop(columns="quality"), wines["quality"].astype(float)


def _artificial_census() -> tuple[pd.DataFrame, pd.Series]:
    """Return 5,000 artificial people with the columns of the census data."""
    print("The file of the census is missing: make_classification of scikit-learn replaces it.")
    numeric = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
    columns = [name for name in ADULT_COLUMNS if name not in ("income", "fnlwgt")]
    X, y = make_classification(
        5000, len(columns), n_informative=8, weights=[0.76], flip_y=0.15, random_state=0
    )
    frame = pd.DataFrame(X, columns=columns)
    rng = np.random.default_rng(0)
    for name in set(columns) - set(numeric):
        frame[name] = pd.cut(frame[name], 6, labels=list("abcdef")).astype(object)
    frame.loc[rng.random(5000) < 0.05, "workclass"] = None
    frame.insert(2, "fnlwgt", rng.lognormal(12, 0.6, size=5000))
    return frame, pd.Series(y == 1, name="income")
