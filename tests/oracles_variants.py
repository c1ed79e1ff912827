"""Literal transcriptions of the models RoBell is compared with: loops and dense matrices."""

import math

import numpy as np
from oracles import activate

# -- NF-RVFL ---------------------------------------------------------------------------


def neurofuzzy_features(X, centers, rule_weights, W, bias, activation):
    """Rows [F X H], one number at a time; the 0.1 column of the release is the bias."""
    rows = []
    for x in X:
        distance = [sum((a - b) ** 2 for a, b in zip(x, c)) for c in centers]
        nearest = min(distance)
        firing = [math.exp(nearest - d) for d in distance]
        firing = [f / math.fsum(firing) for f in firing]
        rule = [sum(a * w for a, w in zip(x, alpha)) for alpha in rule_weights.T]
        F = [f * r for f, r in zip(firing, rule)]
        H = [
            activate(activation, sum(F[j] * W[j][d] for j in range(len(F))) + bias[d])
            for d in range(W.shape[1])
        ]
        rows.append([*F, *x, *H])
    return np.array(rows)


def fuzzy_c_means_loops(X, weight, centers, steps, tolerance):
    spread = X.max() - X.min()
    for _ in range(steps):
        U = np.zeros((len(X), len(centers)))
        for i, x in enumerate(X):
            d2 = [max(((x - c) ** 2).sum(), np.finfo(float).tiny) for c in centers]
            for j in range(len(centers)):
                U[i, j] = 1 / sum(d2[j] / d2[k] for k in range(len(centers)))
        moved = np.zeros_like(centers)
        for j in range(len(centers)):
            mass = [weight[i] * U[i, j] ** 2 for i in range(len(X))]
            moved[j] = sum(m * x for m, x in zip(mass, X)) / sum(mass)
        step = np.abs(moved - centers).max()
        centers = moved
        if step <= tolerance * spread:
            break
    return centers


# -- C-RVFL and AC-RVFL ----------------------------------------------------------------


def complex_activate(name, z):
    fully = {
        "complex_tanh": lambda: np.tanh(z),
        "complex_sin": lambda: np.sin(z),
        "complex_asinh": lambda: np.arcsinh(z),
        "complex_sech": lambda: 1 / np.cosh(z),
    }
    if name in fully:
        return fully[name]()
    return activate(name, z.real) + 1j * activate(name, z.imag)


def complex_features(Z, W, b, activation):
    H = np.array(
        [
            [complex_activate(activation, complex(z @ W[:, d] + b[d])) for d in range(W.shape[1])]
            for z in Z
        ]
    )
    return np.hstack([Z, H])


def strictly_linear(M, T, C):
    """(MᴴM + I/C)⁻¹MᴴT in complex arithmetic."""
    return np.linalg.solve(M.conj().T @ M + np.eye(M.shape[1]) / C, M.conj().T @ T)


def block_form(M, T, C):
    """C-RVFL in real arithmetic: [[Re, -Im], [Im, Re]] against [Re T; Im T]."""
    block = np.block([[M.real, -M.imag], [M.imag, M.real]])
    target = np.vstack([T, np.zeros_like(T)])
    beta = np.linalg.solve(block.T @ block + np.eye(block.shape[1]) / C, block.T @ target)
    return beta[: M.shape[1]] + 1j * beta[M.shape[1] :]


def widely_linear_scores(M, T, C, M_new):
    """AC-RVFL with the conjugate stacked, in complex arithmetic."""
    beta = strictly_linear(np.hstack([M, M.conj()]), T, C)
    return np.hstack([M_new, M_new.conj()]) @ beta


# -- GB-RVFL and GE-GB-RVFL ------------------------------------------------------------


def two_means_of_one_ball(X):
    """Cut the axis of largest variance at its mean, then Lloyd's iterations; True = upper part."""
    axis = X.var(axis=0).argmax()
    side = X[:, axis] > X[:, axis].mean()
    if side.all() or not side.any():  # equal rows
        return np.arange(len(X)) > 0
    while True:
        low, high = X[~side].mean(axis=0), X[side].mean(axis=0)
        nearer = ((X - high) ** 2).sum(axis=1) < ((X - low) ** 2).sum(axis=1)
        if (nearer == side).all():
            return side
        side = nearer


def granular_balls_by_scanning(X, y, purity):
    """The release's list: split in place, append the other half, look at the same place again."""
    balls = [np.arange(len(X))]
    place = 0
    while place < len(balls):
        members = balls[place]
        counts = np.bincount(y[members])
        if counts.max() / len(members) < purity and len(members) > 1:
            side = two_means_of_one_ball(X[members])
            balls[place] = members[~side]
            balls.append(members[side])
        else:
            place += 1
    return balls


def laplacian(W):
    W = (W + W.T) / 2
    return np.diag(W.sum(axis=1)) - W


def graph_laplacians(M, y, kind):
    N = len(M)
    size = np.array([(y == c).sum() for c in y])
    same = y[:, None] == y
    D2 = np.array([[((a - b) ** 2).sum() for b in M] for a in M])
    if kind == "lda":
        share = np.where(same, 1 / size[:, None], 0.0)
        return np.eye(N) - share, share - np.ones((N, N)) / N
    if kind == "lfda":
        A = np.exp(-D2 / (2 * D2.mean()))
        W_w = np.where(same, A / size[:, None], 0.0)
        W_b = np.where(same, A * (1 / N - 1 / size[:, None]), 1 / N)
        return laplacian(W_w), laplacian(W_b)
    graphs = []
    for allowed in (same, ~same):
        W = np.zeros((N, N))
        for i in range(N):
            candidates = [j for j in range(N) if allowed[i, j]]
            for j in sorted(candidates, key=lambda j: D2[i, j])[:5]:
                W[i, j] = W[j, i] = 1
        graphs.append(laplacian(W))
    return tuple(graphs)


def graph_term_dense(M, y, kind):
    L_w, L_b = graph_laplacians(M, y, kind)
    return np.linalg.pinv(M.T @ L_b @ M + 1e-3 * np.eye(M.shape[1])) @ (M.T @ L_w @ M)


def graph_scores_exact(M, y, kind, alpha, C):
    """Scores of GE-GB-RVFL by its formula in 50 digits; of equally near rows the first."""
    from mpmath import diag, exp, eye, inverse, matrix, mp, mpf, sqrt

    mp.dps = 50
    N, P = M.shape
    rows, A = [[mpf(float(x)) for x in row] for row in M], matrix(M.tolist())
    D2 = [[sum((a - b) ** 2 for a, b in zip(r, s, strict=True)) for s in rows] for r in rows]
    size = [mpf(int((y == c).sum())) for c in y]
    if kind == "lda":
        share = matrix(N, N)
        for i, j in np.argwhere(y[:, None] == y).tolist():
            share[i, j] = 1 / size[i]
        L = eye(N) - share, share - matrix([[mpf(1) / N] * N] * N)
    else:
        mean = sum(sum(row) for row in D2) / N**2
        W = matrix(N, N), matrix(N, N)
        for i in range(N):
            for graph, same in enumerate((True, False)):
                # Rounded, since copies of a row differ in the last digit of their features
                near = [(float(round(sqrt(D2[i][j]), 12)), j) for j in range(N)]
                near = [j for _, j in sorted(near) if (y[j] == y[i]) == same]
                for j in near[:5] if kind == "mda" else near:
                    affinity = exp(-D2[i][j] / (2 * mean))
                    if kind == "mda":
                        W[graph][i, j] = W[graph][j, i] = 1
                    elif same:
                        W[0][i, j] = affinity / size[i]
                        W[1][i, j] = affinity * (mpf(1) / N - 1 / size[i])
                    else:
                        W[1][i, j] = mpf(1) / N
        L = tuple(diag([sum(w[i, j] for j in range(N)) for i in range(N)]) - w for w in W)
    S = inverse(A.T * L[1] * A + mpf("0.001") * eye(P)) * (A.T * L[0] * A)
    T = matrix(np.eye(int(y.max()) + 1)[y].tolist())
    scores = A * (inverse(eye(P) / C + A.T * A + mpf(alpha) / C * S) * (A.T * T))
    return np.array([[float(x) for x in row] for row in scores.tolist()])
