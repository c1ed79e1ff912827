"""Leave-one-out errors over a list of penalties: decompose once, sweep the penalties after.

With G = MᵀWM = QΛQᵀ and Z = MQ, a ridge regression with penalty λ has the scores and leverages

    f_i = z_i (Λ + λ)⁻¹ QᵀMᵀWT,      h_i = w_i Σ_k z_ik²/(Λ_k + λ)

and the row i left out would have had the residual (t_i - f_i)/(1 - h_i). Wide systems use M̃M̃ᵀ
instead.

The eigenvalues of G err by about ε times the largest one, more than a system scaled to a unit
diagonal: penalties for which that matters are tried one by one (:func:`keeps_digits`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import matmul
from typing import Any, NamedTuple

import numpy as np

from robell._core.array import (
    EPS,
    Array,
    Mask,
    beside,
    empty_beside,
    namespace,
    row_squares,
    to_host,
)
from robell._core.layers.features import RowBlocks

Product = Callable[[Any, Any], Any]

# The least share of the largest eigenvalue, both with the penalty added, that the smallest one may
# have: left-out scores then err by about ε/1e-9 of their size at most (by 3e-10 on 130 random
# tables, against 50 digits).
LEAST_SHARE = 1e-9
EQUAL_ERRORS = 1e-7  # errors that differ by less than this, relatively, may differ by rounding
SMALLEST_COMPLEMENT = 1e-6  # of a leverage, where scores are kept: below it a row decides its own
MOST_EXACT = 50_000  # rows that are left out under every penalty, rather than the chosen one alone
ROWS_COMPARED = 25_000  # at least, of more rows, where only some are looked at
FAR = 8.0  # times the mean square of the rows of a block
LARGE_LEVERAGE = 0.02  # leverages above it are never estimated
PROJECTIONS = 15  # that leverages are estimated from: 16 columns with one target, which is fast


class Centre(NamedTuple):
    """What is taken off for a free intercept."""

    rows: Any  # μ, (P,)
    targets: Any  # t̄, (K,)
    weight: float  # W


class Spectrum(NamedTuple):
    """The eigenvalues and eigenvectors of G, and the right-hand side in their basis."""

    values: Any  # Λ, (r,)
    Q: Any  # (P, r)
    coordinates: Any  # QᵀMᵀWT, (r, K)
    centre: Centre | None = None  # where the intercept is free


def decompose(G: Any, R: Any) -> Spectrum:
    """Return the spectrum of G, with R as right-hand side."""
    xp = namespace(G)
    values, Q = xp.linalg.eigh(G)
    return Spectrum(xp.clip(values, 0.0, None), Q, Q.conj().T @ R)


def keeps_digits(spectrum: Spectrum, penalties: Array, least_share: float = LEAST_SHARE) -> Mask:
    """Say under which penalties left-out scores from the spectrum have enough digits."""
    values = to_host(spectrum.values)
    smallest, largest = values.min(initial=np.inf), values.max(initial=0.0)
    return np.asarray(smallest + penalties >= least_share * (largest + penalties))


def left_out_residuals(
    design: RowBlocks,
    T: Any,
    w: Any,
    spectrum: Spectrum,
    penalties: Array,
    remembered: Any | None = None,
) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of (t_i - f_i)/(1 - h_i), of shape (n, penalties, K)."""
    xp = namespace(T)
    values, Q, coordinates, centre = spectrum
    middle = None if centre is None else centre.rows @ Q
    inverse = 1.0 / (values[:, None] + beside(penalties, T))  # (r, L)
    solutions = (inverse[:, :, None] * coordinates[:, None, :]).reshape(
        len(values), len(penalties) * T.shape[1]
    )
    smallest = EPS if remembered is None else SMALLEST_COMPLEMENT

    for rows, M in design:
        Z = M @ Q
        if centre is not None:
            Z -= middle
        fitted = (Z @ solutions).real.reshape(len(Z), len(penalties), T.shape[1])
        if centre is not None:
            fitted += centre.targets
        # |z|², in place where Z is real: a fresh block costs as much as the squares.
        squares = abs(Z) ** 2 if Z.dtype == np.complex128 else xp.square(Z, out=Z)
        leverage = squares @ inverse
        if centre is not None:
            leverage += 1.0 / centre.weight
        leverage *= w[rows, None]
        complement = 1.0 - leverage
        if remembered is not None:
            remembered |= (complement < smallest).any(0)
        complement = xp.clip(complement, smallest, None)
        fitted -= T[rows, None, :]  # in place, since there may be many classes
        fitted /= -complement[:, :, None]
        yield rows, fitted


def squared_errors(
    design: RowBlocks,
    T: Any,
    w: Any,
    counted: Any,
    spectrum: Spectrum,
    penalties: Array,
    remembered: Any | None = None,
) -> Array:
    """Return the squared leave-one-out error under each penalty, rows counted so often."""
    errors = np.zeros(len(penalties))
    for rows, residual in left_out_residuals(design, T, w, spectrum, penalties, remembered):
        errors += to_host(counted[rows] @ (residual**2).sum(axis=2))
    return errors


def place_of_smallest(errors: Array, penalties: Array) -> int:
    """Return the place of the smallest finite error; of equal ones, the largest penalty's."""
    errors = np.where(np.isfinite(errors), errors, np.inf)
    is_best = errors <= errors.min() * (1.0 + EQUAL_ERRORS)
    return int(np.where(is_best, penalties, -np.inf).argmax())


# -- with a free intercept -----------------------------------------------------------

# A free intercept, which is not penalised, drops out of the centred problem:
#
#     β, b = argmin  λ|β|² + Σ_i w_i |m_i β + b - t_i|²,      μ = Σ w_i m_i / W,  t̄ = Σ w_i t_i / W
#     G = Σ_i w_i (m_i - μ)ᵀ(m_i - μ),      b = t̄ - μβ,      Z = (M - 1μ)Q
#
# and adds 1/W to the leverages' sums.


class CentredRidge(NamedTuple):
    """The ridge at the penalty with the smallest leave-one-out error."""

    beta: Any  # (P, K)
    intercept: Any  # (K,)
    loo_scores: Any  # (A, K)
    place: int  # of the penalty
    penalty: float


def fit_centred_ridge(
    design: RowBlocks, T: Any, w: Any, penalties: Array, basis: Any | None = None
) -> CentredRidge:
    """Fit at the penalty with the smallest weighted squared leave-one-out error."""
    # With a basis V the columns are those of MV, which is never made, and beta is Vβ; M must be
    # tall then. Of more than ``MOST_EXACT`` rows the penalty is chosen by generalised
    # cross-validation, and small leverages are estimated; their columns may be in single precision.
    xp, spectrum = namespace(T), _eigenbasis(design, T, w, basis)
    if design.n_rows > MOST_EXACT:
        product = partial(_product, in_double=basis is not None)
        errors = _mean_leverage_errors(design, T, w, spectrum, penalties, product)
        place = place_of_smallest(to_host(errors), penalties)
        left_out = _left_out_of_many(design, T, w, spectrum, float(penalties[place]), product)
    else:
        residuals, errors = [], beside(np.zeros(len(penalties)), T)
        remembered = beside(np.zeros(len(penalties), bool), T)
        for rows, residual in left_out_residuals(design, T, w, spectrum, penalties, remembered):
            residuals.append(residual)
            with np.errstate(over="ignore"):  # of a row that decides its own score
                errors += w[rows] @ xp.einsum("ilk,ilk->il", residual, residual)
        errors[remembered] = np.inf  # what is left out of such a row is rounding
        place = place_of_smallest(to_host(errors), penalties)
        left_out = T - xp.concatenate([residual[:, place] for residual in residuals])
    values, Q, coordinates, centre = spectrum
    penalty = float(penalties[place])
    beta = Q @ ((1.0 / (values + penalty))[:, None] * coordinates)
    intercept = centre.targets - centre.rows @ beta
    return CentredRidge(beta, intercept, left_out, place, penalty)


def _product(M: Any, columns: Any, in_double: bool) -> Any:
    """Return M times a few columns, in double precision; computed in that of M if allowed."""
    if in_double or M.dtype != np.float32:
        return M @ columns
    return (M @ columns.astype(np.float32)).astype(np.float64)


def _mean_leverage_errors(
    design: RowBlocks, T: Any, w: Any, spectrum: Any, penalties: Array, product: Product = matmul
) -> Any:
    """Return the error of every penalty by generalised cross-validation (Golub et al., 1979)."""
    # h_i is taken as w_i (1 + Σ_k Λ_k/(Λ_k + λ))/W, the mean leverage at its weight: only what all
    # of them add up to tells penalties apart. With r_i = t_i - f_i, and c the right side in the
    # basis Q,
    #
    #     Σ_i w_i r_i²/(1 - h_i)² = Σ_i w_i r_i² + Σ_i w_i r_i² (1/(1 - h_i)² - 1),
    #     Σ_i w_i r_i² = Σ_i w_i (t_i - t̄)² - Σ_k c_k² (Λ_k + 2λ)/(Λ_k + λ)²,
    #
    # of which the second sum is small: it is taken over the rows with large h_i and every k-th of
    # the others, so that ``ROWS_COMPARED`` of them are left.
    xp, (values, Q, coordinates, centre) = namespace(T), spectrum
    shape, lam = (len(penalties), T.shape[1]), beside(penalties, T)
    inverse = 1.0 / (values[:, None] + lam)  # (r, L)
    explained = (values[:, None] + 2.0 * lam) * inverse**2
    errors = w @ xp.square(T - centre.targets) - explained.T @ coordinates**2  # (L, K)
    solutions = (inverse[:, :, None] * coordinates[:, None, :]).reshape(len(values), -1)
    beta = Q @ solutions
    intercept = centre.targets - (centre.rows @ beta).reshape(shape)
    share = (1.0 + values @ inverse) / centre.weight  # (L,)
    step, largest = max(1, design.n_rows // ROWS_COMPARED), float(xp.amax(share, 0))

    for rows, M in design:
        often = xp.ones_like(w[rows])
        often[w[rows] * largest < LARGE_LEVERAGE] = 0.0
        often[-rows.start % step :: step][often[-rows.start % step :: step] == 0.0] = step
        some = xp.where(often)[0]
        residual = product(M[some], beta).reshape(-1, *shape)
        residual += intercept
        residual -= T[rows][some, None, :]
        weight = w[rows][some, None]
        complement = xp.clip(1.0 - weight * share, SMALLEST_COMPLEMENT, None)
        factor = often[some, None] * weight * (1.0 / xp.square(complement) - 1.0)
        errors += (factor[:, :, None] * xp.square(residual, out=residual)).sum(0)
    return errors.sum(1)


def _left_out_of_many(
    design: RowBlocks, T: Any, w: Any, spectrum: Any, penalty: float, product: Product
) -> Any:
    """Return left-out scores under one penalty, small leverages estimated."""
    # With Z = (M - 1μ)Q(Λ + λ)^(-½) leverages are h_i = w_i (|z_i|² + 1/W), and |z_i|² is the mean
    # of (z_i·s)² over vectors s of random signs, right to within a third of it (one standard
    # deviation), which is enough of small leverages.
    xp, (values, Q, coordinates, centre) = namespace(T), spectrum
    root, K = Q / xp.sqrt(values + penalty), T.shape[1]
    beta = root @ (coordinates / xp.sqrt(values + penalty)[:, None])
    rng = np.random.default_rng(0)
    signs = beside(rng.choice([-1.0, 1.0], (root.shape[1], PROJECTIONS)) / PROJECTIONS**0.5, T)
    # An eigenvector may come with either sign: the one that points along a given vector counts.
    along = beside(rng.normal(size=len(root)), T) @ Q
    columns = xp.hstack([beta, root @ (xp.sign(along)[:, None] * signs)])
    both = xp.hstack([beta, root])
    shift, shift_of_both = centre.rows @ columns, centre.rows @ both
    shift[:K] -= centre.targets
    shift_of_both[:K] -= centre.targets

    scores = empty_beside(T.shape, T)
    for rows, M in design:
        found = product(M, columns)
        found -= shift
        leverage = w[rows] * (row_squares(found[:, K:]) + 1.0 / centre.weight)
        large = xp.where(leverage > LARGE_LEVERAGE)[0]
        if len(large):
            of_large = M[large] @ both - shift_of_both
            found[large, :K] = of_large[:, :K]
            leverage[large] = w[rows][large] * (row_squares(of_large[:, K:]) + 1.0 / centre.weight)
        complement = xp.clip(1.0 - leverage, SMALLEST_COMPLEMENT, None)[:, None]
        scores[rows] = T[rows] - (T[rows] - found[:, :K]) / complement
    return scores


def _single_products(M: Any, root: Any, right: Any) -> tuple[Any, Any]:
    """Return MᵀWM and MᵀW½ times the right side of a block in single precision, arrays."""
    # Summed in double precision, eigenvalues are wrong by about 1e-8 of the largest, less than any
    # penalty. Rows far from all others, whose leverages may be near 1, are multiplied in double.
    A, single = M * root.astype(np.float32), right.astype(np.float32)
    squares = row_squares(A)
    far = np.flatnonzero(squares > FAR * squares.mean())
    if not len(far):
        return A.T @ A, A.T @ single
    A[far] = 0.0
    B = M[far] * root[far]
    return A.T @ A + B.T @ B, A.T @ single + B.T @ right[far]


def _eigenbasis(design: RowBlocks, T: Any, w: Any, basis: Any | None = None) -> Any:
    """Return the spectrum and the means; of wide problems from ÃÃᵀ = UΛUᵀ, with Q = ÃᵀU/√Λ."""
    xp, total = namespace(T), float(w.sum())
    target_mean = w @ T / total
    if basis is None and design.n_rows < design.n_columns:
        M = design.whole()
        centre = Centre(w @ M / total, target_mean, total)
        root = xp.sqrt(w)[:, None]
        A = (M - centre.rows) * root
        values, U = xp.linalg.eigh(A @ A.T)
        kept = values > values[-1] * len(values) * EPS
        values = values[kept]
        Q = A.T @ (U[:, kept] / xp.sqrt(values))
        return Spectrum(values, Q, Q.T @ (A.T @ ((T - target_mean) * root)), centre)
    # A basis that whitens magnifies the rounding of products in single precision beyond all
    # penalties: with it all is in double.
    P = design.n_columns
    G, right = (beside(np.zeros((P, n)), T) for n in (P, 1 + T.shape[1]))
    for rows, M in design:
        root = xp.sqrt(w[rows])[:, None]
        of_rows = xp.hstack([root, (T[rows] - target_mean) * root])
        if basis is None and M.dtype == np.float32:
            product, of_rows = _single_products(M, root, of_rows)
        else:  # apart: products of 200 columns are faster than of 202
            A = M * root
            product, of_rows = A.T @ A, A.T @ of_rows
        G += product
        right += of_rows
    if not (xp.isfinite(G.diagonal()).all() and xp.isfinite(right).all()):  # its largest entries
        raise ValueError("the hidden layer or the inputs overflow")
    centre = Centre(right[:, 0] / total, target_mean, total)
    G -= total * xp.outer(centre.rows, centre.rows)
    if basis is None:
        return decompose(G, right[:, 1:])._replace(centre=centre)
    spectrum = decompose(basis.T @ G @ basis, basis.T @ right[:, 1:])
    return spectrum._replace(Q=basis @ spectrum.Q, centre=centre)
