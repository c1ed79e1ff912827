"""Figures, from arrays and names alone.

Colours are those of Okabe and Ito, with grey in place of yellow; markers differ as well. Text and
axes have one colour, which `inline_svg` leaves to the page, so figures suit light and dark.
"""

from __future__ import annotations

import functools
import hashlib
import io
import math
import re
import tomllib
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from robell._tools.files import read_resource, write_atomically
from robell._tools.optional import require
from robell._tools.text import writable

INK = "#010203"  # black to the eye, and told apart from any other black
WIDE = 480  # pixels; wider pictures are not shrunk to the width of a phone
NAMESPACE = "http://www.w3.org/2000/svg"
COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#CC79A7", "#E69F00", "#8A8A8A", INK, "#D55E00")
STYLE = tomllib.loads(read_resource("robell.report", "assets/figure.toml"))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def _styled(draw):
    """Run a function under the figures' style, without a lasting change to matplotlib's."""

    @functools.wraps(draw)
    def run(*args, **kwargs):
        matplotlib = require("matplotlib", extra="bench")
        with matplotlib.rc_context(), warnings.catch_warnings():
            # A name may hold characters that the font lacks; the browser's fonts have them.
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(STYLE)
            drawn = draw(*args, **kwargs)
            if hasattr(drawn, "set_layout_engine"):
                # Laid out again for each file, a figure would change in its last digits.
                drawn.draw_without_rendering()
                drawn.set_layout_engine("none")
            return drawn

    return run


def _new_figure(width, height, **options):
    figure = require("matplotlib.figure", extra="bench")
    return figure.Figure(figsize=(width, height), layout="constrained", **options)


def _short(name, length=34):
    name = " ".join(writable(str(name)).split())
    return name if len(name) <= length else name[: length - 1] + "\u2026"


def _looks(name, order):
    """Return the colour and the marker of a model, by its place in the order."""
    place = list(order).index(name)
    # Where colours begin again, markers go on from another one: no pair comes twice in 64.
    turn = place // len(COLOURS)
    return COLOURS[place % len(COLOURS)], MARKERS[(place + 3 * turn) % len(MARKERS)]


@_styled
def critical_difference(names, average_ranks, cd, cliques, title=""):
    """Draw Demšar's diagram in a figure of its own."""
    axes = _new_figure(*size_of_differences(len(names), len(cliques))).subplots()
    draw_differences(axes, names, average_ranks, cd, cliques)
    axes.set_title(_short(title, 60))
    return axes.figure


def _rows_of_differences(n_models, n_bars):
    """Return where the names begin below the line of ranks, and where they end."""
    below = 0.55 + 0.28 * n_bars
    return below, below + 0.42 * ((n_models + 1) // 2)


def size_of_differences(n_models, n_bars):
    """Return the inches that a diagram of so many models and bars needs."""
    return 7.2, 0.36 * (_rows_of_differences(n_models, n_bars)[1] + 1.2) + 0.5


def draw_differences(axes, names, average_ranks, cd, cliques):
    """Draw Demšar's diagram: models on a line of average ranks, a bar over those that may be equal.

    ``cliques`` are groups of models, by place, of which no two differ by more than ``cd``.
    """
    ranks = np.asarray(average_ranks, dtype=float)
    bars = sorted((ranks[list(group)].min(), ranks[list(group)].max()) for group in cliques)
    last = max(2, len(ranks))
    below, depth = _rows_of_differences(len(ranks), len(bars))
    step = 0.06 * (last - 1)  # how far the names stand from the ends of the line
    room = 0.3 * (last - 1)
    axes.set(xlim=(1 - step - room, last + step + room), ylim=(depth, -1.2))
    axes.axis("off")
    axes.plot([1, last], [0, 0], color=INK, linewidth=1)
    for tick in range(1, last + 1):
        axes.plot([tick, tick], [-0.13, 0], color=INK, linewidth=1)
        axes.text(tick, -0.2, str(tick), ha="center", va="bottom", fontsize=8)
    axes.text(1 - step / 2, 0, "1 = best", ha="right", va="center", fontsize=8)
    axes.plot([1, 1 + cd], [-0.8, -0.8], color=INK, linewidth=1.6)
    for end in (1, 1 + cd):
        axes.plot([end, end], [-0.88, -0.72], color=INK, linewidth=1)
    axes.text(1 + cd, -0.8, f"\u2002critical difference {cd:.2f}", va="center", fontsize=8)
    for place, (low, high) in enumerate(bars):
        y = 0.3 + 0.28 * place
        axes.plot([low - 0.02, high + 0.02], [y, y], color=INK, linewidth=3.2, alpha=0.75)
    # A line leads from each rank to its model's name, the better half to the left edge.
    order = np.argsort(ranks, kind="stable")
    half = (len(order) + 1) // 2
    for place, model in enumerate(order):
        left = place < half
        y = below + 0.42 * (place if left else len(order) - 1 - place)
        edge = 1 - step if left else last + step
        axes.plot([ranks[model], ranks[model], edge], [0, y, y], color=INK, linewidth=0.8)
        axes.plot([ranks[model]], [0], marker="o", markersize=3.2, color=INK)
        name, rank = _short(names[model], 18), f"{ranks[model]:.2f}"
        text = f"{name}\u2002{rank}\u2002" if left else f"\u2002{rank}\u2002{name}"
        axes.text(edge, y, text, ha="right" if left else "left", va="center")


@_styled
def curve_panels(x, results, xlabel, ylabel="", *, order=None, printed=None, emphasised=None):
    """Draw ``results[panel][model]``, one value for each x: a line for each model, in each panel.

    ``printed``, of the same form, is drawn hollow and dashed; the line of the model ``emphasised``
    is thick and above the others. ``order`` lists all models of a report, so that colours agree
    between its figures. A common ``ylabel`` means a common scale. NaN leaves a gap.
    """
    models = list(dict.fromkeys(model for curves in results.values() for model in curves))
    order = order or models
    figure, panels = _panels(len(results), sharex=True, sharey=bool(ylabel))
    looks = {model: _line_options(*_looks(model, order)) for model in models}
    if emphasised is not None:
        for model, options in looks.items():
            heavy = model == emphasised
            options |= {"linewidth": 2.8 if heavy else 1.1, "markersize": 7 if heavy else 4}
            options |= {"alpha": 1.0 if heavy else 0.75, "zorder": 3 if heavy else 2}
    for axes, (panel, curves) in zip(panels, results.items(), strict=False):
        for model, values in curves.items():
            axes.plot(x, values, **looks[model])
        for model, values in (printed or {}).get(panel, {}).items():
            colour, marker = _looks(model, order)
            axes.plot(x, values, **_line_options(colour, marker, hollow=True))
        axes.set_title(_short(panel))
        axes.set_xticks(x, [f"{value:g}" for value in x])
        axes.grid(axis="y")
    figure.supxlabel(_short(xlabel, 60), fontsize=9)
    figure.supylabel(_short(ylabel, 60), fontsize=9)
    lines = require("matplotlib.lines", extra="bench")
    handles = [lines.Line2D([], [], label=_short(m), **options) for m, options in looks.items()]
    if printed:
        options = _line_options(INK, "o", hollow=True)
        handles.append(lines.Line2D([], [], label="printed", **options))
    figure.legend(handles=handles, loc="outside upper left", ncols=min(5, len(handles)))
    return figure


@_styled
def named_curves(x, results, xlabel, *, own, n_named=3):
    """Draw ``results[panel][model]``, one value for each x, with names at the ends of lines.

    In each panel the line of the model ``own`` is thick, the ``n_named`` others of the highest mean
    have a colour each, and their names stand at the lines; the rest are grey. NaN leaves a gap.
    """
    figure, panels = _panels(len(results), sharex=True)
    figure.set_size_inches(figure.get_figwidth() * 1.3, figure.get_figheight() * 1.15)
    means = {p: {m: np.nanmean(v) for m, v in curves.items()} for p, curves in results.items()}
    best = {}  # of each panel, the others of the highest mean
    for panel, found in means.items():
        others = {m: -mean for m, mean in found.items() if m != own and np.isfinite(mean)}
        best[panel] = sorted(others, key=others.__getitem__)[:n_named]
    coloured = list(dict.fromkeys(model for models in best.values() for model in models))
    palette = [c for c in COLOURS if c not in (INK, "#8A8A8A", "#D55E00")]
    for axes, (panel, curves) in zip(panels, results.items(), strict=False):
        named = [m for m in (*best[panel], own) if m in curves]
        looks = {
            m: {"color": palette[coloured.index(m) % len(palette)], "linewidth": 1.5, "zorder": 3}
            for m in best[panel]
        } | {own: {"color": "#D55E00", "linewidth": 2.6, "zorder": 4}}
        for model in [m for m in curves if m not in named] + named:
            grey = {"color": "#8A8A8A", "linewidth": 0.8, "alpha": 0.45, "zorder": 1}
            axes.plot(x, curves[model], **looks.get(model, grey))
        _name_ends(axes, x, {m: curves[m] for m in named}, {m: looks[m]["color"] for m in named})
        axes.set_title(_short(panel))
        axes.set_xticks(x, [f"{value:g}" for value in x])
        axes.grid(axis="y")
    figure.supxlabel(_short(xlabel, 60), fontsize=9)
    return figure


def _name_ends(axes, x, curves, colours):
    """Write names to the right of lines, far enough apart to be read."""
    low, high = axes.get_ylim()
    step = 0.075 * (high - low)
    ends = sorted((np.asarray(values)[np.isfinite(values)][-1], m) for m, values in curves.items())
    places: list[float] = []
    for height, _ in ends:
        places.append(max(height, places[-1] + step) if places else height)
    shift = max(0.0, places[-1] - high) if places else 0.0
    span = x[-1] - x[0] or 1.0
    for (height, model), place in zip(ends, places, strict=True):
        place, colour = place - shift, colours[model]
        axes.plot([x[-1], x[-1] + 0.05 * span], [height, place], color=colour, linewidth=0.7)
        looks = {"color": colour, "fontsize": 7, "va": "center"}
        axes.text(x[-1] + 0.06 * span, place, _short(model, 18), **looks)
    axes.set_xlim(x[0] - 0.03 * span, x[-1] + 0.62 * span)


@_styled
def lines(x, results, xlabel, ylabel, *, log2=False, title="", limits=None):
    """Draw ``results[name]``, one value for each x: a line for each name.

    With ``log2``, x are powers of two, drawn at equal distances; ``limits`` are the ends of the
    vertical axis.
    """
    axes = _new_figure(5.6, 3.4).subplots()
    positions, labels = _positions(x, log2)
    for name, heights in results.items():
        looks = _line_options(*_looks(name, results))
        axes.plot(positions, heights, label=_short(name), **looks)
    axes.set_xticks(positions, labels)
    axes.set(xlabel=_short(xlabel), ylabel=_short(ylabel), title=_short(title, 60), ylim=limits)
    axes.grid(axis="y")
    axes.figure.legend(loc="outside lower left", ncols=2)
    return axes.figure


@_styled
def heat_map(x, y, values, xlabel, ylabel, *, log2=False, title="", limits=None):
    """Draw ``values[i, j]`` at ``x[i]``, ``y[j]`` as coloured cells; NaN leaves one empty."""
    values = np.ma.masked_invalid(np.asarray(values, dtype=float).T)
    _check_shape(values, (len(y), len(x)))
    axes = _new_figure(6.4, 0.36 * len(y) + 1.3).subplots()
    low, high = limits or (None, None)
    draw_cells(axes, values, "{:.1f}".format, vmin=low, vmax=high)
    axes.set_xticks(np.arange(len(x)) + 0.5, _positions(x, log2)[1])
    axes.set_yticks(np.arange(len(y)) + 0.5, [f"{value:g}" for value in y])
    axes.set(xlabel=_short(xlabel), ylabel=_short(ylabel), title=_short(title, 60))
    return axes.figure


def draw_cells(axes, values, written, **looks):
    """Draw a matrix as coloured cells, each with its value as ``written``; return the mesh."""
    mesh = axes.pcolormesh(values, cmap="cividis", **looks)
    for (row, column), value in np.ndenumerate(np.ma.filled(values, np.nan)):
        if np.isfinite(value):
            # White reads better on a relative luminance below .179, as WCAG defines it.
            rgb = np.asarray(mesh.cmap(mesh.norm(value))[:3])
            linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
            colour = "#ffffff" if linear @ [0.2126, 0.7152, 0.0722] < 0.179 else "#010101"
            place = {"ha": "center", "va": "center", "fontsize": 7.5, "color": colour}
            axes.text(column + 0.5, row + 0.5, written(value), **place)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return mesh


@_styled
def surface(x, y, values, xlabel, ylabel, zlabel, *, log2=False, title="", limits=None):
    """Draw ``values[i, j]`` over ``x[i]``, ``y[j]`` as a surface in three dimensions."""
    require("mpl_toolkits.mplot3d", extra="bench")
    values = np.asarray(values, dtype=float)
    _check_shape(values, (len(x), len(y)))
    figure = _new_figure(4.8, 3.7)
    # Older versions of matplotlib cannot lay out three dimensions: the place is given.
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.08, 0.06, 0.86, 0.84), projection="3d")
    positions, labels = _positions(x, log2)
    across, along = np.meshgrid(positions, y, indexing="ij")
    low, high = limits or (None, None)
    looks = {"cmap": "cividis", "edgecolor": INK, "linewidth": 0.3, "shade": False}
    looks |= {"vmin": low, "vmax": high}
    axes.plot_surface(across, along, values, **looks)
    every = math.ceil(len(labels) / 6)
    axes.set_xticks(positions[::every], labels[::every])
    axes.set_yticks(y, [f"{value:g}" for value in y])
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_pane_color((0, 0, 0, 0))
        axis.line.set_color(INK)
    axes.set(xlabel=_short(xlabel), ylabel=_short(ylabel), zlabel=_short(zlabel), zlim=limits)
    axes.set_title(_short(title, 60))
    axes.view_init(elev=24, azim=-122)
    axes.set_box_aspect(None, zoom=0.96)
    return figure


@_styled
def measured_against_printed(measured, printed, names, title=""):
    """Draw each measured value against the printed one, with the line on which they agree.

    Both have a row for each set and a column for each of the names; pairs with a NaN are left out.
    """
    measured, printed = np.asarray(measured, float), np.asarray(printed, float)
    _check_shape(measured, printed.shape)
    figure = _new_figure(6.2, 4.8)
    axes = figure.subplots()
    both = np.isfinite(measured) & np.isfinite(printed)
    values = np.concatenate([measured[both], printed[both]])
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    room = 0.04 * (high - low) or 1.0
    ends = low - room, high + room
    axes.plot(ends, ends, color=INK, linewidth=0.9, alpha=0.6)
    for place, name in enumerate(names):
        (colour, marker), kept = _looks(name, names), both[:, place]
        size = 7.5 if marker == "*" else 5.5
        looks = {"color": colour, "alpha": 0.8, "markeredgewidth": 0, "markersize": size}
        x, y = printed[kept, place], measured[kept, place]
        axes.plot(x, y, marker, label=_short(name), **looks)
    axes.set(xlim=ends, ylim=ends, box_aspect=1, title=_short(title, 60))
    axes.set(xlabel="printed (%)", ylabel="measured (%)")
    axes.grid()
    figure.legend(loc="outside right upper")
    return figure


@_styled
def inline_svg(figure, prefix=None):
    """Write a figure as an SVG element to stand within an HTML page.

    Text stays text, in the page's font; ink becomes ``currentColor``. There is no style element
    or attribute, so a page may forbid them. The same figure always gives the same text. Ids begin
    with the prefix, or with a digest of the content: a figure shown twice needs two prefixes.
    """
    content = _saved(figure, "svg", transparent=True)
    root = ElementTree.fromstring(content)
    prefix = prefix or "f" + hashlib.sha256(content).hexdigest()[:10]
    for parent in root.iter():
        for child in list(parent):
            if child.tag in {f"{{{NAMESPACE}}}metadata", f"{{{NAMESPACE}}}style"}:
                parent.remove(child)
    for element in root.iter():
        _make_plain(element)
    _rename_ids(root, prefix)
    points = [float(root.attrib[side].removesuffix("pt")) for side in ("width", "height")]
    width, height = (round(length * 96 / 72) for length in points)
    root.attrib.pop("version", None)
    root.attrib |= {"xmlns": NAMESPACE, "width": str(width), "height": str(height)}
    root.attrib |= {"font-family": "sans-serif", "stroke-linejoin": "round"}
    if width > WIDE:
        root.set("class", "wide")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


@_styled
def write(figure, folder, name):
    """Write a figure as NAME.png and NAME.svg on white, each file whole or not at all."""
    return tuple(
        write_atomically(Path(folder) / f"{name}.{kind}", _saved(figure, kind, facecolor="white"))
        for kind in ("png", "svg")
    )


def _saved(figure, kind, **options):
    """Return a figure's file without a date or the name of the program that wrote it."""
    metadata = {"png": ["Software"], "svg": ["Date", "Creator", "Format", "Type"]}[kind]
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, dpi=150, metadata=dict.fromkeys(metadata), **options)
    return stream.getvalue()


def _panels(n, **options):
    """Return a figure and n panels in rows of up to three; the rest of the last row is hidden."""
    columns, rows = min(3, max(n, 1)), math.ceil(max(n, 1) / 3)
    figure = _new_figure(2.7 * columns + 0.4, 2.4 * rows + 0.7)
    panels = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for place, axes in enumerate(panels):
        axes.set_visible(place < n)
        # Where the panel below is empty, the values of x belong under this one.
        axes.tick_params(labelbottom=place + columns >= n)
    return figure, panels


def _line_options(colour, marker, hollow=False):
    kind = {"linestyle": "-", "linewidth": 1.6}
    if hollow:
        kind = {"linestyle": (0, (3, 2)), "linewidth": 1.0, "markerfacecolor": "none"}
    return {"color": colour, "marker": marker, **kind}


def _positions(x, log2):
    """Return where values stand on their axis, and their labels."""
    if not log2:
        return list(x), [f"{value:g}" for value in x]
    powers = np.log2(np.asarray(x, dtype=float))
    raised = str.maketrans("-0123456789.", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹·")
    return list(powers), ["2" + f"{power:g}".translate(raised) for power in powers]


def _check_shape(values, shape):
    if values.shape != tuple(shape):
        raise ValueError(f"expected values of shape {tuple(shape)}, got {values.shape}")


# -- a file of matplotlib's, made fit to stand within a page


def _make_plain(element):
    """Turn style into attributes, ink into the page's colour; drop namespaces and empty space."""
    element.tag = element.tag.rpartition("}")[2]
    for declaration in element.attrib.pop("style", "").split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":  # the family is left to the page
            element.set("font-size", re.findall(r"[\d.]+px", value)[0])
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
