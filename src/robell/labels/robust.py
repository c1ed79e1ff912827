"""Any classifier made robust to wrong labels, and any regressor to wrong numbers.

Classifiers are fitted to probabilities of the true classes instead of labels, regressors to numbers
moved into the intervals that right ones are expected in.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse import issparse
from scipy.special import softmax
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    _fit_context,
    clone,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_method_params,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from robell._core.array import require_labels, softmax_of_rows
from robell._core.membership.samples import row_keys
from robell._tools.pipelines import last_step
from robell._tools.threads import calm_blas
from robell.labels.issues import LEAST_TARGETS, check_targets
from robell.labels.judge import judge_labels, judge_numbers
from robell.labels.unseen import rows_of
from robell.models._thresholds import ThresholdChoice
from robell.models._validation import check_multiplicity, draw_seed, level_of_user, one_line_errors
from robell.models.thresholded import ADDED, calibrated, class_scores, require_scores
from robell.tables.encoder import TableEncoder
from robell.tables.target import problem_of

COPIES = 2  # of a row at the most, each with another class
SMALLEST_SHARE = 1e-6  # of a class in a row: smaller ones get no copy
LOG_SLOPES = -4.0, 2.0  # the least and the largest
COVERAGE = 0.8  # of the intervals that targets are moved into: wider ones leave more of an error
AGREEMENT = 0.5  # of the way to the interval: a regressor that is nearer keeps the target given
LEAST_AGREEING = 0.1  # of the targets outside: fewer are met by chance, where many are wrong
ENCODED_DIGITS = 7  # after the point that encoded columns, whose spread is about 1, are kept to
FEWEST_TO_CALIBRATE = 10  # distinct rows of every class


class _NoiseRobust(MetaEstimatorMixin, BaseEstimator):
    """What the classifier and the regressor share: the estimator inside, and what it is passed."""

    estimator: Any

    def _started(self, X, y, sample_weight, fit_params):
        """Return y as a column, how often each row counts, and what the estimator's fit gets."""
        validate_data(self, X, skip_check_array=True)
        with one_line_errors(self, X):
            y = column_or_1d(y, warn=True)
        if get_config()["enable_metadata_routing"]:
            fit_params = process_routing(self, "fit", **fit_params).estimator.fit
        return y, check_multiplicity(sample_weight, len(y)), fit_params

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what is passed on to the estimator.

        Returns
        -------
        routing : MetadataRouter
            The estimator's ``fit`` gets what it requests from ``fit``.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags

    def _check_new(self, X):
        """Raise where rows to predict are none, or have other columns than those of fit."""
        check_is_fitted(self)
        if len(getattr(X, "shape", (1, 1))) == 1:
            raise ValueError("X has one dimension, rows and columns are two. Reshape your data")
        validate_data(self, X, reset=False, skip_check_array=True)


class NoiseRobustClassifier(ThresholdChoice, ClassifierMixin, _NoiseRobust):
    """Any scikit-learn classifier, fitted so that wrong labels do little harm.

    A judge, which scores every row by models that have not seen it, estimates how often labels are
    wrong and how probable each class is for each row. The classifier is then fitted to these
    probabilities instead of the labels: a row counts once for its likeliest class and once for the
    next one, each time by its probability, with all classes given the same total weight.

    Parameters
    ----------
    estimator : classifier
        What is made robust: LightGBM, a forest, a pipeline with a classifier at its end. It needs
        ``predict_proba`` or ``decision_function``. Where it takes no ``sample_weight``, rows are
        drawn instead of weighted.
    probability : {"frequency", "balanced"}, default="frequency"
        What ``predict_proba`` returns: how often each class truly occurs among rows like the one
        given; or the same as if all classes were equally frequent: the predicted class is then the
        likeliest. ``predict`` is the same either way.
    calibrate : bool, default=True
        Whether a second fit, to one half of the rows, shows on the other half how sure the
        probabilities may be and what every threshold would give. ``predict`` does not need it.
    random_state : int, RandomState instance or None, default=None
        Seed of the judge, the folds, the halves and the rows drawn, not of the estimator.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier. Its classes are 0, 1, ..., places in ``classes_``.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    threshold_ : float
        Only for two classes: ``predict`` returns ``classes_[1]`` where its probability is at least
        this. It may be set, by hand or by ``choose_threshold``.
    thresholds_ : ndarray of shape (n_classes,)
        Only for more classes: ``predict`` returns the class with the largest probability divided
        by its threshold. They may be set.
    sample_quality_ : ndarray of shape (n_samples,)
        Probability that the label of each training row is right.
    label_probability_ : ndarray of shape (n_samples, n_classes)
        Probability of each class, given the row and its label.
    n_suspects_ : int
        Number of rows for which another class is likelier than the label.
    noise_matrix_ : ndarray of shape (n_classes, n_classes)
        ``[i, j]`` is the estimated share of the rows of true class i that are labelled j.
    noise_rate_ : float
        Estimated share of wrong labels.
    class_prior_ : ndarray of shape (n_classes,)
        Estimated true shares of the classes.
    operating_points_ : ndarray of shape (n_points, 4)
        Only for two classes with at least ten different rows each, and ``calibrate=True``:
        thresholds, and of each the share of rows predicted ``classes_[1]``, recall and precision,
        estimated on the half of the rows that the other half's model has not seen.
    slope_ : float
        What the estimator's log-probabilities are multiplied by.
    offsets_ : ndarray of shape (n_classes,)
        What is added to them for each class.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.

    See Also
    --------
    NoiseRobustRVFLClassifier : The judge; itself a classifier that needs no other.
    find_label_issues : The suspect rows as a ranked table.

    Notes
    -----
    X may be whatever the estimator takes. Where it is not a table of finite numbers, the judge sees
    it through :class:`TableEncoder`, fitted to the rows of positive weight, each once. The steps
    of a scikit-learn pipeline before its last are fitted once to the rows and labels as given,
    without weights; only the last is fitted to probabilities.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import train_test_split
    >>> from robell import NoiseRobustClassifier
    >>> from robell.noise import flip_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    >>> noisy, _ = flip_labels(y, 0.4, random_state=0)
    >>> forest = RandomForestClassifier(random_state=0)
    >>> robust = NoiseRobustClassifier(forest, random_state=0).fit(X, noisy)
    >>> bool(robust.score(X_test, y_test) > forest.fit(X, noisy).score(X_test, y_test) + 0.1)
    True
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit"])],  # some have ``predict`` only when they are fitted
        "probability": [StrOptions({"frequency", "balanced"})],
        "calibrate": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        probability: str = "frequency",
        calibrate: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.probability = probability
        self.calibrate = calibrate
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Judge the labels, then fit the estimator to the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Class labels of any kind, of which some may be wrong.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of each row: weight 2 is the row given twice, weight 0 its absence. Only
            with an estimator that takes weights.
        **fit_params : dict
            Passed to the estimator's ``fit``, entries of rows along with their rows; with metadata
            routing, what was requested.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        y, multiplicity, params = self._started(X, y, sample_weight, fit_params)
        require_labels(y)
        with one_line_errors(self, X):
            assert_all_finite(y, estimator_name=type(self).__name__, input_name="y")
            check_classification_targets(y)
        seed = draw_seed(self.random_state)
        columns = as_numbers(X, y, multiplicity)
        judgement = judge_labels(columns, y, sample_weight=sample_weight, random_state=seed)
        self.classes_ = judgement.classes
        self.label_probability_ = Z = judgement.probability
        self.sample_quality_ = judgement.quality
        self.n_suspects_ = int((judgement.suspect & (multiplicity > 0)).sum())
        self.noise_matrix_, self.noise_rate_ = judgement.noise_matrix, judgement.noise_rate
        self._assumed_noise = judgement.assumed_noise
        self.class_prior_ = multiplicity @ Z / multiplicity.sum()

        present = np.flatnonzero(multiplicity)
        rng = np.random.default_rng(seed)
        self.estimator_ = self._fitted(X, y, Z, multiplicity, present, params, rng)
        frequencies = np.log(np.maximum(self.class_prior_, 1e-300))
        is_balanced = self.probability == "balanced"
        self.slope_, self.offsets_ = 1.0, np.zeros_like(frequencies) if is_balanced else frequencies
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        halves = _halves(columns, codes, present, len(self.classes_), seed)
        judged = None  # rows that the model of the other half has not seen
        if self.calibrate and halves is not None:
            seen, unseen = halves
            model = self._fitted(X, y, Z, multiplicity, seen, params, rng)
            scores, weight = _scores(model, rows_of(X, unseen)), multiplicity[unseen]
            likelihood = judgement.assumed_noise.T[codes[unseen]]
            self.slope_ = _best_slope(scores, frequencies, likelihood, weight)
            P = calibrated(scores, self.slope_, self.offsets_)
            judged = P[:, 1], Z[unseen, 1], weight
        # The estimator has seen classes of equal weight: it predicts the one of largest score.
        self._set_thresholds(softmax_of_rows(self.offsets_[None])[0], judged)
        return self

    def _fitted(self, X, y, Z, multiplicity, rows, params, rng):
        """Return a clone fitted to copies of some rows, one a class, as probable as the class."""
        Z, weight = Z[rows], multiplicity[rows]
        places, codes = _likeliest(Z)
        # m_i Z_ik / Σ_j m_j Z_jk, times what makes the weights add up to those of the rows
        copies = weight[places] * Z[places, codes]
        copies /= np.bincount(codes, copies, Z.shape[1])[codes]
        copies *= weight.sum() / copies.sum()
        params = _check_method_params(y, params, rows)
        model, X, y = clone(self.estimator), rows_of(X, rows), y[rows]
        last = last_step(model)
        if not hasattr(last, "fit"):
            raise ValueError(f"the last step of estimator must be a classifier; it is {last!r}")
        if isinstance(model, Pipeline) and len(model.steps) > 1:
            _require_rows_kept(model)
            head = model[:-1]
            X = head.fit_transform(X, y)
            model.steps[:-1] = head.steps
        _number_class_weight(last, self.classes_)
        if has_fit_parameter(last, "sample_weight"):
            params = _check_method_params(y, params, places) | {"sample_weight": copies}
        else:
            if not np.isin(multiplicity, (0.0, 1.0)).all():
                raise ValueError(f"{type(last).__name__} takes no sample_weight")
            # as many copies as there are rows, drawn evenly along the sum of the weights
            steps = (np.arange(len(rows)) + rng.random()) / len(rows)
            drawn = np.searchsorted(np.cumsum(copies)[:-1] / copies.sum(), steps)
            for absent in np.setdiff1d(codes, codes[drawn]):  # every class is known to it
                drawn = np.append(drawn, np.where(codes == absent, copies, 0.0).argmax())
            places, codes = places[drawn], codes[drawn]
            params = _check_method_params(y, params, places)
        last.fit(rows_of(X, places), codes, **params)
        return model

    def _log_probability(self, X):
        """Return log-probabilities of the classes, up to a constant of each row."""
        self._check_new(X)
        return self.slope_ * _scores(self.estimator_, X) + self.offsets_


class NoiseRobustRegressor(RegressorMixin, _NoiseRobust):
    """Any scikit-learn regressor, fitted so that wrong numbers in the target do little harm.

    A judge, which predicts every target by models that have not seen the row, estimates how far
    off right targets are in each row. The regressor is fitted to targets of which those outside
    the interval that holds four in five right ones are moved to its nearer end, unless the
    regressor itself, fitted to the other half of the rows, predicts them at less than half the
    distance.

    Parameters
    ----------
    estimator : regressor
        What is made robust: LightGBM, a forest, a pipeline with a regressor at its end.
    random_state : int, RandomState instance or None, default=None
        Seed of the judge. The estimator's own seed is its own.

    Attributes
    ----------
    estimator_ : regressor
        The fitted regressor.
    targets_ : ndarray of shape (n_samples,)
        What it was fitted to; in rows of weight 0 the targets given.
    sample_quality_ : ndarray of shape (n_samples,)
        Probability that the target of each training row is right; 0 for rows of weight 0.
    n_suspects_ : int
        Number of rows whose target is more probably wrong than right.
    noise_rate_ : float
        Estimated share of wrong targets.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.

    See Also
    --------
    find_target_issues : The suspect rows as a ranked table, by the same judge.
    NoiseRobustClassifier : The same for classes.

    Notes
    -----
    Targets that cannot be judged are fitted to as they are, with a warning: of fewer than twenty
    rows, and those of which more than half are one number.

    The judge may take right targets for wrong ones where its own models do not predict them. Those
    that the estimator predicts, fitted to the other half of the rows, stay as they are, if they are
    one in ten of the targets outside the intervals. Still, tables without wrong targets lose a
    little: look at ``noise_rate_`` and the suspects first.

    X may be whatever the estimator takes. Where it is not a table of finite numbers, the judge sees
    it through :class:`TableEncoder`, fitted to the rows of positive weight, each once. Errors of
    more than half of the targets, or shared by most rows alike, such as a wrong unit throughout, do
    not show.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from sklearn.model_selection import train_test_split
    >>> from robell import NoiseRobustRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    >>> wrong = np.random.default_rng(0).choice(len(y), 30, replace=False)
    >>> y[wrong] *= 10  # a decimal point lost
    >>> forest = RandomForestRegressor(50, random_state=0)
    >>> robust = NoiseRobustRegressor(forest, random_state=0).fit(X, y)
    >>> bool(robust.score(X_test, y_test) > forest.fit(X, y).score(X_test, y_test) + 0.5)
    True
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit"])],  # some have ``predict`` only when they are fitted
        "random_state": ["random_state"],
    }

    def __init__(
        self, estimator: Any, *, random_state: int | np.random.RandomState | None = None
    ) -> None:
        self.estimator = estimator
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Judge the targets, then fit the estimator to them, unlikely ones moved.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Targets, finite numbers, of which some may be wrong.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of each row: weight 2 is the row given twice, weight 0 its absence. Only
            with an estimator that takes weights.
        **fit_params : dict
            Passed to the estimator's ``fit``, entries of rows along with their rows; with metadata
            routing, what was requested.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        y, multiplicity, params = self._started(X, y, sample_weight, fit_params)
        y = check_targets(y)
        columns = check_array(as_numbers(X, y, multiplicity), input_name="X", estimator=self)
        check_consistent_length(columns, y)
        present = np.flatnonzero(multiplicity)
        self.targets_, self.sample_quality_ = y.copy(), np.asarray(multiplicity > 0, np.float64)
        self.n_suspects_, self.noise_rate_ = 0, 0.0
        if problem := problem_of(y, multiplicity, LEAST_TARGETS):
            message = f"y {problem}; it is fitted to as it is"
            warnings.warn(message, UserWarning, stacklevel=level_of_user())
        else:
            rows = columns[present], y[present], multiplicity[present]
            judgement = calm_blas(judge_numbers)(*rows, self.random_state)
            self.targets_[present] = np.clip(y[present], *judgement.intervals(COVERAGE).T)
            self.sample_quality_[present] = judgement.quality
            self.n_suspects_ = int(judgement.suspect.sum())
            self.noise_rate_ = judgement.noise_rate
            one_class, seed = np.zeros(len(y), np.intp), draw_seed(self.random_state)
            halves = _halves(columns, one_class, present, 1, seed)
            off, stays = np.abs(y - self.targets_), np.zeros(len(y), bool)
            for seen, unseen in (halves, halves[::-1]) if halves is not None else ():
                model = self._fitted(X, y, y, multiplicity, seen, params)
                predicted = np.asarray(model.predict(rows_of(X, unseen)))
                stays[unseen] = np.abs(y[unseen] - predicted) < AGREEMENT * off[unseen]
            if multiplicity @ stays >= LEAST_AGREEING * (multiplicity @ (off > 0)):
                self.targets_[stays] = y[stays]
        self.estimator_ = self._fitted(X, y, self.targets_, multiplicity, present, params)
        return self

    def _fitted(self, X, y, targets, multiplicity, rows, params):
        """Return a clone fitted to the targets of some rows."""
        params = _check_method_params(y, params, rows)
        model = clone(self.estimator)
        if not (multiplicity[rows] == 1.0).all():
            last = last_step(model)
            if not has_fit_parameter(last, "sample_weight"):
                raise ValueError(f"{type(last).__name__} takes no sample_weight")
            of_step = f"{model.steps[-1][0]}__" if last is not model else ""
            params = params | {f"{of_step}sample_weight": multiplicity[rows]}
        model = model.fit(rows_of(X, rows), targets[rows], **params)
        if not hasattr(model, "predict"):
            raise ValueError(
                f"estimator must be a regressor; {type(model).__name__} has no predict"
            )
        return model

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the targets of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        targets : ndarray of shape (n_samples,)
            What the fitted estimator predicts.
        """
        self._check_new(X)
        return np.asarray(self.estimator_.predict(X))


def as_numbers(X, y, multiplicity):
    """Return a table of finite numbers as it is, any other as TableEncoder makes it."""
    try:
        columns = np.asarray(X, np.float64)
    except (TypeError, ValueError):
        columns = None
    if columns is not None and columns.ndim == 2 and not np.isnan(columns).any():
        return columns
    check_consistent_length(X, y)
    encoder, present = TableEncoder(), np.flatnonzero(multiplicity)
    if issparse(X) or len(present) == len(y):  # sparse tables are refused
        encoded = encoder.fit_transform(X, y)
    else:
        encoded = encoder.fit(rows_of(X, present), y[present]).transform(X)
    # Means over rows in another order differ in the last digit, and with it halves of rows.
    return np.round(encoded, ENCODED_DIGITS)


def _likeliest(Z):
    """Return the rows and classes of the copies: the likeliest classes of every row."""
    chosen = (np.partition(Z, -COPIES, axis=1)[:, [-COPIES]] <= Z) & (Z > SMALLEST_SHARE)
    for absent in np.flatnonzero(~chosen.any(axis=0)):  # every class is known to the estimator
        chosen[Z[:, absent].argmax(), absent] = True
    return np.nonzero(chosen)


def _best_slope(scores, offsets, likelihood, weight):
    """Return the slope a that makes the labels of rows unseen most probable.

    Maximises Σ_i w_i log Σ_z softmax(a s_i + b)_z N_zy_i - ½ (log a)².
    """

    def loss(log_slope):
        P = softmax(np.exp(log_slope) * scores + offsets, axis=1)
        of_labels = np.maximum((P * likelihood).sum(axis=1), 1e-300)
        return 0.5 * log_slope**2 - weight @ np.log(of_labels)

    precise = {"xatol": 1e-10}
    found = minimize_scalar(loss, bounds=LOG_SLOPES, method="bounded", options=precise)
    return float(np.exp(found.x))


def _scores(model, X):
    """Return one score a class: logarithms of the probabilities, or else the decision function."""
    require_scores(model)
    if hasattr(model, "predict_proba"):
        scores = np.log(np.asarray(model.predict_proba(X), np.float64) + ADDED)
    else:
        scores = class_scores(model, X)
    # Classes that share the largest are equal under every slope, to the last bit: votes often tie.
    return scores - scores.max(axis=1, keepdims=True)


def _halves(columns, codes, present, n_classes, seed):
    """Return two halves of the rows, equal rows in one of them; None if there are too few."""
    _, distinct = np.unique(row_keys(columns[present], seed), return_inverse=True)
    of_class = np.full(distinct.max() + 1, n_classes)
    np.minimum.at(of_class, distinct, codes[present])
    places = [np.flatnonzero(of_class == c) for c in range(n_classes)]
    if min(map(len, places)) < FEWEST_TO_CALIBRATE:
        return None
    first = np.zeros(len(of_class), bool)
    for of_one in places:
        first[of_one[::2]] = True
    return present[first[distinct]], present[~first[distinct]]


def _require_rows_kept(pipeline):
    """Raise where a step of a pipeline draws or makes rows, as those of imbalanced-learn may."""
    for name, step in pipeline.steps[:-1]:
        if hasattr(step, "fit_resample"):
            raise ValueError(
                f"step {name!r} of the pipeline changes which rows there are; leave it out "
                "(classes are balanced anyway), or put NoiseRobustClassifier at the "
                "pipeline's end, around the classifier"
            )


def _number_class_weight(model, classes):
    """Name classes by their place, as the model will know them, in all dicts of class weights."""
    for name, weights in model.get_params().items():
        if name.rpartition("__")[2] == "class_weight" and isinstance(weights, dict):
            numbered = {
                k: weights[label] for k, label in enumerate(classes.tolist()) if label in weights
            }
            model.set_params(**{name: numbered})
