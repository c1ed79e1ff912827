"""What is wrong in one of many partitions: the error is one line, and says in which."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from robell import RoBellRVFLClassifier, RVFLClassifier

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

import robell.dask  # noqa: E402
from robell.scale import cluster as bundles  # noqa: E402
from robell.scale.cluster import match_parts  # noqa: E402

N_PARTS, BAD, ROWS = 20, 7, 30
RNG = np.random.default_rng(0)
PARTS = [
    pd.DataFrame(RNG.normal(size=(ROWS, 3)), columns=["a", "b", "c"]).assign(y=np.arange(ROWS) % 2)
    for _ in range(N_PARTS)
]


def cell(name, value):
    def change(part):
        part[name] = part[name].astype(object if isinstance(value, str | None) else float)
        part.loc[4, name] = value
        return part

    return change


def unreadable(part):
    raise RuntimeError("the disk is on fire")


def opened(number, change):
    part = PARTS[number].copy()
    return change(part) if number == BAD else part


def as_frame(change):
    parts = [dask.delayed(opened)(number, change) for number in range(N_PARTS)]
    return dd.from_delayed(parts, meta=PARTS[0].iloc[:0], verify_meta=False), "y"


def as_arrays(change):
    def blocks(take, *shape):
        return da.concatenate(
            [
                da.from_delayed(dask.delayed(lambda k: take(opened(k, change)))(k), shape, float)
                for k in range(N_PARTS)
            ]
        )

    X = blocks(lambda part: part.drop(columns="y").to_numpy(), ROWS, 3)
    return X, blocks(lambda part: part["y"].to_numpy(), ROWS)


WRONG = {
    "NaN": (cell("b", np.nan), "contains NaN"),
    "infinity": (cell("b", np.inf), "contains infinity"),
    "a text cell": (cell("b", "oops"), "X must be numeric"),
    "no label": (cell("y", None), "y has no label in row 4"),
    "a label of another kind": (cell("y", "x"), "Unknown label type"),
    "a fraction as label": (cell("y", 0.5), "Unknown label type: continuous"),
    "overflow": (cell("b", 1e300), "overflow"),
    "not to be read": (unreadable, "RuntimeError: the disk is on fire"),
}


@pytest.fixture(params=["one by one", "bundled"])
def bundled(request, monkeypatch):
    """As if there were many partitions: several to a task."""
    if request.param == "bundled":
        monkeypatch.setattr(bundles, "ENOUGH_TASKS", 4)
        monkeypatch.setattr(bundles, "TASKS_A_THREAD", 0)
    return request.param == "bundled"


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize("collection", [as_frame, as_arrays], ids=["frame", "arrays"])
@pytest.mark.parametrize(("change", "text"), WRONG.values(), ids=list(WRONG))
def test_a_bad_partition_is_named(collection, change, text):
    with pytest.raises(ValueError, match=rf"^partition {BAD}: .*{text}") as caught:
        robell.dask.fit(RVFLClassifier(5, random_state=0), *collection(change))
    assert "\n" not in str(caught.value)


DIFFERENT = {
    "fewer columns": (lambda part: part.drop(columns="b"), "number of columns: 3 in one, 2 in ano"),
    "more columns": (lambda part: part.assign(d=1.0), "number of columns: 3 in one, 4 in another"),
    "texts as labels": (lambda part: part.assign(y=part["y"].astype(str)), "labels are texts in o"),
}


@pytest.mark.parametrize(("change", "text"), DIFFERENT.values(), ids=list(DIFFERENT))
def test_partitions_that_do_not_go_together_are_named(change, text, bundled):
    before = "5 to 6" if bundled else "0 to 6"
    with pytest.raises(ValueError, match=rf"^partitions {before} and partition {BAD}: .*{text}"):
        robell.dask.fit(RVFLClassifier(5, random_state=0), *as_arrays(change))


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize("model", [RVFLClassifier(5, random_state=0), RoBellRVFLClassifier(5)])
def test_partitions_in_bundles_give_the_model_of_a_local_fit(model, monkeypatch):
    monkeypatch.setattr(bundles, "JOINED_ROWS", 70)
    sizes = [0, 7, 1, 100, 0, 0, 0, 0, 0, 0, 0, 40, 40, 20, 2, 30, 30, 30, 100, 200]
    whole = pd.concat(PARTS, ignore_index=True)
    X, y = whole[["a", "b", "c"]].to_numpy(), whole["y"].to_numpy()
    weight = RNG.integers(0, 3, len(y)).astype(float)
    rows = (da.from_array(X, chunks=(tuple(sizes), -1)),)
    rows += tuple(da.from_array(z, chunks=(tuple(sizes),)) for z in (y, weight))
    model = model.set_params(random_state=0)
    found = robell.dask.fit(model, *rows[:2], sample_weight=rows[2])
    expected = clone(model).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_partitions_on_a_cluster_are_bundled_unless_it_holds_them(monkeypatch):
    monkeypatch.setattr(bundles, "ENOUGH_TASKS", 4)
    monkeypatch.setattr(bundles, "TASKS_A_THREAD", 0)
    frame, y = as_frame(lambda part: part)
    with (
        distributed.LocalCluster(1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        models = [
            robell.dask.fit(RVFLClassifier(5, random_state=0), rows, y, client)
            for rows in (frame, client.persist(frame))
        ]
        assert len(bundles.bundles_of(match_parts(frame, y, None), 1)[0].keys) > 1
        held = bundles.bundles_of(match_parts(client.persist(frame), y, None), 1)
        assert [len(bundle.keys) for bundle in held] == [1] * frame.npartitions
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-8)


def test_a_column_missing_from_one_partition_of_a_frame():
    with pytest.raises(ValueError, match=rf"^partition {BAD}: .*'b'"):
        robell.dask.fit(RVFLClassifier(5), *as_frame(lambda part: part.drop(columns="b")))


def test_rows_too_large_for_memberships():
    with pytest.raises(ValueError, match=rf"^partition {BAD}: X is too large for squared dist"):
        robell.dask.fit(RoBellRVFLClassifier(5), *as_frame(cell("b", 1e200)))


def test_every_partition_of_a_group_differs():
    _, y = as_arrays(lambda part: part)
    blocks = [
        da.from_delayed(dask.delayed(np.ones)((ROWS, 3 if k < 8 else 5)), (ROWS, 3), float)
        for k in range(N_PARTS)
    ]
    with pytest.raises(ValueError, match=r"^partitions 0 to 7 and partitions 8 to 15: parts diff"):
        robell.dask.fit(RVFLClassifier(5), da.concatenate(blocks), y)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_predictions_name_it_too(method):
    whole = pd.concat(PARTS, ignore_index=True)
    features = ["a", "b", "c"]
    model = RVFLClassifier(5, random_state=0).fit(whole[features], whole["y"])
    frame, _ = as_frame(cell("b", np.nan))
    with pytest.raises(ValueError, match=rf"^partition {BAD}: Input X contains NaN"):
        getattr(robell.dask, method)(model, frame).compute()
    model.fit(whole[features].to_numpy(), whole["y"])
    X, _ = as_arrays(cell("b", np.nan))
    with pytest.raises(ValueError, match=rf"^partition {BAD}: Input X contains NaN"):
        getattr(robell.dask, method)(model, X).compute()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_on_a_cluster():
    with (
        distributed.LocalCluster(1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        for change, text in (WRONG["NaN"], WRONG["not to be read"]):
            with pytest.raises(ValueError, match=rf"^partition {BAD}: .*{text}"):
                robell.dask.fit(RVFLClassifier(5), *as_frame(change), client)
        change, text = DIFFERENT["fewer columns"]
        with pytest.raises(ValueError, match=rf"^partitions 0 to 6 and partition {BAD}: .*{text}"):
            robell.dask.fit(RVFLClassifier(5), *as_arrays(change), client)
