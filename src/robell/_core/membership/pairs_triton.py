"""Fused passes over all pairs of rows, in Triton; imported where a CUDA device is used.

Rows come padded with zeros, of weight 0, to whole tiles, and their features to a power of two.
Every tile of pairs is computed once and summed both ways; where rows and columns are the same,
tiles below the diagonal are left out, and those on it are summed along the rows alone.
"""

# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def kernel_sums(
    X_high,
    X_low,
    norms,
    weight,
    sums,
    factor,
    n_rows,
    FEATURES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    SERIES: tl.constexpr,
):
    """Add Σ_j weight_j (1 - 2^-e_ij) to every row, e_ij = norm_i + norm_j - factor x_i·x_j."""
    tile = tl.program_id(0)
    i = tile * ROWS + tl.arange(0, ROWS)
    f = tl.arange(0, FEATURES)
    x_high = tl.load(X_high + i[:, None] * FEATURES + f[None, :])
    x_low = tl.load(X_low + i[:, None] * FEATURES + f[None, :])
    x_norm, w_i = tl.load(norms + i), tl.load(weight + i)
    total = tl.zeros((ROWS,), dtype=tl.float64)
    first = (tile + 1) * ROWS
    for start in tl.range(tile * ROWS, first, COLUMNS, num_stages=1):
        j = start + tl.arange(0, COLUMNS)
        products = _products(x_high, x_low, X_high, X_low, j, f, FEATURES)
        e = x_norm[:, None] + tl.load(norms + j)[None, :] - factor * products
        v = _one_minus_exp2(tl.where(i[:, None] == j[None, :], 0.0, e), SERIES)
        total += tl.sum(v * tl.load(weight + j)[None, :], axis=1).to(tl.float64)
    for start in tl.range(first, n_rows, COLUMNS, num_stages=2):
        j = start + tl.arange(0, COLUMNS)
        products = _products(x_high, x_low, X_high, X_low, j, f, FEATURES)
        e = x_norm[:, None] + tl.load(norms + j)[None, :] - factor * products
        v = _one_minus_exp2(e, SERIES)
        total += tl.sum(v * tl.load(weight + j)[None, :], axis=1).to(tl.float64)
        across = tl.sum(v * w_i[:, None], axis=0).to(tl.float64)
        tl.atomic_add(sums + j, across, sem="relaxed")
    tl.atomic_add(sums + i, total, sem="relaxed")


@triton.jit
def double_sums(
    X,
    norms,
    weight,
    sums,
    n_rows,
    FEATURES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Add Σ_j weight_j (1 - exp(-|x_i - x_j|²)) to every row, all in double precision."""
    tile = tl.program_id(0)
    i = tile * ROWS + tl.arange(0, ROWS)
    f = tl.arange(0, FEATURES)
    x = tl.load(X + i[:, None] * FEATURES + f[None, :])
    x_norm, w_i = tl.load(norms + i), tl.load(weight + i)
    total = tl.zeros((ROWS,), dtype=tl.float64)
    for start in tl.range(tile * ROWS, n_rows, COLUMNS, num_stages=2):
        j = start + tl.arange(0, COLUMNS)
        y = tl.load(X + j[None, :] * FEATURES + f[:, None])
        d2 = x_norm[:, None] + tl.load(norms + j)[None, :]
        d2 -= 2.0 * tl.dot(x, y, out_dtype=tl.float64)
        if start < (tile + 1) * ROWS:
            d2 = tl.where(i[:, None] == j[None, :], 0.0, d2)
        v = _one_minus_exp(tl.maximum(d2, 0.0))
        total += tl.sum(v * tl.load(weight + j)[None, :], axis=1)
        if start >= (tile + 1) * ROWS:
            tl.atomic_add(sums + j, tl.sum(v * w_i[:, None], axis=0), sem="relaxed")
    tl.atomic_add(sums + i, total, sem="relaxed")


@triton.jit
def count_pairs(
    X_high,
    X_low,
    Y_high,
    Y_low,
    x_norms,
    y_norms,
    x_weight,
    y_weight,
    of_rows,
    of_columns,
    doubtful,
    n_doubtful,
    limit,
    rounding,
    lost,
    first_tile,
    n_columns,
    FEATURES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    SAME: tl.constexpr,
):
    """Add the weight of the columns within the limit to every row, and of the rows to the columns.

    A tile with a pair so near to the limit that rounding may decide about it is not counted, but
    noted in ``doubtful``.
    """
    tile = first_tile + tl.program_id(0)
    i = tile * ROWS + tl.arange(0, ROWS)
    f = tl.arange(0, FEATURES)
    x_high = tl.load(X_high + i[:, None] * FEATURES + f[None, :])
    x_low = tl.load(X_low + i[:, None] * FEATURES + f[None, :])
    x_norm, w_i = tl.load(x_norms + i), tl.load(x_weight + i)
    room = limit - x_norm
    unsure = lost + rounding * tl.max(x_norm, axis=0)
    total = tl.zeros((ROWS,), dtype=tl.float64)
    first = 0
    if SAME:
        first = (tile + 1) * ROWS
        for start in tl.range(tile * ROWS, first, COLUMNS, num_stages=1):
            j = start + tl.arange(0, COLUMNS)
            y_norm = tl.load(y_norms + j)
            margin = room[:, None] - y_norm[None, :]
            margin += 2.0 * _products(x_high, x_low, Y_high, Y_low, j, f, FEATURES)
            number = tile.to(tl.int64) * (n_columns // COLUMNS) + start // COLUMNS
            slack = unsure + rounding * tl.max(y_norm, axis=0)
            least = _least_margin(margin, slack, number, doubtful, n_doubtful)
            v = tl.where(margin >= least, 1.0, 0.0)
            total += tl.sum(v * tl.load(y_weight + j)[None, :], axis=1).to(tl.float64)
    for start in tl.range(first, n_columns, COLUMNS, num_stages=2):
        j = start + tl.arange(0, COLUMNS)
        y_norm = tl.load(y_norms + j)
        margin = room[:, None] - y_norm[None, :]
        margin += 2.0 * _products(x_high, x_low, Y_high, Y_low, j, f, FEATURES)
        number = tile.to(tl.int64) * (n_columns // COLUMNS) + start // COLUMNS
        slack = unsure + rounding * tl.max(y_norm, axis=0)
        least = _least_margin(margin, slack, number, doubtful, n_doubtful)
        v = tl.where(margin >= least, 1.0, 0.0)
        total += tl.sum(v * tl.load(y_weight + j)[None, :], axis=1).to(tl.float64)
        across = tl.sum(v * w_i[:, None], axis=0).to(tl.float64)
        tl.atomic_add(of_columns + j, across, sem="relaxed")
    tl.atomic_add(of_rows + i, total, sem="relaxed")


@triton.jit
def count_doubtful(
    X,
    Y,
    x_weight,
    y_weight,
    of_rows,
    of_columns,
    doubtful,
    exact_limit,
    n_rows,
    n_columns,
    column_tiles,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    SAME: tl.constexpr,
):
    """Count the pairs of one tile noted as doubtful, by differences in double precision."""
    number = tl.load(doubtful + tl.program_id(0))
    tile = (number // column_tiles).to(tl.int32)
    start = (number % column_tiles).to(tl.int32) * COLUMNS
    i = tile * ROWS + tl.arange(0, ROWS)
    j = start + tl.arange(0, COLUMNS)
    inside, there = i < n_rows, j < n_columns
    d2 = tl.zeros((ROWS, COLUMNS), dtype=tl.float64)
    for k in range(WIDTH):
        x_k = tl.load(X + i.to(tl.int64) * WIDTH + k, mask=inside, other=0.0).to(tl.float64)
        y_k = tl.load(Y + j.to(tl.int64) * WIDTH + k, mask=there, other=0.0).to(tl.float64)
        difference = x_k[:, None] - y_k[None, :]
        d2 += difference * difference
    v = tl.where(d2 <= tl.load(exact_limit), 1.0, 0.0)
    w_i, w_j = tl.load(x_weight + i), tl.load(y_weight + j)
    to_rows = tl.sum(v * w_j[None, :], axis=1).to(tl.float64)
    tl.atomic_add(of_rows + i, to_rows, sem="relaxed")
    if (not SAME) or (start >= (tile + 1) * ROWS):
        to_columns = tl.sum(v * w_i[:, None], axis=0).to(tl.float64)
        tl.atomic_add(of_columns + j, to_columns, sem="relaxed")


@triton.jit
def _products(x_high, x_low, Y_high, Y_low, j, f, FEATURES: tl.constexpr):
    """Return x·y of rows in two parts each, all but the product of both low parts."""
    at = j[None, :] * FEATURES + f[:, None]
    y_high, y_low = tl.load(Y_high + at), tl.load(Y_low + at)
    found = tl.dot(x_low, y_high)
    found = tl.dot(x_high, y_low, found)
    return tl.dot(x_high, y_high, found)


@triton.jit
def _least_margin(margin, slack, number, doubtful, n_doubtful):
    """Return the margin from which on pairs count: none do in a doubtful tile, which is noted."""
    sure = tl.min(tl.min(tl.abs(margin), axis=1), axis=0) > slack
    if not sure:
        place = tl.atomic_add(n_doubtful, 1, sem="relaxed")
        tl.store(doubtful + place, number)
    return tl.where(sure, 0.0, float("inf"))


@triton.jit
def _one_minus_exp2(e, SERIES: tl.constexpr):
    """Return 1 - 2^-e, by a SERIES where exponents are so small that it would lose digits."""
    if SERIES:
        t = tl.maximum(e * 0.6931471805599453, 0.0)
        series = t * (1.0 - t * (0.5 - t * (1 / 6 - t * (1 / 24 - t * (1 / 120)))))
        v = tl.where(t < 0.125, series, 1.0 - tl.exp2(-e))
    else:
        v = 1.0 - tl.exp2(-e)
    return v


@triton.jit
def _one_minus_exp(t):
    """Return 1 - exp(-t), t >= 0, in double precision: 1 - 2^-k (1 + (e^r - 1)), r = k ln 2 - t."""
    # Within 1e-14; the series of (e^r - 1) / r leaves 1e-14 at |r| = ln 2 / 2. Rounding to the
    # nearest whole number k: 1.5 * 2^52 added pushes all binary places after the point out.
    t = tl.minimum(t, 700.0)
    shifted = t * 1.4426950408889634 + 6755399441055744.0
    bits = shifted.to(tl.int64, bitcast=True)  # its last bits are k
    r = (shifted - 6755399441055744.0) * 0.6931471805599453 - t
    p = r * 2.505210838544172e-08 + 2.755731922398589e-07  # 1/11!, 1/10!
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 0.0001984126984126984
    p = p * r + 0.001388888888888889
    p = p * r + 0.008333333333333333
    p = p * r + 0.041666666666666664
    p = p * r + 0.16666666666666666
    p = p * r + 0.5
    p = p * r + 1.0
    power = ((1023 - bits) << 52).to(tl.float64, bitcast=True)  # 2^-k
    return (1.0 - power) - power * (p * r)
