"""Literal transcriptions of RoBell's relatives: loops over rows and pairs, dense systems."""

import math

import numpy as np


def kernel_distances(X, y, width):
    """r_i, the largest r of each class, and the neighbours of every row, pair by pair."""
    A = len(X)
    K = [[math.exp(-sum((a - b) ** 2 for a, b in zip(p, q)) / width**2) for q in X] for p in X]
    r, r_max = np.zeros(A), {}
    for c in sorted(set(y.tolist())):
        members = [i for i in range(A) if y[i] == c]
        n = len(members)
        mean = math.fsum(K[p][q] for p in members for q in members) / n**2
        for i in members:
            r[i] = math.sqrt(max(0.0, 1 - 2 * math.fsum(K[i][j] for j in members) / n + mean))
        r_max[c] = max(r[i] for i in members)
    alpha = max(r_max.values())
    near = [
        [j for j in range(A) if math.sqrt(max(0.0, 2 * (1 - K[i][j]))) <= alpha] for i in range(A)
    ]
    return r, r_max, near


def intuitionistic_loop(X, y, width):
    """Membership, non-membership and score, row by row."""
    r, r_max, near = kernel_distances(X, y, width)
    mu, q, s = np.zeros((3, len(X)))
    for i in range(len(X)):
        mu[i] = 1 - r[i] / (r_max[y[i]] + 1e-4)
        foreign = sum(y[j] != y[i] for j in near[i])
        q[i] = foreign / len(near[i])
        nu = (1 - mu[i]) * q[i]
        if foreign == 0 or r[i] == 0:
            s[i] = mu[i]
        elif mu[i] <= nu:
            s[i] = 0.0
        else:
            s[i] = (1 - nu) / (2 - mu[i] - nu)
    return mu, q, s


def huber_loop(X, y, width, threshold, center):
    """Huber's weight times the class probability, row by row."""
    r, _, near = kernel_distances(X, y, width)
    d = r.copy()
    if center == "median":
        for c in set(y.tolist()):
            middle = [float(np.median(X[y == c][:, b])) for b in range(X.shape[1])]
            for i in np.flatnonzero(y == c):
                k = math.exp(-sum((a - b) ** 2 for a, b in zip(X[i], middle)) / width**2)
                d[i] = math.sqrt(2 * (1 - k))
    weight = np.zeros(len(X))
    for i in range(len(X)):
        tau = float(np.median(d[y == y[i]])) if threshold == "median" else threshold
        m = 1.0 if d[i] <= tau or tau == 0 else tau / d[i]
        same = sum(y[j] == y[i] for j in near[i])
        weight[i] = m * same / (len(near[i]) + 1e-12)
    return weight, d


def scatter_loop(M, group):
    """Sum over groups of the mean outer product of deviations."""
    S = np.zeros((M.shape[1], M.shape[1]))
    for g in sorted(set(group.tolist())):
        rows = M[group == g]
        for m in rows:
            d = m - rows.mean(axis=0)
            S += np.outer(d, d) / len(rows)
    return S


def penalised(M, T, w, C, Q):
    """(I + Q + C M'WM)^-1 C M'WT."""
    return np.linalg.solve(np.eye(M.shape[1]) + Q + C * (M.T * w) @ M, C * (M.T * w) @ T)


def lda_term(M, y):
    """(S_b + 1e-3 I)^-1 S_w of linear discriminant analysis."""
    within, between = np.zeros((2, M.shape[1], M.shape[1]))
    for c in set(y.tolist()):
        rows = M[y == c]
        for m in rows:
            within += np.outer(m - rows.mean(axis=0), m - rows.mean(axis=0))
        offset = rows.mean(axis=0) - M.mean(axis=0)
        between += len(rows) * np.outer(offset, offset)
    return np.linalg.solve(between + 1e-3 * np.eye(M.shape[1]), within)
