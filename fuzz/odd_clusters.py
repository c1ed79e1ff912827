"""Fit on a Dask cluster, kill some of it at a random moment, and compare the model bit for bit.

    python fuzz/odd_clusters.py 17        one case, judged in this process, as a line of JSON

Scheduler and workers are processes of their own, as on several machines. Allowed are the model of
an undisturbed fit, and a ClusterError of one line.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np
from odd_calls import Verdict

FAULTS = (
    *("a worker", "a machine", "all workers", "the scheduler", "a worker in every pass"),
    *("a worker out of memory", "a partition that raises", "partitions spilled to disk"),
)
FROM_WITHIN = FAULTS[4:]  # these need nobody to kill anything
MEMORY = {FAULTS[5]: "600MB", FAULTS[7]: "2GB"}  # of a worker; of others without a limit
SPILL = {"TARGET": "0.00001", "SPILL": "False", "PAUSE": "False"}  # of 2 GB: more than 20 kB
N_WORKERS = 2
PATIENCE = 180  # seconds of one case, starting the cluster included
MODELS = ("RVFLClassifier", "ELMClassifier", "RoBellRVFLClassifier")


def fault_of(seed):
    """Return what is killed in a case."""
    return FAULTS[seed % len(FAULTS)]


def judge_cluster(seed):
    """Judge one case in a process of its own: clusters leave threads behind."""
    line = [sys.executable, __file__, str(seed)]
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Verdict("failure", f"{fault_of(seed)} killed: hang", f"over {PATIENCE} s")
    if process.returncode != 0 or not out.strip():
        last = (err.strip().splitlines() or ["no word"])[-1]
        return Verdict("failure", f"{fault_of(seed)} killed: the process died, {last[:60]}", err)
    return Verdict(**json.loads(out.strip().splitlines()[-1]))


# -- the cluster -----------------------------------------------------------------------


@contextmanager
def _cluster(folder, fault):
    """Start a scheduler and workers; give the scheduler's file and all processes."""
    place = folder / "scheduler.json"
    common = ["--scheduler-file", str(place), "--no-dashboard"]
    scheduler = [*common, "--host", "127.0.0.1", "--port", "0", "--idle-timeout", "120"]
    memory = MEMORY.get(fault, "0")
    worker = [*common, "--nthreads", "1", "--memory-limit", memory, "--death-timeout", "30"]
    worker += ["--host", "127.0.0.1", "--local-directory", str(folder)]
    settings = SPILL if fault == "partitions spilled to disk" else {}
    env = {f"DASK_DISTRIBUTED__WORKER__MEMORY__{name}": v for name, v in settings.items()}
    started = [_start("dask_scheduler", scheduler, {})]
    try:
        started += [_start("dask_worker", worker, env) for _ in range(N_WORKERS)]
        yield place, started
    finally:
        for process in started:
            _kill_group(process)


def _start(module, options, env):
    line = [sys.executable, "-m", f"distributed.cli.{module}", *options]
    silence = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(line, start_new_session=True, env=os.environ | env, **silence)


def _kill_group(process):
    """Kill a process and all it has started, as a machine that loses its power does."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


# -- one case --------------------------------------------------------------------------


def _case(r):
    """Return a model, its rows in slow blocks, and the same rows at hand."""
    import dask.array as da
    from sklearn.datasets import make_classification
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import robell

    X, y = make_classification(
        2000, 6, n_informative=4, weights=[0.8], random_state=r.randrange(99)
    )
    settings = {"kernel_width": "scale"} if (name := r.choice(MODELS)).startswith("Ro") else {}
    model = getattr(robell, name)(r.choice((5, 20)), random_state=0, **settings)
    if r.random() < 0.5:
        model = make_pipeline(StandardScaler(), model)
    size = r.choice((100, 150, 400))
    return model, da.from_array(X, (size, -1)), da.from_array(y, size)


def _touch(folder, fault):
    """Return a function of a block that takes its time; in a pass it meets a fault from within."""

    def harm():
        if fault == "a worker in every pass":
            os.kill(os.getpid(), signal.SIGKILL)
        hoard = []
        while fault == "a worker out of memory" and len(hoard) < 40:
            hoard.append(np.ones(6_000_000))
            time.sleep(0.1)

    def touch(rows, block_info=None):
        time.sleep(0.1)
        if fault in FROM_WITHIN and block_info and block_info[0]["chunk-location"][0] == 2:
            if fault == "a partition that raises":
                raise OSError(5, "Input/output error\nof a disk")
            for number in range(40):
                try:
                    os.close(os.open(f"{folder}/visit-{number}", os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                if number % 2 == 0:  # the next visit is the retry of this one
                    harm()
                break
        return rows

    return touch


def _kill_later(fault, seconds, client, started):
    """Kill what the fault says after some seconds, in a thread; return it, and whether it has."""
    pids = list(client.run(os.getpid).values())  # of the workers, which their nannies start again
    struck = threading.Event()

    def strike():
        struck.set()
        if fault == "the scheduler":
            _kill_group(started[0])
        elif fault == "a machine":
            _kill_group(started[1])
        else:
            for pid in pids if fault == "all workers" else pids[:1]:
                os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(seconds, strike)
    timer.start()
    return timer, struck


def _numbers(model):
    last = model[-1] if hasattr(model, "steps") else model
    names = ("coef_", "intercept_", "calibration_slope_", "calibration_offsets_", "C_")
    return [np.asarray(getattr(last, name)).tobytes() for name in names]


def _judge_here(seed, folder):
    import dask
    from distributed import Client

    import robell.dask

    r, fault = random.Random(seed), fault_of(seed)
    model, rows, y = _case(r)
    with dask.config.set(scheduler="synchronous"):
        expected = _numbers(robell.dask.fit(model, rows, y))
    touched = rows.map_blocks(_touch(folder, fault), dtype=float, meta=np.empty((0, 0)))
    passes = 6 if "RoBell" in repr(model) else 3
    seconds = r.random() * (passes * rows.numblocks[0] * 0.1 / N_WORKERS + 0.5)
    with _cluster(folder, fault) as (place, started):
        client = Client(scheduler_file=str(place), set_as_default=False, timeout=60)
        client.wait_for_workers(N_WORKERS, timeout=60)
        if fault in FROM_WITHIN:
            return _judge_within(fault, model, (touched, y, client), expected, folder)
        struck = False
        while not struck:  # or again, sooner, where the fit was done before
            timer, event = _kill_later(fault, seconds, client, started)
            verdict = _verdict(fault, model, (touched, y, client), expected)
            timer.cancel()
            struck, seconds = event.is_set(), seconds / 2
        return verdict


def _judge_within(fault, model, arguments, expected, folder):
    """Fit while blocks do harm, or, spilled, wait on disk; say what came of it."""
    touched, y, client = arguments
    if fault == "partitions spilled to disk":
        from distributed import wait

        touched = client.persist(touched)
        with client.as_current():
            wait(touched)
        spilled = client.run(lambda dask_worker: len(dask_worker.data.disk))
        if not sum(spilled.values()):
            return Verdict("failure", f"{fault}: nothing was spilled", repr(spilled))
    verdict = _verdict(fault, model, (touched, y, client), expected)
    if fault.startswith("a worker") and not (folder / "visit-1").exists():
        return Verdict("failure", f"{fault}: no worker died of it", repr(model))
    return verdict


def _verdict(fault, model, arguments, expected):
    """Fit, and say what came of it."""
    import robell.dask

    try:
        found = _numbers(robell.dask.fit(model, *arguments))
    except robell.dask.ClusterError as error:
        if "\n" in str(error):
            return Verdict("failure", f"{fault} killed: an error of several lines", str(error))
        return Verdict("refusal", detail=str(error))
    except Exception as error:
        raised = fault == "a partition that raises" and "partition 2: OSError" in str(error)
        if raised and "\n" not in str(error):
            return Verdict("refusal", detail=str(error))
        kind = f"{fault} killed: {type(error).__name__}"
        return Verdict("failure", kind, " ".join(str(error).split())[:300])
    if found != expected:
        return Verdict("failure", f"{fault} killed: another model", repr(model))
    return Verdict("answer")


def main():
    """Judge the case whose seed is given, and print the verdict."""
    with tempfile.TemporaryDirectory(prefix="robell-cluster-") as folder:
        verdict = _judge_here(int(sys.argv[1]), Path(folder))
        print(json.dumps(asdict(verdict)), flush=True)
        sys.stdout.flush()
    os._exit(0)  # threads of a client without its scheduler would wait


if __name__ == "__main__":
    main()
