"""Random vector functional link classifiers for imbalanced tables with untrustworthy labels."""

from robell.complex_valued import ComplexRVFLClassifier
from robell.granular_ball import GranularBallRVFLClassifier
from robell.label_issues import LabelIssues, find_label_issues
from robell.neurofuzzy import NeuroFuzzyRVFLClassifier
from robell.noise_robust import NoiseRobustRVFLClassifier
from robell.robell import RoBellRVFLClassifier, pw_gbell_membership
from robell.rvfl import ELMClassifier, RVFLClassifier
from robell.search import RVFLGridSearchCV, paper_grid

__version__ = "0.1.0"

__all__ = [
    "ComplexRVFLClassifier",
    "ELMClassifier",
    "GranularBallRVFLClassifier",
    "LabelIssues",
    "NeuroFuzzyRVFLClassifier",
    "NoiseRobustRVFLClassifier",
    "RVFLClassifier",
    "RVFLGridSearchCV",
    "RoBellRVFLClassifier",
    "__version__",
    "find_label_issues",
    "paper_grid",
    "pw_gbell_membership",
]
