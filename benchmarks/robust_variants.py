"""Changes of NoiseRobustRVFLClassifier, each alone: what was tried."""

import numpy as np

from robell import NoiseRobustRVFLClassifier
from robell._core.ensemble import members, trees
from robell._core.labels import cuts, link
from robell._core.labels import noise as rates
from robell.models import noise_robust


def weights(**changed):
    """Replace weights of members."""
    names = ("relu", "sin", "kernel", "trees", "linear")
    found = dict(zip(names, members.WEIGHTS, strict=True)) | changed
    return [(noise_robust, "WEIGHTS", np.array([found[name] for name in names]))]


def own_rates(scores, labels, weight, rate):
    """One noise rate for all classes."""
    return rates.even_noise(np.full(scores.shape[1], rate))


def changed(*replaced, **parameters):
    return NoiseRobustRVFLClassifier(**parameters), list(replaced)


# name -> (estimator, what is replaced: module, name, value)
VARIANTS = {
    "as it is": changed(),
    "no cleaning": changed(n_rounds=0),
    "two rounds": changed(n_rounds=2),
    "without random layers": changed(*weights(relu=0.0, sin=0.0)),
    "without kernel": changed(*weights(kernel=0.0)),
    "without trees": changed(*weights(trees=0.0)),
    "without linear": changed(*weights(linear=1e-9)),
    "trees alone": changed(*weights(relu=0.0, sin=0.0, kernel=0.0, linear=1e-9)),
    "kernel alone": changed(*weights(relu=0.0, sin=0.0, trees=0.0, linear=1e-9)),
    "200 nodes": changed(n_hidden=200),
    "400 landmarks": changed((members, "N_LANDMARKS", 400)),
    "80 trees": changed((trees, "N_TREES", 80)),
    "trees of depth 8": changed((trees, "DEPTH", 8)),
    "24 splits drawn": changed((trees, "SPLITS_DRAWN", 24)),
    "one noise rate": changed((rates, "noise_matrix", own_rates)),
    "link converged": changed((link, "LAST_EM_STEPS", 200)),
    "one slope": changed((link, "FULL_ROUNDS", 0)),
    "cut: fixed part of prior": changed((cuts, "CLEAN_PRIOR_SHARE", cuts.PRIOR_SHARE)),
    "cut: nearest mean alone": changed(
        (cuts, "CLEAN_PRIOR_SHARE", 0.0), (cuts, "PRIOR_SHARE", 0.0)
    ),
}
