"""Repetition -> train and test rows: endless seeded streams of learning-testing splits.

==============================  =================================================================
`RepeatedLearningTesting`       a cross-validator for any scikit-learn function or search
`split_stream`                  whatever GridSearchCV accepts as ``cv``, as a stream
`SplitStream`                   the stream: ``split(repetition) -> (train, test)``
`corrected_variance_of_mean`    variance of a mean over splits whose training sets overlap
==============================  =================================================================

A repetition names a split. The same repetition always has the same split, so candidates that
are evaluated on the same repetitions can be compared pair by pair.
"""

from sklearn_halving.splits._corrected_variance import corrected_variance_of_mean
from sklearn_halving.splits._learning_testing import RepeatedLearningTesting
from sklearn_halving.splits._split_stream import split_stream
from sklearn_halving.splits._stream import SplitSource, SplitStream

__all__ = [
    "RepeatedLearningTesting",
    "SplitSource",
    "SplitStream",
    "corrected_variance_of_mean",
    "split_stream",
]
