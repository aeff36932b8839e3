"""Checks for a policy, a sampler or a resource of your own, in the manner of ``check_estimator``.

A function returns None if all checks pass. Otherwise it raises an AssertionError that says what is
wrong and what to do.
"""

from sklearn_halving.testing._policy import check_policy
from sklearn_halving.testing._resource import check_resource
from sklearn_halving.testing._sampler import check_sampler

__all__ = ["check_policy", "check_resource", "check_sampler"]
