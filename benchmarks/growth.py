"""How the cost of fits and memberships grows: rows, columns, nodes and classes, one at a time.

    python benchmarks/growth.py
    python benchmarks/growth.py exact

Every measurement runs in a process of its own, one thread: CPU seconds, and by how much the call
raised the most memory the process had taken until then (the table itself is not counted). Usual
sizes: 20,000 rows (10,000 for exact memberships), 20 columns, 100 nodes, 2 classes.
"""

import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

USUAL = {"rows": 10_000, "columns": 20, "nodes": 100, "classes": 2}
FITS = {
    "RVFL": {
        "rows": [100_000, 400_000],
        "columns": [40, 160],
        "nodes": [200, 800],
        "classes": [2, 8],
    },
    "exact memberships": {"rows": [10_000, 20_000], "columns": [40, 160], "classes": [2, 8]},
    "approximate memberships": {"rows": [50_000, 100_000], "columns": [40, 160], "classes": [2, 8]},
}


def call_of(work, X, y, nodes):
    from robell import RVFLClassifier, pw_gbell_membership

    width = float(np.sqrt(X.shape[1]))
    if work == "RVFL":
        model = RVFLClassifier(nodes, random_state=0)
        return lambda n: model.fit(X[:n], y[:n])
    method = work.split()[0]
    return lambda n: pw_gbell_membership(
        X[:n], y[:n], width, membership=method, random_state=0, n_jobs=1
    )


def measure(work, size):
    rng = np.random.default_rng(0)
    y = rng.integers(0, size["classes"], size["rows"])
    X = rng.normal(size=(size["classes"], size["columns"]))[y]
    X += rng.normal(size=X.shape)
    call = call_of(work, X, y, size["nodes"])
    call(1000)  # loads and warms everything
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    call(len(X))
    cpu = time.process_time() - start
    return cpu, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def in_own_process(work, size):
    command = [sys.executable, __file__, "--measure", work, json.dumps(size)]
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | threads
    )
    return json.loads(done.stdout)


def main():
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2], json.loads(sys.argv[3]))))
        return
    for work, varied in FITS.items():
        if sys.argv[1:] and work.split()[0] not in sys.argv[1:]:
            continue
        for what, values in varied.items():
            usual = USUAL | {"rows": 20_000 if work != "exact memberships" else 10_000}
            found = [in_own_process(work, usual | {what: value}) for value in values]
            power = np.log(found[-1][0] / found[-2][0]) / np.log(values[-1] / values[-2])
            cells = ", ".join(
                f"{value:,}: {cpu:.2f} s {memory:.0f} MB"
                for value, (cpu, memory) in zip(values, found, strict=True)
            )
            print(f"{work:24}{what:9}{cells}; power {power:.2f}", flush=True)


if __name__ == "__main__":
    main()
