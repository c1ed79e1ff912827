"""Build sdist and wheel, check their metadata, and use each in a fresh environment.

    python tests/check_dist.py [--out dist]

Needs the packages ``build`` and ``twine``. Nothing of the clone is seen by what is tried: it runs
in an empty folder, with the interpreter of the fresh environment.
"""

from __future__ import annotations

import argparse
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
TABLE = "size,colour,kept\n" + "".join(
    f"{i % 40 + (30 if i % 3 else 0)},{'red' if i % 2 else 'blue'},{'yes' if i % 3 else 'no'}\n"
    for i in range(300)
)


def run(*command, **options):
    """Run a command; fail with what it said."""
    result = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, **options
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


def try_out(file):
    """Install a file with its dependencies alone, then fit, judge labels and run the command."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        venv.create(folder / "env", with_pip=True)
        programs = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        run(programs / "python", "-m", "pip", "install", "--quiet", file)
        print(file.name, "-", run(programs / "python", "-I", "-c", SMOKE, cwd=folder).strip())
        (folder / "table.csv").write_text(TABLE, encoding="utf-8")
        run(programs / "robell", "audit", "table.csv", "--target", "kept", cwd=folder)
        pages = sorted(path.name for path in folder.glob("table-audit*"))
        if not pages:
            raise SystemExit(f"robell audit wrote nothing: {sorted(folder.iterdir())}")
        print(file.name, "- robell audit wrote", ", ".join(pages))


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
