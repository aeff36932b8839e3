"""Displays of fitted searches, in the style of scikit-learn's.

`import sklearn_halving` does not import this folder, and this folder does not import matplotlib
before something is drawn: ``pip install sklearn-halving[plot]`` brings it along.
"""

from sklearn_halving.plotting._brackets import BracketDisplay
from sklearn_halving.plotting._confidence import ConfidenceDisplay
from sklearn_halving.plotting._parameter import ParameterDisplay
from sklearn_halving.plotting._pulls import PullsDisplay
from sklearn_halving.plotting._regret import RegretDisplay
from sklearn_halving.plotting._rungs import RungDisplay
from sklearn_halving.plotting._workers import WorkerDisplay

__all__ = [
    "BracketDisplay",
    "ConfidenceDisplay",
    "ParameterDisplay",
    "PullsDisplay",
    "RegretDisplay",
    "RungDisplay",
    "WorkerDisplay",
]
