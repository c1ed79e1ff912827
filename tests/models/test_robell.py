"""RoBell against the paper's algorithm box, and the identities that must hold between models."""

import numpy as np
import pytest
from oracles import robell_by_the_book
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from robell import ELMClassifier, RoBellRVFLClassifier, RVFLClassifier, pw_gbell_membership
from robell._core.layers.features import ACTIVATIONS

PENALTIES = [10.0**k for k in range(-5, 6)]


def data(rng, n_major, n_minor, n_features):
    X = np.vstack(
        [rng.normal(size=(n_major, n_features)), rng.normal(1.0, 1.0, (n_minor, n_features))]
    )
    y = np.repeat([-1, 1], [n_major, n_minor])
    order = rng.permutation(len(y))
    return X[order], y[order]


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(
    ("n_major", "n_minor", "n_hidden"), [(30, 8, 10), (12, 4, 17)], ids=["tall", "wide"]
)
def test_coefficients_equal_the_algorithm_box_with_equation_29(
    rng, activation, n_major, n_minor, n_hidden
):
    X, y = data(rng, n_major, n_minor, 3)
    # The memberships do not depend on γ: a box per (ξ, ρ) would only repeat them.
    for C in PENALTIES:
        model = RoBellRVFLClassifier(
            n_hidden, activation, C, kernel_width=1.5, rho=0.75, random_state=1
        ).fit(X, y)
        book = robell_by_the_book(
            X, y, model.hidden_weights_, model.hidden_bias_, activation, 1.5, 0.75, C
        )
        np.testing.assert_allclose(model.radius_, book.radius, rtol=1e-9)
        np.testing.assert_allclose(model.class_probability_, book.class_probability, rtol=1e-12)
        np.testing.assert_allclose(model.membership_, book.membership, rtol=1e-9)
        assert model.coef_.shape == book.V.shape
        assert np.abs(model.coef_ - book.V).max() <= 1e-9 * np.abs(book.V).max()


def test_equation_28_as_printed_is_another_model(rng):
    """Erratum E2: without the factors (1 + F₊/F₋) the coefficients differ, so 29 is the one."""
    X, y = data(rng, 30, 8, 3)
    model = RoBellRVFLClassifier(10, C=1.0, random_state=1).fit(X, y)
    H = 1 / (1 + np.exp(-(X @ model.hidden_weights_ + model.hidden_bias_)))
    M, T = np.hstack([X, H]), np.column_stack([y == -1, y == 1]).astype(float)
    F_plus, F_minus = 8 / 30, 1.0
    L = model.membership_
    eq_28 = np.linalg.solve(
        (1 / F_plus + 1 / F_minus) * np.eye(M.shape[1]) + (M.T * L) @ M, (M.T * L) @ T
    )
    assert np.abs(model.coef_ - eq_28).max() > 0.05


def test_memberships_enter_to_the_first_power(rng):
    """Erratum E3: the same as plain RVFL given cost times membership as its row weights."""
    X, y = data(rng, 60, 15, 4)
    robell = RoBellRVFLClassifier(20, C=3.0, random_state=0).fit(X, y)
    weights = robell.membership_ * np.where(y == -1, 15 / 60, 1.0)
    rvfl = RVFLClassifier(20, C=3.0, random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(robell.coef_, rvfl.coef_, rtol=1e-9)


def test_narrow_kernel_gives_rvfl_with_class_costs(rng):
    X, y = data(rng, 60, 15, 4)
    robell = RoBellRVFLClassifier(20, kernel_width=1e-6, random_state=0).fit(X, y)
    rvfl = RVFLClassifier(20, class_weight={-1: 0.5 * 15 / 60, 1: 1.0}, random_state=0).fit(X, y)
    np.testing.assert_allclose(robell.coef_, rvfl.coef_, rtol=1e-8)


def test_memberships_of_one_and_no_class_cost_give_rvfl():
    """Every class one repeated point: all radii are zero, all memberships one."""
    X = np.repeat([[0.0, 0.0], [50.0, 50.0]], [6, 3], axis=0)
    y = np.repeat([0, 1], [6, 3])
    robell = RoBellRVFLClassifier(5, class_weight=None, random_state=0).fit(X, y)
    np.testing.assert_allclose(robell.membership_, 1.0)
    rvfl = RVFLClassifier(5, random_state=0).fit(X, y)
    np.testing.assert_allclose(robell.coef_, rvfl.coef_, rtol=1e-9)


def test_majority_mass_is_below_the_minoritys(rng):
    X, y = data(rng, 90, 10, 3)
    model = RoBellRVFLClassifier(random_state=0).fit(X, y)
    assert (10 / 90) * model.membership_[y == -1].sum() < model.membership_[y == 1].sum()


def test_one_hot_argmax_is_the_sign_of_the_plus_minus_one_fit(rng):
    X, y = data(rng, 40, 20, 3)
    model = RVFLClassifier(15, random_state=0).fit(X, y)
    H = 1 / (1 + np.exp(-(X @ model.hidden_weights_ + model.hidden_bias_)))
    M = np.hstack([X, H])
    beta = np.linalg.solve(M.T @ M + np.eye(18), M.T @ y)
    np.testing.assert_allclose(model.decision_function(X), M @ beta, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.where(M @ beta > 0, 1, -1))


@pytest.mark.parametrize("estimator", [RVFLClassifier, ELMClassifier, RoBellRVFLClassifier])
def test_swapping_label_names_swaps_predictions(rng, estimator):
    X, y = data(rng, 40, 20, 3)
    model, swapped = (estimator(random_state=0).fit(X, s * y) for s in (1, -1))
    np.testing.assert_allclose(swapped.decision_function(X), -model.decision_function(X))
    np.testing.assert_array_equal(swapped.predict(X), -model.predict(X))


def test_renaming_the_labels_of_a_balanced_table_changes_predictions():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    predicted = RoBellRVFLClassifier(random_state=0).fit(X, y).predict(X)
    renamed = 2 - RoBellRVFLClassifier(random_state=0).fit(X, 2 - y).predict(X)
    assert 5 <= (predicted != renamed).sum() <= 20  # 13 where this was written
    # One more row of the last class, and the first is the smallest whatever it is called.
    weight = np.where(y == 0, 1.0, 1.02)
    predicted = RoBellRVFLClassifier(random_state=0).fit(X, y, weight).predict(X)
    renamed = 2 - RoBellRVFLClassifier(random_state=0).fit(X, 2 - y, weight).predict(X)
    np.testing.assert_array_equal(predicted, renamed)


def test_importance_weights_can_change_the_minority(rng):
    X, y = data(rng, 30, 10, 3)
    model = RoBellRVFLClassifier(random_state=0)
    assert (model.fit(X, y).membership_[y == 1] == 1).all()
    weight = np.where(y == 1, 5.0, 1.0)
    assert (model.fit(X, y, weight).membership_[y != 1] == 1).all()
    assert (model.membership_[y == 1] < 1).all()


def test_elm_is_rvfl_without_direct_links(rng):
    X, y = data(rng, 40, 20, 3)
    elm = ELMClassifier(random_state=0).fit(X, y)
    rvfl = RVFLClassifier(direct_link=False, random_state=0).fit(X, y)
    np.testing.assert_array_equal(elm.coef_, rvfl.coef_)
    assert elm.coef_.shape == (103, 2)


def test_output_bias_is_a_penalised_column_of_ones(rng):
    X, y = data(rng, 40, 20, 3)
    model = RVFLClassifier(12, output_bias=True, random_state=0).fit(X, y)
    H = 1 / (1 + np.exp(-(X @ model.hidden_weights_ + model.hidden_bias_)))
    M = np.hstack([np.ones((60, 1)), X, H])
    T = np.column_stack([y == -1, y == 1]).astype(float)
    beta = np.linalg.solve(M.T @ M + np.eye(16), M.T @ T)
    np.testing.assert_allclose(model.intercept_, beta[0], rtol=1e-8)
    np.testing.assert_allclose(model.coef_, beta[1:], rtol=1e-7, atol=1e-10)
    without = RVFLClassifier(12, random_state=0).fit(X, y)
    np.testing.assert_array_equal(without.intercept_, 0.0)
    assert without.coef_.shape == (15, 2)


def test_scale_width_is_resolved_and_kept(rng):
    X, y = data(rng, 40, 20, 3)
    model = RoBellRVFLClassifier(kernel_width="scale", random_state=0).fit(X, y)
    assert model.kernel_width_ == pytest.approx(np.sqrt(3 * X.var()))
    fixed = RoBellRVFLClassifier(kernel_width=model.kernel_width_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.membership_, fixed.membership_)


def test_the_function_gives_the_estimators_memberships(rng):
    X, y = data(rng, 40, 20, 3)
    for width in (0.7, "scale"):
        model = RoBellRVFLClassifier(kernel_width=width, rho=0.625, random_state=0).fit(X, y)
        np.testing.assert_array_equal(
            pw_gbell_membership(X, y, kernel_width=width, rho=0.625), model.membership_
        )


def test_memberships_serve_as_weights_of_another_estimator(rng):
    X, y = data(rng, 80, 20, 3)
    weight = pw_gbell_membership(X, y)
    weighted = LogisticRegression().fit(X, y, sample_weight=weight)
    assert weighted.predict(X).sum() > LogisticRegression().fit(X, y).predict(X).sum()


def test_rows_of_weight_zero_are_absent(rng):
    X, y = data(rng, 40, 20, 3)
    weight = np.ones(60)
    weight[::4] = 0
    model = RoBellRVFLClassifier(random_state=0).fit(X, y, sample_weight=weight)
    without = RoBellRVFLClassifier(random_state=0).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(model.coef_, without.coef_)
    np.testing.assert_allclose(model.membership_[weight > 0], without.membership_)
    assert (model.membership_[weight == 0] == 0).all()
    assert np.isnan(model.radius_[weight == 0]).all()
    assert np.isnan(model.class_probability_[weight == 0]).all()


def test_a_class_of_weight_zero_is_no_class(rng):
    X, y = data(rng, 40, 20, 3)
    y[:5] = 7
    model = RoBellRVFLClassifier(random_state=0).fit(X, y, sample_weight=(y != 7).astype(float))
    np.testing.assert_array_equal(model.classes_, [-1, 1])
