"""The command ``robell datasets``."""

from __future__ import annotations

from robell.cli.options import NOTHING_WRITTEN, OK, add_data_dir, set_names

HELP = "list the sets and where each would come from"
DESCRIPTION = "List the paper's sets, what each really is, and where it would come from."
EXAMPLES = """\
examples:
  robell datasets
  robell datasets haberman --data-dir data
  robell datasets keel"""
WHEN_STOPPED = NOTHING_WRITTEN


def expected_errors():
    """Return what may go wrong by the user's doing."""
    from robell.datasets import DatasetError

    return (DatasetError,)


def add_arguments(command):
    """Add the command's options."""
    command.add_argument("names", nargs="*", metavar="NAME", help='default: "paper"')
    add_data_dir(command)


def run(options, arguments):
    """Print a line for every set."""
    from robell.datasets import available, info

    names = set_names(options.names or ["paper"])
    where = available(options.data_dir, names=names)
    width = max(len(name) for name in names)
    print(f"{'name':{width}}  {'rows':>5}  {'columns':>7}  {'minority':>8}  from")
    for name in names:
        about = info(name)
        sizes = [about.n_rows, about.n_features, about.n_minority]
        cells = ["-" if value is None else str(value) for value in sizes]
        print(f"{name:{width}}  {cells[0]:>5}  {cells[1]:>7}  {cells[2]:>8}  {where[name]}")
    return OK
