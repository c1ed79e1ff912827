"""Rows that do not fit: passes, files, Dask."""
