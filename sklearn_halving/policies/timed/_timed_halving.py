"""Halving in small loops that are planned from the measured times of pulls."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf, isnan
from statistics import median
from typing import Any

import numpy as np

from sklearn_halving._checks import Count, NotNegative
from sklearn_halving.policies._types import NO_ARM, ClosedRung, PolicyDescription, Problem, Pull
from sklearn_halving.policies.bases._separate_games import SeparateGames, SeparateState
from sklearn_halving.policies.timed._standing import Standing

KEEPS = 9
"""One of this many screened arms is pulled at the largest level."""
MAX_SCREENING_COST = 0.25
"""Screening is used if it costs at most this share of a pull at the largest level."""
N_MEASURED = 3
"""Number of arms from which the cost of screening is measured if it is close to that."""
N_LOOPS, LEAST_LOOP, MOST_LOOP = 30, 2, 50
"""A loop takes a thirtieth of the budget, but at least 2 full pulls of each worker, and otherwise
at most 50."""
SMALL_BUDGET = 10
"""Budgets below this many full pulls are spent on a single loop, without confirmation."""
CONFIRMING_SHARE = 0.5
"""Part of the time so far that may be spent on further splits of known arms."""
RESERVE, RESERVED_SHARE = 12, 0.1
"""At the end, this many full pulls are for further splits, but at most this part of the budget."""
LEAST_PROBABILITY, LEAST_AT_END = 0.03, 0.001
"""An arm that is better than the leader with a smaller probability is not pulled again: the
second number holds if nothing else is left to do."""
LEAST_PER_LOST = 4
"""A loop takes at least this many times as long as it takes to make its arms, but not more than
50 full pulls."""
MAX_FAILED = 10
"""If so many arms fail and none succeeds, the play ends."""
FIRST = 0
"""The split on which all arms are compared."""
N_SHARES = 100
"""Number of latest arms from which the relative cost of screening is known."""
N_SETTLED = 300
"""After so many arms at the largest level, the play may end because more gain nothing."""


@dataclass(frozen=True)
class TimedHalving(SeparateGames):
    """Screen many arms at a small level, pull the best in full, and confirm the best of these.

    The policy is told the time of every pull and the time that is left, and plans from both. The
    first arm is pulled at the largest level, and then at the screening level, which shows whether
    screening is cheap. Then there are loops of new arms, each of which takes a thirtieth of the
    budget: they are screened on one split, and one of nine is pulled at the largest level, on the
    same split. If screening is not cheap, new arms are pulled at the largest level. Between the
    loops, the leader and its closest rivals are pulled on further splits, until one is clearly
    ahead. No pull starts that would not end in time.

    Parameters
    ----------
    screening_level : int or None, default=None
        Level at which new arms are compared first; None to pull all of them in full.
    n_workers : int, default=1
        Number of pulls in flight, until `charge` tells another number.
    refit_cost : float, default=0.0
        Time that is kept back at the end, in full pulls on the first split of the arm to
        recommend.

    Notes
    -----
    The mean of an arm is that of the additive model of arms and splits, shrunk towards the median
    arm. The rival is the arm with the largest probability of being better than the leader, divided
    by the square root of its number of splits. After N arms at the largest level, an arm has at
    most sqrt(N) splits. The arm to recommend has the largest mean of those with at least half as
    many splits as any other. Arms with the same rewards count once in the estimate of the noise.

    Without `charge`, a pull takes one second for each unit of its level, and time is unlimited.
    """

    screening_level: int | None = None
    n_workers: Count = 1
    refit_cost: NotNegative = 0.0

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return the description of the policy. Arms are created when first pulled."""
        return replace(
            super().describe(problem),
            window=self.n_workers,
            plays_levels=True,
            arms_may_arrive=True,
            keeps_time=True,
        )

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> TimedGame:
        return TimedGame(self, problem)

    def charge(
        self, state: SeparateState, pull: Pull | None, seconds: float, left: float, n_workers: int
    ) -> None:
        """Tell the time of a pull that is told next, and the time that is left."""
        for game in state.games:
            game.clock.charge(pull, seconds, left, n_workers)  # type: ignore[attr-defined]

    def arrivals(self, state: SeparateState) -> Sequence[range]:
        """Return the groups of arms that were created so far, in the order of their creation."""
        loops: list[range] = state.games[0].loops  # type: ignore[attr-defined]
        return loops

    def rungs_before(self, state: SeparateState, place: int) -> list[ClosedRung]:
        """Return the rewards at both levels, which do not depend on ``place``."""
        game: Any = state.games[0]
        return list(game.rungs())

    def ended_by(self, state: SeparateState) -> Sequence[str]:
        """Return why the play ended."""
        game: Any = state.games[0]
        return game.ended_by()


@dataclass
class Mean:
    """A mean that is updated."""

    n: int = 0
    total: float = 0.0

    def add(self, value: float) -> None:
        """Add a value."""
        self.n += 1
        self.total += value

    @property
    def value(self) -> float | None:
        """The mean; None without values."""
        return self.total / self.n if self.n else None


@dataclass
class Clock:
    """The times of pulls, and the time that is left."""

    top: int
    n_workers: int
    left: float = inf
    budget: float = inf
    full: dict[int, Mean] = field(default_factory=dict)
    """Time of a full pull of each arm."""
    first: dict[int, float] = field(default_factory=dict)
    """Time of the full pull of each arm on the first split."""
    screening: dict[int, float] = field(default_factory=dict)
    """Time of screening each arm."""
    of_new: Mean = field(default_factory=Mean)
    """Time of full pulls on the first split."""
    of_screening: Mean = field(default_factory=Mean)
    again: float = 0.0
    """Total time of full pulls on further splits."""
    shares: list[float] = field(default_factory=list)
    """Time of screening, in full pulls of the same arm."""
    _told: Pull | None = None

    def charge(self, pull: Pull | None, seconds: float, left: float, n_workers: int) -> None:
        """Take in the time of a pull that is told next."""
        if self.budget == inf:
            self.budget = left + seconds
        elif left > self.left:  # another session
            self.budget += left - self.left
        self.left, self.n_workers = left, n_workers
        if pull is not None:
            self._add(pull, seconds)
            self._told = pull

    def tell(self, pull: Pull, *, has_failed: bool) -> None:
        """Note that a pull was told; without `charge`, it took a second for each unit."""
        if self._told != pull:
            self._add(pull, float(pull.level))
        arm, low = pull.arm, self.screening.get(pull.arm)
        if pull.repetition == FIRST and not has_failed and arm in self.full:
            if pull.level == self.top:
                self.of_new.add(self.full[arm].total)
            if low is not None:
                self.shares.append(low / max(self.full[arm].total / self.full[arm].n, 1e-9))

    def _add(self, pull: Pull, seconds: float) -> None:
        if pull.level != self.top:
            self.screening[pull.arm] = seconds
            self.of_screening.add(seconds)
        else:
            self.full.setdefault(pull.arm, Mean()).add(seconds)
            self.again += seconds * (pull.repetition != FIRST)
            if pull.repetition == FIRST:
                self.first[pull.arm] = seconds

    @property
    def total(self) -> float:
        """Time of all pulls."""
        return self.of_screening.total + self.of_new.total + self.again

    @property
    def share(self) -> float | None:
        """Median time of screening, in full pulls of the same arm; None if it is not known."""
        return median(self.shares[-N_SHARES:]) if self.shares else None

    def expected(self, pull: Pull) -> float:
        """Return the time that a pull will take; 0 if nothing is known."""
        if pull.level != self.top:
            return self.of_screening.value or 0.0
        if pull.arm in self.full:
            return self.full[pull.arm].value or 0.0
        low, share = self.screening.get(pull.arm), self.share
        if low is not None and share is not None:
            return low / max(share, 1e-3)
        return self.of_new.value or 0.0


class TimedGame:
    """The state of a single problem."""

    def __init__(self, rules: TimedHalving, problem: Problem) -> None:
        low, self.top = rules.screening_level, problem.max_level
        self.low = low if low is not None and low < self.top else None
        self.n_splits = problem.max_repetitions or 1
        self.n_arms, self.refit_cost = problem.n_arms, rules.refit_cost
        self.clock = Clock(self.top, rules.n_workers)
        self.loops: list[range] = []
        self.in_flight: dict[Pull, None] = {}
        self.failed: set[int] = set()
        self.screened: dict[int, float] = {}
        self.full: dict[int, dict[int, float]] = {}
        self._queue: deque[Pull] = deque()
        self._pool: set[int] = set()  # screened, but not pulled in full
        self._screens: list[tuple[set[int], int]] = []  # arms of a loop, and how many it promotes
        self._n_due = self._n_failed_screens = 0
        self._next: Pull | None = None
        self._standing: Standing | None = None

    # The protocol of a game.

    def ask(self, max_pulls: int) -> list[Pull]:
        """Return up to ``max_pulls`` pulls."""
        pulls: list[Pull] = []
        while len(pulls) < max_pulls and (pull := self._decided()) is not None:
            self._next = None
            self.in_flight[pull] = None
            pulls.append(pull)
        return pulls

    def tell(self, pull: Pull, reward: float) -> None:
        """Take in the reward of a pull."""
        arm, level, repetition = pull
        del self.in_flight[pull]
        self._standing = None
        self.clock.tell(pull, has_failed=isnan(reward))
        if isnan(reward):
            self._n_failed_screens += level != self.top
            if level == self.top or arm not in self.full:  # else, its full pull counts
                self.failed.add(arm)
            self._pool.discard(arm)
        elif level == self.top:
            self.full.setdefault(arm, {})[repetition] = reward
        else:
            self.screened[arm] = reward
            if arm not in self.full:
                self._pool.add(arm)
        is_unscreened = repetition == FIRST and arm in self.full and arm not in self.screened
        if level == self.low:
            self._close(arm)
        elif self.low and is_unscreened and self._is_unsure():
            self._queue.appendleft(Pull(arm, self.low, FIRST))

    @property
    def is_finished(self) -> bool:
        """Whether no pull is in flight, and none would end in time or change anything."""
        return not self.in_flight and self._decided() is None

    def out(self) -> list[int]:
        """Return the arms of which no model is needed."""
        waiting = {pull.arm for pull in (*self._queue, *self.in_flight)}
        waiting.update(*(arms for arms, _ in self._screens))
        waiting.update(self._ranked(self._pool)[: KEEPS + self._n_due])
        return [arm for arm in range(self.n_arms) if arm not in waiting]

    def best(self) -> int:
        """Return the arm to recommend.

        If only the first arm was pulled in full, and at the screening level, too, it is the best
        there.
        """
        standing = self.standing
        if len(standing.arms) <= 1 and self.screened.keys() >= set(standing.arms.tolist()):
            known = self._ranked(self.screened.keys() - self.failed)
            if len(known) > 2:
                return known[0]
        return standing.leader

    # What a sampler and a user may know.

    def rungs(self) -> Iterable[ClosedRung]:
        """Yield the rewards at the screening level, and the means at the largest one."""
        failed = self.failed - self.full.keys()
        tables = [(self.top, dict(self.standing.means()) | dict.fromkeys(failed, np.nan))]
        if self.low is not None:
            tables.append((self.low, self.screened))
        for level, rewards in tables:
            arms = np.array(sorted(rewards), dtype=np.int64)
            yield ClosedRung(arms, level, np.array([rewards[arm] for arm in arms.tolist()]))

    def ended_by(self) -> Sequence[str]:
        """Return why the play ended."""
        if self._fails():
            return ("all of the first fits failed",)
        if len(self.full.keys() | self.failed) >= self.n_arms:
            return ("the end of the candidates: all were tried",)
        if self._is_settled():
            return ("the last two thirds of the candidates, which gained less than the noise",)
        return ()

    @property
    def n_created(self) -> int:
        """Number of arms that exist."""
        return self.loops[-1].stop if self.loops else 0

    @property
    def standing(self) -> Standing:
        """What the rewards at the largest level say."""
        if self._standing is None:
            arms = sorted(self.full.keys() - self.failed)
            table = np.full((len(arms), self.n_splits), np.nan)
            for row, arm in zip(table, arms, strict=True):
                row[list(self.full[arm])] = list(self.full[arm].values())
            self._standing = Standing.of(np.array(arms, dtype=np.int64), table)
        return self._standing

    # The decisions, in the order of their priority.

    def _decided(self) -> Pull | None:
        if self._next is None and not self._fails():
            rules = (
                self._first,
                self._queued,
                self._promoted,
                self._screened_in_vain,
                self._confirming,
                self._new,
                self._left_over,
            )
            self._next = next((pull for rule in rules if (pull := rule()) is not None), None)
        return self._next

    def _fails(self) -> bool:
        return len(self.failed) >= MAX_FAILED and not (self.full or self.screened)

    def _first(self) -> Pull | None:
        """Return a full pull of the first arm."""
        return None if self.loops else self._create(1, self.top)

    def _queued(self) -> Pull | None:
        """Return the next pull that was planned and can end in time."""
        while self._queue:
            pull = self._queue.popleft()
            if self._can_end(pull) or not self.clock.of_new.n:
                return pull
            self._close(pull.arm)
        return None

    def _promoted(self) -> Pull | None:
        """Return a full pull of the best screened arm, if one is due."""
        pull = self._promotion() if self._n_due else None
        self._n_due = 0 if pull is None else self._n_due - 1
        return pull

    def _promotion(self) -> Pull | None:
        pulls = (Pull(arm, self.top, FIRST) for arm in self._ranked(self._pool))
        pull = next((pull for pull in pulls if self._can_end(pull)), None)
        if pull is not None:
            self._pool.discard(pull.arm)
        return pull

    def _screened_in_vain(self) -> Pull | None:
        """Return a full pull of the best screened arm, if screening is not cheap.

        Arms are screened before that is known if there are several workers.
        """
        if not self._pool or self.clock.share is None or self._screening_price() is not None:
            return None
        best = self._ranked(self.screened.keys() - self.failed)[0]
        return self._promotion() if best in self._pool else None

    def _confirming(self) -> Pull | None:
        """Return a pull on a further split, as long as most of the time is spent on new arms."""
        is_due = self.clock.again <= CONFIRMING_SHARE * self.clock.total
        if not is_due or self._n_of_budget() < SMALL_BUDGET:
            return None
        return self._contest(max(ceil(len(self.full) ** 0.5), 3), LEAST_PROBABILITY)

    def _new(self) -> Pull | None:
        """Create the arms of a loop and return the first pull of them."""
        price = self.clock.of_new.value
        if price is None:  # the first full pull is running, or failed
            is_priced = any(pull.level == self.top for pull in self.in_flight)
            return self._create(1, self.low or self.top if is_priced else self.top)
        return None if self._is_settled() else self._loop(self._work(price, RESERVE), price)

    def _left_over(self) -> Pull | None:
        """Return what can still be done in the time that was kept for further splits."""
        price = self.clock.of_new.value
        if price is None or self._is_settled():
            return None
        pull = self._contest(self.n_splits, LEAST_PROBABILITY)
        pull = pull or self._loop(self._work(price, 0), price)
        pull = pull or (self._promotion() if self.full else None)
        return pull or self._contest(self.n_splits, LEAST_AT_END)

    # Loops of new arms.

    def _create(self, n: int, level: int, n_promoted: int = 0) -> Pull | None:
        n = min(n, self.n_arms - self.n_created)
        if n < 1:
            return None
        arms = range(self.n_created, self.n_created + n)
        self.loops.append(arms)
        if n_promoted:
            self._screens.append((set(arms), n_promoted))
        self._queue.extend(Pull(arm, level, FIRST) for arm in arms)
        return self._queued()

    def _close(self, arm: int) -> None:
        """Note that an arm was screened; the last one of its loop makes promotions due."""
        for arms, n_promoted in self._screens:
            arms.discard(arm)
            if not arms:
                self._n_due += n_promoted
        self._screens = [screen for screen in self._screens if screen[0]]

    def _loop(self, work: float, price: float) -> Pull | None:
        """Create a loop that takes some work, in seconds; None if not even one pull fits in."""
        low, n_left = self._screening_price(), self.n_arms - self.n_created
        if low is not None:
            n = _n_screened(work, low, price)
            if n >= 3:
                n = min(n, n_left)
                return self._create(n, self.low or self.top, max(1, n // KEEPS))
        n_full = int(work // price)
        if n_full:
            return self._create(n_full, self.top)
        n_low = 0 if low is None or len(self.full) > 1 else int(work // low)
        return self._create(n_low, self.low or self.top)

    def _ranked(self, screened: Iterable[int]) -> list[int]:
        """Return screened arms, best first."""
        return sorted(screened, key=lambda arm: (-self.screened[arm], arm))

    # Time.

    def _is_unsure(self) -> bool:
        """Return whether more arms are screened to learn whether that is cheap.

        A single measurement may be wrong by a factor of two.
        """
        share = self.clock.share
        if share is None:  # it may be that screening always fails
            return self._n_failed_screens < N_MEASURED
        return (
            len(self.clock.shares) < N_MEASURED
            and MAX_SCREENING_COST < share < 2 * MAX_SCREENING_COST
            and self._n_of_budget() >= SMALL_BUDGET
        )

    def _screening_price(self) -> float | None:
        """Return the mean time of screening an arm; None if it is not cheap."""
        share = self.clock.share
        is_cheap = share is not None and share <= MAX_SCREENING_COST
        return self.clock.of_screening.value if is_cheap else None

    def _to_refit(self) -> float:
        """Return the time of the refit of the arm that would be recommended now."""
        arm = self.best() if self.refit_cost else NO_ARM
        return 0.0 if arm == NO_ARM else self.refit_cost * self._in_full(arm)

    def _in_full(self, arm: int) -> float:
        return self.clock.first.get(arm, self.clock.expected(Pull(arm, self.top, FIRST)))

    def _can_end(self, pull: Pull) -> bool:
        """Return whether a pull and the refit can end in time, also that of its own arm."""
        to_refit = max(self._to_refit(), self.refit_cost * self._in_full(pull.arm))
        return self.clock.expected(pull) <= self.clock.left - to_refit

    def _n_of_budget(self) -> float:
        """Return the budget in full pulls, of all workers."""
        price = self.clock.of_new.value
        return 0.0 if price is None else self.clock.budget * self.clock.n_workers / price

    def _work(self, price: float, n_reserved: int) -> float:
        """Return the work of the next loop, in seconds of all workers together."""
        n_workers, budget = self.clock.n_workers, self.clock.budget
        work = (self.clock.left - self._to_refit()) * n_workers
        work -= sum(map(self.clock.expected, self.in_flight)) + self._n_due * price
        if self._n_of_budget() < SMALL_BUDGET:
            return work
        if work < inf and n_reserved:
            work -= min(n_reserved * price, RESERVED_SHARE * budget * n_workers)
        share = max(budget / N_LOOPS, LEAST_PER_LOST * self._lost()) * n_workers
        loop = max(min(share, MOST_LOOP * price), LEAST_LOOP * price * n_workers)
        return work if work < 1.5 * loop else loop

    def _lost(self) -> float:
        """Return the time between pulls for each loop, in which its arms are made."""
        clock = self.clock
        if clock.budget == inf:
            return 0.0
        lost = clock.budget - clock.left - clock.total / clock.n_workers
        return max(lost, 0.0) / len(self.loops)

    # Further splits of known arms.

    def _contest(self, most: int, least: float) -> Pull | None:
        """Return a pull of the leader or of its closest rival; None if the leader is clear.

        ``most`` is the largest number of splits of an arm, and ``least`` the smallest probability
        that a rival is better.
        """
        standing = self.standing
        if len(standing.arms) < 2:
            return None
        n_open = Counter(pull.arm for pull in self.in_flight if pull.level == self.top)
        arm = standing.contender(min(most, self.n_splits), least, n_open)
        pull = None if arm == NO_ARM else Pull(arm, self.top, self._next_split(arm))
        return pull if pull is not None and self._can_end(pull) else None

    def _next_split(self, arm: int) -> int:
        known = self.full[arm]
        return next(
            split
            for split in range(self.n_splits)
            if split not in known and Pull(arm, self.top, split) not in self.in_flight
        )

    def _is_settled(self) -> bool:
        """Return whether the last two thirds of many arms gained less than the noise."""
        standing = self.standing
        if len(standing.arms) < N_SETTLED:
            return False
        early = standing.mean[: len(standing.arms) // 3].max()
        return bool(standing.mean.max() - early <= np.sqrt(standing.noise / self.n_splits))


def _n_screened(work: float, low: float, price: float) -> int:
    """Return the largest n with ``n * low + max(1, n // KEEPS) * price <= work``."""
    if work == inf:
        return KEEPS
    n = int((work - price) // low)
    if n >= 2 * KEEPS:
        group = KEEPS * low + price
        n_groups = int(work // group)
        n = n_groups * KEEPS + min(KEEPS - 1, int((work - n_groups * group) // low))
    return max(n, 0)
