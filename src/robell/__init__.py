"""Random vector functional link classifiers for imbalanced tables with untrustworthy labels."""

from robell.robell import RoBellRVFLClassifier, pw_gbell_membership
from robell.rvfl import ELMClassifier, RVFLClassifier

__version__ = "0.1.0"

__all__ = [
    "ELMClassifier",
    "RVFLClassifier",
    "RoBellRVFLClassifier",
    "__version__",
    "pw_gbell_membership",
]
