"""Fused passes over all pairs of rows, in Triton; imported where a CUDA device is used."""

# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def pass_over_pairs(
    X,
    Y,
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
    n_rows,
    n_columns,
    most_doubtful,
    FEATURES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    COUNTS: tl.constexpr,
    SAME: tl.constexpr,
    PARTS: tl.constexpr,
):
    """Add Σ_j weight_j v_ij to the rows and Σ_i weight_i v_ij to the columns.

    v is [d² <= limit] or 1 - exp(-d²). Every tile of pairs is computed once and summed both ways;
    where rows and columns are the SAME, tiles below the diagonal are left out, and those on it are
    summed along the rows alone. Tiles with pairs so near to the limit that rounding decides about
    them are noted in ``doubtful``.
    """
    tile = tl.program_id(0)
    i = tile * ROWS + tl.arange(0, ROWS)
    f = tl.arange(0, FEATURES)
    inside = i < n_rows
    x = tl.load(X + i[:, None] * FEATURES + f[None, :], mask=inside[:, None], other=0.0)
    x_norm = tl.load(x_norms + i, mask=inside, other=0.0)
    x_longest = tl.max(x_norm, axis=0)
    w_i = tl.load(x_weight + i, mask=inside, other=0.0)
    total = tl.zeros((ROWS,), dtype=tl.float64)
    first = 0
    if SAME:
        first = tl.minimum((tile + 1) * ROWS, n_columns)
        for start in range(tile * ROWS, first, COLUMNS):
            j = start + tl.arange(0, COLUMNS)
            w_j = tl.load(y_weight + j, mask=j < n_columns, other=0.0)
            y_norm = tl.load(y_norms + j, mask=j < n_columns, other=0.0)
            d2 = _squared_distances(x, x_norm, Y, y_norm, j, n_columns, f, FEATURES, PARTS)
            d2 = tl.where(i[:, None] == j[None, :], 0.0, d2)
            if COUNTS:
                slack = rounding * (x_longest + tl.max(y_norm, axis=0))
                closest = tl.min(tl.min(tl.abs(d2 - limit), axis=1), axis=0)
                if closest <= slack:
                    _note(doubtful, n_doubtful, most_doubtful, tile, start, n_columns, COLUMNS)
            v = _value(d2, limit, COUNTS)
            total += tl.sum(v * w_j[None, :], axis=1).to(tl.float64)
    for start in range(first, n_columns, COLUMNS):
        j = start + tl.arange(0, COLUMNS)
        w_j = tl.load(y_weight + j, mask=j < n_columns, other=0.0)
        y_norm = tl.load(y_norms + j, mask=j < n_columns, other=0.0)
        d2 = _squared_distances(x, x_norm, Y, y_norm, j, n_columns, f, FEATURES, PARTS)
        if COUNTS:
            slack = rounding * (x_longest + tl.max(y_norm, axis=0))
            closest = tl.min(tl.min(tl.abs(d2 - limit), axis=1), axis=0)
            if closest <= slack:
                _note(doubtful, n_doubtful, most_doubtful, tile, start, n_columns, COLUMNS)
        v = _value(d2, limit, COUNTS)
        total += tl.sum(v * w_j[None, :], axis=1).to(tl.float64)
        across = tl.sum(v * w_i[:, None], axis=0).to(tl.float64)
        tl.atomic_add(of_columns + j, across, mask=j < n_columns, sem="relaxed")
    tl.atomic_add(of_rows + i, total, mask=inside, sem="relaxed")


@triton.jit
def correct_counts(
    X,
    Y,
    x_norms,
    y_norms,
    x_weight,
    y_weight,
    of_rows,
    of_columns,
    doubtful,
    exact_limit,
    limit,
    rounding,
    n_rows,
    n_columns,
    FEATURES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    SAME: tl.constexpr,
    PARTS: tl.constexpr,
):
    """Decide the doubtful pairs of one tile anew, by distances in double precision."""
    columns_tiles = (n_columns + COLUMNS - 1) // COLUMNS
    number = tl.load(doubtful + tl.program_id(0))
    tile = (number // columns_tiles).to(tl.int32)
    start = (number % columns_tiles).to(tl.int32) * COLUMNS
    i = tile * ROWS + tl.arange(0, ROWS)
    j = start + tl.arange(0, COLUMNS)
    f = tl.arange(0, FEATURES)
    inside, there = i < n_rows, j < n_columns
    x = tl.load(X + i[:, None] * FEATURES + f[None, :], mask=inside[:, None], other=0.0)
    x_norm = tl.load(x_norms + i, mask=inside, other=0.0)
    y_norm = tl.load(y_norms + j, mask=there, other=0.0)
    w_i = tl.load(x_weight + i, mask=inside, other=0.0)
    w_j = tl.load(y_weight + j, mask=there, other=0.0)
    d2 = _squared_distances(x, x_norm, Y, y_norm, j, n_columns, f, FEATURES, PARTS)
    if SAME:
        d2 = tl.where(i[:, None] == j[None, :], 0.0, d2)
    near = _is_near(d2, limit, rounding, x_norm, y_norm, w_i, w_j)
    exact = tl.zeros((ROWS, COLUMNS), dtype=tl.float64)
    for k in range(FEATURES):
        x_k = tl.load(X + i * FEATURES + k, mask=inside, other=0.0).to(tl.float64)
        y_k = tl.load(Y + j * FEATURES + k, mask=there, other=0.0).to(tl.float64)
        difference = x_k[:, None] - y_k[None, :]
        exact += difference * difference
    right = tl.where(exact <= tl.load(exact_limit), 1.0, 0.0)
    change = tl.where(near > 0, right - tl.where(d2 <= limit, 1.0, 0.0), 0.0)
    to_rows = tl.sum(change * w_j[None, :], axis=1).to(tl.float64)
    tl.atomic_add(of_rows + i, to_rows, mask=inside, sem="relaxed")
    if (not SAME) or (start >= (tile + 1) * ROWS):
        to_columns = tl.sum(change * w_i[:, None], axis=0).to(tl.float64)
        tl.atomic_add(of_columns + j, to_columns, mask=there, sem="relaxed")


@triton.jit
def _squared_distances(
    x, x_norm, Y, y_norm, j, n_columns, f, FEATURES: tl.constexpr, PARTS: tl.constexpr
):
    there = (j < n_columns)[None, :]
    y = tl.load(Y + j[None, :] * FEATURES + f[:, None], mask=there, other=0.0)
    return x_norm[:, None] + y_norm[None, :] - 2.0 * tl.dot(x, y, input_precision=PARTS)


@triton.jit
def _is_near(d2, limit, rounding, x_norm, y_norm, w_i, w_j):
    """Return 1 for pairs that rounding may have put on the wrong side of the limit."""
    slack = rounding * (x_norm[:, None] + y_norm[None, :])
    there = (w_i[:, None] > 0) & (w_j[None, :] > 0)  # rows beyond the last have weight 0
    return ((tl.abs(d2 - limit) <= slack) & there).to(tl.int32)


@triton.jit
def _note(doubtful, n_doubtful, most, tile, start, n_columns, COLUMNS: tl.constexpr):
    """Note a tile that may hold a doubtful pair."""
    place = tl.atomic_add(n_doubtful, 1, sem="relaxed")
    number = tile.to(tl.int64) * ((n_columns + COLUMNS - 1) // COLUMNS) + start // COLUMNS
    tl.store(doubtful + place, number, mask=place < most)


@triton.jit
def _value(d2, limit, COUNTS: tl.constexpr):
    if COUNTS:
        v = tl.where(d2 <= limit, 1.0, 0.0)
    else:
        d2 = tl.maximum(d2, 0.0)
        # 1 - exp(-d²) by its series where the difference would lose digits
        series = d2 * (1.0 - d2 * (0.5 - d2 * (1 / 6 - d2 * (1 / 24 - d2 * (1 / 120)))))
        v = tl.where(d2 < 0.125, series, 1.0 - tl.exp(-d2))
    return v
