"""The three learners of Jamieson and Talwalkar (2015), section 5: arms that are trained by SGD.

Each problem is one trial: data split into 72 % for training, 18 % for validation and 10 % for
the test, arms drawn at random from the ranges of the paper. What an arm has learned is kept, so
that it goes on from where it stands; ``reset`` forgets all.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from _common import load_phoneme
from _data import load_adult

PARTS = 0.72, 0.9  # ends of the rows for training and for validation


def split_rows(rng: np.random.Generator, n_rows: int) -> list[np.ndarray]:
    """Return the rows for training, validation and test."""
    ends = [int(share * n_rows) for share in PARTS]
    return np.split(rng.permutation(n_rows), ends)


def normalised(X: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and variance 1 on the training rows."""
    return (X - X[train].mean(axis=0)) / X[train].std(axis=0)


def adult_features() -> tuple[np.ndarray, np.ndarray]:
    """Return the census data as numbers, rare categories left out, and the class as -1 or 1."""
    frame, rich = load_adult(must_be_real=True)
    numbers = frame.select_dtypes("number").astype(float)
    numbers["capital_gain"] = np.log1p(numbers["capital_gain"])
    numbers["capital_loss"] = np.log1p(numbers["capital_loss"])
    words = pd.get_dummies(frame.select_dtypes(exclude="number"), dtype=float)
    words = words.loc[:, words.mean().between(0.02, 0.98)]
    return np.column_stack([numbers, words]), np.where(rich, 1.0, -1.0)


class Ridge:
    """Section 5.1: ridge regression, step size .01 / sqrt(2 + T), lambda from 1e-6 to 1.

    The Million Song data is not to be had. In its place is the census data (adult): the class,
    as a number of mean 0 and variance 1, from 32,561 rows.
    """

    name, unit = "Ridge regression", "SGD steps"

    def __init__(self, seed: int, n_arms: int, n_rows: int | None = None) -> None:
        rng = np.random.default_rng([1, seed])
        X, y = adult_features()
        kept = rng.permutation(len(X))[:n_rows]
        X, y = X[kept], y[kept]
        self.rows = split_rows(rng, len(X))
        train = self.rows[0]
        self.X = normalised(X, train)
        self.y = (y - y[train].mean()) / y[train].std()
        self.penalty = 10 ** rng.uniform(-6, 0, n_arms)
        self.order = train[rng.integers(len(train), size=100_000)]
        self.n_arms = n_arms
        self.held_out = [(self.X[rows], self.y[rows]) for rows in self.rows[1:]]
        self.reset()

    def reset(self) -> None:
        self.weights = np.zeros((self.n_arms, self.X.shape[1]))
        self.n_steps = np.zeros(self.n_arms, dtype=int)

    def advance(self, arm: int, n_steps: int) -> None:
        w, penalty, start = self.weights[arm], self.penalty[arm], int(self.n_steps[arm])
        for t in range(start, start + n_steps):
            x, y = self.X[self.order[t]], self.y[self.order[t]]
            step = 0.01 / (2 + t) ** 0.5
            w *= 1 - step * penalty
            w -= step * (x @ w - y) * x
        self.n_steps[arm] += n_steps

    def loss(self, arm: int, part: int) -> float:
        """Return the mean squared error: part 0 for validation, 1 for the test."""
        X, y = self.held_out[part]
        error = X @ self.weights[arm] - y
        return float(error @ error / len(y))


class KernelSVM:
    """Section 5.2: Pegasos with the kernel exp(-gamma |x - z|^2), computed when needed.

    Lambda from 1e-6 to 1 and gamma from 1 to 1000, every lambda with every gamma. The paper does
    not name its data. Normalised features leave such gammas a meaning in few dimensions only:
    this is the phoneme data, 5,404 rows of five numbers.
    """

    name, unit = "Kernel SVM", "Pegasos steps"

    def __init__(self, seed: int, n_arms: int, n_rows: int | None = None) -> None:
        rng = np.random.default_rng([2, seed])
        X, y = load_phoneme()
        kept = rng.permutation(len(X))[:n_rows]
        X, y = np.asarray(X, dtype=float)[kept], np.asarray(y).astype(float)[kept]
        y = np.where(y == y.max(), 1.0, -1.0)
        train, *held_out = split_rows(rng, len(X))
        X = normalised(X, train)
        n_side = round(n_arms**0.5)
        grid = np.meshgrid(10 ** rng.uniform(-6, 0, n_side), 10 ** rng.uniform(0, 3, n_side))
        self.penalty, self.gamma = (values.ravel() for values in grid)
        self.n_arms = n_side**2
        self.X, self.y = X[train], y[train]
        self.order = rng.integers(len(train), size=100_000)
        self.held_out = [(X[rows], y[rows]) for rows in held_out]
        self.reset()

    def reset(self) -> None:
        self.place = [{} for _ in range(self.n_arms)]  # training row -> its place in what follows
        self.support = [np.empty((16, self.X.shape[1])) for _ in range(self.n_arms)]
        self.weight = [np.empty(16) for _ in range(self.n_arms)]  # label times count
        self.n_steps = np.zeros(self.n_arms, dtype=int)

    def advance(self, arm: int, n_steps: int) -> None:
        place, gamma, penalty = self.place[arm], self.gamma[arm], self.penalty[arm]
        start = int(self.n_steps[arm])
        for t in range(start + 1, start + n_steps + 1):
            row = int(self.order[t - 1])
            n, x, y = len(place), self.X[row], self.y[row]
            difference = self.support[arm][:n] - x
            kernel = np.exp(-gamma * np.einsum("ij,ij->i", difference, difference))
            if y * (kernel @ self.weight[arm][:n]) / (penalty * t) < 1:
                self._count(arm, row, x, y)
        self.n_steps[arm] += n_steps

    def _count(self, arm: int, row: int, x: np.ndarray, y: float) -> None:
        place = self.place[arm]
        if row in place:
            self.weight[arm][place[row]] += y
            return
        n = len(place)
        if n == len(self.weight[arm]):
            wider = np.empty_like(self.support[arm])
            self.support[arm] = np.concatenate([self.support[arm], wider])
            self.weight[arm] = np.concatenate([self.weight[arm], np.empty(n)])
        place[row], self.support[arm][n], self.weight[arm][n] = n, x, y

    def loss(self, arm: int, part: int) -> float:
        """Return the share of wrong labels; where the machine says 0 it means the label -1."""
        X, y = self.held_out[part]
        n = len(self.place[arm])
        support, weight = self.support[arm][:n], self.weight[arm][:n]
        squares = (X**2).sum(axis=1)[:, np.newaxis] + (support**2).sum(axis=1) - 2 * X @ support.T
        value = np.exp(-self.gamma[arm] * np.maximum(squares, 0)) @ weight
        return float((np.where(value > 0, 1.0, -1.0) != y).mean())


class MatrixCompletion:
    """Section 5.3: two factors fitted by SGD; rank, penalty and size of the start are searched.

    MovieLens is not to be had. In its place are ratings that are made up: 250 users, 350 films,
    20,000 ratings from one to five, from five tastes and noise, as in the paper not normalised. A
    unit is a step on 250 ratings, and the step size falls by a tenth with each pass over them
    (Recht and Ré 2013).
    """

    name, unit = "Matrix completion", "steps on 250 ratings"
    n_users, n_films, n_per_step = 250, 350, 250

    def __init__(self, seed: int, n_arms: int, n_rows: int | None = None) -> None:
        rng = np.random.default_rng([3, seed])
        n_ratings = n_rows or 20_000
        taste = rng.normal(0, 1, (self.n_users, 5))
        kind = rng.normal(0, 0.45, (self.n_films, 5))
        level = rng.normal(0, 0.4, (self.n_users, 1)) + rng.normal(3.5, 0.4, self.n_films)
        cells = rng.choice(self.n_users * self.n_films, n_ratings, replace=False)
        user, film = np.divmod(cells, self.n_films)
        noisy = (level + taste @ kind.T)[user, film] + rng.normal(0, 0.8, n_ratings)
        rating = np.clip(np.round(noisy), 1, 5)
        parts = split_rows(rng, n_ratings)
        self.train, *self.held_out = ((user[rows], film[rows], rating[rows]) for rows in parts)
        n_side = round(n_arms ** (1 / 3))
        axes = (
            rng.integers(2, 51, n_side),
            10 ** rng.uniform(-6, 0, n_side),
            rng.uniform(0.01, 3, n_side),
        )
        self.rank, self.penalty, self.size = (values.ravel() for values in np.meshgrid(*axes))
        self.n_arms = n_side**3
        self.seed = seed
        self.n_in_pass = len(self.train[0]) // self.n_per_step
        orders = [rng.permutation(len(parts[0]))[: self.n_in_pass * self.n_per_step]]
        orders += [rng.permutation(orders[0]) for _ in range(4)]
        self.steps = [
            self._step(rows) for rows in np.concatenate(orders).reshape(-1, self.n_per_step)
        ]
        self.reset()

    def _step(self, rows: np.ndarray) -> tuple[Any, ...]:
        """Return users, films and ratings of a step, and what sums up changes of each."""
        u, f, ratings = (column[rows] for column in self.train)
        shape, one = (self.n_users, self.n_films), np.ones(len(rows))
        sums = [
            csr_array((one, (index, np.arange(len(rows)))), shape=(n, len(rows)))
            for index, n in zip((u, f), shape, strict=True)
        ]
        return u, f, ratings, *sums

    def reset(self) -> None:
        self.factors: list[tuple[np.ndarray, np.ndarray]] = []
        for arm, (rank, size) in enumerate(zip(self.rank, self.size, strict=True)):
            rng = np.random.default_rng([4, self.seed, arm])
            sd = size / rank**0.5
            shapes = (self.n_users, rank), (self.n_films, rank)
            self.factors.append(tuple(rng.normal(0, sd, shape) for shape in shapes))
        self.n_steps = np.zeros(self.n_arms, dtype=int)

    def advance(self, arm: int, n_steps: int) -> None:
        left, right = self.factors[arm]
        start = int(self.n_steps[arm])
        for t in range(start, start + n_steps):
            u, f, ratings, sum_users, sum_films = self.steps[t % len(self.steps)]
            of_user, of_film = left[u], right[f]
            error = np.einsum("ij,ij->i", of_user, of_film) - ratings
            np.clip(error, -5, 5, out=error)  # no rating is farther off
            step = 0.1 * 0.9 ** (t // self.n_in_pass)
            column, penalty = error[:, np.newaxis], self.penalty[arm]
            left -= step * (sum_users @ (column * of_film + penalty * of_user))
            right -= step * (sum_films @ (column * of_user + penalty * of_film))
        self.n_steps[arm] += n_steps

    def loss(self, arm: int, part: int) -> float:
        """Return the mean squared error of ratings, predicted between one and five."""
        users, films, ratings = self.held_out[part]
        left, right = self.factors[arm]
        predicted = np.einsum("ij,ij->i", left[users], right[films])
        error = np.clip(predicted, 1, 5) - ratings
        return float(error @ error / len(error))
