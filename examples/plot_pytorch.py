"""
A neural network in PyTorch
===========================

`skorch <https://skorch.readthedocs.io>`_ turns a PyTorch module into a scikit-learn estimator,
which can be searched like any other. The resource is ``max_epochs``. A network that goes on to
the next rung continues training with its weights and the state of its optimizer.

Needs ``torch`` and ``skorch``.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from scipy.stats import loguniform, uniform
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from skorch import NeuralNetClassifier
from torch import nn

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.plotting import RungDisplay

torch.set_num_threads(1)  # the layers are small: more threads would wait for each other


class Perceptron(nn.Module):
    """One hidden layer, with dropout."""

    def __init__(self, n_hidden: int = 64, dropout: float = 0.0) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, n_hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(n_hidden, 10)
        )

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.layers(X)


# %%
# PyTorch draws weights, batches and dropout from a generator that all networks of a process
# share. The random numbers of a network therefore depend on the networks trained before it. The
# parameter ``random_state`` of the class below avoids this: the search sets a different seed for
# each candidate and split, and the result is the same for every ``n_jobs``.
#
# For ``n_jobs=2`` or more, the two classes have to be in a file that is imported. Networks whose
# classes are defined in the script itself cannot be sent to other processes, and every rung
# would be fitted from scratch.
class SeededClassifier(NeuralNetClassifier):
    """A network that starts PyTorch's generator by its ``random_state``."""

    def __init__(self, *args: Any, random_state: int | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.random_state = random_state

    def seed(self, n_epochs: int) -> None:
        if self.random_state is not None:
            torch.manual_seed(self.random_state + n_epochs)

    def initialize(self) -> "SeededClassifier":
        self.seed(0)
        return super().initialize()

    def on_train_begin(self, net: Any, X: Any = None, y: Any = None, **kwargs: Any) -> None:
        self.seed(len(self.history))  # training on must not draw what the first epochs drew
        super().on_train_begin(net, X=X, y=y, **kwargs)


# %%
# PyTorch's layers expect inputs in single precision. With ``train_split=None``, skorch does not
# hold out a validation set, since the search already uses folds.
X, y = load_digits(return_X_y=True)
X = (X / 16).astype(np.float32)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
network = SeededClassifier(
    Perceptron,
    criterion=nn.CrossEntropyLoss,
    optimizer=torch.optim.Adam,
    iterator_train__shuffle=True,
    train_split=None,
    verbose=0,
)
space = {
    "module__n_hidden": [16, 32, 64, 128, 256],
    "module__dropout": uniform(0, 0.6),
    "lr": loguniform(1e-4, 1e-1),
    "batch_size": [64, 128, 256],
}
search = HyperbandSearchCV(
    network,
    space,
    resource="max_epochs",
    max_resources=27,
    n_candidates=17,
    cv=2,
    random_state=0,
)
search.fit(X_train, y_train)

# %%
# Each row of ``history_`` is one fit. ``continued_from`` is the number of epochs for which the
# network was already trained. The search ran all other epochs.
history = search.history_
epochs_run = (history["n_resources"] - history["continued_from"]).sum()
print(history.groupby(["n_resources", "continued_from"])["test_score"].describe().iloc[:, :4])
print(f"\nepochs: {epochs_run:,}; without training on: {history['n_resources'].sum():,}")
n_candidates, n_full = history["candidate"].nunique(), epochs_run // (27 * 2)
print(f"They were for {n_candidates} candidates, and would train {n_full} to the end.")

# %%
# The winner is refitted with the epochs of the last rung.
print(pd.Series(search.best_params_).to_string())
print(f"\naccuracy: {search.best_score_:.4f} in cross-validation, ", end="")
print(f"{search.score(X_test, y_test):.4f} on new digits")
print(f"epochs of the network that was refitted: {len(search.best_estimator_.history)}")

# %%
# Scores rise late if the learning rate is too low, and never if it is much too high.
RungDisplay.from_estimator(search)
plt.show()
