"""Fuzz readers and writers, the bytes chosen by the lines of code that they reach (Atheris).

    python fuzz/guided.py escape --runs 1000000
    python fuzz/guided.py all --seconds 60
    python fuzz/guided.py csv --once results/fuzz/csv-crash-...      an input again, its traceback

The targets are those of ``targets.py``; ``corpus/TARGET`` holds inputs that each reach something
that no other one does. A finding is an exception that is not a refusal in one line, a broken
promise, an input that takes more than 5 s of a processor, or more memory than --memory. Ends with
status 1 where there was one; the input is then in results/fuzz. ``--keep`` adds what was found to
the corpus.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
FOUND = HERE.parent / "results" / "fuzz"
MOST_KEPT, LARGEST_KEPT = 60, 1000  # inputs of a run added to a corpus, and their bytes
SECONDS = 5  # of a processor that an input may take
WORDS = {
    "csv": ['"', '""', "\\xef\\xbb\\xbf", "\\xff\\xfe", "\\x1f\\x8b", "\\x0d\\x0a", "NA"],
    "parquet": ["PAR1"],
    "reviews": ["keep", "change", "drop", "fingerprint", "suggested", "label"],
    "models": ['"__class__"', "csr_matrix", "__loader__", "PK\\x03\\x04", "-1", "1e999", "null"],
    "records": ['"key"', '"status"', "done", "failed", '"outcome"', '"check"', "NaN", "{}"],
    "escape": ["<script>", "&amp;", "\\xe2\\x80\\xae", "\\xe2\\x80\\x8d", "=1+1", "](", "**"],
    "pages": ["<script>", "javascript:", "](", "**", "\\x00", "https://", "\\xe2\\x80\\xae"],
    "numerals": ["1,234", "1.234,5", " %", " EUR", "inf", "percentage", "(", ", in ", "1e5"],
    "dates": ["2024-02-29", " 12:30", "pm", "UTC", "+01:00", "31.12.", "Jan", "Uhr", "h"],
}


def fuzz(name, options):
    """Fuzz one target in a process of its own; return what came of it."""
    FOUND.mkdir(parents=True, exist_ok=True)
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="robell-guided-") as folder:
        new, words, slowest = (Path(folder) / one for one in ("new", "words", "slowest"))
        new.mkdir()
        words.write_text("".join(f'"{_quoted(word)}"\n' for word in WORDS[name]), encoding="utf-8")
        flags = [
            f"-runs={options.runs}", f"-max_total_time={options.seconds}", f"-dict={words}",
            "-timeout=300", f"-rss_limit_mb={options.memory}", f"-seed={options.seed}",
            f"-artifact_prefix={FOUND}/{name}-", "-print_final_stats=1", "-max_len=4096",
            "-detect_leaks=0",
        ]  # fmt: skip
        line = [sys.executable, __file__, name, "--inside", str(slowest), *flags]
        line += [str(new), str(CORPUS / name)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        run = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        counts = dict(re.findall(r"^stat::(\w+):\s+(\d+)", run.stderr, re.M))
        result = {
            "target": name,
            "executions": int(counts.get("number_of_executed_units", 0)),
            "new inputs": len(list(new.iterdir())),
            "slowest, s": float(slowest.read_text() if slowest.exists() else 0),
            "memory, MB": int(counts.get("peak_rss_mb", 0)),
            "CPU s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime),
            "seconds": round(time.monotonic() - start),
            "findings": int(run.returncode != 0),
        }
        if run.returncode:
            print(run.stdout[-3000:], run.stderr[-6000:], sep="\n", flush=True)
        print(json.dumps(result), flush=True)
        if options.keep:
            _keep(name, new)
    return result


def _quoted(word):
    """Return a word as libFuzzer's dictionaries have it; escapes of bytes stay as they are."""
    return re.sub(r'"|\\(?!x[0-9a-f]{2})', lambda sign: "\\" + sign[0], word)


def _keep(name, new):
    """Add the smallest inputs that have reached something new to the corpus."""
    found = sorted((one.stat().st_size, one.name) for one in new.iterdir())
    for size, one in found[:MOST_KEPT]:
        if size <= LARGEST_KEPT:
            (CORPUS / name / one[:12]).write_bytes((new / one).read_bytes())


def be_inside(name, slowest, flags):
    """Fuzz in this process, as libFuzzer's flags say; does not return.

    The time that the slowest input took is written to a file. It is that of the processor, since
    a machine may have other work to do.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import atheris

    sys.path.insert(0, str(HERE))
    with atheris.instrument_imports(include=["robell"]):
        import targets
    target, most = targets.TARGETS[name], 0.0

    def timed(data):
        nonlocal most
        start = time.process_time()
        target(data)
        seconds = time.process_time() - start
        targets.require(seconds < SECONDS, f"an input takes less than {SECONDS} s", seconds)
        if seconds > most:
            most = seconds
            Path(slowest).write_text(f"{seconds:.3f}", encoding="utf-8")

    for one in sorted((CORPUS / name).iterdir()):  # what they import takes its time only once
        target(one.read_bytes())
    atheris.Setup([sys.argv[0], *flags], timed)
    atheris.Fuzz()


def main():
    """Run what the options say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", choices=[*WORDS, "all"])
    parser.add_argument("--runs", type=int, default=1_000_000, help="default 1,000,000")
    parser.add_argument("--seconds", type=int, default=300, help="of a target (default 300)")
    parser.add_argument("--memory", type=int, default=1024, help="MB of the process (default 1024)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="add what was found to the corpus")
    parser.add_argument("--once", type=Path, help="one input alone")
    if "--inside" in sys.argv[2:3]:
        be_inside(sys.argv[1], sys.argv[3], sys.argv[4:])
    options = parser.parse_args()
    if options.once:
        sys.path.insert(0, str(HERE))
        import targets

        targets.TARGETS[options.target](options.once.read_bytes())
        return 0
    n_findings = 0
    for name in WORDS if options.target == "all" else [options.target]:
        n_findings += fuzz(name, options)["findings"]
    return 1 if n_findings else 0


if __name__ == "__main__":
    sys.exit(main())
