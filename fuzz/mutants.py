"""Mutation testing of the core: small faults put into its code, and whether quick tests notice.

    python fuzz/mutants.py                              80 mutants of each part, the same every time
    python fuzz/mutants.py --part ridge --mutants 200 --seed 1
    python fuzz/mutants.py --show 'ridge/loo.py:147'    the mutants of one line, each tried

A mutant is one change of one file: an arithmetic sign, a comparison, a constant, ``and`` for
``or``, a condition turned round, a statement left out, or two arguments swapped. It is written to a
copy of ``src`` in a temporary folder, and the quick tests that guard the file are run against it
until one fails. A mutant that no test notices
survives. Survivors that cannot be told from the original, or that change speed alone, are judged
in ``fuzz/mutants.txt`` and counted apart; the others are holes.

mutmut 3 leaves all code outside functions alone, where the constants stand, and tries every mutant,
of which there are thousands here. A sample is drawn by a seed instead, and each mutant runs in a
fork of a process that has imported everything but robell, in a fraction of a second.
"""

import argparse
import ast
import compileall
import importlib
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("ridge", "membership", "labels")
# The quick tests that guard each file, those that see most of it first.
GUARDS = {
    "ridge/calibrate.py": "core/ridge/test_calibration.py",
    "ridge/lapack.py": "core/ridge/test_lapack.py core/ridge/test_sweep.py",
    "ridge/loo.py": "core/ridge/test_loo.py core/ridge/test_oracle.py",
    "ridge/scatter.py": "core/ridge/test_scatter.py models/test_variance.py",
    "ridge/solve.py": "core/ridge/test_solve.py core/ridge/test_least_norm.py "
    "core/ridge/test_blocks.py core/ridge/test_oracle.py core/ridge/test_loo.py",
    "ridge/state.py": "core/ridge/test_state_left_out.py core/ridge/test_state.py "
    "core/ridge/test_oracle.py",
    "ridge/sweep.py": "core/ridge/test_sweep.py core/ridge/test_solve.py",
    "ridge/twins.py": "core/ridge/test_twins.py",
    "membership/approximate.py": "core/membership/test_approximate.py",
    "membership/equations.py": "core/membership/test_membership.py "
    "core/membership/test_approximate.py models/test_huber.py models/test_intuitionistic.py",
    "membership/frozen.py": "core/ridge/test_state.py",
    "membership/pairs.py": "core/membership/test_pairwise.py core/membership/test_membership.py "
    "core/membership/test_approximate.py",
    "membership/samples.py": "core/membership/test_row_sample.py core/ridge/test_state.py",
    "labels/annotators.py": "core/labels/test_annotators.py",
    "labels/cuts.py": "core/labels/test_cuts.py",
    "labels/groups.py": "core/labels/test_groups.py core/labels/test_changed.py",
    "labels/link.py": "core/labels/test_recalibrate.py core/labels/test_label_noise.py",
    "labels/noise.py": "core/labels/test_label_noise.py labels/test_corrected_scores.py "
    "core/labels/test_numbers.py",
    "labels/sampling.py": "core/labels/test_sampling.py",
}
OF_DEVICES = ("sweep_torch.py", "pairs_torch.py", "pairs_triton.py")  # tested where PyTorch is
CPU_SECONDS = 120  # of a mutant: one that loops for ever is noticed, as its user would
JUDGEMENTS = ROOT / "fuzz" / "mutants.txt"
IMPORTED = "numpy scipy.optimize scipy.stats scipy.sparse sklearn.linear_model pandas pytest mpmath"

ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
}
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def nodes_of(tree):
    """Yield every node that runs, with the function or method it stands in ("" for none)."""

    def visit(node, function):
        yield node, function
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases", "ctx"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST) or isinstance(child, ast.Raise | ast.Assert):
                    continue
                if isinstance(child, ast.FunctionDef | ast.ClassDef):
                    yield from visit(child, f"{function}.{child.name}".lstrip("."))
                else:
                    yield from visit(child, function)

    yield from visit(tree, "")


def changes_of(node):
    """Yield what may be done to a node: a name, and a function that does it in place."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield "arithmetic", lambda n: setattr(n, "op", ARITHMETIC[type(n.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "arithmetic", lambda n: setattr(n, "op", ast.UAdd())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield "comparison", lambda n: n.ops.__setitem__(0, COMPARISONS[type(n.ops[0])]())
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield "constant", lambda n: setattr(n, "value", other_constant(n.value))
    if isinstance(node, ast.BoolOp):
        yield (
            "boolean",
            lambda n: setattr(n, "op", ast.Or() if isinstance(n.op, ast.And) else ast.And()),
        )
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))
    if isinstance(node, ast.Call) and len(node.args) > 1 and type(node.args[0]) is not ast.Starred:
        yield "arguments", lambda n: n.args.__setitem__(slice(0, 2), n.args[1::-1])
    for body in (getattr(node, name, None) for name in ("body", "orelse")):
        for place, child in enumerate(body if isinstance(body, list) else []):
            if is_droppable(child):
                yield (
                    "statement",
                    lambda n, place=place, name="body" if body is node.body else "orelse": getattr(
                        n, name
                    ).__setitem__(place, ast.Pass()),
                )


def other_constant(value):
    """Return another constant of the same type."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else (1.5 * value if value else 1.0)


def is_droppable(statement):
    """Say whether a statement can be left out and the names of the others still be known."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Call)
    if isinstance(statement, ast.Assign):
        return not isinstance(statement.targets[0], ast.Name | ast.Tuple)
    return isinstance(statement, ast.AugAssign)


class Mutant:
    """One change of one file."""

    def __init__(self, core, path, index, number):
        source = (core / path).read_text()
        tree = ast.parse(source)
        node, self.function = list(nodes_of(tree))[index]
        self.kind, change = list(changes_of(node))[number]
        before = ast.unparse(tree)
        change(node)
        self.path, self.source = path, ast.unparse(ast.fix_missing_locations(tree))
        self.line = getattr(node, "lineno", 0)
        pairs = zip(before.splitlines(), self.source.splitlines(), strict=False)
        self.old, self.new = next(
            ((a.strip(), b.strip()) for a, b in pairs if a != b), ("the same", "the same")
        )
        if self.kind == "statement":
            self.new = "pass"

    @property
    def name(self):
        """Return what tells the mutant from others, whatever lines are above it."""
        return f"{self.path} {self.function or 'module'}: {self.old}  ->  {self.new}"


def mutants_of(part, core):
    """Return the places of all mutants of a part: path, node, change."""
    places = []
    for file in sorted((core / part).glob("*.py")):
        if file.name in OF_DEVICES:
            continue
        for index, (node, _) in enumerate(nodes_of(ast.parse(file.read_text()))):
            numbers = range(len(list(changes_of(node))))
            places += [(f"{part}/{file.name}", index, number) for number in numbers]
    return places


# -- running tests ---------------------------------------------------------------------------


def in_fork(work):
    """Run work in a fork, its output thrown away; return its exit status and CPU seconds."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            status = int(work())
        finally:
            os._exit(status)
    late = time.monotonic() + 20 * CPU_SECONDS  # a mutant may also wait for ever
    while True:
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            return status, usage.ru_utime + usage.ru_stime
        if time.monotonic() > late:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.05)


def tests_pass(paths):
    """Run the guards of some files; return whether they pass, and CPU seconds."""
    import pytest

    names = dict.fromkeys(f"tests/{name}" for path in paths for name in GUARDS[path].split())
    status, cpu = in_fork(lambda: pytest.main(["-x", "-q", "-p", "no:cacheprovider", *names]))
    return status == 0, cpu


def is_noticed(mutant, folder):
    """Run the guards of a mutant against it; return whether one failed, and CPU seconds."""
    target = folder / "robell" / "_core" / mutant.path
    original, times = target.read_text(), target.stat()
    target.write_text(mutant.source)
    try:
        passed, cpu = tests_pass([mutant.path])
    finally:
        target.write_text(original)
        os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))  # its compiled form holds again
    return not passed, cpu


def judgements():
    """Return what was judged of survivors: {name: (judgement, why)}."""
    found = {}
    for line in JUDGEMENTS.read_text().splitlines() if JUDGEMENTS.exists() else []:
        if line.strip() and not line.startswith("#"):
            judgement, _, rest = line.partition(" | ")
            name, _, why = rest.rpartition(" | ")
            found[name] = judgement, why
    return found


def try_part(part, options, folder):
    """Try the mutants of a part asked for; print those that survive, and the score."""
    core, judged = folder / "robell" / "_core", judgements()
    places = mutants_of(part, core)
    if options.show:
        path, line = options.show.rsplit(":", 1)
        made = (Mutant(core, *place) for place in places if place[0] == path)
        chosen = [mutant for mutant in made if mutant.line == int(line)]
    else:
        lots = random.Random(f"{options.seed} {part}")
        drawn = lots.sample(places, min(options.mutants, len(places)))
        chosen = [Mutant(core, *place) for place in drawn]
    passed, total = tests_pass({mutant.path for mutant in chosen})
    if not passed:
        print(f"{part}: its tests fail without any mutant", flush=True)
        return
    n_noticed, apart = 0, {}
    for mutant in chosen:
        noticed, cpu = is_noticed(mutant, folder)
        total += cpu
        n_noticed += noticed
        word = "noticed" if noticed else judged.get(mutant.name, ("hole", ""))[0]
        if not noticed:
            apart[word] = apart.get(word, 0) + 1
        if options.show or not noticed:
            print(f"{word} | {mutant.name}  (line {mutant.line})", flush=True)
    score, strict = (n_noticed / max(n, 1) for n in (n_noticed + apart.get("hole", 0), len(chosen)))
    print(
        f"{part}: {len(chosen)} of {len(places)} mutants, {n_noticed} noticed, survivors "
        f"{apart or 'none'}; score {score:.1%}, {strict:.1%} if all survivors count; "
        f"{total:.0f} CPU seconds",
        flush=True,
    )


def copied(folder):
    """Copy the package to a folder, and let it be imported from there."""
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "robell", folder / "robell", ignore=without)
    compileall.compile_dir(folder / "robell", quiet=2)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)
    return folder


def main():
    """Try the mutants asked for, each part in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS, action="append", help="default: all")
    parser.add_argument("--mutants", type=int, default=80, help="of each part")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", help="FILE:LINE whose mutants are all tried")
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.dont_write_bytecode = True  # two mutants of one second and one length would be one
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for name in IMPORTED.split():
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        parts = [options.show.partition("/")[0]] if options.show else options.part or PARTS
        children = []
        for part in parts:
            child = os.fork()
            if child == 0:
                try:
                    try_part(part, options, copied(folder / part))
                finally:
                    os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)


if __name__ == "__main__":
    main()
