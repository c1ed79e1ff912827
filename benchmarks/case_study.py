"""What an audit and its review are worth: test scores of models fitted to what became of labels.

Of each table a third is kept for testing, with its labels as they are. Of the rest, a quarter of
the positives is labelled negative and 2 % of the negatives positive; it is written to a CSV file
and audited. Then a model is fitted five times:

    plain      to the labels with the mistakes
    weighted   to the same, each row weighted by the quality of its label
    dropped    without the suspect rows
    reviewed   after the suspects were looked at: those that are wrong changed, the others kept,
               by ``apply_review``, whose decisions come from the labels before the mistakes
    clean      to the labels without any mistake

Average precision and balanced accuracy on the test rows, means over the splits, of an RVFL network
and of scikit-learn's gradient boosting.

    python benchmarks/case_study.py [--splits 5]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score, balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell import RVFLClassifier, apply_review, audit
from robell.datasets import load

OF_POSITIVES, OF_NEGATIVES = 0.25, 0.02
MOST_ROWS = 3000
TREATMENTS = ("plain", "weighted", "dropped", "reviewed", "clean")


def tables():
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", X, 1 - y  # malignant is the positive class
    for name in ("page-blocks0", "yeast3", "abalone9-18"):
        table = load(name)
        yield name, table.X, table.y


def noisy(y, rng):
    flip = np.where(y == 1, rng.random(len(y)) < OF_POSITIVES, rng.random(len(y)) < OF_NEGATIVES)
    return np.where(flip, 1 - y, y)


def models(seed):
    network = RVFLClassifier(C="loo", class_weight="balanced", random_state=seed)
    yield "RVFL", make_pipeline(StandardScaler(), network), "rvflclassifier__sample_weight"
    boosting = HistGradientBoostingClassifier(class_weight="balanced", random_state=seed)
    yield "boosting", boosting, "sample_weight"


def review(folder, frame, true, seed):
    """Audit a table, let the suspects be looked at, and apply what was decided."""
    frame.to_csv(folder / "t.csv", index=False)
    result = audit(folder / "t.csv", "label", random_state=seed)
    listed = result.to_frame()
    truth = np.where(true[listed["row"] - 1] == 1, "yes", "no")
    is_wrong = truth != listed["given"].to_numpy()
    looked = listed["suspect"].to_numpy() == True  # noqa: E712 - "cannot tell" is no truth value
    listed["decision"] = np.select([looked & is_wrong, looked], ["change", "keep"], "")
    listed["suggested"] = truth
    listed.to_csv(folder / "reviewed.csv", index=False)
    if looked.any():
        apply_review(folder / "t.csv", folder / "reviewed.csv", folder / "clean.csv")
        labels = pd.read_csv(folder / "clean.csv")["label"]
    else:
        labels = frame["label"]
    return result, (labels == "yes").to_numpy().astype(int), int((looked & is_wrong).sum())


def one_split(X, y, seed):
    """Return scores by model and treatment, and what was looked at."""
    rng = np.random.default_rng(seed)
    if len(X) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, stratify=y, random_state=seed)
    train, test = train_test_split(
        np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=seed
    )
    X_train, true = X[train], y[train]
    given = noisy(true, rng)
    frame = pd.DataFrame(X_train, columns=[f"x{k}" for k in range(X.shape[1])])
    frame["label"] = np.where(given == 1, "yes", "no")
    with tempfile.TemporaryDirectory() as folder:
        result, reviewed, n_changed = review(Path(folder), frame, true, seed)
    everything, kept = np.ones(len(true), bool), ~result.suspect
    fits = {
        "plain": (given, everything, None),
        "weighted": (given, everything, result.quality),
        "dropped": (given, kept, None),
        "reviewed": (reviewed, everything, None),
        "clean": (true, everything, None),
    }
    scores = {}
    for name, model, weight_name in models(seed):
        for treatment, (labels, rows, weight) in fits.items():
            extra = {} if weight is None else {weight_name: weight}
            model.fit(X_train[rows], labels[rows], **extra)
            chance = model.predict_proba(X[test])[:, 1]
            scores[name, treatment] = (
                average_precision_score(y[test], chance),
                balanced_accuracy_score(y[test], model.predict(X[test])),
            )
    wrong = int((given != true).sum())
    return scores, (len(train), wrong, int(result.suspect.sum()), n_changed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    splits = parser.parse_args().splits
    print(f"{'table':14} {'rows':>5} {'wrong':>6} {'suspect':>8} {'of these wrong':>15}")
    lines = []
    for name, X, y in tables():
        found = [one_split(np.asarray(X), np.asarray(y), seed) for seed in range(splits)]
        rows, wrong, suspect, changed = np.mean([looked for _, looked in found], axis=0)
        print(f"{name:14} {rows:5.0f} {wrong:6.1f} {suspect:8.1f} {changed:15.1f}", flush=True)
        for model in ("RVFL", "boosting"):
            for place, metric in enumerate(("average precision", "balanced accuracy")):
                means = [
                    np.mean([scores[model, treatment][place] for scores, _ in found])
                    for treatment in TREATMENTS
                ]
                numbers = " ".join(f"{mean:9.3f}" for mean in means)
                lines.append(f"{name:14} {model:9} {metric:18} {numbers}")
    print()
    print(f"{'table':14} {'model':9} {'measure':18} " + " ".join(f"{t:>9}" for t in TREATMENTS))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
