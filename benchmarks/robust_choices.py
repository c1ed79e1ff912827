r"""NoiseRobustRVFLClassifier, changes of it, and untuned peers on the tables it was chosen on.

    python benchmarks/robust_choices.py --variants "as it is" "no cleaning"
    python benchmarks/robust_choices.py --levels 0 20 --kinds symmetric --seeds 2
    python benchmarks/robust_choices.py --noise-columns 20 --variants "as it is" --peers
    python benchmarks/robust_choices.py --kinds symmetric --seeds 3 --variants "as it is" \
        --peers rvfl_balanced     (which fits say that they may be lost)

Prints the means over tables of every metric at each kind and level of noise: of the variants, of
the best peer in each cell, and the lead of the first variant with its standard error over tables.
Peers' figures are kept in ``--cache`` and not computed again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
from choosing_tables import FEWEST_COLUMNS_OF_WIDE, SEVERAL, TWO_CLASSES, split, table
from joblib import Parallel, delayed
from robust_variants import VARIANTS
from scipy.special import expit, softmax
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    log_loss,
    roc_auc_score,
)
from threadpoolctl import threadpool_limits

from robell.metrics import expected_calibration_error, g_mean_score
from robell.models.noise_robust import NoSignalWarning
from robell.studies.label_noise.models import build

PEERS = ["logistic", "svc", "forest", "balanced_forest", "lightgbm", "rvfl_balanced"]
METRICS = ["balanced acc.", "G-mean", "F1", "ROC AUC", "avg. prec.", "calibration", "log loss"]
FAR_BELOW = 0.1
SMALLER_IS_BETTER = {"calibration", "log loss"}
SYMMETRIC = [("symmetric", level) for level in (0, 10, 20, 30, 40)]
BOUNDARY = [
    (f"boundary ({how})", level) for how in ("logistic", "nearest", "forest") for level in (10, 30)
]
ONE_SIDED = [("one class", 30), ("other class", 5)]
CELLS = {
    "two": SYMMETRIC + BOUNDARY + ONE_SIDED,
    "several": [("symmetric", level) for level in (0, 20, 40)],
}


def figures(model, X, y):
    """Return the seven metrics of a fitted model."""
    classes = np.arange(y.max() + 1)
    predicted = model.predict(X)
    try:
        P = model.predict_proba(X)
    except AttributeError:  # SVC: a sigmoid of its scores, as good as it has
        scores = model.decision_function(X)
        P = softmax(scores, axis=1) if scores.ndim == 2 else np.c_[expit(-scores), expit(scores)]
    full = np.full((len(y), len(classes)), 1e-12)
    full[:, model.classes_] = P
    full /= full.sum(axis=1, keepdims=True)
    found = [
        balanced_accuracy_score(y, predicted),
        g_mean_score(y, predicted),
        f1_score(y, predicted, average="binary" if len(classes) == 2 else "macro"),
        roc_auc_score(y, P[:, 1]) if len(classes) == 2 else np.nan,
        average_precision_score(y, P[:, 1]) if len(classes) == 2 else np.nan,
        expected_calibration_error(y, full[:, 1] if len(classes) == 2 else full, labels=classes),
        log_loss(y, full, labels=classes),
    ]
    return [float(value) for value in found]


def judge(name, several, kind, level, seed, n_noise, models):
    """Return the metrics of several models in one cell, and the CPU time of their fits.

    Rows get ``n_noise`` columns that say nothing.
    """
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        X, noisy, true, X_test, y_test = split(name, several, kind, level, seed)
        rng = np.random.default_rng([seed, level])
        X, X_test = (
            np.hstack([rows, rng.normal(size=(len(rows), n_noise))]) for rows in (X, X_test)
        )
        found = {}
        for label in models:
            with ExitStack() as stack:
                if label in PEERS:
                    model = build(label, seed, noisy)
                else:
                    model, replaced = VARIANTS[label]
                    model.set_params(random_state=seed)
                    for where, what, value in replaced:
                        stack.enter_context(patch.object(where, what, value))
                caught.clear()
                start = time.process_time()
                model.fit(X, noisy)
                seconds = time.process_time() - start
                found[label] = [*figures(model, X_test, y_test), flips_found(model, noisy, true)]
                warned = any(issubclass(one.category, NoSignalWarning) for one in caught)
                found[label] += [float(warned), seconds]
    return found


def flips_found(model, noisy, true):
    """Return the average precision of the wrong labels by quality, where a model judges labels."""
    if not hasattr(model, "sample_quality_") or not (noisy != true).any():
        return np.nan
    return float(average_precision_score(noisy != true, -model.sample_quality_))


def measure(cells, models, jobs, cache):
    """Return {model: array (cells, metrics)}; what the cache holds is not computed again."""
    path = cache and Path(cache)
    known = json.loads(path.read_text()) if path and path.exists() else {}
    keys = ["|".join(map(str, cell)) for cell in cells]

    def missing(key):
        return [m for m in models if m not in PEERS or f"{m}|{key}" not in known]

    answers = Parallel(jobs, batch_size=4)(
        delayed(judge)(*cell, missing(key))
        for cell, key in zip(cells, keys, strict=True)
        if missing(key)
    )
    answers = iter(answers)
    found = {m: [] for m in models}
    for key in keys:
        new = next(answers) if missing(key) else {}
        for m in models:
            found[m].append(new[m] if m in new else known[f"{m}|{key}"])
        known |= {f"{m}|{key}": values for m, values in new.items() if m in PEERS}
    if path:
        path.write_text(json.dumps(known))
    return {m: np.array(values, float) for m, values in found.items()}


def show(title, cells, found, variants, peers):
    """Print a table a metric: variants and the best peer by kind and level of noise."""
    kinds = list(dict.fromkeys(cell[2:4] for cell in cells))
    names = np.array([cell[0] for cell in cells])
    print(f"\n## {title}: {len(set(names))} tables")
    print(f"{'':24}" + "".join(f"{kind.replace('boundary ', 'b')[:9]:>11}" for kind, _ in kinds))
    print(f"{'':24}" + "".join(f"{level:>10}%" for _, level in kinds))
    for m, metric in enumerate([*METRICS, "flips found", "share warned of", "seconds"]):
        if all(np.isnan(found[v][:, m]).all() for v in variants):
            continue
        print(metric)
        masks = [np.array([cell[2:4] == kind for cell in cells]) for kind in kinds]
        for v in variants:
            print(f"  {v:22}" + "".join(f"{np.nanmean(found[v][k, m]):11.4f}" for k in masks))
        if peers and m < len(METRICS):
            show_best_peer(metric, m, masks, names, found, variants[0], peers)
    for v in variants:
        show_warned(v, found[v][:, METRICS.index("ROC AUC")], found[v][:, -2] > 0)
        if "rvfl_balanced" in peers:
            gap = (found[v] - found["rvfl_balanced"])[:, 0]
            low, warned = gap < -FAR_BELOW, found[v][:, -2] > 0
            print(
                f"{v}: {low.sum()} fits more than {FAR_BELOW} balanced accuracy below a balanced "
                f"RVFL, warned of {(low & warned).sum()}; mean lead of the {warned.sum()} warned "
                f"of {gap[warned].mean():+.3f}"
            )
    print(f"CPU ms: {', '.join(f'{v} {1e3 * np.median(found[v][:, -1]):.0f}' for v in found)}")


def show_warned(label, area, warned):
    """Print how many fits rank test rows badly, and how many of these said that they may."""
    for bound in (0.5, 0.6):
        bad = area < bound
        if bad.any():
            print(
                f"{label}: {bad.sum()} of {len(bad)} fits with ROC AUC below {bound}, "
                f"warned of {(bad & warned).sum()}"
            )


def show_best_peer(metric, m, masks, names, found, ours, peers):
    """Print the best peer's mean in each cell, and our lead with its error over tables."""
    sign = -1.0 if metric in SMALLER_IS_BETTER else 1.0
    best = [max(peers, key=lambda p, k=k: sign * np.nanmean(found[p][k, m])) for k in masks]
    pairs = list(zip(best, masks, strict=True))
    print(f"  {'best peer':22}" + "".join(f"{np.nanmean(found[p][k, m]):11.4f}" for p, k in pairs))
    print(f"  {'':22}" + "".join(f"{p[:10]:>11}" for p in best))
    cells = []
    for p, k in pairs:
        gap = sign * (found[ours] - found[p])[:, m]
        of_table = [np.nanmean(gap[k & (names == name)]) for name in np.unique(names)]
        error = np.nanstd(of_table, ddof=1) / np.sqrt(len(of_table))
        cells.append(f"{f'{np.nanmean(of_table):+.3f}±{error:.3f}':>11}")
    print(f"  {'lead':22}" + "".join(cells))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--parts", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--kinds", nargs="+", help="beginnings of kinds of noise")
    parser.add_argument("--levels", nargs="+", type=int)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--noise-columns", type=int, default=0, help="columns that say nothing")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS)
    parser.add_argument("--cache", help="a file that keeps the peers' figures")
    options = parser.parse_args()
    peers = options.peers
    for part in options.parts:
        several = part == "several"
        cells = [
            (name, several, kind, level, seed, options.noise_columns)
            for name in (SEVERAL if several else TWO_CLASSES)
            for kind, level in CELLS[part]
            for seed in range(100, 100 + options.seeds)
            if not options.kinds or kind.startswith(tuple(options.kinds))
            if not options.levels or level in options.levels
        ]
        found = measure(cells, [*options.variants, *peers], options.jobs, options.cache)
        show(f"{part} classes", cells, found, options.variants, peers)
        wide = np.array(
            [table(*cell[:2])[0].shape[1] >= FEWEST_COLUMNS_OF_WIDE for cell in cells], bool
        )
        if wide.any() and not several:
            kept = {m: values[wide] for m, values in found.items()}
            of_wide = [cell for cell, is_wide in zip(cells, wide, strict=True) if is_wide]
            show("wide tables", of_wide, kept, options.variants, peers)


if __name__ == "__main__":
    main()
