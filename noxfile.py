"""The matrix of Python versions and dependencies on one machine: ``nox``, ``nox -s tests-3.13``.

Interpreters that are not installed are skipped, with a word. Arguments after ``--`` go to pytest:
``nox -s minimum-3.11 -- tests/models -x``.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import nox

PROJECT = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["minimum", "tests"]
nox.options.error_on_missing_interpreters = False
nox.options.default_venv_backend = "uv|virtualenv"


def run_tests(session, *more):
    """Run the tests that were asked for, or all of them."""
    chosen = session.posargs or ["-n", "auto"]
    session.run("python", "-m", "pytest", "-q", *more, *chosen)


@nox.session(python=PYTHONS)
def tests(session):
    """Run all tests with the newest dependencies."""
    groups = nox.project.dependency_groups(PROJECT, "test")
    session.install("-e", ".[bench,robustness]", *groups)
    run_tests(session)


@nox.session(python=["3.11"], venv_backend="uv")
def minimum(session):
    """Run all tests with the oldest versions of everything that is asked for by name."""
    groups = nox.project.dependency_groups(PROJECT, "test")
    session.install("--resolution", "lowest-direct", "-e", ".", *groups)
    # Old packages warn of what newer ones beneath them have given up: not ours to mend.
    run_tests(session, "-W", "ignore::DeprecationWarning")


@nox.session(python=["3.11"])
@nox.parametrize("version", ["1.6", "1.7", "1.8", "1.9", "newest"])
def sklearn(session, version):
    """Run the tests of the search with one version of scikit-learn, whose private names it uses.

    The newest is one before its release, as far as the package index asked has such.
    """
    session.install("-e", ".[files]", *nox.project.dependency_groups(PROJECT, "test"))
    if version == "newest":
        session.install("--pre", "--upgrade", "scikit-learn")
    else:
        session.install(f"scikit-learn=={version}.*")
    run_tests(session, *([] if session.posargs else ["tests/search"]))


@nox.session(python=["3.13t", "3.14t"])
def free_threaded(session):
    """Run the core on an interpreter without the global lock: tried, not promised."""
    session.install("-e", ".", "pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100")
    run_tests(session, *([] if session.posargs else ["tests/core"]))


@nox.session(python="3.11")
def dist(session):
    """Build sdist and wheel, check them, and use the wheel in an environment of its own."""
    session.install("build>=1.2", "twine>=6")
    session.run("python", "tests/check_dist.py", *session.posargs)
