"""The noise-robust classifier on tensors: on the CPU, and on a CUDA device where there is one."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_array_api_input

from robell import NoiseRobustRVFLClassifier
from robell._core.ensemble import members, trees
from robell._core.membership.samples import draw_keyed, ordered_keys
from robell._core.ridge import loo
from robell.models import noise_robust as judgement
from robell.models import noise_robust as module
from robell.noise import flip_uniformly

torch = pytest.importorskip("torch", reason="needs the extra robell[gpu]")


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return request.param


@pytest.fixture(autouse=True)
def dispatch():
    with config_context(array_api_dispatch=True):
        yield


def host(value):
    return value.cpu().numpy() if torch.is_tensor(value) else np.asarray(value)


def rows_of(rng, n_rows=400, n_classes=2):
    """Classes of different sizes, a fifth of the labels wrong, some rows twice."""
    y = np.minimum(rng.geometric(0.6, n_rows) - 1, n_classes - 1)
    X = rng.normal(size=(n_rows, 5)) * [1, 20, 0.1, 1, 1] + 2.5 * np.eye(n_classes, 5)[y]
    y = flip_uniformly(y, 0.2, 0)[0]
    X[-20:], y[-20:] = X[:20], y[:20]
    return X, y


def network(**parameters):
    return NoiseRobustRVFLClassifier(15, random_state=0, **parameters)


def assert_same(found, expected, X, X_device, tolerance=1e-8):
    arrays = {name: value for name, value in vars(expected).items() if np.ndim(value)}
    assert len(arrays) > 20
    for name, other in arrays.items():
        value = getattr(found, name)
        if name == "classes_":
            np.testing.assert_array_equal(host(value), other)
            continue
        assert torch.is_tensor(value), name
        assert str(value.device) == found.device_
        # Weights of landmarks near each other may trade: scores below agree more closely.
        atol = 100 * tolerance * max(1.0, np.abs(other).max())
        np.testing.assert_allclose(host(value), other, rtol=0, atol=atol, err_msg=name)
    assert found.noise_rate_ == pytest.approx(expected.noise_rate_, abs=tolerance)
    assert found.n_suspects_ == expected.n_suspects_
    for method, atol in (("predict_proba", tolerance), ("decision_function", 100 * tolerance)):
        value = getattr(found, method)(X_device)
        assert str(value.device) == found.device_
        assert value.dtype == torch.float64
        np.testing.assert_allclose(host(value), getattr(expected, method)(X), rtol=0, atol=atol)
    np.testing.assert_array_equal(host(found.predict(X_device)), expected.predict(X))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("n_rows", "n_classes"), [(400, 2), (400, 4), (1500, 2)])
def test_tensors_give_the_model_that_arrays_give(rng, device, n_rows, n_classes, dtype):
    X, y = rows_of(rng, n_rows, n_classes)
    X = X.astype(dtype)
    X_device, y_device = torch.as_tensor(X, device=device), torch.as_tensor(y, device=device)
    found = network().fit(X_device, y_device)
    assert found.dtype_ == dtype
    assert torch.is_tensor(found.classes_)
    assert_same(found, network().fit(X, y), X, X_device)


@pytest.mark.parametrize(("n_rows", "n_columns"), [(30, 4), (12, 90)])
def test_fewer_rows_than_columns(rng, device, n_rows, n_columns):
    """Such a fit repeats rounding, magnified."""
    X, y = rng.normal(size=(n_rows, n_columns)), np.arange(n_rows) % 2
    X_device = torch.as_tensor(X, device=device)
    found, expected = network().fit(X_device, torch.as_tensor(y)), network().fit(X, y)
    probability = host(found.predict_proba(X_device))
    np.testing.assert_allclose(probability, expected.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("probability", ["frequency", "balanced"])
def test_names_weights_and_absent_rows(rng, device, probability):
    X, y = rows_of(rng, n_classes=3)
    names, weight = np.array(["a", "b", "c"])[y], rng.integers(0, 3, len(y)).astype(float)
    names[weight == 0][:1] = "never seen otherwise"
    X_device, weight_device = (torch.as_tensor(a, device=device) for a in (X, weight))
    found = network(probability=probability).fit(X_device, names, weight_device)
    expected = network(probability=probability).fit(X, names, weight)
    assert isinstance(found.classes_, np.ndarray)
    assert_same(found, expected, X, X_device)


@pytest.mark.parametrize("limit", [250, 10_000])
def test_many_rows(rng, device, monkeypatch, limit):
    """The same rows are drawn, by keys made on the device."""
    monkeypatch.setattr(module, "MOST_SAMPLED", limit)
    for part, name, value in (
        (judgement, "MOST_EXACT", 200),
        (judgement, "MOST_JUDGED", 150),
        (loo, "MOST_EXACT", 100),
        (trees, "MOST_COMPARED", 200),
        (trees, "ROWS_COMPARED", 100),
    ):
        monkeypatch.setattr(part, name, value)
    X, y = rows_of(rng, 700)
    X_device, y_device = torch.as_tensor(X, device=device), torch.as_tensor(y, device=device)
    expected, found = network().fit(X, y), network().fit(X_device, y_device)
    assert_same(found, expected, X, X_device, 1e-6)
    assert hasattr(found, "n_samples_fitted_") == (limit == 250)
    if limit == 250:
        assert found.n_samples_fitted_ == expected.n_samples_fitted_


def test_of_many_rows_arrays_have_columns_in_single_precision(rng, device, monkeypatch):
    for part in (judgement, loo, members):
        monkeypatch.setattr(part, "MOST_EXACT", 200)
    X, y = rows_of(rng, 700)
    X_device, y_device = torch.as_tensor(X, device=device), torch.as_tensor(y, device=device)
    expected, found = network().fit(X, y), network().fit(X_device, y_device)
    assert_same(found, expected, X, X_device, 1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_keys_of_tensors_are_those_of_arrays(rng, device, dtype):
    X = np.vstack([rng.normal(size=(50, 3)), rng.integers(-3, 4, (50, 3)), np.zeros((2, 3))])
    X = X.astype(dtype)
    X[-1] = -0.0
    X_device = torch.as_tensor(X, device=device)
    keys = ordered_keys(X.astype(float), 7)
    np.testing.assert_array_equal(host(ordered_keys(X_device, 7)), keys)
    assert keys[-1] == keys[-2]
    y, weight = rng.integers(0, 2, len(X)), rng.uniform(1, 2, len(X))
    on_device = [torch.as_tensor(a, device=device) for a in (y, weight)]
    expected = draw_keyed(X.astype(float), y, weight, 2, 7, 30)
    for one, other in zip(draw_keyed(X_device, *on_device, 2, 7, 30), expected):
        np.testing.assert_allclose(host(one), other, rtol=1e-12)
    assert len(expected.places) >= 30


def test_thresholds_are_chosen_and_models_pickled(rng, device):
    X, y = rows_of(rng)
    X_device, y_device = torch.as_tensor(X, device=device), torch.as_tensor(y, device=device)
    model = network().fit(X_device, y_device).choose_threshold(budget=0.1)
    assert 0.0 < host(model.predict(X_device)).mean() <= 0.2
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(host(again.predict(X_device)), host(model.predict(X_device)))
    on_host = model.fit(X, y)
    assert not hasattr(on_host, "device_")
    assert isinstance(on_host.predict(X), np.ndarray)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scikit_learns_own_check_of_tensors(device, dtype):
    with config_context(array_api_dispatch=False):  # the check turns it on itself
        check_array_api_input(
            "NoiseRobustRVFLClassifier",
            clone(network()),
            "torch",
            device,
            dtype,
            check_values=False,  # compared above
            check_sample_weight=True,
        )


def test_refused_in_one_line(rng, device):
    X, y = (torch.as_tensor(a, device=device) for a in rows_of(rng))
    for bad, message in (
        ((X * float("nan"), y), "NaN or infinity"),
        ((X, y * 0), "one class"),
        ((X, y[:-1]), "y must have shape"),
    ):
        with pytest.raises(ValueError, match=message) as error:
            network().fit(*bad)
        assert "\n" not in str(error.value)
    model = network().fit(X, y)
    with pytest.raises(ValueError, match="was fitted on"):
        model.predict(host(X))
    with pytest.raises(ValueError, match="overflow"):
        model.predict_proba(torch.full_like(X[:1], 1e308))
