# SPDX-License-Identifier: Apache-2.0

"""The gradients' norm, and clipping by it: exact, and the same however it is sharded."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import weft

SHARDINGS = {"a": jax.P("tp"), "b": jax.P(None, "tp"), "c": None}


def gradients(scale=1.0):
    random = np.random.default_rng(7)
    return {"a": (scale * random.standard_normal((64, 48))).astype(np.float32),
            "b": (scale * random.standard_normal((32, 64))).astype(ml_dtypes.bfloat16),
            "c": np.array(scale, np.float32)}


def norm_of(grads):
    return np.sqrt(sum((np.asarray(g).astype(np.float64) ** 2).sum() for g in grads.values()))


def clip(grads):
    return weft.jax.clip_by_global_norm(grads, 2.0)


def check(grads, clipped, norm):
    """The norm is right but for its last place; the scale is the power of two that it says."""
    exact = norm_of(grads)
    assert abs(np.float64(norm) - exact) <= np.spacing(np.float32(exact))
    scale = np.float32(min(1.0, 2.0 ** np.floor(np.log2(2.0 / exact))))
    for name, array in clipped.items():
        expected = (np.asarray(grads[name]).astype(np.float32) * scale).astype(array.dtype)
        assert np.asarray(array).tobytes() == expected.tobytes()
    assert norm_of(clipped) <= 2.0 and (scale == 1 or norm_of(clipped) > 1.0)


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e30])
def test_jax_counts_in_float64_in_each_mode(x64, scale):
    with jax.enable_x64(x64):
        grads = gradients(scale)
        clipped, norm = jax.jit(clip)(grads)
        assert norm.dtype == jnp.float32
        assert norm == jax.jit(weft.jax.global_norm)(grads)
        check(grads, clipped, norm)


def test_the_scale_where_the_norm_says_nothing():
    zero, infinite = {"a": np.zeros(4, np.float32)}, {"a": np.full(4, np.inf, np.float32)}
    clipped, norm = clip(zero)
    assert norm == 0 and not np.any(clipped["a"])
    clipped, norm = clip({"a": np.array([1, np.nan], np.float32)})
    assert np.isnan(norm) and clipped["a"][0] == 1 and np.isnan(clipped["a"][1])
    clipped, norm = clip(infinite)
    assert np.isinf(norm) and np.all(np.isnan(clipped["a"]))


def test_one_ulp_of_the_norm_moves_nothing():
    grads = gradients()
    first, norm = clip(grads)
    moved = dict(grads, c=np.nextafter(np.float32(1), np.float32(2)))
    second, _ = clip(moved)
    assert all(np.array_equal(first[name], second[name]) for name in ("a", "b"))


def test_a_compiled_norm_has_the_same_bits_on_all_meshes():
    grads = gradients()
    module = weft.jax.export(clip, grads, mesh={"tp": 4}, in_shardings=(SHARDINGS,))
    results = []
    for size in (1, 2, 4):
        clipped, norm = weft.compile(module, mesh={"tp": size}, ranks=size, invariant=True)(grads)
        check(grads, clipped, norm)
        results.append((norm.tobytes(), *(np.asarray(clipped[n]).tobytes() for n in "abc")))
    assert results[0] == results[1] == results[2]
