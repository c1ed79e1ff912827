"""The rows of a table whose label, a class or a number, is probably wrong, as a ranked list."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from robell._core.array import require_labels
from robell._tools.optional import require
from robell._tools.threads import calm_blas
from robell.labels.groups import GroupNoise, judge_by_group, read_groups
from robell.labels.judge import (
    check_labels,
    judge_labels,
    judge_numbers,
    judge_predictions,
    judge_probabilities,
)
from robell.labels.unseen import fitted_on_folds
from robell.models._validation import check_multiplicity, level_of_user, one_line_errors
from robell.tables.target import problem_of, written

SHOWN = 10  # rows of a printed list
LEAST_TARGETS = 20
FEW_VALUES = 10  # whole numbers that may well be codes of classes, each in so many rows:
ROWS_A_VALUE = 5
STRATA = 10
TOO_GOOD = 1e-6  # of the spread: predictions as near as this have seen the targets
COVERAGE = 0.9


class SuspectRows:
    """Suspect rows, the most suspect first: the arrays named in ``_columns``, ``index`` first."""

    _columns: ClassVar[tuple[str, ...]]
    index: np.ndarray
    sample_quality: np.ndarray

    def _words(self, *row: Any) -> str:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.index)

    def __str__(self) -> str:
        lines = [f"{len(self)} of {len(self.sample_quality)} rows are suspect"]
        rows = zip(*(getattr(self, name) for name in self._columns), strict=True)
        lines += [self._words(*row) for row in islice(rows, SHOWN)]
        if len(self) > SHOWN:
            lines.append(f"... and {len(self) - SHOWN} more")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return the suspect rows as a pandas data frame, a column for each of their arrays."""
        pandas = require("pandas", extra="files")
        columns = {name: getattr(self, name) for name in self._columns}
        try:
            return pandas.DataFrame(columns)
        except UnicodeEncodeError:  # pandas 3 holds texts as UTF-8, except those that are objects
            series = {name: pandas.Series(c, dtype=c.dtype) for name, c in columns.items()}
            return pandas.DataFrame(series)


@dataclass(frozen=True, eq=False)
class LabelIssues(SuspectRows):
    """The rows whose label is probably wrong, the most suspect first.

    The first four arrays have one entry for each suspect row.

    Attributes
    ----------
    index : ndarray of int of shape (n_suspects,)
        Position of the row in the table.
    given_label : ndarray of shape (n_suspects,)
        The label it carries.
    suggested_label : ndarray of shape (n_suspects,)
        The likeliest class.
    quality : ndarray of shape (n_suspects,)
        Probability that the label given is right, in ascending order.
    sample_quality : ndarray of shape (n_samples,)
        The same for all rows, in the order given; serves as ``sample_weight`` of an estimator.
    noise_matrix : ndarray of shape (n_classes, n_classes)
        ``[i, j]`` estimates how often a row that is really of class i is labelled j.
    classes : ndarray of shape (n_classes,)
        The labels, in the order of ``noise_matrix``.
    groups : GroupNoise or None
        How often labels are wrong in each group, where ``groups`` was given.

    Examples
    --------
    >>> import numpy as np
    >>> from robell import find_label_issues
    >>> X = np.repeat([0.0, 1.0], 40)[:, None] + np.random.default_rng(0).normal(0, 0.1, (80, 1))
    >>> y = np.repeat(["no", "yes"], 40)
    >>> y[3] = "yes"
    >>> issues = find_label_issues(X, y, random_state=0)
    >>> len(issues), int(issues.index[0]), str(issues.suggested_label[0])
    (1, 3, 'no')
    """

    index: np.ndarray
    given_label: np.ndarray
    suggested_label: np.ndarray
    quality: np.ndarray
    sample_quality: np.ndarray
    noise_matrix: np.ndarray
    classes: np.ndarray
    groups: GroupNoise | None = None

    _columns = ("index", "given_label", "suggested_label", "quality")

    def _words(self, index, given, suggested, quality):
        return f"row {index}: labelled {given}, rather {suggested} ({quality:.0%} right)"


@calm_blas
def find_label_issues(
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    pred_proba: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    estimator: Any = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> LabelIssues:
    """Find the rows whose label is probably wrong.

    Every row is scored by networks fitted without it, in closed form, and the scores are compared
    with how often labels go wrong in this table. A row is suspect when, given its values and its
    label, another class is likelier than the label.

    Any other classifier can take the place of the networks: give its probabilities for rows it has
    not seen, or the classifier itself.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), default=None
        Numeric rows; they need no scaling. With ``estimator``, whatever it takes; with
        ``pred_proba``, not needed.
    y : array-like of shape (n_samples,)
        Labels as given.
    pred_proba : array-like of shape (n_samples, n_classes), default=None
        Probabilities of the classes by a model that has not seen the row, such as those of
        scikit-learn's ``cross_val_predict``. For two classes also one column, the second's.
    classes : array-like of shape (n_classes,), default=None
        The classes in the order of ``pred_proba``; by default the sorted labels.
    estimator : classifier, default=None
        A classifier with ``predict_proba``, fitted five times to four fifths of the rows for the
        probabilities of the others; copies of a row are in one fold.
    groups : array-like of shape (n_samples,), default=None
        The supplier, month or site of each row. Labels are then judged by the rates of their own
        group, and the result's ``groups`` says which groups differ more than by chance. Leave the
        column out of ``X``: a model that knows the group learns its mistakes.
    sample_weight : array-like of shape (n_samples,), default=None
        Multiplicity of each row; for the networks of this package only.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layers, or of the folds.

    Returns
    -------
    issues : LabelIssues
        The suspect rows, the most suspect first; its ``sample_quality`` serves as
        ``sample_weight`` of any estimator.

    See Also
    --------
    NoiseRobustRVFLClassifier : The classifier behind it, which needs no cleaned labels.
    audit : The same judgement of a raw table, with a report and how far to trust it.

    Notes
    -----
    Where the columns say nothing about the labels, rows are suspect by chance. :func:`audit` tests
    for that, and then calls no row suspect; where they say little, it lowers its estimates. This
    function does neither; its own networks give a ``NoSignalWarning``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import scale
    >>> from robell import find_label_issues
    >>> from robell.noise import flip_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> noisy, flipped = flip_labels(y, 0.1, random_state=0)
    >>> issues = find_label_issues(X, noisy, random_state=0)
    >>> bool(flipped[issues.index[:40]].mean() > 0.9)
    True
    >>> model = LogisticRegression().fit(scale(X), noisy, sample_weight=issues.sample_quality)
    >>> bool(model.score(scale(X), y) > 0.95)
    True

    With another classifier:

    >>> issues = find_label_issues(scale(X), noisy, estimator=LogisticRegression(), random_state=0)
    >>> bool(flipped[issues.index[:40]].mean() > 0.9)
    True
    """
    if y is None:
        raise ValueError("find_label_issues needs the labels y")
    is_other = pred_proba is not None or estimator is not None
    if sample_weight is not None and (is_other or groups is not None):
        name = "pred_proba or estimator" if is_other else "groups"
        raise ValueError(f"sample_weight cannot be used with {name}")
    if is_other:
        require_labels(y)
        if estimator is not None:
            if pred_proba is not None:
                raise ValueError("give pred_proba or estimator, not both")
            if X is None:
                raise ValueError("an estimator needs the rows X")
            pred_proba, classes = unseen_probabilities(estimator, X, y, random_state)
        from_outside = estimator is None
        judgement = judge_probabilities(y, pred_proba, classes, from_outside=from_outside)
    elif X is None:
        raise ValueError("find_label_issues needs the rows X, or pred_proba")
    elif classes is not None:
        raise ValueError("classes names the columns of pred_proba, which is not given")
    else:
        judgement = judge_labels(X, y, sample_weight=sample_weight, random_state=random_state)
    labels, noise = np.asarray(y).ravel(), None
    if groups is not None:
        codes = check_labels(labels, judgement.classes)[2]
        judgement, noise = judge_by_group(judgement, codes, codes, *read_groups(groups, len(codes)))
    return ranked_issues(judgement, labels, noise)


def ranked(suspect, quality):
    """Return the places of the suspect rows, the most suspect first."""
    index = np.flatnonzero(suspect)
    return index[np.argsort(quality[index], kind="stable")]


def ranked_issues(judgement, labels, noise=None):
    """Return a judgement of these labels as the list of suspect rows."""
    index = ranked(judgement.suspect, judgement.quality)
    return LabelIssues(
        index,
        labels[index],
        judgement.suggested[index],
        judgement.quality[index],
        judgement.quality,
        judgement.noise_matrix,
        judgement.classes,
        noise,
    )


def unseen_probabilities(estimator, X, y, random_state):
    """Return the probabilities of rows by clones fitted to the other folds, and the classes."""
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(f"{type(estimator).__name__} has no predict_proba")
    y, classes, labels = check_labels(y, None)
    counts = np.bincount(labels)
    if counts.min() < 2:
        raise ValueError(
            f"folds need two rows of every class; {classes[counts.argmin()]!r} has one"
        )
    P = np.zeros((len(y), len(classes)))
    for hidden, rows, model in fitted_on_folds(estimator, X, y, labels, random_state):
        place = np.searchsorted(classes, model.classes_)
        P[np.ix_(hidden, place)] = model.predict_proba(rows)
    return P, classes


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


@calm_blas
def find_target_issues(
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    predictions: ArrayLike | None = None,
    estimator: Any = None,
    coverage: float = COVERAGE,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> TargetIssues:
    """Find the rows whose target, a number, is probably wrong.

    Every target is predicted by models fitted without its row, in closed form. The errors show how
    many targets are wrong, and how far off right ones are, row by row, with tails as heavy as the
    table's. A row is suspect when its target is more probably wrong than right.

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
        Predictions by a model that has not seen the row, as ``cross_val_predict`` makes them.
    estimator : regressor, default=None
        Its predictions are made on five folds, copies of a row in one fold.
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
    targets = check_targets(y)
    if predictions is not None or estimator is not None:
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be used with predictions or estimator")
        judgement = _judge_by_regressor(X, targets, predictions, estimator, random_state)
        places = np.arange(len(targets))
    elif X is None:
        raise ValueError("find_target_issues needs the rows X, or predictions")
    else:
        with one_line_errors("find_target_issues", X):
            rows = check_array(X, dtype=np.float64, input_name="X")
        if len(rows) != len(targets):
            raise ValueError(f"X has {len(rows)} rows, y has {len(targets)}")
        weight = check_multiplicity(sample_weight, len(targets))
        _require_numbers(targets, weight)
        places = np.flatnonzero(weight)
        judgement = judge_numbers(rows[places], targets[places], weight[places], random_state)
    n = len(targets)
    quality, predicted, interval = np.empty(n), np.empty(n), np.empty((n, 2))
    suspect, absent = np.zeros(n, bool), np.ones(n, bool)
    quality[places], predicted[places] = judgement.quality, judgement.predicted
    interval[places], suspect[places] = judgement.intervals(coverage), judgement.suspect
    absent[places] = False
    if absent.any():  # rows of weight 0 are judged by the others
        of_absent = judgement.model(rows[absent])
        quality[absent] = judgement.right(targets[absent], *of_absent)
        predicted[absent] = judgement.measure.back(of_absent[0])
        interval[absent] = judgement.intervals(coverage, *of_absent)
    _warn_of_odd(targets, predicted, from_outside=predictions is not None)
    index = ranked(suspect, quality)
    return TargetIssues(
        index,
        targets[index],
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


def check_targets(y):
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


def _judge_by_regressor(X, y, predictions, estimator, random_state):
    """Judge the targets by the predictions of another regressor."""
    weight = np.ones(len(y))
    _require_numbers(y, weight)
    if estimator is not None:
        if predictions is not None:
            raise ValueError("give predictions or estimator, not both")
        if X is None:
            raise ValueError("an estimator needs the rows X")
        strata = np.argsort(np.argsort(y, kind="stable"), kind="stable") * STRATA // len(y)
        predictions = np.zeros(len(y))
        for hidden, rows, model in fitted_on_folds(estimator, X, y, strata, random_state):
            predictions[hidden] = np.ravel(model.predict(rows))
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


def _warn_of_odd(y, predicted, from_outside):
    """Warn of targets that look like classes, and of predictions that have seen the targets."""
    values, counts = np.unique(y, return_counts=True)
    is_whole = bool((values == np.round(values)).all())
    if is_whole and len(values) <= FEW_VALUES and counts.min() >= ROWS_A_VALUE:
        warnings.warn(
            f"y holds {len(values)} different whole numbers: if they are codes of classes, use "
            "find_label_issues",
            UserWarning,
            stacklevel=level_of_user(),
        )
    spread = np.ptp(np.percentile(y, [10, 90])) or np.ptp(y)
    if from_outside and np.median(np.abs(y - predicted)) < TOO_GOOD * spread:
        warnings.warn(
            "predictions are nearly the targets themselves: were these rows in the training set "
            "of the model? Predictions must come from models that have not seen the row, such as "
            "those of cross_val_predict",
            UserWarning,
            stacklevel=level_of_user(),
        )
