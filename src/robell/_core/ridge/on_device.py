"""The network and its ridge on torch tensors: rows stay on their device, systems are small.

Features, Gram matrix, residuals, leverages and scores are made on the device, a block of rows at a
time, in double precision whatever the precision of X: a Gram matrix in single precision would
cost half of its digits. The P x P system itself is factored on the host by the same code as
everywhere (:mod:`robell._core.ridge.solve`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robell._core.layers.activations import LEAKY_SLOPE, SELU_ALPHA, SELU_LAMBDA
from robell._core.layers.features import RowBlocks
from robell._core.membership.equations import (
    NARROWEST,
    WIDEST,
    KernelStatistics,
    class_probability,
    class_sizes,
    kernel_radii,
    largest_radii,
    minority_class,
    neighbourhood_radius,
    reach_squared,
)
from robell._core.membership.pairs_torch import neighbour_weights, same_class_dissimilarity
from robell._core.ridge.solve import (
    REFINE_BELOW,
    REFINEMENTS,
    RidgeSolution,
    factor_spd,
    leave_one_out,
    solve_ridge,
)

Array = NDArray[np.float64]

BLOCK_ELEMENTS = 1 << 24


def apply_activation(name: str, Z: Any) -> Any:
    """Apply one of the ten activations to a tensor; definitions as in the module for arrays."""
    import torch

    functions: dict[str, Callable[[], Any]] = {
        "selu": lambda: (
            SELU_LAMBDA * torch.where(Z > 0, Z, SELU_ALPHA * torch.expm1(Z.clamp(max=0)))
        ),
        "relu": lambda: Z.clamp(min=0),
        "sigmoid": lambda: torch.sigmoid(Z),
        "sin": lambda: torch.sin(Z),
        "hardlim": lambda: (Z >= 0).to(Z.dtype),
        "tribas": lambda: (1 - Z.abs()).clamp(min=0),
        "radbas": lambda: torch.exp(-Z.square()),
        "sign": lambda: torch.sign(Z),
        "leaky_relu": lambda: torch.maximum(Z, LEAKY_SLOPE * Z),
        "tansig": lambda: torch.tanh(Z),
    }
    return functions[name]()


class DeviceDesign:
    """M = [1 X H] of rows on a device, one block at a time, in double precision.

    Parameters
    ----------
    X : tensor of shape (A, B)
    U, b : tensors of shape (B, D) and (D,), double precision
    activation : str
    direct_link, output_bias : bool
    """

    def __init__(
        self, X: Any, U: Any, b: Any, activation: str, direct_link: bool, output_bias: bool
    ) -> None:
        self.X, self.U, self.b, self.activation = X, U, b, activation
        self.direct_link, self.output_bias = direct_link, output_bias
        self.n_rows = len(X)
        self.n_columns = int(output_bias) + direct_link * X.shape[1] + U.shape[1]

    def rows(self, block: slice) -> Any:
        """Make some rows of M."""
        import torch

        X = self.X[block].to(torch.float64)
        parts = [apply_activation(self.activation, X @ self.U + self.b)]
        if self.direct_link:
            parts.insert(0, X)
        if self.output_bias:
            parts.insert(0, torch.ones_like(X[:, :1]))
        return torch.cat(parts, dim=1)

    def __iter__(self) -> Iterator[tuple[slice, Any]]:
        step = max(64, BLOCK_ELEMENTS // self.n_columns)
        for start in range(0, self.n_rows, step):
            block = slice(start, min(start + step, self.n_rows))
            yield block, self.rows(block)

    def on_host(self) -> RowBlocks:
        """Return the same matrix for the code that runs on the host."""
        return RowBlocks(lambda block: self.rows(block).cpu().numpy(), self.n_rows, self.n_columns)

    def times(self, beta: Any) -> Any:
        """Return Mβ."""
        import torch

        return torch.cat([M @ beta for _, M in self])


def solve_on_device(
    design: DeviceDesign, T: Any, C: float, w: Any, left_out_share: Any | None
) -> RidgeSolution:
    """Solve the weighted ridge of rows on a device; β and leave-one-out scores come to the host.

    Tall, regular systems only leave P x P numbers to the host. Wide ones, and those that are
    singular to working precision, are solved by :func:`robell._core.ridge.solve.solve_ridge`, which
    takes M block by block. T, w and the share are tensors; otherwise as there.
    """
    solution = None
    if design.n_rows >= design.n_columns:
        solution = _solve_primal(design, T, C, w, left_out_share)
    if solution is None:
        share = None if left_out_share is None else left_out_share.cpu().numpy()
        targets, weight = T.cpu().numpy(), w.cpu().numpy()
        solution = solve_ridge(design.on_host(), targets, C, weight, share)
    return solution


def _solve_primal(
    design: DeviceDesign, T: Any, C: float, w: Any, share: Any | None
) -> RidgeSolution | None:
    import torch

    # For C < 1 the system is multiplied by C: 1/C must not overflow.
    penalty = 1.0 if C < 1.0 else 1.0 / C
    w = C * w if C < 1.0 else w
    P, K = design.n_columns, T.shape[1]
    G = torch.zeros((P, P), dtype=torch.float64, device=T.device)
    R = torch.zeros((P, K), dtype=torch.float64, device=T.device)
    for rows, M in design:
        weighted = M.mT * w[rows]
        G += weighted @ M
        R += weighted @ T[rows]
    system = G.cpu().numpy()
    if not np.isfinite(system).all():
        raise ValueError(
            "the hidden layer or the inputs overflow: scale X first, for instance with "
            "StandardScaler, or choose a bounded activation"
        )
    system.flat[:: P + 1] += penalty
    factor = factor_spd(system)
    if factor is None:
        return None
    beta = factor.solve(R.cpu().numpy())
    for _ in range(REFINEMENTS if factor.rcond < REFINE_BELOW else 0):
        now = torch.as_tensor(beta, device=T.device)
        gradient = -penalty * now
        for rows, M in design:
            gradient += M.mT @ (w[rows, None] * (T[rows] - M @ now))
        beta = beta + factor.solve(gradient.cpu().numpy())
    loo = None
    if share is not None:
        F = torch.as_tensor(np.ascontiguousarray(factor.inverse_lower.T), device=T.device)
        final = torch.as_tensor(beta, device=T.device)
        loo = np.empty(T.shape)
        for rows, M in design:
            leverage = (M @ F).square().sum(dim=1) * share[rows] * w[rows]
            scores = (M @ final).cpu().numpy()
            loo[rows] = leave_one_out(scores, T[rows].cpu().numpy(), 1.0 - leverage.cpu().numpy())
    return RidgeSolution(beta, "primal", loo)


def kernel_statistics_on_device(
    X: Any, classes: Any, n_classes: int, kernel_width: float, multiplicity: Any
) -> KernelStatistics:
    """Compare all pairs of rows on their device; per-row results come to the host.

    As :func:`robell._core.membership.equations.kernel_statistics`, with tensors for arrays.
    """
    import torch

    order = torch.argsort(classes, stable=True)
    rows, labels = X[order], classes[order]
    rows = rows - rows.mean(dim=0, dtype=torch.float64).to(rows.dtype)
    weight = multiplicity[order]
    if not bool(torch.isfinite(rows.square().sum())):
        raise ValueError(
            "X is too large for squared distances to be computed: scale it first, "
            "for instance with StandardScaler"
        )
    width = min(max(kernel_width, NARROWEST), WIDEST)
    sums = same_class_dissimilarity(rows, labels, weight, 1.0 / (width * width))
    place, host_labels = order.cpu().numpy(), labels.cpu().numpy()
    host_weight = weight.cpu().numpy()
    sorted_radius = kernel_radii(sums.cpu().numpy(), host_labels, host_weight)
    r_max = largest_radii(sorted_radius, host_labels, n_classes)
    reach = reach_squared(neighbourhood_radius(r_max), width)
    total, own_class = neighbour_weights(rows, labels, weight, reach)
    radius, probability = np.empty(len(place)), np.empty(len(place))
    radius[place] = sorted_radius
    probability[place] = class_probability(own_class.cpu().numpy(), total.cpu().numpy())
    minority = minority_class(class_sizes(host_labels, n_classes, host_weight))
    return KernelStatistics(radius, probability, r_max, minority)
