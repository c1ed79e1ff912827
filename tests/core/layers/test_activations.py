import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import activate

from robell._core.layers import features
from robell._core.layers.features import ACTIVATIONS, apply_activation, sine_in_place

# Table S.III, in its order
TABLE = [
    "selu",
    "relu",
    "sigmoid",
    "sin",
    "hardlim",
    "tribas",
    "radbas",
    "sign",
    "leaky_relu",
    "tansig",
]


def test_the_ten_stand_in_the_order_of_the_paper():
    assert list(ACTIVATIONS) == TABLE


@pytest.mark.parametrize("name", TABLE)
@given(z=st.floats(-300, 300))
def test_each_equals_its_definition(name, z):
    np.testing.assert_allclose(
        apply_activation(name, np.array([[z]]))[0, 0], activate(name, z), rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("name", TABLE)
def test_extreme_inputs_give_limits_not_warnings(name):
    H = apply_activation(name, np.array([[-1e200, -1e3, 0.0, 1e3, 1e200]]))
    assert np.isfinite(H).all()


def test_decisions_of_erratum_26():
    Z = np.array([[-1.0, 0.0]])
    assert apply_activation("leaky_relu", Z)[0, 0] == pytest.approx(-0.1)
    assert apply_activation("hardlim", Z)[0, 1] == 1.0


def test_a_callable_is_used_and_may_write_into_its_argument():
    Z = np.array([[1.0, -2.0]])

    def in_place_square(z):
        z **= 2
        return z

    np.testing.assert_array_equal(apply_activation(in_place_square, Z), [[1.0, 4.0]])
    np.testing.assert_array_equal(Z, [[1.0, -2.0]])


@pytest.mark.parametrize("bad", [lambda z: z[:, :1], lambda z: z + 1j, lambda z: z.astype(str)])
def test_a_callable_that_returns_nonsense_is_refused(bad):
    with pytest.raises(ValueError, match="activation must return real numbers of the shape"):
        apply_activation(bad, np.zeros((2, 3)))


@pytest.mark.parametrize("tan_is_faster", [False, True])
def test_the_sine_in_place_is_the_sine(monkeypatch, tan_is_faster):
    monkeypatch.setattr(features, "_tan_is_faster", lambda: tan_is_faster)
    rng, pi = np.random.default_rng(0), np.pi
    special = pi * np.array([0.0, -0.5, 0.5, -1.0, 1.0, 1.5, 2.0, 1e3, 1e15]) / 2
    Z = np.r_[rng.normal(size=5000) * np.repeat([1e-9, 1, 30, 1e6, 1e20], 1000), special, 1e300]
    expected, copy = np.sin(Z), Z.copy()
    assert sine_in_place(copy) is copy
    np.testing.assert_allclose(copy, expected, rtol=1e-14, atol=4e-16)
    single = Z[:3000].astype(np.float32)
    np.testing.assert_allclose(sine_in_place(single.copy()), np.sin(single), atol=2e-7)
    with np.errstate(invalid="ignore"):
        assert np.isnan(sine_in_place(np.array([np.inf, -np.inf, np.nan]))).all()
