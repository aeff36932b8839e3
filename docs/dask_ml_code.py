"""The code of docs/coming_from.md that needs dask-ml, in the environment named there."""

# begin
import numpy as np
from dask.distributed import Client
from dask_ml.model_selection import HyperbandSearchCV
from scipy.stats import loguniform
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

X, y = load_digits(return_X_y=True)
X = X / 16

client = Client(
    processes=False,
    dashboard_address=":0",
)
search = HyperbandSearchCV(
    SGDClassifier(),
    {"alpha": loguniform(1e-6, 1e-1)},
    max_iter=9,
    aggressiveness=3,
    test_size=0.2,
    random_state=0,
)
search.fit(X, y, classes=np.unique(y))
score = search.best_score_
# end

client.close()
calls = search.metadata_["partial_fit_calls"]
if not score > 0.85 or search.metadata["partial_fit_calls"] != calls or calls != 69:
    raise SystemExit(f"The page says otherwise: score {score}, {calls} calls.")
