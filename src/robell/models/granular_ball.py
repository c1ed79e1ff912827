"""GB-RVFL and GE-GB-RVFL: RVFL networks fitted to granular balls instead of samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.utils._param_validation import Interval, StrOptions

from robell._core.balls.granular import Balls, describe_balls, distinct_rows, grow_balls, keep_balls
from robell._core.balls.graphs import SCATTERS
from robell._core.membership.equations import class_sizes
from robell._core.membership.pairs import require_squares
from robell.models._estimator import BaseRVFLClassifier, Capabilities, LeftOutInFolds
from robell.models._validation import TrainingRows, level_of_user


class GranularBallRVFLClassifier(LeftOutInFolds, BaseRVFLClassifier):
    """GB-RVFL, and GE-GB-RVFL with a ``graph``: an RVFL network fitted to granular balls.

    The training rows are split by 2-means until every ball is pure enough; the network is fitted
    to the balls' centres and majority labels. A wrong label inside a ball of another class is
    outvoted, or ends up in a ball too small to be kept, and so do right labels near the boundary.
    With a ``graph``, the penalty also draws balls of one class together and drives classes apart.
    Making the balls costs more than it saves below some ten thousand rows.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes; nested as in :class:`RVFLClassifier`.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLClassifier`.
    C : float or "loo", default=1.0
        Weight of the errors, as in :class:`RVFLClassifier`; ``"loo"`` by the errors of samples in
        folds (see Notes), not with a ``graph``.
    purity : float, default=0.925
        Balls are split until the share of their most frequent class reaches this, in (0, 1].
    min_ball_size : int, default=2
        Balls of fewer rows are not used, unless their class would vanish.
    graph : {"lda", "lfda", "mda"} or None, default=None
        Graph embedding: of linear, local Fisher (the published choice), or, with five neighbours,
        marginal discriminant analysis.
    graph_weight : float, default=1.0
        Weight of the graph term against the size of the output weights.
    output_bias : bool, default=False
        Whether a constant enters the output layer.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"balanced", "ratio", "golden", "complement"}, dict or None, default=None
        Weight of each class, as in :class:`RVFLClassifier`, classes being counted in balls. A
        class k times as heavy as the lightest keeps balls of ``min_ball_size`` / k rows.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``, on folds (see Notes).
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layer. The balls do not depend on it.

    Attributes
    ----------
    balls_ : dict of ndarray
        The granular balls, one entry each under ``center`` (n_balls, n_features), ``radius`` (mean
        distance of its rows to the centre), ``label``, ``purity``, ``size`` (number of rows),
        ``class_counts`` (n_balls, n_classes) and ``used`` (whether the network was fitted to it).
    solver_ : {"primal", "dual", "svd", "lu"}
        How the system was solved, as in :class:`RVFLClassifier`; with a graph by LU.
    classes_, hidden_weights_, hidden_bias_, coef_, intercept_, C_, calibration_slope_, \
calibration_offsets_, n_features_in_, feature_names_in_ : see RVFLClassifier
        As in :class:`RVFLClassifier`.

    Notes
    -----
    Decisions where the release leaves things open: 2-means starts from the axis of largest
    variance, so balls depend on the table alone (not on the order of rows, nor on a seed); equal
    (row, label) pairs are one row counted several times, which makes ``sample_weight`` exact
    multiplicity; of equally frequent classes the first gives a ball its label; equal rows with
    different labels are split off one by one; a class that has no ball of its own gets one of
    all its rows; of equally near balls the first are neighbours (``graph="mda"``).

    Scores with a ``graph`` are those of the formula to 1e-9; where columns of the design nearly
    repeat one another digits are lost, and a warning tells where none are left.

    Probabilities are calibrated on folds, ten or, beyond 2,000 distinct rows, five: balls and graph
    are made without the fold scored. Scores of training rows would be too good where classes
    overlap (``benchmarks/left_out.py``).

    References
    ----------
    M. Sajid, A. Quadir, M. Tanveer, "GB-RVFL: Fusion of randomized neural network and granular
    ball computing", Pattern Recognition 159 (2025) 111142, arXiv 2409.16735.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from robell import GranularBallRVFLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GranularBallRVFLClassifier(random_state=0).fit(scale(X), y)
    >>> bool(model.balls_["used"].sum() < len(X) / 5)
    True
    >>> int(model.balls_["size"].sum())
    569
    """

    _parameter_constraints = {
        **BaseRVFLClassifier._parameter_constraints,
        "purity": [Interval(Real, 0, 1, closed="right")],
        "min_ball_size": [Interval(Integral, 1, None, closed="left")],
        "graph": [StrOptions(set(SCATTERS)), None],
        "graph_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_hidden: int = 103,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        purity: float = 0.925,
        min_ball_size: int = 2,
        graph: str | None = None,
        graph_weight: float = 1.0,
        output_bias: bool = False,
        bias_scale: float = 0.1,
        class_weight: str | dict[Any, Any] | None = None,
        calibrate: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.purity = purity
        self.min_ball_size = min_ball_size
        self.graph = graph
        self.graph_weight = graph_weight
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.random_state = random_state

    _capabilities = Capabilities(exact_search=True)

    def _fit_rows(self, rows):
        require_squares(rows.X)
        n_classes = len(self.classes_)
        X, labels, weight = distinct_rows(*rows)
        ball = grow_balls(X, labels, n_classes, weight, float(self.purity))
        balls = describe_balls(X, labels, n_classes, weight, ball)
        cost = self._class_cost(class_sizes(rows.labels, n_classes, rows.multiplicity))
        importance = np.ones(n_classes) if cost is None else cost / cost.min()
        used = keep_balls(balls, n_classes, self.min_ball_size / importance)
        for c in np.setdiff1d(np.arange(n_classes), balls.label):
            own = labels == c
            extra = describe_balls(
                X[own], labels[own], n_classes, weight[own], np.zeros(own.sum(), np.intp)
            )
            balls = Balls(*(np.concatenate(pair) for pair in zip(balls, extra, strict=True)))
            used = np.append(used, True)
        self.balls_ = balls._asdict() | {"label": self.classes_[balls.label], "used": used}
        return TrainingRows(balls.center[used], balls.label[used], np.ones(used.sum()))

    def _fit_weighted(self, prepared, importance):
        super()._fit_weighted(prepared, importance)
        if self.graph is not None and self.solver_ == "svd" and np.isfinite(self.C):
            warnings.warn(
                "the equations with the graph term are singular to working precision, and the "
                "solution is that over the singular values they have: scale the columns, or choose "
                "a smaller C or fewer nodes",
                LinAlgWarning,
                stacklevel=level_of_user(),
            )
        return self
