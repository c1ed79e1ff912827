"""Figures show the numbers they are given, and their SVG can stand in any page."""

import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from robell.report import plots
from robell.report.page import FigureBlock

matplotlib = pytest.importorskip("matplotlib")
imread = pytest.importorskip("matplotlib.image").imread

MODELS = [f"model {letter}" for letter in "ABCDEFGH"]
XI, RHO = [2.0**power for power in range(-5, 6)], [0.5, 0.75, 1.0]
HOSTILE = "$\\frac{$</svg><script>alert(1)</script> &amp; ]]> שלום 中 " + "x" * 10_000


def all_figures(name="set"):
    rng = np.random.default_rng(0)
    names = [name, *MODELS[1:]]
    some = names[:3]  # in two rows of panels
    curves = {f"{i}{name}": {model: rng.uniform(50, 99, 3) for model in some} for i in range(4)}
    accuracy = rng.uniform(60, 90, (len(XI), len(RHO)))
    table = rng.uniform(50, 99, (9, 8))
    ranks = rng.uniform(1, 8, 8)
    return {
        "cd": plots.critical_difference(names, ranks, 2.06, [(0, 1, 2), (3, 4)], name),
        "curves": plots.curve_panels([5, 20, 40], curves, name, order=names, printed=curves),
        "lines": plots.lines(XI, {name: accuracy[:, 0]}, name, name, log2=True, title=name),
        "heat": plots.heat_map(XI, RHO, accuracy, name, name, log2=True, title=name),
        "surface": plots.surface(XI, RHO, accuracy, name, name, "z", log2=True, title=name),
        "scatter": plots.measured_against_printed(table, table + 1, names, name),
    }


@pytest.fixture(scope="module")
def figures():
    return all_figures()


@pytest.fixture(scope="module")
def pictures(figures):
    return {name: plots.inline_svg(figure) for name, figure in figures.items()}


def texts(svg):
    return [
        "".join(element.itertext())
        for element in ElementTree.fromstring(svg).iter()
        if element.tag.endswith("text")
    ]


def test_every_figure_becomes_one_plain_element_with_ids_of_its_own(pictures):
    ids = []
    for name, svg in pictures.items():
        FigureBlock(svg, "caption", "alt")  # refuses scripts, styles and outside references
        assert svg.startswith("<svg "), name
        assert "currentColor" in svg, name
        assert not re.search(r"#010203|#000000|<metadata|<\?xml|<!|style=|<style|<image", svg), name
        own = re.findall(r' id="([^"]+)"', svg)
        referred = re.findall(r'(?:href="|url\()#([^")]+)', svg)
        assert set(own) == set(referred), name
        ids += own
    assert len(ids) == len(set(ids))
    assert ids


def test_the_same_numbers_give_the_same_text(pictures):
    for name, again in all_figures().items():
        assert pictures[name] == plots.inline_svg(again), name


def test_written_files_are_the_same_each_time(figures, tmp_path):
    first, second = (plots.write(figures["lines"], tmp_path / place, "line") for place in "ab")
    assert [path.name for path in first] == ["line.png", "line.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert b"<dc:date>" not in first[1].read_bytes()
    assert len(list((tmp_path / "a").iterdir())) == 2


def test_a_prefix_lets_one_figure_stand_twice(figures):
    one, two = (plots.inline_svg(figures["lines"], prefix) for prefix in ("one", "two"))
    assert "one-" in one
    assert one.replace("one-", "two-") == two


def test_png_is_opaque_and_has_150_dots_an_inch(figures, tmp_path):
    path, _ = plots.write(figures["heat"], tmp_path, "heat")
    pixels = imread(path)
    width, height = figures["heat"].get_size_inches()
    assert pixels.shape[:2] == (int(height * 150), int(width * 150))
    assert (pixels[0, 0] == 1).all()


def test_hostile_names_draw_without_warning_and_stay_text():
    for name, figure in all_figures(HOSTILE).items():
        svg = plots.inline_svg(figure)
        FigureBlock(svg, "", "")
        assert "<script" not in svg, name
        assert any("</svg><script>" in text for text in texts(svg)), name


def test_drawing_leaves_matplotlib_as_it_was():
    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"text.color": "red", "svg.fonttype": "path"}):
        svg = plots.inline_svg(plots.lines([1, 2], {"a": [1.0, 2.0]}, "x", "y"))
        assert matplotlib.rcParams["text.color"] == "red"
    assert dict(matplotlib.rcParams) == before
    assert svg == plots.inline_svg(plots.lines([1, 2], {"a": [1.0, 2.0]}, "x", "y"))


def test_critical_difference_puts_models_cliques_and_cd_where_they_belong():
    figure = plots.critical_difference(["a", "b", "c"], [2.6, 1.25, 1.75], 0.7, [(1, 2)])
    (axes,) = figure.axes
    lines = {line.get_linewidth(): line for line in axes.lines}
    low, high = lines[3.2].get_xdata()
    assert (low, high) == pytest.approx((1.25 - 0.02, 1.75 + 0.02))
    assert np.ptp(lines[1.6].get_xdata()) == pytest.approx(0.7)
    labels = [text.get_text() for text in axes.texts]
    assert [label.split() for label in labels[-3:]] == [["b", "1.25"], ["c", "1.75"], ["2.60", "a"]]
    assert "critical difference 0.70" in labels[-4]


@pytest.mark.parametrize("n", [2, 8, 16, 30])
def test_the_best_end_of_the_ranks_is_named_and_no_number_is_written_over(n):
    names = [f"model {place}" for place in range(n)]
    figure = plots.critical_difference(names, np.arange(1, n + 1), 1.0, [])
    (axes,) = figure.axes
    written = {text.get_text(): text.get_window_extent() for text in axes.texts[: n + 1]}
    assert list(written) == [*(str(tick) for tick in range(1, n + 1)), "1 = best"]
    boxes = list(written.values())
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:place])


def test_curve_panels_show_measured_solid_and_printed_hollow():
    measured = {"one": {"A": [90, 80], "B": [70, 60]}, "two": {"B": [50, 40]}}
    printed = {"one": {"A": [91, 81]}}
    order = ["Z", "A", "B"]
    figure = plots.curve_panels([5, 40], measured, "x", "y", order=order, printed=printed)
    one, two = (axes for axes in figure.axes if axes.get_visible())
    assert [list(line.get_ydata()) for line in one.lines] == [[90, 80], [70, 60], [91, 81]]
    assert [line.get_markerfacecolor() == "none" for line in one.lines] == [False, False, True]
    assert one.lines[0].get_color() == one.lines[2].get_color() == plots.COLOURS[1]
    assert one.lines[1].get_color() == two.lines[0].get_color() == plots.COLOURS[2]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["A", "B", "printed"]


def test_powers_of_two_stand_at_equal_distances():
    axes = plots.lines([0.5, 1, 2], {"cmc": [70, 71, 69]}, "ξ", "%", log2=True).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2⁻¹", "2⁰", "2¹"]
    assert list(axes.lines[0].get_xdata()) == [-1, 0, 1]


def test_heat_map_labels_the_cell_of_each_pair_and_leaves_missing_ones_empty():
    accuracy = np.arange(33.0).reshape(11, 3)
    accuracy[4, 2] = np.nan
    axes = plots.heat_map(XI, RHO, accuracy, "x", "y").axes[0]
    shown = {text.get_position(): text.get_text() for text in axes.texts}
    assert shown[(0.5, 0.5)] == "0.0"
    assert shown[(10.5, 1.5)] == "31.0"
    assert len(shown) == 32
    assert (4.5, 2.5) not in shown
    with pytest.raises(ValueError, match="shape"):
        plots.heat_map(XI, RHO, accuracy.T, "x", "y")


def test_surface_has_the_given_heights():
    accuracy = np.arange(33.0).reshape(11, 3)
    axes = plots.surface(XI, RHO, accuracy, "x", "y", "z", log2=True).axes[0]
    low, high = axes.get_zlim()
    assert low <= 0 < 32 <= high
    assert axes.get_xlim()[0] <= -5 < 5 <= axes.get_xlim()[1]


def test_scatter_has_a_point_for_each_complete_pair():
    measured = np.arange(16.0).reshape(2, 8)
    printed = measured + 1
    measured[0, 3] = np.nan
    axes = plots.measured_against_printed(measured, printed, MODELS).axes[0]
    diagonal, *series = axes.lines
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    assert sum(len(line.get_xdata()) for line in series) == 15
    assert len({line.get_color() for line in series}) == 8
    assert len({line.get_marker() for line in series}) == 8
    np.testing.assert_array_equal(series[0].get_xdata(), printed[:, 0])
    np.testing.assert_array_equal(series[0].get_ydata(), measured[:, 0])


def luminance(colour):
    channels = matplotlib.colors.to_rgb(colour)
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


def test_labels_within_the_heat_map_can_be_read():
    axes = plots.heat_map(XI, RHO, np.linspace(60, 90, 33).reshape(11, 3), "x", "y").axes[0]
    mesh = axes.collections[0]
    for text in axes.texts:
        cell = luminance(mesh.cmap(mesh.norm(float(text.get_text())))[:3])
        ink = luminance(text.get_color())
        ratio = (max(cell, ink) + 0.05) / (min(cell, ink) + 0.05)
        assert ratio >= 4.5


def test_a_missing_matplotlib_is_named_with_the_way_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'"robell\[bench\]"'):
        plots.lines([1, 2], {"a": [1.0, 2.0]}, "x", "y")
