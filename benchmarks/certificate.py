"""The certificate of labels: whether its interval holds the truth, and how many rows it saves.

    python benchmarks/certificate.py coverage        # 2,000 simulated tables, about 3 CPU-minutes
    python benchmarks/certificate.py rows            # tables of the robustness study

Coverage: tables of 500 to 5,000 rows, 100 or 200 of them checked; 0 to 40 % wrong labels, in all
classes alike, in one class, or mostly in one of four groups; doubts of a good classifier (the
scores of wrong and right labels are 2.5 standard deviations apart), of a fair one (1.2), of one
that knows nothing, and of one that is misled (wrong labels look better than right ones). Printed is
how often the interval held the truth, of the whole table, of classes, groups and the recall of the
list of suspects, and how wide it was.

Rows: labels of whole tables of the study are flipped, all classes alike, and judged by the audit's
judge. 200 rows are drawn twelve times and checked; a simple random sample is as large as needed for
an interval of the same mean width by the same method. The number of strata, their least size and κ
were chosen on tables of ``choosing_tables.py``.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict

import numpy as np

from robell._core.labels.sampling import (
    cut_strata,
    domain_strata,
    draw_rows,
    interval_of_share,
    interval_of_total,
)
from robell.comparison.study import gather
from robell.labels.certify import EVENNESS
from robell.labels.judge import judge_labels
from robell.labels.trust import measure_trust
from robell.noise import flip_uniformly

RATES = 0.0, 0.01, 0.03, 0.06, 0.1, 0.2, 0.3, 0.4
NOISE = "all classes", "one class", "one group"
JUDGES = {"good": 2.5, "fair": 1.2, "blind": 0.0, "misled": -1.0}
TABLES_A_CELL = 21  # 4 classifiers x 3 kinds of noise x 8 rates x 21 = 2,016 tables
N_GROUPS = 4
SETS = (
    "abalone9-18", "pima", "segment0", "vehicle0", "vehicle1", "vehicle2", "vowel0", "wisconsin",
    "winequality-red-4", "yeast1", "yeast3", "yeast4", "flare-F", "car-good",
)  # fmt: skip
LEVELS = 5, 10, 20
N_CHECKED, N_DRAWS = 200, 12
SIZES = 50, 100, 150, 200, 300, 400, 600, 800, 1000, 1400


def simulate(rng, judge, noise, rate):
    """Return labels, groups, which labels are wrong, and the doubts of a classifier."""
    n = int(rng.choice([500, 1500, 5000]))
    true, group = (rng.random(n) < rng.choice([0.5, 0.2])).astype(int), rng.integers(0, N_GROUPS, n)
    odds = {
        "all classes": np.ones(n),
        "one class": np.where(true == 1, 1.0, 1e-9),
        "one group": np.where(group == 0, 8.0, 1.0),
    }[noise]
    n_wrong = min(round(rate * n), int(0.8 * (odds > 1e-6).sum()))
    wrong = np.zeros(n, bool)
    wrong[rng.choice(n, n_wrong, replace=False, p=odds / odds.sum())] = True
    shift, base = JUDGES[judge], np.clip(rate, 0.005, 0.45)
    if shift:
        score = rng.normal(shift * wrong)
        believed = abs(shift)  # by one that is misled too
        log_odds = believed * score - shift * believed / 2 + np.log(base / (1 - base))
        doubt = 1 / (1 + np.exp(-log_odds))
    else:
        doubt = rng.beta(0.3, 2.0, n)
    return np.where(wrong, 1 - true, true), group, wrong, doubt


def look(rng, judge, noise, rate):
    """Return what intervals of one table hold: (name, whether it held the truth, its width)."""
    given, group, wrong, doubt = simulate(rng, judge, noise, rate)
    listed = doubt > 0.5
    stratum, counts = cut_strata(doubt, listed, int(rng.choice([100, 200])), EVENNESS["good"])
    rows = draw_rows(stratum, counts, N_GROUPS * given + group, rng)
    parts = [("table", np.ones(len(wrong), bool))]
    parts += [("class", given == k) for k in (0, 1)]
    parts += [("group", group == g) for g in range(N_GROUPS)]
    for name, inside in parts:
        truth, n = int((wrong & inside).sum()), int(inside.sum())
        found = interval_of_total(*domain_strata(stratum, rows, wrong[rows], inside))
        high = min(found.high, n)
        yield name, found.low <= truth <= high, (high - found.low) / n
    strata = domain_strata(stratum, rows, wrong[rows], parts[0][1])
    on_list = np.array([listed[stratum == h][0] for h in range(len(counts))])
    if on_list.any() and not on_list.all() and wrong.any():
        found = interval_of_share(*strata, on_list)
        truth = (wrong & listed).sum() / wrong.sum()
        held = found.low - 1e-3 <= truth <= found.high + 1e-3
        yield "recall", held, found.high - found.low


def coverage(n_tables):
    """Print how often intervals held the truth."""
    found = defaultdict(list)
    rng, n = np.random.default_rng(0), 0
    for judge in JUDGES:
        for noise in NOISE:
            for rate in RATES:
                for _ in range(n_tables):
                    n += 1
                    for name, held, width in look(rng, judge, noise, rate):
                        by_rate = f"{100 * rate:.0f} % wrong"
                        for key in (f"{judge} classifier", noise, by_rate, "all tables"):
                            found[key, name].append((held, width))
    print(f"{n:,} tables; share of intervals that held the truth, and mean width")
    print(f"{'':20}" + "".join(f"{name:>18}" for name in ("table", "class", "group", "recall")))
    for key in dict.fromkeys(key for key, _ in found):
        cells = []
        for name in ("table", "class", "group", "recall"):
            held, width = np.mean(found[key, name] or [(np.nan, np.nan)], axis=0)
            cells.append(f"{100 * held:10.1f} %  {width:.3f}")
        print(f"{key:20}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def width_of(sizes, counts, wrong):
    """Return the width of the interval for the share of wrong rows."""
    found = interval_of_total(*(np.asarray(v, float) for v in (sizes, counts, wrong)))
    return (found.high - found.low) / np.sum(sizes)


def random_rows(rng, wrong, width):
    """Return how many rows drawn from the whole table give an interval as wide as this."""
    n, total = len(wrong), int(wrong.sum())
    sizes = [size for size in SIZES if size < 0.97 * n]
    widths = [
        np.mean([width_of([n], [m], [rng.hypergeometric(total, n - total, m)]) for _ in range(8)])
        for m in sizes
    ]
    # With all rows checked the width is 0; logarithms take a little for it.
    return float(np.exp(np.interp(-np.log(width), -np.log([*widths, 1e-4]), np.log([*sizes, n]))))


def rows():
    """Print the rows to check for the same width, ours over those of a simple random sample."""
    ratios = defaultdict(list)
    print(f"{N_CHECKED} rows checked; in percent of a simple random sample of equal mean width")
    for name, data in gather(SETS, download=False)[0].items():
        for level in LEVELS:
            noisy, wrong = flip_uniformly(data.y, level / 100, 0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                judgement = judge_labels(data.X, noisy, random_state=0)
                trust = measure_trust(judgement, data.X, noisy, 0).word
            doubt, rng = 1.0 - judgement.quality, np.random.default_rng(0)
            listed = judgement.suspect if trust != "none" else np.zeros(len(wrong), bool)
            stratum, counts = cut_strata(doubt, listed, N_CHECKED, EVENNESS[trust])
            everything, block = np.ones(len(wrong), bool), np.asarray(noisy, int)
            widths = []
            for _ in range(N_DRAWS):
                drawn = draw_rows(stratum, counts, block, rng)
                found = domain_strata(stratum, drawn, wrong[drawn], everything)
                widths.append(width_of(*found))
            ratio = counts.sum() / random_rows(rng, wrong, np.mean(widths))
            ratios[level].append(ratio)
            print(
                f"{name:22}{level:4} %{len(wrong):7,} rows {trust:6}{100 * ratio:6.0f}", flush=True
            )
    every = np.concatenate(list(ratios.values()))
    for level, some in [*ratios.items(), ("all", every)]:
        print(f"{level!s:>4}: median {100 * np.median(some):.0f}, worst {100 * max(some):.0f}")


def main():
    """Read the options and print one of both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["coverage", "rows"])
    parser.add_argument("--tables", type=int, default=TABLES_A_CELL, help="of each kind")
    options = parser.parse_args()
    coverage(options.tables) if options.what == "coverage" else rows()


if __name__ == "__main__":
    main()
