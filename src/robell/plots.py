"""Pictures of labels, memberships and comparisons, in the manner of scikit-learn's displays.

A display holds the numbers of its picture; ``plot`` draws them on matplotlib axes (extra ``plot``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_array, check_consistent_length

from robell._core.array import require_labels
from robell._core.layers.features import column_scales
from robell._tools.optional import require
from robell._tools.pipelines import last_step
from robell.comparison.scores import DECIMALS, Ranked
from robell.comparison.statistics import nemenyi
from robell.labels.audit.classes import project
from robell.labels.audit.figures import thinned
from robell.labels.flips import flip_uniformly
from robell.labels.issues import LabelIssues, find_label_issues, ranked_issues, unseen_probabilities
from robell.labels.judge import check_probabilities, judgement_of
from robell.report.plots import COLOURS, MARKERS, draw_cells, draw_differences, size_of_differences

__all__ = [
    "BudgetCurveDisplay",
    "CriticalDifferenceDisplay",
    "LabelQualityDisplay",
    "LeftOutCalibrationDisplay",
    "MembershipDisplay",
    "NoiseCurveDisplay",
    "NoiseMatrixDisplay",
    "SuspectMapDisplay",
]

SIZE = 6.2, 4.2  # inches: 620 pixels wide, as a column of text
CALM, ALARM, GREY = "#0072B2", "#D55E00", "#8A8A8A"
BINS = 20
APART = tuple(COLOURS[k] for k in (0, 2, 3, 4, 1, 5, 6))  # neighbours look unlike

Array = NDArray[Any]


class _Display:
    """Axes to draw on: those given, or a figure of its own."""

    ax_: Any
    figure_: Any

    def _size(self) -> tuple[float, float]:
        """Return the width and height in inches of a figure of its own."""
        return SIZE

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        self : object
            The display, with ``ax_`` and ``figure_``.
        """
        if ax is None:
            pyplot = require("matplotlib.pyplot", extra="plot")
            _, ax = pyplot.subplots(figsize=self._size(), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax)
        return self


class _IssuesDisplay(_Display):
    """A picture of how labels were judged, whoever has judged them."""

    _needs_rows: ClassVar[bool] = False

    @classmethod
    def _of(cls, *args: Any, **options: Any) -> Self:
        raise NotImplementedError

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        random_state: int | np.random.RandomState | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Judge labels by a classifier, and draw.

        Parameters
        ----------
        estimator : estimator
            ``NoiseRobustRVFLClassifier`` or ``NoiseRobustClassifier``, fitted to these rows: its
            own judgement is drawn. Of any other classifier clones are fitted on five folds.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels as given.
        random_state : int, RandomState instance or None, default=None
            Seed of the folds.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.
        **options : dict
            Further keywords of the display.

        Returns
        -------
        display : object
            The display, drawn.
        """
        labels = np.asarray(y).ravel()
        fitted = last_step(estimator)
        if hasattr(fitted, "label_probability_"):
            _require_own_labels(fitted, labels)
            issues = ranked_issues(judgement_of(fitted, labels), labels)
        else:
            issues = find_label_issues(X, y, estimator=estimator, random_state=random_state)
        return cls._of(issues, X, labels, **options).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        pred_proba: ArrayLike,
        *,
        X: Any = None,
        classes: ArrayLike | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Judge labels by probabilities of a model that has not seen the rows, and draw.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels as given.
        pred_proba : array-like of shape (n_samples, n_classes)
            Out-of-fold probabilities.
        X : array-like of shape (n_samples, n_features), default=None
            Rows; only a map needs them.
        classes : array-like of shape (n_classes,), default=None
            The classes in the order of ``pred_proba``; by default the sorted labels.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.
        **options : dict
            Further keywords of the display.

        Returns
        -------
        display : object
            The display, drawn.
        """
        issues = find_label_issues(y=y, pred_proba=pred_proba, classes=classes)
        return cls.from_issues(issues, y, X=X, ax=ax, **options)

    @classmethod
    def from_issues(
        cls, issues: LabelIssues, y: ArrayLike, *, X: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw what ``find_label_issues`` has returned.

        Parameters
        ----------
        issues : LabelIssues
            The suspect rows.
        y : array-like of shape (n_samples,)
            The labels that were judged.
        X : array-like of shape (n_samples, n_features), default=None
            Rows; only a map needs them.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.
        **options : dict
            Further keywords of the display.

        Returns
        -------
        display : object
            The display, drawn.
        """
        labels = np.asarray(y).ravel()
        check_consistent_length(issues.sample_quality, labels)
        if cls._needs_rows and X is None:
            raise ValueError(f"{cls.__name__} needs the rows X")
        return cls._of(issues, X, labels, **options).plot(ax)


class LabelQualityDisplay(_IssuesDisplay):
    """How sure the label of each row is: a histogram for every class.

    Rows that are suspect are drawn in another colour. Heights are square roots of the number of
    rows, so that few are seen beside many. The tallest bars of all classes are equally tall; how
    many rows they stand for is written beside them.

    Parameters
    ----------
    quality : ndarray of shape (n_samples,)
        Probability that the label of each row is right.
    labels : ndarray of shape (n_samples,)
        Labels as given.
    suspect : ndarray of bool of shape (n_samples,)
        Whether another class is likelier than the label.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, from the top of the picture.
    counts_ : ndarray of int of shape (n_classes, 2, 20)
        Rows in each bin of the quality: those not suspect, and suspect ones.
    ax_, figure_ : matplotlib axes and figure
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from robell import NoiseRobustRVFLClassifier
    >>> from robell.noise import flip_labels
    >>> from robell.plots import LabelQualityDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> noisy, _ = flip_labels(y, 0.1, random_state=0)
    >>> model = NoiseRobustRVFLClassifier(random_state=0).fit(X, noisy)
    >>> display = LabelQualityDisplay.from_estimator(model, X, noisy)
    >>> int(display.counts_.sum()), int(display.counts_[:, 1].sum()) == model.n_suspects_
    (569, True)
    """

    classes_: Array
    counts_: Array

    def __init__(self, quality: Array, labels: Array, suspect: Array) -> None:
        self.quality, self.labels, self.suspect = quality, labels, suspect

    @classmethod
    def _of(cls, issues: LabelIssues, X: Any, y: Any) -> Self:
        return cls(issues.sample_quality, y, _suspect(issues))

    def _size(self) -> tuple[float, float]:
        return SIZE[0], max(2.0, 1.1 * len(np.unique(self.labels)) + 0.9)

    def _draw(self, ax: Any) -> None:
        self.classes_ = np.unique(self.labels)
        n, edges = len(self.classes_), np.linspace(0.0, 1.0, BINS + 1)
        self.counts_ = np.stack(
            [
                [
                    np.histogram(self.quality[(self.labels == c) & (self.suspect == s)], edges)[0]
                    for s in (False, True)
                ]
                for c in self.classes_
            ]
        )
        for k, (calm, alarm) in enumerate(self.counts_):
            floor, most = n - 1.0 - k, max(1, (calm + alarm).max())
            low, high = (0.8 * np.sqrt(count / most) for count in (alarm, calm + alarm))
            looks = {"width": 0.9 / BINS, "align": "edge"}
            ax.bar(edges[:-1], low, bottom=floor, color=ALARM, **looks)
            ax.bar(edges[:-1], high - low, bottom=floor + low, color=CALM, **looks)
            ax.axhline(floor, color=GREY, linewidth=0.8)
            tallest = f"tallest bar: {most:,} rows"
            ax.text(0.5, floor + 0.78, tallest, ha="center", va="top", fontsize="small")
        ax.set_yticks(np.arange(n)[::-1] + 0.4, [str(c) for c in self.classes_])
        ax.tick_params(axis="y", length=0)
        ax.set(xlim=(0, 1), ylim=(0, n), xlabel="probability that the label is right")
        ax.plot([], [], "s", color=ALARM, label=f"suspect ({int(self.suspect.sum()):,})")
        ax.plot([], [], "s", color=CALM, label="not suspect")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)


class NoiseMatrixDisplay(_IssuesDisplay):
    """How often rows of each class are labelled as each other class.

    Parameters
    ----------
    noise_matrix : ndarray of shape (n_classes, n_classes)
        ``[i, j]`` is the share of the rows of true class i that are labelled j.
    classes : ndarray of shape (n_classes,)
        Their names.

    Attributes
    ----------
    mesh_ : matplotlib QuadMesh
        The cells.
    ax_, figure_ : matplotlib axes and figure
        What was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.plots import NoiseMatrixDisplay
    >>> display = NoiseMatrixDisplay(np.array([[0.9, 0.1], [0.3, 0.7]]), ["no", "yes"]).plot()
    >>> [text.get_text() for text in display.ax_.texts]
    ['90%', '10%', '30%', '70%']
    """

    mesh_: Any

    def __init__(self, noise_matrix: ArrayLike, classes: ArrayLike) -> None:
        self.noise_matrix, self.classes = np.asarray(noise_matrix), np.asarray(classes)

    @classmethod
    def _of(cls, issues: LabelIssues, X: Any, y: Any) -> Self:
        return cls(issues.noise_matrix, issues.classes)

    def _draw(self, ax: Any) -> None:
        self.mesh_ = draw_cells(ax, self.noise_matrix, "{:.0%}".format, vmin=0.0, vmax=1.0)
        middles, names = np.arange(len(self.classes)) + 0.5, [str(c) for c in self.classes]
        ax.set_xticks(middles, names)
        ax.set_yticks(middles, names)
        ax.set(xlabel="label as given", ylabel="true class, by estimate")
        ax.invert_yaxis()
        for text in ax.texts:
            text.set_fontsize("medium")


class SuspectMapDisplay(_IssuesDisplay):
    """All rows as dots in a plane, suspect ones crossed.

    The plane is that of the first two principal components of the standardised columns, cut off at
    three standard deviations. Of more than 3,000 rows a random choice is drawn, suspects first.

    Parameters
    ----------
    plane : ndarray of shape (n_samples, 2)
        Where each row stands.
    labels : ndarray of shape (n_samples,)
        Labels as given.
    suspect : ndarray of bool of shape (n_samples,)
        Whether another class is likelier than the label.

    Attributes
    ----------
    drawn_ : ndarray of int
        The rows that are drawn.
    ax_, figure_ : matplotlib axes and figure
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from robell import find_label_issues
    >>> from robell.plots import SuspectMapDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> issues = find_label_issues(X, y, random_state=0)
    >>> display = SuspectMapDisplay.from_issues(issues, y, X=X)
    >>> len(display.drawn_), int(display.suspect.sum()) == len(issues)
    (569, True)
    """

    _needs_rows = True
    drawn_: Array

    def __init__(self, plane: Array, labels: Array, suspect: Array) -> None:
        self.plane, self.labels, self.suspect = plane, labels, suspect

    @classmethod
    def _of(cls, issues: LabelIssues, X: Any, y: Any) -> Self:
        X = check_array(X, dtype=np.float64)
        check_consistent_length(X, y)
        mean, scale = column_scales(X, np.ones(len(X)))
        return cls(project(np.clip((X - mean) / scale, -3.0, 3.0))[0], y, _suspect(issues))

    def _draw(self, ax: Any) -> None:
        self.drawn_ = thinned(self.suspect, 0)
        points, suspect = self.plane[self.drawn_], self.suspect[self.drawn_]
        _dots_by_class(ax, points[~suspect], self.labels[self.drawn_][~suspect], alpha=0.55)
        looks = {"marker": "x", "color": ALARM, "s": 36, "linewidths": 1.5}
        ax.scatter(*points[suspect].T, label="suspect", **looks)
        ax.set(xticks=[], yticks=[], xlabel="first principal component", ylabel="second")
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)


class BudgetCurveDisplay(_IssuesDisplay):
    """How many of the first rows of the list are really wrong, for every budget of checks.

    Suspects come first, the least sure label at the top, then all other rows. The expected share
    comes from the probabilities; where the wrong labels are known, the true share is drawn too.

    Parameters
    ----------
    expected : ndarray of shape (n_samples,)
        Probability that the label is wrong, in the order of the list.
    n_suspects : int
        How many rows are suspect.
    is_wrong : ndarray of bool of shape (n_samples,) or None, default=None
        Whether the label really is wrong, in the same order.

    Attributes
    ----------
    expected_precision_ : ndarray of shape (n_samples,)
        Expected share of wrong labels among the first rows.
    precision_ : ndarray of shape (n_samples,)
        The same as known; only with ``is_wrong``.
    ax_, figure_ : matplotlib axes and figure
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from robell import find_label_issues
    >>> from robell.noise import flip_labels
    >>> from robell.plots import BudgetCurveDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> noisy, is_wrong = flip_labels(y, 0.1, random_state=0)
    >>> issues = find_label_issues(X, noisy, random_state=0)
    >>> display = BudgetCurveDisplay.from_issues(issues, noisy, is_wrong=is_wrong)
    >>> bool(display.precision_[len(issues) - 1] == is_wrong[issues.index].mean())
    True
    """

    expected_precision_: Array
    precision_: Array

    def __init__(self, expected: Array, n_suspects: int, is_wrong: Array | None = None) -> None:
        self.expected, self.n_suspects, self.is_wrong = expected, n_suspects, is_wrong

    @classmethod
    def _of(cls, issues: LabelIssues, X: Any, y: Any, is_wrong: ArrayLike | None = None) -> Self:
        order = np.lexsort([issues.sample_quality, ~_suspect(issues)])
        known = None
        if is_wrong is not None:
            given = np.asarray(is_wrong)
            check_consistent_length(given, y)
            if not np.isin(given, (False, True)).all():
                raise ValueError("is_wrong must be True or False in every row")
            known = given.astype(bool)[order]
        return cls(1.0 - issues.sample_quality[order], len(issues), known)

    def _draw(self, ax: Any) -> None:
        checked = np.arange(1, len(self.expected) + 1)
        self.expected_precision_ = np.cumsum(self.expected) / checked
        ax.plot(checked, self.expected_precision_, color=CALM, label="expected")
        if self.is_wrong is not None:
            self.precision_ = np.cumsum(self.is_wrong) / checked
            ax.plot(checked, self.precision_, "--", color=ALARM, label="known")
        if self.n_suspects:
            ax.axvline(self.n_suspects, color=GREY, linewidth=1, linestyle=":")
            looks = {"xytext": (4, 4), "textcoords": "offset points", "color": "#595959"}
            ax.annotate(f"{self.n_suspects:,} suspects", (self.n_suspects, 0.0), **looks)
        ax.set(xlim=(1, max(2, len(checked))), ylim=(0, 1.02))
        ax.set(xlabel="rows checked, from the top of the list", ylabel="share with a wrong label")
        ax.legend(frameon=False)


class MembershipDisplay(_Display):
    """How much each training row was trusted, on two columns.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        The two columns.
    labels : ndarray of shape (n_samples,)
        Labels, drawn as marks of different shapes.
    membership : ndarray of shape (n_samples,)
        Memberships, drawn as colours.
    names : sequence of two str, default=("", "")
        Names of the columns.

    Attributes
    ----------
    colorbar_ : matplotlib Colorbar
        The scale of the colours.
    ax_, figure_ : matplotlib axes and figure
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from robell import RoBellRVFLClassifier
    >>> from robell.plots import MembershipDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> robell = RoBellRVFLClassifier(kernel_width="scale", random_state=0)
    >>> model = make_pipeline(StandardScaler(), robell).fit(X, y)
    >>> columns = ["mean radius", "mean texture"]
    >>> display = MembershipDisplay.from_estimator(model, X, y, columns=columns)
    >>> display.ax_.get_xlabel()
    'mean radius'
    """

    colorbar_: Any

    def __init__(
        self, points: Array, labels: Array, membership: Array, names: Sequence[str] = ("", "")
    ) -> None:
        self.points, self.labels, self.membership = points, labels, membership
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        columns: Sequence[Any] = (0, 1),
        ax: Any = None,
    ) -> Self:
        """Draw the memberships of a fitted model.

        Parameters
        ----------
        estimator : estimator
            A classifier with ``membership_``, or a pipeline that ends in one, fitted to these rows.
        X : array-like of shape (n_samples, n_features)
            Its training rows.
        y : array-like of shape (n_samples,)
            Their labels.
        columns : sequence of two, default=(0, 1)
            The columns to draw: places, or names of a data frame.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : MembershipDisplay
            The display, drawn.
        """
        fitted = last_step(estimator)
        if not hasattr(fitted, "membership_"):
            raise ValueError(f"{type(fitted).__name__} has no membership_: fit a model that has")
        return cls.from_predictions(X, y, fitted.membership_, columns=columns, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        X: Any,
        y: ArrayLike,
        membership: ArrayLike,
        *,
        columns: Sequence[Any] = (0, 1),
        ax: Any = None,
    ) -> Self:
        """Draw memberships, for instance those of ``pw_gbell_membership``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        membership : array-like of shape (n_samples,)
            Their memberships.
        columns : sequence of two, default=(0, 1)
            The columns to draw: places, or names of a data frame.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : MembershipDisplay
            The display, drawn.
        """
        if len(columns) != 2:
            raise ValueError(f"two columns are drawn; got {len(columns)}")
        check_consistent_length(X, y, membership)
        trusted = np.asarray(membership, dtype=np.float64).ravel()
        if not np.isfinite(trusted).all():
            raise ValueError("membership must be a finite number in every row")
        X = np.asarray(X) if isinstance(X, list | tuple) else X
        try:
            points = np.asarray(_safe_indexing(X, list(columns), axis=1), dtype=np.float64)
        except (IndexError, ValueError) as error:
            drawn = ", ".join(map(repr, columns))
            raise ValueError(f"columns {drawn} of X cannot be drawn: {error}") from None
        heads = getattr(X, "columns", None)
        names = [
            str(c if isinstance(c, str) else f"column {c}" if heads is None else heads[c])
            for c in columns
        ]
        found = cls(points, np.asarray(y).ravel(), trusted, names)
        return found.plot(ax)

    def _draw(self, ax: Any) -> None:
        shown = _dots_by_class(ax, self.points, self.labels, self.membership)
        self.colorbar_ = self.figure_.colorbar(shown, ax=ax, label="membership")
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)


class NoiseCurveDisplay(_Display):
    """What scores do as more training labels are wrong.

    Parameters
    ----------
    noise : sequence of float
        Shares of wrong labels.
    scores : dict of str to array-like of shape (n_levels, n_repeats)
        The scores of each model.
    score_name : str, default="score"
        What the vertical axis is called.

    Attributes
    ----------
    lines_ : dict of str to matplotlib Line2D
        The line of each model: means over the repeats.
    ax_, figure_ : matplotlib axes and figure
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from robell import NoiseRobustRVFLClassifier
    >>> from robell.plots import NoiseCurveDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = {"robust": NoiseRobustRVFLClassifier(random_state=0), "ridge": RidgeClassifier()}
    >>> display = NoiseCurveDisplay.from_estimator(
    ...     models, X, y, noise=[0.0, 0.3], n_splits=2, random_state=0
    ... )
    >>> display.scores["robust"].shape
    (2, 2)
    """

    lines_: dict[str, Any]

    def __init__(
        self, noise: ArrayLike, scores: Mapping[str, ArrayLike], score_name: str = "score"
    ) -> None:
        self.noise = np.asarray(noise, dtype=np.float64)
        self.scores = {name: np.asarray(given, np.float64) for name, given in scores.items()}
        for name, given in self.scores.items():
            if given.ndim != 2 or len(given) != len(self.noise):
                raise ValueError(
                    f"scores of {name!r} must have a row for each of {len(self.noise)} levels of "
                    f"noise and a column for each repeat; got shape {given.shape}"
                )
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        noise: ArrayLike = (0.0, 0.1, 0.2, 0.3, 0.4),
        scoring: str | Callable[..., float] = "balanced_accuracy",
        n_splits: int = 5,
        test_size: float = 0.3,
        flip: Callable[..., Any] = flip_uniformly,
        random_state: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Make training labels wrong, fit, and score on test rows whose labels are left alone.

        Parameters
        ----------
        estimator : estimator or dict of str to estimator
            The classifiers; clones of them are fitted.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, taken for right.
        noise : array-like of float, default=(0.0, 0.1, 0.2, 0.3, 0.4)
            Shares of the training labels to make wrong.
        scoring : str or callable, default="balanced_accuracy"
            A scorer of scikit-learn.
        n_splits : int, default=5
            Stratified splits; all models get the same rows and wrong labels.
        test_size : float, default=0.3
            Share of the test rows.
        flip : callable, default=robell.noise.flip_uniformly
            Called as ``flip(y, share, random_state=seed)``; returns labels, and which are wrong.
        random_state : int or None, default=None
            Seed of splits and wrong labels.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : NoiseCurveDisplay
            The display, drawn.
        """
        given = {type(last_step(estimator)).__name__: estimator}
        models = estimator if isinstance(estimator, Mapping) else given
        scorer, labels = get_scorer(scoring), np.asarray(y).ravel()
        levels = np.ravel(np.asarray(noise, dtype=np.float64))
        rng = check_random_state(random_state)
        splits = StratifiedShuffleSplit(n_splits, test_size=test_size, random_state=rng)
        scores = {name: np.empty((len(levels), n_splits)) for name in models}
        for place, (train, test) in enumerate(splits.split(labels, labels)):
            seed = int(rng.randint(1 << 31))
            X_train, X_test = (_safe_indexing(X, rows) for rows in (train, test))
            for level, share in enumerate(levels):
                wrong = flip(labels[train], share, random_state=seed)[0]
                for name, model in models.items():
                    fitted = clone(model).fit(X_train, wrong)
                    scores[name][level, place] = scorer(fitted, X_test, labels[test])
        called = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
        return cls(levels, scores, called.replace("_", " ")).plot(ax)

    def _draw(self, ax: Any) -> None:
        order = np.argsort(self.noise, kind="stable")
        percent, self.lines_ = 100.0 * self.noise[order], {}
        for place, (name, given) in enumerate(self.scores.items()):
            scores = given[order]
            looks = {"color": APART[place % len(APART)], "marker": MARKERS[place % 8]}
            mean = scores.mean(axis=1)
            (self.lines_[name],) = ax.plot(percent, mean, label=name, **looks)
            if scores.shape[1] > 1:
                error = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
                band = {"color": looks["color"], "alpha": 0.15, "linewidth": 0}
                ax.fill_between(percent, mean - error, mean + error, **band)
        ax.set_xticks(percent, [f"{value:g}" for value in percent])
        ax.set(xlabel="wrong training labels (%)", ylabel=self.score_name)
        ax.grid(axis="y", alpha=0.25)
        ax.legend(frameon=False)


class CriticalDifferenceDisplay(_Display):
    """Average ranks of models over data sets, those that do not differ joined by a bar.

    Parameters
    ----------
    names : sequence of str
        The models.
    average_ranks : array-like of shape (n_models,)
        Their average ranks, 1 the best.
    critical_difference : float
        The least difference of two average ranks that is significant.
    cliques : sequence of tuple of int
        Groups of models, by place, of which no two differ.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        What was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from robell.plots import CriticalDifferenceDisplay
    >>> scores = np.array([[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.9, 0.7, 0.8], [0.7, 0.6, 0.5]])
    >>> display = CriticalDifferenceDisplay.from_scores(scores, names=["a", "b", "c"])
    >>> display.average_ranks.tolist()
    [1.0, 2.25, 2.75]
    """

    def __init__(
        self,
        names: Sequence[str],
        average_ranks: ArrayLike,
        critical_difference: float,
        cliques: Sequence[tuple[int, ...]],
    ) -> None:
        self.names, self.average_ranks = list(names), np.asarray(average_ranks)
        self.critical_difference, self.cliques = critical_difference, cliques

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        *,
        names: Sequence[str] | None = None,
        higher_is_better: bool = True,
        alpha: float = 0.05,
        ax: Any = None,
    ) -> Self:
        """Rank the models on every data set, and compare all pairs by Nemenyi's test.

        Parameters
        ----------
        scores : array-like of shape (n_datasets, n_models)
            One score of each model on each data set; a data frame's columns name the models.
        names : sequence of str, default=None
            The models.
        higher_is_better : bool, default=True
            Whether a larger score is a better one.
        alpha : float, default=0.05
            Level of the test, over all pairs together.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : CriticalDifferenceDisplay
            The display, drawn.
        """
        values = check_array(scores, dtype=np.float64)
        heads = getattr(scores, "columns", [f"model {k + 1}" for k in range(values.shape[1])])
        called = [str(name) for name in (heads if names is None else names)]
        if len(called) != values.shape[1]:
            raise ValueError(f"{values.shape[1]} models need as many names; got {len(called)}")
        scores = Ranked(values if higher_is_better else -values)  # ties as pages have them
        test = nemenyi(scores.scaled, alpha, DECIMALS)
        found = cls(called, test.average_ranks, test.critical_difference, test.cliques)
        return found.plot(ax)

    def _size(self) -> tuple[float, float]:
        return size_of_differences(len(self.names), len(self.cliques))

    def _draw(self, ax: Any) -> None:
        ranks, least = self.average_ranks, self.critical_difference
        draw_differences(ax, self.names, ranks, least, self.cliques)


class LeftOutCalibrationDisplay(_Display):
    """Whether probabilities of left-out rows come true, and how they spread.

    The curve has a point for each bin of equally many rows, those of one probability in one bin,
    with an interval of 95 % (Wilson); the grey bars below show how many rows have which
    probability. Where labels are wrong, the curve is the frequency of the labels given, not of the
    true classes.

    Parameters
    ----------
    probability : ndarray of shape (n_samples,)
        Probabilities of the class, by models that have not seen the row.
    is_class : ndarray of bool of shape (n_samples,)
        Whether the label is that class.
    name : str, default=""
        What the class is called.
    n_bins : int, default=10
        Points of the curve.

    Attributes
    ----------
    predicted_, observed_ : ndarray of shape (n_bins,)
        Mean probability, and frequency of the class, of each bin; fewer where rows share one.
    ax_, figure_ : matplotlib axes and figure
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from robell import NoiseRobustRVFLClassifier
    >>> from robell.plots import LeftOutCalibrationDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = LeftOutCalibrationDisplay.from_estimator(
    ...     NoiseRobustRVFLClassifier(random_state=0), X, y, n_bins=5, random_state=0
    ... )
    >>> display.observed_.round(1).tolist()
    [0.0, 0.2, 1.0, 1.0, 1.0]
    """

    predicted_: Array
    observed_: Array

    def __init__(
        self, probability: Array, is_class: Array, name: str = "", n_bins: int = 10
    ) -> None:
        self.probability, self.is_class = probability, is_class
        self.name, self.n_bins = name, n_bins

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        pos_label: Any = None,
        n_bins: int = 10,
        random_state: int | np.random.RandomState | None = None,
        ax: Any = None,
    ) -> Self:
        """Fit clones on five folds, and draw the probabilities of the rows left out.

        Parameters
        ----------
        estimator : classifier
            Any with ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        pos_label : label, default=None
            The class; None is the last in sorted order.
        n_bins : int, default=10
            Points of the curve.
        random_state : int, RandomState instance or None, default=None
            Seed of the folds; copies of a row are in one fold.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : LeftOutCalibrationDisplay
            The display, drawn.
        """
        P, classes = unseen_probabilities(estimator, X, y, random_state)
        return cls.from_predictions(
            y, P, pos_label=pos_label, classes=classes, n_bins=n_bins, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        pred_proba: ArrayLike,
        *,
        pos_label: Any = None,
        classes: ArrayLike | None = None,
        n_bins: int = 10,
        ax: Any = None,
    ) -> Self:
        """Draw probabilities of rows that the model has not seen.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.
        pred_proba : array-like of shape (n_samples, n_classes) or (n_samples,)
            Out-of-fold probabilities; of two classes those of the second may do.
        pos_label : label, default=None
            The class; None is the last in the order of ``pred_proba``.
        classes : array-like of shape (n_classes,), default=None
            The classes in the order of ``pred_proba``; by default the sorted labels.
        n_bins : int, default=10
            Points of the curve.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : LeftOutCalibrationDisplay
            The display, drawn.
        """
        labels = np.asarray(y).ravel()
        require_labels(labels)
        known = np.unique(labels) if classes is None else np.asarray(classes)
        if n_bins < 1:
            raise ValueError(f"n_bins must be at least 1; got {n_bins}")
        if foreign := np.setdiff1d(labels, known).tolist():
            raise ValueError(f"classes must hold every label; it lacks {foreign[0]!r}")
        n_columns = np.shape(pred_proba)[1] if np.ndim(pred_proba) == 2 else len(known)
        if n_columns != len(known):
            raise ValueError(f"{len(known)} classes need as many columns; got {n_columns}")
        P = check_probabilities(pred_proba, len(labels), known)
        place = len(known) - 1
        if pos_label is not None:
            if not (known == pos_label).any():
                raise ValueError(f"no class is called {pos_label!r}")
            place = int(np.flatnonzero(known == pos_label)[0])
        found = cls(P[:, place], labels == known[place], str(known[place]), n_bins)
        return found.plot(ax)

    def _draw(self, ax: Any) -> None:
        order = np.argsort(self.probability, kind="stable")
        parts = np.array_split(np.arange(len(order)), min(self.n_bins, len(order)))
        begin, ranked = [rows[0] for rows in parts], self.probability[order]
        place = np.searchsorted(begin, np.searchsorted(ranked, ranked), side="right")
        bins = [order[place == k] for k in np.unique(place)]
        self.predicted_ = np.array([self.probability[rows].mean() for rows in bins])
        self.observed_ = np.array([self.is_class[rows].mean() for rows in bins])
        tests = [binomtest(int(self.is_class[rows].sum()), len(rows)) for rows in bins]
        low, high = np.array([test.proportion_ci(method="wilson") for test in tests]).T
        counts, edges = np.histogram(self.probability, np.linspace(0.0, 1.0, BINS + 1))
        looks = {"width": 0.9 / BINS, "align": "edge", "color": GREY, "alpha": 0.35}
        ax.bar(edges[:-1], 0.25 * counts / max(counts.max(), 1), **looks, label="rows left out")
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":")
        ax.vlines(self.predicted_, low, high, color=CALM, linewidth=1)
        ax.plot(self.predicted_, self.observed_, "o-", color=CALM, label="frequency, 95 % interval")
        ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel=f"predicted probability of {self.name}")
        ax.set_ylabel(f"frequency of {self.name}")
        ax.legend(frameon=False, loc="upper left")


def _require_own_labels(fitted: Any, labels: Array) -> None:
    """Raise where a judge was not fitted to these labels: it says nothing of others."""
    check_consistent_length(fitted.label_probability_, labels)
    places = {label: place for place, label in enumerate(fitted.classes_.tolist())}
    codes = np.array([places.get(label, -1) for label in labels.tolist()])
    quality = fitted.label_probability_[np.arange(len(labels)), codes]
    quality[codes < 0] = 0.0  # of rows of weight 0, whose class no other row has
    is_own = quality == fitted.sample_quality_
    if not is_own.all():
        row = int(np.argmin(is_own))
        raise ValueError(
            f"y is not what {type(fitted).__name__} was fitted to: row {row} had another label "
            f"than {labels[row]}"
        )


def _suspect(issues: LabelIssues) -> Array:
    """Return for every row whether it is suspect."""
    suspect = np.zeros(len(issues.sample_quality), dtype=bool)
    suspect[issues.index] = True
    return suspect


def _dots_by_class(ax: Any, points: Array, labels: Array, values: Any = None, **looks: Any) -> Any:
    """Draw rows as dots, a shape for each class; with values one scale of colours for all."""
    shown = None
    for place, c in enumerate(np.unique(labels)):
        here = labels == c
        mark = {"marker": MARKERS[place % len(MARKERS)], "s": 22, "linewidths": 0, **looks}
        if values is None:
            colours: dict[str, Any] = {"color": APART[place % len(APART)]}
        else:
            ends = {"vmin": float(np.min(values)), "vmax": float(np.max(values))}
            colours = {"c": values[here], "cmap": "viridis", **ends}
        shown = ax.scatter(*points[here].T, **colours, **mark)
        colour = colours.get("color", GREY)
        ax.plot([], [], mark["marker"], color=colour, linewidth=0, label=str(c))
    return shown
