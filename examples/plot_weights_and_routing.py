"""
Sample weights and metadata routing
===================================

In the census data a row does not represent one person: ``fnlwgt`` is its weight in estimates for
the whole population. A model for the *population* has to be trained and scored with these
weights. scikit-learn's metadata routing passes them to the steps and scorers that request them.
In a search it works as in any other meta-estimator.
"""

import matplotlib.pyplot as plt
import pandas as pd
from _data import load_adult
from scipy.stats import loguniform
from sklearn import config_context
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_halving import AdaptiveSearchCV
from sklearn_halving.plotting import ParameterDisplay

X, y = load_adult()
X = X.drop(columns="education")  # the same as education_num
X["fnlwgt"] /= X[
    "fnlwgt"
].mean()  # C weighs a sum over rows: let it be one of as many as there are
X, X_test, y, y_test = train_test_split(X, y, train_size=2000, stratify=y, random_state=0)
weight, weight_test = X.pop("fnlwgt"), X_test.pop("fnlwgt")
print(f"the heaviest of {len(X)} rows weighs {weight.max() / weight.min():.0f} times the lightest")


def make_search(weighs_rows, weighs_errors):
    """Return a search whose model, or whose scorer, asks for ``sample_weight``, or refuses it."""
    columns = make_column_transformer(
        (
            StandardScaler().set_fit_request(sample_weight=weighs_rows),
            make_column_selector(dtype_include="number"),
        ),
        (
            OneHotEncoder(
                handle_unknown="infrequent_if_exist", min_frequency=20, sparse_output=False
            ),
            make_column_selector(dtype_exclude="number"),
        ),
    )
    model = LogisticRegression(solver="newton-cholesky").set_fit_request(sample_weight=weighs_rows)
    return AdaptiveSearchCV(
        make_pipeline(columns, model),
        {"logisticregression__C": loguniform(1e-4, 1e2)},
        scoring=get_scorer("neg_log_loss").set_score_request(sample_weight=weighs_errors),
        n_fits=30,
        random_state=0,
    )


# %%
# ``True`` requests the weights, ``False`` rejects them. Weights are split and subsampled
# together with the rows. The first search does not use weights. The second trains without them
# and is scored with them. The third is trained and scored with them.
searches = {}
with config_context(enable_metadata_routing=True):
    for weighs_rows, weighs_errors in [(False, False), (False, True), (True, True)]:
        search = make_search(weighs_rows, weighs_errors)
        metadata = {"sample_weight": weight} if weighs_errors else {}
        searches[weighs_rows, weighs_errors] = search.fit(X, y, **metadata)
    table = pd.DataFrame(
        {
            "fit weighted": weighs_rows,
            "score weighted": weighs_errors,
            "best C": search.best_params_["logisticregression__C"],
            "log loss in the search": -search.best_score_,
            "log loss, population, new rows": log_loss(
                y_test, search.predict_proba(X_test)[:, 1], sample_weight=weight_test
            ),
        }
        for (weighs_rows, weighs_errors), search in searches.items()
    )
print(table.round(4).to_string(index=False))

# %%
# The first two searches train in the same way and use different scores. Their scores estimate
# different quantities and cannot be compared. Only the last column, which is the same measure
# for all searches, compares the models.
#
# The effect of C, for the population:
ParameterDisplay.from_estimator(searches[True, True], "logisticregression__C")

# %%
# If a step or scorer neither requests nor rejects the weights, an error is raised before the
# first fit, so that weights are not ignored silently.
with config_context(enable_metadata_routing=True):
    undecided = make_search(True, True).set_params(scoring="neg_log_loss")
    try:
        undecided.fit(X, y, sample_weight=weight)
    except UnsetMetadataPassedError as error:
        print(error)

# %%
# Without routing, which is the default, ``fit(X, y, sample_weight=...)`` passes the weights only
# to ``fit`` of the estimator, as in GridSearchCV. The estimator is then trained with weights and
# scored without them, unless it is a pipeline.
plt.show()
