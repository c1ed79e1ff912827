"""scikit-learn's own conformance checks, over every estimator and flag, none expected to fail."""

from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    estimator_checks_generator,
    parametrize_with_checks,
)

from robell import (
    ComplexRVFLClassifier,
    DeepRVFLClassifier,
    DeepRVFLRegressor,
    ELMClassifier,
    ELMRegressor,
    GranularBallRVFLClassifier,
    HuberRVFLClassifier,
    IntuitionisticFuzzyRVFLClassifier,
    KernelRVFLPlusClassifier,
    MultiViewRVFLClassifier,
    NeuroFuzzyRVFLClassifier,
    NoiseRobustRVFLClassifier,
    RoBellRVFLClassifier,
    RVFLClassifier,
    RVFLPlusClassifier,
    RVFLRegressor,
    VarianceRVFLClassifier,
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
    IntuitionisticFuzzyRVFLClassifier(),
    IntuitionisticFuzzyRVFLClassifier(kernel_width=1.0, score_power=1, class_weight="ratio"),
    IntuitionisticFuzzyRVFLClassifier(graph="lda", class_weight="balanced"),
    IntuitionisticFuzzyRVFLClassifier(graph="lfda", output_bias=True),
    HuberRVFLClassifier(),
    HuberRVFLClassifier(threshold=0.5, center="median", output_bias=True),
    VarianceRVFLClassifier(),
    VarianceRVFLClassifier(variance="total", class_weight="golden", output_bias=True),
    VarianceRVFLClassifier(C="loo"),
    NoiseRobustRVFLClassifier(),
    NoiseRobustRVFLClassifier(n_hidden=7, n_rounds=0),
    RVFLPlusClassifier(),
    RVFLPlusClassifier(C="loo", privileged_penalty="loo", output_bias=True),
    KernelRVFLPlusClassifier(),
    KernelRVFLPlusClassifier(C="loo", class_weight="balanced"),
    MultiViewRVFLClassifier(),
    MultiViewRVFLClassifier(views=[slice(None), slice(0, 1)], output_bias=True),
    MultiViewRVFLClassifier(views=[slice(None), slice(0, 1)], graph="lda", graph_weight=0.1),
    MultiViewRVFLClassifier(views=[slice(0, None, 2), slice(1, None, 2)], C="loo", coupling=0.0),
    DeepRVFLClassifier(),
    DeepRVFLClassifier(combine="vote", normalize=False, class_weight="balanced"),
    DeepRVFLClassifier(combine="concat", C="loo", output_bias=True),
    DeepRVFLRegressor(),
    DeepRVFLRegressor(combine="concat", n_layers=1, intervals=True, C="loo"),
    RVFLRegressor(),
    RVFLRegressor(C="loo", direct_link=False, intervals=True),
    ELMRegressor(),
]


MULTIPLICITY = "check_sample_weight_equivalence_on_dense_data"


# Tables of a few rows, in which intuitionistic fuzzy scores erase whole classes
@pytest.mark.filterwarnings("ignore:all rows of class:UserWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    try:
        check(estimator)
    except SkipTest as reason:
        if MULTIPLICITY in repr(check):
            pytest.fail(f"not checked: {reason}")
        raise


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_parameter_errors_are_one_line_and_name_what_is_accepted(estimator):
    check_param_validation(type(estimator).__name__, estimator)


@pytest.mark.filterwarnings("ignore::robell.models.noise_robust.NoSignalWarning")  # y is random
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_dataframe_column_names(estimator):
    check_dataframe_column_names_consistency(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_sample_weight_equivalence_is_among_the_checks(estimator):
    assert any(MULTIPLICITY in repr(check) for _, check in estimator_checks_generator(estimator))
