"""Random vector functional link classifiers for imbalanced tables with untrustworthy labels."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robell.models import CLASSIFIERS, REGRESSORS

if TYPE_CHECKING:
    from robell.comparison.compare import compare as compare
    from robell.comparison.given_scores import compare_scores as compare_scores
    from robell.decisions.run import FitResult as FitResult
    from robell.decisions.run import fit_table as fit_table
    from robell.labels.annotators import Consensus as Consensus
    from robell.labels.annotators import find_consensus as find_consensus
    from robell.labels.audit import AnnotatorAudit as AnnotatorAudit
    from robell.labels.audit import AuditResult as AuditResult
    from robell.labels.audit import NumberAuditResult as NumberAuditResult
    from robell.labels.audit import audit as audit
    from robell.labels.audit import audit_annotators as audit_annotators
    from robell.labels.bridges import check_labels as check_labels
    from robell.labels.bridges import to_argilla as to_argilla
    from robell.labels.bridges import to_label_studio as to_label_studio
    from robell.labels.bridges import write_review as write_review
    from robell.labels.certificate import Certificate as Certificate
    from robell.labels.certify import CheckSample as CheckSample
    from robell.labels.certify import certify as certify
    from robell.labels.drift import LabelDrift as LabelDrift
    from robell.labels.drift import find_label_drift as find_label_drift
    from robell.labels.groups import GroupNoise as GroupNoise
    from robell.labels.issues import LabelIssues as LabelIssues
    from robell.labels.issues import TargetIssues as TargetIssues
    from robell.labels.issues import find_label_issues as find_label_issues
    from robell.labels.issues import find_target_issues as find_target_issues
    from robell.labels.review import AppliedReview as AppliedReview
    from robell.labels.review import apply_review as apply_review
    from robell.labels.robust import NoiseRobustClassifier as NoiseRobustClassifier
    from robell.labels.robust import NoiseRobustRegressor as NoiseRobustRegressor
    from robell.models._estimator import BaseRVFLClassifier as BaseRVFLClassifier
    from robell.models.complex_valued import ComplexRVFLClassifier as ComplexRVFLClassifier
    from robell.models.deep import DeepRVFLClassifier as DeepRVFLClassifier
    from robell.models.deep import DeepRVFLRegressor as DeepRVFLRegressor
    from robell.models.granular_ball import GranularBallRVFLClassifier as GranularBallRVFLClassifier
    from robell.models.huber import HuberRVFLClassifier as HuberRVFLClassifier
    from robell.models.intuitionistic import (
        IntuitionisticFuzzyRVFLClassifier as IntuitionisticFuzzyRVFLClassifier,
    )
    from robell.models.multi_view import MultiViewRVFLClassifier as MultiViewRVFLClassifier
    from robell.models.neurofuzzy import NeuroFuzzyRVFLClassifier as NeuroFuzzyRVFLClassifier
    from robell.models.noise_robust import NoiseRobustRVFLClassifier as NoiseRobustRVFLClassifier
    from robell.models.privileged import KernelRVFLPlusClassifier as KernelRVFLPlusClassifier
    from robell.models.privileged import RVFLPlusClassifier as RVFLPlusClassifier
    from robell.models.regression import ELMRegressor as ELMRegressor
    from robell.models.regression import RVFLRegressor as RVFLRegressor
    from robell.models.robell import RoBellRVFLClassifier as RoBellRVFLClassifier
    from robell.models.robell import pw_gbell_membership as pw_gbell_membership
    from robell.models.rvfl import ELMClassifier as ELMClassifier
    from robell.models.rvfl import RVFLClassifier as RVFLClassifier
    from robell.models.thresholded import ThresholdClassifier as ThresholdClassifier
    from robell.models.variance import VarianceRVFLClassifier as VarianceRVFLClassifier
    from robell.search import RVFLGridSearchCV as RVFLGridSearchCV
    from robell.search import paper_grid as paper_grid
    from robell.tables.encoder import TableEncoder as TableEncoder

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
    "Certificate": "robell.labels.certificate",
    "CheckSample": "robell.labels.certify",
    "FitResult": "robell.decisions.run",
    "Consensus": "robell.labels.annotators",
    "GroupNoise": "robell.labels.groups",
    "LabelDrift": "robell.labels.drift",
    "LabelIssues": "robell.labels.issues",
    "NoiseRobustClassifier": "robell.labels.robust",
    "NoiseRobustRegressor": "robell.labels.robust",
    "NumberAuditResult": "robell.labels.audit",
    "RVFLGridSearchCV": "robell.search",
    "TableEncoder": "robell.tables.encoder",
    "TargetIssues": "robell.labels.issues",
    "ThresholdClassifier": "robell.models.thresholded",
    "apply_review": "robell.labels.review",
    "audit": "robell.labels.audit",
    "audit_annotators": "robell.labels.audit",
    "certify": "robell.labels.certify",
    "check_labels": "robell.labels.bridges",
    "compare": "robell.comparison.compare",
    "compare_scores": "robell.comparison.given_scores",
    "find_consensus": "robell.labels.annotators",
    "find_label_drift": "robell.labels.drift",
    "find_label_issues": "robell.labels.issues",
    "find_target_issues": "robell.labels.issues",
    "fit_table": "robell.decisions.run",
    "paper_grid": "robell.search",
    "pw_gbell_membership": "robell.models.robell",
    "to_argilla": "robell.labels.bridges",
    "to_label_studio": "robell.labels.bridges",
    "write_review": "robell.labels.bridges",
}

__all__ = sorted([*_HOMES, "__version__"])


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
