"""Estimators on tensors: CPU tensors everywhere, a CUDA device where there is one."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_array_api_input

from robell import (
    ELMClassifier,
    GranularBallRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    pw_gbell_membership,
)
from robell._core.layers.features import ACTIVATIONS, apply_activation
from robell._core.membership import pairs as pairwise
from robell._core.membership import pairs_torch

torch = pytest.importorskip("torch", reason="needs the extra robell[gpu]")

MODELS = [
    RVFLClassifier(n_hidden=30, random_state=0),
    RVFLClassifier(n_hidden=30, random_state=0, output_bias=True, class_weight="balanced", C=1e3),
    RVFLClassifier(n_hidden=30, random_state=0, C="loo"),
    ELMClassifier(n_hidden=30, random_state=0, activation="tansig", C=1e-3),
    RoBellRVFLClassifier(n_hidden=30, random_state=0, kernel_width="scale"),
    RoBellRVFLClassifier(n_hidden=30, random_state=0, rho=0.5, class_weight=None, calibrate=False),
]


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return request.param


@pytest.fixture(autouse=True)
def dispatch():
    with config_context(array_api_dispatch=True):
        yield


def tensors(device, *arrays, dtype=None):
    return [torch.as_tensor(np.asarray(a), device=device, dtype=dtype) for a in arrays]


def host(value):
    return value.cpu().numpy() if torch.is_tensor(value) else np.asarray(value)


def assert_same_model(found, expected, X, X_device, tolerance=1e-8):
    for name in ("coef_", "intercept_", "hidden_weights_", "membership_", "radius_"):
        if hasattr(expected, name):
            value = getattr(found, name)
            assert torch.is_tensor(value), name
            assert str(value.device) == found.device_
            scale = max(1.0, np.nanmax(np.abs(getattr(expected, name))))
            np.testing.assert_allclose(
                host(value), getattr(expected, name), rtol=0, atol=tolerance * scale
            )
    scores = found.decision_function(X_device)
    assert torch.is_tensor(scores)
    np.testing.assert_allclose(host(scores), expected.decision_function(X), atol=tolerance * 10)
    np.testing.assert_array_equal(host(found.predict(X_device)), expected.predict(X))
    if expected.calibrate:
        probability = found.predict_proba(X_device)
        assert torch.is_tensor(probability)
        np.testing.assert_allclose(host(probability), expected.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n_rows", [200, 25])
def test_tensors_give_the_model_that_arrays_give(rng, device, model, n_rows):
    X = rng.normal(size=(n_rows, 4))
    y = (X[:, 0] + rng.normal(size=n_rows) > 1).astype(int)
    expected = clone(model).fit(X, y)
    X_device, y_device = tensors(device, X, y)
    found = clone(model).fit(X_device, y_device)
    assert torch.is_tensor(found.classes_)
    assert found.dtype_ == "float64"
    assert (found.solver_, found.C_) == (expected.solver_, expected.C_)
    assert_same_model(found, expected, X, X_device)


@pytest.mark.parametrize("model", MODELS[1:5])
@pytest.mark.parametrize("n_kinds", [2, 15])
def test_few_kinds_of_rows_are_left_out_as_those_of_arrays(rng, device, model, n_kinds):
    which, weight = rng.integers(0, n_kinds, 100), rng.integers(1, 4, 100).astype(float)
    X, y = rng.normal(size=(n_kinds, 2))[which], (rng.random(100) < which % 2 / 2 + 0.2).astype(int)
    expected = clone(model).fit(X, y, sample_weight=weight)
    X_device, y_device, weight_device = tensors(device, X, y, weight)
    found = clone(model).fit(X_device, y_device, sample_weight=weight_device)
    assert_same_model(found, expected, X, X_device)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[4]])
def test_several_classes_names_and_weights(rng, device, model):
    X = rng.normal(size=(150, 3))
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 150)]
    weight = rng.integers(0, 3, 150).astype(float)
    expected = clone(model).fit(X, y, sample_weight=weight)
    X_device, weight_device = tensors(device, X, weight)
    found = clone(model).fit(X_device, y, sample_weight=weight_device)
    assert_same_model(found, expected, X, X_device)


def test_a_singular_system_is_solved_and_said(rng, device):
    X = np.repeat(rng.normal(size=(80, 1)), 3, axis=1)
    y = (X[:, 0] > 0).astype(int)
    model = RVFLClassifier(n_hidden=4, C=1e15, random_state=0, activation="hardlim")
    expected = clone(model).fit(X, y)
    X_device, y_device = tensors(device, X, y)
    found = clone(model).fit(X_device, y_device)
    assert found.solver_ == expected.solver_ == "svd"
    np.testing.assert_array_equal(host(found.predict(X_device)), expected.predict(X))


def test_single_precision_rows(rng, device):
    X = rng.normal(size=(400, 6)).astype(np.float32) + 3
    y = (rng.random(400) < 0.2).astype(int)
    expected = RoBellRVFLClassifier(kernel_width="scale", random_state=0).fit(X, y)
    X_device, y_device = tensors(device, X, y)
    found = RoBellRVFLClassifier(kernel_width="scale", random_state=0).fit(X_device, y_device)
    assert found.dtype_ == "float32"
    assert found.engine_ == ("triton" if device == "cuda" else "torch")
    np.testing.assert_allclose(host(found.membership_), expected.membership_, atol=1e-4)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_the_arrays_ones(rng, device, name):
    Z = np.concatenate([rng.normal(0, 3, 500), [0.0, -0.0, 1.0, -1.0, 800.0, -800.0]])
    (values,) = tensors(device, Z)
    np.testing.assert_allclose(
        host(apply_activation(name, values)), apply_activation(name, Z), atol=1e-14
    )


@pytest.mark.parametrize("inv_width2", [1e-14, 0.1, 5.0])
def test_passes_over_pairs_equal_the_arrays_ones(rng, device, inv_width2, monkeypatch):
    monkeypatch.setattr(pairs_torch, "BLOCK_ELEMENTS", 5000)  # several blocks
    X = rng.normal(size=(300, 5))
    X[7], X[250] = X[3], X[251]
    X -= X.mean(axis=0)
    classes = np.sort(rng.integers(0, 3, 300))
    weight = rng.uniform(0.5, 2, 300)
    rows = tensors(device, X, classes, weight)
    sums = pairs_torch.same_class_dissimilarity(*rows, inv_width2)
    expected = pairwise.same_class_dissimilarity(X, classes, weight, inv_width2)
    np.testing.assert_allclose(host(sums), expected, rtol=1e-10)
    found = pairs_torch.neighbour_weights(*rows, 4.0)
    for one, other in zip(found, pairwise.neighbour_weights(X, classes, weight, 4.0)):
        np.testing.assert_allclose(host(one), other, rtol=1e-12)


on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@on_cuda
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [3, 40, 128])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_fused_kernels_equal_the_arrays_passes(rng, monkeypatch, dtype, n_features, scale):
    monkeypatch.setattr(pairs_torch, "MOST_TILES", 40)  # several launches
    X = rng.normal(size=(1000, n_features)) * rng.lognormal(0, 1, (1000, 1))
    X[5], X[990] = X[3], X[991]
    X = (scale * (X - X.mean(axis=0))).astype(dtype)
    classes = np.sort(rng.choice(3, 1000, p=[0.1, 0.6, 0.3]))
    rows = X.astype(np.float64)
    single = dtype == np.float32
    for weight in (np.ones(1000), rng.uniform(0.5, 2, 1000)):
        given = tensors("cuda", X, classes, weight)
        assert pairs_torch.engine_of(given[0]) == "triton"
        for inv_width2 in (1e-40, 1e-6, 1.0 / n_features, 30.0):
            inv_width2 /= scale**2
            sums = host(pairs_torch.same_class_dissimilarity(*given, inv_width2))
            expected = pairwise.same_class_dissimilarity(rows, classes, weight, inv_width2)
            np.testing.assert_allclose(sums, expected, rtol=2e-6 if single else 1e-11)
        for reach in (0.1, 1.0, 4.0):
            reach *= n_features * scale**2
            found = pairs_torch.neighbour_weights(*given, reach)
            expected = pairwise.neighbour_weights(rows, classes, weight, reach)
            for one, other in zip(found, expected):
                np.testing.assert_allclose(host(one), other, rtol=1e-6 if single else 1e-13)


@on_cuda
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_pair_may_lie_at_the_limit(rng, dtype):
    X = rng.integers(0, 3, (600, 4)).astype(dtype) + 100  # squared distances are whole numbers
    X[:, 3] *= 1e3
    classes, weight = np.sort(rng.integers(0, 2, 600)), np.ones(600)
    given = tensors("cuda", X, classes, weight)
    for reach in (0.0, 1.0, 2.0, 1e6, 1e6 + 1, 1e60):
        found = pairs_torch.neighbour_weights(*given, reach)
        within = ((X[:, None].astype(float) - X) ** 2).sum(axis=2) <= reach
        np.testing.assert_array_equal(host(found[0]), within.sum(axis=1))
        own = (within & (classes[:, None] == classes)).sum(axis=1)
        np.testing.assert_array_equal(host(found[1]), own)


@on_cuda
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_lie_at_no_distance(rng, dtype):
    X = np.repeat(rng.normal(size=(2, 5)), [300, 200], axis=0).astype(dtype)
    classes, weight = np.repeat([0, 1], [300, 200]), np.ones(500)
    given = tensors("cuda", X, classes, weight)
    assert not host(pairs_torch.same_class_dissimilarity(*given, 1e3)).any()
    total, own = pairs_torch.neighbour_weights(*given, 0.0)
    np.testing.assert_array_equal(host(total), np.repeat([300, 200], [300, 200]))
    np.testing.assert_array_equal(host(own), host(total))


@on_cuda
def test_kernels_too_narrow_for_products_are_taken_from_differences(rng):
    X = rng.normal(size=(500, 6)) * 1e4
    X[250:] = X[:250] + rng.normal(size=(250, 6)) * 1e-4
    classes, weight = np.zeros(500, int), np.ones(500)
    given = tensors("cuda", X - X.mean(axis=0), classes, weight)
    sums = host(pairs_torch.same_class_dissimilarity(*given, 1e8))
    expected = pairwise.same_class_dissimilarity(X - X.mean(axis=0), classes, weight, 1e8)
    assert np.ptp(expected) > 0.5
    np.testing.assert_allclose(sums, expected, rtol=1e-10)


def test_a_fitted_model_can_be_pickled_and_used(rng, device):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    X_device, y_device = tensors(device, X, y)
    model = RoBellRVFLClassifier(random_state=0).fit(X_device, y_device)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(host(again.predict(X_device)), host(model.predict(X_device)))
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scikit_learns_own_check_of_tensors(device, model, dtype):
    with config_context(array_api_dispatch=False):  # the check turns it on itself
        check_array_api_input(
            type(model).__name__,
            clone(model),
            "torch",
            device,
            dtype,
            # Values are compared above; here, scores of tensors are averaged in single precision.
            check_values=False,
            check_sample_weight=True,
        )


# -- what is refused -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X[:, 0], y), "Expected 2D array"),
        (lambda X, y: (X * float("nan"), y), r"NaN or infinity \(column 0, row 0\): RVFL"),
        (lambda X, y: (X, y[:-1]), "y must have shape"),
        (lambda X, y: (X, y * 0), "one class"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
    ],
)
def test_one_line_for_what_is_wrong(rng, device, change, message):
    X, y = tensors(device, rng.normal(size=(20, 3)), np.arange(20) % 2)
    with pytest.raises(ValueError, match=message) as error:
        RVFLClassifier().fit(*change(X, y))
    assert "\n" not in str(error.value)


def test_models_and_rows_must_be_in_one_place(rng, device):
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    X_device, y_device = tensors(device, X, y)
    fitted_there = RVFLClassifier(random_state=0).fit(X_device, y_device)
    with pytest.raises(ValueError, match="was fitted on"):
        fitted_there.predict(X)
    fitted_here = RVFLClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="was fitted on the host"):
        fitted_here.predict(X_device)
    with pytest.raises(ValueError, match="expecting 3 features"):
        fitted_there.predict(X_device[:, :2])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RoBellRVFLClassifier(membership="approximate"), "runs on the host"),
        (RVFLClassifier(activation=np.tanh), "one of the ten by name"),
        (GranularBallRVFLClassifier(), "takes arrays"),
    ],
)
def test_what_runs_on_the_host_only_is_refused(rng, device, model, message):
    X, y = tensors(device, rng.normal(size=(20, 3)), np.arange(20) % 2)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)


def test_without_dispatch_cpu_tensors_are_arrays(rng):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    with config_context(array_api_dispatch=False):
        model = RVFLClassifier(random_state=0).fit(*tensors("cpu", X, y))
        assert isinstance(model.coef_, np.ndarray)
        if torch.cuda.is_available():
            with pytest.raises(TypeError, match="array API dispatch on"):
                RVFLClassifier().fit(*tensors("cuda", X, y))


def test_memberships_alone_are_of_arrays(rng, device):
    X, y = tensors(device, rng.normal(size=(20, 3)), np.arange(20) % 2)
    with pytest.raises(TypeError, match="takes arrays"):
        pw_gbell_membership(X, y)


def test_a_refused_fit_leaves_a_model_on_its_device(imbalanced, device):
    X, y = imbalanced
    X, y = tensors(device, X, y)
    model = RVFLClassifier(n_hidden=10, random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, y, sample_weight=np.full(len(X), -1.0))
    assert model.device_ == str(X.device)
    assert torch.equal(model.predict(X), before)


class AsksForAPebibyte(RVFLClassifier):
    """Its features want more memory than any device has."""

    wants = False

    def _features(self, X):
        if self.wants:
            torch.empty(1 << 47, dtype=torch.float64, device=X.device)
        return super()._features(X)


def test_too_little_memory_on_a_device_is_one_line_with_what_is_needed(device, imbalanced):
    X, y = tensors(device, *imbalanced)
    model = AsksForAPebibyte(n_hidden=5, random_state=0).fit(X, y)
    model.wants = True
    for call in (lambda: model.fit(X, y), lambda: model.predict_proba(X)):
        with pytest.raises(MemoryError, match=r"at least 1,048,576\.\d\d GiB are needed") as caught:
            call()
        assert str(X.device) in str(caught.value)
        assert "\n" not in str(caught.value)
        assert caught.value.__context__.__traceback__ is None  # it would keep tensors alive


def test_other_errors_of_a_device_are_left_as_they_are(device, imbalanced, monkeypatch):
    X, y = tensors(device, *imbalanced)

    def fails(self, X):
        raise RuntimeError("device-side assert triggered")

    monkeypatch.setattr(RVFLClassifier, "_features", fails)
    with pytest.raises(RuntimeError, match="device-side assert"):
        RVFLClassifier(random_state=0).fit(X, y)
