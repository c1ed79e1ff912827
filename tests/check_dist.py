"""Build sdist and wheel, check their metadata, and use each in a fresh environment.

    python tests/check_dist.py [--out dist]

Needs the packages ``build`` and ``twine``. Nothing of the clone is seen by what is tried: it runs
in an empty folder, with the interpreter of the fresh environment.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SMOKE = """
import importlib.metadata, importlib.util, pathlib, sys
import robell
from sklearn.datasets import load_breast_cancer
from robell import NoiseRobustRVFLClassifier, find_label_issues
from robell.noise import flip_uniformly

assert pathlib.Path(robell.__file__).is_relative_to(sys.prefix), robell.__file__
assert importlib.metadata.version("robell") == robell.__version__
for extra in ("matplotlib", "pandas", "pytest"):
    assert importlib.util.find_spec(extra) is None, f"{extra} is installed: no clean environment"
X, y = load_breast_cancer(return_X_y=True)
noisy, flipped = flip_uniformly(y, 0.2, random_state=0)
model = NoiseRobustRVFLClassifier(random_state=0).fit(X, noisy)
found = find_label_issues(X, noisy, random_state=0)
right = (model.predict(X) == y).mean()
assert right > 0.9, right
assert flipped[found.index[:50]].mean() > 0.8
print("right of all true labels:", round(float(right), 3))
"""


def run(*command, **options):
    """Run a command as if nothing but its own environment was there; fail with what it said."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, env=own, **options
    )
    if result.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def build(folder):
    """Return the sdist and the wheel, made from a folder without stale files."""
    for old in [*folder.glob("robell-*.whl"), *folder.glob("robell-*.tar.gz")]:
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (sdist,), (wheel,) = folder.glob("robell-*.tar.gz"), folder.glob("robell-*.whl")
    return sdist, wheel


def check_contents(sdist, wheel):
    """Compare the wheel with the sources: all modules and data files, and nothing else."""
    package = ROOT / "src" / "robell"
    kept = {
        "robell/" + path.relative_to(package).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    if kept != found:
        raise SystemExit(f"wheel and sources differ: {sorted(kept ^ found)}")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    for needed in ("LICENSE", "README.md", "CITATION.cff", "CONTRIBUTING.md", "tests/conftest.py"):
        if needed not in names:
            raise SystemExit(f"the sdist lacks {needed}")


def environment(folder):
    """Make a fresh environment with pip alone in it, and return the folder of its programs."""
    venv.create(folder / "env", with_pip=True)
    return folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")


def install(programs, what):
    """Install a distribution or a clone with its dependencies, as ``pip install .`` does."""
    run(programs / "python", "-m", "pip", "install", "--quiet", what)
    print(what.name, "-", run(programs / "python", "-I", "-c", SMOKE, cwd=programs).strip())


def try_readme(programs, folder):
    """Run what the README shows in a folder, and compare what is printed with what it shows."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, shown = re.search(
        r"^```python\n(.*?)^```\n+```text\n(.*?)^```$", text, re.M | re.S
    ).groups()
    printed = run(programs / "python", "-c", code, cwd=folder)
    if not _is_alike(printed, shown):
        raise SystemExit(f"README.md shows\n{shown}\nand its code prints\n{printed}")
    lines = re.findall(r"^(?:robell|python) .*", text, re.M)
    commands = [shlex.split(line, comments=True) for line in lines]
    if [command[1] for command in commands[1:]] != ["audit", "fit", "predict"]:
        raise SystemExit(f"README.md has other commands than expected: {commands}")
    run(programs / "python", ROOT / commands[0][1], *commands[0][2:], cwd=folder)
    table = folder / "claims.csv"
    few = table.read_text(encoding="utf-8").splitlines(keepends=True)[:601]  # to take less time
    table.write_text("".join(few), encoding="utf-8")
    for program, *arguments in commands[1:]:
        run(programs / program, *arguments, cwd=folder)
    for name in ("claims-audit.html", "model-fit.html", "flagged.csv"):
        if not (folder / name).stat().st_size:
            raise SystemExit(f"{name} is empty")


def _is_alike(printed, shown):
    """Say whether texts are the same but for numbers, which machines may round in other ways."""
    texts = [re.sub(r"[\d.]*\d", "#", text).splitlines() for text in (printed, shown)]
    ends = [
        re.findall(r"[\d.]*\d", "".join(re.split("row .*\n", text))) for text in (printed, shown)
    ]
    near = all(abs(float(a) - float(b)) <= 3 for a, b in zip(*ends, strict=False))
    return texts[0] == texts[1] and near


def try_out(file):
    """Install a file with its dependencies alone, then fit, judge labels and run the commands."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        programs = environment(folder)
        install(programs, file)
        try_readme(programs, folder)
        print(file.name, "- what the README shows runs")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    folder = parser.parse_args().out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    sdist, wheel = build(folder)
    print(run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel).strip())
    check_contents(sdist, wheel)
    for file in (wheel, sdist):
        try_out(file)


if __name__ == "__main__":
    main()
