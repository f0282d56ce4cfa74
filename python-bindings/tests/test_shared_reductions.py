# SPDX-License-Identifier: Apache-2.0
"""Reductions that two ranks share, of numbers at the ends of what types can hold: what follows a reduction may not be
done with the parts of it where one of them leaves the range and the whole does not."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import weft
import weft.jax

CASES: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "max to f8": (lambda x: jnp.max(x, 0).astype(jnp.float8_e4m3fn), [-1000, 5]),
    "max of NaN to f8": (lambda x: jnp.max(x, 0).astype(jnp.float8_e4m3fn), [np.nan, 5]),
    "max to f8e5m2": (lambda x: jnp.max(x, 0).astype(jnp.float8_e5m2), [-1e6, 5]),
    "max to f16": (lambda x: jnp.max(x, 0).astype(jnp.float16), [-1e6, 5]),
    "min to f8": (lambda x: jnp.min(x, 0).astype(jnp.float8_e4m3fn), [1000, 5]),
    "min to bf16": (lambda x: jnp.min(x, 0).astype(jnp.bfloat16), [1000, 3.3]),
    "sum to f8": (lambda x: jnp.sum(x, 0).astype(jnp.float8_e4m3fn), [500, -499]),
    "sum to f16": (lambda x: jnp.sum(x, 0).astype(jnp.float16), [70000, -70000]),
    "product to f8": (lambda x: jnp.prod(x, 0).astype(jnp.float8_e4m3fn), [1000, 0.25]),
    "sum / 0": (lambda x: jnp.sum(x, 0) / (x.shape[0] - 2.0), [3, -1]),
    "sum / small": (lambda x: jnp.sum(x, 0) / 1e-30, [1e10, -1e10]),
    "sum * large": (lambda x: jnp.sum(x, 0) * 1e30, [1e10, -1e10]),
    "sum * data": (lambda x: jnp.sum(x, 0) * (x[0] * 1e20), [1e10, -1e10]),
    "mean": (lambda x: jnp.mean(x, 0), [1e10, -1e10]),
}


@pytest.mark.parametrize("invariant", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_a_reduction_that_ranks_share(name, invariant):
    function, rows = CASES[name]

    def step(x):
        return function(x).astype(jnp.float32)

    x = np.array([[row] for row in rows], np.float32)
    module = weft.jax.export(step, x, mesh={"d": 2}, in_shardings=(P("d"),))
    keywords = {"invariant": True} if invariant else {}
    expected = np.asarray(step(x))
    for ranks in (1, 2):
        got = np.asarray(weft.compile(module, mesh={"d": ranks}, **keywords)(x))
        np.testing.assert_array_equal(got, expected, err_msg=f"{ranks} ranks")
