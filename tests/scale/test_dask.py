"""Fits on Dask: the local fit's model, whatever the partitions, the workers, and their fate."""

import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import robell.dask
import robell.scale.cluster as cluster_module
import robell.scale.out_of_core as out_of_core
from robell import (
    ELMClassifier,
    NoiseRobustRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLRegressor,
)
from robell.dask import ClusterError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
Client, LocalCluster = distributed.Client, distributed.LocalCluster

# Clusters whose workers are killed leave sockets to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
FEATURES = [f"x{j}" for j in range(6)]


def table(n_rows=6000):
    X, y = make_classification(
        n_rows, 6, n_informative=4, weights=[0.85], flip_y=0.05, random_state=0
    )
    return X * [1.0, 30.0, 0.2, 1.0, 5.0, 1.0] + [0.0, 9.0, 1.0, -4.0, 0.0, 0.0], y


X, y = table()
FRAME = pd.DataFrame(X, columns=FEATURES).assign(y=y)


def rvfl(**parameters):
    return RVFLClassifier(15, random_state=0, **parameters)


def scaled_robell():
    return make_pipeline(
        StandardScaler(), RoBellRVFLClassifier(15, kernel_width="scale", random_state=0)
    )


def in_blocks(sizes, *arrays):
    """Cut arrays along their rows into dask arrays."""
    return [
        da.from_array(array, chunks=(tuple(sizes), *(-1 for _ in array.shape[1:])))
        for array in arrays
    ]


@pytest.fixture(autouse=True, scope="module")
def workers_start_quickly():
    """Let all workers be copies of one process that has imported Dask and the models already."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    with dask.config.set({"distributed.worker.multiprocessing-method": method}):
        if method == "forkserver":
            preload = ["distributed", "robell.dask", "robell.models.noise_robust"]
            distributed.utils.get_mp_context().set_forkserver_preload(preload)
        yield


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="1GiB"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        yield client


@pytest.fixture
def other_client(cluster):
    """A client that must be named: the current one is that of Dask's own scheduler."""
    with Client(cluster, set_as_default=False) as client:
        yield client


# -- the model -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        rvfl(),
        ELMClassifier(15, random_state=0, C="loo", class_weight="balanced"),
        make_pipeline(StandardScaler(), rvfl(class_weight="ratio")),
    ],
    ids=["rvfl", "elm", "pipeline"],
)
def test_it_is_the_model_of_a_local_fit(estimator):
    found = robell.dask.fit(estimator, *in_blocks([1000, 5000], X, y))
    expected = estimator.fit(X, y)
    assert type(found) is type(expected)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-8)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


@settings(max_examples=12)
@given(st.lists(st.integers(0, 900), min_size=1, max_size=9), st.integers(0, 3))
def test_any_partitioning_gives_the_same_model(sizes, n_absent):
    sizes = [*sizes, len(X) - sum(sizes)] if sum(sizes) < len(X) else [len(X)]
    weight = np.arange(len(X)) % (n_absent + 1) * 1.0 + (n_absent == 0)
    model = make_pipeline(StandardScaler(), rvfl())
    found = robell.dask.fit(
        model, *in_blocks(sizes, X, y), sample_weight=da.from_array(weight, chunks=777)
    )
    times = weight.astype(int)
    expected = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(found[-1].coef_, expected[-1].coef_, atol=1e-8)
    np.testing.assert_allclose(found[0].scale_, expected[0].scale_, rtol=1e-12)


def test_robell_on_any_partitioning_and_number_of_workers(other_client):
    def fitted(n_parts, client):
        return robell.dask.fit(
            scaled_robell(), dd.from_pandas(FRAME, npartitions=n_parts), "y", client
        )

    models = [fitted(1, None), fitted(7, other_client)]  # two processes
    with (
        LocalCluster(4, threads_per_worker=1, processes=False, dashboard_address=":0") as threads,
        Client(threads, set_as_default=False) as client,
    ):
        models.append(fitted(19, client))
    with dask.config.set(scheduler="synchronous"):
        here = fitted(7, None)
    np.testing.assert_array_equal(here[-1].coef_, models[1][-1].coef_)  # not a bit differs
    for other in models[1:]:
        np.testing.assert_allclose(other[-1].coef_, models[0][-1].coef_, atol=1e-8)
        for name in ("calibration_slope_", "calibration_offsets_"):
            np.testing.assert_allclose(
                getattr(other[-1], name), getattr(models[0][-1], name), rtol=1e-6, atol=1e-6
            )


def test_frames_on_the_current_client(client):
    frame = dd.from_pandas(FRAME, npartitions=3)
    expected = rvfl().fit(X, y).coef_
    for rows, labels in [(frame, "y"), (frame[FEATURES].persist(), frame["y"].persist())]:
        found = robell.dask.fit(rvfl(), rows, labels)
        np.testing.assert_allclose(found.coef_, expected, atol=1e-9)
        np.testing.assert_array_equal(found.feature_names_in_, FEATURES)


@pytest.mark.parametrize("of_labels", [False, True], ids=["rows", "rows and labels"])
def test_arrays_that_the_cluster_holds(client, of_labels):
    expected = rvfl().fit(X, y).coef_
    rows, labels = in_blocks([1500] * 4, X, y)
    rows = client.persist(rows)
    labels = client.persist(labels) if of_labels else labels
    for held in (rows, rows.map_blocks(lambda block: block + 0.0)):
        found = robell.dask.fit(rvfl(), held, labels, client)
        np.testing.assert_allclose(found.coef_, expected, atol=1e-9)


def test_frames_arrays_and_a_mixture_of_both():
    frame = dd.from_pandas(FRAME, npartitions=5)
    features, labels = frame[FEATURES], frame["y"]
    unknown = features.to_dask_array(), labels.to_dask_array()
    assert np.isnan(unknown[0].shape[0])
    expected = rvfl().fit(X, y).coef_
    for given_X, given_y in [
        (frame, "y"),
        (features, labels),
        (features, frame[["y"]]),
        (features, labels.to_dask_array()),
        (features.to_dask_array(lengths=True), labels),
        unknown,
        (da.from_array(X, chunks=(1000, 2)), da.from_array(y[:, None], chunks=(4000, 1))),
    ]:
        with dask.config.set(scheduler="synchronous"):
            found = robell.dask.fit(rvfl(), given_X, given_y)
        np.testing.assert_allclose(found.coef_, expected, atol=1e-9)
        assert hasattr(found, "feature_names_in_") == hasattr(given_X, "columns")


def test_parquet_of_several_files(client, tmp_path):
    # Columns that are not needed make Dask join partitions, of X and y differently.
    wide = FRAME.assign(**{f"z{j}": 0.0 for j in range(40)})
    for part in range(6):
        wide[part * 1000 : part * 1000 + 1000].to_parquet(tmp_path / f"part-{part}.parquet")
    frame = dd.read_parquet(tmp_path)
    assert len(frame["y"].to_delayed()) < frame.npartitions
    found = robell.dask.fit(rvfl(), frame[FEATURES], frame["y"])
    np.testing.assert_allclose(found.coef_, rvfl().fit(X, y).coef_, atol=1e-9)
    np.testing.assert_array_equal(found.feature_names_in_, FEATURES)


def test_text_labels_and_partitions_of_one_class(client):
    names = np.array(["no", "yes"])
    ordered = FRAME.sort_values("y", ignore_index=True)
    ordered["y"] = names[ordered["y"]]
    found = robell.dask.fit(rvfl(), dd.from_pandas(ordered, npartitions=9, sort=False), "y")
    assert found.classes_.tolist() == ["no", "yes"]
    expected = rvfl().fit(ordered[FEATURES], ordered["y"])
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-9)


def test_mixed_types_of_columns():
    parts = [
        FRAME[:1000].astype({"x0": "float32"}).astype({"x0": "float64"}),
        FRAME[1000:2000].assign(x1=FRAME["x1"][1000:2000].round().astype(int)),
        FRAME[2000:].astype({"y": float}),
    ]
    whole = pd.concat(parts)
    frame = dd.from_delayed([dask.delayed(part) for part in parts], meta=FRAME[:0])
    with dask.config.set(scheduler="synchronous"):
        found = robell.dask.fit(rvfl(), frame, "y")
    np.testing.assert_allclose(
        found.coef_, rvfl().fit(whole[FEATURES], whole["y"]).coef_, atol=1e-9
    )


def test_progress_counts_partitions(monkeypatch, client):
    bars = []

    class Bar(cluster_module.Progress):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            bars.append(self)

    monkeypatch.setattr(cluster_module, "Progress", Bar)
    robell.dask.fit(make_pipeline(StandardScaler(), rvfl()), *in_blocks([1000] * 6, X, y))
    assert [bar.label for bar in bars] == ["scaling", "weights"]
    assert [(bar.done, bar.total) for bar in bars] == [(6, 6)] * 2


# -- faults ----------------------------------------------------------------------------


def deadly(folder, which):
    """Return a function that kills its worker at the first touch of a block in every pass."""

    # A closure is sent by value: a restarted worker need not import this module.
    def touch(rows, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == which:
            for number in range(20):
                try:
                    os.close(os.open(folder / str(number), os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                if number % 2 == 0:  # the next visit is the retry of this one
                    os.kill(os.getpid(), signal.SIGKILL)
                break
        return rows

    return touch


@pytest.fixture
def mortal_client():
    """A cluster whose workers may be killed; they start again.

    One for each test: a busy machine may be too slow to start a worker again, and then the next
    test would find none.
    """
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("model", "n_passes"),
    [(rvfl(), 2), (scaled_robell(), 5), (NoiseRobustRVFLClassifier(8, random_state=0), 2)],
    ids=["rvfl", "robell", "by sample"],
)
def test_a_worker_killed_in_every_pass(tmp_path, mortal_client, model, n_passes, monkeypatch):
    monkeypatch.setattr(out_of_core, "MOST_SAMPLED", 900)
    rows, labels = in_blocks([1500] * 4, X, y)
    dying = rows.map_blocks(deadly(tmp_path, 2), dtype=float, meta=np.empty((0, 0)))
    before = set(mortal_client.scheduler_info()["workers"])
    found = robell.dask.fit(model, dying, labels, mortal_client)
    assert before - set(mortal_client.scheduler_info()["workers"])
    assert len(list(tmp_path.iterdir())) >= 2 * n_passes  # each pass died of and then done
    with dask.config.set(scheduler="synchronous"):
        expected = robell.dask.fit(model, rows, labels)
    found, expected = (
        fitted[-1] if hasattr(fitted, "steps") else fitted for fitted in (found, expected)
    )
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_a_worker_that_always_dies_ends_the_fit():
    def die(rows):
        os.kill(os.getpid(), signal.SIGKILL)

    rows, labels = in_blocks([3000] * 2, X, y)
    deadly = rows.map_blocks(die, dtype=float, meta=np.empty((0, 0)))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        pytest.raises(ClusterError, match=r"partition \d: workers died of it"),
    ):
        robell.dask.fit(rvfl(), deadly, labels, client)


def test_a_scheduler_that_goes_away_ends_the_fit():
    rows, labels = in_blocks([500] * 12, X, y)
    slow = rows.map_blocks(lambda rows: time.sleep(1.0) or rows, dtype=float)
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    client = Client(cluster.scheduler_address, set_as_default=False, timeout=3)
    closing = threading.Timer(1.5, cluster.close)
    closing.start()
    start = time.monotonic()
    try:
        with pytest.raises(ClusterError, match="nothing was fitted"):
            robell.dask.fit(rvfl(), slow, labels, client)
        assert time.monotonic() - start < 2 * cluster_module.PATIENCE
    finally:
        closing.join()
        client.close()


def test_a_cluster_without_workers_ends_the_fit(monkeypatch):
    monkeypatch.setattr(cluster_module, "WITHOUT_WORKERS", 0.2)
    monkeypatch.setattr(cluster_module, "PING_AFTER", 0.1)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        pytest.raises(ClusterError, match="no worker for"),
    ):
        robell.dask.fit(rvfl(), *in_blocks([3000] * 2, X, y), client)


def test_one_missing_value_in_one_of_many_partitions(client):
    bad = FRAME.copy()
    bad.loc[4321, "x3"] = np.nan
    message = r"partition 43: Input X contains NaN \(column 'x3', row 21\)"
    for model in (rvfl(), make_pipeline(StandardScaler(), rvfl())):
        with pytest.raises(ValueError, match=message) as caught:
            robell.dask.fit(model, dd.from_pandas(bad, npartitions=60, sort=False), "y")
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"partition 43: Input X contains NaN \(column 3, row 21"):
        robell.dask.fit(rvfl(), *in_blocks([100] * 60, bad[FEATURES].to_numpy(), y))


@pytest.mark.parametrize("where", ["cluster", "threads"])
def test_a_parquet_file_without_a_column(request, tmp_path, where):
    client = request.getfixturevalue("client") if where == "cluster" else None
    for part in range(3):
        rows = FRAME[part * 1000 : part * 1000 + 1000]
        rows = rows.drop(columns="x3") if part == 2 else rows
        rows.to_parquet(tmp_path / f"part-{part}.parquet")
    message = r"partition 2: .*x3" if client else "x3"
    with pytest.raises(ValueError, match=message):
        robell.dask.fit(rvfl(), dd.read_parquet(tmp_path), "y", client)


def broken(function):
    """Return a fit of data that something is wrong with."""
    frame = dd.from_pandas(FRAME, npartitions=4)
    return function(frame, *in_blocks([1500] * 4, X, y))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f, A, b: (A, b[:-1]), ValueError, "X has 6000 rows and y 5999"),
        (lambda f, A, b: (f[FEATURES], f["y"].repartition(npartitions=2)), ValueError,
         "partitions cannot be matched: X has 4, y has 2"),
        (lambda f, A, b: (f[FEATURES], f["y"].map_partitions(lambda s: s[:-1], meta=("y", int))),
         ValueError, r"partition \d: X has 1500 rows and y 1499"),
        (lambda f, A, b: (f, "z"), ValueError, "X has no column 'z'"),
        (lambda f, A, b: (X, b), TypeError, "X must be a dask array or data frame; got ndarray"),
        (lambda f, A, b: (A, y), TypeError, "y must be a dask array or data frame; got ndarray"),
        (lambda f, A, b: (A[:, 0], b), ValueError, "X must have two dimensions"),
        (lambda f, A, b: (A, A), ValueError, "y must have one dimension"),
        (lambda f, A, b: (A, b * 0), ValueError, "needs at least two classes"),
        (lambda f, A, b: (A, b + 0.5 * b), ValueError, "continuous"),
        (lambda f, A, b: (A[:0], b[:0]), ValueError, "no row of positive weight"),
        (lambda f, A, b: (f.assign(x1="text"), "y"), ValueError,
         r"partition \d: X must be numeric .column 'x1', row 0."),
        (lambda f, A, b: (f, f["y"].where(f["y"] > 0, None).astype(object)), ValueError,
         r"partition \d: y has no label in row"),
        (lambda f, A, b: (A, b, None, da.full(6000, -1.0, chunks=1500)), ValueError,
         r"partition \d: sample_weight must not be negative"),
    ],
)  # fmt: skip
def test_one_line_for_what_is_wrong(call, error, message):
    with dask.config.set(scheduler="synchronous"), pytest.raises(error, match=message) as caught:
        robell.dask.fit(rvfl(), *broken(call))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), make_pipeline(MinMaxScaler(), RVFLClassifier())]
)
def test_estimators_that_cannot_be_fitted_in_parts(estimator):
    with pytest.raises(TypeError, match="cannot be fitted in parts"):
        robell.dask.fit(estimator, *in_blocks([6000], X, y))


# -- predictions -----------------------------------------------------------------------


def assert_same(found, expected):
    if expected.dtype == float:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_predictions_are_lazy_and_those_of_the_model(method, n_classes):
    labels = np.array(["a", "b", "c"])[np.where(X[:, 0] > 1, n_classes - 1, y)]
    model = make_pipeline(StandardScaler(), rvfl()).fit(FRAME[FEATURES], labels)
    bare = rvfl().fit(X, labels)
    expected, expected_bare = getattr(model, method)(FRAME[FEATURES]), getattr(bare, method)(X)
    lazy = getattr(robell.dask, method)

    found = lazy(bare, da.from_array(X, chunks=(999, 4)))
    assert isinstance(found, da.Array)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    assert_same(found.compute(scheduler="synchronous"), expected_bare)

    frame = dd.from_pandas(FRAME[::-1], npartitions=4, sort=False)  # y is not asked for
    found = lazy(model, frame)
    assert dask.is_dask_collection(found)
    meta, values = found._meta, found.compute(scheduler="synchronous")
    assert values.index.tolist() == FRAME.index[::-1].tolist()
    assert_same(np.asarray(values), expected[::-1])
    if expected.ndim == 2:
        assert list(values.columns) == list(meta.columns) == model.classes_.tolist()
        assert (values.dtypes == meta.dtypes).all()
    else:
        assert values.dtype == meta.dtype


@pytest.mark.parametrize("targets", [X[:, 0] * 3 + 1, X[:, :2] ** 2])
@pytest.mark.parametrize("scaled", [False, True])
def test_regressors_are_fitted_to_tables_with_empty_partitions(targets, scaled):
    chunks = (0, 100, 0, 0, 50, len(X) - 150, 0)
    model = RVFLRegressor(random_state=0, intervals=True)
    model = make_pipeline(StandardScaler(), model) if scaled else model
    own = (-1,) if targets.ndim == 2 else ()
    parts = da.from_array(X, chunks=(chunks, -1)), da.from_array(targets, chunks=(chunks, *own))
    found = robell.dask.fit(model, *parts)
    expected = model.fit(X, targets).predict(X)
    np.testing.assert_allclose(found.predict(X), expected, rtol=1e-7, atol=1e-7 * np.ptp(targets))


def test_predictions_of_unknown_sizes_and_empty_partitions():
    model = rvfl().fit(FRAME[FEATURES], y)
    frame = dd.from_pandas(FRAME, npartitions=6, sort=False)
    few = frame[frame["x0"] > 100]
    for method in ("predict", "predict_proba"):
        assert len(getattr(robell.dask, method)(model, few).compute(scheduler="sync")) == 0
    bare = rvfl().fit(X, y)
    unknown = frame[FEATURES].to_dask_array()
    found = robell.dask.predict(bare, unknown[unknown[:, 0] > 0]).compute(scheduler="sync")
    np.testing.assert_array_equal(found, bare.predict(X[X[:, 0] > 0]))
    with pytest.raises(ValueError, match="X has no column 'x5', which the model was fitted to"):
        robell.dask.predict(model, frame[FEATURES[:5]])
    with pytest.raises(ValueError, match="X has 5 columns, and the model was fitted to 6"):
        robell.dask.predict(bare, da.from_array(X[:, :5]))
    with pytest.raises(AttributeError, match="predict_proba"):
        robell.dask.predict_proba(rvfl(calibrate=False).fit(X, y), da.from_array(X))
