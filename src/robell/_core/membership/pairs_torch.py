"""Sums and counts over all pairs of rows as in ``pairs.py``, on torch tensors.

Single precision on a CUDA device runs as one fused Triton kernel a pass: a tile of distances lives
in registers only, its matrix product in three parts of lower precision (a relative error of some
1e-6), its sums collected in double precision. Every pair is computed once and serves both of its
rows. Pairs so near to the limit that rounding decides are decided again in double precision. The
rest (double precision, CPU tensors, a PyTorch without Triton) runs in blocks of plain tensor
operations. ``engine_of`` says which.
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
# The parts of a matrix product. Sums over many pairs need fewer digits than the question on which
# side of the limit a pair lies.
SUM_PARTS, COUNT_PARTS = "bf16x3", "tf32x3"
# Error of a squared distance in tf32x3, at most, relative to the squared lengths of both rows: with
# x = a + b + r, a and b of 11 bits each, b·b and r are lost. Each feature's sum adds 2⁻²³.
ROUNDING = 1e-6
MOST_DOUBTFUL = 1 << 26  # tiles with pairs to decide again: 512 MiB
WIDEST_FEATURES = 128  # beyond, a tile's rows do not fit into registers


def engine_of(X: Any) -> str:
    """Return "triton" or "torch": what passes over the pairs of these rows."""
    import torch

    fits = X.is_cuda and X.dtype == torch.float32 and X.shape[1] <= WIDEST_FEATURES
    return "triton" if fits and _kernels() is not None else "torch"


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
        sums[rows], _ = _pass(X, rows, rows, weight, inv_width2, counts=False)
    return sums


def neighbour_weights(X: Any, classes: Any, weight: Any, max_distance2: float) -> tuple[Any, Any]:
    """Return the weight of all rows, and of the rows of its class, within reach of every row."""
    import torch

    total = torch.zeros(len(X), dtype=torch.float64, device=X.device)
    own_class = torch.zeros_like(total)
    ranges = class_ranges(classes)
    for place, rows in enumerate(ranges):
        own_class[rows], _ = _pass(X, rows, rows, weight, max_distance2, counts=True)
        for columns in ranges[place + 1 :]:
            of_rows, of_columns = _pass(X, rows, columns, weight, max_distance2, counts=True)
            total[rows] += of_rows
            total[columns] += of_columns
    total += own_class
    return total, own_class


def class_ranges(classes: Any) -> list[slice]:
    """Return where each class stands in sorted labels."""
    import torch

    _, counts = torch.unique_consecutive(classes, return_counts=True)
    ends = torch.cumsum(counts, 0).tolist()
    return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _pass(
    X: Any, rows: slice, columns: slice, weight: Any, parameter: float, counts: bool
) -> tuple[Any, Any]:
    """Pass over the pairs of two ranges; return the sums of the rows, and those of the columns.

    Where the two are the same range, so are the sums.
    """
    same = rows == columns
    X, Y, v, w = X[rows], X[columns], weight[rows], weight[columns]
    if engine_of(X) == "triton":
        return _fused(X, Y, v, w, parameter, counts, same)
    of_rows = _blocked(X, Y, w, parameter, counts)
    return of_rows, of_rows if same else _blocked(Y, X, v, parameter, counts)


def _blocked(X: Any, Y: Any, weight: Any, parameter: float, counts: bool) -> Any:
    """Pass over the pairs of two sets of rows, a block at a time; return the sums of X's rows."""
    import torch

    w = weight.to(torch.float64)
    x_norms, y_norms = X.square().sum(dim=1), Y.square().sum(dim=1)
    step = max(1, BLOCK_ELEMENTS // max(1, len(Y)))
    found = []
    for start in range(0, len(X), step):
        block = slice(start, start + step)
        d2 = x_norms[block, None] + y_norms[None, :] - 2.0 * (X[block] @ Y.mT)
        d2 = _mended(d2, X[block], Y, x_norms[block], y_norms)
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


def _fused(
    X: Any, Y: Any, v: Any, w: Any, parameter: float, counts: bool, same: bool
) -> tuple[Any, Any]:
    """Pass over the pairs of two sets of rows without writing a single distance.

    Counts are right as if distances were in double precision: pairs near the limit are decided
    again, tile by tile.
    """
    import torch

    features = max(16, 1 << (X.shape[1] - 1).bit_length())
    scale = 1.0 if counts else float(parameter) ** 0.5  # then the kernel's exponent is d² itself
    X = torch.nn.functional.pad(scale * X, (0, features - X.shape[1])).contiguous()
    Y = X if same else torch.nn.functional.pad(scale * Y, (0, features - Y.shape[1])).contiguous()
    of_rows = torch.zeros(len(X), dtype=torch.float64, device=X.device)
    of_columns = of_rows if same else torch.zeros(len(Y), dtype=torch.float64, device=X.device)
    weights = (z.to(torch.float32).contiguous() for z in (v, w))
    norms = (z.square().sum(dim=1) for z in (X, Y))
    tensors = (X, Y, *norms, *weights, of_rows, of_columns)
    passed, corrected, sum_parts = _kernels()
    parts = COUNT_PARTS if counts else sum_parts
    rounding = ROUNDING + features * 2.0**-23
    tile = {"FEATURES": features, "ROWS": ROWS, "COLUMNS": COLUMNS, "SAME": same, "PARTS": parts}
    n_tiles = -(-len(X) // ROWS)
    most = min(n_tiles * -(-len(Y) // COLUMNS), MOST_DOUBTFUL) if counts else 1
    doubtful = torch.empty(most, dtype=torch.int64, device=X.device)
    n_doubtful = torch.zeros(1, dtype=torch.int32, device=X.device)
    limit = float(parameter)
    with torch.cuda.device(X.device):
        passed[n_tiles,](
            *tensors, doubtful, n_doubtful, limit, rounding, len(X), len(Y), most,
            COUNTS=counts, num_warps=WARPS, **tile,
        )  # fmt: skip
        found = int(n_doubtful) if counts else 0
        if found > most:
            raise MemoryError(f"{found} tiles of pairs are decided by rounding; at most {most} can")
        if found:
            exact = torch.tensor([limit], dtype=torch.float64, device=X.device)
            corrected[found,](
                *tensors, doubtful, exact, limit, rounding, len(X), len(Y), num_warps=8, **tile
            )
    return of_rows, of_columns


@cache
def _kernels() -> Any:
    """Return the fused kernels and the parts of sums, or None where there is no Triton."""
    try:
        import triton

        from robell._core.membership.pairs_triton import correct_counts, pass_over_pairs
    except ImportError:
        return None
    has_bf16x3 = tuple(int(part) for part in triton.__version__.split(".")[:2]) >= (3, 6)
    return pass_over_pairs, correct_counts, SUM_PARTS if has_bf16x3 else COUNT_PARTS
