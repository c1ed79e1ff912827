"""Classifiers of other packages in model files: the same answers, nothing followed unchecked."""

import io
import json
import re
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from robell import NoiseRobustClassifier, ThresholdClassifier
from robell.files import load_model, model_info, save_model
from robell.persist.model_files import check_parts, require_savable
from robell.persist.other_classifiers import trees_written_anew


def table(n_classes=2):
    return make_classification(
        200, 6, n_informative=4, n_classes=n_classes, flip_y=0.1, random_state=0
    )


def boosted(n_classes=2, **options):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1, **options)
    return model.fit(*table(n_classes))


BASES = [
    make_pipeline(StandardScaler(), LogisticRegression()),
    RandomForestClassifier(5, random_state=0),
    ExtraTreesClassifier(5, random_state=0),
    HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=5),
    RidgeClassifier(),
    GaussianNB(),
    DecisionTreeClassifier(random_state=0),
    "lightgbm",
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("base", BASES, ids=lambda base: getattr(base, "__class__", base).__name__)
def test_a_saved_classifier_made_robust_answers_as_before(tmp_path, base, n_classes):
    if base == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        base = lightgbm.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1)
    X, y = table(n_classes)
    require_savable(base)
    robust = NoiseRobustClassifier(base, calibrate=False, random_state=0)
    model = ThresholdClassifier(robust, slope=1.0).fit(X, y)
    before = model.predict_proba(X)
    save_model(model, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    assert np.array_equal(again.predict_proba(X), before)
    assert np.array_equal(model.predict_proba(X), before)  # saving leaves the model as it was
    info = model_info(tmp_path / "m.skops")
    assert info["noise_rate"] == model.estimator_.noise_rate_
    assert info["model"][:2] == ["ThresholdClassifier", "NoiseRobustClassifier"]


@pytest.mark.parametrize("base", [SVC(), KNeighborsClassifier()])
def test_what_cannot_be_checked_is_refused_before_it_is_fitted_and_when_saved(tmp_path, base):
    with pytest.raises(ValueError, match=f"cannot hold {type(base).__name__}, because"):
        require_savable(base)
    robust = NoiseRobustClassifier(base, calibrate=False, random_state=0).fit(*table())
    with pytest.raises(ValueError, match="nor one that NoiseRobustClassifier may hold"):
        save_model(robust, tmp_path / "m.skops")
    assert not (tmp_path / "m.skops").exists()


def test_steps_of_strangers_are_refused_before_anything_is_fitted():
    class Scaler(StandardScaler):
        pass

    with pytest.raises(ValueError, match=r"holds .*Scaler, which a model file cannot hold"):
        require_savable(make_pipeline(Scaler(), LogisticRegression()))


# -- LightGBM ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_child_samples": 150},
        {"num_leaves": 2},
        {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7},
    ],
)
def test_trees_written_anew_predict_the_same(n_classes, options):
    lightgbm = pytest.importorskip("lightgbm")
    model = boosted(n_classes, **options)
    text = trees_written_anew(model.booster_.model_to_string(), 6)
    assert trees_written_anew(text, 6) == text
    X = np.random.default_rng(0).normal(scale=3, size=(300, 6))
    found = lightgbm.Booster(model_str=text).predict(X)
    assert np.array_equal(found, model.booster_.predict(X))


FORGED = {
    r"left_child=\S+": "left_child=999",  # beyond the tree
    r"right_child=-?\d+": "right_child=0",  # back to the root
    r"split_feature=\d+": "split_feature=6",
    r"decision_type=\d+": "decision_type=3",  # a split by categories
    r"num_leaves=\d+": "num_leaves=1000000000000",
    r"num_cat=0": "num_cat=1",
    r"leaf_value=\S+": "leaf_value=1e",
    r"threshold=\S+": "threshold=",
    r"max_feature_idx=5": "max_feature_idx=4",
    r"objective=.*": "objective=custom",
    r"objective=binary.*": "objective=multiclass num_class:5",
    r"num_tree_per_iteration=1": "num_tree_per_iteration=0",
    r"num_class=1": "num_class=7",
    r"shrinkage=\S+": "shrinkage=1 1",
    r"end of trees": "end",
}


@pytest.mark.parametrize("wanted", FORGED)
def test_forged_trees_are_refused(wanted):
    text = boosted().booster_.model_to_string()
    forged, n = re.subn(wanted, FORGED[wanted], text, count=1)
    assert n == 1
    with pytest.raises((ValueError, KeyError)):
        trees_written_anew(forged, 6)


@pytest.fixture(scope="module")
def trees():
    return boosted(num_leaves=4).booster_.model_to_string()


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_whatever_is_changed_in_trees_they_are_refused_or_lead_somewhere(trees, data):
    """Literal twin: every node reached from the root once, every column one of the table."""
    place = data.draw(st.integers(0, trees.index("end of trees")))
    piece = data.draw(st.text("0123456789-.= \ntrue", max_size=4))
    try:
        text = trees_written_anew(trees[:place] + piece + trees[place + len(piece) :], 6)
    except (ValueError, KeyError, OverflowError):
        return
    for tree in text.split("\nTree=")[1:]:
        fields = dict(line.split("=", 1) for line in tree.splitlines() if "=" in line)
        left, right, columns = (
            [int(v) for v in fields[name].split()]
            for name in ("left_child", "right_child", "split_feature")
        )
        n_leaves = int(fields["num_leaves"])
        assert len(left) == len(right) == len(columns) == n_leaves - 1
        assert all(0 <= column < 6 for column in columns)
        seen, ahead = [], [0] if left else [-1]
        while ahead:
            node = ahead.pop()
            seen.append(node)
            ahead += [left[node], right[node]] if node >= 0 else []
            assert len(seen) <= 2 * n_leaves
        assert sorted(seen) == [*range(-n_leaves, 0), *range(n_leaves - 1)]


def test_a_file_with_forged_trees_is_refused_before_lightgbm_sees_them(tmp_path):
    pytest.importorskip("lightgbm")
    base = boosted()
    robust = NoiseRobustClassifier(base, calibrate=False, random_state=0).fit(*table())
    save_model(robust, tmp_path / "m.skops")
    out = io.BytesIO()
    with zipfile.ZipFile(tmp_path / "m.skops") as file, zipfile.ZipFile(out, "w") as forged:
        for name in file.namelist():
            content = file.read(name)
            if name == "schema.json":
                assert "lightgbm.basic" not in json.dumps(json.loads(content))  # no booster
                content, n = re.subn(rb"left_child=-?\d+", b"left_child=9999", content, count=1)
                assert n == 1
            forged.writestr(name, content)
    (tmp_path / "f.skops").write_bytes(out.getvalue())
    with pytest.raises(Exception, match=r"f\.skops: not a model file"):
        load_model(tmp_path / "f.skops")


def test_forged_nodes_of_gradient_boosting_and_forests_are_refused():
    X, y = table()
    for field, value in {"left": 0, "right": 10_000, "feature_idx": 6, "is_categorical": 1}.items():
        model = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=4).fit(X, y)
        check_parts(model)
        nodes = model._predictors[0][0].nodes = model._predictors[0][0].nodes.copy()
        nodes[field][0] = value
        with pytest.raises(ValueError, match=r"leads nowhere|other columns|by categories"):
            check_parts(model)
    forest = RandomForestClassifier(2).fit(X, y)
    check_parts(forest)
    forest.n_features_in_ = 5
    with pytest.raises(ValueError, match="other columns"):
        check_parts(forest)
