"""Ready search spaces: good ranges for the parameters of common estimators.

See the page on search spaces in the user guide.
"""

from sklearn_halving.spaces._space_for import space_for
from sklearn_halving.spaces._tables import loguniform_int

__all__ = ["loguniform_int", "space_for"]
