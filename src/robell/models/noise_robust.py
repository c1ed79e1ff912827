"""A classifier for labels that may be wrong; it also says how probable each label is."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from robell._core.array import (
    beside,
    empty_beside,
    in_double_precision,
    is_tensor,
    memory_beside,
    namespace,
    one_hot,
    softmax_of_rows,
    to_host,
)
from robell._core.ensemble.members import (
    ROWS_SCORED,
    WEIGHTS,
    Drawn,
    KernelLayer,
    Network,
    as_network,
    both_classes,
    draw_members,
    fit_members,
    fit_with_equal_classes,
    moves_of_constant,
    network_scores,
)
from robell._core.ensemble.screen import telling_columns
from robell._core.ensemble.trees import Forest, Splits
from robell._core.labels import cuts, noise
from robell._core.labels.link import fit_link, fit_slope, posterior
from robell._core.layers.features import column_scales, rows_per_block
from robell._core.membership.samples import MOST_SAMPLED, as_count, draw_keyed, find_keys
from robell._core.ridge.loo import MOST_EXACT
from robell._core.ridge.twins import distinct_rows
from robell._tools.threads import NO_THREADS, one_blas_thread, threads_for, threads_of
from robell.models._estimator import (
    Capabilities,
    FamilyClassifier,
    bypassed_in_parts,
    require_finite_scores,
)
from robell.models._thresholds import ThresholdChoice
from robell.models._validation import JOBS, TrainingRows, draw_seed, level_of_user

# From this rate of wrong labels on targets are cleaned in full and the linear member counts in
# full, below it in proportion: where hardly any label is wrong, most rows that look wrong are
# merely unusual.
FULL_CLEANING_RATE = 0.1
LARGEST_ODDS = 30.0  # of a threshold, as a logarithm: beyond it probabilities are 0 and 1
N_HIDDEN = 100  # of each layer
# Of more than MOST_EXACT rows noise, probabilities and thresholds are estimated on so many.
MOST_JUDGED = 25_000
ROWS_AT_ONCE = 1 << 16  # that labels are judged of
MOST_UNTESTED = 100  # distinct rows: so few seldom show that a model knows more than chance


class NoSignalWarning(UserWarning):
    """Nothing shows that what was fitted knows more than chance."""


class NoiseRobustRVFLClassifier(ThresholdChoice, FamilyClassifier):
    """Random vector functional link network for imbalanced tables with wrong labels.

    Five small models of different kinds (two random layers, a kernel, trees, a linear one) are
    fitted with all classes given the same weight, and averaged. Their left-out scores show how
    many labels are wrong and which: the label of each row is replaced by the probabilities of the
    classes, given the row and its label, and all are fitted again to these. Nothing needs tuning,
    and inputs need no scaling.

    Parameters
    ----------
    n_hidden : int, default=100
        Nodes of each of the two hidden layers (relu, sin). More take longer and gain little.
    n_rounds : int, default=1
        How often the members are fitted again to cleaned targets. 0 fits them to the labels as
        given; the quality of the labels is estimated in any case. More than 1 changes little.
    probability : {"frequency", "balanced"}, default="frequency"
        What ``predict_proba`` returns: how often each class truly occurs among rows like the one
        given; or the same with the classes weighed so that the predicted class always has the
        largest probability. ``predict`` is the same either way.
    n_jobs : int or None, default=None
        Number of threads of ``fit``, as in joblib: None means 1 outside a
        ``joblib.parallel_config`` context, -1 all cores. Of tensors it changes nothing.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is drawn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    threshold_ : float
        Only for two classes: ``predict`` returns ``classes_[1]`` where its probability is at least
        this. It may be set, by hand or by ``choose_threshold``.
    thresholds_ : ndarray of shape (n_classes,)
        Only for more classes: ``predict`` returns the class with the largest probability divided
        by its threshold. They may be set.
    sample_quality_ : ndarray of shape (n_samples,)
        Probability that the label of each training row is right, in the order of the rows. It can
        serve as ``sample_weight`` of another estimator.
    label_probability_ : ndarray of shape (n_samples, n_classes)
        Probability of each class, given the row and its label. ``sample_quality_`` is its entry at
        the label.
    n_suspects_ : int
        Number of rows for which another class is likelier than the label.
    noise_matrix_ : ndarray of shape (n_classes, n_classes)
        ``[i, j]`` is the estimated share of the rows of true class i that are labelled j; rows
        sum to one.
    noise_rate_ : float
        Estimated share of wrong labels.
    class_prior_ : ndarray of shape (n_classes,)
        Estimated true shares of the classes.
    operating_points_ : ndarray of shape (n_points, 4)
        Only for two classes: thresholds, and of each the share of rows predicted ``classes_[1]``,
        recall and precision, estimated from left-out scores and corrected for wrong labels.
    hidden_weights_ : ndarray of shape (n_features_in_, 2 * n_hidden)
        Weights of the hidden layers, one layer after the other, for standardised inputs; every
        node is connected to two inputs. 0 of a constant input: other values of it change nothing.
    hidden_bias_ : ndarray of shape (2 * n_hidden,)
        Their biases.
    coef_ : ndarray of shape (n_features_in_ + 2 * n_hidden, n_classes)
        Output weights of the inputs, then of the nodes, in the mean of the members.
    intercept_ : ndarray of shape (n_classes,)
        Output bias.
    landmarks_, landmark_weights_ : ndarrays of n_landmarks rows
        Standardised training rows, up to 200, that the kernel is centred on; their output weights.
    kernel_columns_ : ndarray of shape (n_kernel_columns,)
        Places of the columns that the kernel measures distances in: those that say something about
        the labels, alone or with another column, or about another column; where none does, all
        that are not constant.
    kernel_width_ : float
        The kernel is exp(-squared distance / width).
    split_columns_, split_thresholds_ : ndarray of shape (n_trees, depth)
        The column that all nodes of a level ask for, in each tree, and the value they compare it
        with, for standardised inputs.
    leaf_values_ : ndarray of shape (n_trees, 2 ** depth, n_classes)
        Values of the leaves.
    member_weights_ : ndarray of shape (5,)
        Weights of the members in the mean: relu, sin, kernel, trees, linear.
    C_ : ndarray of shape (4,)
        Weight of the errors against the size of the output weights in the members that are ridge
        regressions (relu, sin, kernel, linear), chosen by leave-one-out error.
    link_matrix_, link_offsets_ : ndarray of shape (n_classes, n_classes) and (n_classes,)
        What the scores are multiplied by to give log-probabilities, and what is added.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        Means of the inputs, and their standard deviations; 1 for a constant.
    n_samples_seen_ : int
        Only where the model was fitted to a sample of the rows, and after a fit in passes over
        files or partitions: how many rows were given. In passes attributes of every row
        (``sample_quality_``, ``label_probability_``, ``n_suspects_``) are not there.
    n_samples_fitted_ : int
        Only after such a fit: how many rows are in the sample that the model was fitted to.
    device_, dtype_ : str
        Only when fitted to tensors: the device that the model is on, and their precision. All is
        computed in double precision.
    n_features_in_, feature_names_in_ : see RVFLClassifier
        As in :class:`RVFLClassifier`.

    See Also
    --------
    find_label_issues : The suspect rows as a ranked table.
    RVFLClassifier : The plain network.

    Notes
    -----
    Up to nearly one half of the labels may be wrong, for whatever reason. Beyond one half, right
    and wrong labels change places, and nothing in the data shows it. Hard rows cannot be told from
    wrongly labelled ones: where classes overlap, some right labels are called suspect.

    A row's target in the second round was cleaned with its own label, which its left-out score
    therefore knows. On small tables whose classes overlap probabilities are too sure: with 150
    rows, log-odds of new rows should be .75 times as large, with 20 % wrong labels .54 times
    (``docs/robustness.md``).

    ``fit`` gives a ``NoSignalWarning`` where more than 100 rows differ and left-out scores rank the
    labels given no better than chance, by a one-sided test at a level of 5 %: the columns say too
    little, or too many labels are wrong. A few such models are lost, or rank rows the wrong way.

    Copies of a row, equal to 14 digits, are left out together; a group of equal rows under several
    labels is left out in up to ten parts. Rows that are only alike, such as several photographs of
    one thing, vouch for each other's labels, right or wrong: keep one, or give each less weight.

    Of more than 50,000 distinct rows all are fitted to, but penalties are chosen by generalised
    cross-validation, columns made of arrays are in single precision, small leverages are estimated,
    the trees' shrinkage is chosen on every k-th row, and noise, probabilities and thresholds are
    estimated on 25,000: small classes whole, large ones evenly, the rows with the smallest hash of
    their values. Of more than 200,000 as many are drawn in the same way and fitted to; all others
    are judged by the model, which has not seen them. What is drawn does not depend on the order of
    the rows or on repetitions.

    X may be a torch tensor, in single or double precision, with scikit-learn's array API dispatch
    on. Members are fitted, and rows scored, on its device; what is random is drawn on the host, and
    the left-out scores go there for the estimates of noise, probabilities and thresholds. Fitted
    attributes that are arrays are tensors then.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from robell import NoiseRobustRVFLClassifier
    >>> from robell.noise import flip_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    >>> noisy, flipped = flip_labels(y, 0.3, random_state=0)
    >>> model = NoiseRobustRVFLClassifier(random_state=0).fit(X, noisy)
    >>> bool(model.score(X_test, y_test) > 0.9)
    True
    >>> bool(model.sample_quality_[flipped].mean() < 0.3 < model.sample_quality_[~flipped].mean())
    True
    """

    class_prior_: NDArray[Any]
    classes_: NDArray[Any]
    kernel_columns_: NDArray[Any]
    kernel_width_: float
    label_probability_: NDArray[Any]
    landmark_weights_: NDArray[Any]
    landmarks_: NDArray[Any]
    leaf_values_: NDArray[Any]
    link_matrix_: NDArray[Any]
    link_offsets_: NDArray[Any]
    mean_: NDArray[Any]
    member_weights_: NDArray[Any]
    n_samples_fitted_: float
    n_samples_seen_: float
    n_suspects_: int
    noise_matrix_: NDArray[Any]
    noise_rate_: float
    operating_points_: NDArray[Any]
    sample_quality_: NDArray[Any]
    scale_: NDArray[Any]
    split_columns_: NDArray[Any]
    split_thresholds_: NDArray[Any]
    threshold_: float
    thresholds_: NDArray[Any]

    _capabilities = Capabilities(passes=True, by_sample=True, tensors=True, scales_inputs=True)

    _parameter_constraints = {
        "n_hidden": [Interval(Integral, 1, None, closed="left")],
        "n_rounds": [Interval(Integral, 0, None, closed="left")],
        "probability": [StrOptions({"frequency", "balanced"})],
        "n_jobs": JOBS,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_hidden: int = N_HIDDEN,
        *,
        n_rounds: int = 1,
        probability: str = "frequency",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_rounds = n_rounds
        self.probability = probability
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- fit --------------------------------------------------------------------------

    @bypassed_in_parts
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to labels of which some may be wrong.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows; they need no scaling.
        y : array-like of shape (n_samples,)
            Class labels of any kind.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of each row: weight 2 is the row given twice, weight 0 its absence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        given = self._check_training(X, y, sample_weight)
        rows: TrainingRows = given.rows
        seed = draw_seed(self.random_state)
        n_threads = 1 if is_tensor(given.X) else threads_for(self.n_jobs)
        with memory_beside(X), threads_of(n_threads, one_blas_thread) as threads:
            drawn = draw_keyed(*rows, len(self.classes_), seed, MOST_SAMPLED, threads=threads)
            fitted = rows
            if drawn is not None:
                self.n_samples_seen_ = as_count(given.multiplicity.sum())
                self.n_samples_fitted_ = as_count(rows.multiplicity[drawn.places].sum())
                fitted = TrainingRows(rows.X[drawn.places], rows.labels[drawn.places], drawn.weight)
            scores, N, link, p_value = self._fit_rounds(fitted, seed, threads)
            scores = self._left_out_scores(rows.X, drawn, beside(scores, rows.X), threads)
            self._judge_labels(given, rows, scores, N, link, threads)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray) and name != "classes_":
                setattr(self, name, beside(value, given.X))
        if p_value >= noise.LEVEL:
            warnings.warn(
                "nothing shows that this model is better than guessing: rows left out rank the "
                f"labels given no better than chance (p = {p_value:.2f}). The columns say too "
                "little, or too many labels are wrong (by estimate "
                f"{self.noise_rate_:.0%})",
                NoSignalWarning,
                stacklevel=level_of_user(),
            )
        return self

    def _standardise(self, X):
        with np.errstate(over="ignore"):
            standardised = in_double_precision(X) - self.mean_
            standardised /= self.scale_  # in place: a table less in memory
        return standardised

    def _fit_rounds(self, rows, seed, threads):
        """Fit, clean the targets, fit again; return scores, noise, link and p-value."""
        judged = threads.start(rows_judged, rows, len(self.classes_), seed)
        labels, multiplicity = to_host(rows.labels), to_host(rows.multiplicity)
        given = one_hot(labels, len(self.classes_))
        ensemble = self._draw(rows, multiplicity, given, seed, threads)
        fit = partial(fit_with_equal_classes, ensemble, multiplicity, threads=threads)
        places, known_labels, known_weight = judged()
        known = known_labels, known_weight

        weights = WEIGHTS / WEIGHTS.sum()
        members, scores = fit(given, weights)
        moves = moves_of_constant(ensemble.distinct, multiplicity, given)
        p_value = p_of_no_signal((scores - moves)[places], *known, ensemble.distinct.group[places])
        rate = noise.common_rate(scores[places], *known)
        N = noise.noise_matrix(scores[places], *known, rate)
        link = fit_slope(scores[places], *known, N)
        cleaning = min(1.0, rate / FULL_CLEANING_RATE)
        for _ in range(int(self.n_rounds)):
            Z = posterior_of(scores, labels, N, link, threads)
            weights = WEIGHTS * np.array([1.0, 1.0, 1.0, 1.0, cleaning])
            weights /= weights.sum()
            members, scores = fit(given + cleaning * (Z - given), weights)
            link = fit_link(scores[places], *known, N)
        self._store(ensemble.drawn, members, weights)
        self._fit_decision(scores[places], *known, rate, N, link)
        return scores, N, link, p_value

    def _draw(self, rows, multiplicity, given, seed, threads):
        """Set the scales of the columns; return the members, drawn, on the distinct rows."""
        X = in_double_precision(rows.X)
        self.mean_, self.scale_ = column_scales(X, rows.multiplicity)
        distinct = distinct_rows(self._standardise(X), threads)
        distinct = distinct.in_parts(multiplicity, to_host(rows.labels))
        X = X[beside(distinct.first, X)]  # equal rows are left out together, or their part is
        weight, shares = distinct.merge(multiplicity, given)
        # From these rows in their own order: a weight is a row repeated, to the last digit.
        self.mean_, self.scale_ = column_scales(X, beside(weight, X))
        X = self._standardise(X)
        columns = telling_columns(X, weight, shares)
        return draw_members(X, distinct, int(self.n_hidden), seed, columns)

    def _store(self, drawn, members, weights):
        """Store the mean of the members as one model."""
        network = as_network(members, drawn, weights)
        is_half = len(self.classes_) == 2
        self.hidden_weights_, self.hidden_bias_ = drawn.hidden_weights, drawn.hidden_bias
        self.coef_ = both_classes(network.coef, is_half, 0.0)
        self.intercept_ = both_classes(network.intercept + network.forest.mean, is_half, 1.0)
        self.landmarks_, _, self.kernel_width_, self.kernel_columns_ = drawn.kernel
        self.landmark_weights_ = both_classes(network.landmark_weights, is_half, 0.0)
        self.split_columns_, self.split_thresholds_ = network.forest.splits
        self.leaf_values_ = both_classes(network.forest.values, is_half, 0.0)
        self.member_weights_ = weights
        self.C_ = np.array([1.0 / ridge.penalty for ridge in members.ridges])

    def _fit_decision(self, scores, labels, multiplicity, rate, N, link):
        """Fit the probabilities, and choose where to cut them."""
        n_classes = len(self.classes_)
        Z = posterior(link.probability(scores), labels, N)
        # Under the common noise rate alone: in a table with right labels a small class's own rate,
        # taken from few rows, moves probabilities further than it mends.
        N = noise.even_noise(np.full(n_classes, rate))
        link = fit_link(scores, labels, multiplicity, N)
        if n_classes == 2:
            cleaning = min(1.0, rate / FULL_CLEANING_RATE)
            share = cuts.predicted_share(scores, Z, multiplicity, cleaning)
            cut = cuts.cut_for_share(scores[:, 1] - scores[:, 0], multiplicity, share)
            odds = np.clip(link.logits(np.array([[0.0, cut]])), -LARGEST_ODDS, LARGEST_ODDS)
            thresholds = softmax_of_rows(odds)[0]
        else:
            thresholds = link.shares.copy()
            if (np.ptp(scores, axis=0) <= cuts.SAME).all():  # nothing tells rows apart
                thresholds[thresholds.argmax()] *= 1.0 - cuts.AWAY  # the likeliest class
        if self.probability == "balanced":
            link = link._replace(offsets=link.offsets - np.log(thresholds))
            thresholds = np.full(n_classes, 1.0 / n_classes)
        self.link_matrix_, self.link_offsets_ = link.matrix, link.offsets
        self._set_thresholds(thresholds, (link.probability(scores)[:, 1], Z[:, 1], multiplicity))

    # -- what the fit says about every label given -------------------------------------

    def _judge_labels(self, given, rows, scores, N, link, threads=NO_THREADS):
        """Store what the fit says about every label given, rows of weight 0 included."""
        n_classes = len(given.classes)
        probability = Z = posterior_of(scores, rows.labels, N, link, threads)

        def of_rows(some):
            P, place = Z[some], rows.labels[some]
            n_suspects = int((P.argmax(1) != place).sum())
            joint = noise.joint_matrix(P, place, rows.multiplicity[some], n_classes)
            return (P * one_hot(place, n_classes)).sum(1), n_suspects, joint

        parts, suspects, joints = zip(*threads.map(of_rows, _blocks(scores)), strict=True)
        quality, joint = namespace(Z).concatenate(parts), sum(joints)
        self.n_suspects_ = sum(suspects)
        self.noise_matrix_ = noise.noise_rates(joint)
        self.noise_rate_ = noise.wrong_share(joint)
        self.class_prior_ = joint.sum(axis=1) / joint.sum()
        if len(given.present) < len(given.X):
            present = beside(given.present, rows.X)
            absent = beside(np.flatnonzero(given.multiplicity == 0), rows.X)
            P, of_absent = self._judge_absent(given, absent, N, link)
            probability = empty_beside((len(given.X), n_classes), rows.X)
            probability[present], probability[absent] = Z, P
            of_present, quality = quality, empty_beside((len(given.X),), rows.X)
            quality[present], quality[absent] = of_present, of_absent
        self.label_probability_, self.sample_quality_ = probability, quality
        self._assumed_noise = N  # the noise matrix that judges invert posteriors with

    def _judge_absent(self, given, absent, N, link):
        """Return probabilities of the classes, and quality, of labels of rows of weight 0."""
        y, classes = to_host(given.y)[to_host(absent)], given.classes
        place = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        known = classes[place] == y  # a label that only rows of weight 0 carry is not
        place, known = beside(place, given.X), beside(known, given.X)
        P = link.probability(self._class_scores(given.X, absent))
        xp = namespace(P)
        P = xp.where(known[:, None], posterior(P, place, N), P)
        of_label = (P * one_hot(place, len(classes))).sum(1)
        return P, xp.where(known, of_label, xp.zeros_like(of_label))

    def _left_out_scores(self, X, drawn, scores, threads):
        """Return scores of all rows: those not drawn are the model's, which has not seen them."""
        if drawn is None:
            return scores
        rest = beside(np.ones(len(X), bool), X)
        rest[drawn.places] = False
        rest = namespace(X).where(rest)[0]
        # Copies of a row drawn, under another label, are left out with it.
        found = threads.start(find_keys, drawn.keys[rest], drawn.keys[drawn.places])
        all_scores = empty_beside((len(X), scores.shape[1]), X)
        all_scores[drawn.places] = scores
        all_scores[rest] = self._class_scores(X, rest, threads)
        copies, of_row = found()
        all_scores[rest[copies]] = scores[of_row]
        return all_scores

    # -- predict ----------------------------------------------------------------------

    def __setstate__(self, state):
        """Take over a saved state; the kernel of one saved before columns were chosen sees all."""
        if "landmarks_" in state and "kernel_columns_" not in state:
            every = beside(np.arange(state["n_features_in_"]), state["landmarks_"])
            state = state | {"kernel_columns_": every}
        super().__setstate__(state)

    def _class_scores(self, X, places=None, threads=NO_THREADS):
        """Score rows of the table, all or those at some places, a block at a time."""
        kernel = KernelLayer(self.landmarks_, None, self.kernel_width_, self.kernel_columns_)
        drawn = Drawn(self.hidden_weights_, self.hidden_bias_, kernel, None)
        splits = Splits(self.split_columns_, self.split_thresholds_)
        first = 1 if len(self.classes_) == 2 else 0  # two classes' scores add up to one
        forest = Forest(splits, self.leaf_values_[..., first:], 0.0, 0.0)
        weights = self.coef_[:, first:], self.intercept_[first:], self.landmark_weights_[:, first:]
        network = Network(*weights, forest)
        n_rows = len(X) if places is None else len(places)
        scores = empty_beside((n_rows, len(self.classes_) - first), X)
        step = rows_per_block(len(self.coef_), True) if is_tensor(X) else ROWS_SCORED

        def of_block(rows):
            block = self._standardise(X[rows if places is None else places[rows]])
            return rows, network_scores(block, drawn, network)

        blocks = [slice(start, start + step) for start in range(0, n_rows, step)]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for rows, found in threads.map(of_block, blocks):
                scores[rows] = found
            return both_classes(scores, first, 1.0)

    def _log_probability(self, X):
        """Return log-probabilities of the classes, up to a constant of each row."""
        with memory_beside(X), np.errstate(over="ignore", invalid="ignore"):
            logits = self._class_scores(self._check_new(X)) @ self.link_matrix_ + self.link_offsets_
        require_finite_scores(logits)
        return logits


def rows_judged(rows, n_classes, seed):
    """Return places, labels and weights of the rows that noise, link and cuts are estimated from.

    They are on the host: all rows, or a keyed sample.
    """
    X, labels, weight = rows
    some = draw_keyed(X, labels, weight, n_classes, seed, MOST_JUDGED, MOST_EXACT)
    if some is None:
        return slice(None), to_host(labels), to_host(weight)
    return tuple(map(to_host, (some.places, labels[some.places], some.weight)))


def p_of_no_signal(scores, labels, weight, group):
    """Return the p-value of the columns knowing nothing, 0 of MOST_UNTESTED rows or fewer."""
    merged = np.bincount(group, weight)  # equal rows are one row
    n_rows = merged.sum() ** 2 / (merged @ merged)
    if n_rows <= MOST_UNTESTED:
        return 0.0
    areas, errors = noise.separations(scores, labels, weight, n_rows)
    return noise.signal(float((areas.mean() - 0.5) / errors.mean()))


def posterior_of(scores, labels, N, link, threads=NO_THREADS):
    """Return P(z | s, y) of every row, some rows at a time."""

    def of_rows(some):
        return posterior(link.probability(scores[some]), labels[some], N)

    return namespace(scores).concatenate(list(threads.map(of_rows, _blocks(scores))))


def _blocks(scores):
    """Return the places of some rows after the other, all at once of tensors."""
    step = max(1, len(scores)) if is_tensor(scores) else ROWS_AT_ONCE
    return [slice(start, start + step) for start in range(0, len(scores), step)]


class LeftOutScores:
    """The members on some rows, to be fitted again and again: scores are of those left out.

    ``codes`` tell labels or numbers apart: equal rows under several of them are left out in parts.
    """

    def __init__(self, X, weight, random_state, codes):
        self._mean, self._scale = column_scales(X, weight)
        X = (X - self._mean) / self._scale
        self._weight, distinct = weight, distinct_rows(X).in_parts(weight, codes)
        seed = draw_seed(random_state)
        self._ensemble = draw_members(X[distinct.first], distinct, N_HIDDEN, seed)

    def of_classes(self, Z):
        """Return the scores of the classes, (n, K), fitted to probabilities Z of the classes."""
        weights = WEIGHTS / WEIGHTS.sum()
        return fit_with_equal_classes(self._ensemble, self._weight, Z, weights)[1]

    def of_numbers(self, values, weight):
        """Return left-out predictions of a number, (n,), and a function that predicts any rows."""
        distinct, drawn = self._ensemble.distinct, self._ensemble.drawn
        merged, targets = distinct.merge(weight, values[:, None])
        members = fit_members(self._ensemble, targets, merged, float(weight.sum()))
        weights = WEIGHTS / WEIGHTS.sum()
        network = as_network(members, drawn, weights)
        left_out = members.mean_scores(weights)[distinct.group, 0]

        def predict(X):
            found = np.empty(len(X))
            step = rows_per_block(len(network.coef) + len(network.landmark_weights))
            for start in range(0, len(X), step):
                block = (X[start : start + step] - self._mean) / self._scale
                found[start : start + step] = network_scores(block, drawn, network)[:, 0]
            return found

        return np.asarray(left_out), predict
