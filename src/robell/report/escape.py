"""Any string, made safe for HTML, LaTeX and Markdown."""

from __future__ import annotations

import html
import re
import unicodedata

_LATEX = {character: "\\" + character for character in "{}$&#_%"}
# After the end of a line or a rule these would be read as its option.
_LATEX |= {character: f"{{{character}}}" for character in "[]*"}
_LATEX |= {"\u2212": "$-$", "\u2013": "--", "\u2014": "---", "\u00b0": "$^\\circ$"}
_LATEX |= {"\u2018": "`", "\u2019": "'", "\u201c": "``", "\u201d": "''", "\u2032": "$'$"}
_COMMANDS = r"\ textbackslash ~ textasciitilde ^ textasciicircum ` textasciigrave < textless"
_COMMANDS += " > textgreater | textbar … ldots † dag ‡ ddag § S ß ss æ ae Æ AE ø o Ø O œ oe ł l"
_COMMANDS += " Œ OE Ł L ı i • textbullet © copyright £ pounds ¿ textquestiondown ¡ textexclamdown"
_MATHS = "± pm \u00d7 times · cdot ≤ leq ≥ geq ≠ neq ≈ approx ∞ infty → rightarrow ← leftarrow"
_MATHS += " ↑ uparrow ↓ downarrow √ surd µ mu ∑ sum ∏ prod ∈ in ∼ sim ∝ propto ∂ partial ∇ nabla"
_MATHS += " ⋅ cdot ⊙ odot ⇒ Rightarrow ÷ div ¬ neg ∅ emptyset ∩ cap ∪ cup ⊂ subset"
_MATHS += " ∀ forall ∃ exists ℓ ell ϕ varphi ϵ varepsilon"
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma"
_GREEK += " tau upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
_ACCENTS = {"GRAVE": "`", "ACUTE": "'", "CIRCUMFLEX": "^", "TILDE": "~", "DIAERESIS": '"'}
_ACCENTS |= {"RING": "r", "CEDILLA": "c", "CARON": "v", "MACRON": "=", "BREVE": "u"}
_RAISED = {"<super>": "^", "<sub>": "_"}


def writable(text):
    """Replace control characters and lone surrogates, which no encoding or markup allows."""
    text = re.sub("\r\n?", "\n", text)
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)


def escape_html(text):
    """Make any string safe as HTML text and as the value of a quoted attribute."""
    return html.escape(writable(text))


def _pairs(words):
    words = words.split()
    return zip(words[::2], words[1::2], strict=True)


_LATEX |= {character: f"\\{name}{{}}" for character, name in _pairs(_COMMANDS)}
_LATEX |= {character: f"$\\{name}$" for character, name in _pairs(_MATHS)}


def escape_latex(text):
    """Make any string safe in LaTeX; what pdfLaTeX cannot set becomes its code point."""
    text = " ".join(writable(text).split())
    return "".join(
        # Two hyphens in a row would become a dash.
        "-{}" if character == "-" == after else _latex_character(character)
        for character, after in zip(text, f"{text[1:]} ", strict=False)
    )


def _latex_character(character):
    if character in _LATEX:
        return _LATEX[character]
    if character.isascii():
        return character
    capital, _, letter = unicodedata.name(character, "").rpartition(" LETTER ")
    greek = letter.replace("LAMDA", "LAMBDA").lower()
    greek = greek.capitalize() if capital == "GREEK CAPITAL" else greek
    if capital.startswith("GREEK") and greek in _GREEK.split():
        return f"$\\{greek}$"
    place, _, codes = unicodedata.decomposition(character).partition(" ")
    if place in _RAISED:
        text = "".join(chr(int(code, 16)) for code in codes.split()).replace("\u2212", "-")
        if text.isascii():
            return f"${_RAISED[place]}{{{text}}}$"
    base, *marks = unicodedata.normalize("NFD", character)
    if base.isascii() and len(marks) == 1:
        kind = unicodedata.name(marks[0]).split()[1]
        if kind in _ACCENTS:
            return f"\\{_ACCENTS[kind]}{{{base}}}"
    return f"{{[}}U+{ord(character):04X}{{]}}"


def escape_markdown(text):
    """Make any string one line of plain text in a cell of a Markdown table."""
    text = " ".join(writable(text).split())
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    text = re.sub(r"([\\`*\[\]|~$])", r"\\\1", text)
    # Within a word an underscore is a plain character, and names are full of them.
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)
