"""What all displays share: they are read from a fitted search, and drawn on axes."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from sklearn_halving._docstrings import entries, inherit_sections, with_section
from sklearn_halving.plotting._reading import FittedSearch, Search, read_search

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class Display(ABC):
    """Base of the displays: a subclass reads its arrays from a search, and draws them.

    The docstrings of a subclass leave out the attributes below, and the parameters, values and
    errors of the methods that it overrides. They are inserted.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.
    """

    ax_: Axes

    @property
    def figure_(self) -> Figure | SubFigure:
        """The figure."""
        return self.ax_.figure

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__doc__:
            attributes = entries(Display.__doc__, "Attributes") | entries(
                cls.__doc__, "Attributes"
            )
            text = inspect.cleandoc(cls.__doc__)
            cls.__doc__ = with_section(text, "Attributes", attributes.values())
        for name in ("from_estimator", "plot"):
            method = vars(cls).get(name)
            if method is not None:
                inherit_sections(getattr(method, "__func__", method), getattr(Display, name))

    @classmethod
    def from_estimator(
        cls, search: Search, *, metric: str | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw a fitted search.

        Parameters
        ----------
        search : estimator
            A fitted search of this package.
        metric : str or None, default=None
            The metric to show if there are several. None shows the one that steered the search.
        ax : matplotlib Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        display : Display
            The display, drawn.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.
        TypeError
            If it is not a search of this package.
        ValueError
            If the search has no such metric, or nothing that this display shows.
        ImportError
            If matplotlib is missing.
        """
        return cls._from_search(read_search(search, cls.__name__, metric)).plot(ax=ax)

    @classmethod
    @abstractmethod
    def _from_search(cls, found: FittedSearch) -> Self:
        """Return the display of a fitted search, not drawn yet."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        display : Display
            This display.

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """

    def _axes(self, ax: Axes | None, width: float = 6.4, height: float = 4.0) -> Axes:
        """Set ``ax_`` to ``ax``, or to the axes of a new figure of this size in inches."""
        plt = self._pyplot()
        if ax is None:
            ax = plt.subplots(figsize=(width, height), layout="constrained")[1]
        self.ax_ = ax
        return ax

    def _pyplot(self) -> ModuleType:
        """Return ``matplotlib.pyplot``, or raise an ImportError that says how to install it."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                f"{type(self).__name__}.plot needs matplotlib, which could not be imported "
                f"({error}). Install it with `pip install sklearn-halving[plot]`."
            ) from error
        return plt
