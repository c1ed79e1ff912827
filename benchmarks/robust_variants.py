"""Changes of NoiseRobustRVFLClassifier, each alone: what was tried."""

from robell import NoiseRobustRVFLClassifier

# name -> (estimator, what is replaced: module, name, value)
VARIANTS = {"as it is": (NoiseRobustRVFLClassifier(), [])}
