"""Regressors and deep networks on tensors: of the CPU, and of a CUDA device where there is one."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_array_api_input

from robell import DeepRVFLClassifier, DeepRVFLRegressor, ELMRegressor, RVFLRegressor

torch = pytest.importorskip("torch", reason="needs the extra robell[gpu]")

REGRESSORS = [
    RVFLRegressor(n_hidden=20, random_state=0, intervals=True),
    RVFLRegressor(n_hidden=20, random_state=0, C="loo"),
    RVFLRegressor(n_hidden=90, random_state=0, C=1e-3, intervals=True),  # wide
    RVFLRegressor(n_hidden=90, random_state=0, C="loo"),
    RVFLRegressor(n_hidden=90, random_state=0, C=np.inf, intervals=True),
    ELMRegressor(n_hidden=20, random_state=0, activation="tansig"),
    DeepRVFLRegressor(n_hidden=12, random_state=0, intervals=True),
    DeepRVFLRegressor(n_hidden=12, random_state=0, combine="concat", C="loo"),
]
DEEP = [
    DeepRVFLClassifier(n_hidden=12, random_state=0, combine=combine, output_bias=combine == "mean")
    for combine in ("mean", "vote", "concat")
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


def table(n_targets=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = np.column_stack([X @ [1.0, 2.0, 0.0, -1.0], np.sin(X[:, 0]) + 50.0])
    Y += 0.1 * rng.normal(size=Y.shape)
    return X, Y[:, 0] if n_targets == 1 else Y


def host(value):
    return value.cpu().numpy() if torch.is_tensor(value) else np.asarray(value)


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("targets_on_device", [True, False])
@pytest.mark.parametrize("few_kinds", [True, False])
def test_a_regressor_on_tensors_is_that_on_arrays(
    model, n_targets, targets_on_device, few_kinds, device
):
    X, Y = table(n_targets)
    if few_kinds:
        X = np.sign(X)[:, : 1 + n_targets]
    w = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    expected = clone(model).fit(X, Y, w)
    rows = torch.as_tensor(X, device=device)
    targets = torch.as_tensor(Y, device=device) if targets_on_device else Y
    found = clone(model).fit(rows, targets, w)
    predicted = found.predict(rows)
    assert torch.is_tensor(predicted)
    assert torch.is_tensor(found.coef_)
    assert found.device_ == str(rows.device)
    np.testing.assert_array_equal(found.C_, expected.C_)
    np.testing.assert_allclose(host(predicted), expected.predict(X), atol=1e-7)
    if model.intervals:
        bounds = found.predict_interval(rows, 0.8)
        assert torch.is_tensor(bounds)
        np.testing.assert_allclose(host(bounds), expected.predict_interval(X, 0.8), atol=1e-6)


@pytest.mark.parametrize("model", DEEP, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_deep_classifier_on_tensors_is_that_on_arrays(model, n_classes, device):
    X, score = table(1)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    expected = clone(model).fit(X, y)
    rows = torch.as_tensor(X, device=device)
    found = clone(model).fit(rows, torch.as_tensor(y, device=device))
    np.testing.assert_array_equal(host(found.predict(rows)), expected.predict(X))
    np.testing.assert_allclose(
        host(found.decision_function(rows)), expected.decision_function(X), atol=1e-9
    )
    np.testing.assert_allclose(
        host(found.predict_proba(rows)), expected.predict_proba(X), atol=1e-7
    )


@pytest.mark.parametrize("model", [RVFLRegressor(), DeepRVFLClassifier(), DeepRVFLRegressor()])
def test_scikit_learn_s_check_of_array_api_input(model):
    check_array_api_input(type(model).__name__, model, "torch", dtype_name="float64")


def test_bad_targets_on_a_device_are_refused_in_one_line(device):
    X, Y = table()
    rows = torch.as_tensor(X, device=device)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        RVFLRegressor(5).fit(rows, torch.as_tensor(np.where(Y > 0, np.nan, Y), device=device))
    with pytest.raises(ValueError, match=r"y must have shape \(60,\) or \(60, n_targets\)"):
        RVFLRegressor(5).fit(rows, torch.zeros(59, device=device))
    with pytest.raises(TypeError, match="partial_fit takes arrays"):
        RVFLRegressor(5).partial_fit(rows, Y)
