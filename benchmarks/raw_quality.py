"""Average precision on ten raw tables with categories and missing cells, against LightGBM.

The pipeline of ``robell fit`` beside a ColumnTransformer with LightGBM; labels of the training rows
as they are, and with 20 % of them made wrong. Scores are of unseen rows with right labels, the
smaller class looked for, means over splits.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from raw_tables import transactions
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from robell import NoiseRobustRVFLClassifier, TableEncoder
from robell.datasets.sources.keel import raw_frame
from robell.noise import flip_labels

KEEL = {
    "german": "balanced", "crx": "balanced", "mammographic": "balanced", "breast": "balanced",
    "saheart": "balanced", "tic-tac-toe": "balanced", "flare-F": "imbalanced",
    "abalone9-18": "imbalanced",
}  # fmt: skip
EMPTIED = 0.08  # share of the cells that are made missing
MOST_ROWS = 2_000


def tables():
    """Yield name, rows and labels of each table; 1 is the smaller class."""
    for name, kind in KEEL.items():
        frame = raw_frame(name, kind)
        yield name, *prepared(frame.iloc[:, :-1], frame.iloc[:, -1].astype(str).str.strip())
    bunch = load_breast_cancer(as_frame=True)
    rows = bunch.data.copy()
    for column in rows.columns[:10]:  # a third of the columns as words
        rows[column] = pd.qcut(rows[column], 5, labels=["xs", "s", "m", "l", "xl"]).astype(str)
    yield "breast cancer", *prepared(rows, bunch.target.astype(str))
    made = transactions(MOST_ROWS)
    yield "transactions", *prepared(made.drop(columns="fraud"), made["fraud"])


def prepared(rows, labels):
    """Return rows with some cells emptied, and the smaller class as 1."""
    rng = np.random.default_rng(0)
    sizes = labels.value_counts()
    y = (labels == sizes.index[-1]).to_numpy(int)
    rows = rows.astype(object).where(rng.random(rows.shape) >= EMPTIED, None)
    rows = rows.set_axis([f"c{k} {name}" for k, name in enumerate(rows.columns)], axis=1)
    places = rng.permutation(len(rows))[:MOST_ROWS]
    return rows.iloc[places].reset_index(drop=True).infer_objects(), y[places]


def baseline(seed):
    from lightgbm import LGBMClassifier

    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", min_frequency=3, sparse_output=False),
         make_column_selector(dtype_include=object)),
        remainder="passthrough",
    )  # fmt: skip
    return make_pipeline(encode, LGBMClassifier(verbose=-1, n_jobs=1, random_state=seed))


def scores(rows, y, n_splits):
    """Return average precision of both, clean and with wrong labels, (2, 2)."""
    found = np.zeros((2, 2))
    cut = StratifiedShuffleSplit(n_splits, test_size=0.4, random_state=0)
    for seed, (train, test) in enumerate(cut.split(rows, y)):
        for level, rate in enumerate((0.0, 0.2)):
            labels = flip_labels(y[train], rate, random_state=seed)[0] if rate else y[train]
            own = make_pipeline(TableEncoder(), NoiseRobustRVFLClassifier(random_state=seed))
            for k, model in enumerate((own, baseline(seed))):
                model.fit(rows.iloc[train], labels)
                p = model.predict_proba(rows.iloc[test])[:, 1]
                found[level, k] += average_precision_score(y[test], p) / n_splits
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    n_splits = parser.parse_args().splits
    every = []
    print("table, rows: robell and LightGBM, clean; the same with 20 % of the labels wrong")
    for name, rows, y in tables():
        every.append(scores(rows, y, n_splits))
        (a, b), (c, d) = every[-1]
        print(f"{name}, {len(y):,} rows: {a:.3f} {b:.3f}; {c:.3f} {d:.3f}", flush=True)
    (a, b), (c, d) = np.mean(every, axis=0)
    print(f"mean: {a:.3f} {b:.3f}; {c:.3f} {d:.3f}")
    near = sum(bool(e[0, 0] >= e[0, 1] - 0.01) for e in every)
    above = sum(bool(e[1, 0] > e[1, 1]) for e in every)
    print(f"tables at least as good as LightGBM - .01 on clean labels: {near} of {len(every)}")
    print(f"tables above it with 20 % of the labels wrong: {above} of {len(every)}")
