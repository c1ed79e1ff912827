"""Labels judged with any model's probabilities, and several annotators, on simulated mistakes.

    python benchmarks/beyond_one_label.py probabilities
    python benchmarks/beyond_one_label.py annotators
    python benchmarks/beyond_one_label.py groups
    python benchmarks/beyond_one_label.py drift
    python benchmarks/beyond_one_label.py time

probabilities: average precision of the wrong rows, ranked by find_label_issues(y=, pred_proba=) and
by the best of cleanlab's three scores, with the same five-fold probabilities of three models; 20 %
of all labels flipped, and 30 % of the smaller class's. annotators: accuracy of the consensus of
simulated annotators, beside the majority, Dawid and Skene's model, and cleanlab's consensus with
probabilities of a logistic regression. groups: one of several groups of rows has more wrong
labels, or none has: how often that is said, and average precision without and with groups. drift:
how often labels of two simulated tables are said to be given differently, where only the rows
differ, and where labels do. time: CPU seconds and peak memory of large tasks, each in a process of
its own. Tables of origins that no study here reports, or, for probabilities, with --tables
reporting, those that it does; needs robell[robustness].
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from choosing_tables import SEVERAL, TWO_CLASSES, table
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from robell import find_consensus, find_label_drift, find_label_issues
from robell._tools.optional import require
from robell.datasets import DatasetUnavailable, load
from robell.noise import flip_from_class, flip_uniformly
from robell.studies.label_noise.jobs import REPORTING, REPORTING_CLASSES

MOST_ROWS = 1000
SCORES = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
SETTINGS = (  # annotators, their least and largest accuracy, share of the rows each labels
    (3, 0.5, 0.95, 1.0),
    (5, 0.5, 0.95, 0.4),
    (10, 0.5, 0.95, 0.1),
    (10, 0.5, 0.8, 0.3),
)


def models():
    lightgbm = require("lightgbm", "robustness")
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "forest": RandomForestClassifier(random_state=0),
        "LightGBM": lightgbm.LGBMClassifier(n_jobs=1, verbose=-1, random_state=0),
    }


def sample(X, y, seed=0):
    places = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    return X[places], np.unique(y[places], return_inverse=True)[1]


def unseen(model, X, y):
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return cross_val_predict(model, X, y, cv=folds, method="predict_proba")


def reported(name, several):
    """Return the rows and labels of a table on which nothing was chosen, the smaller class as 1."""
    found = load(name, os.environ.get("ROBELL_DATA_DIR"), download=False)
    y = np.unique(found.y, return_inverse=True)[1]
    return found.X, y if several else (y == np.argmin(np.bincount(y))).astype(int)


def probabilities(every, tables="choosing"):
    quality = require("cleanlab.rank", "robustness").get_label_quality_scores
    is_choosing, found, best = tables == "choosing", {}, {}
    two, several = (TWO_CLASSES, SEVERAL) if is_choosing else (REPORTING, REPORTING_CLASSES)
    read = table if is_choosing else reported
    named = [(n, False) for n in two[::every]] + [(n, True) for n in several[::every]]
    for name, is_several in named:
        try:
            X, y = sample(*read(name, is_several))
        except DatasetUnavailable as error:
            print(f"left out: {error}")
            continue
        noises = {"20 % of all": flip_uniformly(y, 0.2, random_state=1)}
        if is_several:
            noises = {"20 %, several classes": noises["20 % of all"]}
        else:
            noises["30 % of the smaller class"] = flip_from_class(y, 1, 0.3, random_state=1)
        for noise, (noisy, wrong) in noises.items():
            if np.bincount(noisy, minlength=y.max() + 1).min() < 5:
                continue
            for model, estimator in models().items():
                P = unseen(estimator, X, noisy)
                if noise == "20 % of all":
                    best.setdefault(model, []).append(ceiling(wrong, noisy, P))
                ours = find_label_issues(y=noisy, pred_proba=P).sample_quality
                theirs = [quality(noisy, P, method=score) for score in SCORES]
                found.setdefault((noise, model), []).append(
                    [
                        [average_precision_score(wrong, -q), missed(wrong, q)]
                        for q in (ours, *theirs)
                    ]
                )
    print_gains(found)
    told = ", ".join(f"{model} {np.mean(values):.3f}" for model, values in best.items())
    print(f"20 % of all, the best offset between two classes in hindsight: {told}")


def ceiling(wrong, labels, P):
    """Return the best average precision of rankings by the label's log-odds plus one offset.

    For two classes every ranking that is monotone in the probability, label by label, and fair to
    its slope is one of these: what mending of given probabilities can reach at all.
    """
    p = np.clip(P[:, 1], 1e-9, 1 - 1e-9)
    odds = np.where(labels == 1, 1, -1) * np.log(p / (1 - p))
    return max(
        average_precision_score(wrong, -(odds + offset * (labels == 1)))
        for offset in np.linspace(-4, 4, 41)
    )


def missed(wrong, quality):
    """Return the share of wrong rows outside as many of the least likely ones as are wrong."""
    first = np.argsort(quality, kind="stable")[: wrong.sum()]
    return 1.0 - wrong[first].mean()


def print_gains(found):
    """Print our average precision beside that of the best of cleanlab's scores in the mean."""
    print(
        f"{'':28}{'model':10}{'ours':>7}{'best of cleanlab':>18}{'difference':>12}   tables  missed"
    )
    for (noise, model), values in found.items():
        means = np.mean(values, axis=0)
        best = 1 + means[1:, 0].argmax()
        gap = np.array(values)[:, 0, 0] - np.array(values)[:, best, 0]
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        print(
            f"{noise:28}{model:10}{means[0, 0]:7.3f}{means[best, 0]:18.3f}{gap.mean():+8.3f} "
            f"({error:.3f})  {len(gap):4}    {means[0, 1]:.3f} / {means[best, 1]:.3f}"
        )


def deal_groups(X, n_groups, how, rng):
    """Return groups of rows: at random, or that go with a column, exactly or roughly."""
    n = len(X)
    if how == "at random":
        return rng.integers(n_groups, size=n)
    spread = X.std(axis=0) / (np.abs(X).max(axis=0) + 1e-9)
    place = np.argsort(np.argsort(X[:, spread.argmax()] + 1e-9 * rng.normal(size=n))) / n
    if how == "roughly":
        place = np.argsort(np.argsort(place + rng.normal(0, 0.5, n))) / n
    return (place * n_groups).astype(int)


def groups(every):
    found = {}
    tables = [(name, False) for name in TWO_CLASSES[::every]]
    tables += [(name, True) for name in SEVERAL[::every]]
    rng = np.random.default_rng(0)
    for name, several in tables:
        X, y = sample(*table(name, several))
        K = y.max() + 1
        for how in ("at random", "by a column", "roughly"):
            for n_groups in (2, 5, 12):
                for rate in (0.1, 0.25, 0.4):
                    group = deal_groups(X, n_groups, how, rng)
                    wrong = rng.random(len(y)) < np.where(group == 0, rate, 0.1)
                    noisy = np.where(wrong, (y + rng.integers(1, K, len(y))) % K, y)
                    if np.bincount(noisy, minlength=K).min() < 5:
                        continue
                    plain = find_label_issues(X, noisy, random_state=0).sample_quality
                    issues = find_label_issues(X, noisy, groups=group, random_state=0)
                    own = issues.groups
                    is_named = own.differs[0] and own.noise_rate[0] == own.noise_rate.max()
                    precision = [
                        average_precision_score(wrong, -q) for q in (plain, issues.sample_quality)
                    ]
                    found.setdefault((n_groups, rate), []).append(
                        [own.differs.any(), is_named, *precision, own.noise_rate[0]]
                    )
    print("groups  wrong in the first   any differs  first named   AP without  with   its rate")
    for (n_groups, rate), values in found.items():
        any_, named, without, with_, estimate = np.mean(values, axis=0)
        print(
            f"{n_groups:6}{rate:21.0%}{any_:14.0%}{named:13.0%}{without:13.3f}{with_:7.3f}"
            f"{estimate:10.0%}   {len(values)} tables"
        )


def simulate(y, n, low, high, coverage, rng):
    """Return a table of labels, -1 where there is none; every row has at least one."""
    K = y.max() + 1
    accuracy = rng.uniform(low, high, n)
    right = rng.random((len(y), n)) < accuracy
    labels = np.where(right, y[:, None], (y[:, None] + rng.integers(1, K, right.shape)) % K)
    kept = rng.random(right.shape) < coverage
    kept[np.arange(len(y)), rng.integers(n, size=len(y))] = True
    return np.where(kept, labels, -1)


def dawid_skene(labels, K, rounds=50):
    """Return the classes by Dawid and Skene's own model: nothing drawn to anything."""
    counts = np.stack([(labels == k).sum(axis=1) for k in range(K)], axis=1)
    Z = counts / counts.sum(axis=1, keepdims=True)
    for _ in range(rounds):
        logs = np.log(Z.mean(axis=0) + 1e-9) + np.zeros_like(Z)
        for column in labels.T:
            seen = np.flatnonzero(column >= 0)
            confusion = Z[seen].T @ np.eye(K)[column[seen]] + 0.01
            confusion /= confusion.sum(axis=1, keepdims=True)
            logs[seen] += np.log(confusion[:, column[seen]]).T
        Z = np.exp(logs - logs.max(axis=1, keepdims=True))
        Z /= Z.sum(axis=1, keepdims=True)
    return Z.argmax(axis=1)


def crowdlab(labels, X, majority):
    """Return cleanlab's consensus, with probabilities of a logistic regression on the majority."""
    cleanlab = require("cleanlab.multiannotator", "robustness")
    pandas = require("pandas", "files")
    P = np.zeros((len(X), labels.max() + 1))
    P[:, np.unique(majority)] = unseen(models()["logistic"], X, majority)
    frame = pandas.DataFrame(np.where(labels >= 0, labels, np.nan)).dropna(axis=1, how="all")
    found = cleanlab.get_label_quality_multiannotator(
        frame, P, verbose=False, return_detailed_quality=False, return_annotator_stats=False
    )
    return found["label_quality"]["consensus_label"].to_numpy(int)


def annotators(every):
    rows = {}
    tables = [(name, False) for name in TWO_CLASSES[::every]]
    tables += [(name, True) for name in SEVERAL[::every]]
    for place, (name, several) in enumerate(tables):
        X, y = sample(*table(name, several))
        K = y.max() + 1
        for setting in SETTINGS:
            labels = simulate(y, *setting, np.random.default_rng([place, setting[0]]))
            votes = np.stack([(labels == k).sum(axis=1) for k in range(K)], axis=1)
            majority = (votes + 1e-3 * votes.mean(axis=0)).argmax(axis=1)
            start = time.process_time()
            ours = find_consensus(np.where(labels >= 0, labels, np.nan), X, random_state=0)
            seconds = time.process_time() - start
            answers = [ours.label, majority, dawid_skene(labels, K)]
            enough = np.unique(majority, return_counts=True)[1].min() >= 5
            answers.append(crowdlab(labels, X, majority) if enough else majority)
            right = [[(a == y).mean(), balanced(a, y)] for a in answers]
            rows.setdefault(setting, []).append(np.append(np.ravel(right), seconds))
    names = ("ours", "majority", "Dawid-Skene", "CROWDLAB")
    print("accuracy / balanced accuracy" + "".join(f"{name:>16}" for name in names) + "   CPU s")
    for setting, values in rows.items():
        means = np.mean(values, axis=0)
        cells = "".join(f"{means[2 * k]:10.3f}/{means[2 * k + 1]:.3f}" for k in range(4))
        n, low, high, coverage = setting
        print(f"{n:3} of {low:.2f}-{high:.2f}, {coverage:4.0%}     {cells}{means[-1]:8.2f}")
    print(f"{len(tables)} tables")


def draw_table(rng, n, shift, changed):
    """Return rows whose labels follow a curve of the columns; some of the ones become zeros."""
    X = rng.normal(size=(n, 4))
    X[:, 0] += shift
    X[:, 2] *= 1 + shift / 2
    p = 1 / (1 + np.exp(-(1.5 * X[:, 0] + 1.5 * np.sin(2 * X[:, 1]) - 0.5)))
    y = (rng.random(n) < p).astype(int)
    y[(rng.random(n) < changed) & (y == 1)] = 0
    return X, y


def drift(every):
    rng = np.random.default_rng(0)
    print("rows each  columns move by  labels changed   said to differ   change   interval holds 0")
    for n, times in ((150, 200 // every), (600, 100 // every)):
        for shift in (0.0, 0.8):
            for changed in (0.0, 0.1, 0.2, 0.3):
                tables = [
                    (*draw_table(rng, n, 0.0, 0.0), *draw_table(rng, n, shift, changed))
                    for _ in range(times if changed else 2 * times)
                ]
                found = [find_label_drift(*four, random_state=0) for four in tables]
                said = np.mean([one.changed is True for one in found])
                change = np.mean([one.change[1] for one in found])
                holds = np.mean([one.low[1] <= 0 <= one.high[1] for one in found])
                label = f"{changed:.0%} of a class" if changed else "none"
                print(
                    f"{n:9}{shift:17}{label:>17}{said:15.1%}{change:+12.3f}{holds:14.0%}"
                    f"   {len(found)} pairs",
                    flush=True,
                )


def time_alone():
    """Print CPU seconds and peak memory of the large tasks, each in a process of its own."""
    print(f"{'':46}{'CPU s':>8}{'peak MiB':>10}{'of it before':>14}")
    for task in ("annotators", "annotators, no columns", "probabilities", "probabilities, groups"):
        told = subprocess.run(
            [sys.executable, __file__, "one", "--task", task],
            capture_output=True,
            text=True,
            check=True,
        )
        print(told.stdout, end="")


def one_task(task):
    """Do one large task, and print its CPU time and the process's peak memory."""
    rng = np.random.default_rng(0)
    if task.startswith("annotators"):
        what = f"{task}: 10,000 x 20, ten annotators"
        X = rng.normal(size=(10_000, 20))
        y = (X[:, :4].sum(axis=1) > 0).astype(int) + (X[:, 4] > 1)
        labels = simulate(y, 10, 0.5, 0.95, 0.5, rng)
        labels = np.where(labels >= 0, labels, np.nan)
        given = None if "no columns" in task else X

        def work():
            return find_consensus(labels, given, random_state=0)
    else:
        what = f"{task}: 1,000,000 rows, 5 classes"
        P = rng.dirichlet(np.full(5, 0.3), 1_000_000)
        y = (P.cumsum(axis=1) < rng.random((len(P), 1))).sum(axis=1)
        y = np.where(rng.random(len(P)) < 0.1, (y + rng.integers(1, 5, len(P))) % 5, y)
        group = rng.integers(20, size=len(P)) if "groups" in task else None

        def work():
            return find_label_issues(y=y, pred_proba=P, groups=group)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.process_time()
    work()
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:46}{seconds:8.1f}{peak:10.0f}{before:14.0f}")


def balanced(found, y):
    return np.mean([(found[y == k] == k).mean() for k in np.unique(y)])


PARTS = {
    "probabilities": probabilities,
    "annotators": annotators,
    "groups": groups,
    "drift": drift,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=[*PARTS, "time", "one"])
    parser.add_argument("--every", type=int, default=1, help="take every so many tables")
    parser.add_argument("--tables", choices=["choosing", "reporting"], default="choosing")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        if options.part == "time":
            time_alone()
        elif options.part == "one":
            one_task(options.task)
        elif options.part == "probabilities":
            probabilities(options.every, options.tables)
        else:
            PARTS[options.part](options.every)


if __name__ == "__main__":
    main()
