"""The command `robell`."""

from robell.cli.main import main

__all__ = ["main"]
