"""How the site is built: ``make docs``, or ``sphinx-build -W -b html docs build/site``.

Nothing is fetched while it builds, and a page asks nobody but its own server for anything. The
gallery runs the scripts of ``examples/``; a script that has not changed since the last build is not
run again (what it printed and drew stays in ``docs/gallery``, which git ignores).
"""

import inspect
import os
import re
import sys
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx_gallery.sorting import ExplicitOrder, FileNameSortKey

import robell

DOCS = Path(__file__).parent.resolve()
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for the examples; two cores are enough

project = "robell"
author = "The robell developers"
copyright = author
version = release = robell.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery/*.ipynb", "gallery/*.py", "_templates", "README.md"]
templates_path = ["_templates"]
nitpicky = False
suppress_warnings = ["config.cache"]  # the order of the gallery is an object of sphinx-gallery

# -- Markdown and API --------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 4
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say what is taken
autodoc_inherit_docstrings = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# -- gallery -----------------------------------------------------------------------------

LESSONS = [
    "plot_find_wrong_labels.py",
    "plot_what_to_check_first.py",
    "plot_how_far_noise_goes.py",
    "plot_displays.py",
    "plot_wrong_labels_of_texts.py",
    "plot_wrong_labels_of_images.py",
    "plot_wrong_numbers.py",
    "plot_annotators.py",
    "plot_imbalance.py",
    "plot_threshold_by_cost.py",
    "plot_probabilities.py",
    "plot_wrong_test_labels.py",
    "plot_what_each_model_learns.py",
    "plot_memberships.py",
    "plot_privileged_and_views.py",
    "plot_regression_intervals.py",
    "plot_exact_search.py",
    "plot_streaming.py",
    "plot_drift.py",
    "plot_your_own_variant.py",
    "plot_losses_and_copula.py",
]


class LessonOrder(FileNameSortKey):
    """Lessons in the order of ``LESSONS``; what is not named there comes after, by name."""

    def __call__(self, filename):
        """Return where a script stands."""
        place = LESSONS.index(filename) if filename in LESSONS else len(LESSONS)
        return f"{place:03d} {filename}"


sphinx_gallery_conf = {
    "examples_dirs": str(DOCS.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "conf.LessonOrder",
    "subsection_order": ExplicitOrder(["."]),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "backreferences_dir": "api/backreferences",
    "doc_module": ("robell",),
    "capture_repr": (),
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "plot_gallery": True,
    "min_reported_time": 20,
    "write_computation_times": False,  # their page would ask other servers for scripts
    "thumbnail_size": (360, 252),
    "reference_url": {"robell": None},
}

# -- pages -------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_title = "robell"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["llms.txt"]
html_show_sourcelink = False
html_copy_source = False
ALONE = ["index", "start", "install", "commands", "faq", "glossary", "cite", "changelog"]
html_sidebars = {page: [] for page in ALONE}
html_theme_options = {
    "logo": {"text": "robell"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


# -- what scikit-learn brings ------------------------------------------------------------


def skip_what_scikit_learn_brings(app, what, name, obj, skip, options):
    """Leave methods that robell neither writes nor documents to scikit-learn's own pages."""
    if re.fullmatch(r"set_\w+_request|get_metadata_routing", name):
        return True
    home = getattr(inspect.unwrap(getattr(obj, "fget", None) or obj), "__module__", None)
    return True if home and not str(home).startswith("robell") else None


def names_that_end_in_an_underscore(app, what, name, obj, options, lines):
    """Escape ``n_features_in_`` and the like in ``: ndarray of shape (n_features_in_,)``."""
    for i, line in enumerate(lines):
        if re.match(r"\s*[\w, ]+ : ", line):
            name, kind = line.split(" : ", 1)
            lines[i] = f"{name} : " + re.sub(r"(?<=\w)_(?!\w)", r"\\_", kind)


def pages_of_the_root(app, docname, source):
    """Read ``CHANGELOG.md`` and its like where a page asks for them, and lead links to pages.

    Files are written for readers of the repository. On the site a link to a lesson's script leads
    to the lesson, one to ``SECURITY.md`` to its page, one to any other file to a copy of it.
    """
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".md":
        return
    base = path.parent
    wanted = re.fullmatch(r"```\{include\} \.\./(\w+\.md)\n```(.*)", source[0].rstrip(), re.S)
    text, rest = source[0], ""
    if wanted:
        base, rest = ROOT, wanted[2]
        text = (ROOT / wanted[1]).read_text(encoding="utf-8")
        app.env.note_dependency(str(ROOT / wanted[1]))

    def lead(link):
        words, target, anchor = link.groups("")
        found = Path(os.path.normpath(base / target))
        if found.parent == ROOT / "examples":
            found = DOCS / "gallery" / f"{found.stem}.rst"
        elif found.parent == ROOT:
            found = DOCS / f"{found.stem.lower()}.md"
        if found.is_dir():
            return words
        return f"[{words}]({os.path.relpath(found, path.parent)}{anchor})"

    local = r"(?<!!)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)]*)?\)"
    source[0] = re.sub(local, lead, text) + rest


def formula(translator, node):
    """Write LaTeX as MathML, which browsers draw themselves: no script, no font to fetch."""
    block = isinstance(node, nodes.math_block)
    code = rf"\begin{{aligned}}{node.astext()}\end{{aligned}}" if block else node.astext()
    tree = latex2mathml.tex2mathml(code, as_block=block)
    translator.body.append(f'<div class="formula">{tree}</div>\n' if block else tree)
    raise nodes.SkipNode


def citations_without_way_back(app, doctree):
    """Drop links from a reference back to its mention, which numpydoc's renaming breaks."""
    for citation in doctree.findall(nodes.citation):
        citation["backrefs"] = []


def icons_as_masks(app, error):
    """Draw the icons that pages show by style alone: the theme's script for them weighs 1.5 MB."""
    if error or app.builder.name != "html":
        return
    site, shown = Path(app.outdir), {"xmark"}
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"\s*<script defer[^>]*fontawesome\.js[^>]*></script>", "", text)
        text = re.sub(r"<img (?!loading)", '<img loading="lazy" ', text)
        shown |= set(re.findall(r"\bfa-([a-z-]+)", text))
        page.write_text(text, encoding="utf-8")
    script = site / "_static" / "scripts" / "fontawesome.js"
    if script.exists():
        drawings = script.read_text(encoding="utf-8")
        sheet = site / "_static" / "site.css"
        sheet.write_text(
            (DOCS / "_static" / "site.css").read_text(encoding="utf-8")
            + "".join(icon_rule(name, drawings) for name in sorted(shown)),
            encoding="utf-8",
        )
    for pattern in ("scripts/fontawesome.js*", "**/*.map", "webpack-macros.html"):
        for file in site.glob(f"_static/{pattern}"):
            file.unlink(missing_ok=True)


def icon_rule(name, drawings):
    """Return the style that draws one icon in the colour of the text, or nothing."""
    found = re.search(
        rf'[{{,]"?{name}"?:\[(\d+),(\d+),\[[^]]*\],"\w+","(M[^"]+)"', drawings
    ) or re.search(rf':\[(\d+),(\d+),\[[^]]*"{name}"[^]]*\],"\w+","(M[^"]+)"', drawings)
    if not found:
        return ""
    width, height, outline = found.groups()
    svg = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}'>"
    svg = quote(f"{svg}<path d='{outline}'/></svg>", safe="/:=' ")
    return (
        f".fa-solid.fa-{name}::before {{ content: ''; display: inline-block; height: 1em; "
        f"width: {int(width) / int(height):.3g}em; background: currentColor; "
        f'mask: url("data:image/svg+xml,{svg}") center / contain no-repeat; }}\n'
    )


def setup(app):
    """Connect all that."""
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.connect("autodoc-process-docstring", names_that_end_in_an_underscore, priority=100)
    app.connect("autodoc-skip-member", skip_what_scikit_learn_brings)
    app.connect("build-finished", icons_as_masks)
    app.connect("doctree-read", citations_without_way_back)
    app.connect("source-read", pages_of_the_root)
