"""The Gaussian posterior of correlated arms, for `BayesGap`.

`_arm_covariance` and `_hyperparameters` define the prior and fit it to the rewards,
`_arm_posterior` updates the posterior by a pull, and `_state` holds what a policy knows. One
problem is a batch of one.
"""
