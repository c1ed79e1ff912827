"""C="loo" against refitting without each row."""

import warnings
from functools import partial

import numpy as np
import pytest
from exact_loo import excess
from scipy.linalg import LinAlgWarning
from searches import FAMILY, table
from sklearn.model_selection import cross_val_score

from robell import DeepRVFLClassifier, HuberRVFLClassifier, RVFLClassifier, RVFLRegressor
from robell._core.layers.features import RowBlocks
from robell._core.ridge.solve import solve_ridge
from robell.models._estimator import PAPER_C


def brute_force_loo_error(estimator, X, y, C):
    """Squared leave-one-out error of one-hot scores, by refitting without each row."""
    classes = np.unique(y)
    total = 0.0
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        model = estimator(C=C).fit(X[keep], y[keep])
        score = (model._features(model._validate_new(X[i : i + 1])) @ model.coef_).real[0]
        total += np.square(score - (classes == y[i])).sum()
    return total


@pytest.mark.parametrize("n_hidden", [5, 60], ids=["tall", "wide"])
@pytest.mark.parametrize("name", ["rvfl", "elm", "crvfl", "acrvfl"])
def test_loo_chooses_what_brute_force_chooses(name, n_hidden):
    estimator = partial(FAMILY[name][0], n_hidden, calibrate=False, random_state=0)
    X, y = table(n_rows=40, seed=3)
    if "crvfl" in name:  # the encoding must not depend on the row left out
        estimator = partial(estimator, encoding="cartesian")
    errors = [brute_force_loo_error(estimator, X, y, C) for C in PAPER_C]
    model = estimator(C="loo").fit(X, y)
    assert PAPER_C[int(np.argmin(errors))] == model.C_
    np.testing.assert_allclose(model.coef_, estimator(C=model.C_).fit(X, y).coef_)


def test_loo_honours_weights_and_works_with_every_model(rng):
    X, y = table(n_rows=60)
    weight = rng.integers(1, 4, len(y))
    for name, (estimator, _) in FAMILY.items():
        if name == "gegb":
            continue
        weighted = estimator(C="loo", random_state=0).fit(X, y, sample_weight=weight)
        repeated = estimator(C="loo", random_state=0).fit(
            np.repeat(X, weight, axis=0), np.repeat(y, weight)
        )
        assert weighted.C_ in PAPER_C
        assert weighted.C_ == repeated.C_
        assert np.isfinite(weighted.predict_proba(X)).all()


def test_a_graph_that_has_seen_the_label_left_out_is_refused():
    X, y = table(n_rows=40)
    with pytest.raises(ValueError, match="C='loo' does not go with a graph"):
        FAMILY["gegb"][0](C="loo").fit(X, y)


@pytest.mark.parametrize("part", range(4))
def test_the_chosen_C_is_the_best_in_fifty_digits(part):
    """On columns of any scale, far from zero, doubled and constant, and on equal rows."""
    for seed in range(1000 + 4 * part, 1004 + 4 * part):
        assert excess(seed) <= 1e-6, f"draw_problem({seed})"


def test_C_of_columns_far_from_zero():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(200, 2))
    t = Z[:, 0] + 0.1 * rng.normal(size=200)
    chosen = RVFLRegressor(6, C="loo", random_state=0)
    given = RVFLRegressor(6, C=1e3, random_state=0)
    X = Z + np.array([1e8, 0.0])
    assert cross_val_score(chosen, X, t).mean() > cross_val_score(given, X, t).mean() - 1e-3


@pytest.mark.parametrize("scale", [1e4, 1e8, 1e12])
def test_C_of_columns_on_other_scales(scale):
    """The inputs count alone: C is the best of single fits, each left out by itself."""
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(60, 2))
    y = (Z[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    model = partial(RVFLClassifier, 4, calibrate=False, random_state=0)
    X = Z * [1.0, scale]
    errors = [brute_force_loo_error(model, X, y, C) for C in PAPER_C]
    chosen = model(C="loo").fit(X, y).C_
    assert errors[int(np.flatnonzero(chosen == PAPER_C)[0])] <= min(errors) * (1 + 1e-6)


@pytest.mark.parametrize("share", [2, 4])
def test_fit_and_partial_fit_choose_the_same_C_of_equal_rows(share):
    X, y = np.full((40, 2), 0.7), (np.arange(40) % share == 0).astype(int)
    whole = RVFLClassifier(4, C="loo", random_state=0).fit(X, y)
    stream = RVFLClassifier(4, C="loo", random_state=0)
    for rows in (slice(0, 25), slice(25, 40)):
        stream.partial_fit(X[rows], y[rows], classes=[0, 1])
    model = partial(RVFLClassifier, 4, calibrate=False, random_state=0)
    errors = [brute_force_loo_error(model, X, y, C) for C in PAPER_C]
    assert stream.C_ == whole.C_
    assert errors[int(np.flatnonzero(whole.C_ == PAPER_C)[0])] <= min(errors) * 1.001


def test_left_out_scores_keep_their_digits_for_tiny_C(rng):
    """f_-i tends to C Σ_{j≠i} m_i·m_j t_j."""
    M, T = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    design = RowBlocks(lambda rows: M[rows], *M.shape)
    products = M @ M.T
    np.fill_diagonal(products, 0.0)
    found = solve_ridge(design, T, 1e-20, None, True).loo_scores
    np.testing.assert_allclose(found, 1e-20 * products @ T, rtol=1e-12, atol=1e-32)


def test_columns_lost_to_rounding_are_announced():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(500, 2))
    X, y = np.c_[Z[:, 0], 1e15 * Z[:, 1], 1e15 * Z[:, 1]], (Z[:, 0] > 0).astype(int)
    with pytest.warns(LinAlgWarning, match="column 1 reaches .* scale X first"):
        RVFLClassifier(3, activation="sin", random_state=0).fit(X, y)


@pytest.mark.parametrize(
    "model", [RVFLClassifier(3), DeepRVFLClassifier(3), HuberRVFLClassifier(3)]
)
def test_warnings_of_a_fit_name_the_line_that_asked_for_it(model):
    """However deep in the package they are given."""
    rng = np.random.default_rng(0)
    X = np.c_[1e12 * rng.normal(size=(100, 1)), 1e-5 * rng.normal(size=(100, 30))]
    with pytest.warns(LinAlgWarning, match="scale X first") as seen:
        model.set_params(C=np.inf, random_state=0).fit(X, np.arange(100) % 2)
    assert {warning.filename for warning in seen} == {__file__}


@pytest.mark.parametrize("C", [1.0, 1e20])
def test_nodes_that_no_penalty_leaves_anything_of_are_not_announced_as_lost(C):
    """A node of 1e-14 beside columns of 100 has no singular value left."""
    rng = np.random.default_rng(0)
    X = np.c_[100.0 * rng.normal(size=(12, 20)), np.full(12, 1e-14)]
    X[:, 0] *= 1e6  # wide, of very different sizes: by singular values
    y = np.arange(12) % 2
    model = RVFLClassifier(2, C=C, calibrate=False, random_state=0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert model.solver_ == "svd"
    assert any("lost to rounding" in str(one.message) for one in seen) == (C > 1.0)
