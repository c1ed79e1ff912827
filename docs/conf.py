"""How the site is built: ``make docs``, or ``sphinx-build -W -b html docs build/site``.

Nothing is fetched while it builds, and a page asks nobody but its own server for anything. The
gallery runs the scripts of ``examples/``; a script that has not changed since the last build is not
run again (what it printed and drew stays in ``docs/gallery``, which git ignores).
"""

import inspect
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

from docutils import nodes
from docutils.utils.math import latex2mathml
from numpydoc.xref import DEFAULT_LINKS
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
    "sphinx.ext.viewcode",
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
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # types that are not named here stay words
numpydoc_xref_aliases = {word: word for word in DEFAULT_LINKS} | {
    "ndarray": "numpy.ndarray",
    "RandomState": "numpy.random.RandomState",
    "array-like": "sklearn.array_like",
    "DataFrame": "pandas.DataFrame",
    "Pipeline": "sklearn.pipeline.Pipeline",
}
# What docstrings name of other packages, and where that is explained: nothing is fetched.
OUTSIDE = {
    "numpy.ndarray": "https://numpy.org/doc/stable/reference/generated/numpy.ndarray.html",
    "numpy.random.RandomState": "https://numpy.org/doc/stable/reference/random/legacy.html",
    "sklearn.array_like": "https://scikit-learn.org/stable/glossary.html#term-array-like",
    "pandas.DataFrame": "https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.html",
}
SKLEARN = "https://scikit-learn.org/stable/modules/generated"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# -- gallery -----------------------------------------------------------------------------

SECTIONS = tomllib.loads((DOCS / "lessons.toml").read_text(encoding="utf-8"))["section"]
SEEN = {lesson: seen for section in SECTIONS for lesson, seen in section["lessons"].items()}
LESSONS = [f"{lesson}.py" for lesson in SEEN]


class LessonOrder(FileNameSortKey):
    """Lessons in the order of ``lessons.toml``; what is not named there comes after, by name."""

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
# Studies have wide tables: they get the room of the menu.
WIDE = ["robustness*", "paper/reproduction", "paper/datasets", "guide/*_measured"]
html_sidebars = {page: [] for page in ALONE + WIDE}
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


def names_of_other_packages(app, env, node, contnode):
    """Lead names of NumPy, pandas and scikit-learn to their own pages."""
    target = node.get("reftarget", "")
    where = OUTSIDE.get(target)
    if target.startswith("sklearn."):
        where = f"{SKLEARN}/{target}.html"
    return where and nodes.reference("", "", contnode, refuri=where, internal=False)


def names_that_end_in_an_underscore(app, what, name, obj, options, lines):
    """Escape ``n_features_in_`` in ``: ndarray of shape (n_features_in_,)``; link pages named."""
    page = r"``docs/([\w/]+)\.md``"
    lines[:] = [re.sub(page, r":doc:`/\1`", line) for line in lines]
    for i, line in enumerate(lines):
        if re.match(r"\s*[\w, ]+ : ", line):
            name, kind = line.split(" : ", 1)
            lines[i] = f"{name} : " + re.sub(r"(?<=\w)_(?!\w)", r"\\_", kind)


def pages_of_the_root(app, docname, source):
    """Read ``CHANGELOG.md`` and its like where a page asks for them, and lead links to pages.

    Files are written for readers of the repository. On the site a link to a lesson's script leads
    to the lesson, one to ``SECURITY.md`` to its page, one to any other file to a copy of it.
    Formulas become directives and roles.
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
    text = re.sub(r"(?m)^```math$", "```{math}", text)  # as GitHub spells formulas
    text = re.sub(r"\$`([^`]+)`\$", r"{math}`\1`", text)
    source[0] = re.sub(local, lead, text) + rest


def gallery_in_sections(app, docname, source):
    """Put the lessons under the headings of ``lessons.toml``, and say what their pictures show."""
    lesson = docname.removeprefix("gallery/")
    if lesson in SEEN:
        source[0] = re.sub(r"(?m)^   :alt:.*$", f"   :alt: {SEEN[lesson]}", source[0])
    if docname != "gallery/index":
        return
    opening, closing = ".. thumbnail-parent-div-open\n", ".. thumbnail-parent-div-close\n"
    raw = '.. raw:: html\n\n    <div class="sphx-glr-thumbnails">\n\n'
    head, thumbnails = source[0].split(raw + opening, 1)
    thumbnails, tail = thumbnails.split(closing, 1)
    cards = re.findall(
        r"(?s)\.\. raw:: html\n\n    <div class=\"sphx-glr-thumbc.*?</div>\n    </div>\n",
        thumbnails,
    )
    by_name = {re.search(r":doc:`/gallery/(\w+)`", card)[1]: card for card in cards}
    parts = []
    for section in SECTIONS:
        own = "\n".join(by_name[name] for name in section["lessons"])
        title = f"{section['title']}\n{'-' * len(section['title'])}\n\n{section['blurb']}\n\n"
        parts.append(f"{title}{raw}{opening}\n{own}\n{closing}{tail.split('.. toctree')[0]}")
    source[0] = head + "\n".join(parts) + ".. toctree" + tail.split(".. toctree", 1)[1]


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


def lighter_pages(app, error):
    """Drop the theme's script for icons, which ``site.css`` draws; fetch pictures when seen."""
    if error or app.builder.name != "html":
        return
    site = Path(app.outdir)
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"\s*<script defer[^>]*fontawesome\.js[^>]*></script>", "", text)
        text = re.sub(r"<img (?!loading)", '<img loading="lazy" ', text)
        page.write_text(text, encoding="utf-8")
    for pattern in ("scripts/fontawesome.js*", "**/*.map", "webpack-macros.html"):
        for file in site.glob(f"_static/{pattern}"):
            file.unlink(missing_ok=True)


def live_audit(app, error):
    """Make the audit of the guide's first example, page and table, which the landing page opens."""
    if error or app.builder.name != "html":
        return
    folder = Path(app.outdir) / "example"
    page = (DOCS / "guide" / "audit.md").read_text(encoding="utf-8")
    example = re.search(r"(?s)```python\n(.*?)result = audit", page)[1]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    exec(example.replace("tempfile.mkdtemp()", repr(str(folder))), {})
    robell.audit(folder / "orders.csv", "returned", out=folder)


def setup(app):
    """Connect all that."""
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.connect("autodoc-process-docstring", names_that_end_in_an_underscore, priority=100)
    app.connect("autodoc-skip-member", skip_what_scikit_learn_brings)
    app.connect("build-finished", lighter_pages)
    app.connect("build-finished", live_audit)
    app.connect("missing-reference", names_of_other_packages)
    app.connect("doctree-read", citations_without_way_back)
    app.connect("source-read", pages_of_the_root)
    app.connect("source-read", gallery_in_sections)
