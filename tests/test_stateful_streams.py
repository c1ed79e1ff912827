"""Streams in any order: given rows, merged, saved, loaded, copied and asked, they are ``fit``."""

import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    multiple,
    rule,
    run_state_machine_as_test,
)
from sklearn.base import clone, is_classifier
from streams import assert_same_model

from robell import ELMClassifier, RVFLClassifier, RVFLRegressor
from robell.files import load_model, save_model

N_ROWS = 240
KINDS = {
    "balanced": RVFLClassifier(7, class_weight="balanced", random_state=3),
    "with a constant": RVFLClassifier(5, activation="relu", output_bias=True, random_state=3),
    "without the columns": ELMClassifier(6, C=10.0, random_state=3),
    "numbers": RVFLRegressor(6, random_state=3),
}
first_rows = st.integers(0, N_ROWS - 60)


def table():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(N_ROWS, 3)), 2)
    y = (X[:, 0] + 0.5 * rng.normal(size=N_ROWS) > 0).astype(int)
    return X, y, rng.uniform(0.5, 2.0, N_ROWS)


class Streams(RuleBasedStateMachine):
    """Models with the places of the rows that each has seen, repeats included."""

    KIND = ""
    models = Bundle("models")

    @initialize(target=models, start=first_rows)
    def begin(self, start):
        self.X, self.y, self.weight = table()
        self.folder = tempfile.TemporaryDirectory()
        return multiple(*(self._first(start // 2 + k * 60) for k in range(2)))

    def _first(self, start):
        one = [clone(KINDS[self.KIND]), np.empty(0, int)]
        return self._give(one, start, 40)

    def _give(self, one, start, size):
        rows = np.arange(start, start + size)
        known = {"classes": [0, 1]} if is_classifier(one[0]) else {}
        one[0].partial_fit(self.X[rows], self.y[rows], sample_weight=self.weight[rows], **known)
        one[1] = np.append(one[1], rows)
        return one

    @rule(target=models, start=first_rows)
    def another(self, start):
        return self._first(start)

    @rule(one=models, start=first_rows, size=st.integers(1, 60))
    def give_rows(self, one, start, size):
        self._give(one, start, size)

    @rule(one=models, other=models)
    def merge(self, one, other):
        if one is not other:
            before = pickle.dumps(other[0])
            one[0].merge(other[0])
            one[1] = np.append(one[1], other[1])
            assert pickle.dumps(other[0]) == before

    @rule(one=models)
    def save_and_load(self, one):
        path = Path(self.folder.name) / "model.skops"
        save_model(one[0], path)
        expected = one[0].predict(self.X)
        one[0] = load_model(path)
        np.testing.assert_array_equal(one[0].predict(self.X), expected)

    @rule(target=models, one=models)
    def copy(self, one):
        return [pickle.loads(pickle.dumps(one[0])), one[1]]

    @rule(one=models)
    def is_fit(self, one):
        model, rows = one
        reference = clone(KINDS[self.KIND]).fit(self.X[rows], self.y[rows], self.weight[rows])
        if is_classifier(model):
            assert_same_model(model, reference, self.X)
        else:
            expected = reference.predict(self.X)
            np.testing.assert_allclose(model.predict(self.X), expected, rtol=0, atol=1e-10)

    def teardown(self):
        if hasattr(self, "folder"):
            self.folder.cleanup()


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_in_any_order_is_fit(kind):
    machine = type(Streams.__name__, (Streams,), {"KIND": kind})
    run_state_machine_as_test(machine, settings=settings(max_examples=12, stateful_step_count=14))
