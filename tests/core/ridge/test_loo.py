"""Leave-one-out over a list of penalties: against refits without the row, one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robell._core.layers import features
from robell._core.layers.features import RowBlocks, rows_per_block
from robell._core.ridge import loo
from robell._core.ridge.loo import fit_centred_ridge, place_of_smallest
from robell._core.ridge.solve import System, WithConstant, choose_C, left_out_errors
from robell._core.ridge.solve import solve_ridge as solve_penalised
from robell._core.ridge.twins import find_twins

PENALTIES = 10.0 ** np.arange(-2, 3)


def solve_ridge(M, T, w, penalty):
    """Return [b; β] of the ridge on [1 M], the constant not penalised."""
    design = np.hstack([np.ones((len(M), 1)), M])
    penalties = np.diag(np.r_[0.0, np.full(M.shape[1], penalty)])
    return np.linalg.solve(design.T * w @ design + penalties, design.T * w @ T)


def literal_path(M, T, w, penalties):
    """Return leave-one-out scores (A, L, K) by a refit for each row and penalty, and errors."""
    scores = np.empty((len(M), len(penalties), T.shape[1]))
    for i in range(len(M)):
        reduced = w.copy()
        reduced[i] = 0.0
        for k, penalty in enumerate(penalties):
            scores[i, k] = np.r_[1.0, M[i]] @ solve_ridge(M, T, reduced, penalty)
    errors = np.einsum("i,ilk->l", w, np.square(T[:, None, :] - scores))
    return scores, errors


def as_blocks(M, **options):
    return RowBlocks(lambda rows: M[rows], *M.shape, **options)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_columns = draw(st.integers(3, 25)), draw(st.integers(1, 25))
    M = rng.normal(size=(n_rows, n_columns)) + draw(st.sampled_from([0.0, 5.0]))
    T = rng.normal(size=(n_rows, draw(st.integers(1, 3))))
    w = rng.uniform(0.3, 3.0, n_rows) if draw(st.booleans()) else np.ones(n_rows)
    return M, T, w


@given(problems())
def test_scores_are_those_of_refits_without_the_row(problem):
    """At every penalty, each being the only one of its path."""
    M, T, w = problem
    scores, _ = literal_path(M, T, w, PENALTIES)
    for k, penalty in enumerate(PENALTIES):
        fit = fit_centred_ridge(as_blocks(M), T, w, PENALTIES[k : k + 1])
        np.testing.assert_allclose(fit.loo_scores, scores[:, k], rtol=1e-8, atol=1e-8)
        solution = solve_ridge(M, T, w, penalty)
        np.testing.assert_allclose(fit.intercept, solution[0], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(fit.beta, solution[1:], rtol=1e-8, atol=1e-8)


@given(problems())
def test_the_penalty_has_the_smallest_of_the_refits_errors(problem):
    M, T, w = problem
    scores, errors = literal_path(M, T, w, PENALTIES)
    fit = fit_centred_ridge(as_blocks(M), T, w, PENALTIES)
    assert errors[fit.place] <= errors.min() * (1 + 1e-9)
    np.testing.assert_allclose(fit.loo_scores, scores[:, fit.place], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        fit.beta, solve_ridge(M, T, w, PENALTIES[fit.place])[1:], rtol=1e-8, atol=1e-8
    )


def test_both_ends_of_the_path_can_be_chosen(rng):
    """Pure noise asks for the largest penalty, a noiseless line for the smallest."""
    M, ones = rng.normal(size=(30, 2)), np.ones(30)
    noise = fit_centred_ridge(as_blocks(M), rng.normal(size=(30, 1)), ones, PENALTIES)
    line = fit_centred_ridge(as_blocks(M), M[:, :1] * 3 + 7, ones, PENALTIES)
    assert (noise.place, line.place) == (len(PENALTIES) - 1, 0)


@pytest.mark.parametrize("shape", [(20, 4), (4, 20)], ids=["tall", "wide"])
@pytest.mark.parametrize("targets", ["constant", "constant columns"])
def test_of_equal_errors_the_larger_penalty_wins(rng, shape, targets):
    """Columns or targets that say nothing give the same scores at every penalty."""
    M = np.zeros(shape) if targets == "constant columns" else rng.normal(size=shape)
    T = np.zeros((shape[0], 1)) if targets == "constant" else rng.normal(size=(shape[0], 1))
    ones = np.ones(shape[0])
    fit = fit_centred_ridge(as_blocks(M), T, ones, PENALTIES)
    assert fit.place == len(PENALTIES) - 1
    np.testing.assert_allclose(fit.beta, 0.0, atol=1e-12)
    others = (T.sum(axis=0) - T) / (shape[0] - 1)  # the mean of the other rows
    np.testing.assert_allclose(fit.loo_scores, others, atol=1e-12)


@given(problems(), st.integers(0, 1000))
def test_a_row_of_weight_w_is_w_rows_left_out_together(problem, seed):
    M, T, _ = problem
    rng = np.random.default_rng(seed)
    copies = rng.integers(1, 4, len(M))
    fit = fit_centred_ridge(as_blocks(M), T, copies.astype(float), PENALTIES)
    order = rng.permutation(copies.sum())
    rows, targets = (values.repeat(copies, axis=0)[order] for values in (M, T))
    twins = find_twins(rows)
    assert (twins is None) == (copies.max() == 1)
    if twins is None:
        return
    weight, merged = twins.merge(np.ones(len(rows)), targets)
    again = fit_centred_ridge(as_blocks(rows[twins.first]), merged, weight, PENALTIES)
    assert fit.place == again.place
    expected = fit.loo_scores.repeat(copies, axis=0)[order]
    np.testing.assert_allclose(again.loo_scores[twins.group], expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(again.beta, fit.beta, rtol=1e-8, atol=1e-8)


def test_a_row_that_decides_its_own_score_stays_finite():
    """As many free columns as rows and hardly a penalty: leverages are one but for rounding."""
    M, T = np.eye(5), np.arange(5.0)[:, None]
    fit = fit_centred_ridge(as_blocks(M), T, np.ones(5), np.array([1e-300]))
    assert np.isfinite(fit.loo_scores).all()
    assert np.isfinite(fit.beta).all()


def test_overflow_is_an_error_not_a_score(rng):
    M = rng.normal(size=(20, 2)) * 1e200
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(ValueError, match="overflow"),
    ):
        fit_centred_ridge(as_blocks(M), np.ones((20, 1)), np.ones(20), PENALTIES)


# -- without an intercept ------------------------------------------------------------


@given(problems(), st.booleans())
def test_the_C_chosen_has_the_smallest_error_of_leaving_rows_out(problem, is_complex):
    """Tall and wide, real and complex: one decomposition says what a solution for each C says."""
    M, T, w = problem
    if is_complex:
        M = M + 1j * M[::-1]
    design = RowBlocks(lambda rows: M[rows], *M.shape, dtype=M.dtype)
    candidates = np.sort(1.0 / PENALTIES)
    errors = [
        w @ np.square(T - solve_penalised(design, T, C, w, True).loo_scores).sum(axis=1)
        for C in candidates
    ]
    found = errors[choose_C(System(design, T, w), candidates)]
    assert found <= min(errors) * (1 + 1e-8)


def test_errors_that_are_no_numbers_are_passed_over():
    assert place_of_smallest(np.array([np.nan, 3.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0, 4.0])) == 3
    assert place_of_smallest(np.array([2.0, 2.0, np.inf]), np.array([4.0, 3.0, 2.0])) == 0
    assert place_of_smallest(np.full(3, np.nan), np.array([1.0, 2.0, 3.0])) == 2


@pytest.mark.parametrize("weight", [None, 1.0, 0.03])
@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("shape", [(25, 4), (8, 20)], ids=["tall", "wide"])
def test_left_out_errors_of_a_free_constant_count_targets_in_their_spreads(
    rng, shape, n_targets, weight
):
    M = rng.normal(size=shape) + 3.0
    T = rng.normal(size=(len(M), n_targets)) * [10.0, 0.1][:n_targets] + 7.0 + M[:, :1]
    w = np.ones(len(M)) if weight is None else weight * rng.uniform(0.3, 3.0, len(M))
    spread = np.sqrt(w @ np.square(T - w @ T / w.sum()) / w.sum())
    _, errors = literal_path(M, T / spread, w, PENALTIES)
    design = as_blocks(np.hstack([np.ones((len(M), 1)), M]))
    system = WithConstant(design, T, None if weight is None else w)
    np.testing.assert_allclose(left_out_errors(system, 1.0 / PENALTIES), errors, rtol=1e-8)


@pytest.mark.parametrize("penalty", [1e-20, 1e-10, 1.0])
def test_rows_on_a_line_are_left_out_as_those_of_one_column(rng, penalty):
    """Of fewer rows than columns, whose other eigenvalues are rounding beside the only one."""
    along, direction = rng.normal(size=6), rng.normal(size=9)
    T, w = rng.normal(size=(6, 2)), rng.uniform(0.5, 2.0, 6)
    column = along[:, None] * np.linalg.norm(direction)
    one = fit_centred_ridge(as_blocks(column), T, w, np.array([penalty]))
    wide = fit_centred_ridge(as_blocks(np.outer(along, direction) + 3.0), T, w, np.array([penalty]))
    np.testing.assert_allclose(wide.loo_scores, one.loo_scores, rtol=1e-9, atol=1e-9)
    unit = direction / np.linalg.norm(direction)
    np.testing.assert_allclose(wide.beta, np.outer(unit, one.beta[0]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [System, WithConstant])
@pytest.mark.parametrize("shape", [(20, 4), (6, 9)], ids=["tall", "wide"])
def test_one_target_without_weights_has_weights_of_one(rng, kind, shape):
    M, T, ones = rng.normal(size=shape), rng.normal(size=(shape[0], 1)), np.ones(shape[0])
    M[:, 0] = 1.0
    plain, weighted = kind(as_blocks(M), T), kind(as_blocks(M), T, ones)
    errors = [left_out_errors(system, 1.0 / PENALTIES) for system in (plain, weighted)]
    np.testing.assert_allclose(*errors, rtol=1e-10)
    solutions = [system.solve(5.0, True) for system in (plain, weighted)]
    np.testing.assert_allclose(*(solution.beta for solution in solutions), rtol=1e-10)
    np.testing.assert_allclose(*(solution.loo_scores for solution in solutions), rtol=1e-10)


def test_digits_are_kept_where_no_eigenvalue_is_lost_beside_the_largest():
    """The smallest is to be a billionth of the largest, both with the penalty, in any unit."""
    for unit in (1e-8, 1.0, 1e8):
        spectrum = loo.Spectrum(unit * np.array([1e-4, 1.0, 1e6]), np.eye(3), np.ones((3, 1)))
        penalties = unit * np.array([0.0, 5e-4, 2e-3, 1.0])
        found = loo.keeps_digits(spectrum, penalties)
        np.testing.assert_array_equal(found, [False, False, True, True])


# -- many rows -----------------------------------------------------------------------


def test_left_out_scores_of_many_rows_are_those_of_few(rng, monkeypatch):
    """Leverages of one column need no estimate; of several, small ones are right to a third."""
    w = rng.uniform(0.5, 2.0, 900)
    for n_columns, tolerance in ((1, 1e-12), (3, 0.01)):
        M = rng.normal(size=(900, n_columns)) + 2.0
        M[:5] *= 30.0  # large leverages, which are computed
        T = M @ rng.normal(size=(n_columns, 2)) + rng.normal(size=(900, 2)) + [5.0, -20.0]
        exact = fit_centred_ridge(as_blocks(M), T, w, PENALTIES[2:3])
        with monkeypatch.context() as patch:
            patch.setattr(loo, "MOST_EXACT", 100)
            found = fit_centred_ridge(as_blocks(M), T, w, PENALTIES[2:3])
        np.testing.assert_allclose(found.beta, exact.beta, rtol=1e-9)
        off = abs(found.loo_scores - exact.loo_scores)
        assert (off <= tolerance * abs(T - exact.loo_scores) + 1e-12).all()


def test_products_in_single_precision_are_those_of_double_precision(rng):
    """Rows far from all others are multiplied in double precision."""
    M, root = rng.normal(size=(300, 4)).astype(np.float32), np.sqrt(rng.uniform(0.5, 2.0, (300, 1)))
    right = rng.normal(size=(300, 2))
    for far in ([], [3, 100]):
        M[far] *= 1e4
        A = M.astype(np.float64) * root
        G, R = loo._single_products(M, root, right)
        np.testing.assert_allclose(G, A.T @ A, rtol=1e-5, atol=1e-6 * abs(A.T @ A).max())
        np.testing.assert_allclose(R, A.T @ right, rtol=1e-5, atol=1e-4 if not far else 1e-2)


# -- blocks --------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("n_targets", [1, 3])
def test_several_blocks_give_what_one_gives(rng, monkeypatch, keep, n_targets):
    M, T = rng.normal(size=(300, 7)), rng.normal(size=(300, n_targets))
    w = rng.uniform(0.5, 2, 300)
    whole = fit_centred_ridge(as_blocks(M), T, w, PENALTIES)
    monkeypatch.setattr(features, "BLOCK_ELEMENTS", 1)
    design = as_blocks(M, keep=keep)
    assert len(list(design)) == 5
    parts = fit_centred_ridge(design, T, w, PENALTIES)
    assert parts.place == whole.place
    for name in ("beta", "intercept", "loo_scores"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-11)


@pytest.mark.parametrize(("keep", "times_made"), [(False, 3), (True, 1)])
def test_blocks_that_are_kept_are_made_once(rng, monkeypatch, keep, times_made):
    monkeypatch.setattr(features, "BLOCK_ELEMENTS", 1)
    M, made = rng.normal(size=(150, 3)), []

    def make_rows(rows):
        made.append(rows.start)
        return M[rows].copy()

    design = RowBlocks(make_rows, *M.shape, keep=keep)
    for _ in range(3):
        np.testing.assert_array_equal(np.vstack([block for _, block in design]), M)
    starts = list(range(0, 150, rows_per_block(3)))
    assert sorted(made) == sorted(starts * times_made)


def test_a_fit_leaves_kept_blocks_as_they_were(rng, monkeypatch):
    """Rounds after the first see the same rows: nothing is worked out in place in them."""
    monkeypatch.setattr(features, "BLOCK_ELEMENTS", 1)
    M, T = rng.normal(size=(200, 5)), rng.normal(size=(200, 1))
    design = RowBlocks(lambda rows: M[rows].copy(), *M.shape, keep=True)
    first, second = (fit_centred_ridge(design, T, np.ones(200), PENALTIES) for _ in range(2))
    np.testing.assert_array_equal(first.loo_scores, second.loo_scores)
    np.testing.assert_array_equal(np.vstack([block for _, block in design]), M)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_the_error_by_mean_leverages_is_that_of_the_hat_matrix(rng, n_targets):
    """Generalised cross-validation literally: residuals over mean complements at their weights."""
    M, w = rng.normal(size=(40, 5)) + 3.0, rng.uniform(0.5, 3.0, 40)
    T, penalties = rng.normal(size=(40, n_targets)), np.array([1e-2, 1.0, 30.0])
    design = as_blocks(M)
    spectrum = loo._eigenbasis(design, T, w)
    errors = loo._mean_leverage_errors(design, T, w, spectrum, penalties)
    ones = np.column_stack([np.ones(40), M])
    for penalty, error in zip(penalties, errors):
        system = (ones.T * w) @ ones + penalty * np.diag([0.0] + [1.0] * 5)
        hat = ones @ np.linalg.solve(system, ones.T * w)
        residual = (T - hat @ T) / (1.0 - w * np.trace(hat) / w.sum())[:, None]
        np.testing.assert_allclose(error, w @ np.square(residual).sum(axis=1), rtol=1e-9)
