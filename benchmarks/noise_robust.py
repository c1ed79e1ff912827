"""Fit times of the noise-robust classifier, and where they go.

    python benchmarks/noise_robust.py lightgbm              (needs robell[robustness])
    python benchmarks/noise_robust.py large --rows 100000
    python benchmarks/noise_robust.py stages

``lightgbm``: fits to the training rows of the robustness study's sets, as its splits make them, in
turn with LightGBM's (defaults, one thread); medians of CPU time. ``large``: one fit to drawn rows,
20 columns, in turn with RVFLClassifier's, and the memory of the arrays each makes.
``stages``: the time of a fit by what it is spent on. BLAS has one thread, so that CPU time is wall
time, less what other processes take; ratios are of times taken in one run.
"""

import argparse
import os
import sys
import time
import tracemalloc
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from unittest.mock import patch

import numpy as np
import sklearn
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from robell import NoiseRobustRVFLClassifier, RVFLClassifier
from robell._core.ensemble import members
from robell._core.labels import cuts, noise
from robell._core.ridge import loo as loo_path
from robell.comparison.study import gather
from robell.models import noise_robust
from robell.noise import flip_uniformly
from robell.studies.label_noise.jobs import CLEAN, SETS, NoiseJob, Split
from robell.studies.label_noise.models import build

LEVELS = (0, 20, 40)
FEATURES = 20
MODELS = {"NoiseRobustRVFL": NoiseRobustRVFLClassifier, "RVFL": RVFLClassifier}


def progress(text=""):
    if sys.stderr.isatty():
        print(f"\r{text:70}" + ("" if text else "\r"), end="", file=sys.stderr, flush=True)


def fit_seconds(model, X, y):
    """Return the CPU seconds of one fit."""
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def interleaved(make_models, X, y, n_rounds):
    """Return the median CPU seconds of each model's fit, models taken in turn."""
    seconds = [[fit_seconds(make(), X, y) for make in make_models] for _ in range(n_rounds)]
    return np.median(seconds, axis=0)


def load_sets(names):
    tables, unavailable = gather(names, download=False)
    for name, reason in unavailable.items():
        print(f"without {name}: {reason}")
    if not tables:
        sys.exit("none of the sets is here")
    return tables


# -- against LightGBM ----------------------------------------------------------------


def splits(tables, seeds):
    """Yield every level and training part of the study's splits."""
    for level in LEVELS:
        for name, rows in tables.items():
            for seed in seeds:
                kind = "symmetric" if level else CLEAN
                split = Split(NoiseJob(name, rows.digest, kind, level, seed, "noise_robust"), rows)
                yield level, name, seed, split.X_train, split.y_train


def against_lightgbm(arguments):
    tables = load_sets(arguments.sets)
    seconds = {level: {} for level in LEVELS}  # [level][set]: a pair a seed
    for level, name, seed, X, y in splits(tables, arguments.seeds):
        progress(f"{level} %, {name}, seed {seed}")
        models = [partial(build, key, seed, y) for key in ("noise_robust", "lightgbm")]
        pair = interleaved(models, X, y, arguments.rounds)
        seconds[level].setdefault(name, []).append(pair)
    progress()
    print(f"{len(tables)} sets, seeds {arguments.seeds}, median of {arguments.rounds} fits in turn")
    print(f"{'noise':>8}{'ours, ms':>12}{'LightGBM':>12}{'ratio':>8}{'sets faster':>14}")
    for level in LEVELS:
        show_row(f"{level} %", seconds[level].values())
    show_row("all", [pairs for of_level in seconds.values() for pairs in of_level.values()])
    slowest = {name: ratio_of(pairs) for name, pairs in seconds[LEVELS[-1]].items()}
    worst = sorted(slowest, key=slowest.get)[-3:][::-1]
    text = ", ".join(f"{name} {slowest[name]:.2f}" for name in worst)
    print(f"largest ratios at {LEVELS[-1]} %: {text}\n")


def ratio_of(pairs):
    ours, theirs = np.median(pairs, axis=0)
    return ours / theirs


def show_row(label, of_sets):
    """Print the medians over all fits of a level and their ratio."""
    of_sets = list(of_sets)
    ours, theirs = 1e3 * np.median([pair for pairs in of_sets for pair in pairs], axis=0)
    faster = sum(ratio_of(pairs) < 1 for pairs in of_sets)
    row = f"{label:>8}{ours:>12.1f}{theirs:>12.1f}{ours / theirs:>8.2f}"
    print(f"{row}{f'{faster} of {len(of_sets)}':>14}")


# -- many rows -----------------------------------------------------------------------


def make_rows(n_rows):
    """Draw two classes, 9:1, standardised, a fifth of the labels wrong."""
    X, y = make_classification(
        n_rows, FEATURES, n_informative=10, weights=[0.9], class_sep=1.5, random_state=0
    )
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X, flip_uniformly(y, 0.2, 0)[0]


def added_megabytes(model, X, y):
    """Return the most memory that arrays made by a fit take at a time."""
    tracemalloc.start()
    model.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20


def many_rows(arguments):
    for n_rows in arguments.rows:
        X, y = make_rows(n_rows)
        models = [partial(make, random_state=0) for make in MODELS.values()]
        for make in models:
            make().fit(X[:3000], y[:3000])  # load and warm everything
        seconds = interleaved(models, X, y, arguments.rounds)
        print(f"{n_rows:,} x {FEATURES} rows, median of {arguments.rounds} fits in turn")
        for name, make, cpu in zip(MODELS, models, seconds, strict=True):
            added, size = added_megabytes(make(), X, y), X.nbytes / 2**20
            print(f"{name:>16}: {cpu:.2f} s, at most {added:.0f} MiB more (the rows: {size:.0f})")
        print(f"{'ratio':>16}: {seconds[0] / seconds[1]:.1f}\n")


# -- where the time goes -------------------------------------------------------------


class StageClock:
    """CPU time by stage; time in an inner stage is not the outer one's."""

    def __init__(self):
        self.seconds = {}
        self._running = ["rest"]
        self._since = time.process_time()

    def _switch(self):
        now = time.process_time()
        stage = self._running[-1]
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._since
        self._since = now

    def timed(self, stage, function):
        """Return the function with its time taken as this stage's."""

        @wraps(function)
        def run(*args, **kwargs):
            self._switch()
            self._running.append(stage)
            try:
                return function(*args, **kwargs)
            finally:
                self._switch()
                self._running.pop()

        return run


@contextmanager
def staged():
    """Yield a clock that knows the stages of fits made inside."""
    clock = StageClock()
    stages = [
        (members, "fit_centred_ridge", "leave-one-out pass"),
        (members, "grow_forest", "trees"),
        (members, "fit_kernel_layer", "kernel"),
        (members, "radial", "kernel"),
        (members.Drawn, "hidden", "hidden layers"),
        (loo_path, "_eigenbasis", "Gram matrix, eigenvectors"),
        (noise_robust, "fit_slope", "link"),
        (noise_robust, "fit_link", "link"),
        (noise, "common_rate", "noise rates, decision"),
        (noise, "noise_matrix", "noise rates, decision"),
        (cuts, "predicted_share", "noise rates, decision"),
    ]
    with ExitStack() as patches:
        for module, name, stage in stages:
            function = clock.timed(stage, getattr(module, name))
            patches.enter_context(patch.object(module, name, function))
        yield clock
        clock._switch()


def show_stages(title, problems, n_rounds):
    with staged() as clock:
        for _ in range(n_rounds):
            for X, y in problems:
                NoiseRobustRVFLClassifier(random_state=0).fit(X, y)
    total = sum(clock.seconds.values())
    print(f"{title}: {1e3 * total / n_rounds / len(problems):.1f} ms a fit")
    for stage, seconds in sorted(clock.seconds.items(), key=lambda item: -item[1]):
        print(f"{stage:>28}: {seconds / total:6.1%}")
    print()


def where_the_time_goes(arguments):
    tables = load_sets(arguments.sets)
    problems = [
        (X, y) for level, *_, X, y in splits(tables, arguments.seeds[:1]) if level == LEVELS[1]
    ]
    for X, y in problems[:3]:
        NoiseRobustRVFLClassifier(random_state=0).fit(X, y)
    title = f"mean of {len(problems)} sets, {LEVELS[1]} % noise"
    show_stages(title, problems, arguments.rounds)
    for n_rows in arguments.rows:
        show_stages(f"{n_rows:,} x {FEATURES} rows", [make_rows(n_rows)], 1)


PARTS = {"lightgbm": against_lightgbm, "large": many_rows, "stages": where_the_time_goes}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12])
    parser.add_argument("--rounds", type=int, default=3, help="fits of each model in turn")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000])
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"no part {sorted(unknown)[0]!r}: choose from {', '.join(PARTS)}")
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    with threadpool_limits(1):
        print(
            f"one thread of {os.cpu_count()} cores; NumPy {np.__version__}, "
            f"scikit-learn {sklearn.__version__}\n"
        )
        for part in arguments.parts or PARTS:
            PARTS[part](arguments)
    print(
        "goal: median fit at most three times LightGBM's; 100,000 x 20 rows in at most 12 times\n"
        "RVFLClassifier's fit"
    )


if __name__ == "__main__":
    main()
