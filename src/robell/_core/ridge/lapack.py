"""LAPACK and BLAS without Python's lock: many small calls whose arguments are prepared once.

SciPy's wrappers hold the lock while a routine runs, so that threads wait for each other, and copy
what is not laid out as they want it. SciPy also hands out the addresses of the routines, for
Cython; called through them, a routine runs beside others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from types import ModuleType
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from robell._core.array import AnyArray

Call = Callable[[], Any]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_signature = ctypes.pythonapi.PyCapsule_GetName
_signature.restype, _signature.argtypes = ctypes.c_char_p, [ctypes.py_object]


@cache
def _routine(module: ModuleType, name: str, dtype: np.dtype[Any]) -> Any:
    """Return a routine of SciPy's LAPACK or BLAS for this type, all arguments pointers."""
    capsule = module.__pyx_capi__[("z" if dtype.kind == "c" else "d") + name]
    signature = _signature(capsule)
    assert b"int *" in signature, "the integers of SciPy's LAPACK are not those of C"
    # Types of the arguments are not declared: checking them would take as long as the call.
    return ctypes.CFUNCTYPE(None)(_pointer(capsule, signature))


def _prepared(module: ModuleType, name: str, dtype: np.dtype[Any], *arguments: Any) -> Call:
    """Return the call of a routine with arguments that it keeps: letters, numbers and arrays."""
    return partial(_routine(module, name, dtype), *map(_reference, arguments))


def _reference(argument: Any) -> Any:
    """Return a pointer to an argument, which lives as long as the pointer."""
    if isinstance(argument, np.ndarray):
        return argument.ctypes.data_as(ctypes.c_void_p)
    if isinstance(argument, bytes):
        argument = ctypes.c_char(argument)
    elif isinstance(argument, float):
        argument = (ctypes.c_double * 2)(argument, 0.0)  # a real number starts like a complex one
    elif isinstance(argument, int):
        argument = ctypes.c_int(argument)
    return ctypes.byref(argument)


def _stride(A: AnyArray) -> int:
    """Return the leading dimension of a matrix in LAPACK's order."""
    assert A.strides[0] == A.itemsize, "columns must be contiguous"
    return max(1, A.strides[1] // A.itemsize) if A.shape[1] > 1 else max(1, len(A))


def aligned(shape: tuple[int, int], dtype: Any) -> AnyArray:
    """Return zeros in LAPACK's order that start where a line of the cache does."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    values: AnyArray = raw[start : start + size].view(dtype).reshape(shape, order="F")
    return values


def factorise(A: AnyArray) -> tuple[Call, ctypes.c_int]:
    """Return the call that puts L of A = LLᴴ into A, and its report: 0, or the failed pivot."""
    report = ctypes.c_int(0)
    call = _prepared(cython_lapack, "potrf", A.dtype, b"L", len(A), A, _stride(A), report)
    return call, report


def add_gram(rows: AnyArray, C: AnyArray) -> Call:
    """Return the call that adds RᵀR̄ of rows R in C's order, (A, P), to the lower triangle of C."""
    name = "herk" if C.dtype.kind == "c" else "syrk"
    sizes = (len(C), len(rows), 1.0, rows, rows.shape[1], 1.0, C, _stride(C))
    return _prepared(cython_blas, name, C.dtype, b"L", b"N", *sizes)


def copy_lower(A: AnyArray, B: AnyArray) -> Call:
    """Return the call that copies the lower triangle of A to B."""
    sizes = (*A.shape, A, _stride(A), B, _stride(B))
    return _prepared(cython_lapack, "lacpy", A.dtype, b"L", *sizes)


def solve_lower(L: AnyArray, B: AnyArray, transposed: bool) -> Call:
    """Return the call that replaces B by L⁻¹B, or by L⁻ᴴB."""
    letter = b"C" if transposed else b"N"
    sizes = (*B.shape, 1.0, L, _stride(L), B, _stride(B))
    return _prepared(cython_blas, "trsm", L.dtype, b"L", b"L", letter, b"N", *sizes)


def subtract_product(A: AnyArray, B: AnyArray, C: AnyArray, transposed: bool) -> Call:
    """Return the call that takes AB off C, or AᴴB."""
    letter = b"C" if transposed else b"N"
    sizes = (*C.shape, len(B), -1.0, A, _stride(A), B, _stride(B), 1.0, C, _stride(C))
    return _prepared(cython_blas, "gemm", A.dtype, letter, b"N", *sizes)
