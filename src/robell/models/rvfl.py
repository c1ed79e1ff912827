"""The plain networks of the family: RVFL, and ELM, which is RVFL without direct links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robell.models._estimator import BaseRVFLClassifier, Capabilities
from robell.models._partial_fit import StreamingMixin

STREAMS_AND_TENSORS = Capabilities(streams=True, passes=True, tensors=True, exact_search=True)


class RVFLClassifier(StreamingMixin, BaseRVFLClassifier):
    """Random vector functional link network.

    A hidden layer of fixed random weights beside direct links from the inputs to the outputs;
    only the output weights are fitted, by ridge regression on one-hot targets in closed form.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes. Layers are nested: for the same ``random_state``, the nodes of a
        smaller network are the first nodes of a larger one.
    activation : {"selu", "relu", "sigmoid", "sin", "hardlim", "tribas", "radbas", "sign", \
"leaky_relu", "tansig"} or callable, default="sigmoid"
        Function of the hidden nodes. A callable maps an array to an array of its shape.
    C : float or "loo", default=1.0
        Weight of the errors, as in ``SVC``: smaller values regularise more. ``"loo"`` takes the
        power of ten from 1e-5 to 1e5 with the smallest weighted squared leave-one-out error, found
        in closed form. ``np.inf`` is the least squares solution of smallest norm (the
        pseudo-inverse); not in streams and passes, whose sums do not hold it.
    direct_link : bool, default=True
        Whether the inputs enter the output layer too. Without, the model is an ELM.
    output_bias : bool, default=False
        Whether a constant enters the output layer. It is penalised like any other column.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"balanced", "ratio", "golden", "complement"}, dict or None, default=None
        Weight of each class: ``"balanced"`` is n / (K n_c), ``"ratio"`` n_min / n_c, ``"golden"``
        n / (K n_c), times 0.618 for classes larger than n / K, and ``"complement"`` 1 - n_c / n
        (the last two as in CSWRVFL, ``docs/guide/family_formulas.md``); a dict maps labels to
        weights, 1 where absent.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``, from closed-form leave-one-out
        scores. Without, fit takes about half the time and there is no ``predict_proba``.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layer.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    hidden_weights_, hidden_bias_ : ndarray of shape (n_features_in_, n_hidden) and (n_hidden,)
        The hidden layer.
    coef_, intercept_ : ndarray of shape (n_features_in_ + n_hidden, n_classes) and (n_classes,)
        Output weights, of inputs and nodes, and of the constant: zeros unless ``output_bias``.
    C_ : float
        The C used.
    solver_ : {"primal", "dual", "svd", "gram", "eigen"}
        How the system was solved: by Cholesky in primal or dual form, by singular values where it
        was singular; after ``partial_fit`` from Gram matrices, by Cholesky or eigenvalues.
    calibration_slope_, calibration_offsets_ : float and ndarray of shape (n_classes,)
        Map from scores to log-probabilities; only with ``calibrate``.
    device_, dtype_ : str
        Device and precision; only when fitted to tensors.
    n_features_in_, feature_names_in_ : int and ndarray of shape (n_features_in_,)
        Number of columns of X, and their names where it had names.

    See Also
    --------
    ELMClassifier : The same without direct links.
    RoBellRVFLClassifier : The same with rows weighted for imbalance and position.

    References
    ----------
    Y.-H. Pao, G.-H. Park, D. J. Sobajic, "Learning and generalization characteristics of the
    random vector functional-link net", Neurocomputing 6 (1994).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from robell import RVFLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), RVFLClassifier(random_state=0))
    >>> bool(cross_val_score(model, X, y).mean() > 0.95)
    True
    """

    _parameter_constraints = {
        **BaseRVFLClassifier._parameter_constraints,
        "direct_link": ["boolean"],
    }

    def __init__(
        self,
        n_hidden: int = 103,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        direct_link: bool = True,
        output_bias: bool = False,
        bias_scale: float = 0.1,
        class_weight: str | dict[Any, Any] | None = None,
        calibrate: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.direct_link = direct_link
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.random_state = random_state

    _capabilities = STREAMS_AND_TENSORS

    @property
    def _direct_link(self):
        return self.direct_link


class ELMClassifier(StreamingMixin, BaseRVFLClassifier):
    """Extreme learning machine: an RVFL network without direct links (the paper's RVFLwoDL).

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes; nested as in :class:`RVFLClassifier`.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLClassifier`.
    C : float or "loo", default=1.0
        Weight of the errors, as in :class:`RVFLClassifier`.
    output_bias : bool, default=False
        Whether a constant enters the output layer.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"balanced", "ratio", "golden", "complement"}, dict or None, default=None
        Weight of each class, as in :class:`RVFLClassifier`.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layer.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (n_hidden, n_classes) and (n_classes,)
        Output weights of the nodes; the constant's are zeros unless ``output_bias``.
    classes_, hidden_weights_, hidden_bias_, C_, solver_, calibration_slope_, \
calibration_offsets_, device_, dtype_, n_features_in_, feature_names_in_ : see RVFLClassifier
        As in :class:`RVFLClassifier`.

    See Also
    --------
    RVFLClassifier : The same with direct links.

    References
    ----------
    G.-B. Huang, Q.-Y. Zhu, C.-K. Siew, "Extreme learning machine: theory and applications",
    Neurocomputing 70 (2006). The original solves by pseudo-inverse; this is its ridge form,
    which a large ``C`` brings back to it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from robell import ELMClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = ELMClassifier(random_state=0).fit(scale(X), y)
    >>> model.predict_proba(scale(X)).shape
    (178, 3)
    """

    _direct_link = False
    _capabilities = STREAMS_AND_TENSORS
