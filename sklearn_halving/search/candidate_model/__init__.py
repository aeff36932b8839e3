"""The model of candidates behind BayesGapSearchCV: features, prior and posterior."""
