"""The paper's grids."""

from __future__ import annotations

import numpy as np

from robell._core.layers.activations import ACTIVATIONS
from robell.models._shell import PAPER_C


def paper_grid(model, prefix=""):
    """Return the paper's ranges for one of its models, as a ``param_grid``.

    Parameters
    ----------
    model : {"rvfl", "elm", "robell", "nf", "crvfl", "acrvfl", "gb", "gegb"}
        Which model. The ranges of the last two, which the paper does not give, are stated here:
        purities 1 - 0.015k for k = 0..5, and graph weights 10^-5..10^5.
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
    powers_of_ten = PAPER_C.tolist()
    more = {
        "rvfl": {},
        "elm": {},
        "robell": {
            "kernel_width": (2.0 ** np.arange(-5, 6)).tolist(),
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
