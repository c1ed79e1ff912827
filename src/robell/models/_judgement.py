"""What a fit says about every label it was given, rows of weight 0 and rows not drawn included."""

from __future__ import annotations

import numpy as np

from robell._core.array import beside, empty_beside, namespace, one_hot, to_host
from robell._core.labels.link import posterior
from robell._core.labels.noise import joint_matrix, noise_rates, wrong_share
from robell._core.membership.keyed import find_keys


class LabelJudgement:
    """The attributes of every row, from left-out scores, the noise and the link."""

    def _judge_labels(self, given, rows, drawn, scores, N, link):
        """Store what the fit says about every label given, rows of weight 0 included."""
        n_classes = len(given.classes)
        P = link.probability(self._left_out_scores(rows.X, drawn, beside(scores, rows.X)))
        probability = Z = posterior(P, rows.labels, N)
        place, quality = rows.labels, (Z * one_hot(rows.labels, n_classes)).sum(1)
        self.n_suspects_ = int((Z.argmax(1) != place).sum())
        joint = joint_matrix(Z, place, rows.multiplicity, n_classes)
        self.noise_matrix_ = noise_rates(joint)
        self.noise_rate_ = wrong_share(joint)
        self.class_prior_ = joint.sum(axis=1) / joint.sum()
        if len(given.present) < len(given.X):
            present = beside(given.present, rows.X)
            absent = beside(np.flatnonzero(given.multiplicity == 0), rows.X)
            P, of_absent = self._judge_absent(given, absent, N, link)
            probability = empty_beside((len(given.X), n_classes), rows.X)
            probability[present], probability[absent] = Z, P
            of_present, quality = quality, empty_beside(len(given.X), rows.X)
            quality[present], quality[absent] = of_present, of_absent
        self.label_probability_, self.sample_quality_ = probability, quality
        self._assumed_noise = N  # for judges of labels, which turn label_probability_ round by it

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

    def _left_out_scores(self, X, drawn, scores):
        """Return scores of all rows: those not drawn are the model's, which has not seen them."""
        if drawn is None:
            return scores
        rest = beside(np.ones(len(X), bool), X)
        rest[drawn.places] = False
        rest = namespace(X).where(rest)[0]
        all_scores = empty_beside((len(X), scores.shape[1]), X)
        all_scores[drawn.places] = scores
        all_scores[rest] = self._class_scores(X, rest)
        # Copies of a row drawn, under another label, are left out with it.
        copies, of_row = find_keys(drawn.keys[rest], drawn.keys[drawn.places])
        all_scores[rest[copies]] = scores[of_row]
        return all_scores
