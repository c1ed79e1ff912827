"""Finished records as every study's results read them. No estimator is seen behind them."""

from __future__ import annotations


class Results:
    """The records of a study that count: of every set those of its newest rows only.

    Where a set was run on other rows before (another source), one table must not mix the two.
    ``keep`` may leave out further jobs. ``done`` and ``failed`` are the two kinds of ``records``;
    ``data`` says of every set where it came from.
    """

    def __init__(self, records, keep=None):
        records = list(records)
        newest = {r["job"]["dataset"]: r["job"]["digest"] for r in records}
        self.records = [
            r
            for r in records
            if r["job"]["digest"] == newest[r["job"]["dataset"]]
            and (keep is None or keep(r["job"]))
        ]
        self.done = [r for r in self.records if r["status"] == "done"]
        self.failed = [r for r in self.records if r["status"] != "done"]
        self.data = {r["job"]["dataset"]: r.get("data", {}) for r in self.records}

    def versions(self):
        """Return the versions that made the records as text; several of one package are joined."""
        found = {}
        for record in self.records:
            packages = record.get("versions", {}) | record.get("packages", {})
            for name, version in packages.items():
                found.setdefault(name, set()).add(version)
        return ", ".join(f"{name} {' and '.join(sorted(found[name]))}" for name in found)


def ordered(names, order):
    """Return names in a given order, others behind them by name."""
    return tuple(n for n in order if n in names) + tuple(sorted(set(names) - set(order)))
