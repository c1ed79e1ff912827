"""Approximate memberships: bounds that hold, seeds, weights, and what is said about them."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import beta, binom
from sklearn.model_selection import GridSearchCV

import robell.models.robell as robell_module
from robell import RoBellRVFLClassifier, RVFLGridSearchCV, pw_gbell_membership
from robell._core.membership.approximate import (
    Estimate,
    Sampling,
    _Counting,
    approximable,
    approximate_radii,
    approximate_statistics,
    choose_landmarks,
    dissimilarity,
    draw_rows,
    landmark_basis,
    landmark_sums,
    mean_residual,
    missed_products,
    nearest_point,
    pairs_to_sample,
    proportion_interval,
    radius_intervals,
    squared_distance_to,
    stand,
)
from robell._core.membership.equations import (
    Interval,
    bell_interval,
    generalized_bell,
    kernel_statistics,
    pw_gbell,
)
from robell._core.membership.pairs import ONE_WORKER, Workers

# Small enough for a few hundred rows to be sampled rather than compared in full
SMALL = Sampling(
    exact_rows=60,
    n_landmarks=40,
    n_probes=120,
    n_rims=30,
    n_references=80,
    escalation=4,
    n_in_full=50,
)
# Enough for bounds that say something
MEDIUM = Sampling(60, 80, 2000, 100, n_references=400, escalation=2, n_in_full=100)


def mixture(rng, n_rows, n_features=6, n_minor=None):
    centers = rng.normal(0, 1.5, (5, n_features))
    X = centers[rng.integers(0, 5, n_rows)] + rng.normal(size=(n_rows, n_features))
    y = np.zeros(n_rows, np.intp)
    y[: n_minor or n_rows // 8] = 1
    X[y == 1] += 0.7
    order = rng.permutation(n_rows)
    return X[order] - X.mean(axis=0), y[order]


def exact_radii(X, weight, width):
    K = np.exp(-cdist(X, X, "sqeuclidean") / width**2)
    share = weight / weight.sum()
    return np.sqrt(np.maximum(1 - 2 * K @ share + share @ K @ share, 0))


# -- class means through landmarks ------------------------------------------------------


@pytest.mark.parametrize("width", [0.5, 2.0, 10.0, 1e5])
def test_all_rows_as_landmarks_give_the_exact_radii(rng, width):
    X, _ = mixture(rng, 90)
    weight = rng.integers(1, 4, 90).astype(float)
    mean = nearest_point(landmark_basis(X, width), landmark_sums(X, weight, X, width), weight.sum())
    found = np.sqrt(squared_distance_to(mean, dissimilarity(X, X, width)))
    # By the input space for the widest kernel, whose radii the plain formula cannot resolve
    mean = weight @ X / weight.sum()
    expected = (
        exact_radii(X, weight, width)
        if width < 1e3
        else np.sqrt(2) / width * np.linalg.norm(X - mean, axis=1)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_landmark_sums_are_the_plain_sums_and_add_up(rng):
    X, _ = mixture(rng, 700)
    weight, landmarks = rng.uniform(0.5, 2, 700), X[:33]
    D = -np.expm1(-cdist(X, landmarks, "sqeuclidean") / 1.5**2)
    whole = landmark_sums(X, weight, landmarks, 1.5)
    np.testing.assert_allclose(whole, weight @ D, rtol=1e-12)
    parts = [landmark_sums(X[k::3], weight[k::3], landmarks, 1.5) for k in range(3)]
    np.testing.assert_allclose(np.sum(parts, axis=0), whole, rtol=1e-12)
    np.testing.assert_array_equal(landmark_sums(X[:0], weight[:0], landmarks, 1.5), 0.0)


def test_projection_is_the_nearest_point_of_the_hull(rng):
    """Against least squares: coefficients v with Σv = 1 that bring Σ v_l φ(z_l) nearest to μ."""
    X, _ = mixture(rng, 200, 3)
    Z, width = X[:15], 2.0
    K = np.exp(-cdist(Z, Z, "sqeuclidean") / width**2)
    to_mean = np.exp(-cdist(Z, X, "sqeuclidean") / width**2).mean(axis=1)
    system = np.block([[K, np.ones((15, 1))], [np.ones((1, 15)), np.zeros((1, 1))]])
    v = np.linalg.solve(system, np.append(to_mean, 1.0))[:15]
    k = np.exp(-cdist(X, Z, "sqeuclidean") / width**2)
    expected = np.sqrt(1 - 2 * k @ v + v @ K @ v)
    mean = nearest_point(landmark_basis(Z, width), landmark_sums(X, np.ones(200), Z, width), 200.0)
    assert mean.v.sum() == pytest.approx(1.0, rel=1e-12)
    found = np.sqrt(squared_distance_to(mean, dissimilarity(X, Z, width)))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("width", [0.7, 2.5, 12.0])
def test_what_the_hull_misses_obeys_cauchy_and_schwarz(rng, width):
    X, _ = mixture(rng, 300)
    basis = landmark_basis(X[:25], width)
    sums = landmark_sums(X, np.ones(300), basis.landmarks, width)
    mean = nearest_point(basis, sums, 300.0)
    squared, residual = stand(X, basis, mean)
    own_sums = landmark_sums(X, np.ones(300), X, width)
    delta = missed_products(basis, mean, X, own_sums / 300.0, sums / 300.0)
    missed = delta.mean()  # the mean over all rows is Δ itself
    assert missed >= -1e-12
    assert (np.abs(delta) <= np.sqrt(residual * missed) + 1e-9).all()
    np.testing.assert_allclose(
        squared + missed - 2 * delta, exact_radii(X, np.ones(300), width) ** 2, atol=1e-7
    )


def test_what_the_hull_misses_of_a_row_is_its_distance_from_the_hull(rng):
    """Against least squares: Σ v_l φ(z_l) with Σv = 1 nearest to φ(x); nothing of a landmark."""
    X, _ = mixture(rng, 60, 3)
    Z, width = X[:12], 2.0
    K = np.exp(-cdist(Z, Z, "sqeuclidean") / width**2)
    k = np.exp(-cdist(X, Z, "sqeuclidean") / width**2)
    system = np.block([[K, np.ones((12, 1))], [np.ones((1, 12)), np.zeros((1, 1))]])
    v = np.linalg.solve(system, np.vstack([k.T, np.ones(60)]))[:12].T
    expected = 1.0 - 2.0 * (k * v).sum(axis=1) + ((v @ K) * v).sum(axis=1)
    basis = landmark_basis(Z, width)
    mean = nearest_point(basis, landmark_sums(X, np.ones(60), Z, width), 60.0)
    np.testing.assert_allclose(stand(X, basis, mean)[1], expected, atol=1e-8)
    np.testing.assert_allclose(expected[:12], 0.0, atol=1e-12)


def test_radii_lie_within_cauchy_and_schwarzs_bound():
    squared, residual = np.array([0.5, 0.3]), np.array([0.04, 0.0])
    found = radius_intervals(squared, residual, Estimate(0.01, 0.005, 0.02), 1e-4)
    slack = 2.0 * np.sqrt(residual * 0.02)  # |2δ|, of the largest Δ
    np.testing.assert_allclose(found.estimate, np.sqrt(squared + 0.01))
    np.testing.assert_allclose(found.low, np.sqrt(squared + 0.005 - slack - 1e-4))
    np.testing.assert_allclose(found.high, np.sqrt(squared + 0.02 + slack + 1e-4))


def test_intervals_of_the_missed_part_hold_far_more_often_than_promised(rng):
    """Probes of skewed values within their limits: 300 samples, one in ten may miss."""
    population = np.minimum(rng.exponential(0.01, 4000) ** 2 * 30, 0.05)
    population *= population.mean() / 0.05**2 * 0.9  # now |δ| <= sqrt(Δ)
    true = population.mean()
    assert (np.abs(population) <= np.sqrt(true)).all()
    misses = 0
    for _ in range(300):
        found = mean_residual(population[rng.integers(0, 4000, 200)], 1.0, 0.1)
        assert found.low <= found.estimate <= found.high
        misses += not found.low <= true <= found.high
    assert misses <= 30


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_ends_of_the_missed_part_satisfy_maurer_and_pontils_inequality(rng, shift):
    delta, largest, failure = rng.normal(shift, 0.1, 40), 0.7, 0.05
    found, t = mean_residual(delta, largest, failure), np.log(4.0 / failure)
    spread = np.sqrt(2.0 * np.var(delta, ddof=1) * t / 40)
    slope = 14.0 * np.sqrt(largest) * t / (3.0 * 39)
    assert found.high - delta.mean() == pytest.approx(spread + slope * np.sqrt(found.high))
    expected = max(delta.mean() - spread - slope * np.sqrt(found.high), 0.0)
    assert found.low == pytest.approx(expected)
    assert found.estimate == pytest.approx(max(delta.mean(), found.low))


def test_rows_are_drawn_in_proportion_to_weight(rng):
    weight = np.array([1.0, 5.0, 2.0, 1e-12, 8.0])
    drawn = np.bincount(draw_rows(weight, 160_000, rng), minlength=5)
    np.testing.assert_allclose(drawn[[0, 1, 2, 4]] / 1e4, [1, 5, 2, 8], rtol=0.05)
    assert drawn[3] == 0


def test_landmarks_are_distinct_rows_of_the_data(rng):
    X = rng.integers(0, 3, (500, 2)).astype(float)
    landmarks = choose_landmarks(X, np.ones(500), 100, rng)
    assert len(np.unique(landmarks, axis=0)) == len(landmarks) <= 9
    assert set(map(tuple, landmarks)) <= set(map(tuple, X))


@pytest.mark.parametrize("constant", [0.0, 3.7])
def test_a_class_of_equal_rows_has_radius_zero(constant, rng):
    found = approximate_radii(
        np.full((200, 3), constant), np.ones(200), 1.0, rng, 0.01, Sampling(60, 10, 20, 5)
    )
    for values in found:
        np.testing.assert_allclose(values, 0.0, atol=1e-12)


# -- bounds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [0.3, 1.0, 2.5, 8.0, 1e3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_bounds_hold_for_every_row(rng, width, n_classes):
    for seed in range(8):
        X, y = mixture(rng, 700)
        if n_classes == 3:
            y = np.where((y == 0) & (X[:, 0] > 0.5), 2, y)
        weight = rng.integers(1, 4, 700).astype(float) if seed % 2 else np.ones(700)
        exact = kernel_statistics(X, y, n_classes, width, weight)
        stream = np.random.default_rng(seed)
        found = approximate_statistics(X, y, n_classes, width, weight, stream, SMALL)
        for name in ("radius", "class_probability", "r_max"):
            low, high = getattr(found.bounds, name)
            value = getattr(exact, name)
            assert (low <= value + 1e-9).all(), name
            assert (value <= high + 1e-9).all(), name
            assert (low <= getattr(found, name) + 1e-12).all()
            assert (getattr(found, name) <= high + 1e-12).all()
        assert found.minority == exact.minority
        for rho in (0.1, 0.5, 1.0):
            truth, guess = pw_gbell(exact, y, rho), pw_gbell(found, y, rho)
            assert (np.abs(truth.membership - guess.membership) <= guess.error + 1e-9).all()
            assert (guess.error[y == found.minority] == 0).all()
            assert ((guess.membership > 0) & (guess.membership <= 1)).all()


@given(
    r=st.floats(0, 1.4),
    dr=st.floats(0, 0.5),
    m=st.floats(1e-3, 1.4),
    dm=st.floats(0, 0.5),
    rho=st.floats(0.05, 2.0),
    at=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_the_bell_of_intervals_holds_the_bell_of_everything_in_them(r, dr, m, dm, rho, at):
    one = np.zeros(1, np.intp)
    low, high = bell_interval(
        Interval(np.array([r]), np.array([r + dr])),
        Interval(np.array([m]), np.array([m + dm])),
        one,
        rho,
    )
    inside = generalized_bell(np.array([r + at[0] * dr]), np.array([m + at[1] * dm]), rho)
    assert low[0] - 1e-12 <= inside[0] <= high[0] + 1e-12


def test_the_bell_of_a_class_that_may_be_one_point_is_open():
    zero, some = np.zeros(1), np.full(1, 0.1)
    place = np.zeros(1, np.intp)
    assert bell_interval(Interval(zero, some), Interval(zero, some), place, 1.0) == (0.0, 1.0)
    assert bell_interval(Interval(zero, zero), Interval(zero, zero), place, 1.0) == (1.0, 1.0)


@pytest.mark.parametrize("trials", [1, 30, 2048])
def test_proportions_are_clopper_and_pearsons(trials):
    """By their definition: the binomial tails at the bounds are the failure."""
    hits = np.unique(np.linspace(0, trials, 12).round())
    low, high = proportion_interval(hits, np.full(len(hits), float(trials)), 1e-3)
    for h, a, b in zip(hits, low, high):
        assert a == 0 if h == 0 else binom.sf(h - 1, trials, a) == pytest.approx(1e-3, rel=1e-6)
        assert b == 1 if h == trials else binom.cdf(h, trials, b) == pytest.approx(1e-3, rel=1e-6)


@pytest.mark.parametrize("label", [0, 1])
def test_weights_within_reach_are_those_of_the_references_drawn(rng, label):
    """w_i + (N - w_i) h/m: h of the m references that are not the row itself are in reach."""
    X, y = mixture(rng, 240, n_minor=100)
    w, rows, seed = rng.integers(1, 4, 240).astype(float), np.arange(0, 240, 5), 7
    how = (4.0, 4.0, 4.0), np.random.default_rng(seed), SMALL, ONE_WORKER
    found = _Counting(X, y, 2, w, *how)._class_weights(rows, label, 80)
    members = np.flatnonzero(y == label)
    drawn = members[draw_rows(w[members], 80, np.random.default_rng(seed))]
    chance = 0.5 * SMALL.failure / (4 * 240 * 2)  # half of all is spent on counts: 2 sides, 2 draws
    for place, i in enumerate(rows):
        others = drawn[drawn != i]
        m, h = len(others), int((np.square(X[others] - X[i]).sum(axis=1) <= 4.0).sum())
        own = w[i] if y[i] == label else 0.0
        shares = [
            h / m,
            beta.ppf(chance, h, m - h + 1) if h else 0.0,
            beta.isf(chance, h + 1, m - h) if h < m else 1.0,
        ]
        expected = [own + (w[members].sum() - own) * share for share in shares]
        np.testing.assert_allclose(found[:, place], expected, rtol=1e-8)


def test_rows_compared_in_full_are_known_but_for_the_reach(rng):
    X, y = mixture(rng, 700)
    exact = kernel_statistics(X, y, 2, 4.0, np.ones(700))
    widths, errors = [], []
    for n_in_full in (0, 700):
        sampling = MEDIUM._replace(n_references=100, n_in_full=n_in_full, wanted=0.0)
        found = approximate_statistics(X, y, 2, 4.0, np.ones(700), rng, sampling)
        low, high = found.bounds.class_probability
        widths.append((high - low)[y == 0].mean())
        errors.append(np.abs(found.class_probability - exact.class_probability)[y == 0].max())
    assert widths[1] < 0.1 * widths[0]
    assert errors[1] < 0.1 * errors[0]


def test_classes_small_enough_are_exact(rng):
    X, y = mixture(rng, 700, n_minor=50)
    found = approximate_statistics(X, y, 2, 2.0, np.ones(700), rng, SMALL)
    exact = kernel_statistics(X, y, 2, 2.0, np.ones(700))
    np.testing.assert_allclose(found.radius[y == 1], exact.radius[y == 1], rtol=1e-12)
    np.testing.assert_array_equal(found.bounds.radius.low[y == 1], found.radius[y == 1])
    assert approximable(y, 2, SMALL)
    assert not approximable(y, 2)
    assert not approximable(y[y == 1], 2, SMALL)


def test_more_landmarks_and_references_come_nearer(rng):
    X, y = mixture(rng, 3000)
    exact = pw_gbell(kernel_statistics(X, y, 2, 2.5, np.ones(3000)), y, 1.0)
    errors, bounds = [], []
    for k in (1, 4, 16):
        more = Sampling(100, 20 * k, 50 * k, 20 * k, 60 * k, n_in_full=0)
        found = pw_gbell(approximate_statistics(X, y, 2, 2.5, np.ones(3000), rng, more), y, 1.0)
        errors.append(np.abs(found.membership - exact.membership).mean())
        bounds.append(found.error.mean())
    assert errors[0] > errors[1] > errors[2]
    assert bounds[0] > bounds[1] > bounds[2]
    assert errors[2] < 0.01


def test_threads_and_tiles_change_nothing(rng):
    X, y = mixture(rng, 5000)
    found = [
        approximate_statistics(
            X, y, 2, 2.0, np.ones(5000), np.random.default_rng(4), SMALL, Workers(n)
        )
        for n in (1, 3)
    ]
    np.testing.assert_array_equal(found[0].radius, found[1].radius)
    np.testing.assert_array_equal(found[0].class_probability, found[1].class_probability)
    np.testing.assert_array_equal(found[0].bounds.class_probability, found[1].bounds[1])


def test_the_total_of_pairs_is_the_sum_written_out():
    """300 rows of a class that is sampled and 50 of one that is not, each row with references."""
    classes = np.repeat([0, 1], [300, 50])
    radii = 300 * (2 * 40 + 120 + 30) + 50 * 51 // 2
    references = 350 * (80 + 50) + 0.35 * 350 * (300 + 50) + 50 * 350
    assert pairs_to_sample(classes, 2, SMALL) == int(radii + references)


def test_progress_never_passes_its_total(rng):
    X, y = mixture(rng, 5000)
    told = []
    workers = Workers(1, advance=told.append)
    approximate_statistics(X, y, 2, 2.0, np.ones(5000), rng, SMALL, workers)
    assert 0.2 * pairs_to_sample(y, 2, SMALL) < sum(told) <= pairs_to_sample(y, 2, SMALL)


def test_weights_are_multiplicities_in_distribution(rng):
    """Samples differ, their averages over many seeds do not."""
    X, y = mixture(rng, 400)
    weight = rng.integers(1, 4, 400)
    rows = np.repeat(np.arange(400), weight)
    weighted, repeated = np.zeros(400), np.zeros(400)
    few = SMALL._replace(n_in_full=0)
    for seed in range(30):
        a = approximate_statistics(
            X, y, 2, 2.5, weight.astype(float), np.random.default_rng(seed), few
        )
        b = approximate_statistics(
            X[rows], y[rows], 2, 2.5, np.ones(len(rows)), np.random.default_rng(100 + seed), few
        )
        weighted += pw_gbell(a, y, 1.0).membership / 30
        np.add.at(repeated, rows, pw_gbell(b, y[rows], 1.0).membership / 30 / weight[rows])
    assert np.abs(weighted - repeated).mean() < 0.01


# -- the estimator ----------------------------------------------------------------------------


@pytest.fixture
def sampled(monkeypatch):
    """Make the estimator sample from a few hundred rows on."""

    def statistics(*args, workers):
        return approximate_statistics(*args, MEDIUM, workers)

    monkeypatch.setattr(robell_module, "approximate_statistics", statistics)
    monkeypatch.setattr(robell_module, "approximable", lambda y, k: approximable(y, k, MEDIUM))
    monkeypatch.setattr(robell_module, "AUTO_EXACT_ROWS", 500)


def test_fitted_attributes_say_what_was_done(rng, sampled):
    X, y = mixture(rng, 1200)
    exact = RoBellRVFLClassifier(kernel_width=5.0, random_state=0).fit(X, y)
    assert exact.membership_method_ == "exact"
    np.testing.assert_array_equal(exact.membership_error_, 0.0)
    found = RoBellRVFLClassifier(kernel_width=5.0, membership="approximate", random_state=0).fit(
        X, y
    )
    assert found.membership_method_ == "approximate"
    assert found.membership_error_[y == 0].min() > 0
    assert (np.abs(found.membership_ - exact.membership_) <= found.membership_error_).all()
    # The random layer is drawn from another stream.
    np.testing.assert_array_equal(found.hidden_weights_, exact.hidden_weights_)
    np.testing.assert_array_equal(found.hidden_bias_, exact.hidden_bias_)
    assert np.mean(found.predict(X) == exact.predict(X)) > 0.98


def test_auto_goes_by_size(rng, sampled):
    X, y = mixture(rng, 1200)
    model = RoBellRVFLClassifier(kernel_width=5.0, membership="auto", random_state=0)
    assert model.fit(X, y).membership_method_ == "approximate"
    assert model.fit(X[:450], y[:450]).membership_method_ == "exact"


def test_approximate_is_exact_where_that_costs_no_more(rng):
    X, y = mixture(rng, 300)
    model = RoBellRVFLClassifier(membership="approximate", random_state=0).fit(X, y)
    assert model.membership_method_ == "exact"
    np.testing.assert_array_equal(model.membership_error_, 0.0)
    np.testing.assert_array_equal(
        model.membership_, RoBellRVFLClassifier(random_state=0).fit(X, y).membership_
    )


def test_the_same_seed_gives_the_same_memberships_and_others_others(rng, sampled):
    X, y = mixture(rng, 1200)

    def memberships(seed, **parameters):
        return pw_gbell_membership(
            X, y, 5.0, membership="approximate", random_state=seed, **parameters
        )

    np.testing.assert_array_equal(memberships(1), memberships(1, n_jobs=2))
    assert not np.array_equal(memberships(1), memberships(2))
    values, error = memberships(1, return_error=True)
    np.testing.assert_array_equal(values, memberships(1))
    exact = pw_gbell_membership(X, y, 5.0)
    assert (np.abs(values - exact) <= error).all()


def test_rows_of_weight_zero_have_no_error(rng, sampled):
    X, y = mixture(rng, 900)
    weight = np.ones(900)
    weight[::5] = 0
    model = RoBellRVFLClassifier(kernel_width=5.0, membership="approximate", random_state=0)
    model.fit(X, y, sample_weight=weight)
    assert (model.membership_error_[weight == 0] == 0).all()
    assert (model.membership_[weight == 0] == 0).all()
    assert (model.membership_[weight > 0] > 0).all()


def test_a_kernel_too_narrow_to_say_anything_is_warned_of(rng, sampled):
    X, y = mixture(rng, 6000, n_features=12)
    model = RoBellRVFLClassifier(kernel_width=0.8, membership="approximate", random_state=0)
    with pytest.warns(RuntimeWarning, match="uncertain by more than 0.25"):
        model.fit(X, y)
    with pytest.warns(RuntimeWarning, match="larger kernel_width or membership='exact'"):
        pw_gbell_membership(X, y, 0.8, membership="approximate", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(membership="exact").fit(X, y)


def test_threads_do_not_change_the_model(rng):
    X, y = mixture(rng, 5000)
    one, three = (
        RoBellRVFLClassifier(kernel_width=2.0, n_jobs=n, random_state=0).fit(X, y)
        for n in (None, 3)
    )
    np.testing.assert_array_equal(one.membership_, three.membership_)
    np.testing.assert_array_equal(one.coef_, three.coef_)


def test_single_precision_input_is_compared_exactly(rng):
    X, y = mixture(rng, 600)
    single = (X + 1000.0).astype(np.float32)
    np.testing.assert_array_equal(
        pw_gbell_membership(single, y, 2.0), pw_gbell_membership(single.astype(float), y, 2.0)
    )


@pytest.mark.parametrize("bad", [{"membership": "fast"}, {"n_jobs": 1.5}, {"membership": None}])
def test_unknown_choices_are_refused(rng, bad):
    X, y = mixture(rng, 60)
    with pytest.raises(ValueError, match=f"'{next(iter(bad))}' parameter"):
        RoBellRVFLClassifier(**bad).fit(X, y)
    with pytest.raises(ValueError, match=f"'{next(iter(bad))}' parameter"):
        pw_gbell_membership(X, y, **bad)


def test_a_search_compares_samples_once_a_width_and_seed(rng, sampled):
    X, y = mixture(rng, 900)
    grid = {"C": [0.1, 1.0], "kernel_width": [4.0, 5.0], "membership": ["exact", "approximate"]}
    estimator = RoBellRVFLClassifier(n_hidden=10, random_state=0)
    search = RVFLGridSearchCV(estimator, grid, cv=2).fit(X, y)
    plain = GridSearchCV(estimator, grid, cv=2).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=1e-12
    )
