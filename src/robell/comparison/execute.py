"""Jobs in processes: a few workers carry them out, the parent stores every record.

A worker that dies (killed for memory, say) is replaced and its job is tried once more. Only what
every worker needs is imported here; what a job needs comes with the function that runs it.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import wait
from types import ModuleType

from threadpoolctl import threadpool_limits

from robell._tools.progress import Progress
from robell.comparison.jobs import expected_seconds, failure
from robell.comparison.store import StudyError, machine, versions

ATTEMPTS = 2
LOG_SECONDS = 15
BEGUN = "begun"  # what a worker says when a job has arrived and its modules are imported


@dataclass(frozen=True)
class Summary:
    """What a run did: numbers of jobs, and seconds.

    ``stored`` jobs had been finished before; ``job_seconds`` of the ``worker_seconds`` were inside
    jobs.
    """

    done: int
    failed: int
    stored: int
    seconds: float
    worker_seconds: float
    job_seconds: float


def execute(
    study, jobs, tables, store, *, n_workers=1, progress=True, device="cpu", time_limit=None
):
    """Carry out the jobs that are not stored yet; store each as it finishes; return a Summary.

    A job that takes more seconds than the time limit fails, and its process is ended.
    ``progress.log`` says how far the study is.
    """
    start = said = time.perf_counter()
    if device != "cpu":
        from robell._core.ridge.sweep_torch import require_device

        try:
            require_device(device)
        except (ImportError, ValueError, RuntimeError) as error:
            raise StudyError(str(error)) from error
    todo = [job for job in jobs if not store.is_done(job.key)]
    if study.longest_first:
        todo.sort(key=lambda job: -expected_seconds(job, tables))
    common = {"versions": versions(), "machine": machine()}
    counts, job_seconds = {"done": 0, "failed": 0}, 0.0
    total = sum(expected_seconds(job, tables) for job in todo)
    workers: list[Worker] = []

    def log(text):
        with (store.folder / "progress.log").open("a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {text}\n")

    try:
        workers += [Worker() for _ in range(min(n_workers, len(todo)))]
        log(f"{len(todo)} of {len(jobs)} jobs to do")
        with Progress(total, "study", patience=2.0 if progress else float("inf")) as bar:
            for job, answer in _answers(study.run, todo, workers, tables, device, time_limit):
                job_seconds += answer.get("seconds", {}).get("total", 0.0)
                counts[answer["status"]] += 1
                about = {"data": tables[job.dataset].about}
                store.append({"key": job.key, "job": asdict(job), **answer, **about, **common})
                bar.advance(expected_seconds(job, tables))
                if answer["status"] != "done":
                    log(f"failed: {job.key}: {' '.join(answer['error'].split())}")
                n_done, now = sum(counts.values()), time.perf_counter()
                if n_done == len(todo) or now - said >= LOG_SECONDS:
                    said, left = now, (now - start) * (len(todo) - n_done) / n_done
                    text = f"{n_done} of {len(todo)} jobs done, {counts['failed']} of them failed"
                    log(f"{text}; about {left:.0f} s left")
    finally:
        for worker in workers:
            worker.stop()
    seconds = time.perf_counter() - start
    times = seconds, seconds * max(1, len(workers)), job_seconds
    return Summary(counts["done"], counts["failed"], len(jobs) - len(todo), *times)


def _answers(run, jobs, workers, tables, device, time_limit):
    """Yield (job, answer) in the order jobs finish."""
    queue, idle = deque(jobs), list(workers)
    tries: dict = {}
    busy: dict = {}
    while queue or busy:
        while idle and queue:
            worker, job = idle.pop(), queue.popleft()
            tries[job] = tries.get(job, 0) + 1
            worker.give(run, job, tables[job.dataset], device)
            busy[worker] = job, math.inf
        first = min(deadline for _, deadline in busy.values())
        patience = None if first == math.inf else max(0.0, first - time.monotonic())
        ready = wait([worker.answers for worker in busy], patience)
        for worker, (job, deadline) in list(busy.items()):
            late = worker.answers not in ready
            if late and time.monotonic() < deadline:
                continue
            answer = None if late else worker.take()
            if answer == BEGUN:
                busy[worker] = job, time.monotonic() + (time_limit or math.inf)
                continue
            del busy[worker]
            idle.append(worker)
            if answer is None:
                worker.stop()
                worker.start()
                if not late and tries[job] < ATTEMPTS:
                    queue.appendleft(job)
                    continue
                error = f"its process died {ATTEMPTS} times (out of memory?)"
                if late:
                    error = f"it took longer than the time limit of {time_limit:g} s"
                answer = {"status": "failed", "error": error}
            yield job, answer


class Worker:
    """A process that answers jobs, with one BLAS thread, and the pipe to it."""

    def __init__(self):
        self.start()

    def start(self):
        """Start the process; one that was stopped is replaced by a new one."""
        context = multiprocessing.get_context("spawn")
        self.answers, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        # A new process would run the main module again: a script has no guard for that.
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            self.process.start()
        finally:
            sys.modules["__main__"] = main
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

    def stop(self):
        """End the process."""
        self.process.kill()
        self.process.join()
        self.answers.close()


def serve(pipe):
    """Answer jobs until the pipe closes or the parent is gone."""

    def end_with_the_parent():
        parent = multiprocessing.parent_process()
        assert parent is not None, "a worker is always started by another process"
        wait([parent.sentinel])
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    threading.Thread(target=end_with_the_parent, daemon=True).start()
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


def answer_of(run, *task):
    """Return what a job gave, or why it failed."""
    try:
        return {"status": "done", **run(*task)}
    except Exception as error:
        return failure(error)
