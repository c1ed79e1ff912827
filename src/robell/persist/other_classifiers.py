"""Classifiers of other packages in model files: which may be there, and how their trees are kept.

A loader in compiled code that trusts what a file says reads and writes wherever a forged file sends
it. So a classifier may be in a file only where everything that compiled code follows is checked
first. Of LightGBM a file holds no booster, but the text of its trees: each number of it is read,
checked and written anew before LightGBM gets the text.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from robell._tools.optional import require
from robell._tools.pipelines import last_step, steps_of

ROBUST = "robell.labels.robust.NoiseRobustClassifier"
LIGHTGBM = "lightgbm.sklearn.LGBMClassifier"
# What NoiseRobustClassifier may stand around in a file. Of scikit-learn those that predict by array
# arithmetic, and trees, whose nodes are looked at.
BASES = (
    LIGHTGBM,
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis",
    "sklearn.ensemble._forest.ExtraTreesClassifier",
    "sklearn.ensemble._forest.RandomForestClassifier",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.linear_model._ridge.RidgeClassifier",
    "sklearn.naive_bayes.GaussianNB",
    "sklearn.tree._classes.DecisionTreeClassifier",
)
MOST_DEEP = 1_000  # nodes above one another, which LightGBM visits by recursion
MOST_LEAVES = 1 << 17  # as LightGBM has it
TYPES = [ROBUST, LIGHTGBM, "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"]
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf", re.ASCII)
_OBJECTIVE = re.compile(r"binary sigmoid:\d+(?:\.\d+)?|multiclass num_class:\d+", re.ASCII)


def type_name(one: Any) -> str:
    """Return the full name of the type of something."""
    return f"{type(one).__module__}.{type(one).__qualname__}"


def holds_base(model: Any) -> bool:
    """Say whether a model is NoiseRobustClassifier around a classifier that a file may hold."""
    *around, last = steps_of(model)
    return type_name(last) in BASES and any(type_name(step) == ROBUST for step in around)


def require_base(estimator: Any) -> None:
    """Raise where a classifier, not fitted yet, could not be in a file once it is."""
    last = last_step(estimator)
    if type_name(last) not in BASES:
        names = ", ".join(sorted(name.rpartition(".")[2] for name in BASES))
        raise ValueError(
            f"a model file cannot hold {type(last).__name__}, because what it predicts by cannot "
            f"be checked when the file is loaded; it can hold {names}"
        )


def check_nodes(part: Any) -> None:
    """Raise where trees of a classifier read columns or nodes that are not there."""
    for tree in np.ravel(vars(part).get("estimators_", ())):
        if hasattr(tree, "tree_") and tree.tree_.n_features != part.n_features_in_:
            raise ValueError("a tree of other columns")
    if "_predictors" not in vars(part):
        return
    if part._bin_mapper.is_categorical_.any():
        raise ValueError("splits by categories")
    for tree in np.ravel(part._predictors):
        nodes = tree.nodes
        if nodes["is_categorical"].any():
            raise ValueError("splits by categories")
        children = nodes["left"], nodes["right"]
        require_tree(nodes["is_leaf"] == 0, children, nodes["feature_idx"], part.n_features_in_)


def require_tree(is_inner: Any, children: Any, columns: Any, n_columns: int) -> None:
    """Raise where a tree leads to nodes or columns that are not there, or in a circle."""
    own = np.flatnonzero(is_inner)
    for child in (one[is_inner] for one in children):  # a node further on
        if not ((child > own) & (child < len(is_inner))).all():
            raise ValueError("a tree that leads nowhere")
    if not len(is_inner):
        raise ValueError("a tree that leads nowhere")
    if not ((columns[is_inner] >= 0) & (columns[is_inner] < n_columns)).all():
        raise ValueError("a tree of other columns")


# -- LightGBM --------------------------------------------------------------------------


def packed(model: Any) -> Any:
    """Return a model whose LightGBM booster is the text of its trees; others as they are."""
    last = steps_of(model)[-1]
    if type_name(last) != LIGHTGBM:
        return model
    plain = copy.copy(last)
    text = last.booster_.model_to_string(num_iteration=-1)
    plain._Booster, plain._best_score = trees_written_anew(text, last._n_features), {}
    return _replaced(model, last, plain)


def unpack(model: Any) -> None:
    """Turn the text of a loaded model's LightGBM trees into a booster, once it was checked."""
    last = steps_of(model)[-1]
    if type_name(last) == LIGHTGBM:
        text = trees_written_anew(last._Booster, last._n_features)
        last._Booster = require("lightgbm", "robustness").Booster(model_str=text)


def _replaced(model, old, new):
    """Return a model with one of its parts replaced; what is around it are copies."""
    if model is old:
        return new
    copied = copy.copy(model)
    if isinstance(model, Pipeline):
        copied.steps = [(name, _replaced(step, old, new)) for name, step in model.steps]
    elif hasattr(model, "estimator_"):
        copied.estimator_ = _replaced(model.estimator_, old, new)
        if model.estimator is not None:  # which its user may have fitted to something
            copied.estimator = clone(model.estimator)
    return copied


def trees_written_anew(text: str, n_features: int) -> str:
    """Return LightGBM's text of its trees with nothing in it that was not checked."""
    body, end, _ = text.partition("\nend of trees")
    head, *trees = re.split(r"\nTree=\d+\n", body)
    known = _fields(head)
    objective, n_scores = known.get("objective", ""), int(known["num_tree_per_iteration"])
    fits = bool(end and trees and _OBJECTIVE.fullmatch(objective))
    fits &= len(known["feature_names"].split()) == int(known["max_feature_idx"]) + 1 == n_features
    fits &= n_scores == int(known["num_class"]) >= 1 and len(trees) % n_scores == 0
    if n_scores > 1:
        fits &= objective == f"multiclass num_class:{n_scores}"
    else:
        fits &= objective.startswith("binary")
    if not fits:
        raise ValueError("trees that LightGBM's own objectives do not make")
    lines = [
        *("tree", "version=v4", f"num_class={n_scores}", f"num_tree_per_iteration={n_scores}"),
        *("label_index=0", f"max_feature_idx={n_features - 1}", f"objective={objective}"),
        *(["average_output"] if "average_output" in head.splitlines() else []),
        "feature_names=" + " ".join(f"Column_{k}" for k in range(n_features)),
        "feature_infos=" + " ".join(["none"] * n_features),
    ]
    for k, tree in enumerate(trees):
        lines += ["", f"Tree={k}", *_tree_lines(_fields(tree), n_features)]
    return "\n".join([*lines, "", "", "end of trees", ""])


def _fields(text):
    """Return the values of lines such as num_leaves=31, by name."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _require_depth(left, right):
    """Raise where nodes and leaves are not each the child of one node, or are too deep."""
    if not len(left):
        return
    below = np.append(np.arange(-len(left) - 1, 0), np.arange(1, len(left)))
    if not np.array_equal(np.sort(np.concatenate([left, right])), below):
        raise ValueError("a tree that leads nowhere")
    depth = np.zeros(len(left), int)
    for node, children in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        for child in children:
            if child > 0:
                depth[child] = depth[node] + 1
    if depth.max() > MOST_DEEP:
        raise ValueError("a tree that is too deep")


def _tree_lines(fields, n_features):
    """Yield the lines of one tree, each of as many numbers as it must have; raise where not."""
    n_leaves = int(fields["num_leaves"])
    if (
        not 1 <= n_leaves <= MOST_LEAVES
        or int(fields["num_cat"])
        or int(fields.get("is_linear", 0))
    ):
        raise ValueError("splits by categories, or leaves that are no numbers")
    yield f"num_leaves={n_leaves}"
    yield "num_cat=0"
    inner, children = np.arange(n_leaves - 1), []
    for name in ("split_feature", "left_child", "right_child", "decision_type"):
        values = np.array([int(text) for text in fields.get(name, "").split()], np.int64)
        if len(values) != len(inner):
            raise ValueError(f"{name} is not of {len(inner)} nodes")
        if name == "split_feature":
            fits = (values >= 0) & (values < n_features)
        elif name == "decision_type":
            fits = (values >= 0) & (values < 16) & (values % 2 == 0)  # odd ones are of categories
        else:  # a node further on, or a leaf: -1 is the first
            fits = (values > inner) | (values < 0)
            children.append(values)
        if not fits.all():
            raise ValueError("a tree that leads nowhere")
        yield f"{name}={' '.join(map(str, values.tolist()))}"
    _require_depth(*children)
    sizes = {"threshold": len(inner), "leaf_value": n_leaves, "shrinkage": 1}
    for name, size in sizes.items():
        found = fields.get(name, "").split()
        if len(found) != size or not all(map(_NUMBER.fullmatch, found)):
            raise ValueError(f"{name} is not {size} numbers")
        yield f"{name}={' '.join(found)}"
