"""Variants as a user writes them: right everywhere, shared where only slots are filled."""

import pickle
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from searches import assert_same, both, table
from sklearn.base import clone
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.utils.estimator_checks import check_estimator
from streams import stream

from robell import BaseRVFLClassifier, RVFLClassifier, RVFLGridSearchCV

EXAMPLE = Path(__file__).parents[2] / "examples" / "plot_your_own_variant.py"


@pytest.fixture(scope="module")
def variants():
    """The classes of the example, which is what people will copy."""
    pytest.importorskip("matplotlib").use("Agg")
    spec = spec_from_file_location("your_own_variant", EXAMPLE)
    module = sys.modules[spec.name] = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matplotlib.pyplot.show", lambda: None)
        spec.loader.exec_module(module)
    yield vars(module)
    del sys.modules[spec.name]


class CautiousRVFLClassifier(RVFLClassifier):
    """Names the second of two classes from a probability of 0.3 on."""

    def predict(self, X):
        """Return the classes."""
        chance = self.predict_proba(X)
        if len(self.classes_) != 2:
            return super().predict(X)
        return self.classes_[(chance[:, 1] >= 0.3).astype(int)]


class SquaresClassifier(RVFLClassifier):
    """The inputs and their squares: features without a random layer."""

    def _fit_features(self, rows, seed):
        pass

    def _features(self, X):
        return np.hstack([np.ones((len(X), int(self.output_bias))), X, X**2])

    def _n_columns(self):
        return int(self.output_bias) + 2 * self.n_features_in_


class PenalisedRVFLClassifier(BaseRVFLClassifier):
    """Fills the slot of the penalty: every column but the first is penalised twice."""

    def _fit_penalty(self, design, rows):
        return np.diag(np.r_[0.0, np.ones(design.n_columns - 1)])


@pytest.fixture(params=["cosines", "central", "cautious", "squares", "penalised"])
def variant(request, variants):
    return {
        "cosines": variants["CosineRVFLClassifier"](20, width=2.0, random_state=0),
        "central": variants["CentralRVFLClassifier"](20, random_state=0),
        "cautious": CautiousRVFLClassifier(20, random_state=0),
        "squares": SquaresClassifier(random_state=0),
        "penalised": PenalisedRVFLClassifier(20, random_state=0),
    }[request.param]


def test_the_base_class_by_itself_is_a_plain_network():
    X, y = table(3)
    base = BaseRVFLClassifier(9, random_state=0).fit(X, y)
    plain = RVFLClassifier(9, random_state=0).fit(X, y)
    np.testing.assert_array_equal(base.predict_proba(X), plain.predict_proba(X))


def test_scikit_learns_checks_pass(variant):
    on_purpose = {}
    if isinstance(variant, CautiousRVFLClassifier):
        on_purpose = {"check_classifiers_train": "predict is not the likeliest class"}
    check_estimator(variant, expected_failed_checks=on_purpose, on_skip=None)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_weights_are_repetitions(variant, class_weight):
    X, y = table()
    count = np.random.default_rng(0).integers(0, 4, len(y))
    weighted, repeated = clone(variant), clone(variant)
    for model in (weighted, repeated):
        model.set_params(class_weight=class_weight)
    weighted.fit(X, y, sample_weight=count)
    repeated.fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6, atol=1e-9
    )


def test_pickled_and_cloned_it_is_the_same_model(variant):
    X, y = table()
    fitted = clone(variant).fit(X, y)
    for other in (pickle.loads(pickle.dumps(variant)).fit(X, y), clone(fitted).fit(X, y)):
        np.testing.assert_array_equal(other.predict_proba(X), fitted.predict_proba(X))
        np.testing.assert_array_equal(other.predict(X), fitted.predict(X))


GRID = {"C": [1e-3, 1.0, 1e3], "n_hidden": [5, 20]}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_search_answers_as_grid_search_does(variant, n_classes):
    X, y = table(n_classes)
    if isinstance(variant, (CautiousRVFLClassifier, PenalisedRVFLClassifier)):
        with pytest.warns(UserWarning, match="one by one: .* of its own"):
            theirs, ours = both(variant, GRID, X, y, cv=3)
        assert ours.n_shared_ == 0
    else:
        theirs, ours = both(variant, GRID, X, y, cv=3)
        assert ours.n_shared_ > 0
    assert_same(theirs, ours)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_a_search_for_a_parameter_of_its_own(variants):
    X, y = table()
    model = variants["CosineRVFLClassifier"](15, random_state=0)
    theirs, ours = both(model, {"width": [0.5, 2.0], "C": [0.1, 10.0]}, X, y, cv=3)
    assert_same(theirs, ours)
    with pytest.raises(ValueError, match="'width' parameter"):
        clone(model).set_params(width=0.0).fit(X, y)


def test_a_penalty_by_least_squares():
    X, y = table()
    model = PenalisedRVFLClassifier(6, C=3.0, random_state=0).fit(X, y)
    M, T = model._features(X), np.eye(2)[y]
    penalty = np.diag(np.r_[1.0, np.full(M.shape[1] - 1, 2.0)])
    np.testing.assert_allclose(
        model.coef_, np.linalg.solve(penalty + 3.0 * M.T @ M, 3.0 * M.T @ T), rtol=1e-7, atol=1e-10
    )


def test_the_penalty_is_chosen_and_probabilities_are_made_by_leaving_out_in_closed_form(variants):
    X, y = table()
    model = variants["CosineRVFLClassifier"](10, C="loo", random_state=0).fit(X, y)
    assert model.C_ in 10.0 ** np.arange(-5, 6)
    left_out = cross_val_predict(
        clone(model).set_params(C=model.C_), X, y, cv=LeaveOneOut(), method="decision_function"
    )
    # The calibration is fitted to these scores: its mean over them is the share of the class.
    offset = model.calibration_offsets_ @ [-1.0, 1.0]
    chance = 1 / (1 + np.exp(-(model.calibration_slope_ * left_out + offset)))
    assert abs(chance.mean() - y.mean()) < 0.02


def test_files_are_fitted_in_memory_or_refused_and_models_of_others_are_not_saved(
    variants, tmp_path
):
    pytest.importorskip("skops")
    pd = pytest.importorskip("pandas")
    from robell.files import fit_files, save_model

    X, y = table(n_rows=120)
    pd.DataFrame(X).add_prefix("x").assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    model = variants["CosineRVFLClassifier"](8, random_state=0)
    found = fit_files(clone(model), [tmp_path / "t.csv"], "y")
    np.testing.assert_allclose(found.coef_, clone(model).fit(X, y).coef_, rtol=1e-9, atol=1e-12)
    with pytest.raises(TypeError, match="_fit_features of its own, which a fit in parts"):
        fit_files(SquaresClassifier(), [tmp_path / "t.csv"], "y")
    with pytest.raises(ValueError, match="CosineRVFLClassifier"):
        save_model(found, tmp_path / "model.skops")


def test_a_stream_fills_the_slots_too(variants):
    X, y = table(n_rows=200)
    expected = SquaresClassifier(C=2.0).fit(X, y)
    found = stream(SquaresClassifier(C=2.0), X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-8, atol=1e-10)
    assert not hasattr(variants["CosineRVFLClassifier"](), "partial_fit")
    assert not hasattr(RVFLGridSearchCV(expected, GRID), "partial_fit")


class FixedSlopeClassifier(BaseRVFLClassifier):
    """Has a calibration of its own, as variants whose rows stand for several samples need."""

    def _calibration(self, samples, T, total, loo_scores):
        assert loo_scores.shape == T.shape == (len(samples.X), 2)
        return 2.0, np.zeros(2)


def test_a_calibration_of_its_own_is_asked_by_fit_and_by_the_search():
    X, y = table(n_rows=60)
    model = FixedSlopeClassifier(5, random_state=0).fit(X, y)
    difference = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2.0 * difference)))
    with pytest.warns(UserWarning, match="_calibration of its own"):
        theirs, ours = both(model, {"C": [0.1, 1.0]}, X, y, scoring="neg_log_loss", cv=3)
    assert_same(theirs, ours)
