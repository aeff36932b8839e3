"""Endless seeded streams of train/test splits.

==============================  =================================================================
`RepeatedLearningTesting`       a cross-validator for any scikit-learn function or search
`split_stream`                  anything that GridSearchCV accepts as ``cv``, as a stream
`SplitStream`                   the stream: ``split(repetition) -> (train, test)``
`corrected_variance_of_mean`    variance of a mean over splits whose training sets overlap
==============================  =================================================================

A repetition is the number of a split. The same repetition always gives the same split, so
candidates that are evaluated on the same repetitions can be compared pairwise.
"""

from sklearn_halving.splits._stream import (
    RepeatedLearningTesting,
    SplitStream,
    corrected_variance_of_mean,
    split_stream,
)

__all__ = ["RepeatedLearningTesting", "SplitStream", "corrected_variance_of_mean", "split_stream"]
