"""The exact grid search."""

from robell.search.grid_search import RVFLGridSearchCV
from robell.search.grids import paper_grid

__all__ = ["RVFLGridSearchCV", "paper_grid"]
