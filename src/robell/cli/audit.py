"""The command ``robell audit``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from robell.cli.options import (
    ABOVE_LIMIT,
    CANNOT_TELL,
    OK,
    OptionError,
    how_judged,
    memory_left,
    picked,
    say,
)


def run(options, typed):
    """Audit, and write the page and the table; as a gate, answer by the exit status."""
    from robell._tools.files import check_output, write_together
    from robell.labels.audit import audit, audit_annotators
    from robell.labels.audit.result import as_json, is_audit_file, is_summary, output_paths

    if options.target is None:
        for name in ("kind", "group", "against", "reviewed", "fail_above", "all_rows"):
            if getattr(options, name) not in (None, False, "auto"):
                name = name.replace("_", "-")
                raise OptionError(f"--{name} goes with --target, not with several annotators")
    is_gate = options.fail_above is not None or options.json is not None
    has_report = options.out is not None or not is_gate
    if has_report:  # checked before any work is done
        is_ours = None if options.force else is_audit_file
        output_paths(options.out, options.data.name, options.data, is_ours)
    if options.json not in (None, "-"):
        check_output(options.json, [options.data], None if options.force else is_summary)
    if options.target is None:
        result: Any = audit_annotators(
            options.data,
            options.annotators,
            **picked(options, "long_form drop max_rows encoding delimiter random_state"),
            memory_limit=memory_left(options.memory, ()),
        )
    else:
        how = how_judged(options, "kind group against max_rows")
        result = audit(options.data, options.target, **how)
    status, verdict, found = OK, "", result.summary()
    if options.target is not None:
        if options.fail_above is not None:
            status, verdict = _judged(result, options.fail_above)
        found |= {"fail_above": options.fail_above, "passed": status == OK, "exit_status": status}
    text, prints_json = as_json(found), options.json == "-"
    also = {} if options.json is None or prints_json else {Path(options.json): text}
    if has_report:
        more = {"top": options.top, "command": typed, "also": also}
        result = result.write(options.out, all_rows=options.all_rows, **more)
    else:
        write_together(also)
    if prints_json:
        print(text, end="")
    if not options.quiet:
        for remark in result._remarks():
            say(remark)
        lines = [*result._terminal_lines(), *([verdict] if verdict else [])]
        print("\n".join(lines), file=sys.stderr if prints_json else sys.stdout)
    for path in filter(None, [result.html, result.csv, None if prints_json else options.json]):
        print(path)
    return status


def _judged(result, limit):
    """Return the exit status of a gate, and the line that explains it."""
    if result.trust == "none":
        return CANNOT_TELL, "Failed: the columns say too little to tell whether the limit is kept."
    share = float(result.suspect.mean())
    digits = 1  # and as many more as the two differ by
    while share != limit and round(100 * share, digits) == round(100 * limit, digits):
        digits += 1
    shown, allowed = (f"{100 * value:.{digits}f} %" for value in (share, limit))
    found = f"{shown} of the labels checked are suspect, {allowed} are allowed."
    if share > limit:
        return ABOVE_LIMIT, f"Failed: {found}"
    return OK, f"Passed: {found}"
