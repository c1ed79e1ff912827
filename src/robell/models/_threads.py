"""How many threads BLAS uses, without looking for the loaded libraries every time."""

from __future__ import annotations

import sys
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller(n_modules):
    return ThreadpoolController()


def limit_blas(n_threads):
    """Return a context in which BLAS uses so many threads; None changes nothing.

    The loaded libraries are looked for again only where modules were imported since: the search
    takes longer than a small fit.
    """
    return _controller(len(sys.modules)).limit(limits=n_threads, user_api="blas")


def one_blas_thread():
    """Return a context in which BLAS uses one thread."""
    return limit_blas(1)
