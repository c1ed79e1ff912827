"""Statistics over datasets: published examples, other libraries, and invariants."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats as scipy_stats

from robell.comparison.statistics import (
    average_ranks,
    correlated_t,
    detectable_difference,
    effect,
    friedman,
    holm,
    nemenyi,
    rank_rows,
    sign_test,
    sign_threshold,
    signed_rank_posteriors,
    wilcoxon_pairs,
    win_tie_loss,
)
from robell.studies.paper.printed import MODELS, TABLE_I, TABLE_I_RANK, WIN_TIE_LOSS

PAPER = np.array(list(TABLE_I.values()))
KEYS = list(MODELS)

# Demsar (2006), Table 6: AUC of C4.5, C4.5+m, C4.5+cf, C4.5+m+cf on 14 sets. His last set but one
# prints 0.975 twice and ranks these 2 and 3, not 2.5, so the first was larger before rounding.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)
# Demsar (2006), Table 5 (a): critical values of the two-tailed Nemenyi test, 2 to 10 models.
DEMSAR_Q = {
    0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}

matrices = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 12), st.integers(3, 6)),
    elements=st.integers(0, 8).map(float),  # few values: ties happen
)


# -- published numbers ----------------------------------------------------------------


def test_the_papers_ranks_to_four_decimals():
    np.testing.assert_allclose(average_ranks(PAPER), TABLE_I_RANK, rtol=0, atol=0.5e-4)
    np.testing.assert_array_equal(
        rank_rows(PAPER).sum(axis=0), [131, 132, 111, 149, 119.5, 105.5, 104, 84]
    )


def test_the_papers_win_tie_loss_cells():
    counts = win_tie_loss(PAPER)
    for (row, column), cell in WIN_TIE_LOSS.items():
        assert tuple(counts[KEYS.index(row), KEYS.index(column)]) == cell


def test_demsars_worked_example():
    result = friedman(DEMSAR)
    np.testing.assert_allclose(result.average_ranks, [3.143, 2.0, 2.893, 1.964], atol=0.5e-3)
    assert result.chi2 == pytest.approx(9.28, abs=0.5e-2)
    assert result.f == pytest.approx(3.69, abs=0.5e-2)
    assert result.f_critical == pytest.approx(2.85, abs=0.5e-2)
    assert nemenyi(DEMSAR).critical_difference == pytest.approx(1.25, abs=0.5e-2)
    assert nemenyi(DEMSAR, alpha=0.10).critical_difference == pytest.approx(1.12, abs=0.5e-2)


@pytest.mark.parametrize("alpha", DEMSAR_Q)
def test_demsars_table_of_nemenyi_quantiles(alpha):
    for n_models, published in enumerate(DEMSAR_Q[alpha], start=2):
        scores = np.random.default_rng(n_models).random((26, n_models))
        found = nemenyi(scores, alpha).critical_difference
        scale = math.sqrt(n_models * (n_models + 1) / (6 * 26))
        assert found / scale == pytest.approx(published, abs=1.1e-3)  # its last digit is cut


# -- other libraries ------------------------------------------------------------------


@given(matrices)
def test_corrected_friedman_is_scipys(scores):
    assume((scores != scores[:, :1]).any())  # all tied: undefined, tested below
    expected = scipy_stats.friedmanchisquare(*scores.T)
    result = friedman(scores)
    assert result.chi2_ties == pytest.approx(expected.statistic, rel=1e-9, abs=1e-9)
    assert result.p_ties == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-12)


@given(matrices)
def test_corrected_f_is_the_analysis_of_variance_of_the_ranks(scores):
    """Two-way layout without replication: models against what datasets leave over."""
    ranks = rank_rows(scores)
    n, k = ranks.shape
    between = n * ((ranks.mean(axis=0) - ranks.mean()) ** 2).sum()
    residual = ((ranks - ranks.mean(axis=0)) ** 2).sum()
    assume(residual > 1e-9 and (ranks != ranks[:, :1]).any())
    expected = (between / (k - 1)) / (residual / ((n - 1) * (k - 1)))
    assert friedman(scores).f_ties == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("scores", [PAPER, DEMSAR], ids=["paper", "demsar"])
def test_nemenyi_is_scikit_posthocs(scores):
    posthocs = pytest.importorskip("scikit_posthocs")
    expected = posthocs.posthoc_nemenyi_friedman(scores).to_numpy()
    np.testing.assert_allclose(nemenyi(scores).p_values, expected, atol=1e-6)


@given(st.lists(st.floats(0, 0.1), min_size=1, max_size=8))
@example([0.01, 0.04, 0.03])  # 0.04 alone would pass at 0.05, but 0.03 stops the steps
def test_holm_is_rejection_step_by_step(p_values):
    """The adjusted value is the smallest level at which the textbook procedure rejects."""
    adjusted = holm(p_values)
    for alpha in (0.01, 0.05, 0.3):
        rejected = set()
        for step, index in enumerate(np.argsort(p_values, kind="stable")):
            if p_values[index] * (len(p_values) - step) > alpha:
                break
            rejected.add(index)
        assert rejected == set(np.flatnonzero(adjusted <= alpha))


# -- invariants -----------------------------------------------------------------------


@given(matrices, st.randoms(use_true_random=False))
def test_permuting_models_permutes_everything_and_datasets_do_not_matter(scores, random):
    models, datasets = list(range(scores.shape[1])), list(range(scores.shape[0]))
    random.shuffle(models)
    random.shuffle(datasets)
    moved = scores[np.ix_(datasets, models)]
    np.testing.assert_allclose(average_ranks(moved), average_ranks(scores)[models])
    np.testing.assert_array_equal(win_tie_loss(moved), win_tie_loss(scores)[np.ix_(models, models)])
    for field in ("chi2", "f", "chi2_ties", "f_ties"):
        assert getattr(friedman(moved), field) == pytest.approx(
            getattr(friedman(scores), field), nan_ok=True
        )
    np.testing.assert_allclose(
        nemenyi(moved).p_values, nemenyi(scores).p_values[np.ix_(models, models)], atol=1e-9
    )


@given(matrices)
def test_ranks_of_a_dataset_sum_to_a_constant_and_ties_share(scores):
    ranks = rank_rows(scores)
    k = scores.shape[1]
    np.testing.assert_array_equal(ranks.sum(axis=1), k * (k + 1) / 2)
    counts = win_tie_loss(scores)
    # A model's rank is 1 + those better + half of those equal, itself not counted.
    np.testing.assert_allclose(
        ranks.sum(axis=0),
        len(scores) * 0.5 + counts[:, :, 2].sum(axis=1) + counts[:, :, 1].sum(axis=1) / 2,
    )


@given(matrices)
def test_win_tie_loss_mirrors(scores):
    counts = win_tie_loss(scores)
    np.testing.assert_array_equal(counts, counts.transpose(1, 0, 2)[:, :, ::-1])
    assert (counts.sum(axis=2) == len(scores)).all()
    assert (np.diagonal(counts, axis1=0, axis2=1) == [[0], [len(scores)], [0]]).all()


@given(matrices)
def test_the_correction_for_ties_only_enlarges(scores):
    result = friedman(scores)
    tied = any(len(set(row)) < len(row) for row in scores.tolist())
    if not tied:
        assert result.chi2_ties == result.chi2
    elif not math.isnan(result.chi2_ties):
        assert result.chi2_ties >= result.chi2
        assert result.f_ties >= result.f


@given(matrices)
def test_cliques_are_the_maximal_groups_without_a_difference(scores):
    result = nemenyi(scores, alpha=0.3)
    k = scores.shape[1]
    near = np.abs(np.subtract.outer(result.average_ranks, result.average_ranks))
    near = near < result.critical_difference
    expected = set()
    for mask in range(1, 2**k):
        group = frozenset(column for column in range(k) if mask >> column & 1)
        inside = near[np.ix_(list(group), list(group))].all()
        extended = any(near[column, list(group)].all() for column in set(range(k)) - group)
        if len(group) > 1 and inside and not extended:
            expected.add(group)
    assert {frozenset(clique) for clique in result.cliques} == expected
    for clique in result.cliques:
        assert list(result.average_ranks[list(clique)]) == sorted(
            result.average_ranks[list(clique)]
        )


def test_rounding_makes_ties():
    scores = [[82.716, 82.7161, 80.0], [1.0, 2.0, 3.0]]
    assert rank_rows(scores)[0].tolist() == [2, 1, 3]
    assert rank_rows(scores, decimals=3)[0].tolist() == [1.5, 1.5, 3]
    assert win_tie_loss(scores, decimals=3)[0, 1].tolist() == [0, 1, 1]
    assert friedman(scores, decimals=3).chi2 == friedman(np.round(scores, 3)).chi2


# -- degenerate and missing input -----------------------------------------------------


def test_all_datasets_alike_is_an_infinite_f():
    result = friedman(np.tile([3.0, 2.0, 1.0], (5, 1)))
    assert result.chi2 == 10
    assert result.f == math.inf
    assert result.f_p == 0
    tied = friedman(np.tile([3.0, 2.0, 2.0], (5, 1)))
    assert tied.f_ties == math.inf
    assert math.isfinite(tied.f)


def test_all_models_alike_is_no_evidence():
    result = friedman(np.ones((4, 3)))
    assert (result.chi2, result.p, result.f, result.f_p) == (0, 1, 0, 1)
    assert math.isnan(result.chi2_ties)
    assert math.isnan(result.f_ties_p)
    assert nemenyi(np.ones((4, 3))).cliques == ((0, 1, 2),)
    np.testing.assert_array_equal(nemenyi(np.ones((4, 3))).p_values, 1)


@pytest.mark.parametrize("test", [friedman, nemenyi])
def test_too_little_input_is_refused(test):
    with pytest.raises(ValueError, match="at least 2 datasets"):
        test([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="two dimensions"):
        test([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="alpha"):
        test(PAPER, alpha=0)


def test_two_models_are_refused_by_friedman():
    with pytest.raises(ValueError, match="3 models"):
        friedman([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize("test", [friedman, nemenyi, average_ranks, win_tie_loss, wilcoxon_pairs])
@pytest.mark.parametrize("missing", [np.nan, np.inf])
def test_missing_scores_are_refused(test, missing):
    scores = PAPER.copy()
    scores[3, 2] = missing
    with pytest.raises(ValueError, match="leave out datasets"):
        test(scores)


# -- sign test ------------------------------------------------------------------------


def test_sign_thresholds():
    assert sign_threshold(26) == pytest.approx(17.997, abs=5e-4)
    assert sign_threshold(26, "printed") == pytest.approx(20.07, abs=5e-3)
    assert sign_threshold(25) == pytest.approx(17.4)
    with pytest.raises(ValueError, match="half_root"):
        sign_threshold(26, "other")


@pytest.mark.parametrize("n_datasets", [5, 10, 15, 20, 25])
def test_the_threshold_is_demsars_table(n_datasets):
    """Demsar (2006), Table 3: wins needed at 0.05, two-tailed."""
    published = {5: 5, 10: 9, 15: 12, 20: 15, 25: 18}
    assert math.ceil(sign_threshold(n_datasets)) == published[n_datasets]


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_sign_test_shares_ties(wins, ties, losses):
    assume(wins + ties + losses > 0)
    result = sign_test(wins, ties, losses)
    assert result.wins - result.losses == wins - losses
    assert result.n_datasets == result.wins + result.losses
    assert result.n_datasets == wins + ties + losses - ties % 2
    mirrored = sign_test(losses, ties, wins)
    assert mirrored.significant == result.significant
    assert mirrored.p == pytest.approx(result.p)
    tail = sum(math.comb(result.n_datasets, x) for x in range(min(result.wins, result.losses) + 1))
    assert result.p == pytest.approx(min(1.0, 2 * tail / 2**result.n_datasets))


def test_sign_test_without_anything_to_compare():
    result = sign_test(0, 1, 0)
    assert (result.n_datasets, result.significant, result.p) == (0, False, 1.0)
    for counts in [(0, 0, 0), (-1, 2, 3), (1.5, 0, 2)]:
        with pytest.raises(ValueError, match="whole numbers"):
            sign_test(*counts)


# -- Wilcoxon -------------------------------------------------------------------------


def test_wilcoxon_against_enumeration():
    """All 2^n signs of distinct differences, two-sided."""
    differences = np.array([1.0, -2.0, 3.5, 4.0, 5.5, -0.5, 7.0])
    ranks = scipy_stats.rankdata(np.abs(differences))
    observed = abs(np.sign(differences) @ ranks)
    signs = 1 - 2 * (np.arange(2**7)[:, None] >> np.arange(7) & 1)
    expected = (np.abs(signs @ ranks) >= observed).mean()
    p_values = wilcoxon_pairs(np.column_stack([differences, np.zeros(7)]))[0][0]
    assert p_values[1] == pytest.approx(expected)
    assert math.isnan(p_values[0])
    assert holm(p_values)[1] == p_values[1]
    assert math.isnan(holm(p_values)[0])


def test_wilcoxon_on_table_i():
    reference = KEYS.index("robell")
    p_values = wilcoxon_pairs(PAPER)[0][reference]
    for column in range(7):
        differences = np.round(PAPER[:, reference] - PAPER[:, column], 10)
        expected = scipy_stats.wilcoxon(differences, zero_method="pratt").pvalue
        assert p_values[column] == pytest.approx(expected)
    adjusted = holm(p_values)
    np.testing.assert_array_equal(adjusted[:7], holm(p_values[:7]))
    assert math.isnan(adjusted[reference])


def test_wilcoxon_rounding_errors_do_not_decide_ranks():
    base = np.array([0.1, 0.2, 0.3, 0.7, 0.9, 0.6])
    steps = np.array([0.1, -0.1, 0.1, 0.1, -0.1, 0.1])
    noisy, _ = wilcoxon_pairs(np.column_stack([base + steps, base]))
    exact, _ = wilcoxon_pairs(np.column_stack([steps * 10, np.zeros(6)]))
    assert noisy[0, 1] == exact[0, 1]


def test_wilcoxon_of_equal_models():
    p_values, _ = wilcoxon_pairs(np.column_stack([PAPER[:, 0], PAPER[:, 0]]))
    assert p_values[0, 1] == 1


def test_nemenyis_verdicts_follow_from_its_p_values():
    result = nemenyi(PAPER)
    for own in range(8):
        better, worse = result.differing(own)
        expected = np.flatnonzero(result.p_values[own] < 0.05)
        assert sorted(better + worse) == expected.tolist()
        assert all(result.average_ranks[other] > result.average_ranks[own] for other in better)


# -- pairs of models, posteriors, effects, power ------------------------------------------


few_rows = hnp.arrays(  # of more, SciPy's exact test takes long
    np.float64,
    st.tuples(st.integers(2, 9), st.integers(3, 6)),
    elements=st.integers(0, 8).map(float),
)


@settings(max_examples=12)
@given(few_rows)
def test_all_pairs_are_wilcoxon_of_each_with_holm_over_all(scores):
    p_values, adjusted = wilcoxon_pairs(scores)
    k = scores.shape[1]
    for model in range(k):
        for other in set(range(k)) - {model}:
            differences = np.round(scores[:, model] - scores[:, other], 10)
            expected = 1.0
            if differences.any():
                expected = scipy_stats.wilcoxon(differences, zero_method="pratt").pvalue
            assert p_values[model, other] == expected
    upper = np.triu_indices(k, 1)
    np.testing.assert_array_equal(adjusted[upper], holm(p_values[upper]))
    np.testing.assert_array_equal(adjusted, adjusted.T)


def test_wilcoxon_pairs_are_scikit_posthocs():
    """Without zeros and ties of scores, where the treatments of zeros agree."""
    posthocs = pytest.importorskip("scikit_posthocs")
    scores = np.random.default_rng(3).normal(size=(12, 5))
    expected = posthocs.posthoc_wilcoxon(scores.T.tolist(), p_adjust="holm").to_numpy()
    found = wilcoxon_pairs(scores, decimals=14)[1]
    upper = np.triu_indices(5, 1)
    np.testing.assert_allclose(found[upper], expected[upper], rtol=0, atol=1e-9)


@pytest.mark.parametrize("rope", [0.0, 0.01, 0.03])
def test_the_bayesian_signed_rank_test_is_baycomps(rope):
    baycomp = pytest.importorskip("baycomp")
    random = np.random.default_rng(1)
    for shift in (0.0, 0.01, 0.02):
        first = random.normal(0.8, 0.05, 15)
        other = first + random.normal(shift, 0.03, 15)
        better, equal = signed_rank_posteriors(np.column_stack([other, first]), rope)
        theirs = baycomp.SignedRankTest.probs(first, other, rope, nsamples=6000, random_state=0)
        ours = (better[1, 0], equal[0, 1], better[0, 1])
        expected = (theirs[0], 0.0, theirs[1]) if rope == 0 else theirs
        np.testing.assert_allclose(ours, expected, rtol=0, atol=0.02)  # 0.01, and theirs is drawn


@pytest.mark.parametrize("rope", [0.0, 0.01])
def test_the_correlated_t_test_is_baycomps(rope):
    baycomp = pytest.importorskip("baycomp")
    random = np.random.default_rng(0)
    for _ in range(20):
        first, other = random.normal(0.8, 0.03, (2, 10))
        theirs = baycomp.CorrelatedTTest.probs(first, other, rope, runs=2)
        better, equal, worse = correlated_t(other - first, 1 / 5, rope)
        expected = (theirs[0], 0.0, theirs[1]) if rope == 0 else theirs
        np.testing.assert_allclose((worse, equal, better), expected, rtol=0, atol=1e-9)


@settings(max_examples=15)
@given(hnp.arrays(np.float64, (6, 3), elements=st.integers(0, 20).map(lambda k: k / 100)))
def test_posteriors_are_probabilities_that_mirror(scores):
    better, equal = signed_rank_posteriors(scores, 0.01)
    upper = np.triu_indices(3, 1)
    total = (better + better.T + equal)[upper]
    np.testing.assert_allclose(total, 1)
    turned, same = signed_rank_posteriors(-scores, 0.01)
    np.testing.assert_allclose(turned.T[upper], better[upper], atol=1e-9)
    np.testing.assert_allclose(same[upper], equal[upper], atol=1e-9)


def test_equal_models_are_equal_and_nothing_is_where_there_is_no_region():
    scores = np.full((8, 2), 0.7)
    assert signed_rank_posteriors(scores, 0.01)[1][0, 1] == 1
    better, equal = signed_rank_posteriors(scores, 0.0)
    assert (better[0, 1], better[1, 0], equal[0, 1]) == (0.5, 0.5, 0)
    assert correlated_t([0.0, 0.0, 0.0], 0.3) == (0.5, 0.0, 0.5)
    assert correlated_t([0.2, 0.2], 0.3, 0.01) == (1.0, 0.0, 0.0)


@given(st.lists(st.integers(-30, 30), min_size=6, max_size=14), st.integers(-20, 20))
def test_an_interval_holds_the_shifts_that_wilcoxon_does_not_refuse(differences, shift):
    """By enumeration of all signs, for distinct absolute differences; else the shift is skipped."""
    d = np.array(differences, float)
    found = effect(d)
    assert found.low <= found.shift <= found.high
    moved = d - (shift + 0.5) / 7 - np.linspace(0, 1e-4, len(d))
    assume(len(set(np.abs(moved).round(9))) == len(d))
    size = effect(moved)
    p = scipy_stats.wilcoxon(moved, mode="exact").pvalue
    assert (size.low <= 0 <= size.high) == (p > 0.05)


def test_rounding_errors_decide_no_effect():
    noise = np.array([1e-17, 5e-17, -1e-17, 2e-17, 1e-16, 3e-17])
    assert effect(noise) == effect(np.zeros(6))
    assert effect(noise).rank_biserial == 0
    d = np.array([0.1, 0.1, -0.1, 0.05, 0.2, 0.3])
    assert effect(d + noise) == effect(d)


def test_an_effect_moves_with_the_scores_and_knows_when_nothing_can_be_said():
    d = np.random.default_rng(2).normal(0.1, 0.3, 20)
    found, moved = effect(d), effect(3 * d + 1)
    assert moved.shift == pytest.approx(3 * found.shift + 1)
    assert (moved.low, moved.high) == pytest.approx((3 * found.low + 1, 3 * found.high + 1))
    assert effect(np.abs(d)).rank_biserial == 1
    assert effect(-d).rank_biserial == pytest.approx(-found.rank_biserial)
    assert math.isinf(effect(d[:5]).low)
    assert effect(d[:6]).low > -math.inf


@pytest.mark.parametrize(("n", "power"), [(8, 0.5), (20, 0.8)])
def test_the_detectable_difference_is_found_as_often_as_it_says(n, power):
    difference = detectable_difference(1.0, n, power)
    samples = np.random.default_rng(0).normal(difference, 1.0, (1500, n))
    found = scipy_stats.wilcoxon(samples, axis=1).pvalue
    assert (found < 0.05).mean() == pytest.approx(power, abs=0.06)
    assert detectable_difference(2.0, n, power) == pytest.approx(2 * difference)


def test_too_few_datasets_detect_nothing():
    assert math.isinf(detectable_difference(0.1, 5))
    assert math.isfinite(detectable_difference(0.1, 6))
    assert math.isinf(detectable_difference(0.1, 6, alpha=0.01))
