"""Labels judged again after every decision of a review, in closed form: nothing is fitted anew.

Left-out scores of a ridge are linear in its targets. With features A, penalty λ and the hat matrix
S = A (A'A + λI)^-1 A', which does not depend on the labels, the scores of row i without row i are

    f_i = (Σ_j S_ij t_j - h_i t_i) / (1 - h_i),      h_i = S_ii.

The targets t_j of rows that nobody has decided upon are the probabilities of the classes by the
audit, those of the others their right class. A decision changes one row of the targets by δ, and

    f_i <- f_i + S_ij δ / (1 - h_i),      i ≠ j,

which takes O(n D) for D features. The audit's probabilities are moved by as much,

    P(z | i) ∝ P_audit(z | i) exp(a (f_iz - f_iz at first)) φ(y_i, z),

where a is the slope that makes the softmax of the first scores most like the audit's probabilities,
and φ corrects how often rows labelled y turned out to be z, as o + κ to e + κ expected.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

FEATURES = 200  # random ones, besides the columns
PENALTIES = np.logspace(-3, 4, 15)
LARGEST_SLOPE = 50.0
PRIOR_ROWS = 5.0  # κ
LEVERAGE = 0.99  # of a row that decides its own score alone


class JudgedAgain:
    """P(z | row) of all rows of a table while a review goes on."""

    def __init__(self, X, codes, probability, seed=0):
        self.codes, self.first = codes, np.log(np.maximum(probability, 1e-9))
        self.right: dict[int, int | None] = {}  # of the rows decided upon
        rng = np.random.default_rng(seed)
        weights = rng.normal(size=(X.shape[1], FEATURES)) / np.sqrt(X.shape[1])
        hidden = np.tanh(X @ weights + rng.uniform(-1, 1, FEATURES))
        A = np.column_stack([np.ones(len(X)), X, hidden])
        values, V = eigh(A.T @ A)
        R = A @ V
        self.target = np.array(probability, dtype=float)
        found = []
        for penalty in PENALTIES * len(X) / 1000:
            Q = R / np.sqrt(np.maximum(values, 0.0) + penalty)
            error = np.square(self._left_out(Q)[0] - self.target).mean()
            found.append((float(error), penalty))
        penalty = min(found)[1]
        self.Q = R / np.sqrt(np.maximum(values, 0.0) + penalty)
        self.score, self.leverage = self._left_out(self.Q)
        self.moved = np.zeros_like(self.score)
        self.slope = float(
            minimize_scalar(
                lambda a: -(self.target * log_softmax(a * self.score, axis=1)).sum(),
                bounds=(0.0, LARGEST_SLOPE),
                method="bounded",
            ).x
        )
        n_classes = probability.shape[1]
        self.found, self.expected = np.zeros((2, n_classes, n_classes))

    def _left_out(self, Q):
        """Return the left-out scores of the targets, and the leverages."""
        h = np.minimum(np.square(Q).sum(axis=1), LEVERAGE)
        return (Q @ (Q.T @ self.target) - h[:, None] * self.target) / (1.0 - h)[:, None], h

    def decide(self, row, right):
        """Take the right class of a row, None where the row is dropped."""
        self._count(row, -1.0)
        self.right[row] = right
        self._count(row, 1.0)
        new = np.zeros(self.target.shape[1])
        if right is not None:
            new[right] = 1.0
        self._move(row, new)

    def forget(self, row):
        """Take the decision about a row back, if there is one."""
        if row in self.right:
            self._count(row, -1.0)
            del self.right[row]
            self._move(row, softmax(self.first[row]))

    def _count(self, row, times):
        """Count what was found in a row, and what was expected, so many times."""
        right = self.right.get(row)
        if right is not None:
            self.found[self.codes[row], right] += times
            self.expected[self.codes[row]] += times * softmax(self.first[row])

    def _move(self, row, new):
        """Change the targets of a row, and by them the scores of all others."""
        reach = self.Q @ self.Q[row] / (1.0 - self.leverage)
        reach[row] = 0.0
        self.moved += np.outer(reach, new - self.target[row])
        self.target[row] = new

    def probability(self):
        """Return P(z | row) of all rows by what is known now."""
        factor = (self.found + PRIOR_ROWS) / (self.expected + PRIOR_ROWS)
        logs = self.first + self.slope * self.moved + np.log(factor)[self.codes]
        return softmax(logs, axis=1)

    def order(self):
        """Return the rows without a decision in the order in which to ask, and P(wrong) of all."""
        P = self.probability()
        doubt = 1.0 - P[np.arange(len(P)), self.codes]
        # Of those equally probable to a percent, whose answers are least certain and reach farthest
        tells = doubt * (1.0 - doubt) * self.leverage
        order = np.lexsort((-tells, -doubt.round(2)))
        is_open = np.ones(len(P), bool)
        is_open[list(self.right)] = False
        return order[is_open[order]], doubt
