"""Run commands in folders of odd files, each in a process of its own, and judge what they left.

Allowed is: exit status 0, 1, 2, 3 or 130; no traceback, no escape sequence on the terminal; an
error in one line that begins with "robell:"; every file that was there still there, unchanged, and
no new file except the results. A result may replace only what an earlier run has written.
"""

from __future__ import annotations

import csv
import hashlib
import os
import random
import re
import resource
import shutil
import stat
import sys
import tempfile
import time
import traceback
from pathlib import Path

import odd_files
from odd_calls import Verdict
from odd_files import CELLS, LABELS, MODELS, PACKED, PARQUET, SPECIAL, STUDIES, TEXTS, Job, table

STATUSES = (0, 1, 2, 3, 130)
MEMORY = 6 << 30
FIT = ("--target", "y", "--out", "out.skops", "--quiet", "--param", "n_hidden=10")
STUDY_OPTIONS = {
    "robustness": (
        "--datasets", "crossplane130", "--models", "logistic", "rvfl", "--kinds", "symmetric",
        "--levels", "0", "20", "--seeds", "2", "--offline",
    ),
    "reproduce": ("table1", "--datasets", "crossplane130", "monk1", "--models", "elm", "--offline"),
    "compare": (
        "good.csv", "--target", "y", "--models", "rvfl", "logistic", "--repeats", "3",
    ),
}  # fmt: skip


# -- jobs of files ---------------------------------------------------------------------


def _all_file_jobs():
    """Return every odd file with every command that reads it, in an order of their own."""
    found = []
    sources = {"text": TEXTS, "packed": PACKED, "cells": CELLS, "labels": LABELS}
    sources |= {"parquet": PARQUET, "special": SPECIAL}
    for source, recipes in sources.items():
        suffix = {"packed": "csv.gz", "parquet": "parquet"}.get(source, "csv")
        data = f"data.{suffix}"
        for name in recipes:
            recipe = f"{source}/{name}"
            found.append((recipe, ("audit", data, "--target", "y", "--out", "out"), False))
            found.append((recipe, ("fit", data, *FIT), True))
            found.append((recipe, ("fit", data, *FIT, "--plain"), True))
            if source != "labels":
                predict = ("predict", "model.skops", data, "--out", "out.csv", "--proba")
                found.append((recipe, (*predict, "--explain"), False))
                found.append((recipe, ("predict", "plain.skops", *predict[2:]), False))
    for name in MODELS:
        out = ("--out", "out.csv", "--quiet")
        for model in ("model.skops", "plain.skops"):
            found.append((f"model/{name}", ("predict", model, "good.csv", *out), False))
    for name in STUDIES:
        found.append((f"study/{name}", ("report", "study"), False))
        resume = ("robustness", *STUDY_OPTIONS["robustness"], "--jobs", "1", "--quiet")
        found.append((f"study/{name}", (*resume, "--out", "study"), False))
    random.Random(14).shuffle(found)
    return found


FILE_JOBS = _all_file_jobs()


def draw_file_job(seed):
    """Return an odd file and a command: those with a name first, then files with random damage."""
    if seed < len(FILE_JOBS):
        recipe, arguments, then_predict = FILE_JOBS[seed]
        return Job(seed, recipe, arguments, then_predict)
    kind = random.Random(seed).choice(("csv", "parquet", "model", "study"))
    arguments = {
        "csv": ("audit", "data.csv", "--target", "y", "--out", "out"),
        "parquet": ("fit", "data.parquet", *FIT),
        "model": ("predict", "model.skops", "good.csv", "--out", "out.csv"),
        "study": ("report", "study"),
    }[kind]
    return Job(seed, f"damage/{kind} {seed}", arguments)


# -- jobs of options -------------------------------------------------------------------

INPUTS = (
    *["good.csv"] * 12, "other.csv", "link.csv", "hard.csv", "read-only.csv", "good.parquet",
    "parts", "good.csv other.csv", "nowhere.csv", "*.nothing", "/dev/null", "notes.txt",
    "model.skops",
)  # fmt: skip
OUTS = (
    "out.csv", "out.skops", "out.parquet", "good.csv", "link.csv", "hard.csv", "other.csv",
    "read-only.csv", "model.skops", "good.parquet", "notes.txt", "device.csv", "parts", "nowhere/x",
    "dangling.csv", "pipe.csv", "parts/a.csv", ".", "", "link-to-device.csv", "link-to-model.skops",
    "old-predictions.csv", "a" * 300 + ".csv", "read-only/out.csv",
)  # fmt: skip
SEEDS = ("0", "-1", "10" * 30, "x", "1.5", "4294967296")


def draw_option_job(seed):
    """Draw a command line: what goes in, what comes out and where to, and odd options."""
    r = random.Random(seed)
    command = r.choice(("fit", "fit", "predict", "predict", "audit", "audit", "study", "datasets"))
    line = {
        "fit": _fit_line, "predict": _predict_line, "audit": _audit_line,
        "study": _study_line, "datasets": _datasets_line,
    }[command](r)  # fmt: skip
    return Job(seed, "options", tuple(line))


def _some(r, *options):
    """Return a few of the options, each a list of words."""
    return [word for option in options if r.random() < 0.15 for word in option]


def _fit_line(r):
    line = ["fit", *r.choice(INPUTS).split(" ")]
    line += ["--target", r.choice([*["y"] * 12, "no such", "a", ""])]
    line += ["--out", r.choice(OUTS)]
    value = r.choice(
        ["C=1", "C=0", "C=1e400", "C='x'", "n_hidden=5", "n_hidden=10**9", "no_such=1", "C", "=",
         "class_weight={'no': 1}", "activation=no such", "random_state=-1", "n_hidden=" + "9" * 400,
         "C=" + "(" * 3000]
    )  # fmt: skip
    return line + _some(
        r,
        ["--param", value],
        ["--seed", r.choice(SEEDS)],
        ["--model", r.choice(["rvfl", "elm", "robell", "no such"])],
        ["--memory", r.choice(["1B", "300MB", "1e9", "x", "-1", "0", "9" * 400, "2GiB"])],
        ["--no-scale"],
    )


def _predict_line(r):
    models = ["model.skops"] * 5 + ["link-to-model.skops", "good.csv", "nowhere", "/dev/null"]
    line = ["predict", r.choice(models), *r.choice(INPUTS).split(" "), "--out", r.choice(OUTS)]
    return line + _some(r, ["--proba"], ["--memory", r.choice(["1B", "600MB", "x"])], ["--quiet"])


def _audit_line(r):
    line = ["audit", r.choice([i for i in INPUTS if " " not in i])]
    line += ["--target", r.choice([*["y"] * 12, "no such", "a"])]
    line += ["--out", r.choice([*OUTS, "out", "out", "good", "taken"])]
    return line + _some(
        r,
        ["--ignore", r.choice(["a", "y", "no such", "a b c"])],
        ["--top", r.choice(["0", "-1", "x", "9" * 400])],
        ["--max-rows", r.choice(["30", "1", "x", "9" * 400])],
        ["--encoding", r.choice(["utf-8", "latin-1", "no such", "utf-16", "zlib", "\0", "idna"])],
        ["--delimiter", r.choice([",", "tab", "", "ab", "\0", '"', "\n", "é"])],
        ["--seed", r.choice(SEEDS)],
    )


def _study_line(r):
    command = r.choice(["robustness", "reproduce", "compare", "report"])
    if command == "report":
        places = ["study", "nowhere", "parts", "good.csv", "/dev/null", ""]
        return ["report", r.choice(places)]
    line = [command, *STUDY_OPTIONS[command], "--quiet", "--jobs", "1"]
    odd = r.choice(
        [["--out", "good.csv"], ["--out", "device.csv"], ["--out", "parts"], ["--out", "nowhere/x"],
         ["--datasets", "no such"], ["--models", "no such"], ["--jobs", "0"], ["--jobs", "x"],
         ["--jobs", "9" * 400], ["--data-dir", "nowhere"], ["--data-dir", "good.csv"],
         ["--levels", "200"], ["--levels", "-1"], ["--seeds", "0"], ["--repeats", "0"],
         ["--device", "no such"], ["--tune-by", "no such"], ["--first-seed", "-1"],
         ["--protocol", "no such"], ["--kinds", "no such"], ["--datasets"]]
    )  # fmt: skip
    return line + odd


def _datasets_line(r):
    line = ["datasets", *r.choice([[], ["no such"], ["keel"], ["monk1", "monk1"], [""]])]
    return line + _some(r, ["--data-dir", r.choice(["nowhere", "parts", "good.csv", ""])])


# -- folders ---------------------------------------------------------------------------


def make_bases(folder):
    """Write what many jobs start from: a model, its rows, a finished study."""
    from robell.cli import main

    os.chdir(folder)
    Path("good.csv").write_text(table(), encoding="utf-8")
    arguments = ["fit", "good.csv", *FIT[:3], "model.skops", *FIT[4:]]
    assert main([*arguments, "--no-report"]) == 0
    arguments[5] = "plain.skops"
    assert main([*arguments, "--plain"]) == 0
    study = ["robustness", *STUDY_OPTIONS["robustness"], "--jobs", "1", "--quiet"]
    assert main([*study, "--out", "study"]) == 0


def fill(job, folder, bases):
    """Put the files of a job into its folder."""
    source, _, name = job.recipe.partition("/")
    for file in ("good.csv", "model.skops", "plain.skops"):
        shutil.copy(bases / file, folder / file)
    if source in ("text", "packed"):
        suffix = "csv.gz" if source == "packed" else "csv"
        data = (TEXTS if source == "text" else PACKED)[name]
        (folder / f"data.{suffix}").write_bytes(data)
    elif source == "cells":
        (folder / "data.csv").write_text(table(cells=CELLS[name]), encoding="utf-8")
    elif source == "labels":
        (folder / "data.csv").write_text(table(LABELS[name]), encoding="utf-8")
    elif source in ("parquet", "special"):
        (PARQUET if source == "parquet" else SPECIAL)[name](folder)
    elif source == "model":
        for file in ("model.skops", "plain.skops"):
            path = folder / file
            path.write_bytes(MODELS[name](path.read_bytes()))
    elif source == "study":
        shutil.copytree(bases / "study", folder / "study")
        STUDIES[name](folder / "study")
    elif source == "damage":
        _fill_damaged(job, folder, bases)
    else:
        _fill_for_options(folder, bases)


def _fill_damaged(job, folder, bases):
    r = random.Random(job.seed)
    if "csv" in job.recipe:
        path = folder / "data.csv"
        shutil.copy(bases / "good.csv", path)
    elif "parquet" in job.recipe:
        odd_files._parquet(folder)
        path = folder / "data.parquet"
    elif "model" in job.recipe:
        path = folder / "model.skops"
    else:
        shutil.copytree(bases / "study", folder / "study")
        path = folder / "study" / "records.jsonl"
    data = bytearray(path.read_bytes())
    for _ in range(r.choice((1, 1, 3, 20))):
        place = r.randrange(len(data))
        if r.random() < 0.7:
            data[place] ^= 1 << r.randrange(8)
        elif r.random() < 0.5:
            del data[place : place + r.randrange(1, 50)]
        else:
            data[place:place] = r.randbytes(r.randrange(1, 50))
        data = data or bytearray(b"x")
    path.write_bytes(data)


def _fill_for_options(folder, bases):
    good = folder / "good.csv"
    for name in ("other.csv", "read-only.csv"):
        shutil.copy(good, folder / name)
    (folder / "read-only.csv").chmod(0o444)
    (folder / "link.csv").symlink_to("good.csv")
    os.link(good, folder / "hard.csv")
    _make_device(folder / "device.csv")
    (folder / "link-to-device.csv").symlink_to("device.csv")
    (folder / "link-to-model.skops").symlink_to("model.skops")
    (folder / "dangling.csv").symlink_to("nowhere/at/all.csv")
    os.mkfifo(folder / "pipe.csv")
    (folder / "notes.txt").write_text("a year of work\n", encoding="utf-8")
    (folder / "taken-audit.html").write_text("<p>somebody else's page\n", encoding="utf-8")
    (folder / "taken-audit.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (folder / "old-predictions.csv").write_text('"prediction"\n"no"\n', encoding="utf-8")
    (folder / "parts").mkdir()
    for name in ("a.csv", "b.csv"):
        shutil.copy(good, folder / "parts" / name)
    shutil.copytree(bases / "study", folder / "study")
    (folder / "read-only").mkdir(mode=0o555)
    odd_files._parquet(folder)
    (folder / "data.parquet").rename(folder / "good.parquet")


def _make_device(path):
    """Make a null device of our own: root could lose the one of the machine."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except (OSError, AttributeError):  # only root may; a pipe is as good
        os.mkfifo(path)


# -- running ---------------------------------------------------------------------------


def run_command(arguments, folder, limit, before=None):
    """Run a command in a forked process; return its status, outputs, and whether it hung."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _be_the_command(arguments, folder, out, err, limit)
        status, hung = wait_for(child, 3 * limit)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read(1 << 20).decode("utf-8", "replace"))
    return status, *texts, hung


def wait_for(child, seconds):
    """Wait for a process of ours, for so long; return its status and whether it was stopped."""
    deadline = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            return code, code in (-24, -9)  # out of processor time
        if time.monotonic() > deadline:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return -9, True
        time.sleep(0.005)


def _be_the_command(arguments, folder, out, err, limit):
    status = 70
    try:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name, number in (("stdout", 1), ("stderr", 2)):
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        from robell.cli import main

        status = main(list(arguments))
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
        status = 71
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


def judge_job(job, bases, limit):
    """Run a job in a new folder, and say what came of it."""
    folder = Path(tempfile.mkdtemp(prefix="robell-odd-"))
    try:
        fill(job, folder, bases)
        before = snapshot(folder)
        status, out, err, hung = run_command(job.arguments, folder, limit)
        wrong = find_wrong(job, status, out, err, hung, before, snapshot(folder))
        if wrong is None and status == 0 and job.then_predict:
            wrong = _wrong_labels(job, folder, limit)
    finally:
        (folder / "read-only").exists() and (folder / "read-only").chmod(0o755)
        shutil.rmtree(folder)
    if wrong is not None:
        return Verdict("failure", wrong[0], " ".join(wrong[1].split())[-300:])
    return Verdict("answer" if status in (0, 3) else "refusal", "", err.strip()[-300:])


def snapshot(folder):
    """Return what is in a folder: type, permissions, and content or target of every path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = ""
        if path.is_symlink():
            content = os.readlink(path)
        elif stat.S_ISREG(mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path.relative_to(folder))] = (stat.S_IFMT(mode), stat.S_IMODE(mode), content)
    return found


def find_wrong(job, status, out, err, hung, before, after):
    """Return the kind of failure and its evidence, or None."""
    command = job.arguments[0]
    if hung:
        return f"{command}: hang", job.recipe
    if "Traceback (most recent call last)" in err:
        last = err.strip().splitlines()[-1]
        return f"{command}: traceback, {re.sub(r'[0-9]+', 'N', last)[:80]}", err
    if status not in STATUSES:
        return f"{command}: exit status {status}", err
    lines = [line for line in err.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("robell: ")]
    notes = [line for line in errors[:-1] if " are ignored: " in line]
    if status == 1 and (len(lines) != 1 + len(notes) or not errors or len(lines[-1]) > 1000):
        return f"{command}: an error of {'more' if lines else 'less'} than one line", err
    if status == 1 and re.search(r"\b(list index|NoneType|need at least one array)\b", err):
        return f"{command}: a raw error as one line", err
    if status in (0, 3) and "Warning" in err:
        return f"{command}: a warning of Python's own", err
    if "\x1b" in out + err:
        return f"{command}: escape sequences reach the terminal", repr((out + err)[-200:])
    return _wrong_files(job, status, before, after)


def _wrong_files(job, status, before, after):
    command = job.arguments[0]
    ours = {"predict": {"old-predictions.csv"}, "fit": {"model.skops", "plain.skops"}}.get(
        command, set()
    )
    if command in (*STUDY_OPTIONS, "report"):
        before = {k: v for k, v in before.items() if not k.startswith("study")}
    for path, was in before.items():
        if after.get(path) != was and path not in ours and was[0] != stat.S_IFDIR:
            what = "disappears" if path not in after else "is replaced"
            return f"{command}: a file that was there {what}", f"{path}; {job.arguments}"
    new = set(after) - set(before)
    if left := [path for path in new if Path(path).name.startswith(".")]:
        return f"{command}: temporary files are left", left[0]
    if new and status not in (0, 3) and command in ("fit", "predict", "audit"):
        return f"{command}: files are left by a command that failed", ", ".join(sorted(new))
    return None


def _wrong_labels(job, folder, limit):
    """Predict the rows a model was fitted to: labels must come back as they were written."""
    data = next(folder.glob("data.*")).name
    arguments = ("predict", "out.skops", data, "--out", "out.csv", "--quiet")
    status, _, err, _ = run_command(arguments, folder, limit)
    if status != 0:
        return "predict: refuses the rows of its own fit", err
    with (folder / "out.csv").open(encoding="utf-8", newline="") as file:
        predicted = {row[0] for row in list(csv.reader(file))[1:]}
    given = _labels_given(job)
    if given is None:
        return None
    # Before what spreadsheets would run there is an apostrophe.
    other = [label for label in predicted if not {label, label.removeprefix("'")} & given]
    if other:
        return "fit: labels come back in another spelling", f"{sorted(other)[:2]}"
    if len(predicted) < min(2, len(given)):
        return "fit: labels that differ have become one", f"{sorted(given)[:3]}"
    return None


def _labels_given(job):
    source, _, name = job.recipe.partition("/")
    if source == "cells":
        return {"no", "yes"}
    return set(LABELS[name]) if source == "labels" else None
