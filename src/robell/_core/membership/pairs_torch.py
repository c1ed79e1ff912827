"""Sums and counts over all pairs of rows as in ``pairs.py``, on torch tensors.

On a CUDA device fused Triton kernels do the work: a tile of distances lives in registers only, its
sums are collected in double precision, and every pair is computed once and serves both of its rows.

- Sums over rows in single precision: each number is split into two of half precision, and three
  matrix products are taken of the parts, which leaves 22 bits of every number.
- Sums over rows in double precision: matrix products and exponentials in double precision.
- Counts: as sums in single precision, for both kinds of rows. Tiles with a pair so near to the
  limit that rounding may decide about it are counted again, by differences in double precision.

The rest (CPU tensors, a PyTorch without Triton, kernels so narrow that rounding would be seen) runs
in blocks of plain tensor operations. ``engine_of`` says which.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from robell._core.array import Array, Labels
from robell._core.membership.equations import (
    KernelStatistics,
    kernel_radii,
    reach_squared,
    statistics_of_passes,
    usable_width,
)
from robell._core.membership.pairs import center, require_squares

BLOCK_ELEMENTS = 1 << 25  # pairs of a block: 256 MiB of double-precision distances
ROWS, COLUMNS, WARPS = 128, 64, 4  # a tile in half precision, and the threads that share it
DOUBLE_ROWS, DOUBLE_COLUMNS = 64, 32  # a tile in double precision
MOST_TILES = 1 << 26  # of one launch, all of which can be doubtful: 512 MiB
WIDEST_FEATURES, SHARED_MEMORY = 128, 140_000  # beyond, a tile's rows do not fit; bytes they take
LARGEST_HALF = 13  # rows are scaled to entries below 2¹⁴; those of half precision end at 2¹⁶
# Error of a squared distance from parts of half precision, at most, relative to the squared lengths
# of both rows: with x = a + b + r, a and b of 11 bits each, b·b and r are lost. Each feature's sum
# adds 2⁻²³.
ROUNDING = 1e-6
# Errors of exponents up to which sums are taken from products: of rows in single precision, and
# in double precision.
VISIBLE, VISIBLE_DOUBLE = 1e-4, 1e-10
NO_SERIES = 0.125  # where exponents are usually larger, rounding hides what the series would save
# No squared distance is beyond the first; those so near to a limit, relatively, rounding may move.
MOST, DECIDED = 1e300, 1e-9
LEAST_EXPONENT = 1e-9  # 1 - exp(-t) is t below, to the last digit


def engine_of(X: Any) -> str:
    """Return "triton" or "torch": what passes over the pairs of these rows."""
    import torch

    if not X.is_cuda or X.dtype not in (torch.float32, torch.float64) or _kernels() is None:
        return "torch"
    shared = torch.cuda.get_device_properties(X.device).shared_memory_per_block_optin
    widest = WIDEST_FEATURES if shared >= SHARED_MEMORY else WIDEST_FEATURES // 2
    return "triton" if X.shape[1] <= widest else "torch"


def kernel_statistics(
    X: Any, classes: Any, n_classes: int, kernel_width: float, multiplicity: Any
) -> KernelStatistics:
    """Do what its twin in ``equations.py`` does on the rows' device; results come to the host."""
    import torch

    order = torch.argsort(classes, stable=True)
    rows, labels, weight = X[order], classes[order], multiplicity[order]
    rows = rows - rows.mean(dim=0, dtype=torch.float64).to(rows.dtype)
    require_squares(rows)
    passes = same_class_dissimilarity, neighbour_weights
    of_rows = [partial(compute, rows, labels, weight) for compute in passes]
    return statistics_of_passes(order, labels, weight, n_classes, kernel_width, *of_rows)


def statistics_on_device(
    X: Array,
    classes: Labels,
    n_classes: int,
    kernel_widths: list[float],
    multiplicity: Array,
    device: Any,
) -> dict[float, KernelStatistics]:
    """Return the statistics of a small table of arrays for several kernels, all pairs at once.

    They are those of ``equations.py`` but for rounding of radii. Left out are kernels where that
    could decide about a neighbour, and all of them where counts are no whole numbers.
    """
    require_squares(X)
    n_pairs = len(kernel_widths) * len(X) ** 2
    if not 0 < n_pairs <= BLOCK_ELEMENTS or (multiplicity % 1.0 != 0.0).any():
        return {}
    import torch

    order = np.argsort(classes, kind="stable")
    labels, weight = classes[order], multiplicity[order]
    rows, of_class, w = (
        torch.as_tensor(z, device=device) for z in (center(X[order]), labels, weight)
    )
    D2 = torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist").square()
    own = (of_class[:, None] == of_class).to(w.dtype)
    widths = np.array([usable_width(width) for width in kernel_widths])
    inv_width2 = torch.as_tensor(1.0 / (widths * widths), device=device)
    sums = (-(torch.expm1(-inv_width2[:, None, None] * D2) * own) @ w).cpu().numpy()
    reach = np.array(
        [
            reach_squared(float(kernel_radii(some, labels, weight).max()), width)
            for some, width in zip(sums, widths, strict=True)
        ]
    )
    limit = torch.as_tensor(np.minimum(reach, MOST), device=device)[:, None, None]
    within = (limit >= D2).to(w.dtype)
    near = ((D2 - limit).abs() <= DECIDED * limit).to(w.dtype).sum(dim=2)
    counts = torch.stack([within @ w, (within * own) @ w, near]).cpu().numpy()
    found = {}
    for k, width in enumerate(kernel_widths):
        if not counts[2, k].any():
            passes = (lambda _, k=k: sums[k]), (lambda _, k=k: counts[:2, k])
            found[width] = statistics_of_passes(order, labels, weight, n_classes, width, *passes)
    return found


def same_class_dissimilarity(X: Any, classes: Any, weight: Any, inv_width2: float) -> Any:
    """Return S_i = Σ_j weight_j (1 - exp(-inv_width2 |x_i - x_j|²)) over row i's class.

    X must be centred, and its rows sorted by class. The sums are double precision.
    """
    import torch

    sums = torch.zeros(len(X), dtype=torch.float64, device=X.device)
    for rows in class_ranges(classes):
        sums[rows] = _sums(_centred(X[rows]), weight[rows], inv_width2)
    return sums


def neighbour_weights(X: Any, classes: Any, weight: Any, max_distance2: float) -> tuple[Any, Any]:
    """Return the weight of all rows, and of the rows of its class, within reach of every row."""
    import torch

    total = torch.zeros(len(X), dtype=torch.float64, device=X.device)
    own_class = torch.zeros_like(total)
    ranges = class_ranges(classes)
    for place, rows in enumerate(ranges):
        x, v = X[rows], weight[rows]
        own_class[rows], _ = _counts(x, x, v, v, max_distance2)
        for columns in ranges[place + 1 :]:
            of_rows, of_columns = _counts(x, X[columns], v, weight[columns], max_distance2)
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


def _centred(X: Any) -> Any:
    """Return rows less their mean: distances stay, rounding shrinks, equal rows become zeros."""
    import torch

    X = X - X[:1]
    return X - X.mean(dim=0, dtype=torch.float64).to(X.dtype)


# -- blocks of tensor operations --------------------------------------------------------


def _blocked(X: Any, Y: Any, v: Any, w: Any, parameter: float, counts: bool) -> tuple[Any, Any]:
    """Pass over pairs a block at a time, once where X is Y; return the sums of both."""
    import torch

    same = X is Y
    X, Y, v, w = (z.to(torch.float64) for z in (X, Y, v, w))
    x_norms, y_norms = X.square().sum(dim=1), Y.square().sum(dim=1)
    of_rows, of_columns = torch.zeros_like(x_norms), torch.zeros_like(y_norms)
    step = max(1, BLOCK_ELEMENTS // max(1, len(Y)))
    for start in range(0, len(X), step):
        block, beyond = slice(start, start + step), slice(start if same else 0, len(Y))
        d2 = x_norms[block, None] + y_norms[None, beyond] - 2.0 * (X[block] @ Y[beyond].mT)
        d2 = _mended(
            d2, X[block], Y[beyond], x_norms[block], y_norms[beyond], parameter if counts else 0.0
        )
        value = (d2 <= parameter).to(torch.float64) if counts else -torch.expm1(-parameter * d2)
        of_rows[block] += value @ w[beyond]
        if same:
            of_rows[start + step :] += v[block] @ value[:, step:]
        else:
            of_columns += v[block] @ value
    return of_rows, of_rows if same else of_columns


def _mended(d2: Any, X: Any, Y: Any, x_norms: Any, y_norms: Any, limit: float) -> Any:
    """Compute again, from differences, the distances within rounding of the limit or of zero."""
    import torch

    eps = torch.finfo(d2.dtype).eps
    rounding = 4 * (X.shape[1] + 4) * eps * (x_norms.max() + y_norms.max())
    near = (d2 - limit).abs_() <= rounding
    if not near.any():
        return d2
    i, j = torch.nonzero(near, as_tuple=True)
    for part in torch.split(torch.arange(len(i), device=d2.device), BLOCK_ELEMENTS // X.shape[1]):
        d2[i[part], j[part]] = (X[i[part]] - Y[j[part]]).square().sum(dim=1)
    return d2


# -- fused kernels ----------------------------------------------------------------------


class _Halves(NamedTuple):
    """Rows times a power of two, each number in two parts of half precision, padded to tiles."""

    high: Any
    low: Any
    norms: Any  # of the scaled rows, in double precision


def _largest(X: Any) -> float:
    return float(X.abs().max()) if X.numel() else 0.0


def _n_features(X: Any) -> int:
    """Return the features of a tile: those of the rows, padded to a power of two."""
    return int(max(16, 1 << (X.shape[1] - 1).bit_length()))


def _padded(X: Any, rows: int, features: int | None = None) -> Any:
    """Return rows or weights with zeros added up to a multiple of ``rows``."""
    import torch

    more = -len(X) % rows
    sides = (0, more) if features is None else (0, features - X.shape[1], 0, more)
    return torch.nn.functional.pad(X, sides).contiguous()


def _halves(X: Any, scale: float) -> _Halves:
    import torch

    scaled = _padded(X.to(torch.float64) * scale, ROWS, _n_features(X))
    high = scaled.to(torch.float16)
    low = (scaled - high.to(torch.float64)).to(torch.float16)
    return _Halves(high, low, scaled.square().sum(dim=1))


def _power_of_two(largest: float) -> float:
    """Return what makes the largest entry as large as half precision serves best."""
    if largest == 0.0:
        return 1.0
    return 2.0 ** min(max(LARGEST_HALF - math.frexp(largest)[1], -1000), 1000)


def _sums(X: Any, weight: Any, inv_width2: float) -> Any:
    """Return Σ_j weight_j (1 - exp(-inv_width2 |x_i - x_j|²)) of every row."""
    import torch

    norms = X.to(torch.float64).square().sum(dim=1)
    exponent = inv_width2 * float(norms.max())
    if engine_of(X) == "triton":
        in_double = 4 * (X.shape[1] + 4) * 2.0**-53 * exponent
        if X.dtype == torch.float32 and (ROUNDING + X.shape[1] * 2.0**-23) * exponent <= VISIBLE:
            return _half_sums(X, weight, inv_width2, exponent)
        if in_double <= (VISIBLE if X.dtype == torch.float32 else VISIBLE_DOUBLE):
            return _double_sums(X, weight, inv_width2)
    return _blocked(X, X, weight, weight, inv_width2, counts=False)[0]


def _half_sums(X: Any, weight: Any, inv_width2: float, exponent: float) -> Any:
    """Return the sums of rows in single precision, from products of half precision."""
    import torch

    # Exponents too small for single precision are enlarged, and the sums made smaller again.
    enlarged = max(1.0, LEAST_EXPONENT / exponent) if exponent > 0.0 else 1.0
    scale = _power_of_two(_largest(X))
    rows = _halves(X, scale)
    factor = math.log2(math.e) * inv_width2 * enlarged / scale / scale
    norms = factor * rows.norms
    sums = torch.zeros(len(norms), dtype=torch.float64, device=X.device)
    with torch.cuda.device(X.device):
        _kernels().kernel_sums[len(norms) // ROWS,](
            rows.high, rows.low, norms.to(torch.float32),
            _padded(weight.to(torch.float32), ROWS), sums, 2.0 * factor, len(norms),
            FEATURES=_n_features(X), ROWS=ROWS, COLUMNS=COLUMNS,
            SERIES=bool(norms[: len(X)].median() < NO_SERIES), num_warps=WARPS,
        )  # fmt: skip
    return sums[: len(X)] / enlarged


def _double_sums(X: Any, weight: Any, inv_width2: float) -> Any:
    """Return the sums of rows in double precision, all of it in double precision."""
    import torch

    features = _n_features(X)
    rows = _padded(X.to(torch.float64) * math.sqrt(inv_width2), DOUBLE_ROWS, features)
    sums = torch.zeros(len(rows), dtype=torch.float64, device=X.device)
    with torch.cuda.device(X.device):
        _kernels().double_sums[len(rows) // DOUBLE_ROWS,](
            rows, rows.square().sum(dim=1), _padded(weight.to(torch.float64), DOUBLE_ROWS), sums,
            len(rows), FEATURES=features, ROWS=DOUBLE_ROWS, COLUMNS=DOUBLE_COLUMNS,
            num_warps=WARPS,
        )  # fmt: skip
    return sums[: len(X)]


def _counts(X: Any, Y: Any, v: Any, w: Any, limit: float) -> tuple[Any, Any]:
    """Return the weight of Y's rows within the limit of X's rows, and of X's within Y's."""
    if engine_of(X) != "triton":
        return _blocked(X, Y, v, w, limit, counts=True)
    if len(X) < len(Y):  # many rows keep a device busy
        of_columns, of_rows = _fused_counts(Y, X, w, v, limit)
        return of_rows, of_columns
    return _fused_counts(X, Y, v, w, limit)


def _fused_counts(X: Any, Y: Any, v: Any, w: Any, limit: float) -> tuple[Any, Any]:
    """Count the pairs within the limit without writing a single distance."""
    import torch

    same, features = X is Y, _n_features(X)
    centre = X.mean(dim=0, dtype=torch.float64)
    near_x, near_y = X - centre, None if same else Y - centre
    largest = max(_largest(z) for z in (near_x, near_y) if z is not None)
    scale = _power_of_two(largest)
    x = _halves(near_x, scale)
    y = x if same else _halves(near_y, scale)
    weights = [_padded(_countable(z, X.dtype), ROWS) for z in (v, w)]
    of_rows = torch.zeros(len(x.norms), dtype=torch.float64, device=X.device)
    of_columns = of_rows if same else torch.zeros_like(y.norms)
    norms = [z.norms.to(torch.float32) for z in (x, y)]
    tile = {"ROWS": ROWS, "COLUMNS": COLUMNS, "SAME": same}
    n_tiles, column_tiles = len(of_rows) // ROWS, len(of_columns) // COLUMNS
    at_a_time = max(1, MOST_TILES // column_tiles)
    doubtful = torch.empty(
        min(n_tiles, at_a_time) * column_tiles, dtype=torch.int64, device=X.device
    )
    exact = torch.tensor([limit], dtype=torch.float64, device=X.device)
    # Parts of half precision end at 2⁻²⁴, which is felt by entries 2¹⁷ times below the largest.
    lost = features * largest * scale * 2.0**-23
    rows, columns = X.contiguous(), Y.contiguous()
    with torch.cuda.device(X.device):
        for first in range(0, n_tiles, at_a_time):
            n_doubtful = torch.zeros(1, dtype=torch.int32, device=X.device)
            _kernels().count_pairs[min(at_a_time, n_tiles - first),](
                x.high, x.low, y.high, y.low, *norms, *weights, of_rows, of_columns, doubtful,
                n_doubtful, min(limit * scale * scale, 1e30), ROUNDING + features * 2.0**-23, lost,
                first, len(of_columns), FEATURES=features, num_warps=WARPS, **tile,
            )  # fmt: skip
            if found := int(n_doubtful):
                _kernels().count_doubtful[found,](
                    rows, columns, *weights, of_rows, of_columns, doubtful, exact, len(X), len(Y),
                    column_tiles, WIDTH=X.shape[1], num_warps=8, **tile,
                )  # fmt: skip
    return of_rows[: len(X)], of_columns[: len(Y)]


def _countable(weight: Any, dtype: Any) -> Any:
    """Return weights in single precision where that loses nothing, or rows have no more."""
    import torch

    whole = bool(((weight == weight.round()) & (weight <= 1 << 16)).all())
    return weight.to(torch.float32 if whole or dtype == torch.float32 else torch.float64)


@cache
def _kernels() -> Any:
    """Return the module of fused kernels, or None where there is no Triton."""
    try:
        from robell._core.membership import pairs_triton
    except ImportError:
        return None
    return pairs_triton
