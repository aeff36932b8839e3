"""The Gaussian posterior of correlated arms, for `BayesGap`.

`_arm_covariance` and `_hyperparameters` define the prior, `_prior` fits it to the rewards,
`_arm_posterior` updates the posterior by a pull, and `_state` holds what a policy knows. These
modules handle many problems at a time. `_single_posterior` and `_single_state` override the steps
that would be slow in a search, which plays a single problem.
"""
