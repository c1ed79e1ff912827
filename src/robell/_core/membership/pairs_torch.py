"""Sums and counts over all pairs of rows as in ``pairs.py``, on torch tensors.

Single precision on a CUDA device runs as one fused Triton kernel a pass: a tile of distances lives
in registers only, its matrix product in three tf32 parts (a relative error of some 1e-6), its
row sums collected in double precision. Everything else (double precision, CPU tensors, a PyTorch
without Triton) runs in blocks of plain tensor operations. ``engine_of`` says which.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from robell._core.array import to_host
from robell._core.membership.distances import require_squares
from robell._core.membership.equations import (
    KernelStatistics,
    statistics_of_passes,
    usable_width,
)

BLOCK_ELEMENTS = 1 << 25  # pairs of a block: 256 MiB of double-precision distances
ROWS, COLUMNS, WARPS = 128, 64, 4  # a Triton tile, and the threads that share it
WIDEST_FEATURES = 128  # beyond, a tile's rows do not fit into registers


def engine_of(X: Any) -> str:
    """Return "triton" or "torch": what passes over the pairs of these rows."""
    import torch

    fits = X.is_cuda and X.dtype == torch.float32 and X.shape[1] <= WIDEST_FEATURES
    return "triton" if fits and _kernel() is not None else "torch"


def kernel_statistics(
    X: Any, classes: Any, n_classes: int, kernel_width: float, multiplicity: Any
) -> KernelStatistics:
    """Do what its twin in ``equations.py`` does on the rows' device; results come to the host."""
    import torch

    order = torch.argsort(classes, stable=True)
    rows, labels, weight = X[order], classes[order], multiplicity[order]
    rows = rows - rows.mean(dim=0, dtype=torch.float64).to(rows.dtype)
    require_squares(rows)

    def neighbours(reach: float) -> tuple[Any, Any]:
        total, own_class = neighbour_weights(rows, labels, weight, reach)
        return to_host(total), to_host(own_class)

    return statistics_of_passes(
        to_host(order),
        to_host(labels),
        to_host(weight),
        n_classes,
        usable_width(kernel_width),
        lambda inv_width2: to_host(same_class_dissimilarity(rows, labels, weight, inv_width2)),
        neighbours,
    )


def same_class_dissimilarity(X: Any, classes: Any, weight: Any, inv_width2: float) -> Any:
    """Return S_i = Σ_j weight_j (1 - exp(-inv_width2 |x_i - x_j|²)) over row i's class.

    X must be centred, and its rows sorted by class. The sums are double precision.
    """
    import torch

    sums = torch.zeros(len(X), dtype=torch.float64, device=X.device)
    for rows in class_ranges(classes):
        sums[rows] = _pass(X, rows, rows, weight, inv_width2, counts=False)
    return sums


def neighbour_weights(X: Any, classes: Any, weight: Any, max_distance2: float) -> tuple[Any, Any]:
    """Return the weight of all rows, and of the rows of its class, within reach of every row."""
    import torch

    total = torch.zeros(len(X), dtype=torch.float64, device=X.device)
    own_class = torch.zeros_like(total)
    ranges = class_ranges(classes)
    for rows in ranges:
        for columns in ranges:
            within = _pass(X, rows, columns, weight, max_distance2, counts=True)
            total[rows] += within
            if rows == columns:
                own_class[rows] = within
    return total, own_class


def class_ranges(classes: Any) -> list[slice]:
    """Return where each class stands in sorted labels."""
    import torch

    _, counts = torch.unique_consecutive(classes, return_counts=True)
    ends = torch.cumsum(counts, 0).tolist()
    return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _pass(X: Any, rows: slice, columns: slice, weight: Any, parameter: float, counts: bool) -> Any:
    if engine_of(X) == "triton":
        return _fused(X[rows], X[columns], weight[columns], parameter, counts, rows == columns)
    return _blocked(X, rows, columns, weight, parameter, counts)


def _blocked(
    X: Any, rows: slice, columns: slice, weight: Any, parameter: float, counts: bool
) -> Any:
    """Pass over the pairs of two ranges of rows, a block at a time."""
    import torch

    Y, w = X[columns], weight[columns].to(torch.float64)
    norms = X.square().sum(dim=1)
    step = max(1, BLOCK_ELEMENTS // max(1, len(Y)))
    found = []
    for start in range(rows.start, rows.stop, step):
        block = slice(start, min(start + step, rows.stop))
        d2 = norms[block, None] + norms[None, columns] - 2.0 * (X[block] @ Y.mT)
        d2 = _mended(d2, X[block], Y, norms[block], norms[columns])
        if counts:
            value = (d2 <= parameter).to(torch.float64)
        else:
            value = -torch.expm1(-parameter * d2).to(torch.float64)
        found.append(value @ w)
    return torch.cat(found)


def _mended(d2: Any, X: Any, Y: Any, x_norms: Any, y_norms: Any) -> Any:
    """Compute again, from differences, the distances that rounding may have swallowed."""
    import torch

    eps = torch.finfo(d2.dtype).eps
    rounding = 4 * (X.shape[1] + 4) * eps * (x_norms.max() + y_norms.max())
    i, j = torch.nonzero(d2 <= rounding, as_tuple=True)
    for part in torch.split(torch.arange(len(i), device=d2.device), BLOCK_ELEMENTS // X.shape[1]):
        d2[i[part], j[part]] = (X[i[part]] - Y[j[part]]).square().sum(dim=1)
    return d2


def _fused(X: Any, Y: Any, w: Any, parameter: float, counts: bool, same: bool) -> Any:
    """Pass over the pairs of two sets of rows without writing a single distance."""
    import torch

    features = max(16, 1 << (X.shape[1] - 1).bit_length())
    X, Y = (torch.nn.functional.pad(Z, (0, features - Z.shape[1])).contiguous() for Z in (X, Y))
    out = torch.empty(len(X), dtype=torch.float64, device=X.device)
    kernel = _kernel()
    grid = ((len(X) + ROWS - 1) // ROWS,)
    with torch.cuda.device(X.device):
        kernel[grid](
            X,
            Y,
            X.square().sum(dim=1),
            Y.square().sum(dim=1),
            w.to(torch.float32).contiguous(),
            out,
            float(parameter),
            len(X),
            len(Y),
            FEATURES=features,
            ROWS=ROWS,
            COLUMNS=COLUMNS,
            COUNTS=counts,
            SAME=same,
            num_warps=WARPS,
        )
    return out


@cache
def _kernel() -> Any:
    """Return the fused kernel, or None where there is no Triton."""
    try:
        from robell._core.membership.pairs_triton import pass_over_pairs
    except ImportError:
        return None
    return pass_over_pairs
