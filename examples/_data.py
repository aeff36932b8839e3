"""The two data sets of the examples: from a folder if there is one, otherwise from OpenML.

Set ``SKLEARN_HALVING_DATA`` to a folder with the files of the UCI repository. By default, a
folder ``shared/data`` beside the checkout is used if it exists.
"""

import os
from pathlib import Path

import pandas as pd
from sklearn.datasets import fetch_openml

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


def load_adult() -> tuple[pd.DataFrame, pd.Series]:
    """Return the census data of 32,561 people, and who earns more than 50,000 dollars."""
    folder = data_folder()
    if folder is None:
        frame = fetch_openml("adult", version=2, as_frame=True).frame
        frame.columns = ADULT_COLUMNS
    else:
        frame = pd.read_csv(
            folder / "adult-train.csv.gz",
            names=ADULT_COLUMNS,
            skipinitialspace=True,
            na_values="?",
        )
    return frame.drop(columns="income"), frame["income"].astype(str).str.strip() == ">50K"


def load_wine_quality() -> tuple[pd.DataFrame, pd.Series]:
    """Return 6,497 wines, red and white, and the marks that tasters gave them."""
    folder = data_folder()
    if folder is None:
        frame = fetch_openml("wine-quality-red", version=1, as_frame=True).frame
        frame.columns = WINE_COLUMNS
        frames = {"red": frame}
    else:
        frames = {
            colour: pd.read_csv(folder / f"winequality-{colour}.csv", names=WINE_COLUMNS)
            for colour in ("red", "white")
        }
    wines = pd.concat(
        [frame.assign(colour=colour) for colour, frame in frames.items()], ignore_index=True
    )
    return wines.drop(columns="quality"), wines["quality"].astype(float)
