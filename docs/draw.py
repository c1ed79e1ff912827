"""Draw the pictures of ``docs/images`` that are not of a study.

python docs/draw.py            all of them
python docs/draw.py chart      the landing page's chart, from the table on robustness.md
python docs/draw.py examples   those of the gallery that pages on GitHub show as well
python docs/draw.py audit      first screens of an audit, which need Chromium
"""

import base64
import io
import re
import runpy
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
OURS = "NoiseRobustRVFL"
SHOWN = {
    "memberships": 120,
    "what_each_model_learns": 110,
    "your_own_variant": 120,
    "privileged_and_views": 120,
}
LEAVE_OUT = """
document.querySelectorAll("nav, button").forEach(element => element.remove())
document.querySelectorAll("h2").forEach(h => { if (h.textContent == "What was found") h.remove() })
"""
INK = {"light": ("#222832", "#8a929c", "#b3264a"), "dark": ("#e6e8eb", "#7c8590", "#ff9db4")}


def balanced_accuracies():
    """Return the levels of noise and each model's means, from the table on robustness.md."""
    page = (DOCS / "robustness.md").read_text(encoding="utf-8")
    table = page.split("**Balanced accuracy** (mean rank")[1].split("\n\n")[1]
    header, _, *rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
    levels = [0 if cell == "clean" else int(cell.split()[0]) for cell in header if cell.strip("| ")]
    means = {
        cells[0]: [float(re.search(r"\.\d+", cell)[0]) for cell in cells[1:]] for cells in rows
    }
    return levels, means


def draw_chart(scheme):
    """Draw ours and the three best peers, named at their lines; the others are grey."""
    text, grey, ours = INK[scheme]
    levels, means = balanced_accuracies()
    peers = sorted((name for name in means if name != OURS), key=lambda n: -np.mean(means[n]))
    figure, axis = plt.subplots(figsize=(8.2, 4.2), layout="constrained")
    for name in peers[3:]:
        axis.plot(levels, means[name], color=grey, alpha=0.45, linewidth=1)
    styles = ["-", "--", ":"]
    for name, style in zip(peers[:3], styles, strict=True):
        axis.plot(levels, means[name], style, color=text, linewidth=1.6)
    axis.plot(levels, means[OURS], color=ours, linewidth=3)
    height = 1.0
    for name in sorted([OURS, *peers[:3]], key=lambda n: -means[n][-1]):
        height = min(means[name][-1], height - 0.022)
        colour = ours if name == OURS else text
        axis.annotate(f" {name}", (levels[-1], height), color=colour, va="center", fontsize=11)
    axis.annotate(
        f"{len(peers) - 3} others",
        (levels[-2], 0.60),
        color=text,
        alpha=0.8,
        fontsize=10,
        ha="right",
    )
    axis.set(xlim=(0, 53), ylim=(0.48, 0.9), xticks=levels)
    axis.set_xlabel("wrong labels among the training rows (%)", color=text)
    axis.set_ylabel("balanced accuracy on unseen rows", color=text)
    axis.tick_params(colors=text)
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(grey)
    axis.spines["bottom"].set_bounds(0, levels[-1])
    with plt.rc_context({"svg.hashsalt": "robell"}):
        figure.savefig(
            IMAGES / f"landing_chart_{scheme}.svg", transparent=True, metadata={"Date": None}
        )
    plt.close(figure)


def draw_example(name, dots):
    """Run one script of the gallery and keep its last picture."""
    plt.close("all")
    script = DOCS.parent / "examples" / f"plot_{name}.py"
    runpy.run_path(str(script), run_name="__main__")
    plt.gcf().savefig(IMAGES / f"{name}.png", dpi=dots)


def orders(folder):
    """Write the table of docs/guide/audit.md: orders of a shop, some labels entered wrongly."""
    page = (DOCS / "guide" / "audit.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", page, re.S)[1]
    exec(block.split("result = audit")[0].replace("tempfile.mkdtemp()", repr(str(folder))), {})
    return folder / "orders.csv"


def draw_audit():
    """Take the first screen of an audit, in both schemes."""
    from PIL import Image

    sys.path.insert(0, str(DOCS.parent / "tests"))
    from browser import Browser, find_chromium

    from robell import audit

    folder = Path(tempfile.mkdtemp())
    page = audit(orders(folder), "returned", out=folder).html
    with Browser(find_chromium()) as browser:
        for scheme in ("light", "dark"):
            browser.open(page, 1000, 400, scheme)
            browser.run(LEAVE_OUT)
            picture = Image.open(io.BytesIO(base64.b64decode(browser.screenshot())))
            small = picture.convert("RGB").quantize(48, dither=Image.Dither.NONE)
            small.save(IMAGES / f"landing_audit_{scheme}.png", optimize=True)


def main(wanted):
    """Draw what is asked for."""
    if not wanted or "chart" in wanted:
        for scheme in INK:
            draw_chart(scheme)
    if not wanted or "examples" in wanted:
        plt.show = lambda *a, **k: None
        for name, dots in SHOWN.items():
            draw_example(name, dots)
    if not wanted or "audit" in wanted:
        draw_audit()


if __name__ == "__main__":
    main(sys.argv[1:])
