"""Fits in passes by a sample: the model of all rows while they are few, of a sample beyond."""

import functools
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from streams import batches, in_passes

import robell.scale.files as memory_module
import robell.scale.out_of_core as out_of_core
from robell import NoiseRobustRVFLClassifier
from robell._core.ensemble.members import N_LANDMARKS, Drawn, KernelLayer, designs_of
from robell._core.ridge.loo import MOST_EXACT
from robell.cli import main
from robell.files import FileError, fit_files, load_model, save_model
from robell.noise import flip_uniformly
from robell.scale.out_of_core import OutOfCoreFit, sampled_rows

COLUMNS = list("abcde")
OF_ROWS = ("sample_quality_", "label_probability_", "n_suspects_")


def rows_of(rng, n_rows=1200):
    """Two classes, 80:20, on scales of their own, one label in ten wrong, some rows twice."""
    X = rng.normal(size=(n_rows, 5))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * X[:, 3] > 1.0).astype(int)
    X = X * [1.0, 30.0, 0.1, 1.0, 1.0] + [0.0, 500.0, 0.0, -2.0, 0.0]
    y = flip_uniformly(y, 0.1, 0)[0]
    X[-40:], y[-40:] = X[:40], y[:40]
    return X, y


@pytest.fixture
def rows(rng):
    return rows_of(rng)


def network(**parameters):
    return NoiseRobustRVFLClassifier(8, random_state=0, **parameters)


def assert_same(found, expected, X, tol):
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=0, atol=tol)
    assert found.noise_rate_ == pytest.approx(expected.noise_rate_, abs=tol)


@pytest.mark.parametrize("random_state", [0, np.random.RandomState(3)], ids=["number", "generator"])
def test_of_few_rows_it_is_fit(rows, rng, random_state):
    X, y = rows
    weight = rng.integers(0, 3, len(y)).astype(float)
    model = network().set_params(random_state=random_state)
    found = in_passes(model, list(batches(X, y, (64, 300), weight)))
    assert_same(found, clone(model).fit(X, y, weight), X, 1e-8)
    assert found.n_samples_seen_ == found.n_samples_fitted_ == weight.sum()
    assert type(found.n_samples_seen_) is int
    again = found.fit(X, y)  # says nothing of a sample any more
    assert not hasattr(again, "n_samples_seen_")
    assert len(again.sample_quality_) == len(y)


@pytest.mark.parametrize("classes", [[0, 1], None], ids=["given", "found"])
def test_any_order_and_partition_gives_the_same_model_bit_for_bit(rows, rng, classes):
    X, y = rows
    known = {} if classes is None else {"classes": classes, "n_features": 5}
    expected = in_passes(network(), [(X, y)], sample_rows=300, **known)
    assert (expected.n_samples_seen_, 300 <= expected.n_samples_fitted_ < 330) == (1200, True)
    for sizes in [(37,), (400, 1), (1199,)]:
        order = rng.permutation(len(y))
        parts = list(batches(X[order], y[order], sizes))
        job = OutOfCoreFit(network(), sample_rows=300, **known)
        for step in job.passes():
            worker = pickle.loads(pickle.dumps(step))
            results = [worker.map(*part) for part in [(X[:0], y[:0]), *parts]]
            step.finish(functools.reduce(worker.reduce, reversed(results)))
        found = job.estimator()
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
        assert found.n_samples_fitted_ == expected.n_samples_fitted_
    assert not any(hasattr(expected, name) for name in OF_ROWS)


def test_weight_two_is_the_row_twice_and_zero_its_absence(rows, rng):
    X, y = rows
    weight = rng.integers(0, 3, len(y))
    weighted = in_passes(network(), [(X, y, weight.astype(float))], sample_rows=200)
    repeated = [(np.repeat(X, weight, axis=0), np.repeat(y, weight))]
    found = in_passes(network(), repeated, sample_rows=200)
    np.testing.assert_array_equal(found.predict_proba(X), weighted.predict_proba(X))


def test_a_scaler_before_it_sees_all_rows(rows):
    X, y = rows
    model = make_pipeline(StandardScaler(), network())
    models = [
        in_passes(model, list(batches(X, y, sizes)), sample_rows=300) for sizes in [(1200,), (77,)]
    ]
    expected = StandardScaler().fit(X)
    for found in models:
        np.testing.assert_allclose(found[0].scale_, expected.scale_, rtol=1e-12)
        np.testing.assert_allclose(
            found.predict_proba(X), models[0].predict_proba(X), rtol=0, atol=1e-6
        )


def test_a_sample_learns_what_all_rows_teach(rng):
    X, y = rows_of(rng, 6000)
    new, truth = rows_of(rng, 3000)
    whole = network().fit(X, y)
    sample = in_passes(network(), list(batches(X, y, (999,))), sample_rows=2000)
    apart = np.subtract(*(balanced_accuracy_score(truth, m.predict(new)) for m in (whole, sample)))
    assert abs(apart) < 0.03
    np.testing.assert_allclose(sample.class_prior_, whole.class_prior_, atol=0.02)
    assert sample.noise_rate_ == pytest.approx(whole.noise_rate_, abs=0.03)


def test_how_many_rows_a_sample_has():
    assert sampled_rows(20, 2) == 200_000
    assert sampled_rows(1000, 2) == 8388
    assert sampled_rows(100_000, 3) == 300


class OwnFit(NoiseRobustRVFLClassifier):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X[::2], y[::2])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OwnFit(), "OwnFit has a fit of its own, which a fit in parts would not call"),
        (make_pipeline(MinMaxScaler(), network()), "MinMaxScaler cannot be fitted in parts"),
    ],
)
def test_what_would_be_passed_over_is_refused(model, message):
    with pytest.raises(TypeError, match=message):
        OutOfCoreFit(model)


def test_what_goes_wrong_is_said(rows):
    X, y = rows
    with pytest.raises(ValueError, match="no row has the label"):
        in_passes(network(), [(X, y)], classes=[0, 1, 2], n_features=5)
    with pytest.raises(ValueError, match="at least two classes"):
        in_passes(network(), [(X, np.zeros(len(y)))])
    with pytest.raises(ValueError, match="'n_hidden' parameter"):
        OutOfCoreFit(NoiseRobustRVFLClassifier(-1))
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="column 1, row 3"):
        in_passes(network(), [(X, y), (bad, y)], classes=[0, 1], n_features=5)


# -- files -----------------------------------------------------------------------------


@pytest.fixture
def table(rows, tmp_path):
    """A table of which no more than about 500 rows fit in the memory given."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame(rows[0], columns=COLUMNS).assign(y=np.array(["no", "yes"])[rows[1]])
    frame.to_parquet(path)
    return path


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(memory_module, "FEWEST_SAMPLED", 100)
    monkeypatch.setattr(memory_module, "MOST_ROWS", 256)
    monkeypatch.setattr(memory_module, "READERS", 0)
    needed = memory_module.memory_of_fit(network(), 500, 5, 2) + 500 * 2 * 8 * 8
    return needed + 256 * 2 * 8 * (6 * 5 + 16)  # of a batch


def test_files_beyond_the_memory_are_fitted_by_a_sample(table, rows, little_memory, tmp_path):
    X, y = pd.DataFrame(rows[0], columns=COLUMNS), np.array(["no", "yes"])[rows[1]]
    found = fit_files(network(), table, "y", memory_limit=little_memory)
    assert found.n_samples_seen_ == 1200
    assert 400 < found.n_samples_fitted_ < 600
    np.testing.assert_array_equal(found.feature_names_in_, COLUMNS)
    expected = in_passes(network(), [(X.to_numpy(), y)], sample_rows=500)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X.to_numpy()))
    whole = fit_files(network(), table, "y")
    assert_same(whole, network().fit(X, y), X, 1e-9)
    assert not hasattr(whole, "n_samples_seen_")
    pytest.importorskip("skops")
    save_model(found, tmp_path / "m.skops")
    assert load_model(tmp_path / "m.skops").n_samples_fitted_ == found.n_samples_fitted_


def test_columns_of_many_rows_are_counted_in_single_precision():
    kernel = KernelLayer(np.zeros((3, 2)), np.eye(3), 1.0, np.arange(2))
    drawn = Drawn(np.zeros((2, 4)), np.zeros(4), kernel, 0)
    for n_rows, kind in ((MOST_EXACT, np.float64), (MOST_EXACT + 1, np.float32)):
        *made, _ = designs_of(np.zeros((n_rows, 2)), drawn)
        assert {design.dtype for design in made} == {kind}
    few, many = (memory_module.memory_of_fit(network(), MOST_EXACT + k, 20, 2) for k in (0, 1))
    columns = 2 * (20 + network().n_hidden) + N_LANDMARKS
    assert few - many == pytest.approx(4 * columns * MOST_EXACT, rel=1e-2)


def test_pipelines_of_other_steps_need_the_memory(table, little_memory):
    model = make_pipeline(MinMaxScaler(), network())
    fit_files(model, table, "y")
    with pytest.raises(TypeError, match="MinMaxScaler cannot be fitted in parts"):
        fit_files(model, table, "y", memory_limit=little_memory)


def test_a_limit_too_small_for_any_sample_says_what_is_needed(table):
    with pytest.raises(FileError, match=r"is fitted to 1,200 rows at least.* leaves 60 MiB"):
        fit_files(network(), table, "y", memory_limit="60MiB")


def test_the_command_says_how_many_rows_it_was_fitted_to(
    table, little_memory, monkeypatch, tmp_path, capsys
):
    pytest.importorskip("skops")
    monkeypatch.setattr("robell.cli.fit.memory_left", lambda limit: little_memory)
    arguments = ["fit", str(table), "--target", "y", "--out", str(tmp_path / "m.skops")]
    arguments += ["--plain", "--model", "noise_robust", "--param", "n_hidden=8"]
    assert main(arguments) == 0
    fitted = load_model(tmp_path / "m.skops").n_samples_fitted_
    start = f"NoiseRobustRVFLClassifier of 1,200 rows (fitted to a sample of {fitted} of them), 5 "
    assert capsys.readouterr().out.startswith(start)


# -- Dask ------------------------------------------------------------------------------


def test_dask_arrays_frames_and_parquet(rows, tmp_path, monkeypatch):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    import dask

    import robell.dask

    X, y = rows
    monkeypatch.setattr(out_of_core, "MOST_SAMPLED", 300)
    expected = in_passes(network(), [(X, y)])
    frame = pd.DataFrame(X, columns=COLUMNS).assign(y=y)
    for k in range(3):
        frame[k::3].to_parquet(tmp_path / f"part-{k}.parquet")
    weight = da.ones(1200, chunks=500)
    with dask.config.set(scheduler="synchronous"):
        arrays = da.from_array(X, chunks=(500, -1)), da.from_array(y, chunks=500)
        models = [
            robell.dask.fit(network(), *arrays),
            robell.dask.fit(network(), *arrays, sample_weight=weight),
            robell.dask.fit(network(), dd.from_pandas(frame, npartitions=5), "y"),
            robell.dask.fit(network(), dd.read_parquet(tmp_path), "y"),
        ]
    for found in models:
        given = frame[COLUMNS] if hasattr(found, "feature_names_in_") else X
        np.testing.assert_array_equal(found.predict_proba(given), expected.predict_proba(X))
        assert found.n_samples_seen_ == 1200
