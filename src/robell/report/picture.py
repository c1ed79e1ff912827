"""Pictures of a page as SVG, drawn by hand: marks, bars, lines and text in the page's colours."""

from __future__ import annotations

import unicodedata
from xml.etree import ElementTree

from robell._tools.text import isolated, shortened

INK, MUTED, RULE = "currentColor", "var(--muted)", "var(--rule)"
CALM, ALARM = "var(--up)", "var(--down)"
LABEL = 34  # widths of a narrow letter that a label may take


def label(name, limit=LABEL):
    """Return a name cut to a width, in which wide characters count twice."""
    text, width = "", 0
    for character in shortened(name, limit):
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if width > limit:
            return isolated(text.rstrip("\u2026") + "\u2026")
        text += character
    return isolated(text)


class Picture:
    """One svg element, built piece by piece; its name stands once in a page."""

    def __init__(self, name, width, height, title, description):
        self.root = ElementTree.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "width": f"{width}",
                "height": f"{height}",
                "viewBox": f"0 0 {width} {height}",
                "font-size": "13",
                "role": "img",
                "aria-labelledby": f"{name}-title {name}-desc",
            },
        )
        for tag, content in (("title", title), ("desc", description)):
            element = ElementTree.SubElement(self.root, tag, {"id": f"{name}-{tag}"})
            element.text = content

    def _add(self, tag, **attributes):
        element = ElementTree.SubElement(self.root, tag)
        for name, value in attributes.items():
            text = value if isinstance(value, str) else f"{value:.2f}"
            element.set(name.replace("_", "-"), text)
        return element

    def text(self, x, y, content, anchor="start", weight="400", fill=INK):
        """Write one line."""
        element = self._add("text", x=x, y=y, text_anchor=anchor, font_weight=weight, fill=fill)
        element.text = content

    def bar(self, x, y, width, height, fill, stroke="none"):
        """Draw a rectangle."""
        self._add("rect", x=x, y=y, width=width, height=height, fill=fill, stroke=stroke)

    def line(self, x1, y1, x2, y2, colour=MUTED):
        """Draw a rule."""
        self._add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour)

    def curve(self, points, colour=CALM, width=2.0, dashes="none"):
        """Draw a line through points."""
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self._add(
            "path", d=path, fill="none", stroke=colour, stroke_width=width, stroke_dasharray=dashes
        )

    def dots(self, points, colour, shape, size, opacity):
        """Draw marks of one kind as one path."""
        if not len(points):
            return
        path = ""
        for x, y in points:
            path += _mark(shape, x, y, size)
        open_ = shape in ("plus", "cross")
        self._add(
            "path",
            d=path,
            fill="none" if open_ else colour,
            stroke=colour if open_ else "none",
            stroke_width=size / 2.2,
            opacity=opacity,
        )

    def svg(self):
        """Return the element as text."""
        return ElementTree.tostring(self.root, encoding="unicode")


def _mark(shape, x, y, r):
    """Return the path of one mark around a point."""
    b, d = f"{r:.1f}", f"{2 * r:.1f}"
    if shape == "circle":
        return f"M{x - r:.1f} {y:.1f}a{b} {b} 0 1 0 {d} 0a{b} {b} 0 1 0 -{d} 0z"
    if shape == "square":
        return f"M{x - r:.1f} {y - r:.1f}h{d}v{d}h-{d}z"
    if shape == "triangle":
        return f"M{x - r:.1f} {y + r:.1f}h{d}l-{b} -{d}z"
    if shape == "diamond":
        return f"M{x:.1f} {y - r:.1f}l{b} {b}l-{b} {b}l-{b} -{b}z"
    if shape == "plus":
        return f"M{x - r:.1f} {y:.1f}h{d}M{x:.1f} {y - r:.1f}v{d}"
    return f"M{x - r:.1f} {y - r:.1f}l{d} {d}m-{d} 0l{d} -{d}"
