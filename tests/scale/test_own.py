"""What a fit in parts would not call is refused, not passed over in silence."""

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from robell import RVFLClassifier
from robell.scale.out_of_core import OutOfCoreFit


class WeighsByNorm(RVFLClassifier):
    def _fit_weights(self, prepared):
        return 1.0 / (1.0 + np.square(prepared.rows.X).sum(axis=1))


class OwnFit(RVFLClassifier):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X[::2], y[::2])


class Squared(RVFLClassifier):
    def _features(self, X):
        return super()._features(X) ** 2


class OwnPipeline(Pipeline):
    pass


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (WeighsByNorm(), "WeighsByNorm has a _fit_weights of its own"),
        (OwnFit(), "OwnFit has a fit of its own"),
        (OwnPipeline([("model", RVFLClassifier())]), "give scikit-learn's own Pipeline"),
    ],
)
def test_what_would_be_passed_over_is_refused(model, message):
    with pytest.raises(TypeError, match=message):
        OutOfCoreFit(model)


def test_features_of_ones_own_are_used(rng):
    X, y = rng.normal(size=(80, 3)), np.arange(80) % 2
    expected = Squared(7, random_state=0, calibrate=False).fit(X, y)
    job = OutOfCoreFit(Squared(7, random_state=0, calibrate=False), [0, 1], 3)
    for step in job.passes():
        step.finish(step.reduce(step.map(X[:50], y[:50]), step.map(X[50:], y[50:])))
    np.testing.assert_allclose(job.estimator().coef_, expected.coef_, rtol=1e-7, atol=1e-9)
