"""The classifiers and regressors of the family: one file a model, on one estimator."""

# The module of each classifier. It is imported when the classifier is first used.
CLASSIFIERS = {
    "ComplexRVFLClassifier": "robell.models.complex_valued",
    "DeepRVFLClassifier": "robell.models.deep",
    "ELMClassifier": "robell.models.rvfl",
    "GranularBallRVFLClassifier": "robell.models.granular_ball",
    "HuberRVFLClassifier": "robell.models.huber",
    "IntuitionisticFuzzyRVFLClassifier": "robell.models.intuitionistic",
    "KernelRVFLPlusClassifier": "robell.models.privileged",
    "MultiViewRVFLClassifier": "robell.models.multi_view",
    "NeuroFuzzyRVFLClassifier": "robell.models.neurofuzzy",
    "NoiseRobustRVFLClassifier": "robell.models.noise_robust",
    "RVFLClassifier": "robell.models.rvfl",
    "RVFLPlusClassifier": "robell.models.privileged",
    "RoBellRVFLClassifier": "robell.models.robell",
    "VarianceRVFLClassifier": "robell.models.variance",
}

# Those that predict numbers.
REGRESSORS = {
    "DeepRVFLRegressor": "robell.models.deep",
    "ELMRegressor": "robell.models.regression",
    "RVFLRegressor": "robell.models.regression",
}
