"""Models as ONNX graphs: whether their answers are the same, and how long one row takes.

For every model of the family, on the breast cancer table (30 columns, standardised in a pipeline)
and, behind a table encoder, on a raw table of 15 columns: whether the labels agree on all rows,
the largest difference of a probability, and the processor time of one row in onnxruntime with one
thread (the least mean of some rounds) beside that of ``predict_proba``.

    python benchmarks/onnx_rows.py
"""

from time import process_time

import numpy as np
import onnxruntime
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import robell
from robell.export import to_onnx
from robell.persist.onnx.nodes import NotConvertible

ROUNDS, REPEATS = 20, 100
NAMES = (
    "ComplexRVFLClassifier",
    "DeepRVFLClassifier",
    "ELMClassifier",
    "GranularBallRVFLClassifier",
    "HuberRVFLClassifier",
    "IntuitionisticFuzzyRVFLClassifier",
    "KernelRVFLPlusClassifier",
    "MultiViewRVFLClassifier",
    "NeuroFuzzyRVFLClassifier",
    "NoiseRobustRVFLClassifier",
    "RVFLClassifier",
    "RVFLPlusClassifier",
    "RoBellRVFLClassifier",
    "VarianceRVFLClassifier",
)


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), options)


def least_time(function):
    function()
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        for _ in range(REPEATS):
            function()
        times.append((process_time() - start) / REPEATS)
    return 1e3 * min(times)


def compare(name, model, rows, inputs):
    session = session_of(model)
    label, probability = session.run(None, inputs)
    same = bool((label == model.predict(rows)).all())
    apart = np.abs(probability - model.predict_proba(rows)).max()
    one = {key: value[:1] for key, value in inputs.items()}
    graph = least_time(lambda: session.run(None, one))
    start = process_time()
    for _ in range(30):
        model.predict_proba(rows[:1])
    python = 1e3 * (process_time() - start) / 30
    print(f"{name:40} {same!s:>6} {apart:14.1e} {graph:10.3f} {python:10.2f}")


def raw_table(n=2000):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 13)), columns=[f"v{k}" for k in range(13)])
    frame["town"] = rng.choice(["Oslo", "Rome", "Kyiv"], n)
    frame["paid"] = rng.choice(["yes", "no"], n)
    frame.loc[rng.random(n) < 0.1, "v3"] = np.nan
    return frame, np.where(frame["v0"] + frame["v1"] ** 2 > 1, "yes", "no")


def main():
    print(f"{'model':40} {'labels':>6} {'probabilities':>14} {'ONNX, ms':>10} {'Python, ms':>10}")
    X, y = load_breast_cancer(return_X_y=True)
    for name in NAMES:
        model = getattr(robell, name)()
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        try:
            compare(name, make_pipeline(StandardScaler(), model).fit(X, y), X, {"X": X})
        except NotConvertible as error:
            print(f"{name:40} {error}")
    frame, y = raw_table()
    inputs = {
        name: frame[name].to_numpy(object if name in ("town", "paid") else float)[:, None]
        for name in frame
    }
    for kind in (robell.RVFLClassifier, robell.NoiseRobustRVFLClassifier):
        model = make_pipeline(robell.TableEncoder(), kind(random_state=0)).fit(frame, y)
        try:
            compare(f"TableEncoder, {kind.__name__}", model, frame, inputs)
        except NotConvertible as error:
            print(error)


if __name__ == "__main__":
    main()
