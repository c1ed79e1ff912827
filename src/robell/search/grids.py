"""The paper's grids."""

from __future__ import annotations

from typing import Any

import numpy as np

from robell._core.layers.features import ACTIVATIONS
from robell.models._estimator import PAPER_C

POWERS_OF_TEN = PAPER_C.tolist()
POWERS_OF_TWO = (2.0 ** np.arange(-5, 6)).tolist()
PURITIES = [1 - 0.015 * k for k in range(6)]
PRIVILEGED = {"privileged_penalty": [10.0**k for k in range(-2, 6)]}
COUPLINGS = [0.0, 0.25, 0.5, 0.75, 1.0]
# Of the releases of the deep networks; depth is searched up to 10.
DEEP: dict[str, list[Any]] = {
    "C": [2.0**k for k in range(-6, 13, 2)],
    "n_hidden": [256, 512, 1024],
    "n_layers": list(range(1, 11)),
    "activation": ["relu", "selu", "sigmoid"],
}
# What each model is searched over besides C, the number of nodes and the activation.
OWN_RANGES: dict[str, dict[str, list[Any]]] = {
    "rvfl": {},
    "elm": {},
    "robell": {"kernel_width": POWERS_OF_TWO, "rho": [0.5, 0.625, 0.75, 0.875, 1.0]},
    "nf": {"n_rules": list(range(5, 51, 5))},
    "crvfl": {"augmented": [False]},
    "acrvfl": {"augmented": [True]},
    "gb": {"graph": [None], "purity": PURITIES},
    "gegb": {"graph": ["lfda"], "graph_weight": POWERS_OF_TEN, "purity": PURITIES},
    "ifrvfl": {"C": [10.0**k for k in range(-6, 7, 2)], "kernel_width": POWERS_OF_TWO},
    "geifrvfl": {
        "score_power": [1],
        "class_weight": ["ratio"],
        "graph": ["lda"],
        "graph_weight": POWERS_OF_TEN,
        "kernel_width": POWERS_OF_TWO,
    },
    "r2vfl": {"kernel_width": POWERS_OF_TWO, "center": ["mean", "median"]},
    "classvar": {"variance": ["class"], "variance_weight": POWERS_OF_TEN},
    "totalvar": {"variance": ["total"], "variance_weight": POWERS_OF_TEN},
    "rvfl_plus": PRIVILEGED,
    "krvfl_plus": {**PRIVILEGED, "kernel_width": POWERS_OF_TWO},
    "edrvfl": {**DEEP, "combine": ["mean"]},
    "drvfl": {**DEEP, "combine": ["concat"]},
    "multiview": {"coupling": COUPLINGS},
    "grvfl_mv": {"coupling": COUPLINGS, "graph": ["lfda"], "graph_weight": POWERS_OF_TEN},
}
WITHOUT_NODES = ("krvfl_plus",)


def paper_grid(model: str, prefix: str = "") -> dict[str, list[Any]]:
    """Return the paper's ranges for one of its models, or a relative's, as a ``param_grid``.

    Parameters
    ----------
    model : {"rvfl", "elm", "robell", "nf", "crvfl", "acrvfl", "gb", "gegb"} or a relative's name
        Which model. The ranges of the last two, which the paper does not give, are stated here:
        purities 1 - 0.015k for k = 0..5, and graph weights 10^-5..10^5. The relatives
        (``docs/guide/family.md``) are ``"ifrvfl"``, ``"geifrvfl"``, ``"r2vfl"``, ``"classvar"``,
        ``"totalvar"``, ``"rvfl_plus"``, ``"krvfl_plus"``, ``"multiview"``, ``"grvfl_mv"``,
        ``"edrvfl"`` and ``"drvfl"``: nodes and activations are the paper's (of the last two their
        releases'), and the other ranges those of their releases where such were found, ours where
        not. Privileged columns and views are yours to give.
    prefix : str, default=""
        Put before every name: ``"rvflclassifier__"`` for a step of a pipeline.

    Returns
    -------
    grid : dict of str -> list
        For :class:`RVFLGridSearchCV` or scikit-learn's ``GridSearchCV``.

    Examples
    --------
    >>> from sklearn.model_selection import ParameterGrid
    >>> from robell import paper_grid
    >>> len(ParameterGrid(paper_grid("robell")))
    66550
    """
    if model not in OWN_RANGES:
        raise ValueError(f"model must be one of {', '.join(OWN_RANGES)}; got {model!r}")
    grid: dict[str, list[Any]] = {"C": POWERS_OF_TEN}
    if model not in WITHOUT_NODES:
        grid |= {"n_hidden": list(range(3, 204, 20)), "activation": list(ACTIVATIONS)}
    grid |= OWN_RANGES[model]
    return {f"{prefix}{name}": list(values) for name, values in grid.items()}
