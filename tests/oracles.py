"""Literal, slow transcriptions of the paper: loops, printed equations, decimal arithmetic.

Nothing here is shared with the package except what the paper itself leaves to chance (the drawn
random layer is passed in) and the definition of the activations, written again from the table.
"""

import math
from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np

EPSILON = 1e-12


class Oracle(NamedTuple):
    radius: np.ndarray
    class_probability: np.ndarray
    membership: np.ndarray
    V: np.ndarray


def activate(name, z):
    """Apply one activation to one number."""
    if name == "selu":
        scale, alpha = 1.0507009873554805, 1.6732632423543772
        return scale * z if z > 0 else scale * alpha * (math.exp(z) - 1)
    if name == "leaky_relu":
        return z if z >= 0 else z / 10
    return {
        "relu": lambda: max(0.0, z),
        "sigmoid": lambda: 1 / (1 + math.exp(-z)),
        "sin": lambda: math.sin(z),
        "hardlim": lambda: 1.0 if z >= 0 else 0.0,
        "tribas": lambda: max(1 - abs(z), 0.0),
        "radbas": lambda: math.exp(-(z**2)),
        "sign": lambda: float(int(z > 0) - int(z < 0)),
        "tansig": lambda: 2 / (1 + math.exp(-2 * z)) - 1,
    }[name]()


def pw_gbell_loops(X, y, kernel_width, rho):
    """Steps 3 to 9 of the algorithm box, pair by pair."""
    A = len(X)
    labels, sizes = np.unique(y, return_counts=True)
    # Majority: more samples; the larger label when equal (erratum E7).
    majority = labels[1] if sizes[1] >= sizes[0] else labels[0]
    T1 = [i for i in range(A) if y[i] == majority]
    T2 = [i for i in range(A) if y[i] != majority]

    K = [
        [math.exp(-sum((a - b) ** 2 for a, b in zip(p, q)) / kernel_width**2) for q in X] for p in X
    ]

    r = [0.0] * A
    for T in (T1, T2):
        t = len(T)
        mean = math.fsum(K[p][q] for p in T for q in T) / t**2
        for i in T:
            r[i] = math.sqrt(max(0.0, 1 - 2 * math.fsum(K[i][j] for j in T) / t + mean))
    r_max_1, r_max_2 = max(r[i] for i in T1), max(r[i] for i in T2)

    bell = [None] * A
    for T, r_max in ((T1, r_max_1), (T2, r_max_2)):
        c = d = rho * r_max
        for i in T:
            bell[i] = 1.0 if r_max == 0 else 1 / (1 + (r[i] / c) ** (2 * d))

    alpha_d = max(r_max_1, r_max_2)
    p = [0.0] * A
    for i in range(A):
        neighbours = [j for j in range(A) if math.sqrt(2 * (1 - K[i][j])) <= alpha_d]
        same = [j for j in neighbours if y[j] == y[i]]
        p[i] = len(same) / (len(neighbours) + EPSILON)

    membership = [1.0 if y[i] != majority else bell[i] * p[i] for i in range(A)]
    return np.array(r), np.array(p), np.array(membership), T1, T2


def solve_decimal(matrix, right):
    """Gaussian elimination with partial pivoting on lists of Decimals."""
    n = len(matrix)
    rows = [[*row, *rhs] for row, rhs in zip(matrix, right)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k])]
    solution = [None] * n
    for k in range(n - 1, -1, -1):
        known = rows[k][n:]
        for j in range(k + 1, n):
            known = [v - rows[k][j] * s for v, s in zip(known, solution[j])]
        solution[k] = [v / rows[k][k] for v in known]
    return solution


def robell_by_the_book(X, y, U, b, activation, kernel_width, rho, gamma):
    """The paper's algorithm box, ending in Eq. 29 as printed, in 40 digits."""
    A, D = len(X), U.shape[1]
    r, p, membership, T1, T2 = pw_gbell_loops(X, y, kernel_width, rho)
    labels = sorted(set(y))

    design = []
    for i in range(A):
        hidden = [
            activate(activation, sum(X[i][k] * U[k][j] for k in range(len(X[i]))) + b[j])
            for j in range(D)
        ]
        design.append([*X[i], *hidden])
    targets = [[1 if y[i] == c else 0 for c in labels] for i in range(A)]

    with localcontext() as context:
        context.prec = 40
        gamma = Decimal(float(gamma))
        F_plus, F_minus = gamma * (Decimal(len(T2)) / Decimal(len(T1))), gamma
        S = [None] * A
        for i in T1:
            S[i] = (1 + F_plus / F_minus) * Decimal(float(membership[i]))
        for i in T2:
            S[i] = (1 + F_minus / F_plus) * Decimal(float(membership[i]))
        M = [[Decimal(float(v)) for v in row] for row in design]
        P = len(M[0])
        weighted = [[S[i] * v for v in M[i]] for i in range(A)]
        left = [
            [sum(weighted[i][a] * M[i][c] for i in range(A)) for c in range(P)] for a in range(P)
        ]
        for a in range(P):
            left[a][a] += 1 / F_plus + 1 / F_minus
        right = [
            [sum(weighted[i][a] for i in range(A) if targets[i][k]) for k in range(len(labels))]
            for a in range(P)
        ]
        V = np.array([[float(v) for v in row] for row in solve_decimal(left, right)])
    return Oracle(r, p, membership, V)


def ridge_by_hand(M, T, w, C):
    """(MᵀWM + I/C)⁻¹MᵀWT in 40 digits."""
    with localcontext() as context:
        context.prec = 40
        rows = [[Decimal(float(v)) for v in row] for row in M]
        weights = [Decimal(float(v)) for v in w]
        P, K = len(rows[0]), T.shape[1]
        left = [
            [sum(s * m[a] * m[c] for s, m in zip(weights, rows)) for c in range(P)]
            for a in range(P)
        ]
        for a in range(P):
            left[a][a] += 1 / Decimal(float(C))
        right = [
            [
                sum(s * m[a] * Decimal(float(t)) for s, m, t in zip(weights, rows, T[:, k]))
                for k in range(K)
            ]
            for a in range(P)
        ]
        return np.array([[float(v) for v in row] for row in solve_decimal(left, right)])
