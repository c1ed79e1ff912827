"""BLAS is limited to some threads, and the libraries are looked for once."""

import sys
from types import ModuleType

from threadpoolctl import ThreadpoolController, threadpool_info

from robell._tools import threads as _threads


def blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_blas_is_limited_and_set_free():
    before = blas_threads()
    with _threads.one_blas_thread():
        assert blas_threads() == {1}
        with _threads.limit_blas(None):
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
