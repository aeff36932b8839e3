"""The policy of a time budget, which HyperbandSearchCV plays."""
