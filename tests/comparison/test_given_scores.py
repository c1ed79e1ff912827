"""Scores that exist: read from wide and long tables, compared, and refused where they are wrong."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from robell import compare_scores
from robell._tools.files import FileError
from robell.cli.main import main
from robell.comparison.given_scores import _read
from robell.comparison.statistics import average_ranks, correlated_t
from robell.comparison.store import StudyError

MODELS = ("net", "tree", "line")


def scores(n_tables=8, n_splits=3, seed=0):
    """Return an array of tables by splits by models."""
    random = np.random.default_rng(seed)
    base = random.uniform(0.6, 0.8, (n_tables, 1, 1)) + np.array([0.05, 0.02, 0.0])
    return (base + random.normal(0, 0.01, (n_tables, n_splits, 3))).round(4)


def wide(array):
    frame = pd.DataFrame(array.mean(axis=1), columns=MODELS)
    frame.insert(0, "dataset", [f"t{k}" for k in range(len(array))])
    return frame


def long(array, metric="accuracy"):
    rows = [(f"t{i}", MODELS[k], j, metric, array[i, j, k]) for i, j, k in np.ndindex(array.shape)]
    return pd.DataFrame(rows, columns=["Data set", "Model", "Fold", "Metric", "Score"])


def go(frame, tmp_path, **options):
    return compare_scores(frame, out=tmp_path / "out", **options)


def test_wide_and_long_tables_say_the_same(tmp_path):
    array = scores()
    first = go(wide(array), tmp_path / "a", metric="accuracy").cells["accuracy"]
    other = go(long(array), tmp_path / "b").cells["accuracy"]
    np.testing.assert_allclose(first.values["accuracy"], other.values["accuracy"])
    np.testing.assert_allclose(first.ranks("accuracy"), average_ranks(array.mean(axis=1)))
    assert other.n_seeds == (3,) * 8
    assert other.test_shares == pytest.approx([1 / 3] * 8)
    assert first.models == MODELS


def test_the_page_its_tables_and_the_words_for_a_paper(tmp_path):
    found = go(long(scores()), tmp_path, reference="tree")
    page = found.report.read_text(encoding="utf-8")
    for name in ("against_accuracy_given", "verdicts_accuracy_given", "pairs_accuracy_given"):
        assert f"table-{name}" in page
        for kind in ("csv", "md", "tex"):
            assert (tmp_path / "out" / "tables" / f"{name}.{kind}").stat().st_size
    assert (tmp_path / "out" / "figures" / "critical_difference_accuracy_given.svg").exists()
    methods = (tmp_path / "out" / "methods.tex").read_text()
    library = (tmp_path / "out" / "references.bib").read_text()
    cited = set(re.findall(r"\\citep\{(\w+)\}", methods))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", library, re.MULTILINE))
    assert {"benavoli2014", "corani2015", "holm1979"} <= cited
    assert "tree against each other model" in page
    assert "What this study can see" in page
    assert go(long(scores()), tmp_path, reference="tree").report == found.report  # once more


def test_less_is_better_turns_ranks_and_bold(tmp_path):
    array = scores(n_splits=1)
    more = go(wide(array), tmp_path / "a", metric="accuracy").cells["accuracy"]
    found = go(wide(1 - array), tmp_path / "b", metric="error")
    less = found.cells["error"]
    np.testing.assert_allclose(more.ranks("accuracy"), less.ranks("error"))
    np.testing.assert_allclose(
        more.by("accuracy").wilcoxon[0], less.by("error").wilcoxon[0], rtol=1e-9
    )
    lines = (found.report.parent / "tables" / "sets_error_given.md").read_text().splitlines()
    first = next(line for line in lines if line.startswith("| t0"))
    shown = [float(cell.strip(" *")) for cell in first.split("|")[2:-1]]
    assert f"**{min(shown):.3f}**" in first
    assert "less is better" in found.headline


def test_gaps_leave_tables_out_and_are_named(tmp_path):
    frame = wide(scores(n_splits=1))
    frame.loc[2, "tree"] = np.nan
    frame.loc[5, "line"] = np.nan
    found = go(frame, tmp_path, metric="f1")
    cell = found.cells["f1"]
    assert cell.left_out == ("t2", "t5")
    assert len(cell.datasets) == 6
    assert "2 tables of 8 left out of ranks and tests" in found.remarks[0]
    assert "2 tables of 8 left out" in found.report.read_text(encoding="utf-8")


def test_each_table_is_tested_by_its_own_number_of_folds(tmp_path):
    few, many = long(scores()), long(scores(n_splits=10))
    many = many[many["Data set"] == "t0"]
    frame = pd.concat([few[few["Data set"] != "t0"], many])
    found = go(frame, tmp_path)
    cell = found.cells["accuracy"]
    assert dict(zip(cell.datasets, cell.test_shares, strict=True)) == pytest.approx(
        {f"t{k}": 1 / 3 for k in range(1, 8)} | {"t0": 1 / 10}
    )
    lost = frame[(frame["Data set"] != "t1") | (frame["Model"] != "net") | (frame["Fold"] != 0)]
    cell = go(lost, tmp_path / "lost").cells["accuracy"]
    assert cell.n_seeds[cell.datasets.index("t1")] == 2  # of three folds all the same
    assert cell.test_shares[cell.datasets.index("t1")] == pytest.approx(1 / 3)
    table = pd.read_csv(found.report.parent / "tables" / "by_splits_accuracy_given.csv")
    worse = [
        correlated_t(of[:, 0] - of[:, 1], share, 0.01)[2]
        for of, share in zip(
            found.cells["accuracy"].splits["accuracy"],
            found.cells["accuracy"].test_shares,
            strict=True,
        )
    ]
    assert table["Mean P(worse)"][0] == pytest.approx(np.mean(worse))
    assert (
        "10 to 33%" in (found.report.parent / "tables" / "by_splits_accuracy_given.md").read_text()
    )


def test_folds_and_repeats_tell_splits_apart_together(tmp_path):
    array = scores(n_splits=6)
    frame = long(array)
    fold, repeat = frame["Fold"] % 3, frame["Fold"] // 3
    plain = go(frame, tmp_path / "a", test_share=1 / 3).cells["accuracy"]
    columns = {"repeat": repeat, "Fold": fold}
    together = go(frame.assign(**columns), tmp_path / "b").cells["accuracy"]
    rows = frame.assign(**columns).pivot(
        index=["Data set", "repeat", "Fold"], columns="Model", values="Score"
    )
    side = go(rows.reset_index(), tmp_path / "c", metric="accuracy").cells["accuracy"]
    assert sorted(side.models) == sorted(MODELS)
    for cell in (together, side):
        assert cell.n_seeds == (6,) * 8
        assert cell.test_shares == pytest.approx(plain.test_shares)
    for one, other in zip(plain.splits["accuracy"], together.splits["accuracy"], strict=True):
        assert sorted(one.tolist()) == sorted(other.tolist())


def test_equal_ranks_name_all_their_models(tmp_path):
    frame = pd.DataFrame({"set": ["a", "b"], "net": [0.1, 0.2], "tree": [0.2, 0.1], "line": 0.0})
    found = go(frame, tmp_path, metric="auc")
    assert "net, tree; AUC, 1 = best" in found.report.read_text(encoding="utf-8")


def test_small_errors_without_an_upper_end_are_not_practically_equal(tmp_path):
    array = 1e-3 * (1 - scores())
    frame = wide(array)
    assert go(frame, tmp_path, metric="error rate").cells["error rate"].rope == 0.01
    for metric in ("mse", "log loss", "Seconds"):
        found = go(frame, tmp_path / metric, metric=metric)
        assert found.cells[metric].rope == 0
        (table,) = (found.report.parent / "tables").glob("against_*.csv")
        assert (pd.read_csv(table)["P(equal)"] == 0).all()
        asked = go(frame, tmp_path / metric, metric=metric, rope=0.01)
        assert asked.cells[metric].rope == 0.01


def test_a_column_that_counts_the_rows_is_no_model(tmp_path):
    frame = wide(scores())
    for header, first in (("", 0), ("Unnamed: 0", 0), ("id", 1)):
        path = tmp_path / "scores.csv"
        counted = frame.set_index(pd.RangeIndex(first, first + len(frame), name=header))
        counted.to_csv(path)
        found = go(path, tmp_path, metric="auc")
        assert found.cells["auc"].models == MODELS
        assert "left out, as it counts the rows" in found.remarks[0]
    numbered = frame.assign(dataset=range(1, 9)).rename(columns={"dataset": "id"})
    found = go(numbered, tmp_path, metric="auc").cells["auc"]  # here they are the tables' names
    assert found.datasets == tuple("12345678")
    assert found.models == MODELS
    real = wide(scores()).assign(id=[0.5, 0.6] * 4)
    assert go(real, tmp_path, metric="auc").cells["auc"].models == (*MODELS, "id")


def test_an_index_that_names_tables_models_or_splits_is_read(tmp_path):
    frame, lines = wide(scores()), long(scores())
    plain = go(frame, tmp_path, metric="auc").cells["auc"]
    splits = go(lines, tmp_path).cells["accuracy"]
    named = frame.set_index("dataset")
    for indexed in (named, named.rename_axis(None), named.rename_axis("where")):
        found = go(indexed, tmp_path, metric="auc").cells["auc"]
        assert (found.models, found.datasets) == (MODELS, plain.datasets)
        np.testing.assert_array_equal(found.values["auc"], plain.values["auc"])
    pivot = lines.pivot(index=["Data set", "Fold"], columns="Model", values="Score")
    by_split = go(pivot[list(MODELS)], tmp_path, metric="accuracy").cells["accuracy"]
    np.testing.assert_array_equal(by_split.values["accuracy"], splits.values["accuracy"])
    assert by_split.n_seeds == splits.n_seeds
    twice = frame.set_index("dataset", drop=False)
    assert go(twice, tmp_path, metric="auc").cells["auc"].datasets == plain.datasets
    filtered = go(frame[frame["net"] > frame["net"].median()], tmp_path, metric="auc")
    assert filtered.cells["auc"].models == MODELS  # numbers of rows are no names


def test_several_metrics_have_a_section_each(tmp_path):
    frame = pd.concat([long(scores()), long(1 - scores(seed=1), "rmse")])
    found = go(frame, tmp_path)
    assert list(found.cells) == ["accuracy", "rmse"]
    assert found.cells["rmse"].lower == {"rmse"}
    only = compare_scores(frame, metric="rmse", out=tmp_path / "one")
    assert list(only.cells) == ["rmse"]
    columns = wide(scores())[["dataset"]].assign(model="a", accuracy=0.5, rmse=1.5, note="x")
    two = compare_scores(columns, out=tmp_path / "two")
    assert list(two.cells) == ["accuracy", "rmse"]


def test_what_cannot_be_computed_is_said(tmp_path):
    frame = wide(scores(n_splits=1))
    one = go(frame[["dataset", "net"]], tmp_path / "a", metric="auc")
    assert "One model alone" in one.report.read_text(encoding="utf-8")
    table = go(frame[:1], tmp_path / "b", metric="auc")
    assert "One table alone" in table.report.read_text(encoding="utf-8")
    same = go(frame.assign(net=0.5, tree=0.5, line=0.5), tmp_path / "c", metric="auc")
    assert "all models have the same score" in same.remarks[0]
    np.testing.assert_array_equal(same.cells["auc"].ranks("auc"), 2)


def changed(frame, place, column, value):
    frame = frame.astype({column: object})
    frame.loc[place, column] = value
    return frame


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (wide(scores()), {}, "higher or lower is better is not known of 'score'"),
        (wide(scores()), {"metric": "zeal"}, "not known of 'zeal'"),
        (wide(scores()), {"metric": "auc", "better": "lower"}, "higher is better, by its name"),
        (wide(scores()), {"better": "up"}, "higher or lower; got 'up'"),
        (wide(scores()), {"metric": "auc", "reference": "tee"}, "no model 'tee'; there are net"),
        (wide(scores()), {"metric": "auc", "rope": -1}, "rope must be"),
        (wide(scores()), {"metric": "auc", "test_share": 1}, "test_share must lie"),
        (changed(wide(scores()), 1, "tree", "high"), {"metric": "auc"},
         "'tree' on 't1' is no number: 'high'"),
        (changed(wide(scores()), 1, "tree", "0_9"), {"metric": "auc"}, "is no number: '0_9'"),
        (changed(wide(scores()), 1, "tree", "inf"), {"metric": "auc"}, "'t1' is infinite"),
        (changed(wide(scores()), 1, "tree", 1e300), {"metric": "rmse"}, "'t1' is too large"),
        (wide(scores()), {"metric": "auc", "delimiter": ";"}, "a data frame is no text"),
        (wide(scores())[["dataset"]].assign(model="a", accuracy=0.5, rmse=1.5), {"metric": "f1"},
         "no metric 'f1'; there are accuracy, rmse"),
        (pd.concat([wide(scores())] * 2), {"metric": "auc"}, "'net' on 't0' stands there twice"),
        (long(scores()).drop(columns="Fold"), {}, "twice; a column split tells them apart"),
        (long(scores()).drop(columns="Data set"), {}, "no column says which table"),
        (long(scores()).drop(columns="Score"), {}, "no column holds scores"),
        (long(scores()), {"metric": "f1"}, "no metric 'f1'; there are accuracy"),
        (wide(scores())[["dataset"]], {"metric": "auc"}, "it has one column"),
        (changed(wide(scores()), 1, "dataset", None), {"metric": "auc"}, "row 2 names no table"),
        (wide(scores()).assign(net=[0.5] + [None] * 7, tree=[None] + [0.5] * 7),
         {"metric": "auc"}, "no table has a score of all 3 models; 'net' has scores of 1 of 8"),
    ],
)  # fmt: skip
def test_bad_tables_are_refused_in_one_line(frame, options, message, tmp_path):
    with pytest.raises((FileError, StudyError), match=message) as error:
        go(frame, tmp_path, **options)
    assert "\n" not in str(error.value)


@given(st.permutations(range(8)), st.randoms(use_true_random=False))
def test_the_order_of_lines_does_not_matter(order, random):
    frame = long(scores())
    places = list(range(len(frame)))
    random.shuffle(places)
    first, *_ = _read(frame, None, "utf-8", None)
    other, *_ = _read(frame.iloc[places].reset_index(drop=True), None, "utf-8", None)
    assert first == other


def test_rows_that_sum_up_the_others_are_no_tables(tmp_path):
    frame = wide(scores())
    ends = (
        frame.assign(dataset="x")
        .iloc[[0, 0, 0]]
        .assign(dataset=["Average", "avg. rank", "Mean accuracy"])
    )
    plain = go(frame, tmp_path / "plain", metric="auc")
    found = go(pd.concat([frame, ends]), tmp_path / "ends", metric="auc")
    assert found.cells["auc"].datasets == plain.cells["auc"].datasets
    (remark,) = found.remarks
    assert remark == (
        "left out, as rows that sum up the others: 'Average', 'avg. rank', 'Mean accuracy'"
    )
    named = go(frame.replace("t1", "mean temperature"), tmp_path / "named", metric="auc")
    assert "mean temperature" in named.cells["auc"].datasets


def test_better_is_for_the_metrics_whose_names_do_not_tell(tmp_path):
    frame = pd.DataFrame(
        [
            (f"t{k}", model, metric, (k + place) / 10)
            for k in range(4)
            for place, model in enumerate(("net", "tree"))
            for metric in ("rmse", "zeal")
        ],
        columns=["table", "model", "metric", "value"],
    )
    found = go(frame, tmp_path, better="higher")
    assert [cell.lower for cell in found.cells.values()] == [{"rmse"}, set()]


def test_a_comma_stands_for_the_point_between_semicolons(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("set;net;tree\na;0,85;0,8\nb;0,7;0,65\n", encoding="utf-8")
    cell = go(path, tmp_path / "out", metric="accuracy").cells["accuracy"]
    assert cell.values["accuracy"].tolist() == [[0.85, 0.8], [0.7, 0.65]]


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wide(scores()).to_csv("scores.csv", index=False)
    assert main(["compare", "scores.csv", "--metric", "accuracy"]) == 0
    assert "Accuracy, mean over 8 tables" in capsys.readouterr().out
    assert (tmp_path / "robell-scores" / "index.html").exists()
    assert main(["compare", "scores.csv"]) == 1
    assert "give --better" in capsys.readouterr().err
    assert main(["compare", "scores.csv", "scores.csv", "--metric", "auc"]) == 1
    assert "--target names the column of labels" in capsys.readouterr().err
    assert main(["compare", "scores.csv", "--target", "net", "--rope", ".1"]) == 1
    assert "--rope is for a table of scores" in capsys.readouterr().err
    frame = wide(scores())
    frame.loc[0, "net"] = np.nan
    frame.to_csv("gaps.csv", index=False)
    assert main(["compare", "gaps.csv", "--metric", "auc", "--out", "gaps", "--quiet"]) == 3
    assert "1 table of 8 left out" in capsys.readouterr().err


def test_metrics_of_any_name_have_files_and_sections_of_their_own(tmp_path):
    names = ["log loss", "AUC (macro)", "Gr\u00f6\u00dfe", "x@1", "x.1", "../../up", "m" * 300]
    frame = pd.concat([long(scores(seed=k), name) for k, name in enumerate(names)])
    found = go(frame, tmp_path, better="higher")
    assert list(found.cells) == names
    written = {path.stem for path in (tmp_path / "out" / "tables").iterdir()}
    assert len([stem for stem in written if stem.startswith("sets_")]) == len(names)
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
    page = found.report.read_text(encoding="utf-8")
    assert page.count('id="by-') == len(names)
    assert "Log loss, scores as given" in page


def test_metrics_may_have_different_models(tmp_path):
    two = long(1 - scores(seed=1)[:6], "rmse").query("Model != 'line'")
    two["Score"] = 100 * two["Score"]
    found = go(pd.concat([long(scores()), two]), tmp_path, reference="line")
    assert found.cells["rmse"].models == ("net", "tree")
    page = found.report.read_text(encoding="utf-8")
    assert "line against each other model: Accuracy" in page
    assert "net against each other model: RMSE" in page
    methods = (tmp_path / "out" / "methods.tex").read_text()
    assert "We compared 2 to 3 models on 6 to 8 tables by Accuracy, RMSE." in methods
    assert "differences up to 0.01 (Accuracy) taken as practically equal" in methods
    other = go(pd.concat([two, long(scores())]), tmp_path / "other", reference="line")
    assert list(other.cells) == ["rmse", "accuracy"]


def test_models_may_be_called_as_columns_of_our_tables_are(tmp_path):
    frame = wide(scores()).rename(columns={"dataset": "table", "net": "Set", "line": "Mean"})
    found = go(frame.melt("table", var_name="model"), tmp_path, metric="auc")
    assert found.cells["auc"].models == ("Set", "tree", "Mean")
    assert found.cells["auc"].labels == ("Set (2)", "tree", "Mean")


def test_each_table_has_a_scale_of_its_own(tmp_path):
    array = 1 - scores(n_tables=10, n_splits=4)
    array *= 10.0 ** np.array([9, 0, -4, 2, 0, -1, 6, -3, 8, -2])[:, None, None]
    means = array.mean(axis=1)
    found = go(long(array, "mse"), tmp_path)
    cell = found.cells["mse"]
    np.testing.assert_allclose(cell.ranks("mse"), average_ranks(-means))
    p_values = cell.by("mse").wilcoxon[0]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        expected = wilcoxon(means[:, i] - means[:, j], zero_method="pratt").pvalue
        assert p_values[i, j] == pytest.approx(expected)
    lines = (found.report.parent / "tables" / "against_mse_given.md").read_text().splitlines()
    assert [line.split(" | ")[1] for line in lines if line.startswith(("| tree", "| line"))] == [
        f"{wins}-0-{10 - wins}" for wins in (means[:, [0]] < means[:, 1:]).sum(axis=0)
    ]
    sure = pd.read_csv(found.report.parent / "tables" / "by_splits_mse_given.csv")
    for j, worse in ((1, sure["Mean P(worse)"][0]), (2, sure["Mean P(worse)"][1])):
        one_by_one = [
            correlated_t((of[:, j] - of[:, 0]) / of.max(), 0.25)[2] for of in cell.splits["mse"]
        ]
        assert worse == pytest.approx(np.mean(one_by_one))


def test_scores_are_not_taken_for_the_names_of_tables(tmp_path):
    frame = wide(scores())
    frame.loc[0, "net"] = 1
    with pytest.raises(FileError, match="its first column, 'net', should name tables, and holds"):
        go(frame[["net", "tree", "line"]], tmp_path, metric="auc")
    numbered = frame.assign(dataset=[f"1.{k}" for k in range(8)])
    assert len(go(numbered, tmp_path, metric="auc").cells["auc"].datasets) == 8


@pytest.mark.parametrize("scale", [1e-14, 1e-7, 1e12, 1e90])
def test_tests_do_not_depend_on_the_scale_of_scores(scale, tmp_path):
    frame = long(scores(), "rmse")
    plain = go(frame, tmp_path / "a", rope=0.01).cells["rmse"]
    frame["Score"] = scale * frame["Score"]
    found = go(frame, tmp_path / "b", rope=0.01 * scale)
    cell = found.cells["rmse"]
    np.testing.assert_array_equal(cell.ranks("rmse"), plain.ranks("rmse"))
    np.testing.assert_array_equal(cell.by("rmse").wins, plain.by("rmse").wins)
    for name in ("wilcoxon", "posteriors"):
        for ours, theirs in zip(
            getattr(cell.by("rmse"), name), getattr(plain.by("rmse"), name), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
    kept = [pd.read_csv(tmp_path / x / "out/tables/by_splits_rmse_given.csv") for x in "ab"]
    pd.testing.assert_frame_equal(*kept)
    bold = [(tmp_path / x / "out/tables/sets_rmse_given.md").read_text() for x in "ab"]
    assert [text.count("**") for text in bold[:1]] == [text.count("**") for text in bold[1:]]


def test_a_run_that_was_ended_leaves_a_folder_that_can_be_written_again(tmp_path, monkeypatch):
    def end(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("robell.comparison.study_page.pair_blocks", end)
        with pytest.raises(KeyboardInterrupt):
            go(long(scores()), tmp_path)
    assert (tmp_path / "out" / "figures").is_dir()
    assert go(long(scores()), tmp_path).report.exists()


def test_a_verdict_is_the_side_that_the_test_speaks_for(tmp_path):
    tables = [f"t{k}" for k in range(20)]
    line = np.full(20, 0.5)
    net = line - 0.01 - 0.0001 * np.arange(20)
    net[0] = 0.99  # the mean of net is higher, and it is worse on nineteen tables of twenty
    frame = pd.DataFrame({"set": tables, "net": net, "line": line, "low": 0.1 * line})
    cell = go(frame, tmp_path, metric="accuracy").cells["accuracy"]
    assert cell.means("accuracy")[0] > cell.means("accuracy")[1]
    verdicts = pd.read_csv(tmp_path / "out/tables/verdicts_accuracy_given.csv", index_col=0)
    assert verdicts.index.tolist() == ["1 line", "2 net", "3 low"]
    assert verdicts["1"].fillna("").str.strip("'").tolist() == ["", "\u2212", "\u2212"]
    assert verdicts["2"].fillna("").str.strip("'").tolist() == ["+", "", "\u2212"]
