"""Products of long matrices in parts."""

import numpy as np
import pytest

from robell._core.array import times_few_columns


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 1), (50, 3), (7001, 11), (3000, 300)])
def test_products_in_parts_are_those_of_the_whole(rng, n_rows, n_columns, kind):
    M, B = rng.normal(size=(n_rows, 40)), rng.normal(size=(40, n_columns)).astype(kind)
    B += 1j * B if kind is complex else 0.0
    found = times_few_columns(M, B)
    assert found.dtype == kind
    np.testing.assert_allclose(found, M @ B, rtol=0, atol=1e-12)
