"""Labels of several annotators: the likeliest class of each row, and how good each annotator is."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets

from robell._core.array import is_no_value
from robell._core.labels.annotators import (
    Votes,
    best_to_ask,
    confusion_matrices,
    fit_annotators,
    label_quality,
    log_likelihood,
    shares_of_votes,
    true_classes,
)
from robell._core.labels.link import fit_full, fit_slope_to
from robell._tools.optional import require
from robell._tools.threads import calm_blas
from robell.labels.unseen import numeric_columns
from robell.models._validation import level_of_user
from robell.models.noise_robust import LeftOutScores

# Chosen on simulated annotators of choosing tables (benchmarks/annotators.py): more of either
# changes consensus labels in fewer than one row of a thousand.
ROUNDS = 4  # fits of the classifier, each to the classes found so far
STEPS_A_ROUND = 10
TOLERANCE = 1e-3
LITTLE_OVERLAP = 0.05  # share of labelled rows with two labels or more


@dataclass(frozen=True, eq=False)
class Consensus:
    """What several annotators' labels say together.

    Attributes
    ----------
    label : ndarray of shape (n_rows,)
        The likeliest class of each row.
    quality : ndarray of shape (n_rows,)
        Its probability.
    probability : ndarray of shape (n_rows, n_classes)
        Probability of every class.
    classes : ndarray of shape (n_classes,)
        The labels, in the order of ``probability``.
    row : ndarray of shape (n_rows,)
        What the rows are called: their positions, or the sorted keys of the long form.
    annotator : ndarray of shape (n_annotators,)
        Names of the annotators.
    annotator_quality : ndarray of shape (n_annotators,)
        Estimated share of right labels, were each annotator to label all rows.
    confusion : ndarray of shape (n_annotators, n_classes, n_classes)
        ``[j, i, k]`` is how often annotator j labels a row of true class i as class k.
    n_labels : ndarray of int of shape (n_annotators,)
        How many labels each gave.
    given_row, given_annotator, given_label : ndarray of shape (n_labels,)
        All labels one by one: position of the row, position of the annotator, the label.
    given_quality : ndarray of shape (n_labels,)
        Probability that each of these labels is right.

    Examples
    --------
    >>> import numpy as np
    >>> from robell import find_consensus
    >>> labels = np.array([["a", "a", None], ["b", "b", "a"], ["a", "a", "a"], ["b", "b", "b"]])
    >>> found = find_consensus(labels)
    >>> found.label.tolist()
    ['a', 'b', 'a', 'b']
    """

    label: np.ndarray
    quality: np.ndarray
    probability: np.ndarray
    classes: np.ndarray
    row: np.ndarray
    annotator: np.ndarray
    annotator_quality: np.ndarray
    confusion: np.ndarray
    n_labels: np.ndarray
    given_row: np.ndarray
    given_annotator: np.ndarray
    given_label: np.ndarray
    given_quality: np.ndarray

    def __repr__(self):
        return (
            f"<Consensus of {len(self.annotator)} annotators on {len(self.label):,} rows, "
            f"{len(self.classes)} classes>"
        )

    def __str__(self):
        lines = [
            f"{len(self.label):,} rows, {len(self.given_label):,} labels of "
            f"{len(self.annotator)} annotators; mean quality of the consensus "
            f"{self.quality.mean():.0%}"
        ]
        for j in np.argsort(-self.annotator_quality, kind="stable"):
            lines.append(
                f"{self.annotator[j]}: about {self.annotator_quality[j]:.0%} right "
                f"({self.n_labels[j]:,} labels)"
            )
        return "\n".join(lines)

    def next_labels(
        self, n: int = 10, *, new_only: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Say which rows to have labelled next, and by whom, to make the consensus surer.

        Parameters
        ----------
        n : int, default=10
            How many suggestions, each of another row.
        new_only : bool, default=True
            Leave out annotators who have labelled the row already.

        Returns
        -------
        row, annotator, gain : arrays of shape (n,)
            The rows by the names of ``row``, the most useful first, who should label each, and by
            how much the probability of the likeliest class is expected to rise.

        Examples
        --------
        >>> import numpy as np
        >>> from robell import find_consensus
        >>> labels = np.array([["a", "a", "a"], ["b", "b", "b"], ["a", "b", None]] * 5)
        >>> row, annotator, gain = find_consensus(labels).next_labels(1)
        >>> int(row[0]) % 3, int(annotator[0])
        (2, 2)
        """
        sizes = len(self.label), len(self.annotator), len(self.classes)
        votes = Votes(self.given_row, self.given_annotator, self.given_row, *sizes)
        best, gain = best_to_ask(self.probability, self.confusion, votes if new_only else None)
        order = np.argsort(-gain, kind="stable")[: int(n)]
        order = order[gain[order] >= 0.0]
        return self.row[order], self.annotator[best[order]], gain[order]

    def to_frame(self) -> Any:
        """Return one row a label as a pandas data frame, the least likely labels first.

        Its columns are ``row``, ``annotator``, ``label``, ``quality`` and ``consensus``.
        """
        pandas = require("pandas", extra="files")
        frame = pandas.DataFrame(
            {
                "row": self.row[self.given_row],
                "annotator": self.annotator[self.given_annotator],
                "label": self.given_label,
                "quality": self.given_quality,
                "consensus": self.label[self.given_row],
            }
        )
        return frame.sort_values("quality", kind="stable", ignore_index=True)


@calm_blas
def find_consensus(
    labels: ArrayLike,
    X: ArrayLike | None = None,
    *,
    row: ArrayLike | None = None,
    annotator: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Consensus:
    """Find the likeliest class of every row from the labels of several annotators.

    How often each annotator takes one class for another is estimated together with the true
    classes. Where columns are given too, a classifier learns from the classes found so far; its
    score of a row comes from the other rows alone, and counts with the labels. Annotators who agree
    with the others and with the columns count for more.

    Parameters
    ----------
    labels : array-like of shape (n_rows, n_annotators), or of shape (n_labels,)
        A column for each annotator, missing labels as None, NaN or empty text; or, with ``row``
        and ``annotator``, one label an entry.
    X : array-like of shape (n_rows, n_features), default=None
        Numeric columns of the rows; they need no scaling.
    row : array-like of shape (n_labels,), default=None
        In the long form, the row each label belongs to: its position in ``X``, or any key where
        there is no ``X``.
    annotator : array-like of shape (n_labels,), default=None
        In the long form, who gave each label.
    random_state : int, RandomState instance or None, default=None
        Seed of the classifier's hidden layers.

    Returns
    -------
    consensus : Consensus
        Classes with their probabilities, quality of every label and annotator, and what to label
        next.

    Notes
    -----
    Without ``X`` the model is that of Dawid and Skene (1979), with every annotator drawn to the
    mean of all. It needs rows that several annotators labelled; where hardly any is, annotators
    can be told apart by ``X`` alone, and without ``X`` this is said.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from robell import find_consensus
    >>> X, y = load_iris(return_X_y=True)
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random((150, 3)) < [0.9, 0.7, 0.6]
    >>> labels = np.where(right, y[:, None], (y[:, None] + 1) % 3)
    >>> found = find_consensus(labels, X, random_state=0)
    >>> bool((found.label == y).mean() > 0.93)
    True
    >>> found.annotator_quality.argmax().item()
    0
    """
    read = read_votes(labels, X, row, annotator)
    several = overlap(read.votes.row)
    if read.X is None and several < LITTLE_OVERLAP:  # annotators cannot be compared
        warnings.warn(
            f"{several:.0%} of the rows have labels of two annotators or more: without X, who is "
            "right where cannot be told; the labels are given back nearly as they are",
            UserWarning,
            stacklevel=level_of_user(),
        )
    return consensus_of(read, random_state)


def consensus_of(read, random_state):
    """Find the consensus of votes that were read and checked."""
    votes, weight = read.votes, np.ones(read.votes.n_rows)
    if read.X is None:
        Z, confusions = fit_annotators(votes, weight)
    else:
        Z, confusions = _with_classifier(votes, read.X, weight, random_state)
    shares = Z.mean(axis=0)
    best = Z.argmax(axis=1)
    return Consensus(
        read.classes[best],
        Z[np.arange(len(Z)), best],
        Z,
        read.classes,
        read.rows,
        read.annotators,
        np.einsum("z,jzz->j", shares, confusions),
        confusions,
        np.bincount(votes.annotator, minlength=votes.n_annotators),
        votes.row,
        votes.annotator,
        read.classes[votes.label],
        label_quality(votes, Z),
    )


def _with_classifier(votes, X, weight, random_state):
    """Return classes and confusions, each fit of the classifier to the classes found so far."""
    Z = shares_of_votes(votes, weight)
    left_out = LeftOutScores(X, weight, random_state, Z.argmax(axis=1))
    confusions = confusion_matrices(votes, Z, weight)
    for _ in range(ROUNDS):
        scores = left_out.of_classes(Z)
        for _ in range(STEPS_A_ROUND):
            likelihood = log_likelihood(votes, confusions)
            link = fit_link_to(scores, likelihood, weight)
            before, Z = Z, true_classes(link.probability(scores), likelihood)
            confusions = confusion_matrices(votes, Z, weight)
            if np.abs(Z - before).max() < TOLERANCE:
                break
    return Z, confusions


def fit_link_to(scores, log_likelihood, weight):
    """Return the link from scores to classes, under the likelihood of all labels of each row."""
    # One row more of each class, of mean scores, as in the class shares of Dawid and Skene's model:
    # of a few rows one class would otherwise take all others.
    one_each = np.eye(scores.shape[1])
    scores = np.vstack([scores, np.tile(weight @ scores / weight.sum(), (len(one_each), 1))])
    weight = np.append(weight, np.ones(len(one_each)))
    log_likelihood = np.vstack([log_likelihood, np.log(one_each + 1e-300)])
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True)).T
    link = fit_slope_to(scores, likelihood, weight)
    if scores.shape[1] == 2:
        return link
    Z = true_classes(link.probability(scores), log_likelihood)
    return fit_full(scores, Z, weight, float(link.matrix[0, 0]))


def overlap(given_row):
    """Return the share of labelled rows that two annotators or more have labelled."""
    counts = np.bincount(given_row)
    return float((counts > 1).sum() / max((counts > 0).sum(), 1))


class ReadVotes(NamedTuple):
    """Votes with what their places stand for; `X` is None where no columns were given."""

    votes: Votes
    classes: np.ndarray
    rows: np.ndarray
    annotators: np.ndarray
    X: np.ndarray | None


def read_votes(labels, X, row, annotator):
    """Check what was given and return it as votes."""
    if (row is None) != (annotator is None):
        raise ValueError("the long form needs both row and annotator")
    X = None if X is None else numeric_columns(X, "X")
    if row is None:
        row, annotator, given, rows, annotators = _from_table(labels)
        if X is not None and len(X) != len(rows):
            raise ValueError(f"labels have {len(rows)} rows, X has {len(X)}")
    else:
        row, annotator, given, rows, annotators = _from_list(labels, row, annotator, X)
    classes, codes = _encode(given)
    if len(classes) < 2:
        raise ValueError(
            f"labels of at least two classes are needed; all are {classes.tolist()[0]!r}"
        )
    votes = Votes(row, annotator, codes, len(rows), len(annotators), len(classes))
    return ReadVotes(votes, classes, rows, annotators, X)


def _from_table(labels):
    """Return places of rows and annotators, and the labels, of a table with a column for each."""
    if hasattr(labels, "to_pandas"):
        labels = labels.to_pandas()
    columns = getattr(labels, "columns", None)
    table = np.asarray(labels, dtype=object)
    if table.ndim != 2:
        raise ValueError(
            f"labels must have a column for each annotator, or row and annotator must be given; "
            f"its shape is {table.shape}"
        )
    names = np.asarray(list(columns)) if columns is not None else np.arange(table.shape[1])
    row, annotator = np.nonzero(~_missing(table))
    if not len(row):
        raise ValueError("labels are all missing")
    return row, annotator, table[row, annotator], np.arange(len(table)), names


def _from_list(labels, row, annotator, X):
    """Return the same of one label an entry."""
    given = np.asarray(labels, dtype=object).ravel()
    keys, names = np.asarray(row).ravel(), np.asarray(annotator).ravel()
    if not len(given) == len(keys) == len(names):
        raise ValueError(
            f"labels, row and annotator must have the same length; they have {len(given)}, "
            f"{len(keys)} and {len(names)}"
        )
    present = ~_missing(given)
    given, keys, names = given[present], keys[present], names[present]
    if not len(given):
        raise ValueError("labels are all missing")
    for what, part in (("row", keys), ("annotator", names)):
        if (gone := _missing(part)).any():
            place = np.flatnonzero(present)[gone.argmax()]
            raise ValueError(f"label {place} has no {what}: leave such labels out")
    annotators, who = np.unique(names, return_inverse=True)
    if X is None:
        rows, place = np.unique(keys, return_inverse=True)
    else:
        rows = np.arange(len(X))
        if keys.dtype.kind not in "iu" or keys.min() < 0 or keys.max() >= len(X):
            raise ValueError(f"row must hold positions in X, from 0 to {len(X) - 1}")
        place = keys.astype(np.intp)
    return (*_once(place, who, given, rows, annotators), rows, annotators)


def _once(place, who, given, rows, annotators):
    """Return every label once; two different ones of an annotator for a row are an error."""
    order = np.lexsort((who, place))
    place, who, given = place[order], who[order], given[order]
    again = np.flatnonzero((place[1:] == place[:-1]) & (who[1:] == who[:-1]))
    for k in again:
        if given[k] != given[k + 1]:
            raise ValueError(
                f"annotator {annotators[who[k]]!s} gave row {rows[place[k]]!s} two labels, "
                f"{given[k]!r} and {given[k + 1]!r}"
            )
    kept = np.ones(len(given), dtype=bool)
    kept[again + 1] = False
    return place[kept], who[kept], given[kept]


def _missing(values):
    """Return which entries are no label: None, NaN, NA, NaT, or text without a character."""
    flat = values.ravel()
    gone = (is_no_value(v) or (isinstance(v, str) and not v.strip()) for v in flat)
    return np.fromiter(gone, dtype=bool, count=len(flat)).reshape(values.shape)


def _encode(given):
    """Return the sorted labels and their places."""
    kinds = {isinstance(label, str) for label in given.tolist()}
    if len(kinds) > 1:
        raise ValueError("labels must be all text or all numbers")
    typed = np.array(given.tolist())
    check_classification_targets(typed)
    if typed.dtype.kind == "f":
        typed = typed.astype(np.int64)  # a column with missing entries makes 1 into 1.0
    return np.unique(typed, return_inverse=True)
