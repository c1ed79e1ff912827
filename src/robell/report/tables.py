"""A table as plain data, and its four faces: CSV, LaTeX, Markdown and HTML."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from robell._core.tools.files import write_atomically
from robell.report.escape import escape_html, escape_latex, escape_markdown, writable

MINUS, EN_DASH = "\u2212", "\u2013"
LONG_TEXT = 120  # characters from which a cell of the HTML table is clipped to a few lines


@dataclass(frozen=True)
class Compared:
    """A measured value beside the printed one.

    Parameters
    ----------
    measured, printed : float or None
        None where there is no such value.

    Examples
    --------
    >>> from robell.report.tables import Compared
    >>> Compared(81.5, 82.0).difference
    -0.5
    """

    measured: float | None
    printed: float | None

    @property
    def difference(self):
        """Measured less printed, None where either is missing."""
        if is_missing(self.measured) or is_missing(self.printed):
            return None
        return self.measured - self.printed


Cell = str | int | float | Compared | None


@dataclass(frozen=True)
class Table:
    """Rows of plain cells with what is needed to set them well.

    Parameters
    ----------
    name : str
        Stem of the files: letters, digits, dots, dashes and underscores.
    title : str
        One line above the table.
    columns : tuple of str
        Headers, all different. The first column names the rows.
    rows : tuple of tuples
        Cells: str, int, float, None or :class:`Compared`. None and NaN are missing values.
    caption : str, default=""
        More about the table, after its title.
    digits : int, str or tuple of them, default=2
        Decimals of floats, or a format such as ``".2g"``; a tuple has one for each column.
    best : {None, "max", "min"}, default=None
        Whether the largest or the smallest of each row is set bold. Values that look alike as
        shown are treated alike.
    best_columns : tuple of str, default=()
        The columns among which the best is sought; all but the first when empty.
    footer : int, default=0
        How many of the last rows summarise the others: they are ruled off and never sorted.
    footer_best : tuple of {None, "max", "min"}, default=()
        `best` for each row of the footer, when it differs.
    note : str, default=""
        A remark below the table.

    Examples
    --------
    >>> from robell.report.tables import Table, to_csv
    >>> table = Table("accuracy", "Accuracy", ("dataset", "RVFL"), (("cmc", 70.25),))
    >>> print(to_csv(table), end="")
    dataset,RVFL
    cmc,70.25
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    digits: int | str | tuple[int | str, ...] = 2
    best: str | None = None
    best_columns: tuple[str, ...] = ()
    footer: int = 0
    footer_best: tuple[str | None, ...] = ()
    note: str = ""

    def __post_init__(self):
        set_field = object.__setattr__
        set_field(self, "columns", tuple(str(column) for column in self.columns))
        set_field(self, "rows", tuple(tuple(map(_plain_cell, row)) for row in self.rows))
        if not re.fullmatch(r"\w[\w.-]*", self.name, re.ASCII):
            raise ValueError(f"name must be a plain file stem, got {self.name!r}")
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise ValueError("columns must be at least one, and all different")
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"every row must have {len(self.columns)} cells, one a column")
        if not 0 <= self.footer <= len(self.rows):
            raise ValueError(f"footer must be from 0 to {len(self.rows)}, got {self.footer}")
        if isinstance(self.digits, tuple) and len(self.digits) != len(self.columns):
            raise ValueError(f"digits must be one, or {len(self.columns)}, one a column")
        if self.footer_best and len(self.footer_best) != self.footer:
            raise ValueError(f"footer_best must be empty or have {self.footer} entries")
        if not {self.best, *self.footer_best} <= {None, "max", "min"}:
            raise ValueError('best and footer_best must be None, "max" or "min"')
        if unknown := set(self.best_columns) - set(self.columns):
            raise ValueError(f"best_columns has no column {sorted(unknown)[0]!r}")

    @property
    def body_rows(self):
        """The rows above the footer."""
        return self.rows[: len(self.rows) - self.footer]

    @property
    def has_compared(self):
        """Whether any cell holds a measured value beside a printed one."""
        return any(isinstance(cell, Compared) for row in self.rows for cell in row)

    def format_of(self, column):
        """Return the format of a column's floats, by the column's place."""
        digits = self.digits[column] if isinstance(self.digits, tuple) else self.digits
        return digits if isinstance(digits, str) else f".{digits}f"

    def is_numeric(self, column):
        """Say whether a column, by its place, holds numbers and nothing else."""
        cells = [row[column] for row in self.rows if not is_missing(row[column])]
        return bool(cells) and not any(isinstance(cell, str) for cell in cells)

    def best_cells(self):
        """Return the places (row, column) of the cells to set bold."""
        n_body = len(self.body_rows)
        directions = [self.best] * n_body + list(self.footer_best or [self.best] * self.footer)
        names = self.best_columns or self.columns[1:]
        columns = [place for place, name in enumerate(self.columns) if name in names]
        found = set()
        for place, (row, direction) in enumerate(zip(self.rows, directions, strict=True)):
            if direction:
                found |= {(place, column) for column in self._best_of(row, columns, direction)}
        return found

    def _best_of(self, row, columns, direction):
        values = {}
        for column in columns:
            value = row[column].measured if isinstance(row[column], Compared) else row[column]
            if not isinstance(value, str) and not is_missing(value):
                values[column] = float(_number(value, self.format_of(column)))
        if not values:
            return []
        best = max(values.values()) if direction == "max" else min(values.values())
        return [column for column, value in values.items() if value == best]


def is_missing(cell):
    """Say whether a cell has no value: None, NaN, or neither of the two compared.

    Parameters
    ----------
    cell : str, int, float, Compared or None
        A cell of a table.

    Returns
    -------
    missing : bool
        True where there is nothing to show.

    Examples
    --------
    >>> from robell.report.tables import is_missing
    >>> is_missing(float("nan")), is_missing(0), is_missing("")
    (True, False, False)
    """
    if isinstance(cell, Compared):
        return is_missing(cell.measured) and is_missing(cell.printed)
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def to_csv(table):
    r"""Write a table as CSV, numbers in full precision.

    A column that compares becomes three: measured, printed and difference.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    text : str
        Lines that end in a line feed; missing values are empty.

    Examples
    --------
    >>> from robell.report.tables import Compared, Table, to_csv
    >>> to_csv(Table("t", "T", ("set", "RVFL"), (("cmc", Compared(70.5, 71.0)),)))
    'set,RVFL measured,RVFL printed,RVFL difference\ncmc,70.5,71.0,-0.5\n'
    """
    threefold = [
        any(isinstance(row[place], Compared) for row in table.rows)
        for place in range(len(table.columns))
    ]
    header = []
    for name, three in zip(table.columns, threefold, strict=True):
        kinds = (" measured", " printed", " difference") if three else ("",)
        header += [name + kind for kind in kinds]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(writable, header))
    for row in table.rows:
        values = []
        for cell, three in zip(row, threefold, strict=True):
            if isinstance(cell, Compared):
                values += [cell.measured, cell.printed, _rounded(cell.difference)]
            else:
                values += [cell, None, None] if three else [cell]
        writer.writerow(_csv_value(value) for value in values)
    return stream.getvalue()


def to_latex(table):
    r"""Write a table as a LaTeX float that needs nothing but the package booktabs.

    All text is escaped; characters that pdfLaTeX does not know become their code point.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    text : str
        From ``\begin{table}`` to ``\end{table}``.

    Examples
    --------
    >>> from robell.report.tables import Table, to_latex
    >>> table = Table("t", "T", ("set", "RVFL"), (("heart_hungarian", 70.5),))
    >>> print(to_latex(table).splitlines()[8])
    heart\_hungarian & 70.50 \\
    """
    heading = " ".join(filter(None, [_sentence(table.title), table.caption]))
    alignment = "".join("r" if table.is_numeric(i) else "l" for i in range(len(table.columns)))
    rows = _text_rows(table, escape_latex, lambda text: f"\\textbf{{{text}}}", MINUS)
    lines = [" & ".join(row) + " \\\\" for row in rows]
    n_body = len(table.body_rows)
    parts = [
        f"\\begin{{table}}[htbp]\n\\centering\n\\caption{{{escape_latex(heading)}}}",
        f"\\label{{tab:{table.name}}}\n\\begin{{tabular}}{{{alignment}}}\n\\toprule",
        " & ".join(map(escape_latex, table.columns)) + " \\\\\n\\midrule",
        *lines[:n_body],
        *(["\\midrule"] if 0 < table.footer < len(lines) else []),
        *lines[n_body:],
        "\\bottomrule\n\\end{tabular}",
    ]
    if table.note:
        parts.append(f"\\par\\smallskip{{\\footnotesize {escape_latex(table.note)}\\par}}")
    return "\n".join([*parts, "\\end{table}"]) + "\n"


def to_markdown(table):
    r"""Write a table in GitHub's Markdown.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    text : str
        Title, caption, table and note.

    Examples
    --------
    >>> from robell.report.tables import Compared, Table, to_markdown
    >>> rows = (("a|b", Compared(81.2, 81.9)),)
    >>> print(to_markdown(Table("t", "T", ("set", "RVFL"), rows, digits=1)), end="")
    **T**
    <BLANKLINE>
    | set | RVFL |
    |---|---:|
    | a\|b | 81.2 (81.9, -0.7) |
    """
    rows = _text_rows(table, escape_markdown, lambda text: f"**{text}**")
    rules = ["---:" if table.is_numeric(i) else "---" for i in range(len(table.columns))]
    header = [escape_markdown(column) for column in table.columns]
    grid = [f"| {' | '.join(header)} |", f"|{'|'.join(rules)}|"]
    grid += [f"| {' | '.join(row)} |" for row in rows]
    blocks = [f"**{escape_markdown(table.title)}**", escape_markdown(table.caption)]
    blocks += ["\n".join(grid), escape_markdown(table.note)]
    return "\n\n".join(filter(None, blocks)) + "\n"


def to_html(table, anchor=None):
    """Write a table as an HTML figure with its caption, note and a link to its CSV.

    It is complete without style or script. Numbers carry their full value in ``data-sort``.

    Parameters
    ----------
    table : Table
        The table.
    anchor : str, default=None
        The figure's id; ``table-`` and the table's name when None.

    Returns
    -------
    markup : str
        One ``figure`` element, all text escaped.

    Examples
    --------
    >>> from robell.report.tables import Table, to_html
    >>> markup = to_html(Table("t", "T", ("set", "RVFL"), (("<b>", 70.5),)))
    >>> '<td class="n" data-sort="70.5">70.50</td>' in markup, "&lt;b&gt;" in markup
    (True, True)
    """
    anchor = anchor or f"table-{table.name}"
    bold = table.best_cells()
    rows = [
        f"<tr>{''.join(_html_cell(table, place, i, bold) for i in range(len(table.columns)))}</tr>"
        for place in range(len(table.rows))
    ]
    n_body = len(table.body_rows)
    header = "".join(_html_header(table, place) for place in range(len(table.columns)))
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
        f'<div class="under">{_html_notes(table)}'
        f'<a class="csv" download="{table.name}.csv" href="{escape_html(link)}">CSV</a></div>\n'
        "</figure>\n"
    )


def write(table, folder):
    """Write a table as CSV, LaTeX and Markdown, each file whole or not at all.

    Parameters
    ----------
    table : Table
        The table.
    folder : path-like
        Where to; made when missing.

    Returns
    -------
    paths : tuple of Path
        The three files.

    Examples
    --------
    >>> import tempfile
    >>> from robell.report.tables import Table, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = write(Table("t", "T", ("set",), (("cmc",),)), folder)
    >>> [path.name for path in paths]
    ['t.csv', 't.tex', 't.md']
    """
    writers = {"csv": to_csv, "tex": to_latex, "md": to_markdown}
    return tuple(
        write_atomically(Path(folder) / f"{table.name}.{suffix}", writer(table))
        for suffix, writer in writers.items()
    )


def _plain_cell(cell):
    """Take numpy's numbers as Python's, and refuse what is no cell."""
    if isinstance(cell, Compared):
        if isinstance(cell.measured, str) or isinstance(cell.printed, str):
            raise TypeError(f"only numbers can be compared, got {cell!r}")
        return Compared(_plain_cell(cell.measured), _plain_cell(cell.printed))
    if not isinstance(cell, str) and hasattr(cell, "item"):
        cell = cell.item()
    if cell is not None and (isinstance(cell, bool) or not isinstance(cell, (str, int, float))):
        raise TypeError(f"a cell must be text, a number, Compared or None, got {cell!r}")
    return cell


def _number(value, form):
    return str(value) if isinstance(value, int) else format(value, "z" + form)


def _signed(difference, form):
    """Format a difference with its sign, or without where it is zero as shown."""
    text = format(float(difference), "+z" + form)
    return text if re.search("[1-9n]", text) else text[1:]


def _rounded(difference):
    """Drop the digits that a subtraction of decimal numbers leaves at the end of a double."""
    return None if difference is None else float(f"{difference:.10g}")


def _csv_value(value):
    if is_missing(value):
        return ""
    return writable(value) if isinstance(value, str) else repr(value)


def _text_rows(table, escape_text, embolden, minus="-"):
    """Yield the rows as escaped text for the formats that have no structure within a cell."""
    bold = table.best_cells()
    for place, row in enumerate(table.rows):
        texts = []
        for column, cell in enumerate(row):
            text = _cell_text(cell, table.format_of(column))
            text = escape_text(text if isinstance(cell, str) else text.replace("-", minus))
            texts.append(embolden(text) if (place, column) in bold else text)
        yield texts


def _cell_text(cell, form):
    if is_missing(cell):
        return EN_DASH
    if isinstance(cell, Compared):
        measured, printed = _cell_text(cell.measured, form), _cell_text(cell.printed, form)
        if cell.difference is None:
            return f"{measured} ({printed})"
        return f"{measured} ({printed}, {_signed(cell.difference, form)})"
    return cell if isinstance(cell, str) else _number(cell, form)


def _sentence(text):
    return text if not text or text[-1] in ".!?" else text + "."


def _lines(parts):
    return "".join(part + "\n" for part in parts)


def _html_number(value, form):
    text = EN_DASH if is_missing(value) else _number(value, form)
    return text.replace("-", MINUS).replace("inf", "\u221e")


def _html_header(table, place):
    number = ' class="n"' if table.is_numeric(place) else ""
    return f'<th scope="col"{number} dir="auto">{_html_text(table.columns[place])}</th>'


def _html_text(text):
    text = text.replace(" \u00b1 ", "\u00a0\u00b1\u00a0")  # a mean and its deviation stay together
    return (
        f'<span class="long">{escape_html(text)}</span>'
        if len(text) > LONG_TEXT
        else escape_html(text)
    )


def _html_cell(table, place, column, bold):
    """Set one cell: its attributes, and its content, emboldened where it is the best."""
    cell, form = table.rows[place][column], table.format_of(column)
    attributes = ' scope="row"' if column == 0 else ""
    attributes += ' class="n"' if table.is_numeric(column) else ""
    if isinstance(cell, str):
        attributes, content = attributes + ' dir="auto"', _html_text(cell)
        if column == 0:  # long names of rows may be broken where a reader would break them
            content = content.replace("_", "_<wbr>")
    else:
        value = cell.measured if isinstance(cell, Compared) else cell
        value_text = "" if is_missing(value) else repr(value).replace("inf", "Infinity")
        attributes += f' data-sort="{value_text}"'
        content = _html_number(value, form)
    if (place, column) in bold:
        content = f"<strong>{content}</strong>"
    if isinstance(cell, Compared):
        content += _html_printed(cell, form)
    tag = "th" if column == 0 else "td"
    return f"<{tag}{attributes}>{content}</{tag}>"


def _html_printed(cell, form):
    """Set the printed value and the difference, which sign, arrow and colour tell apart."""
    parts = f'<span class="sr">printed </span>{_html_number(cell.printed, form)}'
    if cell.difference is not None:
        text = _signed(cell.difference, form)
        kind = {"+": "up", "-": "down"}.get(text[0], "same")
        text = text.replace("-", MINUS)
        parts += f' <span class="{kind}"><span class="sr">difference </span>{text}</span>'
    return f" <small>{parts}</small>"


def _html_notes(table):
    notes = [f'<p class="note" dir="auto">{escape_html(table.note)}</p>'] if table.note else []
    if table.has_compared:
        notes.append(
            '<p class="note">In each cell: the measured value, below it the printed value and '
            "measured less printed.</p>"
        )
    return "".join(notes)
