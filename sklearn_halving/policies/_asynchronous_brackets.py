"""Successive halving that promotes arms before their rung is complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_halving._checks import refuse_unless
from sklearn_halving.policies._plan import Plan
from sklearn_halving.policies._successive_halving import BracketPolicy, BracketsGame
from sklearn_halving.policies._types import Problem


@dataclass(frozen=True)
class AsynchronousBrackets(BracketPolicy):
    """Brackets of another policy, with promotions that do not wait for complete rungs.

    Successive halving promotes the best arms of a rung when the rung is complete. Until then,
    workers may idle. Here, the places of the next rung are given away one by one: when the first m
    of the n arms of a rung are known, the next rung may have ``floor(m * n_next / n)`` arms, the
    best of these m that are not yet promoted. Rungs and numbers of pulls are those of the policy
    that plans them. The price is that an arm may be promoted before a better one is known.

    Parameters
    ----------
    brackets : Hyperband, FiniteHorizonHalving or GridHalving
        The policy that plans the brackets.

    Notes
    -----
    Asynchronous successive halving (ASHA, [1]_) counts the arms of a rung in the order in which
    their results arrive. Here, the arms of a rung are counted in the order in which they entered
    it. A promotion therefore waits for the slowest of the arms before it, but the result does not
    depend on the number of workers or on their speed.

    ASHA promotes an arm whenever it is among the best ``1 / eta`` of its rung so far, which may be
    more than ``1 / eta`` of all arms. As in [2]_, a rung never gets more arms than that share of
    the rung below, so that the number of pulls is known in advance.

    References
    ----------
    .. [1] Li et al. A system for massively parallel hyperparameter tuning. MLSys 2020,
       Algorithm 2 and section 3.3. https://arxiv.org/abs/1810.05934
    .. [2] Li et al. Hyper-Tune: towards efficient hyper-parameter tuning at scale. VLDB 2022,
       asynchronous scheduling. https://arxiv.org/abs/2201.06834

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import AsynchronousBrackets, Hyperband, Problem
    >>> policy = AsynchronousBrackets(Hyperband(brackets="most_exploratory"))
    >>> n_arms = policy.plan(Problem(max_level=27)).n_arms
    >>> state = policy.start(Problem(n_arms, max_level=27))
    >>> limits = np.random.default_rng(0).permutation(n_arms)
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     policy.tell(state, pulls, limits[pulls.arm] - 1 / pulls.level)
    >>> int(limits[policy.recommend(state)])
    26
    """

    brackets: BracketPolicy

    def __post_init__(self) -> None:
        """Validate the parameter."""
        rule = "be a policy that plans brackets, such as Hyperband()"
        refuse_unless(isinstance(self.brackets, BracketPolicy), "brackets", rule, self.brackets)

    @property
    def factor(self) -> float:  # type: ignore[override]
        """Ratio of the levels of consecutive rungs."""
        return self.brackets.factor

    def plan(self, problem: Problem) -> Plan:
        """Return the planned brackets."""
        return self.brackets.plan(problem)

    def order_of_play(self, plan: Plan) -> Sequence[int]:
        """Return the indices of the brackets in the order in which they are started."""
        return self.brackets.order_of_play(plan)

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> BracketsGame:
        game = self.brackets._new_game(problem, rng)
        game.is_gradual = True
        return game
