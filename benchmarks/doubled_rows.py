"""Whether a table gets other suspects, or another accuracy, when every row is given twice.

Twenty generated tables: two Gaussian classes of 120 to 400 rows in 2 to 8 columns, from clear to
overlapping, with 0 to 20 % of the labels wrong. Printed for each: suspects of the table and of the
table given twice, and the accuracy on 4,000 unseen rows of each classifier.
"""

import numpy as np

from robell import NoiseRobustRVFLClassifier, find_label_issues


def table(rng, n_rows, n_columns, separation):
    """Return rows of two classes, as many of each."""
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 0] += separation * y
    return X, y


def main():
    worst_ratio = worst_change = 0.0
    print("rows columns wrong   suspects  twice      accuracy  twice")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n_rows, n_columns = int(rng.integers(120, 400)), int(rng.integers(2, 9))
        separation, rate = rng.uniform(2.0, 5.0), 0.05 * (seed % 5)
        X, truth = table(rng, n_rows, n_columns, separation)
        y = np.where(rng.random(n_rows) < rate, 1 - truth, truth)
        unseen = table(rng, 4000, n_columns, separation)
        twice = np.vstack([X, X]), np.r_[y, y]
        found = [len(find_label_issues(*rows, random_state=0).index) for rows in ((X, y), twice)]
        score = [
            NoiseRobustRVFLClassifier(random_state=0).fit(*rows).score(*unseen)
            for rows in ((X, y), twice)
        ]
        print(
            f"{n_rows:4} {n_columns:7} {rate:5.0%} {found[0]:10} {found[1]:6}"
            f" {score[0]:13.4f} {score[1]:6.4f}"
        )
        worst_ratio = max(worst_ratio, found[1] / found[0] if found[0] else found[1])
        worst_change = max(worst_change, abs(score[1] - score[0]))
    print(f"largest ratio of suspects {worst_ratio:.2f}")
    print(f"largest change of accuracy {worst_change:.4f}")


if __name__ == "__main__":
    main()
