"""Any string, made safe for HTML, LaTeX and Markdown."""

from __future__ import annotations

import html
import re
import tomllib
import unicodedata

from robell._tools.files import read_resource

_LATEX = tomllib.loads(read_resource("robell.report", "assets/latex.toml"))
_ACCENTS = {"GRAVE": "`", "ACUTE": "'", "CIRCUMFLEX": "^", "TILDE": "~", "DIAERESIS": '"'}
_ACCENTS |= {"RING": "r", "CEDILLA": "c", "CARON": "v", "MACRON": "=", "BREVE": "u"}
_RAISED = {"<super>": "^", "<sub>": "_"}


def writable(text):
    """Replace control characters and lone surrogates, which no encoding or markup allows."""
    text = re.sub("\r\n?", "\n", text)
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)


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
