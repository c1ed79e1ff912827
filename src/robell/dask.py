"""Fits and predictions on Dask, on one machine or many (extra ``dask``)."""

from robell.scale.cluster import ClusterError, decision_function, fit, predict, predict_proba

__all__ = ["ClusterError", "decision_function", "fit", "predict", "predict_proba"]
