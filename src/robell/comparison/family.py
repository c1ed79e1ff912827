"""The eight models of the paper and their relatives: name, classifier, what each is tuned over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from robell.models.complex_valued import ComplexRVFLClassifier
from robell.models.deep import DeepRVFLClassifier
from robell.models.granular_ball import GranularBallRVFLClassifier
from robell.models.huber import HuberRVFLClassifier
from robell.models.intuitionistic import IntuitionisticFuzzyRVFLClassifier
from robell.models.neurofuzzy import NeuroFuzzyRVFLClassifier
from robell.models.privileged import KernelRVFLPlusClassifier
from robell.models.robell import RoBellRVFLClassifier
from robell.models.rvfl import ELMClassifier, RVFLClassifier
from robell.models.variance import VarianceRVFLClassifier
from robell.search import paper_grid


@dataclass(frozen=True)
class Model:
    """One model of the study."""

    label: str  # as the paper prints it, or the literature
    classifier: Callable
    seconds: float  # CPU seconds of one search at 400 training rows
    grid: dict = field(default_factory=dict)  # ranges that the paper does not give


AUGMENTED = partial(ComplexRVFLClassifier, augmented=True)
WITH_GRAPH = partial(GranularBallRVFLClassifier, graph="lfda")
GRAPH_AND_SCORES = partial(
    IntuitionisticFuzzyRVFLClassifier, score_power=1, class_weight="ratio", graph="lda"
)
FEW_GRAPHS = {"model__kernel_width": ["scale"], "model__graph_weight": [1e-5, 1e-3, 1e-1, 1e1]}
ONE_RIDGE = partial(DeepRVFLClassifier, combine="concat")
FEW_VARIANCES = {"model__variance_weight": [1e-2, 1.0, 1e2, 1e4]}
TOTAL_VARIANCE = partial(VarianceRVFLClassifier, variance="total")
MODELS = {
    "rvfl": Model("RVFL", RVFLClassifier, 1),
    "elm": Model("RVFLwoDL", ELMClassifier, 1),
    "nf": Model("NF-RVFL", NeuroFuzzyRVFLClassifier, 10),
    "crvfl": Model("C-RVFL", ComplexRVFLClassifier, 1.5),
    "acrvfl": Model("AC-RVFL", AUGMENTED, 2),
    "gb": Model("GB-RVFL", GranularBallRVFLClassifier, 5),
    # Two of the six purities of paper_grid, those of the public demonstrations (erratum E27).
    "gegb": Model("GE-GB-RVFL", WITH_GRAPH, 15, {"model__purity": [0.925, 0.985]}),
    "robell": Model("RoBell-RVFL", RoBellRVFLClassifier, 18),
    # The relatives, which no table of the paper has: measured over repeated splits only.
    "ifrvfl": Model("IFRVFL", IntuitionisticFuzzyRVFLClassifier, 5),
    # One kernel width, and four weights of a graph or variance, of paper_grid's eleven each.
    "geifrvfl": Model("GE-IFRVFL-CIL", GRAPH_AND_SCORES, 20, FEW_GRAPHS),
    "r2vfl": Model("R2VFL", HuberRVFLClassifier, 8),
    "classvar": Model("Class-Var-RVFL", VarianceRVFLClassifier, 10, FEW_VARIANCES),
    "totalvar": Model("Total-Var-RVFL", TOTAL_VARIANCE, 10, FEW_VARIANCES),
    # One width of paper_grid's three; depth is searched up to 10.
    "edrvfl": Model("edRVFL", DeepRVFLClassifier, 2, {"model__n_hidden": [256]}),
    "drvfl": Model("dRVFL", ONE_RIDGE, 4, {"model__n_hidden": [256]}),
    # No set has privileged columns: this is its kernel alone, and their penalty does not count.
    "krvfl_plus": Model(
        "KRVFL+", KernelRVFLPlusClassifier, 15, {"model__privileged_penalty": [1000.0]}
    ),
}


def labels(models):
    """Return the printed names of some models."""
    return [MODELS[model].label for model in models]


def build(model, **wanted):
    """Return the classifier of a model, with those of the parameters wanted that it has."""
    classifier = MODELS[model].classifier
    has = classifier().get_params()
    return classifier(**{name: value for name, value in wanted.items() if name in has})


def study_pipeline(model, seed):
    """Return a scaler, fitted to the training rows (erratum E22), and a model behind it."""
    estimator = build(model, random_state=seed, calibrate=False)
    return Pipeline([("scale", StandardScaler()), ("model", estimator)])


def study_grid(model):
    """Return the ranges a model is tuned over: the paper's, and ours where it gives none."""
    return paper_grid(model, prefix="model__") | MODELS[model].grid
