"""Class-Var-RVFL and Total-Var-RVFL: RVFL networks with a penalty on the scatter of the scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from robell._core.array import one_hot
from robell._core.layers.features import RowBlocks
from robell._core.membership.samples import settle
from robell._core.ridge.scatter import (
    LeftOut,
    Penalty,
    choose_scatter_C,
    scatter_of,
    scatter_of_moments,
    whitening,
)
from robell._core.ridge.solve import solve_ridge
from robell._core.ridge.state import solve, summed_equations
from robell._core.ridge.twins import left_out_together
from robell.models._estimator import PAPER_C, BaseRVFLClassifier, Capabilities, called_by_search
from robell.models._partial_fit import StreamingMixin


class VarianceRVFLClassifier(StreamingMixin, BaseRVFLClassifier):
    """Class-Var-RVFL and Total-Var-RVFL: scores that vary little within classes, or at all.

    Besides the size of the output weights, the ridge penalises the variance of the scores within
    each class, divided by the number of its rows, or the variance over all rows.

    **What it can and cannot do.** With a free intercept and a scatter that is not divided, the
    total variance gives RVFL with another C, exactly, and so does, for two classes, that within
    classes. Only the variance within classes, divided by class, which makes large and small
    classes count alike, is a model of its own; hence the default.

    Parameters
    ----------
    n_hidden : int, default=103
        Number of hidden nodes; nested as in :class:`RVFLClassifier`.
    activation : str or callable, default="sigmoid"
        Function of the hidden nodes, as in :class:`RVFLClassifier`.
    C : float or "loo", default=1.0
        Weight of the errors, as in :class:`RVFLClassifier`. ``"loo"`` leaves the row out of the
        scatter too.
    variance : {"class", "total"}, default="class"
        Whose variance is penalised: that within the classes, or of all rows.
    variance_weight : float, default=1.0
        Weight λ of the variance against the size of the output weights; 0 is RVFL.
    output_bias : bool, default=False
        Whether a constant enters the output layer.
    bias_scale : float, default=0.1
        Hidden biases are uniform in ``[0, bias_scale]``.
    class_weight : {"balanced", "ratio", "golden", "complement"}, dict or None, default=None
        Weight of each class's errors, as in :class:`RVFLClassifier`; the variance knows nothing of
        it.
    calibrate : bool, default=True
        Whether to fit the probabilities of ``predict_proba``.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layer.

    Attributes
    ----------
    classes_, hidden_weights_, hidden_bias_, coef_, intercept_, C_, solver_, calibration_slope_, \
calibration_offsets_, n_features_in_, feature_names_in_ : see RVFLClassifier
        As in :class:`RVFLClassifier`.

    See Also
    --------
    RVFLClassifier : The same without the variance.

    Notes
    -----
    Our reading: the text could not be read and no code was found. The form is that of minimum
    (class) variance extreme learning machines with the ridge of RVFL kept, the divisors those of a
    public implementation of a descendant.

    Leave-one-out scores leave the row out of the scatter too, by a change of rank two; the divisor
    stays the number of rows of the class with it. Where ``C=np.inf`` meets more columns than
    independent rows, probabilities are fitted on folds instead.

    References
    ----------
    M. A. Ganaie, M. Tanveer, P. N. Suganthan, "Minimum variance embedded random vector functional
    link network", ICONIP 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from robell import VarianceRVFLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = VarianceRVFLClassifier(C="loo", random_state=0).fit(scale(X), y)
    >>> bool(model.score(scale(X), y) > 0.95)
    True
    """

    _parameter_constraints = {
        **BaseRVFLClassifier._parameter_constraints,
        "variance": [StrOptions({"class", "total"})],
        "variance_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_hidden: int = 103,
        activation: str | Callable[..., Any] = "sigmoid",
        C: float | str = 1.0,
        *,
        variance: str = "class",
        variance_weight: float = 1.0,
        output_bias: bool = False,
        bias_scale: float = 0.1,
        class_weight: str | dict[Any, Any] | None = None,
        calibrate: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.variance = variance
        self.variance_weight = variance_weight
        self.output_bias = output_bias
        self.bias_scale = bias_scale
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.random_state = random_state

    _capabilities = Capabilities(streams=True, passes=True, exact_search=True)
    _penalty_parameter = "variance_weight"

    def _groups(self, rows):
        """Return the group of every row whose variance is penalised, and how many there are."""
        if self.variance == "class":
            places, group = np.unique(rows.labels, return_inverse=True)
            return group, len(places)
        return np.zeros(len(rows.labels), np.intp), 1

    @called_by_search
    def _penalty_term(self, M, rows):
        design = RowBlocks(lambda some: M[some], *M.shape)
        group, n_groups = self._groups(rows)
        return scatter_of(design, group, n_groups, rows.multiplicity).matrix

    def _fit_penalty(self, design, rows):
        group, n_groups = self._groups(rows)
        scatter = scatter_of(design, group, n_groups, rows.multiplicity)
        weight, member = rows.multiplicity, one_hot(group, n_groups)
        if (twins := left_out_together(*rows)) is not None:
            weight, member = twins.merge(weight, member)
        return Penalty(float(self.variance_weight), scatter, weight[:, None] * member)

    def _fit_ridge(self, X, T, weights, further_penalty, leave_out):
        R, self.C_ = whitening(further_penalty), self.C
        design = self._design(X).changed(lambda M: M @ R, len(R))
        if self.C == "loo" or (leave_out and np.isfinite(self.C)):
            left_out = LeftOut(design, T, weights, further_penalty, R)
        if self.C == "loo":
            self.C_ = float(PAPER_C[choose_scatter_C(left_out, PAPER_C)])
        unpenalised = bool(np.isinf(self.C_))
        found = solve_ridge(design, T, float(self.C_), weights, leave_out and unpenalised)
        loo = None  # of a singular system folds are refitted
        if leave_out and not unpenalised and left_out.basis(float(self.C_))[0]:
            loo = left_out.scores(float(self.C_))
        if unpenalised and found.method == "primal":
            loo = found.loo_scores  # least squares of independent columns: no penalty enters
        return replace(found, beta=R @ found.beta, loo_scores=loo)

    # -- streams and passes ----------------------------------------------------------------

    def _chosen(self, state, cost, sample):
        left_out = self._left_out(state, cost, sample)
        return choose_scatter_C(left_out, PAPER_C, sample.merged[3])

    def _solved(self, state, C, cost):
        """Solve with the scatter that means and scatters of the classes hold."""
        penalty = self._penalty_of(state)
        further = penalty.weight * penalty.scatter.matrix
        found = solve(state, C, cost, further_penalty=further)
        return replace(found, penalty=found.penalty * (further + np.eye(len(further))))

    def _penalty_of(self, state):
        """Return the penalty of the rows seen."""
        total = self.variance == "total"
        scatter = scatter_of_moments(state.sizes, state.mean, state.scatter, total)
        return Penalty(float(self.variance_weight), scatter, np.empty(0))

    def _left_out(self, state, cost, sample):
        """Return what leaves rows of the sample out."""
        penalty = self._penalty_of(state)
        R = whitening(penalty)
        whitened = replace(state, scatter=R.T @ state.scatter @ R, mean=state.mean @ R)
        kept, n_groups = settle(state.reservoir), len(penalty.scatter.sizes)
        group = kept.labels if self.variance == "class" else np.zeros_like(kept.labels)
        counted, member = kept.weight, one_hot(group, n_groups)
        if sample.twins is not None:
            counted, member = sample.twins.merge(counted, member)
        counts = counted[:, None] * member
        X, T, weight, _ = sample.merged
        design = self._design(X).changed(lambda M: M @ R, len(R))
        equations = summed_equations(whitened, cost)
        return LeftOut(design, T, weight, penalty._replace(counts=counts), R, equations)

    def _scores_of_sample(self, state, found):
        return self._left_out(state, found.cost, found.sample).scores(float(found.C))
