import numpy as np
import pandas as pd
import pytest
from oracles_variants import (
    block_form,
    complex_activate,
    complex_features,
    strictly_linear,
    widely_linear_scores,
)

from robell import ComplexRVFLClassifier
from robell._core.layers.features import ACTIVATIONS
from robell.models.complex_valued import (
    ENCODINGS,
    FULLY_COMPLEX,
    apply_complex_activation,
    draw_circular_constants,
    encode,
)


@pytest.fixture
def complex_data(rng):
    Z = rng.normal(size=(60, 3)) + 1j * rng.normal(size=(60, 3))
    y = ((Z[:, 0] * Z[:, 1].conj()).imag + 0.3 * rng.normal(size=60) > 0.5).astype(int)
    return Z, y


@pytest.mark.parametrize("activation", [*ACTIVATIONS, *FULLY_COMPLEX])
@pytest.mark.parametrize("n_hidden", [8, 90], ids=["tall", "wide"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_both_models_equal_the_literal_transcription(complex_data, activation, n_hidden, C):
    Z, y = complex_data
    T = np.eye(2)[y]
    model = ComplexRVFLClassifier(n_hidden, activation, C, random_state=0).fit(Z, y)
    M = complex_features(Z, model.hidden_weights_, model.hidden_bias_, activation)
    expected = strictly_linear(M, T, C)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model.coef_, expected, atol=1e-7 * scale)
    np.testing.assert_allclose(
        model.decision_function(Z), (M @ (expected[:, 1] - expected[:, 0])).real, atol=1e-7
    )
    augmented = ComplexRVFLClassifier(n_hidden, activation, C, augmented=True, random_state=0)
    scores = widely_linear_scores(M, T, C, M)
    np.testing.assert_allclose(scores.imag, 0.0, atol=1e-8)
    np.testing.assert_allclose(
        augmented.fit(Z, y).decision_function(Z), (scores[:, 1] - scores[:, 0]).real, atol=1e-7
    )


def test_strictly_linear_is_the_block_form(complex_data):
    Z, y = complex_data
    model = ComplexRVFLClassifier(8, C=5.0, random_state=0).fit(Z, y)
    M = complex_features(Z, model.hidden_weights_, model.hidden_bias_, "sigmoid")
    np.testing.assert_allclose(model.coef_, block_form(M, np.eye(2)[y], 5.0), atol=1e-10)


def test_augmented_is_real_ridge_on_both_parts_with_half_the_penalty(complex_data):
    Z, y = complex_data
    model = ComplexRVFLClassifier(8, C=5.0, augmented=True, random_state=0).fit(Z, y)
    M = complex_features(Z, model.hidden_weights_, model.hidden_bias_, "sigmoid")
    R = np.hstack([M.real, M.imag])
    beta = np.linalg.solve(R.T @ R + np.eye(R.shape[1]) / 10.0, R.T @ np.eye(2)[y])
    scores = R @ beta
    np.testing.assert_allclose(model.decision_function(Z), scores[:, 1] - scores[:, 0], atol=1e-10)
    assert model.coef_.dtype == np.float64
    # a node's two parts stand together, behind the inputs'
    inputs, nodes = beta[:3], beta[3:11]
    np.testing.assert_allclose(model.coef_[:3], inputs, atol=1e-9)
    np.testing.assert_allclose(model.coef_[3:6], beta[11:14], atol=1e-9)
    np.testing.assert_allclose(model.coef_[6::2], nodes, atol=1e-9)
    np.testing.assert_allclose(model.coef_[7::2], beta[14:], atol=1e-9)


@pytest.mark.parametrize("augmented", [False, True])
def test_leave_one_out_equals_refitting(complex_data, augmented):
    """Probabilities come from them; a complex row left out is one complex row, both parts."""
    from robell._core.layers.features import RowBlocks
    from robell._core.ridge.solve import solve_ridge

    Z, y = complex_data
    model = ComplexRVFLClassifier(8, C=5.0, augmented=augmented, random_state=0).fit(Z, y)
    M, T = model._features(Z), np.eye(2)[y]
    blocks = RowBlocks(lambda rows: M[rows], *M.shape, M.dtype.type)
    found = solve_ridge(blocks, T, 5.0, None, True).loo_scores
    for i in range(0, 60, 7):
        keep = np.arange(60) != i
        expected = (M[i] @ strictly_linear(M[keep], T[keep], 5.0)).real
        np.testing.assert_allclose(found[i], expected, atol=1e-9)


def test_complex_singular_systems_have_the_pseudo_inverse_solution(complex_data):
    Z, y = complex_data
    Z = np.hstack([Z, Z])
    model = ComplexRVFLClassifier(1, C=1e18, random_state=0).fit(Z, y)
    assert model.solver_ == "svd"
    M = complex_features(Z, model.hidden_weights_, model.hidden_bias_, "sigmoid")
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(M) @ np.eye(2)[y], atol=1e-8)
    wide = ComplexRVFLClassifier(90, C=1e18, random_state=0).fit(
        np.repeat(Z, 2, axis=0), np.repeat(y, 2)
    )
    assert np.isfinite(wide.predict_proba(Z)).all()


def test_augmented_learns_what_strictly_linear_cannot(rng):
    """Target Re z: needs z and its conjugate; strictly linear must also zero the imaginary part."""
    Z = rng.normal(size=(400, 1)) + 1j * rng.normal(size=(400, 1))
    y = (Z[:, 0].real > 0).astype(int)
    strict, widely = (
        ComplexRVFLClassifier(1, C=1e4, augmented=a, random_state=0).fit(Z, y)
        for a in (False, True)
    )
    residual = [np.mean((m.decision_function(Z) - (2 * y - 1)) ** 2) for m in (strict, widely)]
    assert residual[1] < 0.8 * residual[0]


# -- nesting ---------------------------------------------------------------------------


@pytest.mark.parametrize("augmented", [False, True])
def test_complex_layers_are_nested_and_so_are_designs(complex_data, augmented):
    Z, y = complex_data
    small, large = (
        ComplexRVFLClassifier(n, augmented=augmented, random_state=3).fit(Z, y) for n in (7, 40)
    )
    np.testing.assert_array_equal(small.hidden_weights_, large.hidden_weights_[:, :7])
    np.testing.assert_array_equal(small.hidden_bias_, large.hidden_bias_[:7])
    M_small, M_large = small._features(Z), large._features(Z)
    np.testing.assert_allclose(M_small, M_large[:, : M_small.shape[1]], rtol=1e-13)


def test_real_and_imaginary_parts_are_independent():
    model = ComplexRVFLClassifier(3000, random_state=0).fit(np.eye(4), [0, 0, 1, 1])
    W = model.hidden_weights_.ravel()
    assert abs(np.corrcoef(W.real, W.imag)[0, 1]) < 0.05
    assert abs(np.corrcoef(model.hidden_bias_.real, model.hidden_bias_.imag)[0, 1]) < 0.06


# -- activations and encodings ---------------------------------------------------------


@pytest.mark.parametrize("name", [*ACTIVATIONS, *FULLY_COMPLEX])
def test_activations_equal_their_definition(rng, name):
    Z = rng.normal(size=(20, 3)) + 1j * rng.normal(size=(20, 3))
    expected = np.vectorize(lambda z: complex_activate(name, complex(z)))(Z)
    np.testing.assert_allclose(apply_complex_activation(name, Z), expected, rtol=1e-10)


def test_sech_does_not_overflow():
    Z = np.array([[800.0 + 1j, -800.0 + 1j, 5e3 - 3j]])
    np.testing.assert_array_equal(apply_complex_activation("complex_sech", Z), 0.0)


def test_callables_get_complex_numbers(complex_data):
    Z, y = complex_data
    seen = []

    def modulus_gate(pre_activation):
        seen.append(pre_activation.dtype)
        return pre_activation / (1 + np.abs(pre_activation))

    model = ComplexRVFLClassifier(5, modulus_gate, random_state=0).fit(Z, y)
    assert set(seen) == {np.dtype(complex)}
    assert np.isfinite(model.predict_proba(Z)).all()
    with pytest.raises(ValueError, match="activation must return numbers of the shape"):
        ComplexRVFLClassifier(activation=lambda z: z[:1]).fit(Z, y)


def test_phase_encoding_goes_from_one_to_minus_one_and_clips():
    low, span = np.array([0.0]), np.array([2.0])
    Z = encode(np.array([[0.0], [1.0], [2.0], [-5.0], [9.0]]), "phase", low, span, None)
    np.testing.assert_allclose(Z[:, 0], [1, 1j, -1, 1, -1], atol=1e-15)


def test_other_encodings(rng):
    X = rng.uniform(size=(6, 3))
    low, span = X.min(axis=0), X.max(axis=0) - X.min(axis=0)
    np.testing.assert_array_equal(encode(X, "cartesian", low, span, None), X)
    np.testing.assert_array_equal(
        encode(X, "pair", low, span, None),
        np.column_stack([X[:, 0] + 1j * X[:, 1], X[:, 2]]),
    )
    rate, shift = constants = draw_circular_constants(3, 0)
    u = (X - low) / span
    np.testing.assert_allclose(
        encode(X, "circular", low, span, constants), np.sin(rate * u + shift)
    )
    many = draw_circular_constants(5000, 0)
    assert (many[0].real > 0).all()
    assert (many[0].real <= 1).all()
    assert (many[0].imag > 0).all()
    assert many[1].real.max() < 2 * np.pi


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("augmented", [False, True])
def test_encodings_are_used_by_the_estimator(imbalanced, encoding, augmented):
    X, y = imbalanced
    model = ComplexRVFLClassifier(20, encoding=encoding, augmented=augmented, random_state=0).fit(
        X, y
    )
    n_inputs = 3 if encoding == "pair" else 5
    assert model.hidden_weights_.shape == (n_inputs, 20)
    assert model.coef_.shape == ((1 + augmented) * (n_inputs + 20), 2)
    circular = model.circular_ if encoding == "circular" else None
    Z = encode(X, encoding, model.feature_low_, model.feature_span_, circular)
    by_hand = ComplexRVFLClassifier(20, augmented=augmented, random_state=0).fit(Z, y)
    np.testing.assert_allclose(model.decision_function(X), by_hand.decision_function(Z))


def test_constant_features_and_values_outside_the_training_range(imbalanced):
    X, y = imbalanced
    X = np.column_stack([X, np.full(len(X), 3.0)])
    model = ComplexRVFLClassifier(random_state=0).fit(X, y)
    far = X.copy()
    far[:, -1] = 1e6
    np.testing.assert_array_equal(model.predict(far), model.predict(X))


# -- complex input ---------------------------------------------------------------------


def test_complex_frames_and_real_rows_for_a_complex_model(complex_data):
    Z, y = complex_data
    model = ComplexRVFLClassifier(random_state=0).fit(pd.DataFrame(Z, columns=list("abc")), y)
    assert model.complex_input_
    np.testing.assert_array_equal(model.feature_names_in_, list("abc"))
    array = ComplexRVFLClassifier(random_state=0).fit(Z, y)
    np.testing.assert_array_equal(array.predict(Z.real), array.predict(Z.real + 0j))


def test_bad_complex_input(complex_data, imbalanced):
    Z, y = complex_data
    model = ComplexRVFLClassifier(random_state=0)
    bad = Z.copy()
    bad[3, 1] = complex(0, np.nan)
    for call, message in (
        (lambda: model.fit(bad, y), "NaN"),
        (lambda: model.fit(Z, y + 1j), "Complex data not supported in y"),
        (lambda: model.fit(Z, y[:-1]), "inconsistent numbers of samples"),
        (lambda: model.fit(Z[:, 0], y), "Expected 2D array"),
        (lambda: model.fit(Z, y).predict(Z[:, :2]), "2 features"),
        (lambda: model.fit(*imbalanced).predict(imbalanced[0] + 0j), "fitted to real rows"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
