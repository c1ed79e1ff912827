"""The nested solutions of ``sweep.py`` on an accelerator, many systems at a time.

Row weights and penalties are batch dimensions: one batched Gram product, one batched Cholesky
factorisation, one batched triangular solve. All in double precision. PyTorch is imported only
when a device is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from robell._core.array import Array, Labels
from robell._core.ridge.sweep import (
    LARGE,
    LU_RCOND,
    REFINE_PIVOT,
    REFINE_WIDE,
    SINGULAR_PIVOT,
    WIDE_PIVOT,
    digits_left,
)

BATCH_ELEMENTS = 1 << 27  # numbers in one batch of systems: a gibibyte


def require_device(device: str) -> Any:
    """Return the torch device of a name, or raise a line that says what is missing."""
    try:
        import torch
    except ImportError:
        raise ImportError(
            f"device={device!r} needs PyTorch: install the extra robell[gpu]"
        ) from None
    if not device.startswith("cuda"):
        raise ValueError(f"device must be 'cpu', 'cuda' or 'cuda:N'; got {device!r}")
    if not torch.cuda.is_available():
        raise RuntimeError(f"device={device!r} was asked for, but PyTorch sees no CUDA device")
    found = torch.device(device)
    if found.index is not None and found.index >= torch.cuda.device_count():
        raise RuntimeError(f"device={device!r}: there are {torch.cuda.device_count()} CUDA devices")
    return found


def own_stream(device: Any) -> Callable[[], AbstractContextManager[None]]:
    """Return what makes contexts whose work does not wait for what is on its way on a device."""
    if device.type != "cuda":
        return nullcontext
    import torch

    stream = torch.cuda.Stream(device)

    @contextmanager
    def beside_others() -> Iterator[None]:
        with torch.cuda.stream(stream):
            yield
        torch.cuda.current_stream(device).wait_stream(stream)

    return beside_others


def _one_norm(A: Any) -> Any:
    """Return the largest sum of absolute values of a column, of every matrix."""
    return A.abs().sum(dim=-2).amax(dim=-1)


class TorchSweep:
    """Designs on a device, to be solved for many row weights, penalties and widths.

    M is one design, (A, P), or several of the same rows, (designs, A, P).
    """

    def __init__(self, M: Any, T: Array, device: Any) -> None:
        import torch

        self.torch = torch
        M = torch.as_tensor(M, device=device)
        self.M = M if M.ndim == 3 else M[None]
        self.T = torch.as_tensor(T, device=device).to(self.M.dtype)

    def batch(self, n_penalties: int, n_widths: int) -> int:
        """Return how many settings of the row weights fit into one batch."""
        _, A, P = self.M.shape
        of_one = n_penalties * P * P, A * P, n_penalties * n_widths * A * self.T.shape[1]
        return int(max(1, BATCH_ELEMENTS // (len(self.M) * max(of_one))))

    def start(self, w: Array, penalties: Array, widths: Labels) -> Callable[[], tuple[Any, Array]]:
        """Put the systems of every row of ``w``, (settings, A), on their way; return what waits.

        That gives β of shape (designs * settings, P, penalties, widths, K), on the device, and the
        smallest pivots, (designs * settings, penalties, widths), which are 0 where unsolved, as in
        ``sweep.py``.
        """
        torch, device = self.torch, self.M.device
        weights, rising = torch.as_tensor(w, device=device), np.sort(widths)
        ends = torch.as_tensor(rising - 1, device=device)
        if widths.max() > self.M.shape[1]:
            finish: Callable[[], tuple[Any, Array]] = partial(
                self._solve_some_wide, weights, penalties, widths
            )
        else:
            penalty = torch.as_tensor(penalties, device=device)
            finish = self._start_tall(weights, penalty, widths)
        # Of every design and setting, and of the columns of each network: what digits_left is given
        R = (self.M.mH[:, None] @ (weights[:, :, None] * self.T)).abs().amax(dim=3)
        diagonal = weights @ self.M.abs().square()
        largest = [some.flatten(0, 1).cummax(1).values[:, ends] for some in (R, diagonal)]
        squares = (weights @ self.T.abs().square().sum(dim=1)).repeat(len(self.M))

        def trusted() -> tuple[Any, Array]:
            beta, pivot = finish()
            left = digits_left(*(value.cpu().numpy() for value in (*largest, squares)))
            return beta, pivot * left[:, None, np.searchsorted(rising, widths)]

        return trusted

    def _solve_some_wide(self, weights: Any, penalties: Array, widths: Labels) -> tuple[Any, Array]:
        """Solve where some widths are beyond the number of rows, as ``sweep.py`` does."""
        torch, device = self.torch, self.M.device
        A, P = self.M.shape[1:]
        n_systems = len(self.M) * len(weights)
        shape = n_systems, P, len(penalties), len(widths), self.T.shape[1]
        beta = torch.zeros(shape, dtype=self.M.dtype, device=device)
        pivot = np.zeros((n_systems, len(penalties), len(widths)))
        # One factor for all widths where the penalty leaves enough digits in every design.
        largest = float((weights @ self.M.abs().square()).max())
        shared = penalties >= WIDE_PIVOT * largest
        for places, limit in ((shared, widths.max()), (~shared, A)):
            if not places.any():
                continue
            penalty = torch.as_tensor(penalties[places], device=device)
            within = np.flatnonzero(widths <= limit)
            if len(within):
                rows, columns = np.ix_(places, within)
                found, smallest = self._start_tall(weights, penalty, widths[within])()
                beta[:, : found.shape[1], rows, columns], pivot[:, rows, columns] = found, smallest
            for j in np.flatnonzero(widths > limit):
                found, pivot[:, places, j] = self._solve_wide(weights, penalty, int(widths[j]))
                beta[:, : widths[j], places, j] = found
        pivot[pivot < SINGULAR_PIVOT] = 0.0
        return beta, pivot

    def solve_graph(self, w: Array, term: Array, C: Array, weights: Array) -> tuple[Array, Array]:
        """Solve (MᵀWM + (I + αS)/C)β = MᵀWT for every C and graph weight α, as ``graph_ridge``.

        The reciprocal condition numbers, in the 1-norm, are those of the inverses themselves.
        """
        torch, device = self.torch, self.M.device
        (M,) = self.M
        P, K = M.shape[1], self.T.shape[1]
        weight = torch.as_tensor(w, device=device)[:, None]
        G, R = M.T @ (M * weight), M.T @ (self.T * weight)
        eye = torch.eye(P, dtype=G.dtype, device=device)
        term = torch.as_tensor(term, device=device)
        # For C < 1 the system is multiplied by C: 1/C must not overflow.
        error = torch.as_tensor(np.minimum(C, 1.0), device=device)[:, None, None]
        size = torch.as_tensor(1.0 / np.maximum(C, 1.0), device=device)[:, None, None]
        beta = np.zeros((len(weights), P, len(C), K))
        rcond = np.zeros((len(weights), len(C)))
        step = max(1, BATCH_ELEMENTS // (4 * len(C) * P * P))
        for start in range(0, len(weights), step):
            some = torch.as_tensor(weights[start : start + step], device=device)
            systems = error * G + size * (eye + some[:, None, None, None] * term)
            usable = torch.isfinite(systems).all(-1).all(-1)
            systems = torch.where(usable[..., None, None], systems, eye)
            factor, pivots, info = torch.linalg.lu_factor_ex(systems)
            inverse = torch.linalg.lu_solve(factor, pivots, eye.expand_as(systems))
            found = 1.0 / (_one_norm(systems) * _one_norm(inverse))
            found = torch.where((info == 0) & usable & (found >= LU_RCOND), found, 0.0)
            right = (error * R).expand(len(some), -1, -1, -1)
            solution = torch.linalg.lu_solve(factor, pivots, right)
            residual = right - systems @ solution
            solution = solution + torch.linalg.lu_solve(factor, pivots, residual)
            solution = torch.where(found[..., None, None] > 0.0, solution, 0.0)
            beta[start : start + step] = solution.transpose(1, 2).cpu().numpy()
            rcond[start : start + step] = found.nan_to_num(0.0).cpu().numpy()
        squares = w @ np.square(self.T.cpu().numpy()).sum(axis=1)
        signal, diagonal = R.abs().amax(dim=1).cpu().numpy(), G.diagonal().cpu().numpy()
        return beta, rcond * digits_left(signal, diagonal, squares)[-1]

    def _factor(self, products: Any, penalty: Any) -> tuple[Any, Any, Any]:
        """Return L and z of every setting and penalty, and squared pivots over the diagonal.

        ``products`` are [G R; Rᴴ *] of every setting; L of shape (settings, penalties, n, n) and
        z = L⁻¹R are those of G + λI. Pivots are zero where that fails.
        """
        torch, K = self.torch, self.T.shape[1]
        n = products.shape[-1] - K
        systems = products[:, None].repeat(1, len(penalty), 1, 1)
        diagonal = torch.diagonal(systems, dim1=-2, dim2=-1)
        diagonal[..., :n] += penalty[:, None]
        diagonal[..., n:] = LARGE
        scale = diagonal[..., :n].real.clone()
        L, info = torch.linalg.cholesky_ex(systems)
        pivots = torch.diagonal(L, dim1=-2, dim2=-1)[..., :n].real.square() / scale
        pivots = torch.where((info == 0)[..., None], pivots.nan_to_num(0.0), 0.0)
        return L[..., :n, :n], L[..., n:, :n].mH, pivots

    def _start_tall(self, w: Any, penalty: Any, widths: Labels) -> Callable[[], tuple[Any, Array]]:
        """Start systems that share a factor; return what waits for β and the least pivots."""
        torch = self.torch
        P, (A, K) = int(widths.max()), self.T.shape
        M = self.M[..., :P]
        # Put there first: it would wait for the systems.
        inside = torch.as_tensor(np.arange(P)[:, None] < np.repeat(widths, K), device=M.device)
        beside = torch.cat([M, self.T.expand(len(M), A, K)], dim=2)
        scaled = beside[:, None] * w.sqrt()[:, :, None]
        L, z, pivots = self._factor((scaled.mH @ scaled).flatten(0, 1), penalty)

        def back(L: Any, forward: Any) -> Any:
            return torch.linalg.solve_triangular(L.mH, forward * inside, upper=True)

        beta = back(L, z.repeat(1, 1, 1, len(widths)))
        of_tall = pivots[..., : min(A, P)].amin(dim=-1)
        both = torch.stack([of_tall, pivots.amin(dim=-1)], dim=-1)
        beta = torch.where((both[..., 1] >= SINGULAR_PIVOT)[..., None, None], beta, 0.0)

        def finish() -> tuple[Any, Array]:
            smallest = both.cpu().numpy()
            below = REFINE_WIDE if P > A else REFINE_PIVOT
            refine = (smallest[..., 1] < below) & (smallest[..., 1] >= SINGULAR_PIVOT)
            # Small penalties are few: most factors and solutions are left as they are.
            places = torch.as_tensor(np.flatnonzero(refine.any(axis=0)), device=M.device)
            if len(places):
                factor, found = L[:, places], beta[:, places]
                by_design = found.unflatten(0, (len(M), len(w)))
                residual = self.T.repeat(1, len(widths)) - M[:, None, None] @ by_design
                gradient = M.mH[:, None, None] @ (w[:, None, :, None] * residual)
                gradient = gradient.flatten(0, 1) - penalty[places][:, None, None] * found
                correction = torch.linalg.solve_triangular(factor, gradient * inside, upper=False)
                chosen = torch.as_tensor(refine, device=M.device)[:, places, None, None]
                beta[:, places] += torch.where(chosen, back(factor, correction), 0.0)
            smallest[smallest < SINGULAR_PIVOT] = 0.0
            shape = (len(beta), len(penalty), P, len(widths), K)
            return beta.reshape(shape).transpose(1, 2), smallest[..., (widths > A).astype(int)]

        return finish

    def _solve_wide(self, w: Any, penalty: Any, width: int) -> tuple[Any, Array]:
        torch = self.torch
        root = w.sqrt()[:, :, None]
        M = (self.M[:, None, :, :width] * root).flatten(0, 1)
        T = (self.T * root).repeat(len(self.M), 1, 1)[:, None]
        beside = torch.cat([M @ M.mH, T[:, 0]], dim=2)
        below = torch.nn.functional.pad(T[:, 0].mH, (0, T.shape[-1]))
        L, z, pivots = self._factor(torch.cat([beside, below], dim=1), penalty)
        smallest = pivots.amin(dim=-1)
        alpha = torch.linalg.solve_triangular(L.mH, z, upper=True)
        residual = T - M[:, None] @ (M.mH[:, None] @ alpha) - penalty[:, None, None] * alpha
        refine = (smallest < REFINE_WIDE)[:, :, None, None]
        alpha = torch.where(refine, alpha + torch.cholesky_solve(residual, L), alpha)
        alpha = torch.where((smallest >= SINGULAR_PIVOT)[:, :, None, None], alpha, 0.0)
        beta = (M.mH[:, None] @ alpha).transpose(1, 2)
        return beta, smallest.cpu().numpy()
