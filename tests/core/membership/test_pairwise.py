"""Tiled sums and counts against the same written over whole matrices, threads, interruption."""

import signal
import threading
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from robell._core.membership import pairs as pairwise
from robell._core.membership.pairs import (
    ReadyRows,
    Space,
    Workers,
    center,
    certain_tile,
    decide,
    distances_of_pairs,
    kernel_scale,
    kernel_tile,
    neighbour_weights,
    pairs_to_compare,
    plain_sums,
    product_rounding,
    products,
    reach_rows,
    reference_weights,
    same_class_dissimilarity,
    share_out,
    single_precision_serves,
    units_of,
    weigh_columns,
    weigh_rows,
    weights_within,
)


def sums_at_once(X, classes, weight, inv_width2):
    same = classes[:, None] == classes
    return (same * -np.expm1(-inv_width2 * cdist(X, X, "sqeuclidean"))) @ weight


def counts_at_once(X, classes, weight, reach):
    within = cdist(X, X, "sqeuclidean") <= reach
    return within @ weight, (within & (classes[:, None] == classes)) @ weight


def rows_of(rng, sizes, n_features, spread=1.0):
    classes = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(0, spread, (len(classes), n_features)) + 0.5 * classes[:, None]
    return center(X), classes


def threads(n):
    return Workers(n, lambda: threadpool_limits(1, "blas"))


@pytest.fixture
def no_thread_is_left():
    """Other tests' pools may be there before; none of this test's may be there after it."""
    before = set(threading.enumerate())
    yield
    assert not set(threading.enumerate()) - before


@pytest.fixture
def interruptible():
    """Ctrl-C raises KeyboardInterrupt, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


SHAPES = [(1, 3), (5, 1, 40), (700, 90), (300, 1, 1, 200, 450), tuple([7] * 60)]


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_and_counts_are_those_of_whole_matrices(rng, sizes, weighted):
    X, classes = rows_of(rng, sizes, 4)
    weight = rng.integers(1, 5, len(X)).astype(float) if weighted else np.ones(len(X))
    for width in (0.05, 1.0, 30.0, 1e6):
        sums = same_class_dissimilarity(X, classes, weight, 1 / width**2)
        np.testing.assert_allclose(
            sums, sums_at_once(X, classes, weight, 1 / width**2), rtol=1e-9, atol=1e-20
        )
    for reach in (0.0, 1e-9, 0.3, 4.0, 1e3, np.inf):
        found = neighbour_weights(X, classes, weight, reach)
        np.testing.assert_array_equal(found, counts_at_once(X, classes, weight, reach))


@pytest.mark.parametrize("tile", [1, 3, 16])
def test_small_tiles_meet_every_boundary(rng, monkeypatch, tile):
    X, classes = rows_of(rng, (60, 1, 33, 10), 3)
    weight = rng.integers(1, 4, len(X)).astype(float)
    monkeypatch.setattr(pairwise, "TILE", tile)
    sums = same_class_dissimilarity(X, classes, weight, 0.5)
    np.testing.assert_allclose(sums, sums_at_once(X, classes, weight, 0.5), rtol=1e-12)
    for w in (weight, np.ones(len(X))):
        np.testing.assert_array_equal(
            neighbour_weights(X, classes, w, 2.0), counts_at_once(X, classes, w, 2.0)
        )


@pytest.mark.parametrize("n_first", [14, 15, 16, 17, 18])
def test_a_class_may_begin_anywhere_in_a_block(rng, monkeypatch, n_first):
    """Blocks of 16 rows, the second of which begins with the first class's last row, or not."""
    monkeypatch.setattr(pairwise, "TILE", 2)
    X, classes = rows_of(rng, (n_first, 40 - n_first), 3)
    ones = np.ones(40)
    found = neighbour_weights(X, classes, ones, 4.0)
    np.testing.assert_array_equal(found, counts_at_once(X, classes, ones, 4.0))


@pytest.mark.parametrize("width", [3.0, 1e3])
def test_blocks_of_different_sizes_under_a_wide_kernel(rng, monkeypatch, width):
    """Sums of 1 - K lose digits there, unless they are taken tile by tile."""
    monkeypatch.setattr(pairwise, "TILE", 8)
    X, classes = rows_of(rng, (150,), 3, 0.1)
    weight = rng.integers(1, 4, 150).astype(float)
    sums = same_class_dissimilarity(X, classes, weight, 1 / width**2)
    expected = sums_at_once(X, classes, weight, 1 / width**2)
    np.testing.assert_allclose(sums, expected, rtol=1e-9)


def test_results_do_not_depend_on_threads_to_the_bit(rng, monkeypatch):
    X, classes = rows_of(rng, (900, 400), 6)
    weight = rng.uniform(0.1, 3.0, len(X))
    monkeypatch.setattr(pairwise, "TILE", 8)  # 45 units of work
    sums = same_class_dissimilarity(X, classes, weight, 0.2)
    counts = neighbour_weights(X, classes, weight, 3.0)
    for n in (2, 3, 7):
        np.testing.assert_array_equal(
            same_class_dissimilarity(X, classes, weight, 0.2, threads(n)), sums
        )
        np.testing.assert_array_equal(
            neighbour_weights(X, classes, weight, 3.0, threads(n)), counts
        )


# -- single precision that decides nothing alone --------------------------------------


@given(
    X=hnp.arrays(
        np.float32,
        st.tuples(st.integers(2, 40), st.integers(1, 5)),
        elements=st.floats(-8, 8, width=16),
    ),
    offset=st.sampled_from([0.0, 1.0, 1000.0]),
    choice=st.integers(0, 10**6),
)
def test_counts_are_exact_where_distances_tie_with_the_reach(X, offset, choice):
    """Few distinct values: the reach is the distance of some pair, and many pairs have just it."""
    X = X.astype(np.float64) + offset
    D2 = cdist(X, X, "sqeuclidean")
    reach = D2.flat[choice % D2.size]
    classes = np.sort(np.arange(len(X)) % 2)
    # Differences of such numbers are exact, and so are their squares: ties are true ties.
    found = neighbour_weights(X, classes, np.ones(len(X)), reach)
    np.testing.assert_array_equal(found, counts_at_once(X, classes, np.ones(len(X)), reach))


@pytest.mark.parametrize("reach", [0.0, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("values", [2, 40])
def test_doubtful_pairs_of_many_units_are_counted_once(rng, monkeypatch, reach, values):
    """With two values nearly every pair is doubtful, with forty a few are."""
    X = rng.integers(0, values, (200, 4)).astype(float)
    classes = np.sort(rng.integers(0, 3, 200))
    weight = rng.uniform(0.5, 2.0, 200)
    monkeypatch.setattr(pairwise, "TILE", 4)
    monkeypatch.setattr(pairwise, "SMALL", 0)
    ones = np.ones(200)
    np.testing.assert_array_equal(
        neighbour_weights(X, classes, ones, reach), counts_at_once(X, classes, ones, reach)
    )
    np.testing.assert_allclose(
        neighbour_weights(X, classes, weight, reach),
        counts_at_once(X, classes, weight, reach),
        rtol=1e-12,
    )


def kernel_rows(X, inv_width2):
    """Rows made ready for kernel values."""
    return ReadyRows.of(X, kernel_scale(inv_width2, X))


def within_reach(rows, part, reach):
    """Which pairs of some rows are within reach, those too near to tell computed in full."""
    within, doubtful = certain_tile(rows, rows, part, part, Space())
    decide(within, doubtful, rows.X[part], rows.X[part], reach)
    return within


def test_single_and_double_products_decide_alike(rng):
    X = rng.normal(size=(300, 20))
    reach = float(np.median(cdist(X, X, "sqeuclidean")))
    assert single_precision_serves(20, float((X**2).sum(axis=1).max()), reach)
    everything = slice(0, 300)
    single, double = (
        within_reach(rows, everything, reach)
        for rows in (reach_rows(X, reach, True), reach_rows(X, reach, False))
    )
    np.testing.assert_array_equal(single, double)
    np.testing.assert_array_equal(single, cdist(X, X, "sqeuclidean") <= reach)


@pytest.mark.parametrize("n_features", [1, 5, 60])
def test_rounding_of_products_is_within_its_bound(rng, n_features):
    X = rng.normal(size=(200, n_features)) * 10.0 ** rng.uniform(-2, 1, (200, 1))
    rows = reach_rows(X, 2.0, True)
    products = rows.left @ rows.right
    exact = 0.5 * (1.0 - cdist(X, X, "sqeuclidean") / 2.0)
    norms = 2.0 * rows.norms.max()
    bound = product_rounding(
        n_features, float(np.finfo(np.float32).eps), norms, 2.0 * rows.constant
    )
    assert np.abs(products - exact).max() <= bound


def test_single_precision_is_refused_where_it_says_little():
    assert not single_precision_serves(20, 1.0, 0.0)
    assert not single_precision_serves(20, 1e12, 1.0)
    assert not single_precision_serves(20, 1e300, 1e-300)
    assert single_precision_serves(20, 60.0, 15.0)


def test_one_outlier_does_not_spoil_the_others(rng):
    X, classes = rows_of(rng, (400, 100), 5)
    X[17] = 1e8
    found = neighbour_weights(X, classes, np.ones(500), 4.0)
    np.testing.assert_array_equal(found, counts_at_once(X, classes, np.ones(500), 4.0))
    sums = same_class_dissimilarity(X, classes, np.ones(500), 0.3)
    np.testing.assert_allclose(sums, sums_at_once(X, classes, np.ones(500), 0.3), rtol=1e-9)


# -- parts of a tile --------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 1), (240, 480), (251, 33), (700, 1920)])
@pytest.mark.parametrize("small_kernels", [True, False])
def test_products_in_stacks_are_those_of_whole_matrices(
    rng, monkeypatch, small_kernels, dtype, n_rows, n_columns
):
    monkeypatch.setattr(pairwise, "has_small_kernels", lambda: small_kernels)
    pairwise._rows_of_small_product.cache_clear()
    left = rng.normal(size=(n_rows, 6)).astype(dtype)
    right = rng.normal(size=(6, n_columns)).astype(dtype)
    found = products(left, right, Space())
    pairwise._rows_of_small_product.cache_clear()
    np.testing.assert_allclose(found, left @ right, atol=1e-5 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("shape", [(1, 1), (7, 2040), (240, 480), (960, 1920), (300, 2048)])
def test_weights_of_rows_and_columns_of_a_mask(rng, shape, share):
    within = rng.random(shape) < share
    np.testing.assert_array_equal(weigh_rows(within, None), within.sum(axis=1))
    np.testing.assert_array_equal(weigh_columns(within, None), within.sum(axis=0))
    np.testing.assert_array_equal(weigh_columns(within[:, 1:], None), within[:, 1:].sum(axis=0))
    rows, columns = (rng.integers(1, 5, n).astype(float) for n in shape)
    np.testing.assert_array_equal(weigh_rows(within, columns), within @ columns)
    np.testing.assert_array_equal(weigh_columns(within, rows), rows @ within)


# -- kernels at their limits ------------------------------------------------------------


@pytest.mark.parametrize("width", [1e-150, 1e-8, 1e-3, 1.0, 1e4, 1e8, 1e140])
def test_sums_keep_their_digits_for_any_width(rng, width):
    X, classes = rows_of(rng, (130, 40), 3)
    X[5:9] = X[4]  # equal rows, far and near ones
    X[20:25] = X[19] + 1e-9 * rng.normal(size=(5, 3))
    inv_width2 = 1 / width**2
    with np.errstate(over="ignore"):
        expected = sums_at_once(X, classes, np.ones(170), inv_width2)
    found = same_class_dissimilarity(X, classes, np.ones(170), inv_width2)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_exponents_of_huge_data_are_numbers():
    X = np.array([[1e140, 0.0], [-1e140, 0.0], [1e140, 0.0]])
    assert np.isfinite(kernel_rows(X, 1e300).norms).all()
    sums = same_class_dissimilarity(X, np.zeros(3, int), np.ones(3), 1e300)
    np.testing.assert_array_equal(sums, [1.0, 2.0, 1.0])


@given(shift=st.sampled_from([0.0, 0.1, 0.2, 5.0]), width=st.sampled_from([0.5, 2.0, 50.0]))
def test_both_forms_of_a_tile_say_the_same(shift, width):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(20, 4)), rng.normal(size=(30, 4)) + shift
    a, b = (kernel_rows(Z, 1 / width**2) for Z in (X, Y))
    tile, one = kernel_tile(a, b, slice(0, 20), slice(0, 30))
    expected = -np.expm1(-cdist(X, Y, "sqeuclidean") / width**2)
    np.testing.assert_allclose(one - tile, expected, rtol=1e-12)


def test_near_copies_under_a_wide_kernel_keep_their_digits(rng):
    """Their exponents are less than the rounding of a product of the two rows."""
    X = rng.normal(size=(20, 4))
    Y = X + 1e-7 * rng.normal(size=X.shape)
    a, b = (kernel_rows(Z, 1 / 50**2) for Z in (X, Y))
    tile, one = kernel_tile(a, b, slice(0, 20), slice(0, 20))
    expected = -np.expm1(-cdist(X, Y, "sqeuclidean") / 50**2)
    np.testing.assert_allclose(one - tile, expected, rtol=1e-9)


@pytest.mark.parametrize("apart", [1e4, 1e6])
def test_a_tile_of_rows_far_from_zero_keeps_its_digits(rng, apart):
    """Two clouds: exponents of pairs in one of them are small beside the squares of its rows."""
    X = rng.normal(size=(40, 3)) + apart * np.repeat([1.0, -1.0], 20)[:, None]
    rows = kernel_rows(X, 0.5)
    tile, one = kernel_tile(rows, rows, slice(0, 40), slice(0, 40))
    expected = np.exp(-0.5 * cdist(X, X, "sqeuclidean"))
    np.testing.assert_allclose(tile + 1.0 - one, expected, atol=1e-11)


def test_plain_sums_are_exact_or_refused(rng, monkeypatch):
    monkeypatch.setattr(pairwise, "TILE", 16)
    X, Y = rng.normal(size=(50, 4)), rng.normal(size=(70, 4))
    weights = rng.uniform(0.5, 2.0, 50), rng.uniform(0.5, 2.0, 70)

    def sums(X, Y, width):
        a, b = (kernel_rows(Z, 1 / width**2) for Z in (X, Y))
        return plain_sums(a, b, weights, Space())

    for width in (0.3, 2.0, 8.0):
        D = -np.expm1(-cdist(X, Y, "sqeuclidean") / width**2)
        row_sums, column_sums = sums(X, Y, width)
        np.testing.assert_allclose(row_sums, D @ weights[1], rtol=1e-12)
        np.testing.assert_allclose(column_sums, weights[0] @ D, rtol=1e-12)
    lengths = [np.sqrt((Z**2).sum(axis=1).max()) for Z in (X, Y)]
    nearly_infinite = max(lengths) / np.sqrt(
        0.5 * pairwise.LARGEST_NORM / np.log2(np.e)
    )  # 2^(2g xy)
    D = -np.expm1(-cdist(X, Y, "sqeuclidean") / (1.01 * nearly_infinite) ** 2)
    found = sums(X, Y, 1.01 * nearly_infinite)
    np.testing.assert_allclose(found[0], D @ weights[1], rtol=1e-12)
    assert sums(X, Y, 0.99 * nearly_infinite) is None
    assert sums(X, Y, 100.0) is None  # every K near 1
    assert sums(X + 1e4, Y + 1e4, 1.0) is None  # exponents that rounding spoils
    Y[:] = X[45]
    assert sums(X, Y, 2.0) is None  # one row near all columns


def test_distances_of_chosen_pairs(rng):
    X, Y = rng.normal(size=(40, 3)), rng.normal(size=(70, 3))
    for share in (0.0, 0.01, 0.9):
        chosen = rng.random((40, 70)) < share
        i, j, D2 = distances_of_pairs(X, Y, chosen)
        np.testing.assert_array_equal(np.array(np.nonzero(chosen)), [i, j])
        np.testing.assert_allclose(D2, cdist(X, Y, "sqeuclidean")[chosen], rtol=1e-12)


# -- references ---------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_reference_weights_hold_the_exact_ones_between_them(rng, weighted, offset):
    X, references = rng.normal(size=(500, 5)), rng.normal(size=(1300, 5))
    X[0] += offset
    weight = rng.integers(1, 4, 1300).astype(float) if weighted else None
    D2 = cdist(X, references, "sqeuclidean")
    values = np.ones(1300) if weight is None else weight
    for reaches in ((3.0, 3.0, 3.0), (2.5, 3.0, 4.0), (0.0, 1e-6, 5.0), (2.0, 5.0, np.inf)):
        low, middle, high = reference_weights(X, references, weight, reaches)
        exact = [(reach >= D2) @ values for reach in reaches]
        assert (low <= exact[0]).all()
        assert (high >= exact[2]).all()
        assert (np.diff([low, middle, high], axis=0) >= 0).all()
        # Away from ties, rounding changes nothing.
        assert np.mean(middle == exact[1]) > 0.98
        assert np.mean(high == exact[2]) > 0.98
    everything = reference_weights(X, references, weight, (np.inf, np.inf, np.inf))
    np.testing.assert_array_equal(everything, values.sum())
    for reach in (0.0, 3.0, np.inf):
        found = weights_within(X, references, weight, reach)
        np.testing.assert_array_equal(found, (reach >= D2) @ values)
    np.testing.assert_array_equal(weights_within(X, references[:0], None, 1.0), 0.0)


@pytest.mark.parametrize("weight", [None, np.array([1.0, 4.0, 2.0])])
def test_without_a_reach_all_references_count(weight):
    found = reference_weights(np.zeros((5, 2)), np.ones((3, 2)), weight, (np.inf,) * 3)
    np.testing.assert_array_equal(found, np.full((3, 5), 3.0 if weight is None else 7.0))


def test_references_a_little_nearer_than_the_reach_are_told_from_those_beyond():
    """Norms a thousand times the reach: by a share of 1e-4, which single precision cannot."""
    off = np.sqrt(0.1 * (1.0 + np.array([-1e-4, 1e-4, -1e-4])))
    found = reference_weights(np.array([[10.0]]), 10.0 + off[:, None], None, (0.1,) * 3)
    np.testing.assert_array_equal(found, 2.0)


# -- work shared out ----------------------------------------------------------------------


def test_units_cover_every_pair_once():
    n_rows = 5000
    seen = np.zeros((n_rows, n_rows), np.int8)
    for rows, columns in units_of(0, n_rows):
        seen[rows, columns] += 1
        if rows != columns:
            seen[columns, rows] += 1
    assert (seen == 1).all()


def test_progress_counts_every_pair(rng, monkeypatch):
    monkeypatch.setattr(pairwise, "TILE", 4)
    X, classes = rows_of(rng, (300, 77, 3), 2)
    for n in (1, 2):
        told = []
        workers = Workers(n, advance=told.append)
        same_class_dissimilarity(X, classes, np.ones(380), 1.0, workers)
        neighbour_weights(X, classes, np.ones(380), 1.0, workers)
        assert sum(told) == pairs_to_compare(np.bincount(classes))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_failing_unit_stops_the_others_and_is_raised(n_threads, no_thread_is_left):
    done = []

    def compute(rows, columns, stop):
        if rows.start:
            raise MemoryError("no tile left")
        done.append(rows)
        return 0

    with pytest.raises(MemoryError, match="no tile left"):
        list(share_out(units_of(0, 40_000), compute, Workers(n_threads)))
    assert len(done) < len(units_of(0, 40_000))


def test_ctrl_c_stops_all_threads_within_a_second(rng, interruptible, no_thread_is_left):
    X, classes = rows_of(rng, (60_000, 20_000), 10)  # many seconds of work
    killer = threading.Timer(0.4, signal.raise_signal, [signal.SIGINT])
    killer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        same_class_dissimilarity(X, classes, np.ones(80_000), 0.1, threads(2))
    assert time.monotonic() - start < 20.0  # generous: the machine may be busy


def test_memory_is_a_few_tiles_whatever_the_rows(rng):
    peaks = []
    for n in (2500, 5000):
        X, classes = rows_of(rng, (n, n // 4), 4)
        tracemalloc.start()
        sums = same_class_dissimilarity(X, classes, np.ones(len(X)), 0.3)
        counts = neighbour_weights(X, classes, np.ones(len(X)), 2.0)
        peaks.append(tracemalloc.get_traced_memory()[1] - sums.nbytes - counts[0].nbytes * 2)
        tracemalloc.stop()
    assert peaks[1] < 16e6
    assert peaks[1] < 1.5 * peaks[0]
