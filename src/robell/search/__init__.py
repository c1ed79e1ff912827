"""The exact grid search."""

from robell.search.grid_search import RVFLGridSearchCV, paper_grid

__all__ = ["RVFLGridSearchCV", "paper_grid"]
