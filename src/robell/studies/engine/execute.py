"""Jobs in processes: a few workers, each with one BLAS thread, and a parent that stores.

A result depends on its job alone, so neither the number of workers nor the order matters. A worker
that dies (killed for memory, say) is replaced and its job is tried once more; workers whose parent
is gone end themselves.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import wait

from threadpoolctl import threadpool_limits

from robell._core.ridge.sweep_torch import require_device
from robell._core.tools.progress import Progress
from robell.studies.engine.store import StudyError, machine, versions
from robell.studies.paper.jobs import run_job

ATTEMPTS = 2


@dataclass(frozen=True)
class Summary:
    """What a run did.

    Attributes
    ----------
    done, failed, stored : int
        Jobs finished now, jobs that failed now, and jobs that had been finished before.
    seconds : float
        Wall-clock time of the run.
    worker_seconds : float
        That times the number of workers: what the run could have spent in searches.
    job_seconds : float
        What it spent inside jobs.
    """

    done: int
    failed: int
    stored: int
    seconds: float
    worker_seconds: float
    job_seconds: float


def execute(
    jobs,
    tables,
    store,
    n_workers=1,
    progress=True,
    device="cpu",
    *,
    run=run_job,
    longest_first=True,
):
    """Carry out what is not stored yet, and store every job as it finishes.

    Parameters
    ----------
    jobs : list of Job
        What to do.
    tables : dict of str -> Rows
        By name.
    store : Store
        Where records go.
    n_workers : int, default=1
        Processes.
    progress : bool, default=True
        Whether a bar is shown on a terminal.
    device : str, default="cpu"
        Where searches run; a device that is not there is an error.
    run : callable, default=run_job
        What carries out a job: a function of job, rows and device, importable by its name. Its
        answer may say ``status="failed"`` itself.
    longest_first : bool, default=True
        Whether jobs are sorted so that no worker is left alone with a long one at the end;
        otherwise they are started in the order given.

    Returns
    -------
    summary : Summary
        What was done.

    Examples
    --------
    >>> import tempfile
    >>> from robell.studies.engine.execute import execute
    >>> from robell.studies.engine.store import Store
    >>> with Store(tempfile.mkdtemp()) as store:
    ...     execute([], {}, store).done
    0
    """
    start = time.perf_counter()
    if device != "cpu":
        try:
            require_device(device)
        except (ImportError, ValueError, RuntimeError) as error:
            raise StudyError(str(error)) from error
    todo = [job for job in jobs if not store.is_done(job.key)]
    n_workers = min(n_workers, len(todo))
    queue = deque(todo)
    if longest_first:
        queue = deque(sorted(todo, key=lambda job: -_expected_seconds(job, tables)))
    common = {"versions": versions(), "machine": machine()}
    done = failed = 0
    job_seconds = 0.0
    total = sum(_expected_seconds(job, tables) for job in todo)
    workers = []
    bar = Progress(total, "study", patience=2.0 if progress else float("inf"))
    try:
        workers = [_Worker() for _ in range(n_workers)]
        with bar:
            for job, answer in _run(queue, workers, tables, device, run):
                job_seconds += answer.get("seconds", {}).get("total", 0.0)
                failed += answer["status"] == "failed"
                done += answer["status"] == "done"
                about = {"data": tables[job.dataset].about}
                store.append({"key": job.key, "job": asdict(job), **answer, **about, **common})
                bar.advance(_expected_seconds(job, tables))
    finally:
        for worker in workers:
            worker.stop()
    seconds = time.perf_counter() - start
    stored = len(jobs) - len(todo)
    return Summary(done, failed, stored, seconds, seconds * max(1, n_workers), job_seconds)


def _expected_seconds(job, tables):
    n_rows = len(tables[job.dataset].y)
    return job.cost * (0.7 + 0.3 * n_rows / 600)


def _run(queue, workers, tables, device, run):
    """Yield (job, answer) in the order jobs finish."""
    tries = {}
    idle = list(workers)
    busy = {}
    while queue or busy:
        while idle and queue:
            worker, job = idle.pop(), queue.popleft()
            tries[job] = tries.get(job, 0) + 1
            worker.give(job, tables[job.dataset], device, run)
            busy[worker] = job
        ready = wait([worker.answers for worker in busy])
        for worker in [worker for worker in busy if worker.answers in ready]:
            job = busy.pop(worker)
            answer = worker.take()
            idle.append(worker)
            if answer is None:
                worker.restart()
                if tries[job] < ATTEMPTS:
                    queue.appendleft(job)
                    continue
                answer = {
                    "status": "failed",
                    "error": f"its process died {ATTEMPTS} times (out of memory?)",
                }
            yield job, answer


class _Worker:
    """One process and the pipe to it."""

    def __init__(self):
        self._start()

    def _start(self):
        context = multiprocessing.get_context("spawn")
        self.answers, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, job, rows, device, run):
        with suppress(OSError):  # it died while it was idle; its pipe will say so
            self.answers.send((job, rows, device, run))

    def take(self):
        """Return the answer, or None when the process has died."""
        try:
            return self.answers.recv()
        except (EOFError, OSError):
            return None

    def restart(self):
        self.stop()
        self._start()

    def stop(self):
        self.process.kill()
        self.process.join()
        self.answers.close()


def _serve(pipe):
    """Answer jobs until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    Progress.enabled = False
    sys.stdin = open(os.devnull)  # noqa: SIM115 - for as long as the process lives
    with threadpool_limits(1):
        while True:
            try:
                task = pipe.recv()
            except EOFError:
                return
            pipe.send(_answer(*task))


def _answer(job, rows, device, run):
    try:
        return {"status": "done", **run(job, rows, device)}
    except Exception as error:
        lines = traceback.format_exception(error)
        return {"status": "failed", "error": str(error) or repr(error), "trace": "".join(lines)}


def _end_with_the_parent():
    wait([multiprocessing.parent_process().sentinel])
    os._exit(1)
