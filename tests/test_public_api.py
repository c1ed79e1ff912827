"""The names users type, and what they get without asking for anything."""

import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import robell
from robell import (
    ComplexRVFLClassifier,
    ELMClassifier,
    GranularBallRVFLClassifier,
    NeuroFuzzyRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
)

COMMON = {
    "n_hidden": 103,
    "activation": "sigmoid",
    "C": 1.0,
    "output_bias": False,
    "bias_scale": 0.1,
    "class_weight": None,
    "calibrate": True,
    "random_state": None,
}


@pytest.mark.parametrize(
    ("estimator", "more"),
    [
        (RVFLClassifier, {"direct_link": True}),
        (ELMClassifier, {}),
        (
            RoBellRVFLClassifier,
            {
                "kernel_width": 1.0,
                "rho": 1.0,
                "class_weight": "ratio",
                "membership": "exact",
                "n_jobs": None,
            },
        ),
        (NeuroFuzzyRVFLClassifier, {"n_rules": 10, "centers": "kmeans"}),
        (ComplexRVFLClassifier, {"encoding": "phase", "augmented": False}),
        (
            GranularBallRVFLClassifier,
            {"purity": 0.925, "min_ball_size": 2, "graph": None, "graph_weight": 1.0},
        ),
    ],
)
def test_parameters_and_defaults(estimator, more):
    assert estimator().get_params() == COMMON | more


def test_public_names():
    assert set(robell.__all__) == {
        "AnnotatorAudit",
        "AppliedReview",
        "Certificate",
        "CheckSample",
        "certify",
        "check_labels",
        "to_argilla",
        "to_label_studio",
        "write_review",
        "AuditResult",
        "BaseRVFLClassifier",
        "apply_review",
        "audit",
        "audit_annotators",
        "ComplexRVFLClassifier",
        "Consensus",
        "DeepRVFLClassifier",
        "DeepRVFLRegressor",
        "ELMClassifier",
        "ELMRegressor",
        "FitResult",
        "GranularBallRVFLClassifier",
        "GroupNoise",
        "KernelRVFLPlusClassifier",
        "HuberRVFLClassifier",
        "IntuitionisticFuzzyRVFLClassifier",
        "LabelDrift",
        "LabelIssues",
        "VarianceRVFLClassifier",
        "MultiViewRVFLClassifier",
        "NeuroFuzzyRVFLClassifier",
        "NoiseRobustClassifier",
        "NoiseRobustRVFLClassifier",
        "NoiseRobustRegressor",
        "NumberAuditResult",
        "RVFLClassifier",
        "RVFLGridSearchCV",
        "RVFLPlusClassifier",
        "RVFLRegressor",
        "RoBellRVFLClassifier",
        "TableEncoder",
        "TargetIssues",
        "ThresholdClassifier",
        "__version__",
        "compare",
        "compare_scores",
        "find_consensus",
        "find_label_drift",
        "find_label_issues",
        "find_target_issues",
        "fit_table",
        "paper_grid",
        "pw_gbell_membership",
    }


def test_shapes_of_fitted_attributes(imbalanced):
    X, y = imbalanced
    model = RoBellRVFLClassifier(17, random_state=0).fit(X, y)
    assert model.hidden_weights_.shape == (5, 17)
    assert model.hidden_bias_.shape == (17,)
    assert model.coef_.shape == (22, 2)
    assert model.n_features_in_ == 5
    for attribute in ("membership_", "class_probability_", "radius_"):
        assert getattr(model, attribute).shape == (200,)
    np.testing.assert_array_equal(model.classes_, [0, 1])


MODULES = ["", "files", "dask", "export", "metrics", "noise", "plots", "datasets"]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference_and_has_an_example(module):
    reference = Path(__file__).parents[1] / "docs" / "api" / "index.rst"
    listed = re.findall(r"^   (\w+(?:\.\w+)?)$", reference.read_text(encoding="utf-8"), re.M)
    home = importlib.import_module(f"robell.{module}".rstrip("."))
    prefix = f"{module}." if module else ""
    for name in set(home.__all__) - {"__version__"}:
        # Add it to docs/api/index.rst, and an example to its docstring.
        assert listed.count(prefix + name) == 1, prefix + name
        assert "Examples\n--------\n>>>" in inspect.getdoc(getattr(home, name)), prefix + name
    known = {prefix + name for name in home.__all__}
    assert {n for n in listed if (n.rpartition(".")[0]) == module} <= known
