"""The rows of a table whose number in the target column is probably wrong, as a ranked list."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_array

from robell._core.array import require_labels
from robell.labels.any_model import N_FOLDS
from robell.labels.judge_numbers import judge_numbers, judge_predictions
from robell.labels.suspects import SuspectRows
from robell.labels.unseen import fitted_to_other_folds, random_folds
from robell.models._validation import check_multiplicity, one_line_errors
from robell.tables.number_target import problem_of, written

LEAST_TARGETS = 20
FEW_VALUES = 10  # whole numbers that may well be codes of classes, each in so many rows:
ROWS_A_VALUE = 5
STRATA = 10
TOO_GOOD = 1e-6  # of the spread: predictions as near as this have seen the targets
COVERAGE = 0.9


@dataclass(frozen=True, eq=False)
class TargetIssues(SuspectRows):
    """The rows whose target is probably wrong, the most suspect first.

    The first six arrays have one entry for each suspect row.

    Attributes
    ----------
    index : ndarray of int of shape (n_suspects,)
        Position of the row in the table.
    given_value : ndarray of shape (n_suspects,)
        The target it carries.
    suggested_value : ndarray of shape (n_suspects,)
        What models that have not seen the row predict.
    lower, upper : ndarray of shape (n_suspects,)
        The ends of an interval around it, which holds the right target with probability
        ``coverage``.
    quality : ndarray of shape (n_suspects,)
        Probability that the target given is right, in ascending order.
    sample_quality : ndarray of shape (n_samples,)
        The same for all rows, in the order given; serves as ``sample_weight`` of an estimator.
    predicted : ndarray of shape (n_samples,)
        The predictions of all rows.
    interval : ndarray of shape (n_samples, 2)
        Their intervals.
    noise_rate : float
        Estimated share of wrong targets.
    explained : float
        Share of the squared differences between right targets that the predictions explain. Near
        zero the columns say nothing about the target, and only numbers far out are suspect.
    coverage : float
        Of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from robell import find_target_issues
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = 3 * X[:, 0] - X[:, 1] + rng.normal(0, 0.1, 100)
    >>> y[7] += 5
    >>> issues = find_target_issues(X, y, random_state=0)
    >>> int(issues.index[0]), bool(issues.lower[0] < y[7] - 5 < issues.upper[0])
    (7, True)
    """

    index: np.ndarray
    given_value: np.ndarray
    suggested_value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    quality: np.ndarray
    sample_quality: np.ndarray
    predicted: np.ndarray
    interval: np.ndarray
    noise_rate: float
    explained: float
    coverage: float

    _columns = ("index", "given_value", "suggested_value", "lower", "upper", "quality")

    def _words(self, index, given, suggested, lower, upper, quality):
        return (
            f"row {index}: given {written(given, digits=6)}, rather {written(suggested)} "
            f"({written(lower)} to {written(upper)}; {quality:.0%} right)"
        )


def find_target_issues(
    X=None,
    y=None,
    *,
    predictions=None,
    estimator=None,
    coverage=COVERAGE,
    sample_weight=None,
    random_state=None,
):
    """Find the rows whose target, a number, is probably wrong.

    Every target is predicted by models fitted without its row, in closed form. How far right
    targets are off, with tails as heavy as the table shows and row by row, and how many targets
    are wrong is estimated from the errors. A row is suspect when its target is more probably wrong
    than right.

    Any other regressor can take the place of these models: give its predictions for rows it has
    not seen, or the regressor itself.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), default=None
        Numeric rows; they need no scaling. With ``estimator``, whatever it takes; with
        ``predictions``, not needed.
    y : array-like of shape (n_samples,)
        Targets as given: finite numbers, twenty at least, no more than half of them equal.
    predictions : array-like of shape (n_samples,), default=None
        Predictions by a model that has not seen the row, such as those of scikit-learn's
        ``cross_val_predict``.
    estimator : regressor, default=None
        Its predictions are made on five folds, equal rows in one fold.
    coverage : float, default=0.9
        How often the intervals are to hold the right target.
    sample_weight : array-like of shape (n_samples,), default=None
        Multiplicity of each row, 0 its absence; for the models of this package only.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layers, or of the folds.

    Returns
    -------
    issues : TargetIssues
        The suspect rows, the most suspect first, each with a suggested value and its interval.

    See Also
    --------
    find_label_issues : The same for classes.
    audit : The same judgement of a raw table, with a report and how far to trust it.

    Notes
    -----
    An unusual row with a right target cannot be told from a usual one with a wrong target. Errors
    that are shared by most rows alike, such as a wrong unit throughout, do not show.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from robell import find_target_issues
    >>> X, y = load_diabetes(return_X_y=True)
    >>> wrong = np.random.default_rng(0).choice(len(y), 20, replace=False)
    >>> y[wrong] *= 10  # a decimal point lost
    >>> issues = find_target_issues(X, y, random_state=0)
    >>> bool(np.isin(issues.index[:15], wrong).all())
    True

    With another regressor:

    >>> forest = RandomForestRegressor(30, random_state=0)
    >>> issues = find_target_issues(X, y, estimator=forest, random_state=0)
    >>> bool(np.isin(issues.index[:10], wrong).all())
    True
    """
    if y is None:
        raise ValueError("find_target_issues needs the targets y")
    y = _check_targets(y)
    if predictions is not None or estimator is not None:
        judgement = _judge_by_others(X, y, predictions, estimator, sample_weight, random_state)
        quality, predicted = judgement.quality, judgement.predicted
        interval, suspect = judgement.intervals(coverage), judgement.suspect
    else:
        if X is None:
            raise ValueError("find_target_issues needs the rows X, or predictions")
        judgement, places = _judge_by_ours(X, y, sample_weight, random_state)
        quality, predicted, interval, suspect = _all_rows(X, y, judgement, places, coverage)
    _warn_of_odd(y, predicted, from_outside=predictions is not None)
    index = np.flatnonzero(suspect)
    index = index[np.argsort(quality[index], kind="stable")]
    return TargetIssues(
        index,
        y[index],
        predicted[index],
        interval[index, 0],
        interval[index, 1],
        quality[index],
        quality,
        predicted,
        interval,
        judgement.noise_rate,
        judgement.explained,
        float(coverage),
    )


def _require_numbers(y, weight):
    if problem := problem_of(y, weight, LEAST_TARGETS):
        raise ValueError(f"y {problem}")


def _check_targets(y):
    """Return the targets as finite numbers; raise where they are none."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension; its shape is {y.shape}")
    if y.dtype.kind == "O":
        require_labels(y)  # names the row that has none
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError):
            y = y.astype(str)
    if y.dtype.kind not in "iuf":
        raise ValueError("y must hold numbers; for classes there is find_label_issues")
    y = y.astype(np.float64)
    bad = ~np.isfinite(y)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"y is {y[row]} in row {row}: targets must be finite numbers, so drop such rows first"
        )
    return y


def _judge_by_ours(X, y, sample_weight, random_state):
    """Judge the rows of positive weight; also return their places."""
    with one_line_errors("find_target_issues", X):
        X = check_array(X, dtype=np.float64, input_name="X")
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows, y has {len(y)}")
    weight = check_multiplicity(sample_weight, len(y))
    _require_numbers(y, weight)
    places = np.flatnonzero(weight)
    return judge_numbers(X[places], y[places], weight[places], random_state), places


def _all_rows(X, y, judgement, places, coverage):
    """Return quality, prediction, interval and suspicion of all rows, those of weight 0 too."""
    n = len(y)
    quality, predicted, interval = np.empty(n), np.empty(n), np.empty((n, 2))
    suspect = np.zeros(n, bool)
    quality[places], predicted[places] = judgement.quality, judgement.predicted
    interval[places], suspect[places] = judgement.intervals(coverage), judgement.suspect
    absent = np.ones(n, bool)
    absent[places] = False
    if absent.any():
        found = judgement.model(np.asarray(X, np.float64)[absent])
        quality[absent] = judgement.right(y[absent], *found)
        predicted[absent] = judgement.measure.back(found[0])
        interval[absent] = judgement.intervals(coverage, *found)
    return quality, predicted, interval, suspect


def _judge_by_others(X, y, predictions, estimator, sample_weight, random_state):
    """Judge the targets by the predictions of another regressor."""
    if sample_weight is not None:
        raise ValueError("sample_weight cannot be used with predictions or estimator")
    weight = np.ones(len(y))
    _require_numbers(y, weight)
    if estimator is not None:
        if predictions is not None:
            raise ValueError("give predictions or estimator, not both")
        if X is None:
            raise ValueError("an estimator needs the rows X")
        predictions = _unseen_predictions(estimator, X, y, random_state)
    predictions = np.asarray(predictions, dtype=np.float64)
    if predictions.ndim == 2 and predictions.shape[1] == 1:
        predictions = predictions[:, 0]
    if predictions.shape != y.shape:
        raise ValueError(
            f"predictions must have one number for each of the {len(y)} rows; their shape is "
            f"{predictions.shape}"
        )
    if not np.isfinite(predictions).all():
        raise ValueError("predictions must be finite numbers")
    return judge_predictions(y, predictions, weight)


def _unseen_predictions(estimator, X, y, random_state):
    """Return the prediction of each row by a clone fitted to the other folds."""
    strata = np.argsort(np.argsort(y, kind="stable"), kind="stable") * STRATA // len(y)
    predicted = np.zeros(len(y))
    folds = random_folds(X, strata, N_FOLDS, np.random.default_rng(random_state))
    for hidden, rows, model in fitted_to_other_folds(estimator, X, y, folds, N_FOLDS):
        if model is not None:
            predicted[hidden] = np.ravel(model.predict(rows))
    return predicted


def _warn_of_odd(y, predicted, from_outside):
    """Warn of targets that look like classes, and of predictions that have seen the targets."""
    values, counts = np.unique(y, return_counts=True)
    is_whole = bool((values == np.round(values)).all())
    if is_whole and len(values) <= FEW_VALUES and counts.min() >= ROWS_A_VALUE:
        warnings.warn(
            f"y holds {len(values)} different whole numbers: if they are codes of classes, use "
            "find_label_issues",
            UserWarning,
            stacklevel=3,
        )
    spread = np.ptp(np.percentile(y, [10, 90])) or np.ptp(y)
    if from_outside and np.median(np.abs(y - predicted)) < TOO_GOOD * spread:
        warnings.warn(
            "predictions are nearly the targets themselves: were these rows in the training set "
            "of the model? Predictions must come from models that have not seen the row, such as "
            "those of cross_val_predict",
            UserWarning,
            stacklevel=3,
        )
