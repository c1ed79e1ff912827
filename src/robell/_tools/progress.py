"""A progress bar for long work on a terminal, with the time that is left."""

from __future__ import annotations

import sys
import time
from typing import Self, TextIO


class Progress:
    """Counts finished work and shows it on a terminal, once it has taken two seconds.

    Nothing is written where standard error is not a terminal, nor in a process that has set
    ``enabled`` to False because another one shows the progress.
    """

    enabled = True

    def __init__(
        self, total: int, label: str, stream: TextIO | None = None, patience: float = 2.0
    ) -> None:
        self.total, self.label, self.patience = total, label, patience
        self.stream = sys.stderr if stream is None else stream
        self.done = 0
        self.start = self.shown = time.monotonic()
        self.visible = False

    def advance(self, amount: int = 1) -> None:
        """Count finished work."""
        self.done += amount
        now = time.monotonic()
        if not self.enabled or not self.stream.isatty() or now - self.start < self.patience:
            return
        if now - self.shown < 0.1 and self.done < self.total:
            return
        self.shown, self.visible = now, True
        share = self.done / self.total
        left = (now - self.start) * (1 - share) / share
        bar = "#" * round(24 * share)
        text = f"\r{self.label} [{bar:24}] {share:4.0%}  {_duration(left)} left "
        self.stream.write(text)
        self.stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.visible:
            self.stream.write("\r" + " " * (len(self.label) + 52) + "\r")
            self.stream.flush()


def _duration(seconds: float) -> str:
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {left:02} s" if minutes else f"{left} s"
