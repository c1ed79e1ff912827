"""Tables of a report: their cells, and how they are written as HTML, LaTeX, Markdown and CSV."""

from __future__ import annotations

import csv
import html
import io
import math
import re
import tomllib
import unicodedata
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from urllib.parse import quote

from robell._tools.files import read_resource, write_atomically
from robell._tools.text import spreadsheet_safe, writable

LATEX_TEXT = 35  # characters of a cell in LaTeX from which its text wraps
LATEX_LINE = 120  # characters of a line that can still be read when they are scaled to fit
LATEX_PAGE = 36  # lines of a float that fit a page with its caption
MINUS, EN_DASH = "\u2212", "\u2013"
_LATEX = tomllib.loads(read_resource("robell.report", "assets/latex.toml"))
_ACCENTS = {"GRAVE": "`", "ACUTE": "'", "CIRCUMFLEX": "^", "TILDE": "~", "DIAERESIS": '"'}
_ACCENTS |= {"RING": "r", "CEDILLA": "c", "CARON": "v", "MACRON": "=", "BREVE": "u"}
_RAISED = {"<super>": "^", "<sub>": "_"}


@dataclass(frozen=True)
class Compared:
    """A measured value beside the printed one; None where there is no such value."""

    measured: float | None
    printed: float | None

    @property
    def difference(self):
        """Measured minus printed; None where either is missing."""
        if self.measured is None or self.printed is None:
            return None
        difference = self.measured - self.printed
        return None if math.isnan(difference) else difference


@dataclass(frozen=True)
class Spread:
    """A mean with the standard deviation of what it is the mean of; None or NaN of one value."""

    mean: float | None
    deviation: float | None


Cell = str | int | float | Compared | Spread | None


@dataclass(frozen=True)
class Table:
    """Rows of plain cells with what is needed to set them well.

    The first column names the rows. None and NaN are missing values. ``digits`` are the decimals
    of floats or a format such as ".2g"; a tuple has one for each column. ``best`` says whether the
    largest ("max") or the smallest ("min") of each row, among ``best_columns`` (all but the first
    when empty), is set bold; ``column_best`` says the same of each column, None where neither is.
    Values that look alike as shown are treated alike. The last ``footer`` rows summarise the
    others: they are ruled off and never sorted, and ``footer_best`` is their own ``best``. ``name``
    is the stem of the files.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    digits: int | str | tuple[int | str, ...] = 2
    best: str | None = None
    best_columns: tuple[str, ...] = ()
    column_best: tuple[str | None, ...] = ()
    footer: int = 0
    footer_best: tuple[str | None, ...] = ()
    note: str = ""
    bold: frozenset[tuple[int, int]] = frozenset()  # more places (row, column), by another rule

    def __post_init__(self):
        set_field = object.__setattr__
        set_field(self, "columns", tuple(map(str, self.columns)))
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

    def format_of(self, column):
        """Return the format of a column's floats, by the column's place."""
        digits = self.digits[column] if isinstance(self.digits, tuple) else self.digits
        return digits if isinstance(digits, str) else f".{digits}f"

    def is_numeric(self, column):
        """Say whether a column, by its place, holds numbers and nothing else."""
        has_numbers = False
        for row in self.rows:
            if isinstance(row[column], str):
                return False
            has_numbers |= not is_missing(row[column])
        return has_numbers

    def best_cells(self):
        """Return the places (row, column) of the cells to set bold."""
        n_body = len(self.body_rows)
        directions = [self.best] * n_body + list(self.footer_best or [self.best] * self.footer)
        columns = list(map(self.columns.index, self.best_columns or self.columns[1:]))
        found = set(self.bold)
        for place, direction in enumerate(directions):
            if direction:
                found |= self._best_of([(place, column) for column in columns], direction)
        for column, direction in enumerate(self.column_best):
            if direction:
                found |= self._best_of([(place, column) for place in range(n_body)], direction)
        return found

    def _best_of(self, places, direction):
        """Return those of some places whose number is the best as shown."""
        values = {}
        for place, column in places:
            value = value_of(self.rows[place][column])
            if not isinstance(value, str) and not is_missing(value):
                values[place, column] = float(number_text(value, self.format_of(column)))
        if not values:
            return set()
        best = max(values.values()) if direction == "max" else min(values.values())
        return {place for place, value in values.items() if value == best}


def value_of(cell):
    """Return what a cell is sorted by: the measured value, the mean, or the cell itself."""
    if isinstance(cell, Compared):
        return cell.measured
    return cell.mean if isinstance(cell, Spread) else cell


def is_missing(cell):
    """Say whether a cell has no value: None, NaN, or neither of the two compared."""
    if isinstance(cell, Compared):
        return is_missing(cell.measured) and is_missing(cell.printed)
    if isinstance(cell, Spread):
        return is_missing(cell.mean)
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def to_csv(table):
    """Write a table as CSV in full precision; Compared takes three columns, Spread two.

    A text that a spreadsheet would compute gets an apostrophe before it.
    """
    header, widths = [], []
    cells_of = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    for name, cells in zip(table.columns, cells_of, strict=True):
        kinds = {*map(type, cells)}
        if Compared in kinds:
            header += [f"{name} measured", f"{name} printed", f"{name} difference"]
        else:
            header += [name, f"{name} sd"] if Spread in kinds else [name]
        widths.append(3 if Compared in kinds else 2 if Spread in kinds else 1)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(_csv_text, header))
    for row in table.rows:
        values = []
        for cell, width in zip(row, widths, strict=True):
            found = [cell]
            if isinstance(cell, Compared):
                # Without the digits that a subtraction of decimal numbers leaves at the end
                difference = cell.difference and float(f"{cell.difference:.10g}")
                found = [cell.measured, cell.printed, difference]
            elif isinstance(cell, Spread):
                found = [cell.mean, cell.deviation]
            values += found + [None] * (width - len(found))
        writer.writerow(map(_csv_text, values))
    return stream.getvalue()


def _csv_text(value):
    if isinstance(value, str):
        return spreadsheet_safe(writable(value))
    return "" if is_missing(value) else repr(value)


def to_latex(table):
    """Write a table as LaTeX floats; the first line says which packages they need.

    One that is too wide is scaled down to the line, and split where that would make it too small
    to read; so is one that is too long for a page.
    """
    rows = list(_text_rows(table, escape_latex, "\\textbf{{{}}}".format, MINUS))
    n_rows, n_body = len(rows), len(table.body_rows)
    texts, wraps, widths, alignment = [], [], [], []
    for place, name in enumerate(table.columns):
        column = [_cell_text(row[place], table.format_of(place)) for row in table.rows]
        longest = max(map(len, column), default=0)
        word = max((len(w) for text in column for w in text.split()), default=0)
        is_long = longest > LATEX_TEXT and word < LATEX_TEXT
        texts.append(column)
        wraps.append(is_long)
        widths.append(max(min(longest, LATEX_TEXT) if is_long else longest, len(name)) + 2)
        alignment.append("p{6cm}" if is_long else "r" if table.is_numeric(place) else "l")
    # Groups of columns that can be read when scaled to a line, each with the first
    groups, width = [[0]], widths[0]
    for place in range(1, len(widths)):
        if width + widths[place] > LATEX_LINE and len(groups[-1]) > 1:
            groups.append([0])
            width = widths[0]
        groups[-1].append(place)
        width += widths[place]
    floats = []  # columns, first and last of rows that fit a page; the footer stays together
    for columns in groups:
        first = n_lines = 0
        for row in range(n_body):
            height = max([1, *(1 + len(texts[c][row]) // LATEX_TEXT for c in columns if wraps[c])])
            if n_lines + height > LATEX_PAGE - table.footer and row > first:
                floats.append((columns, first, row))
                first, n_lines = row, 0
            n_lines += height
        floats.append((columns, first, n_rows))
    stop = "" if not table.title or table.title[-1] in ".!?" else "."
    heading = " ".join(filter(None, [table.title + stop, table.caption]))
    label, number = f"\\label{{tab:{table.name}}}\n", ""
    written = ["% Needs \\usepackage{booktabs,graphicx}\n"]
    for columns, first, last in floats:
        lines = [" & ".join(rows[row][c] for c in columns) + " \\\\" for row in range(first, last)]
        if table.footer and first < n_body < last:
            lines.insert(n_body - first, "\\midrule")
        note = ""
        if table.note and last == n_rows:
            note = f"\\par\\smallskip{{\\footnotesize {escape_latex(table.note)}\\par}}\n"
        body = "".join(f"{line}\n" for line in lines)
        written.append(
            f"\\begin{{table}}[htbp]\n\\centering\n{number}\\caption{{{escape_latex(heading)}}}\n"
            # Scaled down to the line where it is wider.
            f"{label}\\resizebox{{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}}{{!}}{{%\n"
            f"\\begin{{tabular}}{{{''.join(alignment[c] for c in columns)}}}\n\\toprule\n"
            f"{' & '.join(escape_latex(table.columns[c]) for c in columns)} \\\\\n\\midrule\n"
            f"{body}\\bottomrule\n\\end{{tabular}}%\n}}\n{note}\\end{{table}}\n"
        )
        # A continued table keeps its number.
        heading = f"{table.title.rstrip('.')} (continued)."
        label, number = "", "\\addtocounter{table}{-1}\n"
    return "".join(written)


def to_markdown(table):
    """Write a table in GitHub's Markdown: title, caption, table and note."""
    header, rules = " | ".join(map(escape_markdown, table.columns)), "|"
    for place in range(len(table.columns)):
        rules += "---:|" if table.is_numeric(place) else "---|"
    grid = [f"| {header} |", rules]
    for row in _text_rows(table, escape_markdown, "**{}**".format):
        grid.append(f"| {' | '.join(row)} |")
    blocks = [f"**{escape_markdown(table.title)}**", escape_markdown(table.caption)]
    blocks += ["\n".join(grid), escape_markdown(table.note)]
    return "\n\n".join(filter(None, blocks)) + "\n"


def write(table, folder):
    """Write a table as NAME.csv, NAME.tex and NAME.md, each file whole or not at all."""
    writers = {"csv": to_csv, "tex": to_latex, "md": to_markdown}
    return tuple(
        write_atomically(Path(folder) / f"{table.name}.{suffix}", writer(table))
        for suffix, writer in writers.items()
    )


def _plain_cell(cell):
    """Turn numpy's numbers into Python's, and refuse what cannot be a cell."""
    if isinstance(cell, Compared):
        if isinstance(cell.measured, str) or isinstance(cell.printed, str):
            raise TypeError(f"only numbers can be compared, got {cell!r}")
        return Compared(_plain_cell(cell.measured), _plain_cell(cell.printed))
    if isinstance(cell, Spread):
        return Spread(_plain_cell(cell.mean), _plain_cell(cell.deviation))
    if not isinstance(cell, str) and hasattr(cell, "item"):
        cell = cell.item()
    if cell is not None and (isinstance(cell, bool) or not isinstance(cell, (str, int, float))):
        raise TypeError(f"a cell must be text, a number, Compared, Spread or None, got {cell!r}")
    return cell


def number_text(value, form):
    """Format a float as told, and an integer as it is."""
    return str(value) if isinstance(value, int) else format(value, "z" + form)


def signed_text(difference, form):
    """Format a difference with its sign, or without where it is zero as shown."""
    text = format(float(difference), "+z" + form)
    return text if re.search("[1-9n]", text) else text[1:]


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
        return f"{measured} ({printed}, {signed_text(cell.difference, form)})"
    if isinstance(cell, Spread):
        spread = "" if is_missing(cell.deviation) else f" ± {number_text(cell.deviation, form)}"
        return number_text(cell.mean, form) + spread
    return cell if isinstance(cell, str) else number_text(cell, form)


# -- A table as HTML: complete without style or script, sorted and filtered by the page's script


LONG_TEXT = 120  # characters from which a cell is clipped to a few lines


def to_html(table, anchor=None):
    """Write a table as an HTML figure: full numbers in ``data-sort``, and a link to its CSV."""
    anchor = anchor or f"table-{table.name}"
    bold, number, header, rows = table.best_cells(), [], "", []
    for column, name in enumerate(table.columns):
        number.append(' class="n"' if table.is_numeric(column) else "")
        header += f'<th scope="col"{number[column]} dir="auto">{_text(name)}</th>'
    for place, row in enumerate(table.rows):
        written = ""
        for column, cell in enumerate(row):
            is_bold = (place, column) in bold
            written += _cell(cell, table.format_of(column), column, number[column], is_bold)
        rows.append(f"<tr>{written}</tr>\n")
    notes = f'<p class="note" dir="auto">{escape_html(table.note)}</p>' if table.note else ""
    if Compared in map(type, chain.from_iterable(table.rows)):
        notes += (
            '<p class="note">In each cell: the measured value, below it the printed value and '
            "measured less printed.</p>"
        )
    n_body = len(table.body_rows)
    foot = f"<tfoot>\n{''.join(rows[n_body:])}</tfoot>\n" if table.footer else ""
    caption = f' <span class="caption">{escape_html(table.caption)}</span>' if table.caption else ""
    link = f"data:text/csv;charset=utf-8,{quote(to_csv(table), safe=',.:;!()*/ ')}"
    return (
        f'<figure class="table" id="{anchor}">\n'
        f'<figcaption><strong id="{anchor}-title" dir="auto">{escape_html(table.title)}</strong>'
        f"{caption}</figcaption>\n"
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{anchor}-title">\n'
        f"<table>\n<thead>\n<tr>{header}</tr>\n</thead>\n"
        f"<tbody>\n{''.join(rows[:n_body])}</tbody>\n{foot}</table>\n</div>\n"
        f'<div class="under">{notes}'
        f'<a class="csv" download="{table.name}.csv" href="{escape_html(link)}">CSV</a></div>\n'
        "</figure>\n"
    )


def _number(value, form):
    return _cell_text(value, form).replace("-", MINUS).replace("inf", "\u221e")


def _text(text):
    # A mean and its deviation stay together.
    safe = escape_html(text.replace(" \u00b1 ", "\u00a0\u00b1\u00a0"))
    return f'<span class="long">{safe}</span>' if len(text) > LONG_TEXT else safe


def _cell(cell, form, column, number, is_bold):
    """Write one cell: its attributes, and its content, emboldened where it is the best."""
    attributes = (' scope="row"' if column == 0 else "") + number
    if isinstance(cell, str):
        attributes, content = attributes + ' dir="auto"', _text(cell)
        if column == 0:  # long names of rows may be broken where a reader would break them
            content = content.replace("_", "_<wbr>")
    else:
        value = value_of(cell)
        value_text = "" if is_missing(value) else repr(value).replace("inf", "Infinity")
        attributes += f' data-sort="{value_text}"'
        content = _number(value, form)
    if is_bold:
        content = f"<strong>{content}</strong>"
    if isinstance(cell, Compared):  # the printed value and the difference, by sign and colour
        parts = f'<span class="sr">printed </span>{_number(cell.printed, form)}'
        if cell.difference is not None:
            text = signed_text(cell.difference, form)
            kind = {"+": "up", "-": "down"}.get(text[0], "same")
            text = text.replace("-", MINUS)
            parts += f' <span class="{kind}"><span class="sr">difference </span>{text}</span>'
        content += f" <small>{parts}</small>"
    if isinstance(cell, Spread) and not is_missing(cell.deviation):
        content += f"\u00a0<small>±\u00a0{_number(cell.deviation, form)}</small>"
    tag = "th" if column == 0 else "td"
    return f"<{tag}{attributes}>{content}</{tag}>"


# -- any string made safe for HTML, LaTeX and Markdown ------------------------------------


def escape_html(text):
    """Make any string safe as HTML text and as the value of a quoted attribute."""
    return html.escape(writable(text))


def escape_latex(text):
    """Make any string safe in LaTeX; what pdfLaTeX cannot set becomes its code point."""
    text = " ".join(writable(text).split())
    return "".join(
        # Two hyphens in a row would become a dash.
        "-{}" if character == "-" == after else _latex_character(character)
        for character, after in zip(text, f"{text[1:]} ", strict=False)
    )


def _latex_character(character):
    if character in _LATEX:
        return _LATEX[character]
    if character.isascii():
        return character
    place, _, codes = unicodedata.decomposition(character).partition(" ")
    if place in _RAISED:
        characters = [chr(int(code, 16)) for code in codes.split()]
        text = "".join(_LATEX.get(one, one).strip("$") for one in characters)
        if text.isascii() and "{}" not in text:  # commands of text do not work in formulas
            return f"${_RAISED[place]}{{{text}}}$"
    base, *marks = list(unicodedata.normalize("NFD", character))
    if base.isascii() and len(marks) == 1:
        kind = unicodedata.name(marks[0]).split()[1]
        if kind in _ACCENTS:
            return f"\\{_ACCENTS[kind]}{{{base}}}"
    return f"{{[}}U+{ord(character):04X}{{]}}"


def escape_markdown(text):
    """Make any string one line of plain text in a cell of a Markdown table."""
    text = " ".join(writable(text).split())
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    text = re.sub(r"([\\`*\[\]|~$])", r"\\\1", text)
    # Within a word an underscore is a plain character, and names are full of them.
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)
