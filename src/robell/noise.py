"""Wrong labels made on purpose, for tests of robustness."""

from robell.labels.flips import (
    flip_from_class,
    flip_in_group,
    flip_labels,
    flip_near_boundary,
    flip_uniformly,
)

__all__ = [
    "flip_from_class",
    "flip_in_group",
    "flip_labels",
    "flip_near_boundary",
    "flip_uniformly",
]
