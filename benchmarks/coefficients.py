"""How far RoBell's coefficients are from the paper's algorithm box solved in 40 digits.

Over C from 1e-5 to 1e5, all ten activations, tall and wide. Prints the largest relative
difference |V - V*|_max / |V*|_max of each combination of shape and activation.
"""

import sys
from pathlib import Path

import numpy as np

from robell import RoBellRVFLClassifier
from robell._core.layers.features import ACTIVATIONS

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from oracles import robell_by_the_book

SHAPES = {"tall, 45 x (4 + 13)": (36, 9, 4, 13), "wide, 16 x (4 + 23)": (12, 4, 4, 23)}


def main():
    rng = np.random.default_rng(0)
    worst = 0.0
    print(f"{'largest relative difference over 11 values of C':50}", *SHAPES, sep="  ")
    for activation in ACTIVATIONS:
        row = []
        for n_major, n_minor, n_features, n_hidden in SHAPES.values():
            X = rng.normal(size=(n_major + n_minor, n_features))
            y = np.repeat([0, 1], [n_major, n_minor])
            differences = []
            for C in 10.0 ** np.arange(-5, 6):
                model = RoBellRVFLClassifier(
                    n_hidden, activation, C, kernel_width=2.0, rho=0.625, random_state=0
                ).fit(X, y)
                book = robell_by_the_book(
                    X, y, model.hidden_weights_, model.hidden_bias_, activation, 2.0, 0.625, C
                )
                differences.append(np.abs(model.coef_ - book.V).max() / np.abs(book.V).max())
            row.append(max(differences))
        worst = max(worst, *row)
        print(f"{activation:50}", *(f"{value:19.1e}" for value in row), sep="  ")
    print(f"worst {worst:.1e} (goal: at most 1e-9)")


if __name__ == "__main__":
    main()
