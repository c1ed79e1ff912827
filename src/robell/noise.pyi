"""Types of robell.noise, made by tests/typed_stubs.py."""

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

def flip_from_class(y: ArrayLike, label: Any, fraction: float, random_state: int | np.random.RandomState | None = ..., *, to: Any = ...) -> Any: ...

def flip_in_group(y: ArrayLike, groups: ArrayLike, group: Any, fraction: float, random_state: int | np.random.RandomState | None = ...) -> Any: ...

def flip_labels(y: ArrayLike, fraction: float, random_state: int | np.random.RandomState | None = ...) -> Any: ...

def flip_near_boundary(X: ArrayLike, y: ArrayLike, fraction: float, random_state: int | np.random.RandomState | None = ..., *, by: str = ...) -> Any: ...

def flip_uniformly(y: ArrayLike, fraction: float, random_state: int | np.random.RandomState | None = ...) -> Any: ...
