"""The command ``robell certify``."""

from __future__ import annotations

from typing import Any

from robell.cli.options import OK, how_judged


def run(options, typed):
    """Draw the sample, or make the certificate of one that was checked, and write its files."""
    from robell.labels.certificate import certificate_paths
    from robell.labels.certify import certify, sample_paths

    check = sample_paths if options.checked is None else certificate_paths
    check(options.out, options.data.name, options.force)  # before any work is done
    how = how_judged(options, "checked rows width kind group tolerance max_rows")
    result: Any = certify(options.data, options.target, **how)
    if options.checked is None:
        result = result.write(options.out, replace=options.force)
        paths = result.csv, result.json
    else:
        result = result.write(options.out, replace=options.force, command=typed)
        paths = result.html, result.json
    if not options.quiet:
        print(*result.lines(), sep="\n")
    for path in paths:
        print(path)
    return OK
