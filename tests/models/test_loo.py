"""C="loo" against refitting without each row."""

from functools import partial

import numpy as np
import pytest
from searches import FAMILY, table

from robell.models._shell import PAPER_C


def brute_force_loo_error(estimator, X, y, C):
    """Squared leave-one-out error of one-hot scores, by refitting without each row."""
    classes = np.unique(y)
    total = 0.0
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        model = estimator(C=C).fit(X[keep], y[keep])
        score = (model._features(model._validate_new(X[i : i + 1])) @ model.coef_).real[0]
        total += np.square(score - (classes == y[i])).sum()
    return total


@pytest.mark.parametrize("n_hidden", [5, 60], ids=["tall", "wide"])
@pytest.mark.parametrize("name", ["rvfl", "elm", "crvfl", "acrvfl"])
def test_loo_chooses_what_brute_force_chooses(name, n_hidden):
    estimator = partial(FAMILY[name][0], n_hidden, calibrate=False, random_state=0)
    X, y = table(n_rows=40, seed=3)
    if "crvfl" in name:  # the encoding must not depend on the row left out
        estimator = partial(estimator, encoding="cartesian")
    errors = [brute_force_loo_error(estimator, X, y, C) for C in PAPER_C]
    model = estimator(C="loo").fit(X, y)
    assert PAPER_C[int(np.argmin(errors))] == model.C_
    np.testing.assert_allclose(model.coef_, estimator(C=model.C_).fit(X, y).coef_)


def test_loo_honours_weights_and_works_with_every_model(rng):
    X, y = table(n_rows=60)
    weight = rng.integers(1, 4, len(y))
    for name, (estimator, _) in FAMILY.items():
        if name == "gegb":
            continue
        weighted = estimator(C="loo", random_state=0).fit(X, y, sample_weight=weight)
        repeated = estimator(C="loo", random_state=0).fit(
            np.repeat(X, weight, axis=0), np.repeat(y, weight)
        )
        assert weighted.C_ in PAPER_C
        assert weighted.C_ == repeated.C_
        assert np.isfinite(weighted.predict_proba(X)).all()


def test_a_graph_that_has_seen_the_label_left_out_is_refused():
    X, y = table(n_rows=40)
    with pytest.raises(ValueError, match="C='loo' does not go with a graph"):
        FAMILY["gegb"][0](C="loo").fit(X, y)
