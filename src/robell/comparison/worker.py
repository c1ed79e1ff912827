"""A worker process: it answers jobs, with one BLAS thread, until its parent is gone.

Only what every worker needs is imported here; what a job needs comes with the function that runs
it, so that a worker starts quickly.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from types import ModuleType

from threadpoolctl import threadpool_limits

from robell._tools.progress import Progress

BEGUN = "begun"  # what a worker says when a job has arrived and its modules are imported


class Worker:
    """One process and the pipe to it, seen from the parent."""

    def __init__(self):
        self._start()

    def _start(self):
        context = multiprocessing.get_context("spawn")
        self.answers, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        with _without_main():
            self.process.start()
        theirs.close()

    def give(self, run, job, rows, device):
        """Hand over one job; its answer can be taken once ``answers`` is ready."""
        with suppress(OSError):  # it died while it was idle; its pipe will say so
            self.answers.send((run, job, rows, device))

    def take(self):
        """Return BEGUN when it has begun, then the answer; None when the process has died."""
        try:
            return self.answers.recv()
        except (EOFError, OSError):
            return None

    def restart(self):
        """Replace the process by a new one."""
        self.stop()
        self._start()

    def stop(self):
        """End the process."""
        self.process.kill()
        self.process.join()
        self.answers.close()


@contextmanager
def _without_main():
    """Hide the main module, which a new process would run again: a script has no guard for that."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def serve(pipe):
    """Answer jobs until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    Progress.enabled = False
    sys.stdin = open(os.devnull)  # noqa: SIM115 - for as long as the process lives
    sys.stdout = sys.stderr  # what a model prints is no part of the command's answer
    while True:
        try:
            task = pipe.recv()  # imports what the job needs
        except EOFError:
            return
        except Exception as error:  # what was sent cannot be made here: a module is missing, say
            pipe.send(failure(error))
            continue
        pipe.send(BEGUN)
        with threadpool_limits(1):
            answer = answer_of(*task)
        pipe.send(answer)


def answer_of(run, job, rows, device):
    """Return what a job gave, or why it failed."""
    try:
        return {"status": "done", **run(job, rows, device)}
    except Exception as error:
        return failure(error)


def failure(error):
    """Return an exception as part of a record."""
    lines = traceback.format_exception(error)
    return {"status": "failed", "error": str(error) or repr(error), "trace": "".join(lines)}


def _end_with_the_parent():
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker is always started by another process"
    wait([parent.sentinel])
    os._exit(1)
