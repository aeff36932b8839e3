"""Estimates of the noise of each arm, and of the uncertainty of the choice of an arm."""
