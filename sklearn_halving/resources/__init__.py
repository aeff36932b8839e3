"""What a level means: rows, iterations, epochs, features or seconds.

=================  ==================================================================
`TrainingSize`     rows of the training fold; every fit starts from scratch
`Iterations`       an integer parameter; training continues where possible
`PartialFit`       epochs of ``partial_fit``
`ParameterValue`   any other numeric parameter; every fit starts from scratch
`FitTime`          seconds of training
`WholeFit`         no resource: there is one level, a full fit
=================  ==================================================================

`resolve_resource` returns the resource for a name. `subset_order`, `rows_needed` and
`training_rows` choose rows. A new resource is a class with the methods of `Resource`.
"""

from sklearn_halving.resources._resource import Resource
from sklearn_halving.resources._resources import (
    FitTime,
    Iterations,
    ParameterValue,
    PartialFit,
    resolve_resource,
)
from sklearn_halving.resources._training_size import (
    TrainingSize,
    WholeFit,
    rows_needed,
    subset_order,
    training_rows,
)

__all__ = ["FitTime", "Iterations", "ParameterValue", "PartialFit", "Resource", "TrainingSize"]
__all__ += ["WholeFit", "resolve_resource", "rows_needed", "subset_order", "training_rows"]
