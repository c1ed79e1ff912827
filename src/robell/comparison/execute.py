"""Jobs in processes: a few workers carry them out, the parent stores every record.

A result depends on its job alone, so neither the number of workers nor the order matters. A worker
that dies (killed for memory, say) is replaced and its job is tried once more.
"""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import asdict, dataclass
from multiprocessing.connection import wait

from robell._tools.progress import Progress
from robell.comparison.jobs import expected_seconds
from robell.comparison.store import StudyError, machine, versions
from robell.comparison.worker import BEGUN, Worker

ATTEMPTS = 2
LOG_SECONDS = 15


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


def execute(
    study, jobs, tables, store, *, n_workers=1, progress=True, device="cpu", time_limit=None
):
    """Carry out the jobs that are not stored yet; store each as it finishes; return a Summary.

    ``study.run`` carries out one job; its answer may say ``status="failed"`` itself. Jobs start
    with the longest where ``study.longest_first`` says so, so that no worker is left alone with a
    long one at the end; otherwise in the order given. A job that takes more seconds than the time
    limit fails, and its process is ended.
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
        log = ProgressLog(store.folder / "progress.log", len(todo), len(jobs))
        with Progress(total, "study", patience=2.0 if progress else float("inf")) as bar:
            for job, answer in _answers(study.run, todo, workers, tables, device, time_limit):
                job_seconds += answer.get("seconds", {}).get("total", 0.0)
                counts[answer["status"]] += 1
                about = {"data": tables[job.dataset].about}
                store.append({"key": job.key, "job": asdict(job), **answer, **about, **common})
                bar.advance(expected_seconds(job, tables))
                log.count(job, answer)
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
            answer = worker.take() if worker.answers in ready else None
            if answer == BEGUN:
                busy[worker] = job, time.monotonic() + (time_limit or math.inf)
                continue
            late = worker.answers not in ready
            if late and time.monotonic() < deadline:
                continue
            del busy[worker]
            idle.append(worker)
            if answer is None:
                worker.restart()
                if not late and tries[job] < ATTEMPTS:
                    queue.appendleft(job)
                    continue
                error = f"its process died {ATTEMPTS} times (out of memory?)"
                if late:
                    error = f"it took longer than the time limit of {time_limit:g} s"
                answer = {"status": "failed", "error": error}
            yield job, answer


class ProgressLog:
    """Lines in a file that say how far a study is: every failure, and every so often."""

    def __init__(self, path, total, planned):
        self.path, self.total, self.done, self.failed = path, total, 0, 0
        self.start = self.said = time.monotonic()
        self._say(f"{total} of {planned} jobs to do")

    def count(self, job, answer):
        """Count one job."""
        self.done += 1
        now = time.monotonic()
        if answer["status"] != "done":
            self.failed += 1
            self._say(f"failed: {job.key}: {' '.join(answer['error'].split())}")
        if self.done == self.total or now - self.said >= LOG_SECONDS:
            self.said = now
            left = (now - self.start) * (self.total - self.done) / self.done
            text = f"{self.done} of {self.total} jobs done, {self.failed} of them failed"
            self._say(f"{text}; about {left:.0f} s left")

    def _say(self, text):
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {text}\n")
