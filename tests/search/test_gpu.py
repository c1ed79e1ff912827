"""The batched sweep on CPU tensors everywhere, and on a CUDA device where there is one."""

import sys

import numpy as np
import pytest
from searches import COMMON, FAMILY, assert_same, nested_ridge, table

from robell import ELMClassifier, RVFLClassifier, RVFLGridSearchCV
from robell._core.layers.features import ACTIVATIONS, RowBlocks
from robell._core.ridge.solve import normal_equations
from robell._core.ridge.sweep import graph_ridge
from robell.search import grid_search


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="needs the extra robell[gpu]")


@pytest.fixture(params=["cpu", "cuda"])
def device(request, torch):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return torch.device(request.param)


@pytest.mark.parametrize("n_rows", [60, 25, 8])
@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("is_complex", [False, True])
def test_batched_solutions_equal_single_ones(rng, device, n_rows, n_targets, is_complex):
    from robell._core.ridge.sweep_torch import TorchSweep

    M = rng.normal(size=(n_rows, 30))
    M[:, 5] = M[:, 4] + 1e-4 * M[:, 5]  # some are refined
    if is_complex:
        M = M + 1j * rng.normal(size=M.shape)
    T, w = rng.normal(size=(n_rows, n_targets)), rng.uniform(0.1, 2, (4, n_rows))
    penalties, widths = np.array([1e3, 1.0, 1e-7]), np.array([30, 4, 17])
    design = RowBlocks(lambda rows: M[rows], *M.shape, M.dtype.type)
    found, pivots = TorchSweep(M, T, device).start(w, penalties, widths)()
    for k in range(4):
        G, R = normal_equations(design, T, w[k])
        beta, pivot = nested_ridge(design, G, R, T, w[k], penalties, widths)
        np.testing.assert_array_equal(pivots[k] > 0, pivot > 0)
        scale = np.abs(beta).max(axis=0)
        assert (np.abs(found[k].cpu().numpy() - beta) <= 1e-7 * scale + 1e-12).all()


def test_singular_systems_are_left_to_the_host(rng, device):
    from robell._core.ridge.sweep_torch import TorchSweep

    M = rng.normal(size=(40, 5))
    M = np.hstack([M, M])
    finish = TorchSweep(M, rng.normal(size=(40, 1)), device).start(
        np.ones((1, 40)), np.array([1.0, 1e-20]), np.array([10])
    )
    _, pivots = finish()
    np.testing.assert_array_equal(pivots > 0, [[[True], [False]]])


@pytest.mark.parametrize("batch", [1, 1 << 20])
def test_graph_systems_equal_single_ones(rng, monkeypatch, device, batch):
    from robell._core.ridge import sweep_torch

    monkeypatch.setattr(sweep_torch, "BATCH_ELEMENTS", batch)
    M, T = rng.normal(size=(30, 7)), rng.normal(size=(30, 2))
    w, term = rng.uniform(0.1, 2, 30), rng.normal(size=(7, 7))
    C, weights = np.array([1e-320, 1e-3, 1.0, 1e5]), np.array([0.0, 1e-2, 1e3, 1e308])
    with np.errstate(over="ignore"):
        beta, rcond = graph_ridge(M, T, w, term, C, weights)
        there, trust = sweep_torch.TorchSweep(M, T, device).solve_graph(w, term, C, weights)
    np.testing.assert_array_equal(trust > 0, rcond > 0)
    solved = trust > 0
    assert solved.any()
    assert not solved.all()
    # LAPACK estimates the norm of the inverse from below, by a factor of at most a few.
    assert (trust[solved] <= rcond[solved] * 1.001).all()
    assert (trust[solved] >= rcond[solved] / 10).all()
    np.testing.assert_allclose(there, beta, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", FAMILY)
def test_a_search_on_a_device_equals_one_on_the_host(monkeypatch, device, name, n_classes):
    monkeypatch.setattr(grid_search, "require_device", lambda _: device)
    estimator, more = FAMILY[name]
    X, y = table(n_classes)
    host, there = (
        RVFLGridSearchCV(estimator(random_state=0), {**COMMON, **more}, cv=3, device=where).fit(
            X, y
        )
        for where in ("cpu", "cuda")
    )
    assert_same(host, there)
    assert there.n_shared_ == host.n_shared_ > 0


def test_small_batches_change_nothing(monkeypatch, device):
    from robell._core.ridge import sweep_torch

    monkeypatch.setattr(grid_search, "require_device", lambda _: device)
    monkeypatch.setattr(sweep_torch, "BATCH_ELEMENTS", 1)
    estimator, more = FAMILY["robell"]
    X, y = table()
    host, there = (
        RVFLGridSearchCV(estimator(random_state=0), {**COMMON, **more}, cv=3, device=where).fit(
            X, y
        )
        for where in ("cpu", "cuda")
    )
    assert_same(host, there)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("elements", [1 << 27, 20_000])
def test_activations_are_solved_together_or_in_parts(monkeypatch, device, n_classes, elements):
    from robell.search import fold, solutions

    monkeypatch.setattr(grid_search, "require_device", lambda _: device)
    monkeypatch.setattr(solutions, "BATCH_ELEMENTS", elements)
    monkeypatch.setattr(fold, "DEVICE_ELEMENTS", elements)
    estimator, more = FAMILY["robell"]
    grid = {**COMMON, **more, "activation": ["sigmoid", "hardlim", "sin", "selu"]}
    X, y = table(n_classes)
    host, there = (
        RVFLGridSearchCV(estimator(random_state=0), grid, cv=3, device=where).fit(X, y)
        for where in ("cpu", "cuda")
    )
    assert_same(host, there)
    assert there.n_shared_ == host.n_shared_ > 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.filterwarnings("ignore:One or more of the test scores")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of sums with infinity
def test_an_activation_that_overflows_leaves_the_others_alone(monkeypatch, device):
    monkeypatch.setattr(grid_search, "require_device", lambda _: device)
    monkeypatch.setitem(ACTIVATIONS, "relu", lambda Z: Z + np.inf)
    X, y = table()
    estimator = ELMClassifier(random_state=0)
    grid = {"C": [1.0, 10.0], "activation": ["relu", "sigmoid", "tansig"]}
    host, there = (
        RVFLGridSearchCV(estimator, grid, cv=3, device=where).fit(X, y) for where in ("cpu", "cuda")
    )
    assert_same(host, there)
    assert there.n_shared_ == host.n_shared_ == 2 * 2 * 3


def test_memberships_of_several_widths_are_the_hosts(rng, device):
    from robell._core.membership.equations import kernel_statistics
    from robell._core.membership.pairs_torch import statistics_on_device

    X, labels, ones = rng.normal(size=(40, 3)), rng.integers(0, 3, 40), np.ones(40)
    widths = [1e-200, 0.1, 1.0, 30.0, 1e200]
    found = statistics_on_device(X, labels, 3, widths, ones, device)
    for width, there in found.items():
        host = kernel_statistics(X, labels, 3, width, ones)
        np.testing.assert_allclose(there.radius, host.radius, rtol=1e-12, atol=1e-300)
        np.testing.assert_array_equal(there.class_probability, host.class_probability)
        np.testing.assert_array_equal(there.foreign_share, host.foreign_share)
    assert {0.1, 1.0, 30.0} <= set(found)
    # The corners of a square are as far from each other as the limit, or equal rows: left out
    corners = np.repeat(np.array([[0.0, 0.0], [0.0, 1.0]]), 4, axis=0)
    assert not statistics_on_device(corners, np.arange(8) // 4, 2, [1.0], np.ones(8), device)
    assert not statistics_on_device(X, labels, 3, widths, ones / 3, device)
    # Another group has found them already: nothing is compared, however many rows there are
    many = np.zeros(1 << 20)
    assert not statistics_on_device(many[:, None], many.astype(int), 1, [], many + 1.0, device)


@pytest.mark.parametrize(
    "scoring", ["balanced_accuracy", "f1", "roc_auc", "average_precision", "neg_log_loss"]
)
def test_every_kind_of_score_on_a_device(monkeypatch, device, scoring):
    monkeypatch.setattr(grid_search, "require_device", lambda _: device)
    estimator, more = FAMILY["robell"]
    X, y = table()
    host, there = (
        RVFLGridSearchCV(
            estimator(random_state=0),
            {**COMMON, **more},
            cv=3,
            scoring=scoring,
            return_train_score=True,
            device=where,
        ).fit(X, y)
        for where in ("cpu", "cuda")
    )
    if scoring == "neg_log_loss":  # known within rounding
        names = ["mean_test_score", "mean_train_score"]
        for name in names:
            np.testing.assert_allclose(
                host.cv_results_[name], there.cv_results_[name], rtol=1e-8, atol=1e-10
            )
    else:
        assert_same(host, there)


def test_a_device_that_fails_is_not_replaced_by_the_host(monkeypatch, device, imbalanced):
    from robell._core.ridge.sweep_torch import TorchSweep

    def fails(*_):
        raise RuntimeError("device-side assert triggered")

    monkeypatch.setattr(grid_search, "require_device", lambda _: device)
    monkeypatch.setattr(TorchSweep, "start", fails)
    with pytest.raises(RuntimeError, match="device-side assert"):
        RVFLGridSearchCV(RVFLClassifier(), {"C": [1, 2]}, device="cuda").fit(*imbalanced)


@pytest.mark.parametrize("where", ["features", "systems"])
def test_a_device_without_memory_enough_says_what_is_needed(
    monkeypatch, torch, device, imbalanced, where
):
    from robell._core.ridge.sweep_torch import TorchSweep
    from robell.search import fold

    def asks_for_a_pebibyte(*_):
        return torch.empty(1 << 47, dtype=torch.float64, device=device)

    monkeypatch.setattr(grid_search, "require_device", lambda _: device)
    if where == "systems":
        monkeypatch.setattr(TorchSweep, "start", asks_for_a_pebibyte)
    else:
        monkeypatch.setattr(fold, "stacked_design", asks_for_a_pebibyte)
    grid = {"C": [1, 2], "activation": ["relu", "sin"]}
    search = RVFLGridSearchCV(RVFLClassifier(random_state=0), grid, device="cuda")
    with pytest.raises(MemoryError, match=r"at least 1,048,576\.\d\d GiB are needed") as caught:
        search.fit(*imbalanced)
    assert str(device) in str(caught.value)
    assert "\n" not in str(caught.value)


# -- what is missing is said -----------------------------------------------------------


def test_a_missing_torch_names_the_extra(monkeypatch, imbalanced):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"install the extra robell\[gpu\]"):
        RVFLGridSearchCV(RVFLClassifier(), {"C": [1]}, device="cuda").fit(*imbalanced)


def test_a_missing_device_is_an_error(torch, imbalanced):
    if torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="there are"):
            RVFLGridSearchCV(RVFLClassifier(), {"C": [1]}, device="cuda:99").fit(*imbalanced)
    else:
        with pytest.raises(RuntimeError, match="sees no CUDA device"):
            RVFLGridSearchCV(RVFLClassifier(), {"C": [1]}, device="cuda").fit(*imbalanced)
    with pytest.raises(ValueError, match="device must be 'cpu', 'cuda'"):
        RVFLGridSearchCV(RVFLClassifier(), {"C": [1]}, device="tpu").fit(*imbalanced)


def test_devices_take_one_process(monkeypatch, imbalanced):
    monkeypatch.setattr(grid_search, "require_device", lambda _: object())
    with pytest.raises(ValueError, match="takes n_jobs=1"):
        RVFLGridSearchCV(RVFLClassifier(), {"C": [1]}, device="cuda", n_jobs=2).fit(*imbalanced)
