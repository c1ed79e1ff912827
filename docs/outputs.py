"""What the code blocks of a page print, which stands in a ``text`` block below each of them.

    python docs/outputs.py             prints which outputs are not those of this tree
    python docs/outputs.py --write     writes them, and adds those that are missing

The Python blocks of a page are one session. Commands (``sh``) of ``start.md``, ``tutorial.md``
and ``fit.md`` run in between, and what they print counts too.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from robell.cli.main import main as robell_main

ROOT = Path(__file__).parents[1]
GUIDE = [
    *["annotators", "audit", "big_data", "certify", "compare", "compare_scores", "deploy"],
    *["fit", "imbalance"],
    *["label_drift", "labels", "probabilities", "regression", "robell", "robust_regressor"],
    *["search", "streaming"],
    *["test_labels", "tutorial", "variants", "wrong_labels", "wrong_numbers"],
]
PAGES = [
    "README.md",
    "docs/index.md",
    "docs/start.md",
    "docs/robustness.md",
    *(f"docs/guide/{name}.md" for name in GUIDE),
]
WITH_COMMANDS = ("docs/start.md", "docs/guide/tutorial.md", "docs/guide/fit.md")


class Printed(NamedTuple):
    """What a block printed, and what the page says: None where it says nothing."""

    printed: str
    on_page: str | None
    start: int  # where the page's output stands, or is to stand
    end: int


def run_command(line, folder):
    """Run one line of a page in a folder as a shell would, ours in this process; return its words.

    What a process adds (its streams, its exit status) is tested where the command is.
    """
    program, *arguments = shlex.split(line)
    if program == "python":
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        given = {"cwd": folder, "env": environment, "text": True, "check": True}
        return subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, **given).stdout
    assert program == "robell", line
    words = io.StringIO()
    with (
        contextlib.redirect_stdout(words),
        contextlib.redirect_stderr(words),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")  # errors in tests
        warnings.simplefilter("ignore", DeprecationWarning)
        status = robell_main(arguments)
    if status:
        raise RuntimeError(f"{line}: {words.getvalue()}")
    return words.getvalue()


def outputs(page, folder):
    """Run the blocks of a page in a folder; return what each one that prints has printed."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if page in WITH_COMMANDS:
        shutil.copy(ROOT / "examples" / "tables" / "claims.py", folder)
    module = ModuleType("page")  # where what a page defines can be pickled from
    sys.modules["page"] = module
    found = []
    with contextlib.chdir(folder):
        for block in re.finditer(r"^```(python|sh)\n(.*?)^```\n", text, re.M | re.S):
            language, code = block.groups()
            if language == "sh" and page not in WITH_COMMANDS:
                continue
            if language == "sh":
                printed = "".join(run_command(line, folder) for line in code.splitlines())
            else:
                with contextlib.redirect_stdout(io.StringIO()) as stream:
                    exec(compile(code, page, "exec"), vars(module))
                printed = stream.getvalue()
            below = re.compile(r"\s*^```text\n(.*?)^```\n", re.M | re.S).match(text, block.end())
            if below or printed:
                at = below.span() if below else (block.end(), block.end())
                found.append(Printed(printed, below and below[1], *at))
    return found


def write(page, found):
    """Write what was printed into the page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for output in reversed(found):
        below = f"\n```text\n{output.printed}```\n" if output.printed else ""
        text = text[: output.start] + below + text[output.end :]
    (ROOT / page).write_text(text, encoding="utf-8")


def main(arguments):
    """Compare the outputs of every page, or write them."""
    differing = 0
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            found = outputs(page, Path(folder))
        wrong = [output for output in found if output.printed != (output.on_page or "")]
        differing += len(wrong)
        print(f"{page}: {len(found)} outputs, {len(wrong)} differ")
        if wrong and "--write" in arguments:
            write(page, found)
    return bool(differing and "--write" not in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
