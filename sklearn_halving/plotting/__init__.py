"""Displays of fitted searches, in the style of scikit-learn's.

``import sklearn_halving`` does not import this folder, and matplotlib is imported only when
something is drawn. Install it with ``pip install sklearn-halving[plot]``.
"""

from sklearn_halving.plotting._fits_and_candidates import ConfidenceDisplay, HistoryDisplay
from sklearn_halving.plotting._parameters import ParameterDisplay, ParameterPairDisplay
from sklearn_halving.plotting._rungs_and_brackets import BracketDisplay, RungDisplay

__all__ = [
    "BracketDisplay",
    "ConfidenceDisplay",
    "HistoryDisplay",
    "ParameterDisplay",
    "ParameterPairDisplay",
    "RungDisplay",
]
