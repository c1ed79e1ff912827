"""The root of the networks that predict numbers: a free constant, and prediction intervals."""

from __future__ import annotations

from sklearn.base import _fit_context
from sklearn.utils.metaestimators import available_if

from robell._core.array import beside, namespace, to_host
from robell._core.ridge.calibrate import half_widths
from robell._core.ridge.constant import WithConstant
from robell._core.ridge.solve import choose_C
from robell.models._family import FamilyRegressor, require_finite_scores
from robell.models._shell import PAPER_C, RidgeShell


def _has_intervals(estimator):
    """Say whether predict_interval exists, or raise the reason why it does not."""
    if not estimator.intervals:
        raise AttributeError("predict_interval needs intervals=True at fit")
    return True


class BaseRVFLRegressor(RidgeShell, FamilyRegressor):
    """The networks of one random layer and one ridge regression on targets that are numbers.

    The output layer has a constant, which is not penalised: a shift of y shifts ``intercept_``
    and nothing else, and a constant y is predicted as it is.
    """

    _parameter_constraints = {**RidgeShell._parameter_constraints, "intervals": ["boolean"]}

    output_bias = True  # the free constant, first in the design; no parameter

    def __init__(
        self,
        n_hidden=103,
        activation="sigmoid",
        C=1.0,
        *,
        bias_scale=0.1,
        intervals=False,
        random_state=None,
    ):
        self.n_hidden = n_hidden
        self.activation = activation
        self.C = C
        self.bias_scale = bias_scale
        self.intervals = intervals
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the output weights in closed form.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, best standardised (a ``StandardScaler`` before this step).
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets, finite numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of each row: weight 2 is the row given twice, weight 0 its absence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    def _remember_outcome(self, given, y):
        self.n_outputs_ = given.targets.shape[1]

    def _targets(self, rows):
        return rows.targets

    def _leaves_out(self):
        return self.intervals

    def _use_left_out(self, prepared, total, scores):
        for name in ("interval_residuals_", "interval_weights_"):
            vars(self).pop(name, None)
        if self.intervals:
            self.interval_residuals_ = abs(prepared.T - scores)
            self.interval_weights_ = total

    def _solve_system(self, design, T, weights, further_penalty, leave_out):
        """Choose C where that is asked for, and solve the ridge with a free constant."""
        system, self.C_ = WithConstant(design, T, weights), self.C
        if self.C == "loo":
            self.C_ = float(PAPER_C[choose_C(system, PAPER_C)])
        found = system.solve(float(self.C_), leave_out)
        if found.method == "svd":
            self._warn_of_lost_columns(design)
        return found

    def _scores(self, X):
        scores = self._linear_scores(self._check_new(X), self._output_weights())
        require_finite_scores(scores)
        return scores

    @available_if(_has_intervals)
    def predict_interval(self, X, coverage=0.9):
        """Return intervals that hold the targets of new rows with a given probability.

        The prediction, less and plus a quantile of the absolute leave-one-out residuals of the
        training rows: by how much models fitted without a row have missed it. The interval is as
        wide everywhere. It holds new targets as often as ``coverage`` says where new rows come
        from where the training rows came from, on average over such rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            Between 0 and 1. Of n training rows, at most n / (n + 1) can be asked for.

        Returns
        -------
        bounds : ndarray of shape (n_samples, 2) or (n_samples, 2, n_targets)
            The lower and the upper end. Each target by itself is covered so often, not all
            together.

        References
        ----------
        R. F. Barber, E. J. Candès, A. Ramdas, R. J. Tibshirani, "Predictive inference with the
        jackknife+", Annals of Statistics 49 (2021): this is their jackknife with the quantile of
        the jackknife+.
        """
        predicted = self._scores(X)
        if not hasattr(self, "interval_residuals_"):
            raise AttributeError("predict_interval needs intervals=True at fit")
        half = half_widths(
            to_host(self.interval_residuals_), to_host(self.interval_weights_), coverage
        )
        half = beside(half, predicted)
        bounds = namespace(predicted).stack([predicted - half, predicted + half], 1)
        return bounds[:, :, 0] if self.n_outputs_ == 1 else bounds
