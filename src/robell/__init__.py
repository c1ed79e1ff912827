"""Random vector functional link classifiers for imbalanced tables with untrustworthy labels."""

from robell.complex_valued import ComplexRVFLClassifier
from robell.granular_ball import GranularBallRVFLClassifier
from robell.neurofuzzy import NeuroFuzzyRVFLClassifier
from robell.robell import RoBellRVFLClassifier, pw_gbell_membership
from robell.rvfl import ELMClassifier, RVFLClassifier
from robell.search import RVFLGridSearchCV, paper_grid

__version__ = "0.1.0"

__all__ = [
    "ComplexRVFLClassifier",
    "ELMClassifier",
    "GranularBallRVFLClassifier",
    "NeuroFuzzyRVFLClassifier",
    "RVFLClassifier",
    "RVFLGridSearchCV",
    "RoBellRVFLClassifier",
    "__version__",
    "paper_grid",
    "pw_gbell_membership",
]
