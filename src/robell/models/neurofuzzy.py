"""NF-RVFL: an RVFL network behind a layer of fuzzy rules.

For centres c_1..c_J and rule weights α_j:

    ω_ij = exp(-|x_i - c_j|²) / Σ_k exp(-|x_i - c_k|²)      firing strength, normalised
    F_ij = ω_ij (x_i · α_j)                                 output of rule j, without a constant
    H    = φ(F W + b),  W ~ Uniform[0, 1]                   hidden layer on the fuzzy block
    M    = [F X H]

The authors' code appends a column 0.1 to F and draws its weights too: b = 0.1 Uniform[0, 1].
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from robell._core.array import Array, softmax_of_rows
from robell._core.layers.features import (
    design_matrix,
    draw_random_layer,
    hidden_output,
    random_stream,
)
from robell._core.membership.pairs import require_squares, squared_distances
from robell.models._estimator import BaseRVFLClassifier

FUZZIFIER = 2.0  # exponent of fuzzy c-means
FCM_STEPS = 100
FCM_TOLERANCE = 1e-5


def draw_rule_weights(n_features: int, n_rules: int, seed: int) -> Array:
    """Draw α ~ Uniform[0, 1] of shape (B, J); rule j's do not depend on the number of rules."""
    return random_stream(seed, "rules").uniform(0.0, 1.0, size=(n_rules, n_features)).T


def firing_strengths(X: Array, centers: Array) -> Array:
    """Return ω, each row of which sums to one also for points far from every centre."""
    # A softmax of -|x - c|²: the plain product of the rules' memberships is 0/0 for many features.
    # |x|² is common to a row and cancels; the centres' mean is taken off, for rounding's sake.
    origin = centers.mean(axis=0)
    C = centers - origin
    logits = (X - origin) @ (2.0 * C.T)
    logits -= np.einsum("ij,ij->i", C, C)
    return np.asarray(softmax_of_rows(logits))


def fuzzy_block(X: Array, centers: Array, rule_weights: Array) -> Array:
    """Return F, the outputs of the rules weighted by their firing strengths."""
    return np.asarray(firing_strengths(X, centers) * (X @ rule_weights))


def choose_rows(X: Array, weight: Array, n_rows: int, seed: int) -> Array:
    """Draw distinct rows by weight: the largest of u^(1/weight) win (Efraimidis and Spirakis)."""
    keys = np.log(random_stream(seed, "centers").uniform(size=len(X))) / weight
    return X[np.sort(np.argsort(-keys, kind="stable")[:n_rows])]


def fuzzy_c_means(X: Array, weight: Array, centers: Array) -> Array:
    """Improve centres by fuzzy c-means with fuzzifier 2 until they stand still."""
    # u_ij = (|x_i - c_j|²)⁻¹ / Σ_k (|x_i - c_k|²)⁻¹,  c_j = Σ_i w_i u_ij² x_i / Σ_i w_i u_ij²
    spread = float(np.ptp(X)) or 1.0
    for _ in range(FCM_STEPS):
        D2 = np.maximum(squared_distances(X, centers), np.finfo(np.float64).tiny)
        # Relative to the nearest centre, so that a row on a centre gives 1 and 0, not inf.
        U = np.power(D2.min(axis=1, keepdims=True) / D2, 1.0 / (FUZZIFIER - 1.0))
        U /= U.sum(axis=1, keepdims=True)
        share = weight[:, None] * np.power(U, FUZZIFIER)
        moved = (share.T @ X) / share.sum(axis=0)[:, None]
        step = float(np.abs(moved - centers).max())
        centers = moved
        if step <= FCM_TOLERANCE * spread:
            break
    return centers


class NeuroFuzzyRVFLClassifier(BaseRVFLClassifier):
    """NF-RVFL: a neuro-fuzzy random vector functional link network.

    First-order fuzzy rules, one a cluster centre, turn each row into a fuzzy block: the rules'
    outputs weighted by how strongly each fires. A hidden layer of random weights works on that
    block, and block, inputs and nodes enter the output layer, fitted by ridge regression.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes; nested as in :class:`RVFLClassifier`.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLClassifier`.
    C : float or "loo", default=1.0
        Weight of the errors, as in :class:`RVFLClassifier`.
    n_rules : int, default=10
        Number of fuzzy rules; no more are made than there are distinct training rows.
    centers : {"kmeans", "fcm", "random"}, default="kmeans"
        How the rules' centres are found: by k-means, by fuzzy c-means with fuzzifier 2 started
        from random rows, or as random training rows.
    output_bias : bool, default=False
        Whether a constant enters the output layer.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"balanced", "ratio", "golden", "complement"}, dict or None, default=None
        Weight of each class, as in :class:`RVFLClassifier`.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``.
    random_state : int, RandomState instance or None, default=None
        Seed of the centres, the rules and the hidden layer.

    Attributes
    ----------
    centers_ : ndarray of shape (n_rules_, n_features_in_)
        Centres of the rules.
    rule_weights_ : ndarray of shape (n_features_in_, n_rules_)
        Weights of the rules' linear outputs.
    n_rules_ : int
        Number of rules made.
    hidden_weights_ : ndarray of shape (n_rules_, n_hidden)
        Weights of the hidden layer, uniform in [0, 1].
    hidden_bias_ : ndarray of shape (n_hidden,)
        Biases of the hidden layer.
    coef_ : ndarray of shape (n_rules_ + n_features_in_ + n_hidden, n_classes)
        Output weights: of the rules, then of the inputs, then of the nodes.
    intercept_ : ndarray of shape (n_classes,)
        Output bias; zeros unless ``output_bias``.
    classes_, C_, solver_, calibration_slope_, calibration_offsets_, n_features_in_, \
feature_names_in_ : see RVFLClassifier
        As in :class:`RVFLClassifier`.

    See Also
    --------
    RVFLClassifier : The same without fuzzy rules.

    Notes
    -----
    Centres are found on the distinct rows, weighted by how often each occurs, so the order of
    rows does not matter and ``sample_weight`` is exact multiplicity here too.

    References
    ----------
    M. Sajid, A. K. Malik, M. Tanveer, P. N. Suganthan, "Neuro-fuzzy random vector functional
    link neural network for classification and regression problems", IEEE Transactions on Fuzzy
    Systems 32 (2024). Constants not in the paper (rule and hidden weights uniform in [0, 1],
    kernel width 1, bias 0.1) follow the authors' code.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from robell import NeuroFuzzyRVFLClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = NeuroFuzzyRVFLClassifier(n_rules=5, random_state=0).fit(scale(X), y)
    >>> model.centers_.shape
    (5, 13)
    """

    centers_: NDArray[Any]
    n_rules_: int
    rule_weights_: NDArray[Any]

    _parameter_constraints = {
        **BaseRVFLClassifier._parameter_constraints,
        "n_rules": [Interval(Integral, 1, None, closed="left")],
        "centers": [StrOptions({"kmeans", "fcm", "random"})],
    }

    def __init__(
        self,
        n_hidden: int = 103,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        n_rules: int = 10,
        centers: str = "kmeans",
        output_bias: bool = False,
        bias_scale: float = 0.1,
        class_weight: str | dict[Any, Any] | None = None,
        calibrate: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.n_rules = n_rules
        self.centers = centers
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.random_state = random_state

    def _fit_features(self, rows, seed):
        require_squares(rows.X)
        distinct, place = np.unique(rows.X, axis=0, return_inverse=True)
        weight: Any = np.bincount(place.ravel(), weights=rows.multiplicity)
        self.n_rules_ = min(int(self.n_rules), len(distinct))
        if self.centers == "kmeans":
            from sklearn.cluster import KMeans  # brings a third of scikit-learn along

            start = int(random_stream(seed, "centers").integers(2**31))
            kmeans = KMeans(self.n_rules_, n_init=1, random_state=start)
            with warnings.catch_warnings():
                # Rows that differ by rounding only make fewer clusters: the rules then coincide.
                warnings.simplefilter("ignore", ConvergenceWarning)
                self.centers_ = kmeans.fit(distinct, sample_weight=weight).cluster_centers_
        else:
            self.centers_ = choose_rows(distinct, weight, self.n_rules_, seed)
            if self.centers == "fcm":
                self.centers_ = fuzzy_c_means(distinct, weight, self.centers_)
        self.rule_weights_ = draw_rule_weights(rows.X.shape[1], self.n_rules_, seed)
        self.hidden_weights_, self.hidden_bias_ = draw_random_layer(
            self.n_rules_, int(self.n_hidden), float(self.bias_scale), seed, low=0.0
        )

    def _features(self, X):
        F = fuzzy_block(X, self.centers_, self.rule_weights_)
        H = hidden_output(F, self.hidden_weights_, self.hidden_bias_, self.activation)
        return design_matrix(np.hstack([F, X]), H, True, self.output_bias)

    def _n_columns(self):
        return int(self.output_bias) + self.n_rules_ + self.n_features_in_ + int(self.n_hidden)
