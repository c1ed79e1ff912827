"""The paper's grids."""

from __future__ import annotations

import numpy as np

from robell._core.layers.activations import ACTIVATIONS
from robell.models._shell import PAPER_C


def paper_grid(model, prefix=""):
    """Return the paper's ranges for one of its models, or a relative's, as a ``param_grid``.

    Parameters
    ----------
    model : {"rvfl", "elm", "robell", "nf", "crvfl", "acrvfl", "gb", "gegb"} or a relative's name
        Which model. The ranges of the last two, which the paper does not give, are stated here:
        purities 1 - 0.015k for k = 0..5, and graph weights 10^-5..10^5. The relatives
        (``docs/family.md``) are ``"ifrvfl"``, ``"geifrvfl"``, ``"r2vfl"``, ``"classvar"`` and
        ``"totalvar"``: nodes and activations are the paper's, and the other ranges those of their
        releases where such were found, ours where not.
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
    powers_of_ten, widths = PAPER_C.tolist(), (2.0 ** np.arange(-5, 6)).tolist()
    more = {
        "rvfl": {},
        "elm": {},
        "robell": {
            "kernel_width": widths,
            "rho": [0.5, 0.625, 0.75, 0.875, 1.0],
        },
        "nf": {"n_rules": list(range(5, 51, 5))},
        "crvfl": {"augmented": [False]},
        "acrvfl": {"augmented": [True]},
        "gb": {"graph": [None], "purity": [1 - 0.015 * k for k in range(6)]},
        "gegb": {
            "graph": ["lfda"],
            "graph_weight": powers_of_ten,
            "purity": [1 - 0.015 * k for k in range(6)],
        },
        "ifrvfl": {"C": [10.0**k for k in range(-6, 7, 2)], "kernel_width": widths},
        "geifrvfl": {
            "score_power": [1],
            "class_weight": ["ratio"],
            "graph": ["lda"],
            "graph_weight": powers_of_ten,
            "kernel_width": widths,
        },
        "r2vfl": {"kernel_width": widths, "center": ["mean", "median"]},
        "classvar": {"variance": ["class"], "variance_weight": powers_of_ten},
        "totalvar": {"variance": ["total"], "variance_weight": powers_of_ten},
    }
    if model not in more:
        raise ValueError(f"model must be one of {', '.join(more)}; got {model!r}")
    grid = {
        "C": powers_of_ten,
        "n_hidden": list(range(3, 204, 20)),
        "activation": list(ACTIVATIONS),
        **more[model],
    }
    return {f"{prefix}{name}": values for name, values in grid.items()}
