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
import subprocess
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
    # The numbers are written into the picture, so that a test can tell when they are old.
    about = {"Date": None, "Description": str(means)}
    with plt.rc_context({"svg.hashsalt": "robell"}):
        figure.savefig(IMAGES / f"landing_chart_{scheme}.svg", transparent=True, metadata=about)
    plt.close(figure)


def draw_example(name, dots):
    """Run one script of the gallery and keep its last picture."""
    plt.close("all")
    script = DOCS.parent / "examples" / f"plot_{name}.py"
    runpy.run_path(str(script), run_name="__main__")
    plt.gcf().savefig(IMAGES / f"{name}.png", dpi=dots)


def blocks_of(page):
    """Return the Python blocks of a page of the guide."""
    text = (DOCS / "guide" / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.S)


def shoot(browser, page, name, size, scheme="light", script="", colours=256):
    """Save what a window of this size shows of a page."""
    from PIL import Image

    browser.open(page, *size, scheme)
    browser.run(script)
    picture = Image.open(io.BytesIO(base64.b64decode(browser.screenshot()))).convert("RGB")
    small = picture.quantize(colours, dither=Image.Dither.NONE)
    small.save(IMAGES / f"{name}.png", optimize=True)


def draw_audit(browser):
    """Audit the orders of docs/guide/audit.md; first screen, and its upper part in both schemes."""
    from robell import audit

    folder = Path(tempfile.mkdtemp())
    make_orders = blocks_of("audit.md")[0].split("result = audit")[0]
    exec(make_orders.replace("tempfile.mkdtemp()", repr(str(folder))), {})
    page = audit(folder / "orders.csv", "returned", out=folder).html
    shoot(browser, page, "audit", (1100, 900))
    to_review = """
        const card = document.querySelector(".card");
        const press = (key) => new KeyboardEvent("keydown", {key, bubbles: true});
        for (const key of "cckc") card.dispatchEvent(press(key));
        document.querySelector("#suspects").scrollIntoView();
    """
    shoot(browser, page, "review", (1100, 760), script=to_review)
    for scheme in INK:
        shoot(browser, page, f"landing_audit_{scheme}", (1000, 400), scheme, LEAVE_OUT, 48)


def draw_compare(browser):
    """Run the comparison of docs/guide/compare.md; first screen. Takes a minute or two."""
    folder = Path(tempfile.mkdtemp())
    make_tables, own_model, *_ = blocks_of("compare.md")
    exec(make_tables.replace("tempfile.mkdtemp()", repr(str(folder))), {})
    (folder / "mymodels.py").write_text(own_model, encoding="utf-8")
    command = "compare --target label --noise 0 20 --repeats 5 --out comparison --models"
    models = ["noise_robust", "rvfl", "robell", "forest", "mymodels:tuned_svc"]
    tables = [str(path) for path in sorted((folder / "tables").glob("*.csv"))]
    subprocess.run(
        [sys.executable, "-m", "robell", *command.split(), *models, "--", *tables],
        cwd=folder,
        check=True,
    )
    shoot(browser, folder / "comparison" / "index.html", "compare", (1100, 900))


def main(wanted):
    """Draw what is asked for."""
    if not wanted or "chart" in wanted:
        for scheme in INK:
            draw_chart(scheme)
    if not wanted or "examples" in wanted:
        plt.show = lambda *a, **k: None
        for name, dots in SHOWN.items():
            draw_example(name, dots)
    screens = {"audit": draw_audit, "compare": draw_compare}
    screens = {name: draw for name, draw in screens.items() if not wanted or name in wanted}
    if screens:
        sys.path.insert(0, str(DOCS.parent / "tests"))
        from browser import Browser, find_chromium

        with Browser(find_chromium()) as browser:
            for draw in screens.values():
                draw(browser)


if __name__ == "__main__":
    main(sys.argv[1:])
