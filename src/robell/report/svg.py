"""Matplotlib's SVG files, made fit to stand within a page."""

from __future__ import annotations

import hashlib
import re
from xml.etree import ElementTree

INK = "#010203"  # black to the eye, and told apart from any other black
WIDE = 480  # pixels; wider pictures are not shrunk to the width of a phone
NAMESPACE = "http://www.w3.org/2000/svg"


def page_svg(content, prefix=None):
    """Turn a file with text as text into one element without style, metadata or stray ids.

    Ink becomes ``currentColor``. Ids that something refers to begin with the prefix, which is
    taken from the content when None.
    """
    root = ElementTree.fromstring(content)
    prefix = prefix or "f" + hashlib.sha256(content).hexdigest()[:10]
    for parent in root.iter():
        for child in list(parent):
            if child.tag in {f"{{{NAMESPACE}}}metadata", f"{{{NAMESPACE}}}style"}:
                parent.remove(child)
    for element in root.iter():
        _make_plain(element)
    _rename_ids(root, prefix)
    points = [float(root.get(side).removesuffix("pt")) for side in ("width", "height")]
    width, height = (round(length * 96 / 72) for length in points)
    root.attrib.pop("version", None)
    root.attrib |= {"xmlns": NAMESPACE, "width": str(width), "height": str(height)}
    root.attrib |= {"font-family": "sans-serif", "stroke-linejoin": "round"}
    if width > WIDE:
        root.set("class", "wide")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _make_plain(element):
    """Turn style into attributes, ink into the page's colour; drop namespaces and empty space."""
    element.tag = element.tag.rpartition("}")[2]
    for declaration in element.attrib.pop("style", "").split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":  # the family is left to the page
            element.set("font-size", re.search(r"[\d.]+px", value)[0])
            if re.match(r"(bold|[6-9]00) ", value):
                element.set("font-weight", "bold")
        elif name:
            element.set(name, value)
    for name, value in list(element.attrib.items()):
        if "}" in name:  # xlink:href, today plainly href
            element.set(name.rpartition("}")[2], element.attrib.pop(name))
        elif value == INK:
            element.set(name, "currentColor")
    if element.tag != "text" and not (element.text or "").strip():
        element.text = None
    if not (element.tail or "").strip():
        element.tail = None


def _rename_ids(root, prefix):
    """Keep the ids that something refers to, under a name that no other picture has."""
    referred = set()
    for element in root.iter():
        for name, value in element.attrib.items():
            target = re.fullmatch(r"url\(#(.+)\)" if name != "href" else "#(.+)", value)
            if target:
                referred.add(target[1])
                element.set(name, value.replace("#", f"#{prefix}-"))
    for element in root.iter():
        own = element.attrib.pop("id", None)
        if own in referred:
            element.set("id", f"{prefix}-{own}")
