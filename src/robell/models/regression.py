"""Networks that predict numbers: RVFL, and ELM, which is RVFL without direct links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robell.models._estimator import BaseRVFLRegressor
from robell.models._partial_fit import StreamingTargetsMixin
from robell.models.rvfl import STREAMS_AND_TENSORS


class RVFLRegressor(StreamingTargetsMixin, BaseRVFLRegressor):
    """Random vector functional link network for regression.

    A hidden layer of fixed random weights beside direct links from the inputs to the outputs;
    only the output weights are fitted, by ridge regression in closed form. The constant of the
    output layer is not penalised, as in scikit-learn's ``Ridge``: a shift of y shifts the
    predictions and nothing else, and a constant y is predicted as it is.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes. Layers are nested: for the same ``random_state``, the nodes of a
        smaller network are the first nodes of a larger one.
    activation : {"selu", "relu", "sigmoid", "sin", "hardlim", "tribas", "radbas", "sign", \
"leaky_relu", "tansig"} or callable, default="sigmoid"
        Function of the hidden nodes. A callable maps an array to an array of its shape.
    C : float or "loo", default=1.0
        Weight of the errors, 1/alpha of ``Ridge``: smaller values regularise more. ``"loo"`` and
        ``np.inf`` as in :class:`RVFLClassifier`; of several targets each counts in units of its
        own spread.
    direct_link : bool, default=True
        Whether the inputs enter the output layer too. Without, the model is an ELM.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    intervals : bool, default=False
        Whether ``predict_interval`` will be asked for: fit then leaves every row out once, in
        closed form, which about doubles its time.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layer.

    Attributes
    ----------
    n_outputs_ : int
        Number of targets.
    hidden_weights_, hidden_bias_ : ndarray of shape (n_features_in_, n_hidden) and (n_hidden,)
        The hidden layer.
    coef_, intercept_ : ndarray of shape (n_features_in_ + n_hidden, n_targets) and (n_targets,)
        Output weights: those of the inputs (where linked), then of the nodes; the constants.
    C_ : float
        The C used.
    solver_ : {"primal", "dual", "svd", "gram", "eigen"}
        How the system was solved, as in :class:`RVFLClassifier`.
    interval_residuals_, interval_weights_ : ndarray of shape (n_rows, n_targets) and (n_rows,)
        Absolute leave-one-out residuals of the training rows of positive weight, and how often
        each row counts; only with ``intervals``.
    device_, dtype_ : str
        Device and precision; only when fitted to tensors.
    n_features_in_, feature_names_in_ : int and ndarray of shape (n_features_in_,)
        Number of columns of X, and their names where it had names.

    See Also
    --------
    ELMRegressor : The same without direct links.
    RVFLClassifier : The same for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from robell import RVFLRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), RVFLRegressor(C="loo", random_state=0))
    >>> bool(cross_val_score(model, X, y).mean() > 0.45)
    True
    """

    _parameter_constraints = {
        **BaseRVFLRegressor._parameter_constraints,
        "direct_link": ["boolean"],
    }
    _capabilities = STREAMS_AND_TENSORS

    def __init__(
        self,
        n_hidden: int = 103,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        direct_link: bool = True,
        bias_scale: float = 0.1,
        intervals: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.direct_link = direct_link
        self.bias_scale = bias_scale
        self.intervals = intervals
        self.random_state = random_state

    @property
    def _direct_link(self):
        return self.direct_link


class ELMRegressor(StreamingTargetsMixin, BaseRVFLRegressor):
    """Extreme learning machine for regression: an RVFL network without direct links.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes; nested as in :class:`RVFLRegressor`.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLRegressor`.
    C : float or "loo", default=1.0
        Weight of the errors; smaller values regularise more; as in :class:`RVFLRegressor`.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    intervals : bool, default=False
        Whether ``predict_interval`` will be asked for.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layer.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (n_hidden, n_targets) and (n_targets,)
        Output weights of the nodes; the constants.
    n_outputs_, hidden_weights_, hidden_bias_, C_, solver_, interval_residuals_, \
interval_weights_, device_, dtype_, n_features_in_, feature_names_in_ : see RVFLRegressor
        As in :class:`RVFLRegressor`.

    See Also
    --------
    RVFLRegressor : The same with direct links.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from robell import ELMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ELMRegressor(intervals=True, random_state=0).fit(scale(X), y)
    >>> model.predict_interval(scale(X), coverage=0.8).shape
    (442, 2)
    """

    _direct_link = False
    _capabilities = STREAMS_AND_TENSORS
