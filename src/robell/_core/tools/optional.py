"""Optional packages: imported where they are used, and asked for by name when they are missing."""

from __future__ import annotations

import importlib


def require(name, extra):
    """Import an optional package, or say which extra of this one brings it.

    Parameters
    ----------
    name : str
        The module to import.
    extra : str
        The extra that installs it.

    Returns
    -------
    module : module
        The imported module.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f'this needs {package}, which is not installed: pip install "robell[{extra}]"'
        ) from error
