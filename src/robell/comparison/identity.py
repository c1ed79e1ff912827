"""What tells a model from others and from its earlier self: its parameters and the code it runs.

Installed packages are known by name. Other code is read: whole modules and those that they import;
of classes and functions without a file, their own text and the global names it refers to.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import re
import sys
import sysconfig
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from types import CodeType, ModuleType

import numpy as np

INSTALLED = "installed"  # where a module is from that is none of the user's
PACKAGE_FOLDERS = {"site-packages", "dist-packages"}


def identity_of(model):
    """Return a short text that changes when a model's parameters or the code it runs change."""
    modules: set[str] = set()
    described = _Description(modules).of(model)
    return _digest(repr([described, _sources(modules)]).encode())[:12]


def sources_of(model):
    """Return {name: file} of the user's modules that a model runs code of."""
    modules: set[str] = set()
    _Description(modules).of(model)
    return {name: _origin(name) for name, _ in _sources(modules)}


def _digest(content):
    return hashlib.sha256(content).hexdigest()


# -- objects -------------------------------------------------------------------------------


class _Description:
    """Objects as plain values, alike in every process; ``modules`` collects where they are from."""

    def __init__(self, modules):
        self.modules, self.seen = modules, {}

    def of(self, value):
        """Return plain values that say what an object is."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return repr(value)
        if isinstance(value, set | frozenset):
            return sorted(repr(self.of(one)) for one in value)
        if isinstance(value, np.ndarray) and value.dtype != object:
            return [value.dtype.str, value.shape, _digest(np.ascontiguousarray(value).tobytes())]
        if id(value) in self.seen:
            return f"object {self.seen[id(value)][0]} again"
        self.seen[id(value)] = len(self.seen), value  # kept, so that no other one gets its id
        if isinstance(value, dict):
            return {str(key): self.of(one) for key, one in value.items()}
        if isinstance(value, list | tuple | np.ndarray):
            return [self.of(one) for one in value]
        if isinstance(value, ModuleType):
            self.modules.add(value.__name__)
            return value.__name__
        if isinstance(value, type):
            return [self._class(one) for one in value.__mro__]
        if isinstance(value, functools.partial):
            return [self.of(one) for one in (value.func, value.args, value.keywords)]
        if isinstance(value, property):
            return [self.of(one) for one in (value.fget, value.fset)]
        if isinstance(value, classmethod | staticmethod):
            return self.of(value.__func__)
        if inspect.ismethod(value):
            return [self.of(value.__self__), self.of(value.__func__)]
        if inspect.isfunction(value):
            return self._function(value)
        if isinstance(value, np.random.RandomState) and value is not np.random.mtrand._rand:
            return self.of(value.get_state(legacy=False))
        if isinstance(value, np.random.Generator):
            return self.of(value.bit_generator.state)
        if hasattr(value, "get_params"):
            return [self.of(type(value)), self.of(value.get_params(deep=False))]
        shown = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
        return [shown, self.of(type(value)), self.of(getattr(value, "__dict__", None))]

    def _class(self, cls):
        name = f"{cls.__module__}.{cls.__qualname__}"
        if not self._is_by_itself(cls):
            return name
        # What Python adds under names of its own (line numbers, say) is no part of the text.
        parts = {
            key: part
            for key, part in vars(cls).items()
            if inspect.isfunction(part) or not (key.startswith("__") or key == "_abc_impl")
        }
        return [name, self.of(parts)]

    def _function(self, function):
        inside = [cell.cell_contents for cell in function.__closure__ or ()]
        parts = [function.__defaults__, function.__kwdefaults__, inside]
        if self._is_by_itself(function):
            known = function.__globals__
            parts += [known[name] for name in _names(function.__code__) if name in known]
        try:
            text = inspect.getsource(function)
        except OSError:  # it was typed into an interpreter
            text = _instructions(function.__code__)
        return [function.__qualname__, text, *map(self.of, parts)]

    def _is_by_itself(self, value):
        """Say whether a class or function is in no module file; if it is in one, note which."""
        module = value.__module__ or "__main__"
        self.modules.add(module)
        return module == "__main__" or _origin(module) is None


def _instructions(code):
    consts = [_instructions(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return [code.co_code.hex(), code.co_names, consts]


def _names(code):
    """Return the names that a function and those within it look up, each once."""
    within = [_names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return list(dict.fromkeys([*code.co_names, *(name for names in within for name in names)]))


# -- modules -------------------------------------------------------------------------------


def _sources(names):
    """Return name and digest of the user's modules among these, and of those that they import."""
    found, todo = {}, [name for name in names if name != "__main__"]
    while todo:
        name = todo.pop()
        path = None if name in found else _origin(name)
        if isinstance(path, Path):
            content = path.read_bytes()
            found[name] = _digest(content)
            with suppress(SyntaxError, ValueError):  # compiled code: its bytes are all we know
                tree = ast.parse(content)
                found[name] = _digest(ast.dump(tree).encode())  # without comments, blank lines
                todo += _imported(tree, name, path)
    return sorted(found.items())


def _imported(tree, name, path):
    """Return the names of all that a module may import, also within its functions."""
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            within = node.module or ""
            if node.level:
                with suppress(ImportError):  # further up than there are packages
                    within = importlib.util.resolve_name("." * node.level + within, package)
            found += [within, *(f"{within}.{alias.name}" for alias in node.names)]
    # A package runs before what is in it.
    return [one.rsplit(".", k)[0] for one in found for k in range(one.count(".") + 1)]


def _origin(name):
    """Return the file of a user's module, INSTALLED for any other; None where it has no file."""
    if name.partition(".")[0] in ("robell", *sys.builtin_module_names):
        return INSTALLED
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None) if module else _file_found(name)
    if not file or not Path(file).is_file():
        return None
    path = Path(file).resolve()
    library = Path(sysconfig.get_path("stdlib")).resolve()
    is_installed = PACKAGE_FOLDERS & {*path.parts} or path.is_relative_to(library)
    return INSTALLED if is_installed else path


def _file_found(name):
    """Return the file of a module that was not imported yet, without importing it."""
    origin, folders, parts = None, None, name.split(".")
    for k in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: k + 1]), folders)
        if spec is None or (spec.submodule_search_locations is None and k + 1 < len(parts)):
            return None
        origin, folders = spec.origin, spec.submodule_search_locations
    return origin
