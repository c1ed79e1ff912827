"""The commands of a review: ``robell review``, which asks, and ``robell apply``."""

from __future__ import annotations

from robell.cli.options import OK, how_judged, picked, say


def run(options, typed):
    """Audit the table, and serve the page that asks about its rows."""
    from robell._tools.text import counted
    from robell.labels.audit import audit
    from robell.labels.audit.result import result_paths
    from robell.labels.review.server import ReviewDesk, ReviewServer, only_writer

    # Where the review stands: as the files of an audit, NAME-decisions.csv
    (path,) = result_paths(options.out, options.data.name, "decisions", ("csv",), options.data)
    with only_writer(path):  # before the work
        result = audit(options.data, options.target, **how_judged(options, "kind"))
        desk = ReviewDesk(result, path)
        with ReviewServer(desk, options.port) as server:
            if not options.quiet:
                for remark in result._remarks():
                    say(remark)
                print("\n".join(result._terminal_lines()))
                print("open this address in a browser; Ctrl-C ends the review:")
            print(server.address, flush=True)
            try:
                server.serve(options.idle)
                say(f"nobody has asked for {options.idle:,} seconds")
            except KeyboardInterrupt:
                pass  # the usual way to end it: every decision is in the file
        if not options.quiet:
            print(f"{counted(desk.n_decided, 'row')} decided")
        print(path)
    return OK


def run_apply(options, typed):
    """Apply the review, and write the table and the log."""
    from robell._tools.text import counted
    from robell.labels.review import apply_review

    text = picked(options, "encoding delimiter")
    done = apply_review(options.table, options.reviewed, options.out, **text, replace=options.force)
    if not options.quiet:
        before = "; the table held all of this already" if done.was_applied else ""
        print(
            f"{counted(done.changed, 'label')} changed, {counted(done.dropped, 'row')} dropped, "
            f"{done.kept:,} kept, {done.undecided:,} without a decision{before}"
        )
    print(done.out)
    print(done.log)
    return OK
