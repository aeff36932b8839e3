"""What a level means: rows, iterations, epochs, features or seconds.

=================  ==============================================================
`TrainingSize`     rows of the training fold; a model is fitted anew
`Iterations`       an integer parameter; the model is trained on where it can be
`PartialFit`       epochs of ``partial_fit``
`RandomFeatures`   any other integer or float parameter; a model is fitted anew
`FitTime`          seconds
`WholeFit`         nothing: one level, a whole fit
=================  ==============================================================

`resolve_resource` finds the one that a name stands for, `subset_order`, `rows_needed` and
`training_rows` choose rows, and `Rescaling` adapts parameters to the amount of resource. A new
resource is a class with the methods of `Resource`.
"""

from sklearn_halving.resources._fit_time import FitTime
from sklearn_halving.resources._iterations import Iterations
from sklearn_halving.resources._partial_fit import PartialFit
from sklearn_halving.resources._random_features import RandomFeatures
from sklearn_halving.resources._rescaling import Rescaling
from sklearn_halving.resources._resolve import resolve_resource
from sklearn_halving.resources._training_size import (
    TrainingSize,
    rows_needed,
    subset_order,
    training_rows,
)
from sklearn_halving.resources._types import Resource
from sklearn_halving.resources._whole_fit import WholeFit

__all__ = [
    "FitTime",
    "Iterations",
    "PartialFit",
    "RandomFeatures",
    "Rescaling",
    "Resource",
    "TrainingSize",
    "WholeFit",
    "resolve_resource",
    "rows_needed",
    "subset_order",
    "training_rows",
]
