"""Section S.VIII's statements: each can hold, fail, and say that nothing can be told."""

import numpy as np
import pytest

from robell.studies.paper.printed import (
    CLAIMS,
    FAILS,
    HOLDS,
    KERNEL_WIDTH_GRID,
    RHO_GRID,
    STABLE,
    UNTOLD,
    WORDS,
    Claim,
    Surface,
    accuracy_limits,
    judge,
)

WIDTHS, RHOS = np.array(KERNEL_WIDTH_GRID), np.array(RHO_GRID)
ROW = 1.0  # a hundred test rows
LAST = (len(WIDTHS) - 1, len(RHOS) - 1)


def surface(values, n_seeds=3, noise=0.0, chosen=(5, 4)):
    """Make a surface of the same accuracies in every seed, with noise of this size."""
    values = np.broadcast_to(values, (n_seeds, len(WIDTHS), len(RHOS)))
    values = values + noise * np.random.default_rng(0).normal(size=values.shape)
    return Surface(WIDTHS, RHOS, values, values, (chosen,) * n_seeds, ROW)


def claim(*words, line=None, kernel_width=None, rho=None):
    return Claim("key", "place", [], "text", list(words), line, kernel_width, rho)


def by_width(heights):
    return np.repeat(np.asarray(heights, float)[:, None], len(RHOS), axis=1)


def by_rho(heights):
    return np.repeat(np.asarray(heights, float)[None, :], len(WIDTHS), axis=0)


def inside(low, high, height=10.0):
    """Make a surface of 70 with a table land over kernel widths from low to high."""
    return by_width(np.where((low <= WIDTHS) & (high >= WIDTHS), 70 + height, 70.0))


@pytest.mark.parametrize("statement", CLAIMS, ids=lambda statement: statement.key)
def test_a_constant_surface_tells_nothing(statement):
    assert judge(statement, surface(np.full((11, 5), 80.0)))[1].startswith(UNTOLD)


@pytest.mark.parametrize("statement", CLAIMS, ids=lambda statement: statement.key)
def test_one_test_row_of_difference_tells_nothing(statement):
    one_row = 80.0 + ROW * np.random.default_rng(1).integers(0, 2, (3, 11, 5))
    assert judge(statement, surface(one_row))[1].startswith(UNTOLD)


@pytest.mark.parametrize("statement", CLAIMS, ids=lambda statement: statement.key)
@pytest.mark.parametrize("n_seeds", [1, 2])
def test_too_few_seeds_tell_nothing(statement, n_seeds):
    steep = 50 + by_width(np.arange(11.0)) + by_rho(np.arange(5.0))
    measured, verdict = judge(statement, surface(steep, n_seeds))
    assert verdict == f"{UNTOLD}: {n_seeds} of 3 seeds"
    assert measured


@pytest.mark.parametrize("statement", CLAIMS, ids=lambda statement: statement.key)
def test_no_statement_holds_of_noise_alone_unless_it_says_that_nothing_matters(statement):
    noise = surface(np.full((11, 5), 80.0), noise=6.0, n_seeds=5)
    verdict = judge(statement, noise)[1]
    assert verdict != HOLDS or statement.words == ["fluctuates outside"]


UP, DOWN = by_rho([70, 72, 74, 76, 78.0]), by_rho([78, 76, 74, 72, 70.0])
HILL = by_rho([70, 76, 80, 76, 70.0])
RANGE = {"kernel_width": [1.0, 32.0]}
CASES = [
    # word, claim's further fields, a surface of which it holds, one of which it does not
    ("rises", {"line": "rho", "rho": [0.5, 1.0]}, UP, DOWN),
    ("rises", {"line": "rho", "rho": [0.5, 1.0]}, UP, HILL),
    ("falls beyond", {"kernel_width": [1 / 32, 4.0]}, inside(0, 4), inside(8, 32)),
    ("falls sharply beyond", {"kernel_width": [1 / 32, 4.0]}, inside(0, 4), inside(0, 4, 1.5)),
    ("falls sharply at every rho", {"kernel_width": [1 / 32, 4.0]}, inside(0, 4), inside(8, 32)),
    ("plateau", RANGE, inside(1, 32), inside(2, 8)),
    ("fluctuates outside", RANGE, inside(0, 0.1), inside(1, 32)),
    ("best inside", RANGE, inside(2, 4), inside(0, 0.1)),
    ("higher inside", RANGE, inside(1, 16), inside(0, 0.5)),
    ("near the best", RANGE, inside(1, 32), inside(1, 16)),
]


@pytest.mark.parametrize(("word", "fields", "right", "wrong"), CASES)
def test_every_word_holds_fails_and_is_drowned_by_noise(word, fields, right, wrong):
    statement = claim(word, **fields)
    assert judge(statement, surface(right))[1] == HOLDS
    assert judge(statement, surface(wrong))[1] == FAILS
    rng = np.random.default_rng(2)
    # Whole seeds that contradict one another: the mean says nothing.
    torn = np.stack([right, wrong, right, wrong])
    torn = torn + rng.normal(scale=1e-3, size=torn.shape)
    assert judge(statement, surface(torn, 4))[1] in (UNTOLD, FAILS)


def test_every_word_is_tested_here():
    assert {case[0] for case in CASES} == set(WORDS)


def test_at_every_rho_means_every_one():
    statement = claim("falls sharply at every rho", kernel_width=[1 / 32, 4.0])
    spared = inside(0, 4)
    spared[:, 2] = 75.0
    assert judge(statement, surface(spared))[1] == FAILS
    assert (
        judge(claim("falls sharply beyond", kernel_width=[1 / 32, 4.0]), surface(spared))[1]
        == HOLDS
    )


def test_a_statement_of_two_words_needs_both():
    statement = claim("higher inside", "plateau", kernel_width=[1.0, 32.0])
    assert judge(statement, surface(inside(1, 32)))[1] == HOLDS
    assert judge(statement, surface(inside(2, 16)))[1] == FAILS


def test_lines_go_through_what_each_seed_chose():
    values = np.stack([by_width(np.arange(11.0)) + k for k in range(3)])
    values[1, :, 0] = -1.0
    found = Surface(WIDTHS, RHOS, values, values, ((5, 4), (5, 0), (7, 4)), ROW)
    np.testing.assert_array_equal(found.by_width[1], np.full(11, -1.0))
    np.testing.assert_array_equal(found.by_width[2], np.arange(11.0) + 2)
    np.testing.assert_array_equal(found.by_rho[2], np.full(5, 9.0))


def test_a_flat_line_with_little_noise_is_a_plateau_where_the_surface_varies():
    values = inside(0, 4)
    statement = claim("plateau", line="rho", rho=[0.5, 1.0])
    assert judge(statement, surface(values, noise=0.1))[1] == HOLDS


@pytest.mark.parametrize("values", [[100.0, 100.0], [99.9, 60.0], [73.0, 74.1], [100.0, 0.0]])
def test_axes_of_accuracy_end_at_100_and_one_row_is_no_cliff(values):
    low, high = accuracy_limits(values, ROW)
    assert high <= 100
    assert low <= min(values)
    assert max(values) <= high
    assert high - low >= 10 * ROW
    assert 0.25 * (high - low) > STABLE
