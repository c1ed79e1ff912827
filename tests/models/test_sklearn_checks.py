"""scikit-learn's own conformance checks, over every estimator and flag, none expected to fail."""

import pytest
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_estimator,
    check_param_validation,
    parametrize_with_checks,
)

from robell import (
    ComplexRVFLClassifier,
    ELMClassifier,
    GranularBallRVFLClassifier,
    NeuroFuzzyRVFLClassifier,
    NoiseRobustRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
)

ESTIMATORS = [
    RVFLClassifier(),
    RVFLClassifier(direct_link=False, output_bias=True),
    RVFLClassifier(calibrate=False),
    RVFLClassifier(class_weight="balanced"),
    ELMClassifier(),
    RoBellRVFLClassifier(),
    RoBellRVFLClassifier(kernel_width="scale", class_weight=None),
    RoBellRVFLClassifier(class_weight="balanced", output_bias=True),
    NeuroFuzzyRVFLClassifier(),
    NeuroFuzzyRVFLClassifier(centers="fcm"),
    NeuroFuzzyRVFLClassifier(centers="random", output_bias=True),
    ComplexRVFLClassifier(),
    ComplexRVFLClassifier(augmented=True),
    ComplexRVFLClassifier(encoding="pair", activation="complex_sech", output_bias=True),
    ComplexRVFLClassifier(encoding="circular", augmented=True, class_weight="balanced"),
    ComplexRVFLClassifier(encoding="cartesian", augmented=True, output_bias=True),
    GranularBallRVFLClassifier(),
    GranularBallRVFLClassifier(purity=1.0, min_ball_size=1, class_weight="balanced"),
    GranularBallRVFLClassifier(graph="lda"),
    GranularBallRVFLClassifier(graph="lfda"),
    GranularBallRVFLClassifier(graph="mda", output_bias=True),
    NoiseRobustRVFLClassifier(),
    NoiseRobustRVFLClassifier(n_hidden=7, n_rounds=0),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_parameter_errors_are_one_line_and_name_what_is_accepted(estimator):
    check_param_validation(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_dataframe_column_names(estimator):
    check_dataframe_column_names_consistency(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_sample_weight_equivalence_is_among_the_checks_that_pass(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    names = {r["check_name"] for r in results if r["status"] == "passed"}
    assert "check_sample_weight_equivalence_on_dense_data" in names
    assert {r["check_name"] for r in results if r["status"] not in ("passed", "skipped")} == set()
