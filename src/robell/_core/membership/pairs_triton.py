"""One fused pass over all pairs of rows, in Triton; imported where a CUDA device is used."""

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
    weight,
    out,
    parameter,
    n_rows,
    n_columns,
    FEATURES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    COUNTS: tl.constexpr,
    SAME: tl.constexpr,
):
    """Write Σ_j weight_j [d²_ij <= parameter], or Σ_j weight_j (1 - exp(-parameter d²_ij))."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    f = tl.arange(0, FEATURES)
    inside = i < n_rows
    x = tl.load(X + i[:, None] * FEATURES + f[None, :], mask=inside[:, None], other=0.0)
    x_norm = tl.load(x_norms + i, mask=inside, other=0.0)
    total = tl.zeros((ROWS,), dtype=tl.float64)
    for start in range(0, n_columns, COLUMNS):
        j = start + tl.arange(0, COLUMNS)
        there = j < n_columns
        y = tl.load(Y + j[None, :] * FEATURES + f[:, None], mask=there[None, :], other=0.0)
        y_norm = tl.load(y_norms + j, mask=there, other=0.0)
        w = tl.load(weight + j, mask=there, other=0.0)
        d2 = x_norm[:, None] + y_norm[None, :] - 2.0 * tl.dot(x, y, input_precision="tf32x3")
        d2 = tl.maximum(d2, 0.0)
        if SAME:
            d2 = tl.where(i[:, None] == j[None, :], 0.0, d2)
        if COUNTS:
            value = tl.where(d2 <= parameter, w[None, :], 0.0)
        else:
            t = parameter * d2
            # 1 - exp(-t) by its series where the difference would lose digits
            series = t * (1.0 - t * (0.5 - t * (1 / 6 - t * (1 / 24 - t * (1 / 120)))))
            value = tl.where(t < 0.125, series, 1.0 - tl.exp(-t)) * w[None, :]
        total += tl.sum(value, axis=1).to(tl.float64)
    tl.store(out + i, total, mask=inside)
