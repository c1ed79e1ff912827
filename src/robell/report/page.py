"""One self-contained HTML page from sections of plain blocks, and its fixed words.

The page asks nothing of the network: style and script stand in it, and its
Content-Security-Policy lets nothing else run. All text is escaped.

The fixed words of a page are kept in a TOML file beside its code, of four parts. ``texts`` are
sentences, ``tables`` hold all of a table but its rows, ``figures`` a caption and what a picture
shows, ``sections`` a title and the paragraphs before (``text``) and behind (``closing``) the
blocks. Values in braces are filled in.
"""

from __future__ import annotations

import base64
import hashlib
import re
import tomllib
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from robell._tools.files import read_resource
from robell._tools.text import writable
from robell.report.tables import Table, escape_html, to_html

CALLOUTS = {"note": "Note", "finding": "Finding", "caution": "Caution"}


@dataclass(frozen=True)
class Paragraph:
    """Text with a little markup: ``**bold**``, code in backticks and ``[text](address)``.

    A backslash before a sign of the markup makes it plain. Addresses may be http, https, a fragment
    of the page or a relative path. Bullets, captions, hints, summaries and callouts take the same.
    """

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of short texts."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class TableBlock:
    """A table that readers can sort, filter and take away as CSV."""

    table: Table


@dataclass(frozen=True)
class FigureBlock:
    """A picture with its caption, and ``alt``, what it shows for those who cannot see it.

    ``svg`` is one ``svg`` element without scripts and without references out of the page.
    """

    svg: str
    caption: str
    alt: str

    def __post_init__(self):
        """Refuse a picture that could run something or fetch something."""
        try:
            root = ElementTree.fromstring(self.svg)
        except ElementTree.ParseError as error:
            raise ValueError(f"svg must be one well-formed element: {error}") from error
        for element in root.iter():
            tag = str(element.tag).rpartition("}")[2]
            if tag in {"script", "foreignObject", "style"}:
                raise ValueError(f"svg must not have the element {tag}")
            for name, value in element.attrib.items():
                name = name.rpartition("}")[2]
                if name.startswith("on") or name == "style":
                    raise ValueError(f"svg must not have the attribute {name}")
                urls = re.findall(r"url\(['\" ]*(.*?)\)", value)
                for target in [value] if name in {"href", "src"} else urls:
                    if not target.startswith(("#", "data:image/png;base64,")):
                        raise ValueError("svg must not refer to anything outside itself")
        if not self.svg.lstrip().startswith("<svg"):
            raise ValueError("svg must begin with its svg element")


@dataclass(frozen=True)
class Facts:
    """Tiles that each show one figure: (label, value, hint), where the hint may be empty."""

    items: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Code:
    """Text in a fixed font, as it stands."""

    text: str


@dataclass(frozen=True)
class Details:
    """Blocks that are folded away behind one line."""

    summary: str
    blocks: tuple


@dataclass(frozen=True)
class Callout:
    """A remark that stands out: a note, a finding or a caution."""

    kind: str
    text: str

    def __post_init__(self):
        if self.kind not in CALLOUTS:
            raise ValueError(f"kind must be one of {', '.join(CALLOUTS)}, got {self.kind!r}")


@dataclass(frozen=True)
class Review:
    """Rows to decide upon, one after the other, by ``assets/review.js``; one in a page at the most.

    ``data`` is what the script reads, deflated and in base64, and ``table`` the name of the file
    that lists the rows too. A page that ``is_served`` sends its decisions to where it came from.
    """

    data: str
    table: str
    is_served: bool = False


@dataclass(frozen=True)
class Section:
    """A part of the page that the list of contents names; links lead to its id."""

    id: str
    title: str
    blocks: tuple

    def __post_init__(self):
        if not re.fullmatch(r"[A-Za-z][\w-]*", self.id, re.ASCII):
            raise ValueError(f"id must be a plain word, got {self.id!r}")


def render(title, subtitle, sections, footer=""):
    """Write the page, a whole HTML document; the ids of its sections must differ."""
    taken = {"content", "contents"}  # the ids given out so far
    # The names of sections are links that callers write, so they are never changed.
    for section in sections:
        if _free_id(section.id, taken) != section.id:
            raise ValueError(f"two sections have the id {section.id!r}")
    style, script = _asset("page.css"), _asset("page.js")
    connect, is_review = "", False
    for section in sections:
        for block in section.blocks:
            if isinstance(block, Review):
                is_review = True
                connect = "connect-src 'self'; " if block.is_served else connect
    if is_review:
        style, script = style + _asset("review.css"), script + _asset("review.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        f"{connect}img-src data:; base-uri 'none'; form-action 'none'"
    )
    contents = body = ""
    for section in sections:
        title_of = escape_html(section.title)
        contents += f'<li><a href="#{section.id}" dir="auto">{title_of}</a></li>\n'
        body += f'<section id="{section.id}">\n<h2 dir="auto">{title_of}</h2>\n'
        body += f"{_blocks(section.blocks, taken)}</section>\n"
    below_title = f'<p dir="auto">{_inline(subtitle)}</p>\n' if subtitle else ""
    last = f'<footer><p dir="auto">{_inline(footer)}</p></footer>\n' if footer else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<title>{escape_html(title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>{style}</style>\n<script>{script}</script>\n</head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the content</a>\n<div class="frame">\n'
        f'<header>\n<h1 dir="auto">{escape_html(title)}</h1>\n{below_title}'
        '<button class="theme" type="button" hidden>Dark theme</button>\n</header>\n'
        '<div class="columns">\n<nav aria-labelledby="contents">\n<h2 id="contents">Contents</h2>\n'
        f'<ol>\n{contents}</ol>\n</nav>\n<main id="content" tabindex="-1">\n{body}</main>\n</div>\n'
        f"{last}</div>\n</body>\n</html>\n"
    )


def _free_id(name, taken):
    """Return the name, or the first free one with a number after it, and take it."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    taken.add(free)
    return free


def _blocks(blocks, taken):
    """Write blocks as HTML; ``taken`` are the ids given out so far."""
    html = ""
    for block in blocks:
        match block:
            case Paragraph(text):
                html += f'<p dir="auto">{_inline(text)}</p>\n'
            case Bullets(items):
                listed = "</li>\n<li>".join(map(_inline, items))
                html += f"<ul>\n<li>{listed}</li>\n</ul>\n" if items else "<ul>\n</ul>\n"
            case TableBlock(table):
                html += to_html(table, _free_id(f"table-{table.name}", taken))
            case FigureBlock(svg, caption, alt):
                for name in re.findall(r'\sid="([^"]+)"', svg):
                    if _free_id(name, taken) != name:
                        raise ValueError(
                            f"two pictures share the id {name!r}: give each its own prefix"
                        )
                below = f"<figcaption>{_inline(caption)}</figcaption>\n" if caption else ""
                html += (
                    '<figure class="picture">\n<div class="canvas" role="img" '
                    f'aria-label="{escape_html(alt)}">\n{svg}</div>\n{below}</figure>\n'
                )
            case Facts(items):
                html += '<dl class="facts">\n'
                for label, value, hint in items:
                    below = f'<dd class="hint">{_inline(hint)}</dd>' if hint else ""
                    html += (
                        f"<div><dt>{escape_html(label)}</dt>"
                        f'<dd class="value" dir="auto">{escape_html(value)}</dd>{below}</div>\n'
                    )
                html += "</dl>\n"
            case Code(text):
                html += f'<pre tabindex="0"><code>{escape_html(text)}</code></pre>\n'
            case Details(summary, inner):
                folded = _blocks(inner, taken)
                html += f"<details>\n<summary>{_inline(summary)}</summary>\n{folded}</details>\n"
            case Review(data, table, _):
                name = escape_html(table)
                html += (
                    f'<div class="review" data-table="{name}"><noscript><p>The rows are shown by a '
                    f"script. {name} lists them too.</p></noscript></div>\n"
                    f'<template class="review-data">{escape_html(data)}</template>\n'
                )
            case Callout(kind, text):
                html += (
                    f'<div class="callout {kind}" role="note"><strong class="kind">'
                    f'{CALLOUTS[kind]}</strong><p dir="auto">{_inline(text)}</p></div>\n'
                )
            case _:
                raise TypeError(f"not a block of a page: {block!r}")
    return html


# Possessive repeats keep the time linear, whatever the text.
_MARKUP = re.compile(
    r"\\(?P<plain>[\\`*\[\]])"
    r"|`(?P<code>(?:\\[\\`*\[\]]|[^`])++)`"
    r"|\*\*(?P<bold>(?:\\.|(?!\*\*)[^\\])++)\*\*"
    r"|\[(?P<link>(?:\\.|[^\[\]\\])++)\]\((?P<address>[^()\s]++)\)",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\([\\`*\[\]])")
_ADDRESS = re.compile(r"https?://[^\s\"'<>\\]+|#[\w-]+|(?!/)[\w./-]+(?:#[\w-]+)?", re.ASCII)


def _inline(text):
    """Turn the small markup into HTML."""
    html, end = "", 0
    for found in _MARKUP.finditer(text):
        html += escape_html(text[end : found.start()])
        end = found.end()
        match found.lastgroup:
            case "plain":
                html += escape_html(found["plain"])
            case "code":
                code = _ESCAPED.sub(lambda sign: sign[1], found["code"])
                html += f"<code>{escape_html(code)}</code>"
            case "bold":
                html += f"<strong>{_inline(found['bold'])}</strong>"
            case _ if _ADDRESS.fullmatch(found["address"]):
                address = escape_html(found["address"])
                html += f'<a href="{address}">{_inline(found["link"])}</a>'
            case _:
                html += escape_html(found[0])
    return html + escape_html(text[end:])


def _asset(name):
    return writable(read_resource("robell.report", f"assets/{name}"))


def _digest(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


PARTS = ("texts", "tables", "figures", "sections")
OF_COLUMNS = ("columns", "digits", "column_best", "best_columns")
REST = "*"  # stands for the columns that only the results tell


class Words:
    """The words of one page; ``package`` holds its ``words.toml``.

    Of a page of a ``kind``, what the file says under the kind's name stands beside what it says of
    all kinds, or in place of it. What is filled into an entry are values and, by name, texts.
    """

    def __init__(self, package: str, kind: str = "") -> None:
        every = tomllib.loads(read_resource(package, "words.toml"))
        own = every.get(kind, {})
        self._parts = {name: every.get(name, {}) | own.get(name, {}) for name in PARTS}

    def text(self, name: str, /, **values: Any) -> Any:
        """Return a text, or a list of them."""
        return self._entry("texts", name, values)

    def figure(self, name: str, /, **values: Any) -> tuple[str, str]:
        """Return the caption of a figure, and what it shows."""
        entry = self._entry("figures", name, values)
        return entry["caption"], entry["alt"]

    def table(self, name: str, rows, columns=(), footer=(), /, **values: Any) -> Table:
        """Return a table; ``columns`` are those that its entry leaves to the results."""
        entry = self._entry("tables", name, values)
        variable = REST in entry["columns"]
        place = entry["columns"].index(REST) if variable else 0
        for field in OF_COLUMNS:
            found = entry.get(field)
            if not isinstance(found, list):
                continue
            if variable:
                at = 0 if field == "best_columns" else place
                many = list(columns) if found[at] == REST else [found[at]] * len(columns)
                found = [*found[:at], *many, *found[at + 1 :]]
            entry[field] = tuple(one if one != "" else None for one in found)
        entry["footer_best"] = tuple(entry.get("footer_best", ())[: len(footer)])
        rows = (*rows, *footer)
        return Table(**{"name": name} | entry, rows=rows, footer=len(footer))

    def section(self, name: str, *blocks, **values: Any) -> Section:
        """Return a section: its title, its paragraphs, and the blocks between them."""
        entry = self._entry("sections", name, values)
        before = [Paragraph(entry["text"])] if "text" in entry else []
        after = [Paragraph(entry["closing"])] if "closing" in entry else []
        return Section(name, entry["title"], (*before, *blocks, *after))

    def _entry(self, part: str, name: str, values: dict[str, Any]) -> Any:
        return _filled(self._parts[part][name], self._parts["texts"] | values)


def _filled(part: Any, values: dict[str, Any]) -> Any:
    """Fill values into every text of a part of the file."""
    if isinstance(part, str):
        return part.format_map(values)
    if isinstance(part, list):
        return [_filled(one, values) for one in part]
    if isinstance(part, dict):
        return {key: _filled(one, values) for key, one in part.items()}
    return part
