"""A race of new arms against the best so far, within a budget of pulls or of time."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil, inf, isnan
from typing import ClassVar, cast

import numpy as np

from sklearn_halving._checks import Count, NotNegative
from sklearn_halving.policies._arrays import FloatArray, Seed
from sklearn_halving.policies._plan import Bracket, Plan, Round, open_plan
from sklearn_halving.policies._protocol import ALL_TRIED
from sklearn_halving.policies._types import MAX_SPLITS, NO_ARM, Problem, Pull, ScoresAtLevel
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._pull_costs import PullCosts, TimeCosts
from sklearn_halving.policies.bases._ranking import BrokenSplits
from sklearn_halving.policies.noise._standings import Standings

SCREENED_PER_PROMOTION = 9
"""One of this many screened arms is pulled at the largest level."""
N_BLIND, N_KNOWN = 3, 8
"""Arms are screened until this many have a full reward. A sampler is told the scores of screening
until this many have one."""
MAX_SCREENING_COST = 0.25
"""A pull at the small level must not cost more than this share of one at the largest level."""
N_LOOPS, LEAST_LOOP, MOST_LOOP = 30, 2, 50
"""A loop gets 1/30 of the budget: at least 2 full pulls of each worker, at most 50 in all."""
SMALL_BUDGET = 10
"""Budgets below this many full pulls are spent on a single loop, without confirmation."""
PULLS_PER_SPLIT, PULLS_PER_COMPARISON, N_COMPLETE = 4, 20, 10
"""For every four full pulls of the budget, the winner gets a split. For every twenty, the baseline
gets three, at the start. Ten splits are enough for both."""
LEAST_PER_LOST = 4
"""A loop takes this many times the time to make its arms, up to a quarter of what is left."""
N_SETTLED = 300
"""With this many arms at the largest level, a race with a time budget may end early."""
N_DOUBTS = 3
"""If this many arms fail on the comparison split and none succeeds, use another."""
MAX_FAILED = 30
"""Stop after this many failed arms without a success."""


@dataclass(frozen=True)
class BudgetedRace(BasePolicy):
    """Race new arms against the best so far, in small loops, within a budget of pulls or of time.

    Each loop pulls a few new arms on one split of the leader, the arm with the largest mean:
    the one on which the fewest arms were pulled. Between the loops, the leader and its closest
    rivals are pulled on further splits, until one is clearly ahead. At the end, the leader gets
    the splits that it lacks. There is an answer at any time.

    A budget is a number of full pulls, or a time. With a time, the policy plans by the measured
    times of its pulls. The first loops compare arms at a small level, if that is cheap, and pull
    one of nine in full. Later ones do so only to learn what an arm costs, where prices are far
    apart. No pull starts that would not end in time.

    The policy is for arms in random order, and for arms that are created during the race.

    Parameters
    ----------
    n_pulls : int or None, default=None
        Budget in pulls at the largest level. None is a budget of time, see `record_time`.
    screening_level : int or None, default=None
        Level at which new arms are compared first; None to pull all of them in full.
    pulls_in_flight : int, default=1
        Maximum number of pulls in flight. With a budget of time, it is the number of workers that
        `record_time` tells.
    refit_cost : float, default=0.0
        Time that is kept back at the end, in full pulls of the arm to recommend.
    baseline : int or None, default=None
        An arm that is pulled on three splits at the start for every 20 full pulls of the budget,
        to know what the race gained and how much the splits differ.
    n_finalists : int, default=1
        Maximum number of arms that are pulled on all splits at the end. There is one for every
        four full pulls of each split in the budget, and one more.

    Notes
    -----
    The mean of an arm is that of the additive model of arms and splits, shrunk towards the median
    arm. The rival is the arm with the largest probability of being better than the leader, divided
    by the square root of its number of splits. After N arms at the largest level, an arm has at
    most sqrt(N) splits, or three, or more if the splits differ more than the arms do. The arm to
    recommend has the largest mean of the arms on all splits. Before there is one, it needs half of
    the most splits of any arm. Of equal arms, the first one is taken. Arms with the same rewards
    count once in the estimate of the noise. An arm that fails on a split on which others do not is
    out.

    References
    ----------
    Hutter, Hoos and Leyton-Brown. Sequential model-based optimization for general algorithm
    configuration. LION 5, 2011 (the procedure Intensify). Audibert, Bubeck and Munos. Bandit view
    on noisy optimization, 2011, section 16.3 (races).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import BudgetedRace, Problem
    >>> policy = BudgetedRace(n_pulls=100)
    >>> game = policy.start(Problem(n_arms=30, max_repetitions=5))
    >>> rng = np.random.default_rng(0)
    >>> means = rng.permutation(30)
    >>> while not game.is_finished:
    ...     for pull in game.ask(max_pulls=1):
    ...         game.tell(pull, rng.normal(means[pull.arm]))
    >>> int(means[game.recommend()])
    29
    """

    n_pulls: Count | None = None
    screening_level: int | None = None
    pulls_in_flight: Count = 1
    refit_cost: NotNegative = 0.0
    baseline: int | None = None
    n_finalists: Count = 1

    factor: ClassVar[float] = 3.0

    @property
    def plays_levels(self) -> bool:
        """Whether new arms are screened at a small level."""
        return self.screening_level is not None

    @property
    def uses_time(self) -> bool:
        """Whether the budget is a time."""
        return self.n_pulls is None

    def plan(self, problem: Problem) -> Plan:
        """Return a round of full pulls, perhaps after the first arm and after screening."""
        low, window = self.screening_level, self.pulls_in_flight
        if self.n_pulls is None or low is not None:
            full = Round(problem.n_arms, problem.max_level, is_open=True)
            screening = [] if low is None else [Round(problem.n_arms, low, is_open=True)]
            own = [Round(1, problem.max_level, n_repetitions=1)] if self.uses_time else []
            stages = Bracket(None, (*own, *screening, full))
            return Plan((stages,), is_exact=False, window=window, ranks_by="level")
        n_all = problem.n_arms * (problem.max_repetitions or MAX_SPLITS)
        # In between, the race ends where one arm is clearly ahead of all.
        is_exact, most = not problem.n_arms < self.n_pulls < n_all, min(self.n_pulls, n_all)
        return open_plan(problem, most, is_exact=is_exact, window=window, ranks_by="level")

    def start(self, problem: Problem, seed: Seed = None) -> RaceGame:
        """Return the game before the first pull. The policy is deterministic; no seed is used."""
        return RaceGame(self, problem)


class RaceGame:
    """The state of a single problem."""

    def __init__(self, rules: BudgetedRace, problem: Problem) -> None:
        low, self.top = rules.screening_level, problem.max_level
        self.low = low if low is not None and low < self.top else None
        self.n_splits = problem.max_repetitions or MAX_SPLITS
        self.n_arms, self.baseline = problem.n_arms, rules.baseline
        self.n_finalists = rules.n_finalists
        self.costs: PullCosts | TimeCosts = (
            TimeCosts(self.top, rules.pulls_in_flight, rules.refit_cost)
            if rules.n_pulls is None
            else PullCosts(self.top, rules.n_pulls)
        )
        self.most_in_flight = inf if rules.n_pulls is None else rules.pulls_in_flight
        self.first = 0
        """The split on which new arms are compared."""
        self.loops: list[range] = []
        self.in_flight: dict[Pull, None] = {}
        self.failed: set[int] = set()
        self.screened: dict[int, float] = {}
        self.full: dict[int, dict[int, float]] = {}
        self._rows: dict[int, FloatArray] = {}  # the same as arrays
        self.splits = BrokenSplits()
        self.doubtful = self.splits.doubtful
        self._queue: deque[Pull] = deque()
        self._pool: set[int] = set()  # screened, but not pulled in full
        self._screens: list[tuple[set[int], int]] = []  # arms of a loop, and how many it promotes
        self._n_due = self._n_failed_screens = self.n_known = 0
        self._decision: Pull | None = None
        self._standings: Standings | None = None

    # The protocol of a game.

    def ask(self, max_pulls: int) -> list[Pull]:
        """Return up to ``max_pulls`` pulls."""
        pulls: list[Pull] = []
        room = min(max_pulls, self.most_in_flight - len(self.in_flight))
        while len(pulls) < room and (pull := self._next_pull()) is not None:
            self._decision = None
            self.in_flight[pull] = None
            self.costs.open(pull, is_again=pull.arm in self.full)
            pulls.append(pull)
        return pulls

    def tell(self, pull: Pull, reward: float) -> None:
        """Record the reward of a pull."""
        arm, level, split = pull
        del self.in_flight[pull]
        self._standings = None
        is_first = arm not in self.full
        if level != self.top:
            self._take_screened(arm, reward)
        elif isnan(reward):
            self._take_failure(arm, split)
        else:
            self._take_reward(arm, split, reward)
        if not isnan(reward):
            self.costs.close(pull, is_new=is_first and level == self.top)
        if level == self.low:
            self._close(arm)
        elif self.low and is_first and [*self.full] == [arm] and arm not in self.screened:
            self._queue.appendleft(Pull(arm, self.low, self.first))  # what it costs to screen

    def record_time(self, pull: Pull | None, seconds: float, left: float, n_workers: int) -> None:
        """Record the time of a pull before `tell`, and the time that is left."""
        if isinstance(self.costs, TimeCosts):
            self.costs.record(pull, seconds, left, n_workers)

    def arms_wanted(self) -> list[range]:
        """Return the groups of arms that were created so far, in the order of their creation."""
        return self.loops

    def tell_known(self, pulls: list[Pull], rewards: FloatArray, seconds: FloatArray) -> None:
        """Record rewards of earlier races as if they were from this one."""
        self.loops.append(range(1 + max(pull.arm for pull in pulls)))
        for pull, reward, time in zip(pulls, rewards.tolist(), seconds.tolist(), strict=True):
            self.in_flight[pull] = None
            self.costs.open(pull, is_again=pull.arm in self.full)
            cast(TimeCosts, self.costs).learn(pull, time)
            self.tell(pull, reward)
        self.n_known = len(self.loops[0])
        known, told = self.failed.union(self.full, self.screened), set(pulls)
        known = known.union(*self.doubtful.values())
        rest = [Pull(arm, self.top, self.first) for arm in self.loops[0] if arm not in known]
        self._queue = deque(pull for pull in [*self._queue, *rest] if pull not in told)

    @property
    def is_finished(self) -> bool:
        """Whether no pull is in flight, and none would end in time or change anything."""
        return not self.in_flight and self._next_pull() is None

    def out(self) -> list[int]:
        """Return the arms that failed."""
        return [*self.failed]

    def recommend(self) -> int:
        """Return the leader; before any full pull, the best arm at the screening level."""
        if self.standings.leader == NO_ARM:
            return next(iter(self._ranked(self.screened.keys() - self.failed)), NO_ARM)
        return self.standings.leader

    # What was learned.

    def _take_screened(self, arm: int, reward: float) -> None:
        if not isnan(reward):
            self.screened[arm] = reward
            self._pool |= {arm} - self.full.keys()
            return
        self._n_failed_screens += 1
        if arm not in self.full:  # else, its full pull counts
            self._fail([arm])

    def _take_reward(self, arm: int, split: int, reward: float) -> None:
        self.full.setdefault(arm, {})[split] = reward
        self._rows.setdefault(arm, np.full(self.n_splits, np.nan))[split] = reward
        self._pool.discard(arm)
        self._fail(self.splits.take_in(arm, split, reward))
        if self.first not in self.splits.works:
            self.first = split
        if self.doubtful:
            self._retry()

    def _take_failure(self, arm: int, split: int) -> None:
        """Note that a full pull failed: because of the arm, or because of the split."""
        if failed := self.splits.take_in(arm, split, np.nan):
            self._fail(failed)
            return
        others = [s for s in range(min(self.n_splits, MAX_SPLITS)) if s not in self.doubtful]
        has_doubts = len(self.doubtful.get(self.first, ())) >= min(N_DOUBTS, self.n_arms)
        if has_doubts and others:
            self.first = others[0]
        if self.full or (has_doubts and self.n_created == self.n_arms):
            self._retry()

    def _retry(self) -> None:
        """Plan pulls, on the split on which arms are compared, of arms that failed elsewhere."""
        known = self.failed.union(self.full, self.doubtful.get(self.first, ()))
        arms = set().union(*self.doubtful.values()) - known
        pulls = (Pull(arm, self.top, self.first) for arm in sorted(arms))
        planned = self._queue + deque(self.in_flight)
        self._queue.extend(pull for pull in pulls if pull not in planned)

    def _fail(self, arms: list[int]) -> None:
        self.failed.update(arms)
        self._pool.difference_update(arms)

    def scores(self) -> Iterable[ScoresAtLevel]:
        """Yield the means at the largest level, and the rewards at the screening level."""
        failed = self.failed - self.full.keys()
        standings = self.standings
        means = dict(zip(standings.arms.tolist(), standings.adjusted.tolist(), strict=True))
        tables = [(self.top, means | dict.fromkeys(failed, np.nan))]
        if self.low is not None and len(self.full) < N_KNOWN:
            tables.append((self.low, self.screened))
        for level, rewards in tables:
            arms = np.array(sorted(rewards), dtype=np.int64)
            yield ScoresAtLevel(arms, level, np.array([rewards[arm] for arm in arms.tolist()]))

    def ended_by(self) -> Sequence[str]:
        """Return why the race ended early."""
        if self._gives_up():
            return ("all of the first fits failed",)
        if not self.costs.can_end(Pull(0, self.top, 0), 0.0):  # the budget is used up
            return ()
        n_tried = len(self.failed.union(self.full, *self.doubtful.values()))
        if n_tried == self.n_arms and not self._closing():
            return (ALL_TRIED,)
        return ("hundreds of candidates without a gain",) if self._is_settled() else ()

    @property
    def n_created(self) -> int:
        """Number of arms that exist."""
        return self.loops[-1].stop if self.loops else 0

    @property
    def standings(self) -> Standings:
        """What the rewards at the largest level say."""
        if self._standings is None:
            arms = sorted(self.full.keys() - self.failed)
            table = np.array([self._rows[arm] for arm in arms]).reshape(-1, self.n_splits)
            n_all = self.n_splits - len(self.doubtful)
            # Until it has all splits from the start, the baseline is an arm as any other.
            baseline = self.baseline if self._n_of_baseline >= n_all else None
            self._standings = Standings.of(np.array(arms, dtype=np.int64), table, n_all, baseline)
        return self._standings

    # The decisions, in the order of their priority.

    def _next_pull(self) -> Pull | None:
        if self._decision is None and not self._gives_up():
            rules = (
                self._first_arm,
                self._planned,
                self._comparison,
                self._due_promotion,
                self._late_promotion,
                self._due_confirmation,
                self._new_loop,
                self._last_pulls,
                self._missing_split,
            )
            self._decision = next((pull for rule in rules if (pull := rule()) is not None), None)
        return self._decision

    def _gives_up(self) -> bool:
        """Return whether to stop because many arms failed and none succeeded."""
        n_failed = len(self.failed.union(*self.doubtful.values()))
        return n_failed >= MAX_FAILED and not (self.full or self.screened)

    def _first_arm(self) -> Pull | None:
        """Return a full pull of the first arm."""
        return None if self.loops else self._create(1, self.top)

    def _planned(self) -> Pull | None:
        """Return the next pull that was planned and can end in time."""
        while self._queue:
            pull = self._queue.popleft()
            if pull.arm in self.failed:
                continue
            if self._can_end(pull) or self.costs.price is None:
                return pull
            self._close(pull.arm)
        return None

    def _comparison(self) -> Pull | None:
        """Return a pull of the baseline, which shows early how much the splits differ."""
        if self.baseline not in self.full or self.baseline in self.failed:
            return None
        return self._first_open(self._lacking(self.baseline, self._n_of_baseline))

    def _due_promotion(self) -> Pull | None:
        """Return a full pull of the best screened arm, if one is due."""
        pull = self._promotion() if self._n_due else None
        self._n_due = 0 if pull is None else self._n_due - 1
        return pull

    def _promotion(self) -> Pull | None:
        pulls = (Pull(arm, self.top, self.first) for arm in self._ranked(self._pool))
        pull = next((pull for pull in pulls if self._can_end(pull)), None)
        if pull is not None:
            self._pool.discard(pull.arm)
        return pull

    def _late_promotion(self) -> Pull | None:
        """Return a full pull of the best screened arm, if screening is not cheap.

        Arms are screened before that is known if there are several workers.
        """
        if not self._pool or self.costs.share is None or self._screening_price() is not None:
            return None
        best = self._ranked(self.screened.keys() - self.failed)[0]
        return self._promotion() if best in self._pool else None

    def _due_confirmation(self) -> Pull | None:
        """Return a pull on a further split, as long as new arms have most of the cost."""
        costs, n_needed = self.costs, self.standings.n_needed
        share = 1 - 1 / (1 + n_needed)  # half of the cost, if the splits agree
        is_due = costs.again <= share * costs.total and costs.size >= SMALL_BUDGET
        if not is_due or self._room() < (costs.price or 0.0):
            return None
        return self._confirmation(max(ceil(len(self.full) ** 0.5), 3, ceil(n_needed)))

    def _new_loop(self) -> Pull | None:
        """Create the arms of a loop and return the first pull of them."""
        if self.costs.price is None:  # the first full pull is running, or failed
            is_priced = any(pull.level == self.top for pull in self.in_flight)
            return self._create(1, self.low or self.top if is_priced else self.top)
        return None if self._is_settled() else self._loop()

    def _last_pulls(self) -> Pull | None:
        """Return what can still be done when no loop of new arms fits into the budget."""
        if self.costs.price is None:
            return None
        if (pull := self._first_open(self._closing())) is not None or self._is_settled():
            return pull
        pull = self._confirmation(self.n_splits)
        pull = pull or (self._promotion() if self.full else None)
        return pull or self._create(1, self.top)

    def _first_open(self, pulls: Iterable[Pull]) -> Pull | None:
        """Return the first pull that is not in flight and can end in time."""
        return next((p for p in pulls if p not in self.in_flight and self._can_end(p)), None)

    def _closing(self) -> list[Pull]:
        """Return the splits that the best arms lack, of those that the budget can complete."""
        standings, price, order = self.standings, self.costs.price, self.standings.order
        if price is None:
            return []
        n_arms, n_wanted = self._goals()
        n_left = self.costs.room(self.in_flight, self._to_refit()) / price
        can_win = n_wanted - standings.n_asked(self.in_flight)[order] <= max(n_left, 0)
        best = standings.arms[order[can_win][:n_arms]].tolist()
        return [pull for arm in best for pull in self._lacking(arm, n_wanted)]

    def _goals(self) -> tuple[int, int]:
        """Return how many arms get how many splits by the end."""
        n_all = min(self.n_splits - len(self.doubtful), N_COMPLETE)
        n_each = self.costs.size / PULLS_PER_SPLIT  # perhaps without end
        n_arms = 1 + int(min(n_each / max(n_all, 1), self.n_finalists))
        return min(self.n_finalists, n_arms), int(min(n_each, n_all))

    @property
    def _n_of_baseline(self) -> int:
        """Number of splits that the baseline gets at the start."""
        return 3 * int(min(self.costs.size / PULLS_PER_COMPARISON, N_COMPLETE))

    def _lacking(self, arm: int, n_splits: int) -> list[Pull]:
        """Return pulls of an arm up to a number of splits, at most `N_COMPLETE`."""
        usable = (split for split in range(self.n_splits) if split not in self.doubtful)
        missing = [split for split in islice(usable, N_COMPLETE) if split not in self.full[arm]]
        return [Pull(arm, self.top, s) for s in missing[: max(0, n_splits - len(self.full[arm]))]]

    def _missing_split(self) -> Pull | None:
        """Return a pull of the arms that lack splits, if the budget covers all arms on all."""
        if self.n_created < self.n_arms or self.costs.size < self.n_arms * self.n_splits:
            return None
        splits = ((arm, self._next_split(arm)) for arm in sorted(self.full.keys() - self.failed))
        return self._first_open(Pull(arm, self.top, s) for arm, s in splits if s is not None)

    # Loops of new arms.

    def _create(self, n: int, level: int, n_promoted: int = 0) -> Pull | None:
        n = min(n, self.n_arms - self.n_created)
        if n < 1:
            return None
        arms = range(self.n_created, self.n_created + n)
        self.first = self._next_first()
        self.loops.append(arms)
        if n_promoted:
            self._screens.append((set(arms), n_promoted))
        self._queue.extend(Pull(arm, level, self.first) for arm in arms)
        return self._planned()

    def _next_first(self) -> int:
        """Return the split of the leader on which the fewest arms have a reward."""
        leader = self.standings.leader
        if leader == NO_ARM or self.doubtful or self._pool:
            return self.first
        counts = Counter(split for own in self.full.values() for split in own)
        return min(sorted(self.full[leader]), key=counts.__getitem__)

    def _close(self, arm: int) -> None:
        """Note that an arm was screened; the last one of its loop makes promotions due."""
        for arms, n_promoted in self._screens:
            arms.discard(arm)
            if not arms:
                self._n_due += n_promoted
        self._screens = [screen for screen in self._screens if screen[0]]

    def _loop(self) -> Pull | None:
        """Create a loop; None if not even one full pull fits into what is left."""
        price = cast(float, self.costs.price)
        work, low = self._work(price), self._screening_price()
        if low is not None and len(self.full) < N_BLIND:
            n = int(min((work - price) // low, SCREENED_PER_PROMOTION * self.costs.n_workers))
            if n >= 3:
                return self._create(n, self.low or self.top, max(1, n // SCREENED_PER_PROMOTION))
        if low is not None and self.costs.are_prices_far_apart:
            n = int(work // (price + low))
            return self._create(n, self.low or self.top, n)
        return self._create(int(work // price), self.top)

    def _work(self, price: float) -> float:
        """Return what the next loop may cost."""
        costs, n_workers = self.costs, self.costs.n_workers
        work = self._room() - self._n_due * price
        if costs.size < SMALL_BUDGET:
            return work
        lost = min(LEAST_PER_LOST * costs.lost(len(self.loops)), work / 4)
        share = max(costs.size * price / N_LOOPS, lost)
        loop = max(min(share, MOST_LOOP * price), LEAST_LOOP * price * n_workers)
        return work if work < 1.5 * loop else loop

    def _room(self) -> float:
        """Return what is left, without what completes the best arms, or new ones, at the end."""
        kept = sum(self.costs.expected(p) for p in self._closing() if p not in self.in_flight)
        if self.standings.leader in (NO_ARM, self.baseline):
            n_arms, n_wanted = self._goals()
            kept = n_arms * max(0, n_wanted - 1) * (self.costs.price or 0.0)
        return self.costs.room(self.in_flight, self._to_refit()) - kept

    def _ranked(self, screened: Iterable[int]) -> list[int]:
        """Return screened arms, best first."""
        return sorted(screened, key=lambda arm: (-self.screened[arm], arm))

    # Costs.

    def _screening_price(self) -> float | None:
        """Return the mean cost of screening an arm; None if it is not cheap, or often fails."""
        share = self.costs.share
        if self.low is None or share is None or share > MAX_SCREENING_COST:
            return None
        often_fails = self._n_failed_screens > max(SCREENED_PER_PROMOTION, len(self.screened))
        return None if often_fails else self.costs.screening_price

    def _to_refit(self) -> float:
        """Return the cost of the refit of the arm that would be recommended now."""
        arm = self.recommend() if self.costs.refit_cost else NO_ARM
        return 0.0 if arm == NO_ARM else self.costs.of_refit(arm)

    def _can_end(self, pull: Pull) -> bool:
        """Return whether a pull and the refit of its arm, or of the leader, can end in time."""
        costs, own = self.costs, self.costs.of_refit(pull.arm)
        if self.full and costs.can_end(pull, max(own, costs.dearest_refit)):
            return True  # whoever leads, which takes longer to find out
        return costs.can_end(pull, max(own, self._to_refit()))

    # Further splits of known arms.

    def _confirmation(self, most: int) -> Pull | None:
        """Return a pull of the leader or of its closest rival; None if the leader is clear.

        ``most`` is the largest number of splits of an arm.
        """
        standings = self.standings
        if len(standings.arms) < 2:
            return None
        arm = standings.next_to_confirm(min(most, self.n_splits), self.in_flight)
        split = None if arm == NO_ARM else self._next_split(arm)
        pull = None if split is None else Pull(arm, self.top, split)
        return pull if pull is not None and self._can_end(pull) else None

    def _next_split(self, arm: int) -> int | None:
        """Return the first split on which an arm was not pulled; None if there is none."""
        for split in range(self.n_splits):
            doubts = self.doubtful.get(split, ())
            is_new = split not in self.full[arm] and arm not in doubts
            is_usable = is_new and len(doubts) < N_DOUBTS
            if is_usable and Pull(arm, self.top, split) not in self.in_flight:
                return split
        return None

    def _is_settled(self) -> bool:
        """Return whether the last two thirds of many arms gained less than the noise."""
        standings = self.standings
        n_new = len(standings.arms) - self.n_known
        if isinstance(self.costs, PullCosts) or n_new < N_SETTLED:
            return False
        early = standings.mean[: len(standings.arms) // 3].max()
        return bool(standings.mean.max() - early <= np.sqrt(standings.noise / self.n_splits))
