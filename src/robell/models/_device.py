"""Estimators on torch tensors: the same classes, their fitted attributes on the rows' device.

As everywhere in scikit-learn, tensors are taken as such when array API dispatch is on
(``sklearn.set_config(array_api_dispatch=True)``). Rows then never leave their device; what comes
to the host is one P x P system and a few numbers a row. Nothing falls back in silence: ``device_``
and ``engine_`` say where a model was fitted and what passed over the pairs.
"""

from __future__ import annotations

import numpy as np
from sklearn import get_config
from sklearn.utils import check_random_state

from robell._core.array import is_tensor
from robell._core.layers.features import draw_random_layer
from robell._core.membership.equations import pw_gbell
from robell._core.membership.pairs_torch import engine_of
from robell._core.ridge.calibrate import calibrated_probability, fit_calibration
from robell._core.ridge.on_device import (
    DeviceDesign,
    kernel_statistics_on_device,
    solve_on_device,
)
from robell.models._validation import check_multiplicity


def uses_device(X):
    """Say whether X is a tensor to be taken as one; refuse one that nothing here could read."""
    if not is_tensor(X):
        return False
    if get_config()["array_api_dispatch"]:
        return True
    if X.device.type != "cpu":
        raise TypeError(
            f"X is a tensor on {X.device}: turn scikit-learn's array API dispatch on, "
            "sklearn.set_config(array_api_dispatch=True), or give X.cpu()"
        )
    return False


def check_tensor(estimator, X, reset):
    """Return X as a table of finite floats on its device."""
    import torch

    name = type(estimator).__name__
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data either using "
            "X.reshape(-1, 1) if it has a single feature or X.reshape(1, -1) if it is one sample."
        )
    if X.is_complex():
        raise ValueError(f"Complex data not supported by {name}")
    if X.shape[0] == 0 or X.shape[1] == 0:
        what = "sample" if X.shape[0] == 0 else "feature"
        raise ValueError(
            f"Found array with 0 {what}(s) (shape={tuple(X.shape)}) while a minimum of 1 is "
            "required."
        )
    if not X.is_floating_point():
        X = X.to(torch.float64)
    if X.dtype not in (torch.float32, torch.float64):
        X = X.to(torch.float32)
    if not bool(torch.isfinite(X).all()):
        row, column = torch.nonzero(~torch.isfinite(X))[0].tolist()
        raise ValueError(
            f"Input X contains NaN or infinity (column {column}, row {row}): {name} accepts "
            "finite numbers only, so impute or drop such values first"
        )
    if reset:
        estimator.n_features_in_ = X.shape[1]
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return X


def fit_tensor(estimator, X, y, sample_weight=None):
    """Fit an RVFL, ELM or RoBell to rows on a device.

    Parameters
    ----------
    estimator : estimator of this package
        Its fitted attributes become tensors on the device of X; ``classes_`` a tensor where y is
        one.
    X : tensor of shape (n_samples, n_features)
        Rows.
    y : tensor or array-like of shape (n_samples,)
        Labels.
    sample_weight : tensor or array-like of shape (n_samples,), default=None
        Multiplicities.

    Returns
    -------
    estimator : the estimator
        Fitted.
    """
    import torch

    X = check_tensor(estimator, X, reset=True)
    if callable(estimator.activation):
        raise ValueError("on a device, activation must be one of the ten by name")
    if estimator.C == "loo":
        raise ValueError("C='loo' is chosen on the host: give X as an array, or a number for C")
    labels, estimator.classes_ = _encode(y, len(X), X.device)
    weight = check_multiplicity(_host(sample_weight), len(X))
    present = torch.as_tensor(np.flatnonzero(weight), device=X.device)
    multiplicity = torch.as_tensor(weight, device=X.device)
    if len(present) < len(X):
        X, labels, multiplicity = X[present], labels[present], multiplicity[present]
        _require_all_classes(estimator, labels)
    estimator.device_, estimator.dtype_ = str(X.device), str(X.dtype).removeprefix("torch.")
    seed = int(check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max))
    U, b = draw_random_layer(X.shape[1], int(estimator.n_hidden), float(estimator.bias_scale), seed)
    estimator.hidden_weights_ = torch.as_tensor(U, device=X.device)
    estimator.hidden_bias_ = torch.as_tensor(b, device=X.device)
    importance = _importance(estimator, X, labels, multiplicity, present, len(weight))
    total = multiplicity if importance is None else multiplicity * importance
    T = torch.zeros((len(X), len(estimator.classes_)), dtype=torch.float64, device=X.device)
    T[torch.arange(len(X), device=X.device), labels] = 1.0
    left_out = 1.0 / multiplicity.clamp(min=1.0) if estimator.calibrate else None
    design = _design(estimator, X)
    estimator.C_ = estimator.C
    solution = solve_on_device(design, T, float(estimator.C), total, left_out)
    beta = torch.as_tensor(solution.beta, device=X.device)
    n_bias = int(estimator.output_bias)
    estimator.coef_, estimator.intercept_ = beta[n_bias:], beta[:n_bias].sum(dim=0)
    estimator.solver_ = solution.method
    if estimator.calibrate:
        host_total = total.cpu().numpy()
        seen = host_total * (weight.sum() / host_total.sum())
        calibration = fit_calibration(solution.loo_scores, T.cpu().numpy(), seen)
        estimator.calibration_slope_ = calibration[0]
        estimator.calibration_offsets_ = torch.as_tensor(calibration[1], device=X.device)
    return estimator


def _require_all_classes(estimator, labels):
    present = labels.unique()
    if len(present) < len(estimator.classes_):
        raise ValueError("on a device every class must have a row of positive sample_weight")


def _encode(y, n_rows, device):
    """Return labels as numbers on the device, and the classes."""
    import torch

    if is_tensor(y):
        if y.shape != (n_rows,):
            raise ValueError(f"y must have shape ({n_rows},); got {tuple(y.shape)}")
        classes, labels = torch.unique(y.to(device), return_inverse=True)
    else:
        values = np.asarray(y)
        if values.shape != (n_rows,):
            raise ValueError(f"y must have shape ({n_rows},); got {values.shape}")
        classes, place = np.unique(values, return_inverse=True)
        labels = torch.as_tensor(place, device=device)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes; it has one class, {classes[0]!r}")
    return labels, classes


def _host(values):
    return values.cpu().numpy() if is_tensor(values) else values


def _importance(estimator, X, labels, multiplicity, present, n_given):
    """Return class cost times membership of every row, or None for ones."""
    import torch

    host_labels, host_weight = labels.cpu().numpy(), multiplicity.cpu().numpy()
    cost = estimator._class_cost(host_labels, host_weight)
    importance = None if cost is None else torch.as_tensor(cost, device=X.device)[labels]
    if not hasattr(estimator, "rho"):
        return importance
    if estimator.membership == "approximate":
        raise ValueError("membership='approximate' runs on the host; on a device it is 'exact'")
    estimator.membership_method_ = "exact"
    width = estimator.kernel_width
    if width == "scale":
        width = _scale_width(X, multiplicity)
    statistics = kernel_statistics_on_device(
        X, labels, len(estimator.classes_), float(width), multiplicity
    )
    found = pw_gbell(statistics, host_labels, float(estimator.rho))
    estimator.kernel_width_, estimator.engine_ = float(width), engine_of(X)
    for name, values, absent in (
        ("membership_", found.membership, 0.0),
        ("membership_error_", np.zeros(len(present)), 0.0),
        ("class_probability_", found.class_probability, float("nan")),
        ("radius_", found.radius, float("nan")),
    ):
        given = torch.full((n_given,), absent, dtype=torch.float64, device=X.device)
        given[present] = torch.as_tensor(values, device=X.device)
        setattr(estimator, name, given)
    membership = estimator.membership_[present]
    return membership if importance is None else importance * membership


def _scale_width(X, multiplicity):
    """Return sqrt(B Var X) as :func:`robell._core.membership.equations.scale_kernel_width` does."""
    import torch

    share = (multiplicity / multiplicity.sum())[:, None] / X.shape[1]
    values = X.to(torch.float64)
    variance = float((share * (values - (share * values).sum()).square()).sum())
    return float(np.sqrt(X.shape[1] * variance)) or 1.0


def _design(estimator, X):
    return DeviceDesign(
        X,
        estimator.hidden_weights_,
        estimator.hidden_bias_,
        estimator.activation,
        estimator._direct_link,
        estimator.output_bias,
    )


def scores_of_tensor(estimator, X):
    """Return scores of rows on a device: of the classes, or the second's less the first's."""
    import torch

    if not is_tensor(estimator.coef_) or str(X.device) != estimator.device_:
        where = getattr(estimator, "device_", "the host, from arrays")
        raise ValueError(f"{type(estimator).__name__} was fitted on {where}; X is on {X.device}")
    X = check_tensor(estimator, X, reset=False)
    beta = estimator.coef_
    if estimator.output_bias:
        beta = torch.cat([estimator.intercept_[None, :], beta])
    if len(estimator.classes_) == 2:
        beta = beta[:, 1:] - beta[:, :1]
    scores = _design(estimator, X).times(beta)
    if not bool(torch.isfinite(scores).all()):
        raise ValueError(
            "the scores overflow: X is far larger than the training rows; "
            "scale both alike, for instance with StandardScaler"
        )
    return scores


def predict_tensor(estimator, scores):
    """Return the class of the largest score, the first of equal ones."""
    best = (scores[:, 0] > 0).long() if scores.shape[1] == 1 else scores.argmax(dim=1)
    if is_tensor(estimator.classes_):
        return estimator.classes_[best]
    return estimator.classes_[best.cpu().numpy()]


def probability_tensor(estimator, scores):
    """Return calibrated probabilities on the scores' device."""
    import torch

    values = scores.cpu().numpy()
    if values.shape[1] == 1:
        values = np.hstack([np.zeros_like(values), values])
    found = calibrated_probability(
        values, estimator.calibration_slope_, _host(estimator.calibration_offsets_)
    )
    return torch.as_tensor(found, device=scores.device)
