"""Labels of rows that come in parts: which classes there are, and each row's place among them."""

from __future__ import annotations

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from robell.models._validation import check_multiplicity, one_line_errors


def weights_of_part(sample_weight, n_rows):
    """Return the multiplicities of a part's rows, all of which may be absent."""
    if sample_weight is not None and not np.any(np.asarray(sample_weight) != 0):
        return np.zeros(n_rows)
    return check_multiplicity(sample_weight, n_rows)


class ClassesInParts:
    """What a classifier knows about rows that come in parts; not for direct use."""

    def _set_classes(self, classes):
        with one_line_errors(self, classes):
            classes = column_or_1d(classes)
            check_classification_targets(classes)
        classes = np.unique(classes)
        if len(classes) < 2:
            has = f"one, {classes[0]!r}" if len(classes) else "none"
            raise ValueError(f"{type(self).__name__} needs at least two classes; classes has {has}")
        self.classes_ = classes

    def _rows_of(self, X, y, sample_weight):
        """Return the rows of positive weight, their places among the classes, their weights."""
        if not (isinstance(y, np.ndarray) and y.ndim == 1):  # the check itself takes its time
            with one_line_errors(self, y):
                y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        labels = self._encode(y)
        weight = weights_of_part(sample_weight, len(X))
        present = weight > 0
        if present.all():
            return X, labels, weight
        return X[present], labels[present], weight[present]

    def _encode(self, y):
        try:
            labels = np.searchsorted(self.classes_, y)
            np.minimum(labels, len(self.classes_) - 1, out=labels)
            unknown = self.classes_[labels] != y
        except TypeError:  # labels that cannot be compared with the classes
            unknown = np.ones(len(y), bool)
        if np.any(unknown):
            label = np.asarray(y)[np.argmax(unknown)]
            raise ValueError(
                f"y has the label {label!r}, which is not among the classes "
                f"{self.classes_.tolist()}"
            )
        return labels

    def _outcome_of_part(self, y, sample_weight):
        """Return the labels of a part; None where all weights are zero."""
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if sample_weight is not None:
            y = y[np.asarray(sample_weight) != 0]
        return np.unique(y) if len(y) else None

    def _joint_outcome(self, parts):
        """Return the labels of several parts."""
        if len({isinstance(classes[0], str) for classes in parts}) > 1:  # NumPy would spell numbers
            raise ValueError("labels are texts in one part and numbers in another")
        return np.unique(np.concatenate(parts))

    def _set_outcome(self, outcome):
        """Set the classes to the labels of all parts."""
        self._set_classes(outcome)

    def _require_rows(self, sizes):
        """Raise where a class has no row."""
        if not (sizes > 0).all():
            missing = self.classes_[int(np.argmin(sizes))]
            raise ValueError(f"no row has the label {missing!r}: leave it out of classes")
