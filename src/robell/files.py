"""Fits and predictions of CSV and Parquet files bigger than memory; model files."""

from robell._core.tools.files import FileError
from robell.scale.files import fit_files, predict_files
from robell.scale.model_files import load_model, model_info, save_model
from robell.scale.model_info import describe_drift
from robell.scale.model_parts import ModelVersionWarning

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
