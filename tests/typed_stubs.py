"""Type stubs of the public modules, made from signatures and numpydoc sections.

``python tests/typed_stubs.py`` writes them; a test compares, so that they always say what the code
and its documentation say. A type that is not plain, such as "data frame", is Any.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections import ChainMap
from dataclasses import is_dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "robell"
MODULES = ("__init__", "files", "noise", "metrics")
HEADER = '''"""Types of {name}, made by tests/typed_stubs.py."""

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

'''
PLAIN = {"int": "int", "float": "float", "str": "str", "bool": "bool", "None": "None"}
PLAIN |= {"array-like": "ArrayLike", "path-like": "str | PathLike[str]", "array": "NDArray[Any]"}
PLAIN |= {"callable": "Callable[..., Any]", "ndarray": "NDArray[Any]", "dict": "dict[Any, Any]"}
PLAIN |= {"Path": "Path", "RandomState instance": "np.random.RandomState", "object": "Any"}
KNOWN = {
    "PathLike",
    "random",
    "RandomState",
    "Any",
    "Self",
    "ArrayLike",
    "NDArray",
    "np",
    "float64",
    "object_",
    "intp",
    "None",
    "int",
}
KNOWN |= {"float", "str", "bool", "dict", "list", "tuple", "Path", "Callable", "Iterable"}
KNOWN |= {"random", "RandomState"}
METHODS = {"__init__", "__len__", "__repr__", "__iter__"}


def type_of(text):
    """Return the annotation for what a numpydoc section calls a type."""
    text = re.sub(r",? default.*$", "", text.strip())
    text = re.sub(r" (of shape|in|from) .*$", "", text)
    if re.fullmatch(r"\{.*\}", text):
        parts = [part.strip() for part in text[1:-1].split(",")]
        kinds = {"str" if part[:1] in "\"'" else part for part in parts}
        return " | ".join(sorted(kinds)) if kinds <= {"str", "None"} else "Any"
    parts = [part.strip() for part in re.split(r",| or ", text) if part.strip()]
    found = []
    for part in parts:
        part = re.sub(r"^(an?|non-negative|positive) ", "", part)
        if part[:1] in "\"'`{":
            found.append("str")
        elif part in PLAIN:
            found.append(PLAIN[part])
        elif re.fullmatch(r"n?d?array of \w+", part):
            found.append("NDArray[Any]")
        else:
            return "Any"
    kinds = dict.fromkeys(kind for part in found for kind in part.split(" | "))
    return " | ".join(sorted(kinds, key=lambda kind: kind == "None")) or "Any"


def sections(doc):
    """Return the named sections of a numpydoc docstring, each as name -> type."""
    found, section = {}, None
    lines = inspect.cleandoc(doc or "").split("\n")
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if re.fullmatch(r"-{4,}", below):
            section = found.setdefault(line.strip(), {})
        elif section is not None and (entry := re.fullmatch(r"([\w, *]+?) : (.+)", line)):
            for name in entry[1].split(","):
                section[name.strip(" *")] = type_of(entry[2])
        elif section is not None and line and not line[0].isspace() and not line.startswith("-"):
            section.setdefault(line.strip(), type_of(line))
    return found


def checked(annotation):
    """Return an annotation of the source if every name in it is known here, else Any."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "Any")
    names = set(re.findall(r"[A-Za-z_]\w*", text))
    return text if names <= KNOWN else "Any"


def signature_of(function, documented, name, returns):
    """Return one line that declares a function."""
    parts, star = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            parts.append("self")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        mark = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        star = star or mark == "*"
        kind = documented.get(parameter.name, "Any")
        if parameter.annotation is not parameter.empty:
            kind = checked(parameter.annotation)
        kind = "Any" if mark else kind
        default = "" if parameter.default is parameter.empty else " = ..."
        if parameter.default is None and kind != "Any" and "None" not in kind:
            kind += " | None"
        parts.append(f"{mark}{parameter.name}: {kind}{default}")
    return f"def {name}({', '.join(parts)}) -> {returns}: ..."


def returned(function, doc, own):
    """Return the type of what a function returns."""
    annotation = inspect.signature(function).return_annotation
    if annotation is not inspect.Signature.empty:
        return "Self" if annotation == own else checked(annotation)
    entries = doc.get("Returns", {})
    if "self" in entries:
        return "Self"
    return next(iter(entries.values())) if len(entries) == 1 else "Any"


def class_stub(cls):
    """Return the declaration of a class: its methods, properties and attributes."""
    if issubclass(cls, Exception):
        return f"class {cls.__name__}({cls.__mro__[1].__name__}): ..."
    doc = sections(cls.__doc__)
    lines = [f"class {cls.__name__}:"]
    attributes = dict(doc.get("Attributes", {}))
    bases = [base for base in cls.__mro__ if is_dataclass(base) or base is cls]
    for name, annotation in ChainMap(*map(inspect.get_annotations, bases)).items():
        if not name.startswith("_"):
            attributes[name] = checked(annotation)
    for name in sorted(set(dir(cls)) - set(dir(object)) | {"__init__"}):
        member = inspect.getattr_static(cls, name, None)
        if name.startswith("_") and name not in METHODS:
            continue
        if isinstance(member, property):
            attributes.setdefault(
                name, sections(member.__doc__).get("Returns", {}).get(name, "Any")
            )
        elif callable(getattr(cls, name)) and name not in attributes:
            function = getattr(cls, name)
            inner = sections(function.__doc__)
            documented = inner.get("Parameters", {})
            documented = (
                doc.get("Parameters", {}) | documented if name == "__init__" else documented
            )
            result = {"__init__": "None", "__len__": "int", "__repr__": "str"}.get(name)
            try:
                result = result or returned(function, inner, cls.__name__)
                lines.append("    " + signature_of(function, documented, name, result))
            except ValueError:  # of scikit-learn's, made when it is called
                lines.append(f"    def {name}(self, *args: Any, **kwargs: Any) -> Any: ...")
    lines[1:1] = [
        f"    {name}: {kind}" for name, kind in sorted(attributes.items()) if name.isidentifier()
    ]
    return "\n".join(lines)


def stub(module_name):
    """Return the text of the stub of one public module."""
    full = "robell" if module_name == "__init__" else f"robell.{module_name}"
    module, parts = importlib.import_module(full), []
    own = (
        {name for name in module.__all__ if inspect.isclass(getattr(module, name))}
        if hasattr(module, "__all__")
        else set()
    )
    PLAIN.update({name: name for name in own})
    KNOWN.update(own)
    public = [name for name in vars(module) if not name.startswith("_")]
    for name in sorted(getattr(module, "__all__", public)):
        value = getattr(module, name)
        if name == "__version__":
            parts.append("__version__: str")
        elif inspect.isclass(value):
            parts.append(class_stub(value))
        elif inspect.isfunction(value):
            doc = sections(value.__doc__)
            parts.append(
                signature_of(value, doc.get("Parameters", {}), name, returned(value, doc, ""))
            )
    return HEADER.format(name=full) + "\n\n".join(parts) + "\n"


def main():
    """Write the stubs."""
    for name in MODULES:
        (PACKAGE / f"{name}.pyi").write_text(stub(name), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(PACKAGE.parent))
    main()
