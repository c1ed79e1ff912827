"""A classifier for labels that may be wrong; it also says how probable each label is."""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from robell._core.array import one_hot
from robell._core.labels.noise import (
    common_rate,
    fit_link,
    joint_matrix,
    nearest_centroid_shares,
    noise_matrix,
    noise_rates,
    offsets_for_shares,
    posterior,
    wrong_share,
)
from robell._core.layers.features import RowBlocks, draw_sparse_layer, hidden_output, rows_per_block
from robell._core.layers.standardise import column_scales
from robell._core.ridge.loo import fit_centred_ridge
from robell._core.ridge.twins import find_twins
from robell.models._capabilities import Capabilities
from robell.models._family import (
    FamilyClassifier,
    of_both_classes,
    require_finite_scores,
)
from robell.models._validation import draw_seed

# Four layers of different kinds rather than one: their errors differ, the mean of their scores
# errs less.
ACTIVATIONS = ("relu", "radbas", "tansig", "sin")
INPUTS_PER_NODE = 2  # of a table's columns few act together: such nodes beat dense ones
WEIGHT_SCALE = 4.0
PENALTIES = 10.0 ** np.arange(-6, 3)  # times the number of rows
# Targets are cleaned in full from this rate of wrong labels on, below it in proportion: where
# hardly any label is wrong, most rows that look wrong are merely unusual.
FULL_CLEANING_RATE = 0.1
PRIOR_SHARE = 0.25  # weight of the estimated class shares in how often a class is predicted
KEPT_NUMBERS = 1 << 24  # the outputs of a layer, 128 MiB, are kept between rounds up to here


class _Fit(NamedTuple):
    """One round's layers, fitted."""

    betas: list
    intercepts: list
    scores: np.ndarray  # leave-one-out, the mean over the layers, (A, K)
    penalties: np.ndarray


class NoiseRobustRVFLClassifier(FamilyClassifier):
    """Random vector functional link network for imbalanced tables with wrong labels.

    Four small networks are fitted in closed form, with all classes given the same weight. Their
    leave-one-out scores, also in closed form, show how many labels are wrong and which: the label
    of each row is replaced by the probabilities of the classes, given the row and its label, and
    the networks are fitted again to these. Nothing needs tuning, and inputs need no scaling.

    Parameters
    ----------
    n_hidden : int, default=100
        Nodes of each of the four hidden layers (relu, radbas, tansig, sin). More take longer and
        gain little.
    n_rounds : int, default=1
        How often the networks are fitted again to cleaned targets. 0 fits them to the labels as
        given; the quality of the labels is estimated in any case. More than 1 changes little.
    random_state : int, RandomState instance or None, default=None
        Seed of the hidden layers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
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
    hidden_weights_ : ndarray of shape (n_features_in_, 4 * n_hidden)
        Weights of the hidden layers, one layer after the other, for standardised inputs; every
        node is connected to two inputs.
    hidden_bias_ : ndarray of shape (4 * n_hidden,)
        Their biases.
    coef_ : ndarray of shape (n_features_in_ + 4 * n_hidden, n_classes)
        Output weights of the mean of the four networks: of the inputs, then of the nodes.
    intercept_ : ndarray of shape (n_classes,)
        Output bias.
    C_ : ndarray of shape (4,)
        Weight of the errors against the size of the output weights in each network, chosen by
        leave-one-out error.
    slope_ : float
        What the scores are multiplied by to give log-probabilities.
    offsets_ : ndarray of shape (n_classes,)
        What is added to them for each class.
    mean_ : ndarray of shape (n_features_in_,)
        Means of the inputs.
    scale_ : ndarray of shape (n_features_in_,)
        Their standard deviations; 1 for a constant.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.

    See Also
    --------
    find_label_issues : The suspect rows as a ranked table.
    RVFLClassifier : The plain network.

    Notes
    -----
    Up to nearly one half of the labels may be wrong, for whatever reason. Beyond one half, right
    and wrong labels change places, and nothing in the data shows it. Hard rows cannot be told from
    wrongly labelled ones: where classes overlap, some right labels are called suspect.

    Equal rows, and rows equal to 14 digits, are judged together, each by a model that has seen none
    of them. Rows that are only alike, such as several photographs of one thing, are not: they
    vouch for each other's labels, right or wrong. Keep one of each, or give each less weight.

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

    _capabilities = Capabilities(scales_inputs=True)

    _parameter_constraints = {
        "n_hidden": [Interval(Integral, 1, None, closed="left")],
        "n_rounds": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_hidden=100, *, n_rounds=1, random_state=None):
        self.n_hidden = n_hidden
        self.n_rounds = n_rounds
        self.random_state = random_state

    # -- fit --------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
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
        self.classes_, rows = given.classes, given.rows()
        self.mean_, self.scale_ = column_scales(rows.X, rows.multiplicity)
        rows = rows._replace(X=self._standardise(rows.X))
        self._draw_layers()
        scores, N, link = self._fit_rounds(rows)
        Z = posterior(link.probability(scores), rows.labels, N)
        self._fit_decision(scores, Z, link, rows.multiplicity)
        self._judge_labels(given, Z, N, link)
        return self

    def _standardise(self, X):
        with np.errstate(over="ignore"):
            return (X - self.mean_) / self.scale_

    def _draw_layers(self):
        seed = draw_seed(self.random_state)
        layers = [
            draw_sparse_layer(
                self.n_features_in_, int(self.n_hidden), INPUTS_PER_NODE, WEIGHT_SCALE, child
            )
            for child in np.random.SeedSequence(seed).generate_state(len(ACTIVATIONS))
        ]
        self.hidden_weights_ = np.hstack([weights for weights, _ in layers])
        self.hidden_bias_ = np.concatenate([bias for _, bias in layers])

    def _layer(self, X, k):
        """Return the output of the hidden layer k for standardised rows."""
        nodes = slice(k * int(self.n_hidden), (k + 1) * int(self.n_hidden))
        weights, bias = self.hidden_weights_[:, nodes], self.hidden_bias_[nodes]
        return hidden_output(X, weights, bias, ACTIVATIONS[k])

    def _fit_rounds(self, rows):
        """Fit, clean the targets, fit again; return the last scores, the noise and the link."""
        given, twins = one_hot(rows.labels, len(self.classes_)), find_twins(rows.X)
        X = rows.X if twins is None else rows.X[twins.first]  # equal rows are left out together
        n_columns = self.n_features_in_ + int(self.n_hidden)
        designs = [
            RowBlocks(
                lambda block, k=k: np.hstack([X[block], self._layer(X[block], k)]),
                len(X),
                n_columns,
                keep=len(X) * n_columns <= KEPT_NUMBERS,
            )
            for k in range(len(ACTIVATIONS))
        ]
        fit = _fit_layers(designs, given, rows.multiplicity, twins)
        rate = common_rate(fit.scores, rows.labels, rows.multiplicity)
        N = noise_matrix(fit.scores, rows.labels, rows.multiplicity, rate)
        cleaning = min(1.0, rate / FULL_CLEANING_RATE)
        link = fit_link(fit.scores, rows.labels, rows.multiplicity, N)
        for _ in range(int(self.n_rounds)):
            Z = posterior(link.probability(fit.scores), rows.labels, N)
            fit = _fit_layers(designs, given + cleaning * (Z - given), rows.multiplicity, twins)
            link = fit_link(fit.scores, rows.labels, rows.multiplicity, N, link)
        self._keep_mean(fit)
        self.C_ = 1.0 / fit.penalties
        return fit.scores, N, link

    def _keep_mean(self, fit):
        """Store the mean of the networks as one network."""
        n, n_features = len(ACTIVATIONS), self.n_features_in_
        inputs = sum(beta[:n_features] for beta in fit.betas)
        self.coef_ = np.vstack([inputs, *(beta[n_features:] for beta in fit.betas)]) / n
        self.intercept_ = sum(fit.intercepts) / n

    def _fit_decision(self, scores, Z, link, multiplicity):
        """Choose offsets by how often each class should be predicted."""
        self.class_prior_ = multiplicity @ Z / multiplicity.sum()
        shares = (1.0 - PRIOR_SHARE) * nearest_centroid_shares(scores, Z, multiplicity)
        shares += PRIOR_SHARE * self.class_prior_
        self.slope_ = link.slope
        self.offsets_ = link.slope * offsets_for_shares(scores, multiplicity, shares)

    def _judge_labels(self, given, Z, N, link):
        """Store what the fit says about every label given, rows of weight 0 included."""
        X, y, multiplicity, present, classes = given
        n, n_classes = len(X), len(classes)
        place = np.minimum(np.searchsorted(classes, y), n_classes - 1)
        known = classes[place] == y  # a label that only rows of weight 0 carry is not
        probability = np.empty((n, n_classes))
        probability[present] = Z
        absent = multiplicity == 0
        if absent.any():
            P = link.probability(self._class_scores(X[absent]))
            probability[absent] = np.where(known[absent, None], posterior(P, place[absent], N), P)
        self.label_probability_ = probability
        self.sample_quality_ = np.where(known, probability[np.arange(n), place], 0.0)
        suspect = (probability.argmax(axis=1) != place) & (multiplicity > 0)
        self.n_suspects_ = int(suspect.sum())
        joint = joint_matrix(probability, place, multiplicity, n_classes)
        self.noise_matrix_ = noise_rates(joint)
        self.noise_rate_ = wrong_share(joint)

    # -- predict ----------------------------------------------------------------------

    def _class_scores(self, X):
        """Score rows of the table, a block at a time."""
        scores = np.empty((len(X), len(self.classes_)))
        step = rows_per_block(len(self.coef_))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for start in range(0, len(X), step):
                block = self._standardise(X[start : start + step])
                hidden = [self._layer(block, k) for k in range(len(ACTIVATIONS))]
                scores[start : start + step] = np.hstack([block, *hidden]) @ self.coef_
        return scores + self.intercept_

    def _scores(self, X):
        X = self._check_new(X)
        with np.errstate(over="ignore"):
            odds = self.slope_ * self._class_scores(X) + self.offsets_
        require_finite_scores(odds)
        return odds[:, 1:] - odds[:, :1] if len(self.classes_) == 2 else odds

    def decision_function(self, X):
        """Return the log-odds of the classes, as if all classes were equally frequent.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the second's less the first's; otherwise one score a class.
        """
        return super().decision_function(X)

    def predict_proba(self, X):
        """Return the probabilities of the classes, as if all classes were equally frequent.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``; the predicted class has the largest.
        """
        return softmax(of_both_classes(self._scores(X)), axis=1)


def _fit_layers(designs, targets, multiplicity, twins):
    """Fit every layer to the same targets, soft or not, with classes of equal weight."""
    total = multiplicity.sum()
    n_classes = targets.shape[1]
    shares = np.maximum(multiplicity @ targets / total, 0.5 / total)
    weights = multiplicity * (targets @ (1.0 / (n_classes * shares)))
    if twins is not None:
        weights, targets = twins.merge(weights, targets)
    # The scores of two classes add up to one: one of them is enough.
    first = 1 if n_classes == 2 else 0
    fits = [
        fit_centred_ridge(design, targets[:, first:], weights, PENALTIES * total)
        for design in designs
    ]
    scores = sum(fit.loo_scores for fit in fits) / len(fits)
    if twins is not None:
        scores = scores[twins.group]
    if first:
        scores = np.hstack([1.0 - scores, scores])
    return _Fit(
        [_both(fit.beta, first, 0.0) for fit in fits],
        [_both(fit.intercept, first, 1.0) for fit in fits],
        scores,
        np.array([PENALTIES[fit.place] * total for fit in fits]),
    )


def _both(values, is_half, total):
    """Return the values of both classes, which add up to ``total``, from the second's."""
    return np.concatenate([total - values, values], axis=-1) if is_half else values
