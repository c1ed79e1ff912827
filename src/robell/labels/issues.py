"""The rows of a table that probably carry a wrong label, as a ranked list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robell._core.array import require_labels
from robell.labels.any_model import judge_probabilities, unseen_probabilities
from robell.labels.groups import GroupNoise, judge_by_group, read_groups
from robell.labels.judge import judge_labels
from robell.labels.suspects import SuspectRows


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


def find_label_issues(
    X=None,
    y=None,
    *,
    pred_proba=None,
    classes=None,
    estimator=None,
    groups=None,
    sample_weight=None,
    random_state=None,
):
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
        A classifier with ``predict_proba``; its probabilities are made on five folds, equal rows
        in one fold.
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
    if pred_proba is None and estimator is None:
        if X is None:
            raise ValueError("find_label_issues needs the rows X, or pred_proba")
        if classes is not None:
            raise ValueError("classes names the columns of pred_proba, which is not given")
        judgement = judge_labels(X, y, sample_weight=sample_weight, random_state=random_state)
    else:
        judgement = _judge_by_others(
            X, y, pred_proba, classes, estimator, sample_weight, random_state
        )
    found = None
    if groups is not None:
        judgement, found = _by_group(judgement, y, groups, sample_weight)
    index = np.flatnonzero(judgement.suspect)
    index = index[np.argsort(judgement.quality[index], kind="stable")]
    return LabelIssues(
        index,
        np.asarray(y).ravel()[index],
        judgement.suggested[index],
        judgement.quality[index],
        judgement.quality,
        judgement.noise_matrix,
        judgement.classes,
        found,
    )


def _by_group(judgement, y, groups, sample_weight):
    """Judge the labels again by the rates of their groups."""
    if sample_weight is not None:
        raise ValueError("sample_weight cannot be used with groups")
    place = {label: k for k, label in enumerate(judgement.classes.tolist())}
    codes = np.array([place[label] for label in np.asarray(y).ravel().tolist()])
    return judge_by_group(judgement, codes, *read_groups(groups, len(codes)))


def _judge_by_others(X, y, pred_proba, classes, estimator, sample_weight, random_state):
    """Judge the labels by probabilities of another classifier."""
    if sample_weight is not None:
        raise ValueError("sample_weight cannot be used with pred_proba or estimator")
    require_labels(y)
    if estimator is not None:
        if pred_proba is not None:
            raise ValueError("give pred_proba or estimator, not both")
        if X is None:
            raise ValueError("an estimator needs the rows X")
        pred_proba, classes = unseen_probabilities(estimator, X, y, random_state)
    return judge_probabilities(y, pred_proba, classes)
