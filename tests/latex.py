"""Whether the tables of a report can be set with pdfLaTeX, all in one document."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

DOCUMENT = r"""\documentclass{article}
\usepackage{%s}
\begin{document}
%s
\end{document}
"""


def assert_tables_compile(tables, folder):
    """Compile every .tex of a folder in one document, and look for what does not fit."""
    if shutil.which("pdflatex") is None:
        pytest.skip("needs pdflatex (Debian: texlive-latex-base, texlive-latex-recommended)")
    paths = sorted(Path(tables).glob("*.tex"))
    assert paths
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("% Needs \\usepackage{booktabs,graphicx}\n"), path
        assert "U+" not in text, path
    inputs = "\n".join(f"\\input{{{path.resolve()}}}\\clearpage" for path in paths)
    (folder / "all.tex").write_text(DOCUMENT % ("booktabs,graphicx", inputs), encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    log = (folder / "all.log").read_text(encoding="latin-1")
    assert done.returncode == 0, log[-3000:]
    assert "Float too large" not in log
    too_wide = [float(width) for width in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    assert not [width for width in too_wide if width > 10], too_wide
