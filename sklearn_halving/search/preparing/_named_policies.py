"""Policies that can be given by name, and how a search creates them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sklearn.base import is_classifier

from sklearn_halving import policies
from sklearn_halving.policies._types import Policy, PolicyDescription
from sklearn_halving.policies.bases._base_policy import BasePolicy, as_policy
from sklearn_halving.search._shared_parameters import SharedParameters
from sklearn_halving.search.preparing._inputs import Reward
from sklearn_halving.search.preparing._search_space import SearchSpace, is_discrete

POLICIES: dict[str, str] = {
    "adaptive_gap_e_v": "AdaptiveGapEV",
    "adaptive_ucb_e": "AdaptiveUCBE",
    "adaptive_ugap_eb": "AdaptiveUGapEb",
    "anytime_successive_rejects": "AnytimeSuccessiveRejects",
    "bernstein_race": "BernsteinRace",
    "exp3": "EXP3",
    "hoeffding_race": "HoeffdingRace",
    "incumbent_race": "IncumbentRace",
    "lil_ucb": "LilUCB",
    "lucb": "LUCB",
    "moss": "MOSS",
    "successive_elimination": "SuccessiveElimination",
    "successive_rejects": "SuccessiveRejects",
    "ucb1": "UCB1",
    "ucb_v": "UCBV",
    "uniform": "UniformAllocation",
    "variance_halving": "VarianceHalving",
    "variance_rejects": "VarianceRejects",
}
"""Names and classes of the policies that need only a number of fits or a confidence."""
POINT_POLICIES: dict[str, str] = {"hoo": "HOO"}
"""Policies that create their candidates during the search, from continuous distributions."""
LEVEL_POLICIES: dict[str, str] = {"asynchronous_halving": "AsynchronousHalving"}
"""Policies that need a number of fits and a resource."""
N_PULLS_OF_EXAMPLE = 1000
NAMES = (*POLICIES, *LEVEL_POLICIES, *POINT_POLICIES)
_RUNGS = "it plays rungs: give {name}(...) and a resource, or use HyperbandSearchCV"
_EXPLORATION = "it needs an exploration: give {name}(n_pulls, a); {other!r} estimates its own"
NOT_BY_NAME: dict[str, str] = {
    "AsynchronousBrackets": (
        "it plays the brackets of another policy: give AsynchronousBrackets(...) and a resource; "
        "HyperbandSearchCV(promotion='asynchronous') is the short way"
    ),
    "BayesGap": "it needs a covariance of the candidates: BayesGapSearchCV makes one",
    "BernsteinStopping": "it needs an accuracy: give BernsteinStopping(epsilon)",
    "MedianElimination": (
        "it needs a tolerated regret: give MedianElimination(epsilon); "
        "'successive_elimination' needs none"
    ),
    "UGapEc": "it needs a tolerated regret: give UGapEc(epsilon); 'lucb' needs none",
    **{
        name: _EXPLORATION.format(name=name, other=other)
        for name, other in (
            *(("GapE", "adaptive_gap_e_v"), ("GapEV", "adaptive_gap_e_v")),
            *(("UCBE", "adaptive_ucb_e"), ("UGapEb", "adaptive_ugap_eb")),
        )
    },
    **{
        name: _RUNGS.format(name=name)
        for name in (
            *("DoublingHalving", "FiniteHorizonHalving", "GridHalving", "GrowingHyperband"),
            *("Hyperband", "InfiniteHorizonHalving", "InfiniteHyperband", "SuccessiveHalving"),
        )
    },
}
"""Policies that cannot be given by name, with the reason and the alternative."""
UNIT_SCORES = (
    "accuracy",
    "average_precision",
    "balanced_accuracy",
    "f1",
    "jaccard",
    "precision",
    "recall",
    "roc_auc",
    "top_k_accuracy",
)
"""Names of scores between 0 and 1, also with suffixes such as ``_macro``."""


def check_name(name: str) -> None:
    """Raise if a policy cannot be given by this name; the message names an alternative."""
    if name in NAMES:
        return
    listed = ", ".join(map(repr, sorted(NAMES)))
    for class_name, way_out in NOT_BY_NAME.items():
        if name.lower().replace("_", "").replace("-", "") == class_name.lower():
            raise ValueError(
                f"policy={name!r} cannot be given by name: {way_out}. Objects are from "
                f"sklearn_halving.policies; names are {listed}."
            )
    raise ValueError(
        f"policy must be one of {listed}, or a policy object; got {name!r}. Policies that are not "
        f"listed need parameters ({', '.join(sorted(NOT_BY_NAME))}): give an object from "
        "sklearn_halving.policies."
    )


def policy_by_name(
    name: str, n_arms: int, n_pulls: int, confidence: float, n_splits: int
) -> BasePolicy:
    """Return the policy, with the budget, the confidence and the splits of the search."""
    if n_arms == 1 and name in POLICIES:  # only its score is needed
        return policies.UniformAllocation(n_pulls)
    known = {
        "n_pulls": n_pulls,
        "max_pulls": n_pulls,
        "n_rounds": n_pulls // n_arms,
        "delta": 1 - confidence,
        "n_splits": max(n_splits, policies.IncumbentRace.n_splits),
    }
    policy_class = getattr(policies, (POLICIES | LEVEL_POLICIES)[name])
    names = {field.name for field in fields(policy_class)}
    policy: BasePolicy = policy_class(**{key: known[key] for key in known.keys() & names})
    return policy


def point_policy(name: str, n_pulls: int, n_dimensions: int, n_splits: int | None) -> BasePolicy:
    """Return a policy that creates its candidates, with the dimensions of the space."""
    policy: BasePolicy = getattr(policies, POINT_POLICIES[name])(
        n_pulls, n_dimensions, n_splits=n_splits
    )
    return policy


def description_of(policy: str | Policy) -> PolicyDescription:
    """Return the description of a policy that is given by name or as an object.

    A name has the description of an example, which holds for any number of fits and candidates
    except for ``max_pulls`` and ``confidence``.
    """
    if isinstance(policy, str):
        check_name(policy)
        policy = _example(policy)
    try:
        return as_policy(policy).describe()
    except TypeError as error:
        names = ", ".join(map(repr, NAMES))
        raise ValueError(
            "policy must be a name or an object with the methods of "
            f"sklearn_halving.policies.Policy; got {policy!r}. Names are {names}."
        ) from error


def _example(name: str) -> BasePolicy:
    """Return a policy with this name."""
    if name in POINT_POLICIES:
        return point_policy(name, N_PULLS_OF_EXAMPLE, n_dimensions=1, n_splits=None)
    return policy_by_name(name, 2, N_PULLS_OF_EXAMPLE, confidence=0.95, n_splits=1)


def range_of_score(scoring: object, *, classifies: bool) -> tuple[float, float] | None:
    """Return the range of a score if it is known to lie between 0 and 1, else None."""
    if scoring is None:
        return (0.0, 1.0) if classifies else None
    names = [*UNIT_SCORES, *(f"{name}_" for name in UNIT_SCORES)]
    if isinstance(scoring, str) and any(
        scoring == name or (name.endswith("_") and scoring.startswith(name)) for name in names
    ):
        return (0.0, 1.0)
    return None


def range_of_steering_score(search: SharedParameters) -> tuple[float, float] | None:
    """Return the range of the score that guides the search, or None if it is not known."""
    scoring, classifies = search.scoring, is_classifier(search.estimator)
    if isinstance(scoring, list | tuple | set | Mapping):
        of_name = scoring if isinstance(scoring, Mapping) else {name: name for name in scoring}
        if not of_name:
            return None  # scikit-learn raises an error later
        scoring = of_name[Reward(search.refit, None).metric_of(dict(of_name))]
    return range_of_score(scoring, classifies=classifies)


def check_continuous(space: SearchSpace, policy: str) -> int:
    """Return the number of parameters of a space of numbers, for a policy that creates points.

    With a discrete distribution, different points could be equal candidates, fitted on the same
    splits.

    Raises
    ------
    ValueError
        Unless the space is one dict of continuous distributions, each with a method ``ppf``.
    """
    spaces = space.distributions
    way_out = (
        "Give continuous scipy.stats distributions, such as loguniform(1e-3, 1e3) or "
        "uniform(0, 1), and set other parameters in the estimator; or use another policy, such "
        "as 'successive_rejects'."
    )
    if len(spaces) > 1:
        raise ValueError(
            f"param_distributions must be one dict for policy={policy!r}, which searches one "
            f"space of numbers; got a list of {len(spaces)}. {way_out}"
        )
    if not spaces[0]:
        raise ValueError(
            f"param_distributions must have at least one parameter for policy={policy!r}, which "
            f"searches a space of numbers; got {{}}. {way_out}"
        )
    bad = [
        f"{name!r}: {_shown(values)}"
        for name, values in sorted(spaces[0].items())
        if not hasattr(values, "ppf") or is_discrete(values)
    ]
    if bad:
        raise ValueError(
            f"param_distributions must be continuous distributions for policy={policy!r}, "
            f"which halves ranges of numbers; got {', '.join(bad)}. {way_out}"
        )
    return len(spaces[0])


def _shown(values: Any) -> str:
    """Return a text for a distribution: discrete distributions have no informative repr."""
    if not is_discrete(values):
        return repr(values)
    if not hasattr(values, "dist"):
        return f"the discrete distribution {values.name}"
    arguments = [*map(repr, values.args), *(f"{k}={v!r}" for k, v in values.kwds.items())]
    return f"the discrete distribution {values.dist.name}({', '.join(arguments)})"
