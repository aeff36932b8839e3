"""Index policies against plain loops from the papers, which share nothing with the package.

What the papers leave open: a pull in flight counts in N, but not in the mean, and an arm that
fails where another arm has a reward is out. Rewards are multiples of 1/1024 in [0, 1], so that
sums are exact and ties are real.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sklearn_halving import policies
from sklearn_halving.policies import Problem

UNIT = (0.0, 1.0)


class Arms:
    """The arms as a figure sees them; subclasses are policies."""

    n_first = 1
    goes_on = False
    """Whether an arm without rivals is pulled until the end."""

    def __init__(self, n_arms: int, n_pulls: int) -> None:
        self.K, self.n_pulls = n_arms, n_pulls
        self.seen: list[list[float]] = [[] for _ in range(n_arms)]
        self.n, self.n_asked = [0] * n_arms, [0] * n_arms
        self.alive = set(range(n_arms))
        self.asked = self.told = 0
        self.start()

    def start(self) -> None:
        """Set what the policy remembers."""

    def mean(self, arm: int) -> float:
        return sum(self.seen[arm]) / len(self.seen[arm])

    def variance(self, arm: int, ddof: int = 1) -> float:
        s, mean = self.seen[arm], self.mean(arm)
        return sum((x - mean) ** 2 for x in s) / max(len(s) - ddof, 1)

    def known(self) -> list[int]:
        return [arm for arm in sorted(self.alive) if self.seen[arm]]

    def index(self, arm: int) -> float:
        raise NotImplementedError

    def choose(self, usable: list[int]) -> int:
        return largest({arm: self.index(arm) for arm in usable})

    def learn(self, arm: int, split: int, reward: float) -> None:
        """Take in a reward."""

    def is_decided(self) -> bool:
        return False

    def best(self) -> int:
        return largest({arm: self.mean(arm) for arm in self.known()})


def largest(values: dict[int, float]) -> int:
    """Return the key of the largest value; ties go to the smallest key."""
    return max(values, key=lambda arm: (round(values[arm], 10), -arm))


def next_arm(arms: Arms) -> int | None:
    few = [arm for arm in arms.alive if arms.n[arm] < arms.n_first]
    if few:
        return min(few, key=lambda arm: (arms.n_asked[arm], arm))
    n_lacking = sum(len(arms.seen[arm]) < arms.n_first for arm in arms.alive)
    if 2 * n_lacking > arms.K:
        return None
    usable = [arm for arm in sorted(arms.alive) if len(arms.seen[arm]) >= arms.n_first]
    return arms.choose(usable) if usable else None


def play_plainly(arms: Arms, table: np.ndarray, window: int) -> tuple[list[int], int]:
    """Keep ``window`` pulls in flight, the oldest of which is told."""
    history: list[int] = []
    in_flight: list[tuple[int, int]] = []
    works: set[int] = set()
    lost: list[tuple[int, int]] = []
    while True:
        while len(in_flight) < window and arms.asked < arms.n_pulls:
            arm = next_arm(arms)
            if arm is None:
                break
            in_flight.append((arm, arms.n_asked[arm]))
            history.append(arm)
            arms.n[arm] += 1
            arms.n_asked[arm] += 1
            arms.asked += 1
        arm, split = in_flight.pop(0)
        reward = float(table[arm, split])
        arms.told += 1
        if math.isnan(reward):
            lost.append((arm, split))
            arms.n[arm] -= 1
        else:
            arms.seen[arm].append(reward)
            works.add(split)
        arms.alive -= {a for a, j in lost if j in works}
        arms.learn(arm, split, reward)
        lacks = any(len(arms.seen[a]) < arms.n_first for a in arms.alive)
        is_alone = len(arms.alive) == 1 and len(arms.known()) == 1 and not arms.goes_on
        if arms.told == arms.n_pulls or is_alone or (not lacks and arms.is_decided()):
            return history, arms.best()


# --------------------------------------------------------------------- upper confidence bounds


class UCBE(Arms):
    """Audibert and Bubeck (2010), Fig. 2, with a = 2.5."""

    def index(self, arm: int) -> float:
        return self.mean(arm) + math.sqrt(2.5 / self.n[arm])


class AdaptiveUCBE(Arms):
    """Audibert, Bubeck and Munos (2011), Fig. 16.2, with c = 0.5."""

    def start(self) -> None:
        K = self.K
        log_bar = 0.5 + sum(1 / i for i in range(2, K + 1))
        n = [0] + [
            math.ceil((self.n_pulls - K) / (log_bar * (K + 1 - k)) - 1e-9) for k in range(1, K)
        ]
        self.t = [sum(n[1:k]) + (K - k + 1) * n[k] for k in range(1, K)]  # t_1, ..., t_{K-1}
        self.k, self.H = 0, float(K)

    def choose(self, usable: list[int]) -> int:
        k = sum(t_k <= self.asked for t_k in self.t)
        if k != self.k:
            means = {arm: self.mean(arm) for arm in self.known()}
            gaps = sorted(max(means.values()) - m for m in means.values())
            gaps += [math.inf] * (self.K - len(gaps))
            ratios = [i / g**2 if g else math.inf for i, g in enumerate(gaps, 1)]
            # No gap is larger than the range, 1.
            self.k, self.H = k, max([self.K, *ratios[self.K - k :]])
        return super().choose(usable)

    def index(self, arm: int) -> float:
        return self.mean(arm) + math.sqrt(0.5 * self.n_pulls / self.H / self.n[arm])


class UCB1(Arms):
    """Fig. 16.7 with alpha = 2."""

    goes_on = True

    def index(self, arm: int) -> float:
        return self.mean(arm) + math.sqrt(2 * math.log(self.asked + 1) / self.n[arm])


class UCBV(Arms):
    """Fig. 16.7 with alpha = 1.2."""

    goes_on = True

    def index(self, arm: int) -> float:
        x = 1.2 * math.log(self.asked + 1) / self.n[arm]
        return self.mean(arm) + math.sqrt(2 * self.variance(arm, 0) * x) + 3 * x


class MOSS(Arms):
    """Fig. 16.7."""

    goes_on = True

    def index(self, arm: int) -> float:
        log_n = max(math.log(self.n_pulls / (self.K * self.n[arm])), 0)
        return self.mean(arm) + math.sqrt(log_n / self.n[arm])


class LUCB(Arms):
    """Kalyanakrishnan et al. (2012), LUCB1 for a single arm; delta = 0.3, epsilon = 0.1."""

    def start(self) -> None:
        self.rival: int | None = None

    def bounds(self, n: list[int]) -> dict[int, float]:
        # A round has two pulls, and no arm can have more pulls than rounds.
        t = max(1 + (self.told - self.K) // 2, *map(len, self.seen), 1)
        x = math.log(1.25 * self.K * t**4 / 0.3)
        return {arm: math.sqrt(x / (2 * n[arm])) for arm in self.known()}

    def choose(self, usable: list[int]) -> int:
        rival, self.rival = self.rival, None
        if rival in usable:
            return rival
        beta, leader = self.bounds(self.n_asked), self.best()
        others = {arm: self.mean(arm) + beta[arm] for arm in usable if arm != leader}
        if leader not in usable:
            return largest(others)
        self.rival = largest(others) if others else None
        return leader

    def is_decided(self) -> bool:
        if self.rival is not None or not self.known():
            return False
        beta, leader = self.bounds([len(s) for s in self.seen]), self.best()
        upper = [self.mean(arm) + beta[arm] for arm in self.known() if arm != leader]
        return max(upper, default=-math.inf) < self.mean(leader) - beta[leader] + 0.1


class LilUCB(Arms):
    """Jamieson et al. (2014), Fig. 1, sigma = 1/2, nu = 0.1, as in theorem 2."""

    eps, beta = 0.01, 1.0

    def start(self) -> None:
        self.lambda_, c = 9.0, 2.01 / 0.01 * (1 / math.log(1.01)) ** 1.01
        self.d = ((math.sqrt(1.1) - 1) / 2) ** 2 / c  # 4 sqrt(c d) + 4 c d = nu

    def index(self, arm: int) -> float:
        n = self.n[arm]
        inside = math.log(math.log((1 + self.eps) * n) / self.d)
        factor = (1 + self.beta) * (1 + math.sqrt(self.eps))
        return self.mean(arm) + factor * math.sqrt(0.5 * (1 + self.eps) * inside / n)

    def is_decided(self) -> bool:
        counts = [len(self.seen[arm]) for arm in self.alive]
        return any(n >= 1 + self.lambda_ * (sum(counts) - n) for n in counts)

    def best(self) -> int:
        if any(len(self.seen[arm]) < self.n_first for arm in self.alive) or not self.is_decided():
            return super().best()
        return largest({arm: len(self.seen[arm]) for arm in self.alive})


class LilUCBHeuristic(LilUCB):
    """The setting of section 5."""

    n_first = 2
    eps, beta = 0.0, 0.5

    def start(self) -> None:
        self.lambda_, self.d = 1 + 10 / self.K, 0.2 / 5


class EXP3(Arms):
    """Auer et al. (2002), Fig. 1, gamma = 0.2; the arm is drawn by inversion."""

    n_first = 0
    goes_on = True

    def start(self) -> None:
        self.rng = np.random.default_rng(np.random.SeedSequence(0))
        self.weight = [1.0] * self.K
        self.p: dict[tuple[int, int], float] = {}

    def choose(self, usable: list[int]) -> int:
        usable = sorted(self.alive)
        total = sum(self.weight[arm] for arm in usable)
        p = [0.8 * self.weight[arm] / total + 0.2 / len(usable) for arm in usable]
        u = self.rng.random() * sum(p)
        place = next(i for i in range(len(p)) if u < sum(p[: i + 1]))
        arm = usable[place]
        self.p[arm, self.n_asked[arm]] = p[place]
        return arm

    def learn(self, arm: int, split: int, reward: float) -> None:
        if not math.isnan(reward):
            self.weight[arm] *= math.exp(0.2 * reward / (self.p[arm, split] * self.K))


# ------------------------------------------------------------------------------------- gaps


class GapE(Arms):
    """Gabillon et al. (2011), a = 0.7."""

    def gap(self, arm: int) -> float:
        others = [self.mean(other) for other in self.known() if other != arm]
        return abs(max(others) - self.mean(arm)) if others else math.inf

    def index(self, arm: int) -> float:
        return math.sqrt(0.7 / self.n[arm]) - self.gap(arm)


class GapEV(GapE):
    """With empirical Bernstein bounds, a = 0.2."""

    n_first = 2

    def exploration(self) -> float:
        return 0.2

    def choose(self, usable: list[int]) -> int:
        self.a = self.exploration()
        return super().choose(usable)

    def index(self, arm: int) -> float:
        return bernstein(self, arm, self.a, self.n[arm]) - self.gap(arm)


class AdaptiveGapEV(GapEV):
    """Section 3.3, eta = 8/9."""

    def exploration(self) -> float:
        hardness = 0.0
        for arm in self.known():
            n, gap = len(self.seen[arm]), self.gap(arm)
            if n >= 2 and gap < math.inf:
                hardness += hardness_of(self, arm, gap + math.sqrt(1 / (2 * n)))
        return 8 / 9 * max(self.n_pulls - 2 * self.K, 0) / max(hardness, 1e-300)


def bernstein(arms: Arms, arm: int, a: float, n: int) -> float:
    return math.sqrt(2 * a * arms.variance(arm) / n) + 7 * a / (3 * (n - 1))


def hardness_of(arms: Arms, arm: int, gap: float) -> float:
    """Return the term of an arm in H, with the lower bound of its standard deviation."""
    lower = math.sqrt(arms.variance(arm)) - math.sqrt(2 / (len(arms.seen[arm]) - 1))
    sd = max(lower, 0.0)
    return ((sd + math.sqrt(sd**2 + 16 / 3 * gap)) / gap) ** 2


class UGapEb(Arms):
    """Gabillon et al. (2012), Fig. 1, with a budget; a = 0.3."""

    has_variances = False

    def start(self) -> None:
        self.rounds: list[tuple[float, int]] = []

    def exploration(self) -> float:
        return 0.3

    def select_arm(self, n: list[int], usable: list[int]) -> tuple[int, int, float]:
        """Return the arm to pull, the leader, and the bound of the leader's regret."""
        known, a = self.known(), self.exploration()
        beta = {arm: math.sqrt(a / n[arm]) for arm in known}
        if self.has_variances:
            beta = {arm: bernstein(self, arm, a, n[arm]) for arm in known}
        upper = {arm: self.mean(arm) + beta[arm] for arm in known}
        bound = {}
        for arm in known:
            others = [upper[other] for other in known if other != arm]
            bound[arm] = max(others, default=-math.inf) - (self.mean(arm) - beta[arm])
        leader = largest({arm: -bound[arm] for arm in known})
        rivals = {arm: upper[arm] for arm in known if arm != leader}
        pair = {leader, largest(rivals)} if rivals else {leader}
        arm = largest({one: beta[one] for one in pair if one in usable} or {leader: 0.0})
        if not pair & set(usable):
            arm = largest({one: upper[one] for one in usable})
        return arm, leader, bound[leader] if rivals else 0.0

    def choose(self, usable: list[int]) -> int:
        arm, leader, bound = self.select_arm(self.n_asked, usable)
        if all(len(self.seen[a]) >= self.n_first for a in self.alive):
            self.rounds.append((round(bound, 10), leader))
        return arm

    def best(self) -> int:
        if self.rounds:
            leader = min(self.rounds, key=lambda one: one[0])[1]
            return leader if leader in self.alive else super().best()
        return super().best()


class UGapEbBernstein(UGapEb):
    has_variances, n_first = True, 2


class UGapEc(UGapEb):
    """With a confidence: epsilon = 0.3, delta = 0.2."""

    c = 0.5

    def start(self) -> None:
        self.leader: int | None = None

    def exploration(self) -> float:
        return self.c * math.log(4 * self.K * max(self.told, 1) ** 3 / 0.2)

    def is_decided(self) -> bool:
        n_known = [len(s) for s in self.seen]
        _, leader, bound = self.select_arm(n_known, sorted(self.alive))
        self.leader = leader if bound < 0.3 else None
        return bound < 0.3

    def choose(self, usable: list[int]) -> int:
        return self.select_arm(self.n_asked, usable)[0]

    def best(self) -> int:
        return Arms.best(self) if self.leader is None else self.leader


class UGapEcBernstein(UGapEc):
    has_variances, n_first, c = True, 2, 1.0


class AdaptiveUGapEb(UGapEb):
    """UGapEb with a = (n - K) / (4 H), epsilon = 0.05; H as in BayesGap, for independent arms."""

    def exploration(self) -> float:
        known = [arm for arm in self.known() if len(self.seen[arm]) >= self.n_first]
        radius = {arm: math.sqrt(0.5 / len(self.seen[arm])) for arm in known}
        hardness = 0.0
        for arm in known:
            others = [self.mean(other) + radius[other] for other in known if other != arm]
            if others:
                gap = abs(max(others) - (self.mean(arm) - radius[arm]))
                half = max((gap + 0.05) / 2, 0.05)
                hardness += hardness_of(self, arm, half) if self.has_variances else half**-2
        return max(self.n_pulls - self.n_first * self.K, 0) / (4 * (hardness or 1.0))

    def best(self) -> int:
        return Arms.best(self)


class AdaptiveUGapEbBernstein(AdaptiveUGapEb):
    has_variances, n_first = True, 2


BOUND = "bernstein"
CASES: list[tuple[type[Arms], Callable[[int], Any]]] = [
    (UCBE, lambda n: policies.UCBE(n, 2.5, UNIT)),
    (AdaptiveUCBE, lambda n: policies.AdaptiveUCBE(n, 0.5, UNIT)),
    (UCB1, lambda n: policies.UCB1(n, reward_range=UNIT)),
    (UCBV, lambda n: policies.UCBV(n, reward_range=UNIT)),
    (MOSS, lambda n: policies.MOSS(n, UNIT)),
    (LUCB, lambda n: policies.LUCB(0.3, 0.1, n, UNIT)),
    (LilUCB, lambda n: policies.LilUCB(0.1, max_pulls=n, reward_range=UNIT)),
    (LilUCBHeuristic, lambda n: policies.LilUCB(0.2, "heuristic", n, UNIT)),
    (EXP3, lambda n: policies.EXP3(n, 0.2, UNIT)),
    (GapE, lambda n: policies.GapE(n, 0.7, UNIT)),
    (GapEV, lambda n: policies.GapEV(n, 0.2, UNIT)),
    (AdaptiveGapEV, lambda n: policies.AdaptiveGapEV(n, reward_range=UNIT)),
    (UGapEb, lambda n: policies.UGapEb(n, 0.3, reward_range=UNIT)),
    (UGapEbBernstein, lambda n: policies.UGapEb(n, 0.3, BOUND, UNIT)),
    (UGapEc, lambda n: policies.UGapEc(0.3, 0.2, max_pulls=n, reward_range=UNIT)),
    (UGapEcBernstein, lambda n: policies.UGapEc(0.3, 0.2, BOUND, n, UNIT)),
    (AdaptiveUGapEb, lambda n: policies.AdaptiveUGapEb(n, 0.05, reward_range=UNIT)),
    (AdaptiveUGapEbBernstein, lambda n: policies.AdaptiveUGapEb(n, 0.05, BOUND, UNIT)),
]


def play(policy: Any, table: np.ndarray, window: int) -> tuple[list[int], int]:
    game = policy.start(Problem(len(table)), np.random.SeedSequence(0))
    history: list[int] = []
    in_flight: list[Any] = []
    while not game.is_finished:
        while len(in_flight) < window and (asked := list(game.ask(1))):
            in_flight += asked
            history += [pull.arm for pull in asked]
        told = in_flight.pop(0)
        game.tell(told, float(table[told.arm, told.repetition]))
    return history, game.recommend()


def table_of(seed: int, n_arms: int, n_pulls: int, *, n_failing: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, n_arms])
    sds = rng.choice([0.02, 0.3], (n_arms, 1))
    table = np.clip(rng.normal(rng.random((n_arms, 1)), sds, (n_arms, n_pulls)), 0, 1)
    table = np.round(table * 1024) / 1024
    table[rng.permutation(n_arms)[:n_failing]] = np.nan
    return table


@pytest.mark.parametrize(("plain", "make"), CASES, ids=[plain.__name__ for plain, _ in CASES])
def test_it_plays_what_the_paper_says(plain: type[Arms], make: Callable[[int], Any]) -> None:
    for n_arms in range(2, 14):
        n_pulls = 6 * n_arms
        for n_failing, window in ((0, 1), (n_arms // 3, 4)):
            table = table_of(window, n_arms, n_pulls, n_failing=n_failing)
            expected = play_plainly(plain(n_arms, n_pulls), table, window)
            assert play(make(n_pulls), table, window) == expected, (n_arms, n_failing, window)
