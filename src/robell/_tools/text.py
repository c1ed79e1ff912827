"""Text made fit to be shown: invisible signs spelt out, long text cut, near names offered."""

from __future__ import annotations

import difflib
import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable

# Letters alone: a spreadsheet takes digits, or digits around an e, for a number.
TO_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
NAME = 60  # characters of a name, label or cell that the page shows
FIRST_ISOLATE, POP_ISOLATE = "\u2068", "\u2069"
ZERO_WIDTH_SPACE = "\u200b"
# What a spreadsheet takes for the start of a formula, also in its full-width form.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_LONG_RUN = re.compile(r"\S{22}(?=\S)")  # would stick out of a cell; may be broken after
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_BLANKS = {"\u115f", "\u1160", "\u3164", "\uffa0", "\u2800"}  # letters that show nothing
_JOINERS = {"\u200c", "\u200d"}  # part of the spelling of some scripts and of emoji
_MARKS = 4  # accents on one letter; more would run into the lines above and below
_RIGHT_TO_LEFT = {"R", "AL", "AN"}


def literal(text):
    """Escape the signs of the markup, so that any string stands as it is."""
    return re.sub(r"([\\`*\[\]])", r"\\\1", text)


def composed(text):
    """Return a text with each accent in one sign with its letter, where Unicode has such a sign."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def writable(text):
    """Replace control characters and lone surrogates, which no encoding or markup allows."""
    text = re.sub("\r\n?", "\n", text)
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)


def visible(text):
    """Spell out control, formatting and other invisible characters, such as ⟨U+200B⟩.

    Labels that differ only in such a character then look different, and none can turn the
    direction of the text around it.
    """
    if text.isascii() and text.isprintable():
        return text
    parts, marks = [], 0
    for place, character in enumerate(text):
        kind = unicodedata.category(character)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if character in "\t\n\r":
            parts.append(" ")
        elif character in _JOINERS and _within_a_word(text, place):
            parts.append(character)
        elif kind in _HIDDEN or character in _BLANKS:
            parts.append(f"\u27e8U+{ord(character):04X}\u27e9")
        elif marks <= _MARKS:
            parts.append(character)
    return "".join(parts)


def _within_a_word(text, place):
    around = text[place - 1 : place] + text[place + 1 : place + 2]
    return len(around) == 2 and not any(
        character.isascii() or unicodedata.category(character) in _HIDDEN for character in around
    )


def shortened(text, limit=NAME):
    """Return the visible text, cut where it is longer than the limit."""
    shown = visible(text[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "\u2026"


def isolated(text):
    """Enclose text that is written from right to left, so that words beside it keep their order."""
    if text.isascii():
        return text
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        return f"{FIRST_ISOLATE}{text}{POP_ISOLATE}"
    return text


def quoted(text, limit=NAME):
    """Return a name in quotation marks for a sentence of the page, its markup made plain."""
    return f"'{literal(isolated(shortened(text, limit)))}'"


def said(text, limit=NAME):
    """Return a name in quotation marks for an error message or a terminal: one line."""
    return f"'{isolated(shortened(text, limit))}'"


def few(texts, most=5):
    """Return the first of some texts, with dots for those beyond."""
    return ", ".join(texts[:most]) + ", ..." * (len(texts) > most)


def listed(names, most=5, limit=30):
    """Return the first of some names as they are said, with dots for those beyond."""
    return few([said(name, limit) for name in names], most)


def in_cell(text, limit=NAME):
    """Return text for a cell of a table of the page, which no spreadsheet takes for a formula."""
    shown = _LONG_RUN.sub(lambda run: run[0] + ZERO_WIDTH_SPACE, shortened(text, limit))
    if looks_like_formula(shown):
        return f"{FIRST_ISOLATE}{shown}{POP_ISOLATE}"  # invisible, and not the start of a formula
    return shown


def looks_like_formula(text):
    """Say whether a spreadsheet would compute the text; a plain number is no formula."""
    return text.startswith(FORMULA) and not NUMBER.fullmatch(text)


def spreadsheet_safe(text):
    """Put an apostrophe before text that a spreadsheet would compute.

    Text that has one there already gets another, so that no two texts become one.
    """
    return f"'{text}" if looks_like_formula(text.lstrip("'")) else text


def spreadsheet_plain(text):
    """Take away the apostrophe that :func:`spreadsheet_safe` has put before a text."""
    return text[1:] if text.startswith("'") and spreadsheet_safe(text) != text else text


def text_print(text):
    """Return the fingerprint of a text, in letters."""
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8)
    return digest.hexdigest().translate(TO_LETTERS)


def unique(names):
    """Return the names, equal ones numbered so that all differ."""
    taken, result = set(), []
    for name in names:
        free, number = name, 2
        while free in taken:
            free, number = f"{name} ({number})", number + 1
        taken.add(free)
        result.append(free)
    return result


def number_text(value):
    """Return a number with three significant digits, and commas between its thousands."""
    size = abs(float(value))
    if size.is_integer() and size < 1e9:
        text = f"{size:,.0f}"
    elif 1e-3 <= size < 1e9:
        digits = max(0, 3 - len(f"{size:.0f}") + (size < 1))
        text = f"{size:,.{digits}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = f"{size:.3g}"
    # A true minus sign: a hyphen would be the start of a formula in a spreadsheet.
    return f"\u2212{text}" if value < 0 else text


def percent(share):
    """Return a share as a percentage: 0 % and 100 % only where it is exactly that."""
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def counted(number, singular, plural=None):
    """Return a number with its noun, such as "1 row" and "2 rows"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def did_you_mean(
    name: str, known: Iterable[str], quote: Callable[[str], str] = repr, cutoff: float = 0.6
) -> str:
    """Return ``"; did you mean 'x' or 'y'?"`` of the nearest known names, "" if none is near."""
    by_key = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(name.casefold(), by_key, n=3, cutoff=cutoff)
    return f"; did you mean {' or '.join(quote(by_key[key]) for key in near)}?" if near else ""
