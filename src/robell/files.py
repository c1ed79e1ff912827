"""Fits and predictions of CSV and Parquet files bigger than memory; model files."""

from robell._core.tools.files import FileError
from robell.scale.files import fit_files, predict_files
from robell.scale.model_files import load_model, save_model

__all__ = ["FileError", "fit_files", "load_model", "predict_files", "save_model"]
