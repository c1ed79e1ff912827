"""The classifier for wrong labels on many rows: fitted to all, or to a sample of them.

    python benchmarks/noise_robust_scale.py memory --rows 100000   (needs robell[robustness])
    python benchmarks/noise_robust_scale.py speed --rows 100000 1000000
    python benchmarks/noise_robust_scale.py limits --rows 100000
    python benchmarks/noise_robust_scale.py gpu --rows 1000000     (needs robell[gpu], CUDA)
    python benchmarks/noise_robust_scale.py dask --rows 10000000   (needs robell[dask])

Rows are drawn from two mixtures of Gaussians whose classes overlap, 20 columns, one row in ten of
the minority. ``memory``: each model is fitted in a process of its own, one thread, to the same rows
with right labels and with 20 % wrong ones, and scored on 100,000 new rows with right labels:
balanced accuracy and area under the ROC curve, CPU seconds of the fit, and the most memory of the
process less the most it had held before the fit. The sample is that of ``fit_files`` and of Dask.
``speed``: fits in turn, one thread each, ``--repeats`` rounds; medians of CPU seconds, and of
ratios to LightGBM's in the same round. Then two threads (``n_jobs=2``): the part of the CPU seconds
that the calling thread spends itself, and what that leaves at best of two idle cores; seconds on
the clock, which mean something on an idle machine only. ``limits``: fits with and without the
rules for more than 50,000 rows, the same seeds; how balanced accuracy, AUC and Brier score on
40,000 new rows change. ``gpu``: tensors in single and in double precision on a CUDA device, seconds
on the clock from tensors to a fitted model, with what goes to the host and back; probabilities of
20,000 new rows are compared with those of arrays.
``dask``: Parquet files, made here and removed at the end, 20 % of the labels wrong; a LocalCluster
of two workers with one thread and 2 GiB each. CPU seconds are those of the workers, and of this
process for the fit to the sample.
"""

import argparse
import multiprocessing
import os
import resource
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from threadpoolctl import threadpool_limits

from robell import NoiseRobustRVFLClassifier, RVFLClassifier
from robell.noise import flip_uniformly
from robell.scale.out_of_core import OutOfCoreFit

N_FEATURES = 20
NAMES = [f"x{j}" for j in range(N_FEATURES)]
N_NEW = 100_000
BATCH = 65_536


# -- rows --------------------------------------------------------------------------------


def draw(n_rows, number):
    """Draw rows of eight Gaussians a class, which overlap, and their right labels."""
    rng = np.random.default_rng([11, number])
    centres = np.random.default_rng(11).normal(scale=0.9, size=(16, N_FEATURES))
    y = (rng.random(n_rows) < 0.1).astype(int)
    X = rng.normal(size=(n_rows, N_FEATURES))
    X += centres[rng.integers(0, 8, n_rows) + 8 * y]
    return X, y


def noisy(y, noise, number):
    return flip_uniformly(y, noise, number)[0] if noise else y


# -- models ------------------------------------------------------------------------------


def fit_whole(X, y):
    return NoiseRobustRVFLClassifier(random_state=0).fit(X, y)


def fit_sample(X, y):
    """Fit in passes, as files and partitions are."""
    job = OutOfCoreFit(NoiseRobustRVFLClassifier(random_state=0), [0, 1], N_FEATURES)
    for step in job.passes():
        total = None
        for start in range(0, len(X), BATCH):
            part = step.map(X[start : start + BATCH], y[start : start + BATCH])
            total = part if total is None else step.reduce(total, part)
        step.finish(total)
    return job.estimator()


def fit_rvfl(X, y):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = RVFLClassifier(class_weight="balanced", random_state=0)
    return make_pipeline(StandardScaler(), model).fit(X, y)


def fit_lightgbm(X, y):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, class_weight="balanced", verbose=-1, random_state=0).fit(X, y)


MODELS = {
    "all rows": fit_whole,
    "sample": fit_sample,
    "RVFL, balanced": fit_rvfl,
    "LightGBM, balanced": fit_lightgbm,
}


def scores(model, columns=None):
    """Return balanced accuracy and area under the curve on new rows with right labels."""
    X, y = draw(N_NEW, 10**6)
    if columns is not None:
        import pandas

        X = pandas.DataFrame(X, columns=columns)
    found = balanced_accuracy_score(y, model.predict(X))
    return found, roc_auc_score(y, model.predict_proba(X)[:, 1])


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# -- in memory ---------------------------------------------------------------------------


def fit_and_score(name, n_rows, noise, results):
    """Fit one model in a process of its own."""
    with threadpool_limits(1):
        X, y = draw(n_rows, 0)
        y = noisy(y, noise, 0)
        MODELS[name](X[:3000], y[:3000])  # load and warm everything
        before, cpu = peak_megabytes(), time.process_time()
        model = MODELS[name](X, y)
        cpu, more = time.process_time() - cpu, peak_megabytes() - before
        results.put((*scores(model), cpu, more, vars(model).get("n_samples_fitted_", n_rows)))


def in_own_process(*arguments):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=fit_and_score, args=(*arguments, results))
    process.start()
    found = results.get()
    process.join()
    return found


def in_memory(arguments):
    head = f"{'':20}{'fitted to':>11}{'bal. acc.':>11}{'AUC':>8}{'CPU s':>9}{'more MB':>9}"
    for n_rows in arguments.rows:
        for noise in arguments.noise:
            print(f"{n_rows:,} x {N_FEATURES} rows, {noise:.0%} of the labels wrong\n{head}")
            for name in arguments.models:
                accuracy, area, cpu, more, fitted = in_own_process(name, n_rows, noise)
                row = f"{name:20}{fitted:11,}{accuracy:11.4f}{area:8.4f}{cpu:9.1f}{more:9.0f}"
                print(row, flush=True)
            print()


# -- speed -------------------------------------------------------------------------------


def in_turn(fits, clock, repeats):
    """Return the seconds of every fit, by name, round after round."""
    seconds = {name: [] for name in fits}
    for _ in range(repeats):
        for name, fit in fits.items():
            start = clock()
            fit()
            seconds[name].append(clock() - start)
    return {name: np.array(values) for name, values in seconds.items()}


def of_speed(arguments):
    names = "all rows", "RVFL, balanced", "LightGBM, balanced"
    for n_rows in arguments.rows:
        X, y = draw(n_rows, 0)
        y = noisy(y, 0.2, 0)
        for name in names:
            MODELS[name](X[:3000], y[:3000])  # load and warm everything
        with threadpool_limits(1):
            fits = {name: partial(MODELS[name], X, y) for name in names}
            seconds = in_turn(fits, time.process_time, arguments.repeats)
            print(f"{n_rows:,} x {N_FEATURES} rows, one thread: CPU s, ratio to LightGBM's")
            for name, found in seconds.items():
                ratio = np.median(found / seconds["LightGBM, balanced"])
                print(f"{name:20}{np.median(found):9.2f}{ratio:9.2f}", flush=True)
            in_two_threads(X, y)
        print()


def in_two_threads(X, y):
    """Print what of a fit is shared out to two threads."""
    clocks = time.process_time, time.thread_time, time.perf_counter
    spent = []
    for n_jobs in (1, 2):
        starts = [clock() for clock in clocks]
        model = NoiseRobustRVFLClassifier(n_jobs=n_jobs, random_state=0).fit(X, y)
        spent.append([clock() - start for clock, start in zip(clocks, starts, strict=True)])
    (one, _, one_wall), (two, alone, two_wall) = spent
    start = time.process_time()
    model.predict_proba(X)
    predicting = time.process_time() - start
    gain = one / (alone + (two - alone) / 2)
    print(
        f"two threads: {two:.2f} CPU s, {alone / two:.0%} of them in the calling thread: at best "
        f"{gain:.2f} times faster\non the clock here: {one_wall:.2f} s, {two_wall:.2f} s; "
        f"predict_proba of all rows {predicting:.2f} CPU s",
        flush=True,
    )


def draw_waves(n_rows, number):
    """Draw rows whose class depends on a wave, a product, a fold and a step, and their labels."""
    rng = np.random.default_rng([7, number])
    X = rng.uniform(-2, 2, size=(n_rows, 10))
    level = np.sin(2 * X[:, 0]) * X[:, 1] + np.abs(X[:, 2]) - 0.5 * X[:, 3] * (X[:, 4] > 0)
    return X, (level + 0.2 * rng.normal(size=n_rows) > 1.5).astype(int)


def quality_of(model, X, y):
    P = model.predict_proba(X)[:, 1]
    accuracy = balanced_accuracy_score(y, model.predict(X))
    return np.array([accuracy, roc_auc_score(y, P), np.square(P - y).mean()])


def of_limits(arguments):
    """Print what the rules for many rows change."""
    from robell._core.ensemble import members, trees
    from robell._core.ridge import loo
    from robell.models import noise_robust as judgement

    print(
        "balanced accuracy, AUC, Brier score without the rules; with them less without, mean, s.d."
    )
    for make in (draw, draw_waves):
        new, truth = make(40_000, 10**6)
        for n_rows in arguments.rows:
            for noise in arguments.noise:
                found = []
                for seed in range(arguments.repeats):
                    X, y = make(n_rows, 50 + seed)
                    y = noisy(y, noise, seed)
                    for most in (n_rows, 50_000):
                        loo.MOST_EXACT = judgement.MOST_EXACT = most
                        members.MOST_EXACT = trees.MOST_COMPARED = most
                        model = NoiseRobustRVFLClassifier(random_state=seed).fit(X, y)
                        found.append(quality_of(model, new, truth))
                whole, ruled = np.array(found[::2]), np.array(found[1::2])
                shown = (
                    whole.mean(axis=0),
                    (ruled - whole).mean(axis=0),
                    (ruled - whole).std(axis=0),
                )
                print(
                    make.__name__,
                    f"{n_rows:,}",
                    noise,
                    *(part.round(4) for part in shown),
                    flush=True,
                )


def on_device(arguments):
    os.environ["SCIPY_ARRAY_API"] = "1"
    import torch
    from sklearn import config_context

    if not torch.cuda.is_available():
        raise SystemExit("no CUDA device")
    print(torch.cuda.get_device_name())
    new, _ = draw(20_000, 10**6)
    for n_rows in arguments.rows:
        X, y = draw(n_rows, 0)
        y = noisy(y, 0.2, 0)
        for dtype in (torch.float32, torch.float64):
            rows = torch.as_tensor(X, dtype=dtype, device="cuda")
            labels = torch.as_tensor(y, device="cuda")
            with config_context(array_api_dispatch=True):
                fit_whole(rows, labels)  # load and warm everything
                seconds = []
                for _ in range(5):
                    torch.cuda.synchronize()
                    start = time.perf_counter()
                    model = fit_whole(rows, labels)
                    torch.cuda.synchronize()
                    seconds.append(time.perf_counter() - start)
                start = time.perf_counter()
                model.predict_proba(rows)
                torch.cuda.synchronize()
                predicting = time.perf_counter() - start
                found = model.predict_proba(torch.as_tensor(new, dtype=dtype, device="cuda"))
            kind = str(dtype).removeprefix("torch.float")
            given = (np.asarray(a, f"f{int(kind) // 8}") for a in (X, new))
            X_kind, new_kind = given
            expected = fit_whole(X_kind, y).predict_proba(new_kind)
            apart = np.abs(found.cpu().numpy() - expected).max()
            most = torch.cuda.max_memory_allocated() / 2**20
            print(
                f"{n_rows:,} x {N_FEATURES}, float{kind}: fit {np.median(seconds):.3f} s "
                f"({min(seconds):.3f} to {max(seconds):.3f}), all rows scored {predicting:.3f} s, "
                f"{most:.0f} MiB on the device, probabilities within {apart:.1e} of arrays'",
                flush=True,
            )


# -- Dask ----------------------------------------------------------------------------------


def write_part(folder, number, n_rows):
    import pandas

    X, y = draw(n_rows, number + 1)
    frame = pandas.DataFrame(X, columns=NAMES).assign(y=noisy(y, 0.2, number))
    frame.to_parquet(folder / f"part-{number:05}.parquet", index=False)


def worker_figures(dask_worker=None):
    spilt = dask_worker.data.cumulative_metrics["disk-write", "bytes"]
    return time.process_time(), peak_megabytes(), spilt


def on_cluster(folder, n_rows):
    import dask.dataframe
    from distributed import Client, LocalCluster

    import robell.dask

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="2GiB", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        rows = dask.dataframe.read_parquet(folder, filesystem="pyarrow")
        before, start, own = client.run(worker_figures), time.perf_counter(), time.process_time()
        with threadpool_limits(1):
            model = robell.dask.fit(NoiseRobustRVFLClassifier(random_state=0), rows, "y", client)
        wall, own = time.perf_counter() - start, time.process_time() - own
        after = client.run(worker_figures)
        assert before.keys() == after.keys(), "a worker was killed"
    cpu = sum(after[w][0] - before[w][0] for w in after)
    most, spilt = (max(found[k] for found in after.values()) for k in (1, 2))
    accuracy, area = scores(model, NAMES)
    print(
        f"fitted to {model.n_samples_fitted_:,} of {model.n_samples_seen_:,} rows in {wall:.0f} s\n"
        f"CPU seconds: workers {cpu:.1f} ({n_rows / cpu:,.0f} rows a second), here {own:.1f}\n"
        f"largest worker {most:.0f} MB, {spilt} bytes spilt; here {peak_megabytes():.0f} MB\n"
        f"balanced accuracy {accuracy:.4f}, AUC {area:.4f}, wrong labels {model.noise_rate_:.1%}"
    )


def with_dask(arguments):
    for n_rows in arguments.rows:
        folder = Path(tempfile.mkdtemp(prefix="robell-noise-", dir=arguments.folder))
        try:
            n_parts = max(1, n_rows // arguments.part_rows)
            for number in range(n_parts):
                write_part(folder, number, arguments.part_rows)
            size = sum(file.stat().st_size for file in folder.iterdir()) / 1e9
            print(f"{n_rows:,} x {N_FEATURES} rows in {n_parts} Parquet files, {size:.2f} GB")
            on_cluster(folder, n_rows)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


PARTS = {
    "memory": in_memory,
    "speed": of_speed,
    "limits": of_limits,
    "gpu": on_device,
    "dask": with_dask,
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.2], metavar="SHARE")
    parser.add_argument("--repeats", type=int, default=3, help="rounds of fits in turn")
    parser.add_argument("--part-rows", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where to put files (default: temporary)")
    arguments = parser.parse_args()
    print(f"one thread of {os.cpu_count()} cores\n")
    PARTS[arguments.part](arguments)


if __name__ == "__main__":
    main()
