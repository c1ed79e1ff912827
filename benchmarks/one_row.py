"""What the prediction of one row costs, step by step: CPU milliseconds, least of five runs.

python benchmarks/one_row.py
"""

import time

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from robell import NoiseRobustRVFLClassifier, RVFLClassifier, TableEncoder


def milliseconds(call, repeats=100):
    call()
    found = []
    for _ in range(5):
        start = time.process_time()
        for _ in range(repeats):
            call()
        found.append((time.process_time() - start) / repeats)
    return 1e3 * min(found)


def make_frame(n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 10))
    days = pd.to_timedelta(rng.integers(0, 900, n_rows), "D")
    words = [f"{' '.join(rng.choice(list('abcdefgh'), 4))} word{i % 200}" for i in range(n_rows)]
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(10)])
    frame = frame.assign(
        city=rng.choice(["a", "b", "c"], n_rows), day=pd.Timestamp("2024-01-01") + days, note=words
    )
    return frame, (X[:, 0] > 0).astype(int)


def main():
    frame, y = make_frame(1000)
    X = frame.iloc[:, :10].to_numpy()
    flagship, plain = NoiseRobustRVFLClassifier(random_state=0), RVFLClassifier(random_state=0)
    scaled = {
        "StandardScaler, LogisticRegression": LogisticRegression(),
        "StandardScaler, RVFLClassifier": plain,
    }
    alone = {"RVFLClassifier": plain, "NoiseRobustRVFLClassifier": flagship}
    for name, model in alone.items():
        model.fit(X, y)
        print(f"{name:52}{milliseconds(lambda model=model: model.predict(X[:1])):8.2f} ms")
    for name, model in scaled.items():
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
        print(f"{name:52}{milliseconds(lambda p=pipeline: p.predict(X[:1])):8.2f} ms")
    kinds = {"10 numbers": 10, "and a category": 11, "and a date": 12, "and words": 13}
    for kind, n_columns in kinds.items():
        rows = frame.iloc[:, :n_columns]
        pipeline = make_pipeline(TableEncoder(), flagship).fit(rows, y)
        encoder, row = pipeline[0], rows[:1]
        encoding = milliseconds(lambda e=encoder, row=row: e.transform(row))
        whole = milliseconds(lambda p=pipeline, row=row: p.predict(row))
        name = f"TableEncoder, NoiseRobustRVFLClassifier, {kind}"
        print(f"{name:56}{whole:8.2f} ms, of which the encoder {encoding:.2f}")
    print("goal: at most 2 ms in a pipeline of ours")


if __name__ == "__main__":
    main()
