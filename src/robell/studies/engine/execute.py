"""Jobs in processes: a few workers carry them out, the parent stores every record.

A result depends on its job alone, so neither the number of workers nor the order matters. A worker
that dies (killed for memory, say) is replaced and its job is tried once more.
"""

from __future__ import annotations

import os
import time
from collections import deque
from dataclasses import asdict, dataclass
from multiprocessing.connection import wait

from robell._core.tools.progress import Progress
from robell.studies.engine.jobs import expected_seconds
from robell.studies.engine.store import StudyError, machine, versions
from robell.studies.engine.worker import Worker

ATTEMPTS = 2


@dataclass(frozen=True)
class Summary:
    """What a run did: numbers of jobs, and seconds.

    ``stored`` counts the jobs that had been finished before; ``worker_seconds`` is the wall-clock
    time times the number of workers, of which ``job_seconds`` were spent inside jobs.
    """

    done: int
    failed: int
    stored: int
    seconds: float
    worker_seconds: float
    job_seconds: float


def default_workers():
    """Return how many processes this machine has cores for."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def execute(study, jobs, tables, store, *, n_workers=1, progress=True, device="cpu"):
    """Carry out the jobs that are not stored yet; store each as it finishes; return a Summary.

    ``study.run`` carries out one job; its answer may say ``status="failed"`` itself. Jobs start
    with the longest where ``study.longest_first`` says so, so that no worker is left alone with a
    long one at the end; otherwise in the order given.
    """
    start = time.perf_counter()
    if device != "cpu":
        _require_device(device)
    todo = [job for job in jobs if not store.is_done(job.key)]
    if study.longest_first:
        todo.sort(key=lambda job: -expected_seconds(job, tables))
    n_workers = min(n_workers, len(todo))
    common = {"versions": versions(), "machine": machine()}
    counts = {"done": 0, "failed": 0}
    job_seconds = 0.0
    total = sum(expected_seconds(job, tables) for job in todo)
    workers = []
    try:
        workers += [Worker() for _ in range(n_workers)]
        with Progress(total, "study", patience=2.0 if progress else float("inf")) as bar:
            for job, answer in _answers(study.run, deque(todo), workers, tables, device):
                job_seconds += answer.get("seconds", {}).get("total", 0.0)
                counts[answer["status"]] += 1
                about = {"data": tables[job.dataset].about}
                store.append({"key": job.key, "job": asdict(job), **answer, **about, **common})
                bar.advance(expected_seconds(job, tables))
    finally:
        for worker in workers:
            worker.stop()
    seconds = time.perf_counter() - start
    return Summary(
        **counts,
        stored=len(jobs) - len(todo),
        seconds=seconds,
        worker_seconds=seconds * max(1, n_workers),
        job_seconds=job_seconds,
    )


def _require_device(device):
    from robell._core.ridge.sweep_torch import require_device

    try:
        require_device(device)
    except (ImportError, ValueError, RuntimeError) as error:
        raise StudyError(str(error)) from error


def _answers(run, queue, workers, tables, device):
    """Yield (job, answer) in the order jobs finish."""
    tries = {}
    idle = list(workers)
    busy = {}
    while queue or busy:
        while idle and queue:
            worker, job = idle.pop(), queue.popleft()
            tries[job] = tries.get(job, 0) + 1
            worker.give(run, job, tables[job.dataset], device)
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
                error = f"its process died {ATTEMPTS} times (out of memory?)"
                answer = {"status": "failed", "error": error}
            yield job, answer
