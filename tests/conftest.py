import os

# Before scikit-learn is imported: its array API check is skipped otherwise.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Before NumPy is: the tests' matrices are small, and the threads of several test processes would
# mostly wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("robell", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("robell")


@pytest.fixture(scope="session")
def data_dir():
    """The folder of the paper's sets as CSV files, where the caller has one."""
    folder = os.environ.get("ROBELL_DATA_DIR")
    if not folder:
        pytest.skip("needs the paper's sets as CSV files: set ROBELL_DATA_DIR to their folder")
    return Path(folder)


@pytest.fixture
def null_device(tmp_path, monkeypatch):
    """A null device to write to: one of our own where a mistake could lose that of the machine."""
    if not os.access(os.path.dirname(os.devnull) or ".", os.W_OK):
        return os.devnull  # who may not write to its folder cannot replace it
    path = tmp_path / "null-device"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        path.write_bytes(b"nothing")
    except (OSError, AttributeError):
        pytest.skip("this user could lose the null device, and may not make another to try it on")
    monkeypatch.setattr(os, "devnull", str(path))
    return str(path)


@pytest.fixture
def rng():
    return np.random.default_rng(20260815)


@pytest.fixture
def imbalanced(rng):
    """Two overlapping classes, 90:10, in five dimensions."""
    X = np.vstack([rng.normal(0, 1, (180, 5)), rng.normal(1.2, 1, (20, 5))])
    y = np.repeat([0, 1], [180, 20])
    order = rng.permutation(len(y))
    return X[order], y[order]
