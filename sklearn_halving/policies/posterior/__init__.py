"""The Gaussian posterior of correlated arms."""
