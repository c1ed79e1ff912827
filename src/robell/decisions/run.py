"""``fit_table``: from a raw table to a model that decides, and what it is worth."""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from robell._tools.progress import Progress
from robell._tools.text import said
from robell._tools.threads import calm_blas
from robell.decisions.assess import Assessment, assess, calibrate, hold_out
from robell.decisions.data import Training, read_training
from robell.labels.judge import judge_labels, judgement_of
from robell.labels.reviewed import judge_reviewed
from robell.labels.trust import estimate_wrong, measure_trust
from robell.labels.unseen import FOLDED_ROWS, Unseen
from robell.models._thresholds import rule_of
from robell.models.noise_robust import NoiseRobustRVFLClassifier, NoSignalWarning
from robell.models.thresholded import ThresholdClassifier
from robell.tables.target import KnownLabels

LONG = 10.0  # seconds from which on an estimate is printed


@dataclass(frozen=True, eq=False)
class FitResult:
    """A model fitted to a raw table, and what held-out rows say about it.

    Attributes
    ----------
    model : Pipeline
        A :class:`TableEncoder` and a :class:`ThresholdClassifier`: it takes raw rows.
    assessment : Assessment
        Performance on held-out rows, with intervals; thresholds in rows; columns that matter.
    n_rows, n_fitted : int
        Rows of the source, and rows that were fitted.
    suspects : int
        Rows whose label is probably wrong, of those that were judged.
    n_judged : int
        Rows whose labels were judged.
    noise_rate : float
        Estimated share of wrong labels.
    noise_matrix : ndarray of shape (n_classes, n_classes)
        ``[i, j]``: estimated share of the rows of true class i that are labelled j.
    trust : {"good", "fair", "weak", "none"}
        How far to trust these, as :func:`audit` says it.
    corrected : bool
        Whether threshold and probabilities count probable labels instead of those given.
    notes : tuple of str
        What was done to rows and labels.
    name, target : str
        The file's name, and the column of labels.
    class_sizes : tuple of int
        Rows of each class that were fitted.
    seed : int
        The seed of all that was random.
    training : Training
        The rows that were fitted, encoded.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from robell import fit_table
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> result = fit_table(pd.DataFrame({"x": x, "y": np.where(x > 1, "yes", "no")}), "y")
    >>> result.target, result.n_fitted, result.class_sizes
    ('y', 200, (165, 35))
    """

    model: Pipeline
    assessment: Assessment
    n_rows: int
    n_fitted: int
    suspects: int
    n_judged: int
    noise_rate: float
    noise_matrix: np.ndarray
    trust: str
    corrected: bool
    notes: tuple[str, ...]
    name: str
    target: str
    class_sizes: tuple[int, ...]
    seed: int
    training: Training

    @property
    def classes(self) -> np.ndarray:
        """The class labels."""
        return np.asarray(self.model.classes_)

    @property
    def encoder(self) -> Any:
        """The reader of raw rows."""
        return self.model[0]

    def save(self, path: Any) -> None:
        """Write the model to a file, with what is known about it, and its card beside it.

        Parameters
        ----------
        path : path-like
            The file, such as ``model.skops``.
        """
        from robell.persist.model_files import save_model

        training, decision = self.training, self.assessment.decision
        measures = {"accuracy": self.assessment.accuracy}
        if decision is not None:
            measures = {
                "average precision": decision.average_precision,
                "area under the ROC curve": decision.roc_area,
                "precision": decision.precision,
                "recall": decision.recall,
            }
        about: dict[str, Any] = {"target": self.target, "held-out rows": self.assessment.n_held_out}
        for name, one in measures.items():
            about[name] = round(one.value, 4)
        labels = self.classes[training.codes]
        save_model(self.model, path, X=training.columns, y=labels, about=about)

    def __repr__(self) -> str:
        return f"FitResult({self.name!r}, {self.n_fitted:,} rows, target {self.target!r})"


@calm_blas
def fit_table(
    data: Any,
    target: str,
    *,
    estimator: Any = None,
    model: Any = None,
    positive: Any = None,
    cost_fn: float | None = None,
    cost_fp: float | None = None,
    precision: float | None = None,
    recall: float | None = None,
    budget: float | None = None,
    labels: str = "given",
    drop: Any = (),
    classes: bool = False,
    keep_spelling: bool = False,
    reviewed: Any = (),
    encoding: str = "utf-8",
    delimiter: str | None = None,
    memory: int = 2 << 30,
    random_state: int = 0,
) -> FitResult:
    """Fit a classifier to a raw table, measure it on held-out rows, and choose its threshold.

    Every row is predicted once by a model that has not seen it. These predictions calibrate the
    probabilities, choose the threshold and measure all that the result states. Then the model is
    fitted to all rows.

    Parameters
    ----------
    data : path-like, list of path-like, or data frame
        CSV (also gzipped) or Parquet files, folders of them, or a frame of pandas or polars.
    target : str
        The column of labels.
    estimator : classifier, default=None
        It gets encoded rows, and is fitted to the labels as they are; ``NoiseRobustRVFLClassifier``
        when None.
    model : str, classifier or callable, default=None
        Instead of ``estimator``: a classifier that :class:`NoiseRobustClassifier` makes robust to
        wrong labels. A name ("logistic", "svc", "forest", "hist_gradient", "lightgbm", "xgboost",
        "catboost"), ``"module:callable"``, a classifier, or a function of the seed that makes one.
    positive : label, default=None
        Of two classes, the one that is looked for; the smaller one when None.
    cost_fn, cost_fp : float, default=None
        What a missed positive and a false alarm cost, in the same money: the threshold with the
        smallest cost on held-out rows is taken.
    precision, recall, budget : float, default=None
        Choose the threshold by the least precision, the least recall, or the largest share of rows
        to be flagged. Without any of these, the best F1.
    labels : {"given", "corrected"}, default="given"
        What the threshold and the measures count by: the labels as given, by which a good model
        looks worse than it is where labels are wrong; or the probability of each true class.
    drop : iterable of str, default=()
        Columns not to learn from.
    classes : bool, default=False
        Whether a target of more than two different numbers holds classes.
    keep_spelling : bool, default=False
        Whether labels that differ only in capitals, spaces or coded accents are different classes.
    reviewed : path-like or iterable of path-like, default=()
        Earlier reviews of rows of this table, as :func:`audit` takes them: labels that were decided
        upon are taken as right where labels are judged. The model is fitted to the labels given.
    encoding, delimiter : str
        Of text files; the delimiter is found out when None.
    memory : int, default=2 GiB
        Bytes that the fit may take; of a table that needs more, a random sample is fitted.
    random_state : int, default=0
        Seed of all that is random.

    Returns
    -------
    result : FitResult
        The model, what it is worth, and what was done to the table.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from robell import fit_table
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat(["ham", "spam"], [300, 60])
    >>> size = np.round(rng.normal(np.where(kind == "spam", 3.0, 0.0)), 2)
    >>> table = pd.DataFrame({"size": size, "sent": rng.choice(["mon", "sun"], 360), "kind": kind})
    >>> result = fit_table(table, "kind", recall=0.9)
    >>> bool(result.assessment.decision.recall.value > 0.8)
    True
    >>> sorted(set(result.model.predict(table.drop(columns="kind")).tolist()))
    ['ham', 'spam']
    """
    rule = rule_of(cost_fn, cost_fp, precision, recall, budget)
    if labels not in ("given", "corrected"):
        raise ValueError(f"labels must be 'given' or 'corrected', got {labels!r}")
    if model is not None and estimator is not None:
        raise ValueError("give estimator or model, not both")
    if model is not None:
        from robell.comparison.user_models import made_robust

        estimator = made_robust(model, random_state)
    elif estimator is None:
        estimator = NoiseRobustRVFLClassifier(random_state=random_state)
    text = {} if hasattr(data, "columns") else {"encoding": encoding, "delimiter": delimiter}
    training = read_training(
        data, target, drop=drop, text=text, classes=classes, keep_spelling=keep_spelling,
        reviewed=reviewed, memory=memory, seed=random_state,
    )  # fmt: skip
    place = _positive_place(training, positive, rule, keep_spelling)
    X, codes, encoder = training.X, training.codes, training.encoder
    names, corrected = list(map(str, training.classes.tolist())), labels == "corrected"

    held = hold_out(estimator, X, codes, len(names), random_state)
    share = len(codes) / max(1, len(held.codes) * (1 - 1 / len(held.models)))
    if held.seconds * share > LONG and Progress.enabled:
        about = f"{len(codes):,} rows x {X.shape[1]} columns, about {held.seconds * share:.0f}"
        with suppress(OSError):
            print(f"robell: fitting {about} seconds", file=sys.stderr, flush=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSignalWarning)  # the trust says it
        fitted = clone(estimator).fit(X, training.classes[codes])
        judged, trust, of_held = _judge(fitted, training, held, random_state)
    judge = replace(judged, probability=judged.probability[of_held])
    assessment = assess(
        held, X, names, place, rule, judge, corrected, encoder.groups_, random_state
    )
    slope, offsets = calibrate(held.scores, held.codes, judge.noise_matrix if corrected else None)
    decision = assessment.decision
    final = ThresholdClassifier(
        estimator,
        threshold=0.5 if decision is None else decision.threshold,
        slope=slope / held.spread,
        offsets=offsets,
        positive=None if decision is None else training.classes[place].item(),
    )._keep(fitted)
    return FitResult(
        model=Pipeline([("table", encoder), ("model", final)]),
        assessment=assessment,
        n_rows=training.n_rows,
        n_fitted=len(codes),
        suspects=int(judged.suspect.sum()),
        n_judged=len(judged.suspect),
        noise_rate=estimate_wrong(judged, trust.worth)[1].about / len(judged.suspect),
        noise_matrix=trust.scaled(judged.noise_matrix),
        trust=trust.word,
        corrected=corrected,
        notes=training.notes,
        name=training.name,
        target=target,
        class_sizes=tuple(np.bincount(codes, minlength=len(names)).tolist()),
        seed=random_state,
        training=training,
    )


def _positive_place(training: Training, positive: Any, rule: Any, keep_spelling: bool) -> int:
    """Return the place of the class looked for among the classes."""
    names = training.classes.tolist()
    if len(names) > 2:
        if positive is not None or rule.kind != "f1":
            raise ValueError(
                f"{training.name}: a threshold is for two classes, and column "
                f"{said(training.target)} has {len(names)}"
            )
        return 1
    if positive is None:
        sizes = np.bincount(training.codes, minlength=2)
        return int(sizes[1] <= sizes[0])
    texts = [str(name) for name in names]
    known = KnownLabels(texts, range(2), keep_spelling=keep_spelling)
    place: int = known[str(positive).strip()]
    if place < 0:
        shown = " and ".join(map(said, texts))
        raise ValueError(f"there is no class {said(str(positive))}; there are {shown}")
    return place


def _judge(fitted: Any, training: Training, held: Any, seed: int) -> tuple[Any, ...]:
    """Judge the labels as an audit does; return that, its trust, and the rows held out."""
    X, codes, reviewed, of_held = training.X, training.codes, training.reviewed, held.places
    unseen = None
    if isinstance(fitted, NoiseRobustRVFLClassifier):
        judged = judgement_of(fitted, training.classes[codes])
        if len(codes) <= FOLDED_ROWS:  # then an audit hides the same rows together
            unseen = Unseen.of(softmax(held.scores * held.spread, axis=1), held.codes)
    else:
        X = X[held.places]
        judged = judge_labels(X, held.codes, random_state=seed)
        codes, reviewed = np.searchsorted(judged.classes, held.codes), reviewed.at(held.places)
        first = np.searchsorted(judged.classes, reviewed.first).clip(max=len(judged.classes) - 1)
        is_class = judged.classes[first] == reviewed.first
        reviewed = reviewed._replace(first=np.where(is_class, first, codes))
        of_held = slice(None)
    is_reviewed = bool(reviewed.settled.any())
    if is_reviewed:
        judged = judge_reviewed(judged, codes, reviewed)
    told = bool(training.giveaways)
    trust = measure_trust(judged, X, codes, seed, is_reviewed, unseen, told)
    return trust.suspects_of(judged), trust, of_held
