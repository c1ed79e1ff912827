"""The parts of a model: the steps of a pipeline, and what a classifier wraps."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline


def last_step(estimator: Any) -> Any:
    """Return a pipeline's last step, or the estimator itself."""
    is_pipeline = isinstance(estimator, Pipeline) and estimator.steps
    return estimator.steps[-1][1] if is_pipeline else estimator


def steps_of(estimator: Any) -> list[Any]:
    """Return the parts of a model, also those within one that wraps another: the innermost last."""
    last = last_step(estimator)
    if last is not estimator:
        return [*(step for _, step in estimator.steps[:-1]), *steps_of(last)]
    # An ensemble's is what its members were made from.
    inner = None if hasattr(estimator, "estimators_") else getattr(estimator, "estimator_", None)
    return [estimator, *([] if inner is None else steps_of(inner))]
