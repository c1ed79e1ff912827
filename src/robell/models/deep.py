"""dRVFL and edRVFL: networks of several random layers, for classes and for numbers."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from robell._core.array import beside, in_double_precision, is_tensor, namespace, one_hot
from robell._core.layers.deep import draw_chain, hidden_outputs, kept_outputs, normalise, row_blocks
from robell._core.layers.features import RowBlocks
from robell._core.ridge.solve import RidgeSolution
from robell.models._estimator import (
    BaseRVFLClassifier,
    BaseRVFLRegressor,
    Capabilities,
    FamilyMember,
    require_finite_scores,
)

SOLVERS = ("primal", "dual", "svd")  # from the usual to what singular systems need


class DeepLayers(FamilyMember):
    """A chain of random layers, with one ridge for all or one for each; not for direct use."""

    n_layers: int
    combine: str
    normalize: bool
    layer_coef_: list[Any]

    _nested_parameter = "n_layers"
    _capabilities = Capabilities(tensors=True, exact_search=True)
    _layer_constraints = {
        "n_layers": [Interval(Integral, 1, None, closed="left")],
        "normalize": ["boolean"],
    }

    @property
    def _columns_per_node(self):
        return int(self.n_hidden)

    # -- slots -------------------------------------------------------------------------

    def _fit_features(self, rows, seed):
        """Draw the layers, and normalise them by the rows (slot: features)."""
        sizes = (rows.X.shape[1], int(self.n_hidden), int(self.n_layers))
        layers = draw_chain(*sizes, float(self.bias_scale), seed)
        self.__dict__.pop("_outputs", None)
        if self.normalize:
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                layers, kept = normalise(rows.X, rows.multiplicity, layers, self.activation)
            self._outputs = (rows.X, kept)  # until the end of fit
        self.hidden_weights_ = [beside(U, rows.X) for U, _ in layers]
        self.hidden_bias_ = [beside(b, rows.X) for _, b in layers]

    def _features(self, X):
        """Make rows of the design matrix [1 x h_1 ... h_L] (slot: features)."""
        X = in_double_precision(X)
        return self._joined(X, list(hidden_outputs(X, self._layers(), self.activation)))

    def _layers(self):
        return list(zip(self.hidden_weights_, self.hidden_bias_, strict=True))

    def _joined(self, X, outputs):
        """Return [1 x h ...] of rows and some of their hidden outputs."""
        constant = [namespace(X).ones_like(X[:, :1])] if self.output_bias else []
        return namespace(X).hstack([*constant, X, *outputs])

    def _design(self, X):
        """Return the design matrix of some rows, of outputs that are kept where they are."""
        kept = self._kept_of(X)
        return super()._design(X) if kept is None else self._design_of(X, kept)

    def _design_of(self, X, kept):
        def make_rows(rows):
            return self._joined(in_double_precision(X[rows]), [H[rows] for H in kept])

        width = self._n_shared() + len(kept) * int(self.n_hidden)
        return RowBlocks(make_rows, len(X), width, tensors=is_tensor(X))

    def _kept_of(self, X):
        """Return the hidden outputs of training rows during fit; None of other rows."""
        rows, kept = vars(self).get("_outputs", (None, None))
        return kept if rows is X else None

    def _n_shared(self):
        """Return how many columns all layers share: the constant and the inputs."""
        return int(self.output_bias) + self.n_features_in_

    def _n_columns(self):
        return self._n_shared() + int(self.n_layers) * int(self.n_hidden)

    def _of_layer(self, M, layer):
        """Return the columns [1 x h_l] of one layer among those of all."""
        shared, width = self._n_shared(), int(self.n_hidden)
        start = shared + layer * width
        return namespace(M).hstack([M[:, :shared], M[:, start : start + width]])

    def _fit_ridge(self, X, T, weights, further_penalty, leave_out):
        """Solve one ridge for all layers, or one for each, and combine them (slot: ridge)."""
        if self.combine == "concat":
            return super()._fit_ridge(X, T, weights, further_penalty, leave_out)
        found, chosen = [], []
        for design in self._layer_designs(X):
            found.append(super()._fit_ridge(X, T, weights, further_penalty, leave_out, design))
            chosen.append(self.C_)
        self.C_ = np.array(chosen) if self.C == "loo" else self.C
        self.layer_coef_ = [solution.beta for solution in found]
        scores = None
        if leave_out:
            scores = sum(self._vote(solution.loo_scores) for solution in found) / len(found)
        method = max((solution.method for solution in found), key=SOLVERS.index)
        # The mean of scores on [shared h_l] is one linear score on [shared h_1 ... h_L].
        n, betas = self._n_shared(), self.layer_coef_
        parts = [sum(beta[:n] for beta in betas), *(beta[n:] for beta in betas)]
        return RidgeSolution(namespace(X).vstack(parts) / len(betas), method, scores)

    def _layer_designs(self, X):
        """Yield the design matrix [1 x h_l] of each layer."""
        kept = self._kept_of(X)
        if kept is None:
            kept = kept_outputs(X, int(self.n_hidden), int(self.n_layers))
            if kept is None:  # more rows than can be kept: each layer is made anew
                width = self._n_shared() + int(self.n_hidden)
                for layer in range(int(self.n_layers)):

                    def make_rows(rows, layer=layer):
                        x, layers = in_double_precision(X[rows]), self._layers()[: layer + 1]
                        *_, H = hidden_outputs(x, layers, self.activation)
                        return self._joined(x, [H])

                    yield RowBlocks(make_rows, len(X), width, tensors=is_tensor(X))
                return
            for rows in row_blocks(X, int(self.n_hidden)):
                x = in_double_precision(X[rows])
                outputs = hidden_outputs(x, self._layers(), self.activation)
                for H, found in zip(kept, outputs, strict=True):
                    H[rows] = found
        for H in kept:
            yield self._design_of(X, [H])

    def _vote(self, scores):
        """Return what a layer contributes to the mean: its scores."""
        return scores

    def _fit_weighted(self, prepared, importance):
        self.__dict__.pop("layer_coef_", None)
        try:
            return super()._fit_weighted(prepared, importance)
        finally:
            self.__dict__.pop("_outputs", None)

    def _linear_scores(self, X, beta):
        """Return validated rows times output weights, without joining the layers' columns."""
        shared, width = self._n_shared(), int(self.n_hidden)
        n_bias = int(self.output_bias)
        parts = []
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for rows in row_blocks(X, width):
                x, place = in_double_precision(X[rows]), shared
                scores = x @ beta[n_bias:shared]
                if n_bias:
                    scores += beta[0]
                for H in hidden_outputs(x, self._layers(), self.activation):
                    scores += H @ beta[place : place + width]
                    place += width
                parts.append(scores)
        return namespace(X).concatenate(parts)


class DeepRVFLClassifier(DeepLayers, BaseRVFLClassifier):
    """Deep RVFL: a chain of random layers, each fed with the inputs and the layer before it.

    With ``combine="mean"`` or ``"vote"`` it is the ensemble deep RVFL (edRVFL): each layer has a
    ridge regression of its own on the inputs and its nodes, and the scores are averaged, or the
    layers vote. With ``"concat"`` it is the deep RVFL (dRVFL): one ridge on the inputs and the
    nodes of all layers.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes of every layer. Depth is nested, not width: a network of fewer
        layers is the first layers of a deeper one.
    n_layers : int, default=3
        Number of layers.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLClassifier`.
    C : float or "loo", default=1.0
        Weight of the errors, as in :class:`RVFLClassifier`; with ``"loo"``, every layer has its
        own, unless ``combine="concat"``.
    combine : {"mean", "vote", "concat"}, default="mean"
        Mean of the layers' scores; majority of their predictions, the first class of equally
        many; or one ridge on all layers.
    normalize : bool, default=True
        Whether a layer's sums are brought to mean 0 and deviation 1 over the training rows, before
        the bias is added.
    output_bias : bool, default=False
        Whether a constant enters the output layers.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"balanced", "ratio", "golden", "complement"}, dict or None, default=None
        Weight of each class, as in :class:`RVFLClassifier`.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``, from the mean of the layers'
        leave-one-out scores (or votes).
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layers.

    Attributes
    ----------
    hidden_weights_ : list of ndarray
        Weights of every layer, of the inputs and then of the layer before; normalisation folded
        in.
    hidden_bias_ : list of ndarray of shape (n_hidden,)
        Biases of every layer, normalisation folded in.
    coef_ : ndarray of shape (n_features_in_ + n_layers * n_hidden, n_classes)
        Output weights of the inputs and of all layers' nodes. The mean of the layers' scores is
        the score of these; votes come from ``layer_coef_``.
    intercept_ : ndarray of shape (n_classes,)
        Output bias; zeros unless ``output_bias``.
    layer_coef_ : list of ndarray of shape (n_features_in_ + n_hidden, n_classes)
        Output weights of every layer, the constant's first where there is one; not with
        ``combine="concat"``.
    C_ : float or ndarray of shape (n_layers,)
        The C used; with ``C="loo"``, that of every layer.
    solver_ : {"primal", "dual", "svd"}
        How the systems were solved, as in :class:`RVFLClassifier`.
    classes_, calibration_slope_, calibration_offsets_, device_, dtype_, n_features_in_, \
feature_names_in_ : see RVFLClassifier
        As in :class:`RVFLClassifier`.

    See Also
    --------
    RVFLClassifier : One layer.
    DeepRVFLRegressor : The same for numbers.

    Notes
    -----
    Releases of the authors disagree about what is normalised, when the bias is added and what
    enters the output of a layer; this is our choice among them. Leaving a row out holds the
    normalisation fixed, which knows no labels. Five layers gained nothing to speak of over five
    separate RVFL networks on 17 small tables (``docs/guide/family.md``).

    References
    ----------
    Q. Shi, R. Katuwal, P. N. Suganthan, M. Tanveer, "Random vector functional link neural network
    based ensemble deep learning", Pattern Recognition 117 (2021) 107978, arXiv 1907.00350.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from robell import DeepRVFLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), DeepRVFLClassifier(n_layers=5, random_state=0))
    >>> bool(cross_val_score(model, X, y).mean() > 0.95)
    True
    """

    _parameter_constraints = {
        **BaseRVFLClassifier._parameter_constraints,
        **DeepLayers._layer_constraints,
        "combine": [StrOptions({"mean", "vote", "concat"})],
    }

    def __init__(
        self,
        n_hidden: int = 103,
        n_layers: int = 3,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        combine: str = "mean",
        normalize: bool = True,
        output_bias: bool = False,
        bias_scale: float = 0.1,
        class_weight: str | dict[Any, Any] | None = None,
        calibrate: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_layers = n_layers
        self.activation = activation
        self.C = C
        self.combine = combine
        self.normalize = normalize
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.random_state = random_state

    def _vote(self, scores):
        """Return a layer's scores, or 1 for the class of the largest one, the first of equal."""
        if self.combine != "vote":
            return scores
        return one_hot(scores.argmax(1), scores.shape[1])

    def _class_scores(self, X, difference=False):
        if self.combine != "vote":
            return super()._class_scores(X, difference)
        votes = []
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for _, M in self._design(X):
                votes.append(0.0)
                for layer, beta in enumerate(self.layer_coef_):
                    scores = self._of_layer(M, layer) @ beta
                    require_finite_scores(scores)
                    votes[-1] = votes[-1] + self._vote(scores)
        share = namespace(X).concatenate(votes) / len(self.layer_coef_)
        return share[:, 1:] - share[:, :1] if difference else share


class DeepRVFLRegressor(DeepLayers, BaseRVFLRegressor):
    """Deep RVFL for regression: a chain of random layers, with one ridge for all or one for each.

    As :class:`DeepRVFLClassifier`, for targets that are numbers; as :class:`RVFLRegressor`, with
    a constant that is not penalised.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes of every layer; depth is nested, not width.
    n_layers : int, default=3
        Number of layers.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLRegressor`.
    C : float or "loo", default=1.0
        Weight of the errors, as in :class:`RVFLRegressor`; with ``"loo"``, every layer has its
        own, unless ``combine="concat"``.
    combine : {"mean", "concat"}, default="mean"
        Mean of the predictions of the layers, each with a ridge of its own; or one ridge on all
        layers.
    normalize : bool, default=True
        Whether a layer's sums are brought to mean 0 and deviation 1 over the training rows, before
        the bias is added.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    intervals : bool, default=False
        Whether ``predict_interval`` will be asked for; from the mean of the layers' leave-one-out
        predictions.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layers.

    Attributes
    ----------
    hidden_weights_ : list of ndarray
        Weights of every layer, as in :class:`DeepRVFLClassifier`.
    hidden_bias_ : list of ndarray of shape (n_hidden,)
        Biases of every layer, normalisation folded in.
    coef_ : ndarray of shape (n_features_in_ + n_layers * n_hidden, n_targets)
        Output weights of the inputs and of all layers' nodes.
    intercept_ : ndarray of shape (n_targets,)
        The constant of every target.
    layer_coef_ : list of ndarray of shape (1 + n_features_in_ + n_hidden, n_targets)
        Output weights of every layer, the constant's first; not with ``combine="concat"``.
    C_ : float or ndarray of shape (n_layers,)
        The C used; with ``C="loo"``, that of every layer.
    solver_ : {"primal", "dual", "svd"}
        How the systems were solved, as in :class:`RVFLClassifier`.
    n_outputs_, interval_residuals_, interval_weights_, device_, dtype_, n_features_in_, \
feature_names_in_ : see RVFLRegressor
        As in :class:`RVFLRegressor`.

    See Also
    --------
    DeepRVFLClassifier : The same for classes, with its references.
    RVFLRegressor : One layer.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from robell import DeepRVFLRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DeepRVFLRegressor(20, C="loo", random_state=0).fit(scale(X), y)
    >>> model.C_.shape
    (3,)
    """

    _parameter_constraints = {
        **BaseRVFLRegressor._parameter_constraints,
        **DeepLayers._layer_constraints,
        "combine": [StrOptions({"mean", "concat"})],
    }

    def __init__(
        self,
        n_hidden: int = 103,
        n_layers: int = 3,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        combine: str = "mean",
        normalize: bool = True,
        bias_scale: float = 0.1,
        intervals: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_layers = n_layers
        self.activation = activation
        self.C = C
        self.combine = combine
        self.normalize = normalize
        self.bias_scale = bias_scale
        self.intervals = intervals
        self.random_state = random_state
