"""The model card: what a model file holds, in words and in Markdown, beside the file."""

from __future__ import annotations

from pathlib import Path

from robell._tools.text import number_text, percent, visible, writable
from robell.report.tables import Table, escape_markdown, to_markdown
from robell.tables.dates import day_text

MARK = "<!-- model card written by robell -->"
MOST_COLUMNS = 200


def card_path(path):
    """Return where the card of a model file stands: beside it, ``NAME-card.md``."""
    path = Path(path)
    return path.with_name(f"{path.name.removesuffix('.skops')}-card.md")


def is_card(path):
    """Say whether a file is a model card that was written here."""
    with Path(path).open("rb") as file:
        return file.read(len(MARK)) == MARK.encode()


def model_card(name, info):
    """Return the card as Markdown."""
    versions = ", ".join(f"{_text(name)} {_text(v)}" for name, v in info["versions"].items())
    rows = "" if info["n_rows"] is None else f" Trained with {info['n_rows']:,} rows."
    steps = " → ".join(_text(step) for step in info["model"])
    parameters = ", ".join(f"{_text(k)}={_text(v)}" for k, v in info["parameters"].items())
    plain = writable(name).replace("`", "'").replace("\n", " ")
    parts = [
        MARK,
        f"# Model card of {_text(name)}",
        f"Saved {_text(info['saved'])} with robell {_text(info['robell'])} ({versions}).{rows}",
        f"Model: {steps} ({parameters}).",
        "## What it predicts",
        *_classes(info),
        *(["## About", _about(info["about"])] if info["about"] else []),
        "## Columns",
        *_columns(info),
        "## Limits",
        "Probabilities hold for rows like those of the training. `robell predict` says which "
        "columns of a table have moved, and predicts all the same.",
    ]
    if info["columns"] and all(one["kind"] == "unknown" for one in info["columns"]):
        parts.append(
            "The training table was not given when the model was saved: drift cannot be told."
        )
    parts += [
        "## How to use it",
        f"```\nrobell predict {plain} new.csv --out predictions.csv\n```",
        f'or in Python `robell.files.load_model("{plain}")`. Nothing in the file is run when it is '
        "loaded.",
    ]
    return "\n\n".join(parts) + "\n"


def _text(value):
    return escape_markdown(visible(str(value)))


def _classes(info):
    """Yield what the card says about classes, threshold and wrong labels."""
    counts = info["class_counts"]
    if not info["classes"]:
        yield "Predicts a number."
        return
    if counts is None:
        yield "Classes: " + ", ".join(_text(label) for label in info["classes"]) + "."
    else:
        rows = tuple(
            (visible(str(label)), count, percent(count / max(1, sum(counts))))
            for label, count in zip(info["classes"], counts, strict=True)
        )
        yield _table("Rows of each class", ("Class", "Rows", "Share"), rows)
    if info["threshold"] is not None:
        value, positive = info["threshold"]["value"], _text(info["threshold"]["positive"])
        yield f"Predicts {positive} where its probability is at least {value:.4g}."
    else:
        yield "Predicts the likeliest class."
    if info["noise_rate"] is not None:
        yield (
            f"Of the labels it was trained with, {percent(info['noise_rate'])} are wrong, by the "
            "model's own estimate."
        )


def _about(about, depth=0):
    lines = []
    for name, value in about.items():
        if isinstance(value, dict):
            lines += [f"{'  ' * depth}- {_text(name)}:", _about(value, depth + 1)]
        else:
            text = number_text(value) if isinstance(value, float) else _text(value)
            lines.append(f"{'  ' * depth}- {_text(name)}: {text}")
    return "\n".join(lines)


def _columns(info):
    if not info["columns"]:
        yield f"{info['n_features']:,} columns without names, taken in their order."
        return
    rows = tuple(
        (
            visible(one["name"]),
            one["kind"],
            # Nothing where the training table was not given.
            "" if one["kind"] == "unknown" else percent(one.get("missing", 0.0)),
            _values_of(one),
        )
        for one in info["columns"][:MOST_COLUMNS]
    )
    yield _table("The columns of the training table", ("Column", "Kind", "Missing", "Values"), rows)
    if len(info["columns"]) > MOST_COLUMNS:
        yield f"And {len(info['columns']) - MOST_COLUMNS:,} more."
    yield f"Fingerprint of names and kinds: `{info['columns_fingerprint']}`."


def _values_of(column):
    """Return the range of numbers, or the commonest levels."""
    if column.get("edges") and column["kind"] == "number":
        low, high = number_text(column["edges"][0]), number_text(column["edges"][-1])
        return f"{low} to {high}, median {number_text(column['median'])}"
    if column.get("edges"):
        return f"{_day(column['edges'][0])} to {_day(column['edges'][-1])}"
    if column.get("levels"):
        shown = [f"{visible(level)} ({percent(s)})" for level, s in column["levels"].items()]
        return ", ".join(shown[:3]) + (", ..." if len(shown) > 3 else "")
    return ""


def _day(days):
    """Return a number of days since 1970 as a date, where a calendar has it."""
    return number_text(days) if abs(days) > 1e6 else day_text(days)


def _table(title, columns, rows):
    return to_markdown(Table("card", title, columns, rows)).strip()
