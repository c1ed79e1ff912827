"""Build sdist and wheel, check their metadata, and use each in a fresh environment.

    python tests/check_dist.py [--out dist]
    python tests/check_dist.py --rehearse      all that a release does, but publishing

Needs the packages ``build`` and ``twine``, a rehearsal those of the group ``release``. Nothing of
the clone is seen by what is tried: it runs in an empty folder, with the interpreter of the fresh
environment. A rehearsal also compares version, changelog and citation, writes the bill of materials
``build/sbom.cdx.json`` and the digests ``build/SHA256SUMS``, and looks at the workflows and for
known weaknesses of the dependencies. What could not be looked at is said; what is wrong is an
error.
"""

from __future__ import annotations

import argparse
import hashlib
import json
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
    """Return the sdist and the wheel, made from a folder without stale files.

    They are built twice, with the time of the last commit as theirs: both must be the same bytes.
    """
    for old in [*folder.glob("robell-*.whl"), *folder.glob("robell-*.tar.gz")]:
        old.unlink()
    os.environ["SOURCE_DATE_EPOCH"] = _time_of_commit()
    with tempfile.TemporaryDirectory() as other:
        for out in (folder, other):
            run(sys.executable, "-m", "build", "--outdir", out, ROOT)
        (sdist,), (wheel,) = folder.glob("robell-*.tar.gz"), folder.glob("robell-*.whl")
        for file in (sdist, wheel):
            if file.read_bytes() != (Path(other) / file.name).read_bytes():
                raise SystemExit(f"{file.name}: two builds are not the same bytes")
            print(file.name, "- two builds are the same bytes")
    return sdist, wheel


def _time_of_commit():
    """Return when the last commit was made, in seconds since 1970; outside of a clone any time."""
    line = ["git", "log", "-1", "--pretty=%ct"]
    asked = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False)
    return asked.stdout.strip() or "1577836800"


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


# -- a release, rehearsed --------------------------------------------------------------


def check_version(wheel):
    """Compare the version of the wheel with changelog and citation; say what is left to do."""
    version = wheel.name.split("-")[1]
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise SystemExit(f"{version} is no version of a release")
    heading = re.search(r"^## (\S+)(.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    if heading[1] != version:
        raise SystemExit(f"CHANGELOG.md begins with {heading[1]}, and the version is {version}")
    if f"\nversion: {version}\n" not in (ROOT / "CITATION.cff").read_text("utf-8"):
        raise SystemExit(f"CITATION.cff does not name {version}")
    left = ["CHANGELOG.md calls it unreleased"] if "unreleased" in heading[2] else []
    status = subprocess.run(["git", "status", "--porcelain"], capture_output=True, cwd=ROOT)
    left += ["there are changes without a commit"] if status.stdout.strip() else []
    print("version", version, "-", "; ".join(left) or "ready for a tag")


def write_materials(wheel, folder):
    """Write the bill of materials of the wheel with its dependencies, and judge it.

    It must name exactly what pip has installed, each with its version, and most with a licence.
    """
    with tempfile.TemporaryDirectory() as place:
        programs = environment(Path(place))
        install(programs, wheel)
        bill = folder / "sbom.cdx.json"
        options = ["--output-reproducible", "--output-format", "JSON", "--output-file", bill]
        options += ["--pyproject", ROOT / "pyproject.toml", programs / "python"]
        run(sys.executable, "-m", "cyclonedx_py", "environment", *options)
        freeze = [programs / "python", "-m", "pip", "list", "--format", "json"]
        installed = {_plain(one["name"]): one["version"] for one in json.loads(run(*freeze))}
    found = json.loads(bill.read_text(encoding="utf-8"))
    named = {_plain(one["name"]): one["version"] for one in found["components"]}
    named |= {_plain(found["metadata"]["component"]["name"]): installed["robell"]}
    if named != installed:
        different = sorted(set(named.items()) ^ set(installed.items()))
        raise SystemExit(f"the bill of materials differs from what is installed: {different}")
    without = sorted(one["name"] for one in found["components"] if not one.get("licenses"))
    print(f"{bill.name} - {len(named)} packages; without a licence: {', '.join(without) or 'none'}")
    return bill


def _plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def look_for_weaknesses(bill):
    """Ask for known weaknesses of the packages in a bill of materials; say where nobody answers."""
    packages = json.loads(bill.read_text(encoding="utf-8"))["components"]
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "requirements.txt"
        pins = [f"{one['name']}=={one['version']}\n" for one in packages if one["name"] != "robell"]
        asked.write_text("".join(pins), encoding="utf-8")
        line = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "-f", "json", "-r"]
        found = subprocess.run([*line, asked], capture_output=True, text=True, check=False)
    try:
        answers = json.loads(found.stdout)["dependencies"]
    except (ValueError, KeyError):
        answers = []
    skipped = [one["name"] for one in answers if "skip_reason" in one]
    weak = [one["name"] for one in answers if one.get("vulns")]
    if weak:
        raise SystemExit(f"known weaknesses: {found.stdout}")
    if not answers or skipped:
        print(f"known weaknesses - NOT LOOKED FOR in {len(skipped) or len(pins)} packages: "
              "the service did not answer for them")  # fmt: skip
    else:
        print(f"known weaknesses - none in {len(answers)} packages")


def rehearse(sdist, wheel):
    """Do what a release does beyond building, but publishing."""
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    check_version(wheel)
    look_for_weaknesses(write_materials(wheel, folder))
    zizmor = Path(sys.executable).with_name("zizmor")
    run(zizmor, "--offline", "--persona=pedantic", ROOT / ".github" / "workflows")
    print("workflows - zizmor finds nothing")
    sums = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}" for one in (sdist, wheel)]
    (folder / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
    print("\n".join(sums))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--rehearse", action="store_true", help="all of a release but publishing")
    options = parser.parse_args()
    folder = options.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    sdist, wheel = build(folder)
    print(run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel).strip())
    check_contents(sdist, wheel)
    if options.rehearse:
        rehearse(sdist, wheel)
    for file in (wheel, sdist):
        try_out(file)


if __name__ == "__main__":
    main()
