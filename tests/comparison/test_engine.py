"""The engine, on a study of trivial jobs: nothing lost, nothing that depends on order or chance."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from toy_study import TOY, ToyJob, plan_toy, toy_tables

from robell.comparison.execute import Worker, execute
from robell.comparison.scores import Results, ordered
from robell.comparison.store import FORMAT, Store, StudyError, read_records, versions
from robell.comparison.study import carry_out, gather
from robell.comparison.study_page import write_report
from robell.studies import study_in

TABLES = toy_tables()
JOBS = plan_toy(TABLES, 4)


def numbers(folder):
    """What a study found, without times."""
    return {
        key: json.dumps([record["outcome"], record["seeds"]])
        for key, record in read_records(folder).items()
    }


def go(folder, jobs=JOBS, study=TOY, **options):
    with Store(folder, study.name) as store:
        return execute(study, jobs, TABLES, store, **options)


# -- the store -----------------------------------------------------------------------------


def test_half_a_line_is_cut_off_and_the_rest_is_kept(tmp_path):
    with Store(tmp_path, "toy") as store:
        for key in ("a", "b"):
            store.append({"key": key, "status": "done", "value": "ö"})
    path = tmp_path / "records.jsonl"
    whole = path.read_bytes()
    line = whole.splitlines(keepends=True)[1]
    for cut in range(len(line)):
        path.write_bytes(whole + line[:cut])
        assert list(read_records(tmp_path)) == ["a", "b"]
        with Store(tmp_path, "toy") as store:
            assert store.is_done("a")
            assert store.is_done("b")
        assert path.read_bytes() == whole


def test_a_record_that_is_none_is_named(tmp_path):
    with Store(tmp_path, "toy") as store:
        store.append({"key": "a", "status": "done"})
    with (tmp_path / "records.jsonl").open("a") as file:
        file.write("nonsense\n")
    for opener in (lambda folder: Store(folder, "toy"), read_records):
        with pytest.raises(StudyError, match=r"records.jsonl, line 2: not a record"):
            opener(tmp_path)


def test_blank_lines_are_no_records_and_no_harm(tmp_path):
    with Store(tmp_path, "toy") as store:
        store.append({"key": "a", "status": "done"})
    with (tmp_path / "records.jsonl").open("a") as file:
        file.write("\n  \n")
    with Store(tmp_path, "toy") as store:
        assert store.is_done("a")
        store.append({"key": "b", "status": "done"})
    assert list(read_records(tmp_path)) == ["a", "b"]


def test_every_flipped_bit_of_a_record_is_noticed(tmp_path):
    with Store(tmp_path, "toy") as store:
        store.append({"key": "a", "status": "done", "outcome": {"x": 0.25}})
    path = tmp_path / "records.jsonl"
    whole = path.read_bytes()
    for place in range(whole.index(b', "check"')):
        for bit in (1, 4):
            damaged = bytearray(whole)
            damaged[place] ^= bit
            if damaged[place] == ord("\n"):
                continue
            path.write_bytes(damaged)
            with pytest.raises(StudyError, match="line 1: not a record; without the line"):
                read_records(tmp_path)


@pytest.mark.parametrize(
    "line",
    ["[1, 2]", "7", '{"key": 3, "status": "done"}', '{"key": [1], "status": "done"}',
     '{"key": "a"}', '{"key": "a", "status": 5}', '{"key": "a", "status": "done", "job": [1]}',
     '{"key": "a", "status": "done", "outcome": "good"}', "[" * 100_000],
)  # fmt: skip
def test_json_of_another_shape_is_no_record(tmp_path, line):
    Store(tmp_path, "toy").close()
    (tmp_path / "records.jsonl").write_text(line + "\n")
    with pytest.raises(StudyError, match="line 1: not a record"):
        Store(tmp_path, "toy")


def test_records_of_before_checksums_are_read(tmp_path):
    Store(tmp_path, "toy").close()
    (tmp_path / "records.jsonl").write_text('{"key": "a", "status": "done"}\n')
    assert list(read_records(tmp_path)) == ["a"]


def test_two_writers(tmp_path):
    with Store(tmp_path, "toy"), pytest.raises(StudyError, match="another process is writing"):
        Store(tmp_path, "toy")
    Store(tmp_path, "toy").close()


@pytest.mark.parametrize(
    "stamp", [{"format": FORMAT, "robell": "0.0.1", "study": "toy"}, {}, [], "text"]
)
def test_a_directory_of_another_version(tmp_path, stamp):
    (tmp_path / "study.json").write_text(json.dumps(stamp))
    with pytest.raises(StudyError, match="use another --out"):
        Store(tmp_path, "toy")
    assert not (tmp_path / "records.jsonl").exists()


def test_records_without_a_stamp(tmp_path):
    (tmp_path / "records.jsonl").write_text("")
    with pytest.raises(StudyError, match=r"no study\.json"):
        Store(tmp_path, "toy")


def test_a_file_in_place_of_the_directory(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="is a file, and results"):
        Store(tmp_path / "file", "toy")


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    write = os.write
    with Store(tmp_path, "toy") as store:
        store.append({"key": "a", "status": "done"})

        def half(file, data):
            if len(data) <= 8:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(file, data[: len(data) // 2])

        monkeypatch.setattr(os, "write", half)
        with pytest.raises(
            StudyError, match="no space is left; the 1 finished jobs in it are safe"
        ):
            store.append({"key": "b", "status": "done"})
        monkeypatch.undo()
        store.append({"key": "c", "status": "done"})
    assert list(read_records(tmp_path)) == ["a", "c"]


@pytest.mark.parametrize("study", ["reproduction", "robustness", "comparison"])
def test_every_study_is_found_by_its_directory(tmp_path, study):
    Store(tmp_path, study).close()
    assert study_in(tmp_path).name == study
    with pytest.raises(StudyError, match=rf"another study \({study}\); use another --out"):
        Store(tmp_path, "toy")
    assert study_in(tmp_path / "nowhere").name == "reproduction"


def test_a_directory_of_a_study_that_is_not_known(tmp_path):
    Store(tmp_path, "toy").close()
    with pytest.raises(StudyError, match=r"does not know \(toy\)"):
        study_in(tmp_path)


def test_a_directory_from_before_stamps_named_their_study_is_gone_on_with(tmp_path):
    stamp = {"format": FORMAT, "robell": versions()["robell"]}
    (tmp_path / "study.json").write_text(json.dumps(stamp))
    Store(tmp_path, "reproduction").close()


# -- execution -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    summary = go(folder, n_workers=2)
    assert (summary.done, summary.failed, summary.stored) == (len(JOBS), 0, 0)
    return numbers(folder)


def test_neither_order_nor_number_of_processes_matters(finished, tmp_path):
    go(tmp_path, JOBS[::-1], n_workers=1)
    assert numbers(tmp_path) == finished


def test_what_is_stored_is_not_done_again(tmp_path):
    assert go(tmp_path, JOBS[:2]).done == 2
    summary = go(tmp_path, JOBS[:3])
    assert (summary.done, summary.stored) == (1, 2)
    assert go(tmp_path, JOBS[:3]).done == 0
    record = read_records(tmp_path)[JOBS[0].key]
    assert record["versions"] == versions()
    assert record["job"]["dataset"] == "one"
    assert record["data"] == {"n": 4}


def test_the_longest_jobs_come_first_only_where_the_study_says_so(tmp_path):
    tables = dict(TABLES)
    tables["two"] = replace(TABLES["two"], y=[0] * 1000)  # jobs on more rows take longer
    for study, first in ((TOY, "two"), (replace(TOY, longest_first=False), "one")):
        with Store(tmp_path / first, "toy") as store:
            execute(study, JOBS, tables, store)
            assert [r["job"]["dataset"] for r in store.records.values()][:4] == [first] * 4


def test_a_job_that_fails_is_recorded_and_tried_again(tmp_path):
    jobs = [ToyJob("one", 7, does="fail"), ToyJob("one", 8)]
    for stored in (0, 1):
        summary = go(tmp_path, jobs)
        assert (summary.failed, summary.stored) == (1, stored)
    (failure,) = Results(read_records(tmp_path).values()).failed
    assert failure["error"] == "7 is not liked"
    assert "Traceback" in failure["trace"]


def test_a_process_that_dies_is_replaced_and_its_job_tried_again(finished, tmp_path, monkeypatch):
    killed = []
    give = Worker.give

    def give_and_kill_twice(worker, run, job, *rest):
        give(worker, run, job, *rest)
        if job not in killed and len(killed) < 2:
            killed.append(job)
            os.kill(worker.process.pid, signal.SIGKILL)

    monkeypatch.setattr(Worker, "give", give_and_kill_twice)
    summary = go(tmp_path, n_workers=2)
    assert (summary.done, summary.failed, len(killed)) == (len(JOBS), 0, 2)
    assert numbers(tmp_path) == finished


def test_what_a_model_prints_is_no_part_of_the_answer(tmp_path, capfd):
    assert go(tmp_path, [ToyJob("one", 7, does="print")]).done == 1
    out, err = capfd.readouterr()
    assert (out, "a model that talks" in err) == ("", True)


def test_a_job_that_always_kills_its_process_fails_and_the_others_finish(tmp_path):
    deadly = ToyJob("one", 9, does="die")
    summary = go(tmp_path, [deadly, *JOBS[:2]])
    assert (summary.done, summary.failed) == (2, 1)
    assert "process died 2 times" in read_records(tmp_path)[deadly.key]["error"]


def test_a_job_over_the_time_limit_fails_the_others_finish_and_the_log_says_so(tmp_path):
    stuck = ToyJob("one", 9, does="hang")
    summary = go(tmp_path, [stuck, *JOBS[:2]], time_limit=1.5)
    assert (summary.done, summary.failed) == (2, 1)
    assert read_records(tmp_path)[stuck.key]["error"].endswith("the time limit of 1.5 s")
    lines = (tmp_path / "progress.log").read_text().splitlines()
    assert "3 of 3 jobs to do" in lines[0]
    assert any("failed: toy/one/9: it took longer" in line for line in lines)
    assert "3 of 3 jobs done, 1 of them failed" in lines[-1]


def test_a_device_that_is_not_there_is_said_in_one_line(tmp_path):
    with pytest.raises(StudyError, match=r"device|torch"):
        go(tmp_path, device="nowhere")


def test_a_worker_starts_without_scikit_learn():
    code = "import robell.comparison.execute, sys; print('sklearn' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_killed_at_any_moment_it_goes_on_to_the_same_numbers(tmp_path):
    import toy_study

    out, settings = tmp_path / "out", {"numbers": 30, "does": "wait"}
    whole = carry_out(TOY, TABLES, {}, settings | {"does": ""}, tmp_path / "whole", n_workers=2)
    assert whole.summary.done == 60
    for n_before in (1, 20):
        process = subprocess.Popen([sys.executable, toy_study.__file__, str(out)])
        deadline = time.monotonic() + 120
        records = out / "records.jsonl"
        while not (records.exists() and records.read_bytes().count(b"\n") >= n_before):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.005)
        children = _children(process.pid)
        process.kill()
        process.wait()
        _wait_until_gone(children)
        assert n_before <= len(read_records(out)) < 60
    found = carry_out(TOY, TABLES, {}, settings, out)
    assert 0 < found.summary.done < 60
    assert numbers(out) == numbers(tmp_path / "whole")
    page = (out / "toys.html").read_text(encoding="utf-8")
    assert f"The last run finished {found.summary.done} jobs" in page


def _children(pid):
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def _wait_until_gone(pids):
    deadline = time.monotonic() + 20
    while any(_is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.05)


def _is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# -- results and report --------------------------------------------------------------------


def test_newer_rows_of_a_set_make_the_older_ones_not_count(tmp_path):
    old, new = ToyJob("one", 1, "old"), ToyJob("one", 2, "new")
    go(tmp_path, [old, ToyJob("two", 1)])
    go(tmp_path, [new])
    results = Results(read_records(tmp_path).values())
    assert [r["job"]["digest"] for r in results.records] == ["digest", "new"]
    assert set(results.data) == {"one", "two"}
    assert f"robell {versions()['robell']}" in results.versions()


def test_names_in_the_order_of_the_study_others_behind_them():
    assert ordered({"z", "b", "a", "c"}, ("c", "b", "x")) == ("c", "b", "a", "z")


def test_a_report_is_made_of_the_records_alone(tmp_path):
    found = carry_out(TOY, TABLES, {"gone": "gone is not here"}, {"numbers": 2}, tmp_path)
    assert found.headline == "4 toys are done"
    assert json.loads((tmp_path / "run.json").read_text())["unavailable"] == found.unavailable
    before = found.report.read_text(encoding="utf-8")
    assert "with 1 worker process;" in before
    assert "<code>gone</code>" in before
    for name in ("run.json", "toys.html"):
        (tmp_path / name).unlink()
    path, _ = write_report(TOY, tmp_path)
    assert path == found.report
    assert "4 toys" in path.read_text(encoding="utf-8")
    assert (tmp_path / "more" / "toys.txt").read_text() == "toys"
    assert (tmp_path / "tables" / "sums.csv").read_text().count("\n") == 5


def test_no_table_at_all_says_why_each_is_missing(tmp_path):
    with pytest.raises(StudyError, match="none of the sets asked for is here: it is lost"):
        carry_out(TOY, {}, {"a": "it is lost"}, {"numbers": 1}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_sets_are_gathered_and_those_that_cannot_be_had_say_why(monkeypatch, tmp_path):
    monkeypatch.setenv("ROBELL_CACHE", str(tmp_path))
    tables, unavailable = gather(["monk1", "echocardiogram"], download=False)
    assert tables["monk1"].X.shape == (556, 6)
    assert tables["monk1"].about["n_rows"] == 556
    assert "echocardiogram" in unavailable["echocardiogram"]


def done(folder):
    with Store(folder, TOY.name) as store:
        execute(TOY, JOBS, TABLES, store)
    return folder / "records.jsonl"


def broken_sections(results, run, figures):
    return [results.done[0]["outcome"]["no such thing"]]


def test_a_mistake_in_a_study_is_not_blamed_on_its_records(tmp_path, monkeypatch):
    done(tmp_path)
    monkeypatch.setattr("toy_study.all_sections", broken_sections)
    with pytest.raises(KeyError, match="no such thing"):
        write_report(TOY, tmp_path)


def test_records_of_somebody_else_are_called_that(tmp_path):
    path = done(tmp_path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["check"]
        line["outcome"] = {"total": 3}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(StudyError, match=r"not of the shape this study writes \(KeyError: 'sum'\)"):
        write_report(TOY, tmp_path)


@pytest.mark.parametrize("outcome", [{}, {"total": 3}, {"sum": [None]}])
def test_records_of_another_shape_are_one_line_with_the_right_checksum_too(tmp_path, outcome):
    with Store(tmp_path, TOY.name) as store:
        execute(TOY, JOBS, TABLES, store)
        for record in list(store.records.values()):
            store.append(record | {"outcome": outcome})
    with pytest.raises(StudyError, match="not of the shape this study writes"):
        write_report(TOY, tmp_path)


def test_notes_of_somebody_else_are_called_that(tmp_path):
    done(tmp_path)
    (tmp_path / "run.json").write_text('{"summary": 7}')
    with pytest.raises(StudyError, match=r"run\.json: not what this study writes .*; without the"):
        write_report(TOY, tmp_path)
    (tmp_path / "run.json").unlink()
    assert write_report(TOY, tmp_path)[0].exists()
