"""The reference of every command and option, made from the parsers that read them.

python docs/commands.py            says whether docs/commands.md is that of this tree
python docs/commands.py --write    writes it
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Commands and options

Every command of `robell` and what it takes, as `robell COMMAND --help` prints it.
`docs/commands.py` makes this page from the parsers.

| command | |
|---|---|
"""


def cell(text):
    """Return text as one cell of a table in Markdown."""
    return " ".join(re.sub(r"([|<>*_\[\]])", r"\\\1", text).split())


def option(action):
    """Return the row of one option: how it is written, and what it does."""
    values = action.metavar or (action.choices and "{" + ",".join(map(str, action.choices)) + "}")
    values = values or (action.dest.upper() if action.nargs != 0 else "")
    values = values if isinstance(values, str) else " ".join(values)
    if action.nargs in ("+", "*"):
        values += " ..."
    names = ", ".join(action.option_strings)
    written = f"{names} {values}".strip() if names else values
    text = (action.help or "") % {"default": action.default, "prog": "robell"}
    return f"| `{written}` | {cell(text)} |\n"


def section(name, parser):
    """Return what stands about one command."""
    summary, _, more = parser.description.strip().partition("\n\n")
    page = f"\n## robell {name}\n\n{' '.join(summary.split())}\n"
    page += "".join(f"\n{cell(part)}\n" for part in more.split("\n\n") if part.strip())
    examples = re.search(r"examples:\n(.*?)(?:\n\n|\nexit status|$)", parser.epilog, re.S)
    if examples:
        lines = "\n".join(line.strip() for line in examples[1].splitlines() if line.strip())
        page += f"\n```text\n{lines}\n```\n"
    page += "\n| option | |\n|---|---|\n"
    return page + "".join(map(option, parser._actions))


def reference():
    """Return the page."""
    from robell.cli.main import COMMANDS, _parser
    from robell.cli.options import EXIT_STATUS

    os.environ["COLUMNS"] = "80"
    parsers = {
        name: _parser([name, "--help"])._subparsers._group_actions[0].choices[name]
        for name in COMMANDS
    }
    page = HEAD
    for name, parser in parsers.items():
        summary = " ".join(parser.description.strip().split("\n\n")[0].split())
        page += f"| [`robell {name}`](#robell-{name}) | {cell(summary)} |\n"
    page += "".join(section(name, parser) for name, parser in parsers.items())
    page += "\n## Exit status\n\n| status | |\n|---|---|\n"
    for status, meaning in re.findall(r"^ +(\d+) +(.*)$", EXIT_STATUS, re.M):
        page += f"| {status} | {cell(meaning)} |\n"
    return page


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(reference(), encoding="utf-8")
    sys.exit(PAGE.read_text(encoding="utf-8") != reference())
