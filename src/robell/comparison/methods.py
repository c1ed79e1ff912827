"""What a paper says of a comparison: its methods in plain sentences, and the works they cite."""

from __future__ import annotations

import re
from dataclasses import dataclass

from robell._tools.files import read_resource
from robell._tools.text import literal
from robell.comparison.study_page import WORDS, sizes_of, span
from robell.report.escape import escape_latex
from robell.report.page import Code, Paragraph, Section


@dataclass(frozen=True)
class Methods:
    """The section of the page, and files for the paper: methods.tex and references.bib."""

    section: Section
    files: dict


def methods_of(cells, reference, *more):
    """Return the methods of a comparison of {metric: ScoreCell} in words, with BibTeX.

    ``more`` are sentences on what is special about it: its protocol, its grids.
    """
    found = cells.values()
    n_sets, n_models = sizes_of(found)
    names = ", ".join(dict.fromkeys(cell.metrics[name] for name, cell in cells.items()))
    values = {"sets": span(n_sets, "table"), "models": span(n_models, "model")}
    ropes: dict = {}
    for name, cell in cells.items():
        ropes.setdefault(cell.rope, []).append(cell.metrics[name])
    several = len(ropes) > 1
    limits = [f"{rope:g}" + f" ({', '.join(of)})" * several for rope, of in ropes.items() if rope]
    splits = (zip(cell.n_seeds, cell.test_shares, strict=True) for cell in found)
    shares = [round(100 * share) for each in splits for n, share in each if n > 1]
    values["share"] = span(shares or [0])
    parts = ["methods"]
    if any(cell.testable for cell in found):
        parts.append("methods_ranks")
    if max(n_sets) > 1 and max(n_models) > 1:
        parts += ["methods_pairs", "methods_bayes" if limits else "methods_no_rope"]
    if max(n for cell in found for n in cell.n_seeds) > 1 and max(n_models) > 1:
        parts.append("methods_splits")

    def written(escape):
        known = values | {"own": escape(reference), "names": escape(names)}
        known["rope"] = escape(" and ".join(limits))
        sentences = [WORDS.text(part, **known) for part in [*parts, "methods_assume"]]
        return " ".join([sentences[0], *map(escape, filter(None, more)), *sentences[1:]])

    tex, page = written(escape_latex), written(literal)
    cited = set(re.findall(r"\\citep\{(\w+)\}", tex))
    library = read_resource("robell.comparison", "references.bib").strip().split("\n\n")
    entries = [entry for entry in library if entry.partition("{")[2].partition(",")[0] in cited]
    page = re.sub(r"~\\citep\{(\w+)\}", r" (\1)", page).replace("\\,\\%", " %")
    bibliography = "\n\n".join(entries) + "\n"
    section = WORDS.section("paper", Paragraph(page), Code(bibliography))
    return Methods(section, {"methods.tex": tex + "\n", "references.bib": bibliography})
