"""The Gaussian posterior of correlated arms, for `BayesGap`.

`_arm_posterior` has the prior and updates the posterior by a pull, `_hyperparameters` fits the
prior to the rewards, and `_state` holds what a policy knows. One problem is a batch of one.
"""
