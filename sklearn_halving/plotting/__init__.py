"""Displays of fitted searches, in the style of scikit-learn's.

``import sklearn_halving`` does not import this folder, and matplotlib is imported only when
something is drawn. Install it with ``pip install sklearn-halving[plot]``.
"""

from sklearn_halving.plotting._brackets import BracketDisplay
from sklearn_halving.plotting._confidence import ConfidenceDisplay
from sklearn_halving.plotting._importance import ImportanceDisplay
from sklearn_halving.plotting._parallel_coordinates import ParallelCoordinatesDisplay
from sklearn_halving.plotting._parameter import ParameterDisplay
from sklearn_halving.plotting._parameter_pair import ParameterPairDisplay
from sklearn_halving.plotting._pulls import PullsDisplay
from sklearn_halving.plotting._regret import RegretDisplay
from sklearn_halving.plotting._rungs import RungDisplay
from sklearn_halving.plotting._workers import WorkerDisplay

__all__ = [
    "BracketDisplay",
    "ConfidenceDisplay",
    "ImportanceDisplay",
    "ParallelCoordinatesDisplay",
    "ParameterDisplay",
    "ParameterPairDisplay",
    "PullsDisplay",
    "RegretDisplay",
    "RungDisplay",
    "WorkerDisplay",
]
