"""Random vector functional link classifiers for imbalanced tables with untrustworthy labels."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robell.models import CLASSIFIERS, REGRESSORS

if TYPE_CHECKING:
    from robell.comparison.compare import compare
    from robell.decisions.run import FitResult, fit_table
    from robell.labels.annotators import Consensus, find_consensus
    from robell.labels.audit import (
        AnnotatorAudit,
        AuditResult,
        NumberAuditResult,
        audit,
        audit_annotators,
    )
    from robell.labels.drift import LabelDrift, find_label_drift
    from robell.labels.groups import GroupNoise
    from robell.labels.issues import (
        LabelIssues,
        TargetIssues,
        find_label_issues,
        find_target_issues,
    )
    from robell.labels.review import AppliedReview, apply_review
    from robell.labels.robust import NoiseRobustClassifier
    from robell.models._estimator import BaseRVFLClassifier
    from robell.models.complex_valued import ComplexRVFLClassifier
    from robell.models.deep import DeepRVFLClassifier, DeepRVFLRegressor
    from robell.models.granular_ball import GranularBallRVFLClassifier
    from robell.models.huber import HuberRVFLClassifier
    from robell.models.intuitionistic import IntuitionisticFuzzyRVFLClassifier
    from robell.models.multi_view import MultiViewRVFLClassifier
    from robell.models.neurofuzzy import NeuroFuzzyRVFLClassifier
    from robell.models.noise_robust import NoiseRobustRVFLClassifier
    from robell.models.privileged import KernelRVFLPlusClassifier, RVFLPlusClassifier
    from robell.models.regression import ELMRegressor, RVFLRegressor
    from robell.models.robell import RoBellRVFLClassifier, pw_gbell_membership
    from robell.models.rvfl import ELMClassifier, RVFLClassifier
    from robell.models.thresholded import ThresholdClassifier
    from robell.models.variance import VarianceRVFLClassifier
    from robell.search import RVFLGridSearchCV, paper_grid
    from robell.tables.encoder import TableEncoder

__version__ = "0.1.0"

# Where each public name lives; it is imported when it is first used, so that ``import robell``
# and ``robell --version`` cost nothing.
_HOMES = {
    **CLASSIFIERS,
    **REGRESSORS,
    "AnnotatorAudit": "robell.labels.audit",
    "AppliedReview": "robell.labels.review",
    "AuditResult": "robell.labels.audit",
    "BaseRVFLClassifier": "robell.models._estimator",
    "FitResult": "robell.decisions.run",
    "Consensus": "robell.labels.annotators",
    "GroupNoise": "robell.labels.groups",
    "LabelDrift": "robell.labels.drift",
    "LabelIssues": "robell.labels.issues",
    "NoiseRobustClassifier": "robell.labels.robust",
    "NumberAuditResult": "robell.labels.audit",
    "RVFLGridSearchCV": "robell.search",
    "TableEncoder": "robell.tables.encoder",
    "TargetIssues": "robell.labels.issues",
    "ThresholdClassifier": "robell.models.thresholded",
    "apply_review": "robell.labels.review",
    "audit": "robell.labels.audit",
    "audit_annotators": "robell.labels.audit",
    "compare": "robell.comparison.compare",
    "find_consensus": "robell.labels.annotators",
    "find_label_drift": "robell.labels.drift",
    "find_label_issues": "robell.labels.issues",
    "find_target_issues": "robell.labels.issues",
    "fit_table": "robell.decisions.run",
    "paper_grid": "robell.search",
    "pw_gbell_membership": "robell.models.robell",
}

__all__ = [
    "AnnotatorAudit",
    "AppliedReview",
    "AuditResult",
    "BaseRVFLClassifier",
    "ComplexRVFLClassifier",
    "Consensus",
    "DeepRVFLClassifier",
    "DeepRVFLRegressor",
    "ELMClassifier",
    "ELMRegressor",
    "FitResult",
    "GranularBallRVFLClassifier",
    "GroupNoise",
    "HuberRVFLClassifier",
    "IntuitionisticFuzzyRVFLClassifier",
    "KernelRVFLPlusClassifier",
    "LabelDrift",
    "LabelIssues",
    "MultiViewRVFLClassifier",
    "NeuroFuzzyRVFLClassifier",
    "NoiseRobustClassifier",
    "NoiseRobustRVFLClassifier",
    "NumberAuditResult",
    "RVFLClassifier",
    "RVFLGridSearchCV",
    "RVFLPlusClassifier",
    "RVFLRegressor",
    "RoBellRVFLClassifier",
    "TableEncoder",
    "TargetIssues",
    "ThresholdClassifier",
    "VarianceRVFLClassifier",
    "__version__",
    "apply_review",
    "audit",
    "audit_annotators",
    "compare",
    "find_consensus",
    "find_label_drift",
    "find_label_issues",
    "find_target_issues",
    "fit_table",
    "paper_grid",
    "pw_gbell_membership",
]


def __getattr__(name: str) -> Any:
    """Import a public name from where it lives."""
    if name not in _HOMES:
        raise AttributeError(f"module 'robell' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*globals(), *__all__})
