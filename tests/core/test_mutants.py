"""The faults that ``make mutants`` puts into the core."""

import ast
import random
from pathlib import Path

import mutants
import pytest

CORE = Path(__file__).parents[2] / "src" / "robell" / "_core"

TABLE = '''
def f(a, b=2):
    """Return 1 + 1."""
    if a < 0 and b:
        raise ValueError(f"{a + b} is too small")
    a[0] = g(a, b)
    return -a * 0.5
'''


def test_every_kind_of_fault_is_made_once_and_messages_are_left_alone(tmp_path):
    (tmp_path / "ridge").mkdir()
    (tmp_path / "ridge" / "f.py").write_text(TABLE)
    made = [mutants.Mutant(tmp_path, *place) for place in mutants.mutants_of("ridge", tmp_path)]
    assert sorted((m.kind, m.new) for m in made) == [
        ("arguments", "a[0] = g(b, a)"),
        ("arithmetic", "return +a * 0.5"),
        ("arithmetic", "return -a / 0.5"),
        ("boolean", "if a < 0 or b:"),
        ("comparison", "if a <= 0 and b:"),
        ("condition", "if not (a < 0 and b):"),
        ("constant", "a[1] = g(a, b)"),
        ("constant", "def f(a, b=3):"),
        ("constant", "if a < 1 and b:"),
        ("constant", "return -a * 0.75"),
        ("statement", "pass"),
    ]
    assert all(m.function in ("f", "") for m in made)
    assert len({m.source for m in made}) == len(made)


@pytest.mark.parametrize("part", mutants.PARTS)
def test_mutants_of_the_core_compile_and_differ_in_one_place(part):
    places = mutants.mutants_of(part, CORE)
    for place in random.Random(0).sample(places, 4):
        mutant = mutants.Mutant(CORE, *place)
        original = ast.unparse(ast.parse((CORE / mutant.path).read_text())).splitlines()
        compile(mutant.source, mutant.path, "exec")
        changed = mutant.source.splitlines()
        different = [a for a, b in zip(original, changed, strict=False) if a != b]
        assert len(original) > len(changed) or len(different) == 1


def test_judged_mutants_still_exist():
    """A judgement of code that is no longer there is taken off the list."""
    known = {part: mutants.mutants_of(part, CORE) for part in mutants.PARTS}
    files = {path for places in known.values() for path, *_ in places}
    lines = {path: ast.unparse(ast.parse((CORE / path).read_text())) for path in files}
    for name, (judgement, why) in mutants.judgements().items():
        path, _, change = name.partition(" ")
        old = change.partition(": ")[2].partition("  ->  ")[0]
        assert judgement in ("equivalent", "speed", "device"), name
        assert why, name
        assert old in lines[path], name
