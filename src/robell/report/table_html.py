"""A table as HTML: complete without style or script, sorted and filtered by the page's script."""

from __future__ import annotations

from urllib.parse import quote

from robell.report.escape import escape_html
from robell.report.tables import (
    EN_DASH,
    MINUS,
    Compared,
    is_missing,
    number_text,
    signed_text,
    to_csv,
)

LONG_TEXT = 120  # characters from which a cell is clipped to a few lines


def to_html(table, anchor=None):
    """Write a table as an HTML figure with its caption, note and a link to its CSV.

    Numbers carry their full value in ``data-sort``. ``anchor`` is the figure's id, by default
    ``table-`` and the table's name.
    """
    anchor = anchor or f"table-{table.name}"
    bold, columns = table.best_cells(), range(len(table.columns))
    number = [' class="n"' if table.is_numeric(column) else "" for column in columns]
    header = "".join(
        f'<th scope="col"{number[column]} dir="auto">{_text(table.columns[column])}</th>'
        for column in columns
    )
    rows = [
        "".join(_cell(table, row, column, number[column], bold) for column in columns)
        for row in range(len(table.rows))
    ]
    n_body = len(table.body_rows)
    foot = f"<tfoot>\n{_lines(rows[n_body:])}</tfoot>\n" if table.footer else ""
    caption = f' <span class="caption">{escape_html(table.caption)}</span>' if table.caption else ""
    link = f"data:text/csv;charset=utf-8,{quote(to_csv(table), safe=',.:;!()*/ ')}"
    return (
        f'<figure class="table" id="{anchor}">\n'
        f'<figcaption><strong id="{anchor}-title" dir="auto">{escape_html(table.title)}</strong>'
        f"{caption}</figcaption>\n"
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{anchor}-title">\n'
        f"<table>\n<thead>\n<tr>{header}</tr>\n</thead>\n"
        f"<tbody>\n{_lines(rows[:n_body])}</tbody>\n{foot}</table>\n</div>\n"
        f'<div class="under">{_notes(table)}'
        f'<a class="csv" download="{table.name}.csv" href="{escape_html(link)}">CSV</a></div>\n'
        "</figure>\n"
    )


def _lines(rows):
    return "".join(f"<tr>{row}</tr>\n" for row in rows)


def _number(value, form):
    text = EN_DASH if is_missing(value) else number_text(value, form)
    return text.replace("-", MINUS).replace("inf", "\u221e")


def _text(text):
    text = text.replace(" \u00b1 ", "\u00a0\u00b1\u00a0")  # a mean and its deviation stay together
    return (
        f'<span class="long">{escape_html(text)}</span>'
        if len(text) > LONG_TEXT
        else escape_html(text)
    )


def _cell(table, place, column, number, bold):
    """Write one cell: its attributes, and its content, emboldened where it is the best."""
    cell, form = table.rows[place][column], table.format_of(column)
    attributes = (' scope="row"' if column == 0 else "") + number
    if isinstance(cell, str):
        attributes, content = attributes + ' dir="auto"', _text(cell)
        if column == 0:  # long names of rows may be broken where a reader would break them
            content = content.replace("_", "_<wbr>")
    else:
        value = cell.measured if isinstance(cell, Compared) else cell
        value_text = "" if is_missing(value) else repr(value).replace("inf", "Infinity")
        attributes += f' data-sort="{value_text}"'
        content = _number(value, form)
    if (place, column) in bold:
        content = f"<strong>{content}</strong>"
    if isinstance(cell, Compared):
        content += _printed(cell, form)
    tag = "th" if column == 0 else "td"
    return f"<{tag}{attributes}>{content}</{tag}>"


def _printed(cell, form):
    """Write the printed value and the difference, marked by sign and colour."""
    parts = f'<span class="sr">printed </span>{_number(cell.printed, form)}'
    if cell.difference is not None:
        text = signed_text(cell.difference, form)
        kind = {"+": "up", "-": "down"}.get(text[0], "same")
        text = text.replace("-", MINUS)
        parts += f' <span class="{kind}"><span class="sr">difference </span>{text}</span>'
    return f" <small>{parts}</small>"


def _notes(table):
    notes = [f'<p class="note" dir="auto">{escape_html(table.note)}</p>'] if table.note else []
    if table.has_compared:
        notes.append(
            '<p class="note">In each cell: the measured value, below it the printed value and '
            "measured less printed.</p>"
        )
    return "".join(notes)
