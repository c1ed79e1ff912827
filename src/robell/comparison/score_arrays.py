"""Records of a comparison as arrays of scores, and the lines for a terminal."""

from __future__ import annotations

from robell._tools.text import counted
from robell.comparison.evaluate import NOISE
from robell.comparison.scores import CLEAN, METRICS, ScoreResults, chance_scores

HEADLINE = "balanced_accuracy"


class OwnResults(ScoreResults):
    """The records that the last run asked for; without its note, the newest of every model."""

    def __init__(self, records, run):
        records = list(records)
        newest = {r["job"]["model"]: r["job"]["identity"] for r in records}
        models = run.get("models") or newest
        protocol = run.get("protocol") or (records[-1]["job"]["protocol"] if records else "")

        def counts(job):
            return (
                job["protocol"] == protocol
                and models.get(job["model"]) == job["identity"]
                and job["dataset"] in run.get("tables", [job["dataset"]])
                and job["level"] in run.get("noise", [job["level"]])
                and job["seed"] < run.get("repeats", job["seed"] + 1)
            )

        found = {r["job"]["model"]: r["job"]["label"] for r in records}
        labels = {model: found[model] for model in models if model in found}
        tables = run.get("tables", ())
        super().__init__(records, counts, labels=labels, sets=tables, kinds=(NOISE,))
        self.protocol = protocol

    @property
    def reference(self):
        """The model that the others are held against: the first one named."""
        return next(iter(self.models), None)

    def scores_of(self, record):
        """Return the six scores of a record, those of chance where its job failed."""
        if record["status"] == "done":
            return record["outcome"]["metrics"]
        # Where a process was ended there is no outcome; the whole table has about the same shares.
        counts = record.get("outcome", {}).get("test_counts") or record["data"]["class_counts"]
        return chance_scores(counts if len(counts) == 2 else sorted(counts, reverse=True))

    def failures_by_model(self):
        """Return how many jobs of each model failed."""
        jobs = [record["job"]["model"] for record in self.failed]
        return {model: jobs.count(model) for model in self.models}


PROTOCOL_TEXTS = {
    "paper": "one 70:30 split, as the paper's (a permutation of seed 0, not stratified)",
    "repeated": "stratified 70:30 splits",
    "holdout": "one stratified 70:30 split",
}


def subtitle(results):
    """Return the line below the title."""
    if not results.models:
        return "Nothing has been measured yet."
    levels = [level for _, level in results.cells if level]
    noise = f", up to {max(levels)} % of the training labels made wrong" if levels else ""
    splits = PROTOCOL_TEXTS[results.protocol]
    if results.protocol == "repeated":
        splits = counted(len(results.seeds), "stratified 70:30 split")
    return (
        f"{counted(len(results.models), 'model')} on {counted(len(results.datasets), 'table')}, "
        f"{splits} of each{noise}."
    )


def headline(results):
    """Return the mean balanced accuracy and average rank of every model, for a terminal."""
    cells = results.complete_cells()
    if not cells:
        return "Nothing has been measured yet."
    width = max(len(label) for label in results.labels.values()) + 2
    lines = [
        f"{METRICS[HEADLINE]}, mean over {counted(len(cells[0].datasets), 'table')} (average rank, "
        "1 = best), by wrong training labels",
        " " * width + "".join(f"{f'{cell.level} %':>15}" for cell in cells),
    ]
    for model in results.models:
        row = ""
        for cell in cells:
            place = cell.models.index(model)
            rank = f"({cell.ranks(HEADLINE)[place]:.2f})"
            row += f"{cell.means(HEADLINE)[place]:8.3f}{rank:>7}"
        lines.append(f"{results.labels[model]:{width}}{row}")
    failed = {results.labels[m]: n for m, n in results.failures_by_model().items() if n}
    for label, n in failed.items():
        lines.append(f"{label}: {counted(n, 'job')} failed, scored as chance")
    return "\n".join(lines)


def cell_title(cell):
    """Return the title of the section of a noise."""
    return "Labels as given" if cell.kind == CLEAN else f"{cell.level} % of the labels made wrong"
