import os

# Before scikit-learn is imported: its array API check is skipped otherwise.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Before NumPy is: the tests' matrices are small, and the threads of several test processes would
# mostly wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import contextlib
import gc
import multiprocessing
import stat
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from robell.comparison import execute
from robell.comparison.execute import BEGUN, Worker, answer_of

settings.register_profile("robell", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("robell")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without looking for garbage: ten thousand tests stay, and looking took a third."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # nor are they looked at while the tests run
        gc.enable()


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


class _JobsHere(Worker):
    """A worker that carries out its jobs in a thread of this process, one job at a time.

    What is sent, and what comes back, goes through a pipe as it does to another process.
    """

    one_at_a_time = threading.Lock()  # models may draw from the random numbers of the process

    def start(self):
        self.answers, theirs = multiprocessing.Pipe()
        self.thread = threading.Thread(target=self._serve, args=(theirs,), daemon=True)
        self.thread.start()

    def _serve(self, pipe):
        with pipe, contextlib.suppress(EOFError, OSError):
            while True:
                task = pipe.recv()
                pipe.send(BEGUN)
                with self.one_at_a_time, threadpool_limits(1), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # here alone they are errors
                    answer = answer_of(*task)
                pipe.send(answer)

    def stop(self):
        self.answers.close()
        self.thread.join()


@pytest.fixture(scope="module")
def jobs_here():
    """Jobs of studies and comparisons in this process, whose records are those of other processes.

    Starting a process takes longer than most jobs of the tests. What depends on processes (jobs
    that hang or die, runs that are killed, numbers that are equal whatever process they come from)
    is tested without it, in ``tests/comparison/test_engine.py`` and where studies are killed.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "Worker", _JobsHere)
        yield


@pytest.fixture
def jobs_in_processes(monkeypatch):
    """Jobs in processes of their own, as users run them, in a module whose jobs are done here."""
    monkeypatch.setattr(execute, "Worker", Worker)


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
