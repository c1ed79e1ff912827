"""The private names of scikit-learn that the search stands on, and whether they still are as known.

Nothing is imported before it is used: where a later version has moved or changed one of them, the
search is scikit-learn's own, one fit after the other, and says so.
"""

from __future__ import annotations

import inspect
from functools import lru_cache
from importlib import import_module
from typing import Any

from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV

VALIDATION = "sklearn.model_selection._validation"
HOMES = {
    "_MultimetricScorer": "sklearn.metrics._scorer",
    "_PassthroughScorer": "sklearn.metrics._scorer",
    "_check_method_params": "sklearn.utils.validation",
    "_fit_and_score": VALIDATION,
    "_insert_error_scores": VALIDATION,
    "_safe_split": "sklearn.utils.metaestimators",
    "_score": VALIDATION,
    "_warn_or_raise_about_fit_failures": VALIDATION,
    "_yield_masked_array_for_each_param": "sklearn.model_selection._search",
}
# How many values each is given by place, and what by name.
CALLS: dict[str, tuple[int, tuple[str, ...]]] = {
    "_check_method_params": (1, ("params", "indices")),
    "_fit_and_score": (
        3,
        (
            *("scorer", "train", "test", "verbose", "parameters", "fit_params", "score_params"),
            *("return_train_score", "return_parameters", "return_n_test_samples", "return_times"),
            *("split_progress", "candidate_progress", "error_score"),
        ),
    ),
    "_insert_error_scores": (2, ()),
    "_safe_split": (5, ()),
    "_score": (5, ()),
    "_warn_or_raise_about_fit_failures": (2, ()),
    "_yield_masked_array_for_each_param": (1, ()),
}
METHODS = {  # of GridSearchCV, with itself
    "_check_refit_for_multimetric": 2,
    "_get_routed_params_for_fit": 2,
    "_get_scorers": 1,
    "_select_best_index": 3,  # a static method
}
OF_SCORERS = ("_score_func", "_sign", "_kwargs", "_response_method")


def __getattr__(name: str) -> Any:
    """Return a private name of scikit-learn."""
    if name not in HOMES:
        raise AttributeError(name)
    return getattr(import_module(HOMES[name]), name)


@lru_cache(maxsize=64)
def _takes(function, n_values, names):
    """Say whether a function can be called with so many values, and others by name."""
    try:
        inspect.signature(function).bind(*[None] * n_values, **dict.fromkeys(names))
    except (TypeError, ValueError):
        return False
    return True


def first_changed() -> str:
    """Return the first private name that is missing or called otherwise than here, "" for none."""
    for name in HOMES:
        try:
            found = __getattr__(name)
        except (ImportError, AttributeError):
            return name
        if name in CALLS and not _takes(found, *CALLS[name]):
            return name
    for name, n_values in METHODS.items():
        if not _takes(getattr(GridSearchCV, name, None), n_values, ()):
            return name
    known = vars(get_scorer("accuracy"))
    return next((name for name in OF_SCORERS if name not in known), "")
