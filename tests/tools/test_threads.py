"""BLAS is limited to some threads, and the libraries are looked for once."""

import io
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import ModuleType

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

import robell
from robell._tools import threads as _threads
from robell.models import noise_robust


def blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_blas_is_limited_and_set_free():
    before = blas_threads()
    with _threads.one_blas_thread():
        assert blas_threads() == {1}
        with _threads.limit_threads(None):
            assert blas_threads() == {1}
    assert blas_threads() == before


def test_libraries_are_looked_for_again_only_after_imports(monkeypatch):
    looked = []

    def look():
        looked.append(1)
        return ThreadpoolController()

    monkeypatch.setattr(_threads, "ThreadpoolController", look)
    _threads._controller.cache_clear()
    for _ in range(3):
        with _threads.one_blas_thread():
            pass
    assert len(looked) == 1
    monkeypatch.setitem(sys.modules, "a_module_with_a_library", ModuleType("a_module"))
    with _threads.one_blas_thread():
        pass
    assert len(looked) == 2


def test_one_blas_thread_where_nobody_asked_for_more(monkeypatch):
    for name in _threads.calm_blas.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with _threads.limit_threads(2):
        if blas_threads() != {2}:
            pytest.skip("BLAS has one thread")
        with _threads.calm_blas, ThreadPoolExecutor(1) as pool:
            assert blas_threads() == {1}
            # A second caller who finishes first leaves the limit as it is.
            pool.submit(_threads.calm_blas(blas_threads)).result()
            assert blas_threads() == {1}
        assert blas_threads() == {2}
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
        with _threads.calm_blas:
            assert blas_threads() == {2}


def openmp_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp"}


def test_one_openmp_thread_for_each_caller_where_nobody_asked_for_more(monkeypatch):
    """Threads of OpenMP wait for each other too; how many there are is each thread's own affair."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # which says nothing about OpenMP
    with _threads.limit_threads(3, "openmp"):
        if openmp_threads() != {3}:
            pytest.skip("there is no OpenMP")
        with ThreadPoolExecutor(1) as pool:
            with _threads.calm_blas:
                assert openmp_threads() == {1}
                with _threads.calm_blas:
                    assert openmp_threads() == {1}
                assert pool.submit(_threads.calm_blas(openmp_threads)).result() == {1}
                assert openmp_threads() == {1}
            assert openmp_threads() == {3}
        with _threads.threads_of(2, _threads.one_thread) as threads:
            found = [openmp_threads()]
            found += threads.map(lambda _: openmp_threads(), range(4))
        assert found == [{1}] * 5
        assert openmp_threads() == {3}
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        with _threads.calm_blas:
            assert openmp_threads() == {3}


def test_boosted_trees_are_grown_in_one_thread(monkeypatch, tmp_path):
    pd = pytest.importorskip("pandas")
    from sklearn.ensemble import HistGradientBoostingClassifier

    seen = []

    class Watched(HistGradientBoostingClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(openmp_threads())
            return super().fit(X, y, sample_weight)

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    x = np.random.default_rng(0).normal(size=(80, 2))
    table = pd.DataFrame(x, columns=["u", "v"]).assign(y=np.where(x[:, 0] > 0, "a", "b"))
    with _threads.limit_threads(2, "openmp"):
        if openmp_threads() != {2}:
            pytest.skip("there is no OpenMP")
        robell.fit_table(table, "y", model=Watched(max_iter=3))
        assert seen
        assert set(map(frozenset, seen)) == {frozenset({1})}


@pytest.mark.parametrize("call", ["audit", "fit_table", "find_label_issues", "find_target_issues"])
def test_judging_tables_does_not_wait_for_busy_cores(monkeypatch, call):
    """Threads of BLAS wait for each other: on a busy machine that took eight times as long."""
    seen = []

    def watched(*arguments, fit, **named):
        seen.append(blas_threads())
        return fit(*arguments, **named)

    for name in ("fit_members", "fit_with_equal_classes"):
        fit = getattr(noise_robust, name)
        monkeypatch.setattr(noise_robust, name, partial(watched, fit=fit))
    for name in _threads.calm_blas.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] if call == "find_target_issues" else np.where(X[:, 0] > 0, "a", "b")
    with _threads.limit_threads(2):
        if call.startswith("find"):
            getattr(robell, call)(X, y, random_state=0)
        else:
            pd = pytest.importorskip("pandas")
            getattr(robell, call)(pd.DataFrame(X, columns=list("uvw")).assign(y=y), "y")
        assert seen
        assert set(map(frozenset, seen)) == {frozenset({1})}


class _Cgroup:
    """The files that say how much of the cores a container may use, and no others."""

    def __init__(self, monkeypatch, files):
        path = "joblib.externals.loky.backend.context"
        monkeypatch.setattr(f"{path}.os.path.exists", files.__contains__)
        monkeypatch.setattr("builtins.open", lambda name, *_: io.StringIO(files[name]))


V1 = "/sys/fs/cgroup/cpu/cpu.cfs_{}_us"


@pytest.mark.parametrize(
    ("files", "n"),
    [
        ({"/sys/fs/cgroup/cpu.max": "50000 100000"}, 1),  # half a core
        ({"/sys/fs/cgroup/cpu.max": "250000 100000"}, 3),
        ({"/sys/fs/cgroup/cpu.max": "max 100000"}, 8),
        ({V1.format("quota"): "50000", V1.format("period"): "100000"}, 1),
        ({V1.format("quota"): "-1", V1.format("period"): "100000"}, 8),
        ({}, 8),
    ],
)
def test_cores_are_those_of_the_container(monkeypatch, files, n):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    with monkeypatch.context() as patched:
        _Cgroup(patched, files)
        found = _threads.n_cores(), _threads.threads_for(64), _threads.threads_for(-1)
    assert found == (n, n, n)


def test_cores_are_those_that_the_process_is_bound_to(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 5}, raising=False)
    assert _threads.n_cores() <= 2
    assert _threads.threads_for(None) == 1


def test_no_more_threads_than_cores(monkeypatch):
    """More would wait for each other: in a container with half a core even two are too many."""
    monkeypatch.setattr(_threads, "cpu_count", lambda: 1)
    monkeypatch.setattr("robell._core.membership.pairs.BLOCK", 1)  # several units of work
    X = np.random.default_rng(0).normal(size=(900, 3))
    y = X[:, 0] > 0.4
    model = robell.RoBellRVFLClassifier(n_jobs=1, random_state=0).fit(X, y)

    def refuse(*_, **__):
        raise AssertionError("a thread was started")

    monkeypatch.setattr("robell._tools.threads.ThreadPoolExecutor", refuse)
    many = robell.RoBellRVFLClassifier(n_jobs=64, random_state=0).fit(X, y)
    np.testing.assert_array_equal(many.membership_, model.membership_)
    robell.NoiseRobustRVFLClassifier(8, n_jobs=64, random_state=0).fit(X, y)
