"""The array namespace: the same functions for NumPy arrays and for torch tensors on any device.

The mathematics writes ``xp = namespace(X)`` and uses names that NumPy and torch spell alike
(``xp.exp``, ``xp.hstack``, ``xp.linalg.eigh``, ...). Where the two differ, the function is here.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Array = NDArray[np.float64]
AnyArray = NDArray[Any]  # real or complex
Labels = NDArray[np.intp]
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]

EPS = float(np.finfo(np.float64).eps)
MANY_COLUMNS = 8  # from which on their sums are quicker as products with a sparse matrix
# What torch, cuBLAS and cuSOLVER say where they get no memory, and the units of torch.
OUT_OF_MEMORY = re.compile("CUDA.{,12}out of memory|STATUS_ALLOC_FAILED|DefaultCPUAllocator: can't")
BYTES = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
SMALL_PRODUCT = 1_000_000  # multiplications up to which OpenBLAS does not copy its operands first


def is_tensor(X: Any) -> bool:
    """Say whether X is a torch tensor, without importing torch."""
    kind = type(X)
    is_torch = kind is not np.ndarray and kind.__module__.partition(".")[0] == "torch"
    return is_torch and hasattr(X, "device")


def namespace(X: Any) -> Any:
    """Return torch for a tensor, numpy for an array."""
    if is_tensor(X):
        import torch

        return torch
    return np


class DeviceMemory(AbstractContextManager[None]):
    """A context on a torch device that says in one line what is needed where memory is short."""

    def __init__(self, device: Any) -> None:
        self._device, self._before = device, _bytes_held(device)

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if error is None or not is_short_of_memory(error):
            return
        asked = re.search(r"[Tt]ried to allocate ([\d.]+) (\w+)", str(error))
        last = float(asked[1]) * BYTES.get(asked[2], 0) if asked else 0.0
        needed = (_bytes_held(self._device) - self._before + last) / BYTES["GiB"]
        error.__traceback__ = None  # it would hold what was computed there
        raise MemoryError(
            f"{self._device} has too little memory: at least {needed:,.2f} GiB are needed there "
            f"beside what it held before, {last / BYTES['GiB']:,.2f} GiB of them in one piece. "
            "Give fewer rows or nodes, or arrays on the host"
        ) from None


def is_short_of_memory(error: BaseException) -> bool:
    """Say whether an error is torch's about memory that it did not get."""
    return isinstance(error, RuntimeError) and bool(OUT_OF_MEMORY.search(str(error)))


def _bytes_held(device: Any) -> int:
    """Return how much memory this process's tensors take on a CUDA device; 0 on the host."""
    import torch

    return int(torch.cuda.memory_allocated(device)) if device.type == "cuda" else 0


def memory_beside(X: Any) -> AbstractContextManager[None]:
    """Return the context in which work on the device of X says what memory it lacks."""
    return DeviceMemory(X.device) if is_tensor(X) else nullcontext()


def to_host(X: Any) -> NDArray[Any]:
    """Return a tensor as an array; an array as it is."""
    return np.asarray(X.cpu().numpy()) if is_tensor(X) else X


def beside(values: Any, X: Any) -> Any:
    """Return values as a tensor on the device of X where X is one, otherwise as they are."""
    return namespace(X).as_tensor(values, device=X.device) if is_tensor(X) else values


def empty_beside(shape: tuple[int, ...], X: Any) -> Any:
    """Return an array of double precision, or a tensor on the device of X, not yet filled."""
    if is_tensor(X):
        return X.new_empty(shape, dtype=namespace(X).float64)
    return np.empty(shape)


def in_double_precision(X: Any) -> Any:
    """Return X in double precision: a Gram matrix in single precision loses half of its digits."""
    xp = namespace(X)
    return xp.asarray(X, dtype=xp.float64)


def add_to_diagonal(G: Any, value: float) -> None:
    """Add a number to the diagonal of G, in place."""
    places = list(range(len(G)))
    G[places, places] += value


def times_few_columns(M: Any, B: Any) -> Any:
    """Return MB of a long array M and few columns B, in parts that OpenBLAS does not copy."""
    step = SMALL_PRODUCT // max(1, B.shape[0] * B.shape[1])
    if is_tensor(M) or step >= len(M) or step < 16:
        return M @ B
    found = np.empty((len(M), B.shape[1]), np.result_type(M, B))
    for start in range(0, len(M), step):
        part = slice(start, start + step)
        np.matmul(M[part], B, out=found[part])
    return found


def row_squares(Z: Any) -> Any:
    """Return |z_i|² of every row of Z, real or complex."""
    if is_tensor(Z):  # one kernel, which einsum takes as many small products
        return namespace(Z).linalg.vector_norm(Z, dim=1).square()
    return namespace(Z).einsum("ij,ij->i", Z, Z.conj()).real


def one_hot(labels: Any, n_classes: int) -> Any:
    """Return T of shape (n, K): 1 in the column of each row's class, 0 elsewhere."""
    xp = namespace(labels)
    return xp.asarray(labels[:, None] == beside(np.arange(n_classes), labels), dtype=xp.float64)


def softmax_of_rows(Z: Any) -> Any:
    """Return exp(z_k)/Σ exp(z_l) of every row, without overflow."""
    xp = namespace(Z)
    E = xp.exp(Z - xp.amax(Z, 1)[:, None])
    E /= E.sum(1)[:, None]
    return E


def require_labels(y: Any, name: str = "y") -> None:
    """Raise where a label is missing, and say in which row; complex numbers are no labels."""
    try:
        values = np.asarray(y)
    except (TypeError, ValueError):  # lists of different lengths: the check of shapes says so
        return
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported in y: it must hold class labels")
    if values.ndim != 1 or values.dtype.kind not in "fmMO":
        return
    if values.dtype.kind == "O":
        missing = np.fromiter((is_no_value(label) for label in values), bool, len(values))
    else:
        missing = values != values
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(f"{name} has no label in row {row} ({values[row]}): drop such rows first")


def is_no_value(value: Any) -> bool:
    """Say whether a value stands for none: None, NaN, NaT and NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # nor has an array, which is a value
        return False


def typical_distance(column: Any) -> Any:
    """Return the median distance from their median of values other than it, 0 for a constant."""
    xp = namespace(column)
    distance = abs(column - xp.median(column))
    distance = distance[distance > 0]
    return xp.median(distance) if len(distance) else 0.0


def mean_and_scatter(X: Any, weight: Any) -> tuple[Any, Any]:
    """Return the weighted mean μ of some rows and Σ_i w_i (x_i - μ)², column by column."""
    with np.errstate(over="ignore", invalid="ignore"):  # whoever squares such rows will refuse them
        off = X - X[0]  # so that a constant column has no scatter at all
        shift = weight @ off / weight.sum()
        off -= shift
        return X[0] + shift, weight @ namespace(X).square(off)


def sum_by_group(values: Any, group: Any, n_groups: int) -> Any:
    """Return the sums of the rows of each group."""
    if is_tensor(values):
        sums = values.new_zeros((n_groups, *values.shape[1:]))
        return sums.index_add_(0, group, values)
    if values.ndim == 1:
        return np.bincount(group, values, n_groups)
    if values.shape[1] >= MANY_COLUMNS:  # row by row: the same sums in the same order
        rows = np.arange(len(group))
        member = csr_array((np.ones(len(rows)), (group, rows)), shape=(n_groups, len(rows)))
        return np.asarray(member @ values)
    return np.stack([np.bincount(group, column, n_groups) for column in values.T], axis=1)
