"""Optional packages: imported where they are used, and asked for by name when they are missing."""

from __future__ import annotations

import importlib
from types import ModuleType


def require(name: str, extra: str) -> ModuleType:
    """Import an optional module, or say which extra of this package installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f'this needs {package}, which is not installed: pip install "robell[{extra}]"'
        ) from error
