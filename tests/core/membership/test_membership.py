import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from oracles import pw_gbell_loops
from scipy.spatial.distance import cdist

from robell import pw_gbell_membership
from robell._core.membership import pairs as pairwise
from robell._core.membership.equations import (
    class_cost,
    generalized_bell,
    kernel_statistics,
    pw_gbell,
    reach_squared,
    scale_kernel_width,
)


def compute(X, y, kernel_width=1.0, rho=1.0, weight=None):
    classes, labels = np.unique(y, return_inverse=True)
    weight = np.ones(len(X)) if weight is None else weight
    statistics = kernel_statistics(X, labels, len(classes), kernel_width, weight)
    return pw_gbell(statistics, labels, rho)


def two_classes(rng, n_major, n_minor, n_features, shift=1.0):
    X = np.vstack(
        [rng.normal(size=(n_major, n_features)), rng.normal(shift, 1, (n_minor, n_features))]
    )
    y = np.repeat([0, 1], [n_major, n_minor])
    order = rng.permutation(len(y))
    return X[order], y[order]


# -- against the literal transcription -----------------------------------------------


@pytest.mark.parametrize("kernel_width", [2.0**k for k in range(-5, 6)])
@pytest.mark.parametrize("rho", [0.5, 0.625, 0.75, 0.875, 1.0])
def test_equals_the_printed_equations_over_the_papers_grid(rng, kernel_width, rho):
    X, y = two_classes(rng, 40, 11, 3)
    r, p, membership, _, _ = pw_gbell_loops(X, y, kernel_width, rho)
    found = compute(X, y, kernel_width, rho)
    np.testing.assert_allclose(found.radius, r, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.class_probability, p)
    np.testing.assert_allclose(found.membership, membership, rtol=1e-9)


def test_tiles_do_not_change_the_answer(rng, monkeypatch):
    X, y = two_classes(rng, 150, 23, 4)
    whole = compute(X, y, 1.5)
    for tile in (1, 7, 64):
        monkeypatch.setattr(pairwise, "TILE", tile)
        tiled = compute(X, y, 1.5)
        np.testing.assert_array_equal(tiled.class_probability, whole.class_probability)
        np.testing.assert_allclose(tiled.membership, whole.membership, rtol=1e-12)


def test_threads_do_not_change_the_answer(rng, monkeypatch):
    X, y = two_classes(rng, 900, 140, 4)
    monkeypatch.setattr(pairwise, "TILE", 8)
    whole = kernel_statistics(X, y, 2, 1.5, np.ones(len(X)))
    for n_threads in (2, 5):
        workers = pairwise.Workers(n_threads)
        found = kernel_statistics(X, y, 2, 1.5, np.ones(len(X)), workers)
        np.testing.assert_array_equal(found.radius, whole.radius)
        np.testing.assert_array_equal(found.class_probability, whole.class_probability)


def test_exact_memberships_claim_no_error(rng):
    X, y = two_classes(rng, 40, 11, 3)
    assert compute(X, y).error is None
    membership, error = pw_gbell_membership(X, y, return_error=True)
    np.testing.assert_array_equal(membership, compute(X, y).membership)
    np.testing.assert_array_equal(error, 0.0)


def test_exact_memberships_leave_the_random_state_alone(rng):
    X, y = two_classes(rng, 40, 11, 3)
    used, unused = np.random.RandomState(3), np.random.RandomState(3)
    pw_gbell_membership(X, y, random_state=used)
    assert used.randint(10**6) == unused.randint(10**6)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_reaches_its_total(rng, monkeypatch, n_jobs):
    import robell.models.robell as module

    seen = []

    class Recorded(module.Progress):
        def __exit__(self, *_):
            seen.append((self.done, self.total))

    monkeypatch.setattr(module, "Progress", Recorded)
    X, y = two_classes(rng, 3000, 500, 2)
    pw_gbell_membership(X, y, n_jobs=n_jobs)
    assert seen == [(seen[0][1], seen[0][1])]
    # every pair of rows once, and every pair of a class once more
    assert seen[0][1] == sum(n * (n + 1) // 2 for n in (3000, 500, 3500))


def test_no_array_of_all_pairs_is_made(rng):
    import tracemalloc

    X, y = two_classes(rng, 3000, 500, 4)
    tracemalloc.start()
    compute(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(X) ** 2 * 8 / 4  # a quarter of one matrix of pairs


# -- invariants (MODELS.md, section 10) ----------------------------------------------

matrices = hnp.arrays(
    np.float64,
    st.tuples(st.integers(4, 25), st.integers(1, 4)),
    elements=st.floats(-50, 50, width=16),  # few values: duplicates and constant columns happen
)


@given(
    X=matrices,
    data=st.data(),
    kernel_width=st.sampled_from([2.0**k for k in (-5, -2, 0, 2, 5)]),
    rho=st.sampled_from([0.5, 0.75, 1.0]),
)
def test_memberships_lie_in_the_half_open_interval_and_minority_is_one(X, data, kernel_width, rho):
    n_minor = data.draw(st.integers(1, len(X) // 2))
    y = np.repeat([1, 0], [n_minor, len(X) - n_minor])
    found = compute(X, y, kernel_width, rho)
    minority = 0 if 2 * n_minor == len(X) else 1  # equal sizes: the larger label is the majority
    assert (found.membership[y == minority] == 1).all()
    assert (found.membership > 0).all()
    assert (found.membership <= 1).all()
    assert (found.class_probability > 0).all()
    assert (found.class_probability <= 1).all()
    assert (found.radius >= 0).all()
    assert (found.radius < np.sqrt(2)).all()
    # The bell never removes a sample: 0.27 is its floor over the paper's grid (erratum E12).
    bell = found.membership[y != minority] / found.class_probability[y != minority]
    assert (bell > 0.269).all()


@given(X=matrices, seed=st.integers(0, 100))
def test_permuting_rows_permutes_memberships(X, seed):
    y = (np.arange(len(X)) % 3 == 0).astype(int)
    order = np.random.default_rng(seed).permutation(len(X))
    found, permuted = compute(X, y, 4.0), compute(X[order], y[order], 4.0)
    np.testing.assert_allclose(permuted.radius, found.radius[order], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(permuted.membership, found.membership[order], rtol=1e-6, atol=1e-7)


def test_translation_and_rotation_change_nothing(rng):
    X, y = two_classes(rng, 60, 15, 4)
    rotation = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    found = compute(X, y, 2.0)
    for moved in (X + 1000.0, X @ rotation, X @ rotation - 7.0):
        np.testing.assert_allclose(compute(moved, y, 2.0).membership, found.membership, rtol=1e-8)


def test_scaling_data_and_width_together_changes_nothing(rng):
    X, y = two_classes(rng, 60, 15, 4)
    for factor in (1e-6, 1e6):
        np.testing.assert_allclose(
            compute(factor * X, y, factor * 2.0).membership,
            compute(X, y, 2.0).membership,
            rtol=1e-9,
        )


def test_the_farthest_majority_row_has_half_for_rho_one(rng):
    X, y = two_classes(rng, 50, 10, 3)
    found = compute(X, y, 1.5, rho=1.0)
    majority = np.flatnonzero(y == 0)
    rim = majority[found.radius[majority].argmax()]
    assert found.membership[rim] / found.class_probability[rim] == pytest.approx(0.5, rel=1e-12)


def test_narrow_kernel_limit_is_a_constant_majority_weight(rng):
    X, y = two_classes(rng, 50, 10, 3)
    for width in (1e-3, 1e-100, 1e-300):
        found = compute(X, y, width)
        np.testing.assert_allclose(found.class_probability, 1.0, rtol=1e-9)
        np.testing.assert_allclose(found.membership[y == 0], 0.5, rtol=1e-9)


def test_wide_kernel_limit_is_the_input_space_version(rng):
    """ξ → ∞: r = √2|x - m|/ξ, neighbours within the largest distance to a class mean, g → ½."""
    X, y = two_classes(rng, 50, 10, 3)
    to_mean = np.empty(len(X))
    for c in (0, 1):
        to_mean[y == c] = np.linalg.norm(X[y == c] - X[y == c].mean(axis=0), axis=1)
    within = cdist(X, X) <= to_mean.max()
    p = (within & (y[:, None] == y)).sum(axis=1) / within.sum(axis=1)
    for width in (1e5, 1e8, 1e100):
        found = compute(X, y, width)
        np.testing.assert_allclose(found.radius * width, np.sqrt(2) * to_mean, rtol=1e-6)
        np.testing.assert_allclose(found.class_probability, p, rtol=1e-9)
        np.testing.assert_allclose(found.membership[y == 0], 0.5 * p[y == 0], rtol=1e-3)


def test_an_isolated_majority_outlier_keeps_its_probability():
    """Its only neighbour is itself (erratum E9): it is damped by the bell alone."""
    X = np.array([[0.0], [0.1], [0.2], [100.0], [0.1], [0.3]])
    y = np.array([0, 0, 0, 0, 1, 1])
    found = compute(X, y, 1.0)
    assert found.class_probability[3] == pytest.approx(1.0)
    assert found.membership[3] == pytest.approx(0.5)
    assert found.membership[3] > found.membership[0] * found.class_probability[0] / 2


# -- degenerate data -----------------------------------------------------------------


def test_duplicated_rows_have_radius_zero_and_bell_one():
    X = np.array([[1.0, 2.0]] * 4 + [[5.0, 5.0]] * 2) * 1e3 / 3
    y = np.array([0, 0, 0, 0, 1, 1])
    found = compute(X, y)
    np.testing.assert_array_equal(found.radius, 0.0)
    np.testing.assert_allclose(found.membership, 1.0)


def test_all_rows_equal_gives_the_class_shares():
    found = compute(np.ones((6, 2)) / 3, np.array([0, 0, 0, 0, 1, 1]))
    np.testing.assert_allclose(found.membership, [4 / 6] * 4 + [1] * 2)


def test_a_class_with_one_row():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    found = compute(X, np.array([0, 0, 0, 1]))
    assert found.radius[3] == 0.0
    assert found.membership[3] == 1.0


def test_equal_class_sizes_make_the_larger_label_the_majority(rng):
    X, _ = two_classes(rng, 10, 10, 2)
    y = np.repeat(["a", "b"], 10)
    membership = pw_gbell_membership(X, y)
    assert (membership[y == "a"] == 1).all()
    assert (membership[y == "b"] < 1).all()


def test_equal_rows_have_distance_zero_exactly(rng):
    X = rng.normal(1e4, 1.0, (200, 7))
    X[50:100] = X[:50]
    D2 = pairwise.squared_distances(X, X)
    assert (np.diag(D2) == 0).all()
    assert (D2[np.arange(50), np.arange(50) + 50] == 0).all()
    np.testing.assert_allclose(D2, cdist(X, X, "sqeuclidean"), rtol=1e-5, atol=1e-6)
    centred = pairwise.squared_distances(pairwise.center(X), pairwise.center(X))
    np.testing.assert_allclose(centred, cdist(X, X, "sqeuclidean"), rtol=1e-10, atol=1e-10)


def test_values_too_large_to_square_are_refused(rng):
    X, y = two_classes(rng, 10, 5, 2)
    with pytest.raises(ValueError, match="X is too large"):
        pw_gbell_membership(X * 1e200, y)
    with pytest.raises(ValueError, match="X is too large"):
        pw_gbell_membership(X * 1e200, y, kernel_width="scale")


# -- multiplicity --------------------------------------------------------------------


@given(
    X=matrices,
    data=st.data(),
    kernel_width=st.sampled_from([0.5, 2.0, 16.0]),
    n_classes=st.integers(2, 3),
)
def test_weights_are_multiplicities(X, data, kernel_width, n_classes):
    y = np.arange(len(X)) % n_classes
    weight = data.draw(
        hnp.arrays(np.int64, len(X), elements=st.integers(0, 3)).filter(
            lambda w: len(np.unique(y[w > 0])) == n_classes
        )
    )
    present = weight > 0
    weighted = compute(X[present], y[present], kernel_width, weight=weight[present].astype(float))
    repeated = compute(np.repeat(X, weight, axis=0), np.repeat(y, weight), kernel_width)
    first = (np.cumsum(weight) - weight)[present]
    for name in ("membership", "class_probability", "radius"):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name)[first], rtol=1e-6, atol=1e-7
        )
    as_function = pw_gbell_membership(X, y, kernel_width, sample_weight=weight)
    np.testing.assert_array_equal(as_function[present], weighted.membership)
    assert (as_function[~present] == 0).all()


# -- more than two classes (erratum E17) ---------------------------------------------


def test_multiclass_formula(rng):
    X = rng.normal(size=(60, 2))
    y = np.repeat([0, 1, 2], [30, 20, 10])
    width = 1.3
    found = compute(X, y, width, 0.75)
    K = np.exp(-cdist(X, X, "sqeuclidean") / width**2)
    r, r_max = np.empty(60), np.empty(3)
    for c in range(3):
        block = K[np.ix_(y == c, y == c)]
        r[y == c] = np.sqrt(1 - 2 * block.mean(axis=1) + block.mean())
        r_max[c] = r[y == c].max()
    within = np.sqrt(np.maximum(2 - 2 * K, 0)) <= r_max.max()
    p = (within & (y[:, None] == y)).sum(axis=1) / within.sum(axis=1)
    width_of = 0.75 * r_max[y]
    expected = np.where(y == 2, 1.0, p / (1 + (r / width_of) ** (2 * width_of)))
    np.testing.assert_allclose(found.membership, expected, rtol=1e-9)


# -- single pieces -------------------------------------------------------------------


def test_bell_is_the_fuzzy_toolboxes_gbell():
    """f(x; a, b, c) = 1/(1 + |(x - c)/a|^2b), a = b = ρ r_max, c = 0."""
    r = np.linspace(0, 1.2, 50)
    a = 0.75 * 1.2
    np.testing.assert_allclose(
        generalized_bell(r, np.full(50, 1.2), 0.75), 1 / (1 + np.abs(r / a) ** (2 * a))
    )
    assert generalized_bell(np.array([0.0]), np.array([0.0]), 1.0) == 1.0


@given(alpha=st.floats(0, 1.41), width=st.floats(0.01, 100), d2=st.floats(0, 1e4))
def test_kernel_neighbourhood_is_a_euclidean_ball(alpha, width, d2):
    distance = np.sqrt(2 * -np.expm1(-d2 / width**2))
    if abs(distance - alpha) > 1e-9:
        assert (distance <= alpha) == (d2 <= reach_squared(alpha, width))


def test_reach_is_unbounded_from_the_largest_kernel_distance_on():
    assert reach_squared(np.sqrt(2), 1.0) == np.inf
    assert reach_squared(0.0, 1.0) == 0.0


def test_class_cost_is_the_ratio_to_the_smallest():
    np.testing.assert_allclose(class_cost(np.array([90.0, 10.0])), [1 / 9, 1.0])


def test_scale_width_is_root_features_on_standardised_data(rng):
    X = rng.normal(3, 5, (100, 9))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert scale_kernel_width(X, np.ones(100)) == pytest.approx(3.0)
    weight = rng.integers(1, 4, 100).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    assert scale_kernel_width(X, weight) == pytest.approx(np.sqrt(9 * repeated.var()))
    assert scale_kernel_width(np.ones((5, 3)), np.ones(5)) == 1.0


def test_foreign_shares_are_the_neighbours_of_other_classes_by_weight(rng):
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
    weight = rng.integers(1, 4, 30).astype(float)
    found = kernel_statistics(X, y, 3, 1.5, weight)
    alpha = found.r_max.max()
    for i in range(30):
        squares = np.square(X - X[i]).sum(axis=1)
        near = np.sqrt(2 * -np.expm1(-squares / 1.5**2)) <= alpha
        share = weight[near & (y != y[i])].sum() / weight[near].sum()
        assert found.foreign_share[i] == pytest.approx(share, abs=1e-12)
    assert 0.0 < found.foreign_share.max() < 1.0


@pytest.mark.parametrize(
    ("X", "y"),
    [([[0.0], [1.0]], [0, 0]), ([[np.nan], [1.0]], [0, 1]), ([[0.0], [1.0]], None)],
    ids=["one class", "not a number", "no labels"],
)
def test_errors_name_the_function_that_was_called(X, y):
    with pytest.raises(ValueError, match="pw_gbell_membership") as caught:
        pw_gbell_membership(X, y)
    assert "RoBell" not in str(caught.value)
