"""Training from level to level, which several tests of resources share."""

from __future__ import annotations


def trained_to(X, y, resource, model, levels, **fit_params):
    """Return the model after training it to one level after the other."""
    previous = 0
    for level in levels:
        model = resource.train(model, X, y, level, previous, fit_params)
        previous = level
    return model
