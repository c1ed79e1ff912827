"""Ridge solutions of a whole grid of penalties and nested networks from few factorisations.

The design columns of a network with fewer nodes are a prefix of those of a larger one, so its Gram
matrix is a leading block of the larger one's; and the Cholesky factor of a leading block is the
leading block of the factor. With G + λI = LLᵀ for the largest network and z = L⁻¹R,

    β_k = L_k⁻ᵀ z_k,   which is L⁻ᵀ applied to z with everything behind its first k entries zeroed,

so one factorisation and one triangular solve give all networks of one penalty. Targets stand beside
the columns, so that z comes with the factor, whatever large numbers s stand behind:

    [G + λI  R; Rᵀ  sI] = [L 0; zᵀ *][L 0; zᵀ *]ᵀ
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from robell._core.array import AnyArray, Array, Labels, row_squares
from robell._core.layers.features import RowBlocks, rows_per_block
from robell._core.ridge.lapack import (
    Call,
    add_gram,
    aligned,
    copy_lower,
    factorise,
    solve_lower,
    subtract_product,
)

# Smallest squared pivot over its diagonal entry: below the first the solution is refined with
# residuals taken from M, below the second it is left to the solver that has singular values.
REFINE_PIVOT = 1e-7
SINGULAR_PIVOT = 1e-12
# Reciprocal condition number below which a graph system is left to the solver for one candidate.
LU_RCOND = 1e-12
LARGE = 1e200  # in the place of s: its pivot is positive, whatever z is
# A penalty at least so large beside the diagonal leaves enough digits to networks with more columns
# than rows; below the second pivot they are refined.
WIDE_PIVOT = 1e-10
REFINE_WIDE = 1e-5
DUAL_COST = 100**3  # what the calls of a dual system take, as the order of a system, cubed
# What is left of R where sums over classes cancel, as a share of what they could be: below the
# first the system is left to single fits, up to the inverse of the second it is trusted less.
LEAST_SIGNAL, ENOUGH_SIGNAL = 1e-8, 100.0
ORDER_OF = 8  # the order of a system is filled up to a multiple of this: LAPACK is faster then
BLOCK_ROWS = 64  # rows of the factor in one step of a substitution


def digits_left(R: Any, diagonal: Any, squares: Any) -> Any:
    """Return the factor by which pivots are to be trusted less where sums over the classes cancel.

    |Σ_i w_i m_ij t_i| is at most (Σ_i w_i m_ij² · Σ_i w_i t_i²)^½. Where it is far smaller in every
    column, as for equal rows of both classes, R is the difference of larger sums. The output
    weights are then differences of larger numbers too, for a single fit takes a column of 0 and 1
    for each class. Given are the largest |R| and the diagonal entry of every column, (..., P), and
    Σ_i w_i t_i², (...). Returned is the factor of the networks that have the first 1, ..., P
    columns, (..., P).
    """
    signal, size = np.maximum.accumulate(R, -1), np.maximum.accumulate(diagonal, -1)
    bound = np.sqrt(size * np.asarray(squares)[..., None])
    share = signal / np.maximum(bound, np.finfo(np.float64).tiny)
    return np.where(share < LEAST_SIGNAL, 0.0, np.minimum(1.0, ENOUGH_SIGNAL * share))


def _order(n: int) -> int:
    return -(-n // ORDER_OF) * ORDER_OF


class WeightedGram:
    """[M T]ᵀW[M T] for several row weights, (settings, A); rows of constant weight taken once.

    Where every weight is constant, and of MᵀWM only the products of the ``first`` columns are
    needed, and the diagonal of the others, no more is computed.
    """

    def __init__(self, M: AnyArray, T: Array, weights: Array, first: int | None = None) -> None:
        self.weights, self.M, self.T = weights, M, T
        constant = (weights == weights[0]).all(axis=0)
        self.varying = np.flatnonzero(~constant)
        n = _order(M.shape[1] + T.shape[1])
        self.base, self.found = aligned((n, n), M.dtype), aligned((n, n), M.dtype)
        self.copy = copy_lower(self.base, self.found)
        (P, K), rows, step = (M.shape[1], T.shape[1]), np.flatnonzero(constant), rows_per_block(n)
        part = n if first in (None, P) or len(self.varying) else first
        for start in range(0, len(rows), step):
            block = self._beside(rows[start : start + step])
            block *= np.sqrt(weights[0, rows[start : start + step]])[:, None]
            add_gram(block, self.base[:part, :part])()
            if part < n:
                self.base[P : P + K, :P] += block[:, P : P + K].T @ block[:, :P].conj()
                self.base[range(part, P), range(part, P)] += row_squares(block[:, part:P].T)
        self.columns = self._beside(self.varying)
        self.scaled = np.empty_like(self.columns)  # a fresh one would cost as much as the scaling
        self.add = add_gram(self.scaled, self.found)

    def _beside(self, rows: Labels) -> AnyArray:
        """Return [M T 0] of some rows, conjugated: BLAS takes rows as columns of the transpose."""
        P, K = self.M.shape[1], self.T.shape[1]
        found = np.zeros((len(rows), len(self.base)), self.M.dtype)
        np.conjugate(self.M[rows], out=found[:, :P])
        found[:, P : P + K] = self.T[rows]
        return found

    def lower(self, setting: int) -> AnyArray:
        """Return the lower triangle of the products, in LAPACK's order, until the next call."""
        if len(self.varying) == 0:
            return self.base
        root = np.sqrt(self.weights[setting, self.varying])
        np.multiply(self.columns, root[:, None], out=self.scaled)
        self.copy()
        self.add()
        return self.found


def with_targets(G: AnyArray, R: AnyArray) -> AnyArray:
    """Return [G R; Rᴴ 0] in LAPACK's order, lower triangle, as :class:`WeightedGram` does."""
    P, K = R.shape
    products = np.zeros((_order(P + K),) * 2, G.dtype, order="F")
    products[:P, :P], products[P : P + K, :P] = G, R.conj().T
    return products


class NestedRidge:
    """One design and its targets, to be solved for many row weights, penalties and widths.

    Widths beyond the number of rows have a smaller dual system, each its own; or they share the
    factor of the largest network, which may be quicker. That loses digits where the penalty is
    small beside the diagonal, for G is singular.
    """

    def __init__(self, design: RowBlocks, T: Array, penalties: Array, widths: Labels) -> None:
        self.design, self.T, self.penalties, self.widths = design, T, penalties, widths
        self.shape = (design.n_columns, len(penalties), len(widths), T.shape[1])
        self.dtype = np.dtype(design.dtype)
        self.limit = _largest_factor(widths, design.n_rows)
        self.first = int(widths[widths <= self.limit].max(initial=0))  # columns with a factor
        self.made: dict[int, _Prefixes | _Wide] = {}
        self.last: tuple[int, Any] = 0, None  # the width of the last dual system, and its MMᵀ
        self.dual: tuple[_System, AnyArray] | None = None  # where all dual systems are solved
        self.squares = np.square(T).sum(axis=1)

    def solve(
        self, products: AnyArray, w: Array, out: AnyArray | None = None
    ) -> tuple[AnyArray, Array]:
        """Solve for row weights w, of which ``products`` are; into ``out`` if it is given.

        Returned are β, (P, penalties, widths, K), zero behind each width, and of each penalty and
        width the smallest squared pivot over its diagonal entry, 0 where unsolved.
        """
        beta = np.zeros(self.shape, self.dtype) if out is None else out
        pivot = np.zeros(self.shape[1:3])
        shared = np.ones(len(self.penalties), bool)
        P, K = self.shape[0], self.shape[-1]
        diagonal = np.diagonal(products)[:P].real
        if self.limit > self.design.n_rows:
            shared = self.penalties >= WIDE_PIVOT * diagonal.max()
        for limit in {self.limit, min(self.limit, self.design.n_rows)}:
            # Widths up to the limit have one factor, the others a dual system each.
            places = np.flatnonzero(shared if limit == self.limit else ~shared)
            within = np.flatnonzero(self.widths <= limit)
            if len(places) and len(within):
                prefixes = self._make(limit, _Prefixes, self.widths[within])
                found, smallest = prefixes.solve(products, w, places)
                if len(within) == len(self.widths) and len(places) == len(self.penalties):
                    beta[: len(found)], pivot[:] = found, smallest
                else:
                    rows, columns = np.ix_(places, within)
                    beta[: len(found), rows, columns] = found
                    pivot[rows, columns] = smallest
            for j in np.flatnonzero(self.widths > limit) if len(places) else ():
                width = int(self.widths[j])
                system = self._make(-width, _Wide, width)
                beta[:width, places, j], pivot[places, j] = system.solve(w, places)
        signal = np.abs(products[P : P + K, :P]).max(axis=0)
        pivot *= digits_left(signal, diagonal, w @ self.squares)[self.widths - 1]
        return beta, pivot

    def _make(self, key: int, kind: Any, widths: Any) -> Any:
        """Return systems of some widths, made when they are first needed."""
        if key not in self.made:
            self.made[key] = kind(self, widths)
        return self.made[key]


def _largest_factor(widths: Labels, n_rows: int) -> int:
    """Return up to which width one factor is quicker than a dual system for each width."""
    rising = np.sort(widths[widths > n_rows])
    tall = int(widths[widths <= n_rows].max(initial=0))
    limits = np.array([tall, *rising])
    duals = len(rising) - np.searchsorted(rising, limits, side="right")  # widths beyond each
    costs = limits.astype(float) ** 3 + (n_rows**3 + DUAL_COST) * duals.astype(float)
    best = int(limits[costs.argmin()])
    return max(best, n_rows) if best == tall else best


class _System:
    """A matrix beside which right-hand sides stand, factored again and again in one place."""

    def __init__(self, n: int, K: int, dtype: Any) -> None:
        self.n, self.K = n, K
        self.system = aligned((_order(n + K),) * 2, dtype)
        self.products = np.zeros_like(self.system)  # [G R; Rᴴ 0], to be filled in
        self.copy = copy_lower(self.products, self.system)
        self.diagonal = self.system.reshape(-1, order="F")[:: len(self.system) + 1]  # a view
        self.potrf, self.report = factorise(self.system)
        self.factored = np.nan  # the penalty whose factor is in ``system``; NaN for none

    def factor(self, penalty: float) -> Array:
        """Factor products + λI; return its squared pivots over the diagonal, zeros if it fails."""
        n, self.factored = self.n, penalty
        self.copy()
        self.diagonal[:n] += penalty
        self.diagonal[n:] = LARGE
        scale = self.diagonal[:n].real.copy()
        self.potrf()
        if self.report.value != 0:
            return np.zeros(n)
        pivots = self.diagonal[:n].real
        found: Array = pivots * pivots
        found /= scale
        return found

    def forward(self) -> AnyArray:
        """Return z = L⁻¹R of the last factor, (n, K)."""
        return self.system[self.n : self.n + self.K, : self.n].conj().T


class _Prefixes:
    """The leading blocks of one system, to be solved for one penalty after another."""

    def __init__(self, nested: NestedRidge, widths: Labels) -> None:
        self.design, self.T, self.penalties = nested.design, nested.T, nested.penalties
        design, P, K = self.design, int(widths.max()), self.T.shape[1]
        self.P, self.K, self.n_widths = P, K, len(widths)
        self.tall = min(P, design.n_rows)
        self.kind = (widths > design.n_rows).astype(np.intp)
        self.refine_below = REFINE_WIDE if self.tall < P else REFINE_PIVOT
        self.is_long = design.n_rows > 8 * P  # so that a pass takes longer than a factorisation
        rising = np.argsort(widths, kind="stable")
        self.place = np.argsort(rising) if (rising != np.arange(len(widths))).any() else None
        self.columns = np.repeat(widths[rising], K)
        self.inside = np.asfortranarray((np.arange(P)[:, None] < self.columns).astype(np.float64))
        self.work = _System(P, K, design.dtype)
        beta = aligned((P, len(self.penalties) * len(self.columns)), design.dtype)
        self.beta = beta.reshape(P, len(self.penalties), len(self.columns))  # a view
        self.block = aligned((P, len(self.columns)), design.dtype)  # β of one penalty
        self.back = self._substitution(self.block, transposed=True)
        self.forward = self._substitution(self.block, transposed=False)

    def _substitution(self, B: AnyArray, transposed: bool) -> list[Call]:
        """Return the calls that replace B by L⁻¹B or L⁻ᴴB, columns zero behind their widths."""
        L, calls = self.work.system, []
        for low in range(0, self.P, BLOCK_ROWS)[:: -1 if transposed else 1]:
            high = min(low + BLOCK_ROWS, self.P)
            some, below = ((self.columns <= end).sum() for end in (low, high))
            if not transposed and low:
                part = L[low:high, :low], B[:low, some:], B[low:high, some:]
                calls.append(subtract_product(*part, transposed))
            elif transposed and below < B.shape[1]:
                part = L[high : self.P, low:high], B[high:, below:], B[low:high, below:]
                calls.append(subtract_product(*part, transposed))
            calls.append(solve_lower(L[low:high, low:high], B[low:high, some:], transposed))
        return calls

    def solve(self, products: AnyArray, w: Array, places: Labels) -> tuple[AnyArray, Array]:
        """Return β, (P, places, widths, K), and pivots, which the next call overwrites."""
        pivot = np.zeros((len(self.penalties), 2))  # of the columns up to the rows, and of all
        later: list[int] = []
        # Without the columns that only the dual form has
        n, mine, self.work.factored = self.design.n_columns, self.work.products, np.nan
        mine[: self.P, : self.P] = products[: self.P, : self.P]
        mine[self.P : self.P + self.K, : self.P] = products[n : n + self.K, : self.P]
        for i in places.tolist():
            pivots = self.work.factor(float(self.penalties[i]))
            pivot[i] = least = pivots.min()
            if self.tall < self.P:
                pivot[i, 0] = pivots[: self.tall].min()
            if not least >= SINGULAR_PIVOT:
                self.beta[:, i], pivot[i] = 0.0, 0.0
                continue
            z = self.work.forward()
            z = np.tile(z, (1, self.n_widths)) if self.K > 1 else z
            np.multiply(self.inside, z, out=self.block)
            for call in self.back:
                call()
            self.beta[:, i] = self.block
            if least < self.refine_below:
                later.append(i)
                if not self.is_long:
                    self._refine([later.pop()], w)
        if later:
            self._refine(later, w)
        beta = self.beta.reshape((self.P, len(self.penalties), self.n_widths, self.K))
        if self.place is not None:
            beta = beta[:, :, self.place]
        if len(places) < len(self.penalties):
            beta = beta[:, places]
        return beta, pivot[places][:, self.kind]

    def _refine(self, places: list[int], w: Array) -> None:
        """Correct β of some penalties by the gradient MᵀW(T - Mβ) - λβ, in one pass over rows."""
        P, m, n = self.P, len(self.columns), len(places)
        # NumPy takes twice as long for a product with rows where β is in LAPACK's order.
        beta = np.ascontiguousarray(self.beta[:, places].reshape(P, -1))
        gradient = beta * -np.repeat(self.penalties[places], m)
        for rows, M in self.design:
            M, T = M[:, :P], self.T[rows]
            residual = M @ beta
            np.subtract(
                T if self.K == 1 else np.tile(T, (1, self.n_widths * n)), residual, residual
            )
            residual *= w[rows, None]
            gradient += M.conj().T @ residual
        for k, i in enumerate(places):
            if self.work.factored != self.penalties[i]:
                self.work.factor(float(self.penalties[i]))
            np.multiply(gradient[:, k * m : (k + 1) * m], self.inside, out=self.block)
            for call in self.forward:
                call()
            self.block *= self.inside
            for call in self.back:
                call()
            self.beta[:, i] += self.block


class _Wide:
    """β = M̃ᵀ(M̃M̃ᵀ + λI)⁻¹T̃ of one width: MMᵀ is made once, and weights only scale it.

    MMᵀ of a wider network is that of a narrower one and the products of the columns it has more.
    """

    def __init__(self, nested: NestedRidge, width: int) -> None:
        self.T, self.penalties, dtype = nested.T, nested.penalties, nested.dtype
        self.M, (A, K) = nested.design.whole()[:, :width], self.T.shape
        if nested.dual is None:  # one place for all widths
            nested.dual = _System(A, K, dtype), aligned((A, K), dtype)
        self.work, self.block = nested.dual  # the block holds α of one penalty
        start, narrower = nested.last if nested.last[0] < width else (0, None)
        self.kernel = aligned((A, A), dtype)  # the lower triangle
        if narrower is not None:
            copy_lower(narrower, self.kernel)()
        add_gram(np.ascontiguousarray(self.M[:, start:].T), self.kernel)()
        nested.last = width, self.kernel
        self.alpha: AnyArray = np.zeros((A, len(self.penalties), K), dtype)
        factor = self.work.system[:A, :A]
        self.forward = solve_lower(factor, self.block, transposed=False)
        self.back = solve_lower(factor, self.block, transposed=True)

    def solve(self, w: Array, places: Labels) -> tuple[AnyArray, Array]:
        """Return β of some penalties, (width, places, K), and their smallest pivots."""
        (A, K), width = self.T.shape, self.M.shape[1]
        root = np.sqrt(w)[:, None]
        targets = self.T * root
        np.multiply(self.kernel, root.T, out=self.work.products[:A, :A])
        self.work.products[:A, :A] *= root
        self.work.products[A : A + K, :A] = targets.T
        smallest = np.zeros(len(self.penalties))
        for i in places.tolist():
            alpha: AnyArray = self.block
            penalty = float(self.penalties[i])
            least = self.work.factor(penalty).min()
            if not least >= SINGULAR_PIVOT:
                self.alpha[:, i] = 0.0
                continue
            smallest[i] = least
            alpha[:] = self.work.forward()
            self.back()
            if least < REFINE_WIDE:
                found = alpha.copy()
                fitted = root * (self.M @ (self.M.conj().T @ (root * found)))
                alpha[:] = targets - fitted - penalty * found
                self.forward()
                self.back()
                alpha += found
            self.alpha[:, i] = alpha
        found = self.M.conj().T @ (root * self.alpha.reshape(A, -1))
        return found.reshape(width, len(self.penalties), K)[:, places], smallest[places]


def graph_ridge(
    M: Array, T: Array, w: Array, term: Array, C: Array, weights: Array
) -> tuple[Array, Array]:
    """Solve (MᵀWM + (I + αS)/C)β = MᵀWT for every C and every graph weight α, by LU.

    The rows of M may be given in any orthonormal basis V of the space they span: distances stay,
    S becomes VᵀSV, and β is V times the solution found there. With fewer balls than columns that
    is the smaller system. ``term`` is S of this M.

    Returns β of shape (graph weights, P, C, K), and the reciprocal condition number of each
    system, (graph weights, C); 0 where it is too ill-conditioned for this route.
    """
    P = M.shape[1]
    G = (M.T * w) @ M
    R = (M.T * w) @ T
    beta = np.zeros((len(weights), P, len(C), T.shape[1]))
    rcond = np.zeros((len(weights), len(C)))
    getrf, getrs, gecon = get_lapack_funcs(("getrf", "getrs", "gecon"), (G,))
    system = np.empty((P, P), order="F")
    for a, weight in enumerate(weights.tolist()):
        penalty = weight * term
        penalty.flat[:: P + 1] += 1.0
        for c, value in enumerate(C.tolist()):
            # For C < 1 the system is multiplied by C: 1/C must not overflow.
            error, size = (value, 1.0) if value < 1.0 else (1.0, 1.0 / value)
            np.multiply(G, error, out=system)
            system += size * penalty
            norm = float(np.abs(system).sum(axis=0).max())
            if not np.isfinite(norm):
                continue
            factor, pivots, info = getrf(system)
            found = gecon(factor, norm)[0] if info == 0 else 0.0
            if not found >= LU_RCOND:
                continue
            solution, _ = getrs(factor, pivots, error * R)
            solution += getrs(factor, pivots, error * R - system @ solution)[0]
            beta[a, :, c] = solution
            rcond[a, c] = found
    left = digits_left(np.abs(R).max(axis=1), np.diagonal(G), w @ np.square(T).sum(axis=1))
    return beta, rcond * left[-1]


def solve_prefixes(
    G: Array, R: Array, penalties: Array, widths: Labels, missed: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """Return (G_k + λI)⁻¹R_k of leading blocks k, zero behind them, for every penalty λ.

    One factor of the largest block serves all. Returned are the solutions, (P, penalties, widths,
    K), and of each block the smallest squared pivot over its diagonal; 0 where unsolved. Where a
    pivot is small, a solution is corrected once: ``missed`` returns R - Gβ of some β, (P, some, K),
    taken from the rows themselves.
    """
    P, K = R.shape
    theta = np.zeros((P, len(penalties), len(widths), K))
    least = np.zeros((len(penalties), len(widths)))
    inside, diagonal = np.arange(P)[:, None] < widths, np.diagonal(G)
    (trtrs,), whole = get_lapack_funcs(("trtrs",), (G,)), aligned((P, P), G.dtype)
    copy, (potrf, report) = copy_lower(np.ascontiguousarray(G).T, whole), factorise(whole)
    of_whole = whole.reshape(-1, order="F")[:: P + 1]  # its diagonal, a view
    for i, penalty in enumerate(penalties.tolist()):
        copy()
        of_whole += penalty
        potrf()
        L, failed = whole, report.value
        pivots = np.square(of_whole) / (diagonal + penalty)
        if failed:
            pivots[failed - 1 :] = 0.0  # blocks before are factored all the same
        smallest = np.minimum.accumulate(pivots)[widths - 1]
        some = np.flatnonzero(smallest > SINGULAR_PIVOT)
        if not len(some):
            continue
        top = int(widths[some].max())
        L = L[:top, :top]
        z, _ = trtrs(L, R[:top], lower=1)
        z = (inside[:top, some, None] * z[:, None, :]).reshape(top, -1)
        found, _ = trtrs(L, z, lower=1, trans=1)
        every = slice(None) if len(some) == len(widths) else some
        theta[:top, i, every] = found.reshape(top, len(some), K)
        least[i, some] = smallest[some]
        weak = some[smallest[some] < REFINE_PIVOT]
        if len(weak):
            own = inside[:top, weak, None]
            step = own * (missed(theta[:, i, weak]) - penalty * theta[:, i, weak])[:top]
            z, _ = trtrs(L, step.reshape(top, -1), lower=1)
            z = (own * z.reshape(step.shape)).reshape(top, -1)
            found, _ = trtrs(L, z, lower=1, trans=1)
            theta[:top, i, weak] += found.reshape(step.shape)
    return theta, least
