"""Parts of a computation shared out to threads; what they find comes back in the order given."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import (
    AbstractContextManager,
    ContextDecorator,
    ExitStack,
    contextmanager,
    nullcontext,
)
from contextvars import copy_context
from functools import cache, lru_cache, partial
from typing import Any, TypeVar

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Found = TypeVar("Found")


class Threads:
    """Some threads, or none beside the caller's own."""

    def __init__(self, pool: ThreadPoolExecutor | None = None, n_threads: int = 1) -> None:
        self._pool = pool
        self._n_threads = n_threads

    def map(self, function: Callable[[Item], Found], items: Iterable[Item]) -> Iterator[Found]:
        """Yield function(item) for every item, in their order, a few computed ahead."""
        if self._pool is None:
            yield from map(function, items)
            return
        waiting: deque[Future[Found]] = deque()
        try:
            for item in items:
                # In a copy of the context: NumPy keeps there which warnings are wanted.
                waiting.append(self._pool.submit(copy_context().run, function, item))
                if len(waiting) > 2 * self._n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def start(self, function: Callable[..., Found], *arguments: Any) -> Callable[[], Found]:
        """Start a function that does not use these threads; what is returned waits for it."""
        if self._pool is None:
            return partial(function, *arguments)
        return self._pool.submit(copy_context().run, function, *arguments).result


NO_THREADS = Threads()


def n_cores() -> int:
    """Return how many cores this process may use: those it is bound to, or its container's quota.

    Half a core counts as one. The variable LOKY_MAX_CPU_COUNT may say that there are fewer.
    """
    return int(cpu_count())


def threads_for(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` asks for, as joblib reads it, and at most the cores."""
    wanted = effective_n_jobs(n_jobs)
    return wanted if wanted == 1 else min(wanted, cpu_count())  # counting cores takes a while


@contextmanager
def threads_of(
    n_threads: int, limit_blas: Callable[[], AbstractContextManager[Any]]
) -> Iterator[Threads]:
    """Start so many threads, BLAS limited to one in each; none are started for one."""
    if n_threads == 1:
        yield NO_THREADS
        return
    with limit_blas(), ThreadPoolExecutor(n_threads, initializer=limit_blas) as pool:
        yield Threads(pool, n_threads)


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> ThreadpoolController:
    return ThreadpoolController()


@cache
def has_small_kernels() -> bool:
    """Say whether BLAS has kernels of its own for small products, as OpenBLAS has for AVX-512."""
    known = ("SkylakeX", "Cooperlake", "SapphireRapids")
    return any(one.get("architecture") in known for one in _controller(len(sys.modules)).info())


def limit_threads(n_threads: int | None, library: str = "blas") -> AbstractContextManager[Any]:
    """Return a context in which BLAS, or OpenMP, uses so many threads; None changes nothing."""
    # The loaded libraries are looked for again only where modules were imported since: the search
    # takes longer than a small fit.
    controller = _controller(len(sys.modules)).select(user_api=library)
    limited: AbstractContextManager[Any] = controller.limit(limits=n_threads)
    return limited


one_blas_thread = partial(limit_threads, 1)


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread, and so does OpenMP in the calling thread."""
    limited = ExitStack()
    limited.enter_context(one_blas_thread())
    limited.enter_context(limit_threads(1, "openmp"))
    return limited


class _CalmBlas(ContextDecorator):
    """A context, or the decorator of a function, in which BLAS and OpenMP use one thread.

    Their threads wait for each other in loops that take a whole core: where other programs keep the
    cores busy, judging a table took five times as long with two of them as with one. One of the
    variables below decides otherwise; for OpenMP the last alone. The limit of BLAS is the process's
    and lifted when the last of several callers has finished; that of OpenMP is each caller's own.
    """

    VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_callers = 0
        self._limited: AbstractContextManager[Any] | None = None
        self._of_thread = threading.local()

    def __enter__(self) -> None:
        limited = (
            nullcontext() if os.environ.get(self.VARIABLES[-1]) else limit_threads(1, "openmp")
        )
        limited.__enter__()
        self._of_thread.__dict__.setdefault("limits", []).append(limited)
        with self._lock:
            self._n_callers += 1
            if self._n_callers == 1 and not any(map(os.environ.get, self.VARIABLES)):
                self._limited = one_blas_thread()
                self._limited.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._of_thread.limits.pop().__exit__(*error)
        with self._lock:
            self._n_callers -= 1
            if self._n_callers == 0 and self._limited is not None:
                self._limited.__exit__(*error)
                self._limited = None


calm_blas = _CalmBlas()
