"""Fits and predictions of CSV and Parquet files bigger than memory; model files."""

from robell._tools.files import FileError
from robell.persist.model_files import ModelVersionWarning, load_model, model_info, save_model
from robell.persist.model_info import describe_drift
from robell.scale.files import fit_files, predict_files

__all__ = [
    "FileError",
    "ModelVersionWarning",
    "describe_drift",
    "fit_files",
    "load_model",
    "model_info",
    "predict_files",
    "save_model",
]
