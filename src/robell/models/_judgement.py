"""What a fit says about every label it was given, rows of weight 0 and rows not drawn included."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robell._core.array import beside, empty_beside, is_tensor, namespace, one_hot, to_host
from robell._core.labels.link import posterior
from robell._core.labels.noise import joint_matrix, noise_rates, wrong_share
from robell._core.membership.keyed import draw_keyed, find_keys
from robell._core.ridge.loo import MOST_EXACT
from robell._tools.threads import NO_THREADS

# Of more than MOST_EXACT rows noise, probabilities and thresholds are estimated on so many.
MOST_JUDGED = 25_000
ROWS_AT_ONCE = 1 << 16  # that labels are judged of


class Judged(NamedTuple):
    """Rows that noise, link and cuts are estimated from, on the host: all, or a keyed sample."""

    places: Any
    labels: np.ndarray
    weight: np.ndarray


def rows_judged(rows, n_classes, seed):
    """Return the rows that noise, link and cuts are estimated from."""
    some = draw_keyed(*rows, n_classes, seed, MOST_JUDGED, MOST_EXACT)
    if some is None:
        return Judged(slice(None), to_host(rows.labels), to_host(rows.multiplicity))
    return Judged(*map(to_host, (some.places, rows.labels[some.places], some.weight)))


def posterior_of(scores, labels, N, link, threads=NO_THREADS):
    """Return P(z | s, y) of every row, some rows at a time."""

    def of_rows(some):
        return posterior(link.probability(scores[some]), labels[some], N)

    return namespace(scores).concatenate(list(threads.map(of_rows, _blocks(scores))))


def _blocks(scores):
    """Return the places of some rows after the other, all at once of tensors."""
    step = max(1, len(scores)) if is_tensor(scores) else ROWS_AT_ONCE
    return [slice(start, start + step) for start in range(0, len(scores), step)]


class LabelJudgement:
    """The attributes of every row, from left-out scores, the noise and the link."""

    def _judge_labels(self, given, rows, scores, N, link, threads=NO_THREADS):
        """Store what the fit says about every label given, rows of weight 0 included."""
        n_classes = len(given.classes)
        probability = Z = posterior_of(scores, rows.labels, N, link, threads)

        def of_rows(some):
            P, place = Z[some], rows.labels[some]
            n_suspects = int((P.argmax(1) != place).sum())
            joint = joint_matrix(P, place, rows.multiplicity[some], n_classes)
            return (P * one_hot(place, n_classes)).sum(1), n_suspects, joint

        parts, suspects, joints = zip(*threads.map(of_rows, _blocks(scores)), strict=True)
        quality, joint = namespace(Z).concatenate(parts), sum(joints)
        self.n_suspects_ = sum(suspects)
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
