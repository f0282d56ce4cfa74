# SPDX-License-Identifier: Apache-2.0

"""Floats of 8 bits as ml_dtypes has them: all codes, and what is rounded to them."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import weft
from compiled import Exported
from jax import lax
from weft import safetensors

TYPES = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
# Only exponents: stored and converted, not computed with.
STORED = [*TYPES, ml_dtypes.float8_e8m0fnu]


def codes(dtype):
    return np.arange(256, dtype=np.uint8).view(dtype)


def same_bits(got, expected):
    """Equal bits; of a NaN, that it is one."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    bits = f"u{got.dtype.itemsize}"
    nan = np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float64)), nan)
    np.testing.assert_array_equal(got.view(bits)[~nan], expected.view(bits)[~nan])


def run(fn, *args):
    return weft.compile(weft.jax.export(fn, *args))(*args)


@pytest.mark.parametrize("dtype", STORED)
def test_all_codes_of_wider_types(dtype):
    x = codes(dtype)
    wider = [jnp.float32, jnp.float16, jnp.bfloat16]
    for got, to in zip(run(lambda x: [x.astype(t) for t in wider], x), wider):
        same_bits(got, x.astype(to))


def test_one_nan_of_e4m3():
    """As ml_dtypes and XLA widen it: with its sign, and no bits of its own."""
    x = codes(ml_dtypes.float8_e4m3fn)[[0x7F, 0xFF]]
    got = np.asarray(run(lambda x: x.astype(jnp.float32), x))
    np.testing.assert_array_equal(got.view(np.uint32), x.astype(np.float32).view(np.uint32))


def wide_values():
    """Every number of f16 and its neighbours in f32, which hold all ties; the extremes."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    ends = np.array([1e-45, 1e-38, 1e30, np.finfo(np.float32).max, 65536.0, 2.0**-17], np.float32)
    values = np.concatenate([halves, ends, -ends])
    return np.concatenate([values, np.nextafter(values, np.float32(np.inf)), np.nextafter(values, np.float32(-np.inf))])


@pytest.mark.parametrize("dtype", STORED)
@pytest.mark.parametrize("source", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_rounding(dtype, source):
    x = wide_values() if source == np.float32 else np.arange(1 << 16, dtype=np.uint16).view(source)
    same_bits(run(lambda x: x.astype(dtype), x), x.astype(dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_rounding_of_f64(dtype):
    """By way of f32, as ml_dtypes rounds: what is nearly a tie becomes one."""
    with jax.enable_x64(True):
        near = codes(dtype).astype(np.float64)
        near = near[np.isfinite(near)]
        middle = (near[1:] + near[:-1]) / 2
        x = np.concatenate([near, middle, middle * (1 + 2.0**-40), middle * (1 - 2.0**-40), [1e300, -1e300, np.inf, np.nan, 5e-324]])
        same_bits(run(lambda x: x.astype(dtype), x), x.astype(dtype))


def arithmetic(x, y):
    pairs = x[:, None], y[None, :]
    return (pairs[0] + pairs[1], pairs[0] * pairs[1], jnp.maximum(*pairs), pairs[0] < pairs[1], -x, jnp.abs(x),
            jnp.where(x > 0, x, y), x[::-1], jnp.concatenate([x, y]), x.reshape(16, 16).T, (x == x).astype(x.dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_arithmetic_rounds_each_result(dtype):
    x = codes(dtype)
    for got, expected in zip(run(arithmetic, x, x), jax.jit(arithmetic)(x, x)):
        if got.dtype == bool:
            np.testing.assert_array_equal(got, expected)
        else:
            same_bits(got, expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_integers(dtype):
    n = np.array([0, 1, -7, 17, 100, 449, 465, -100000, 2**31 - 1], np.int32)
    same_bits(run(lambda n: n.astype(dtype), n), np.asarray(jax.jit(lambda n: n.astype(dtype))(n)))
    x = codes(dtype)
    np.testing.assert_array_equal(run(lambda x: x.astype(jnp.int8), x), jax.jit(lambda x: x.astype(jnp.int8))(x))


@pytest.mark.parametrize("dtype", STORED)
def test_is_finite(dtype):
    np.testing.assert_array_equal(run(lax.is_finite, codes(dtype)), np.isfinite(codes(dtype).astype(np.float32)))


@pytest.mark.parametrize("dtype", STORED)
def test_scatters(dtype):
    """Rows that no update has stay as they are, whether a type has infinities and zeros or not; some rows have several.
    The least number of e8m0 is subnormal in f32, and XLA's CPU backend takes it for none."""
    x = np.where(codes(dtype) == 2.0**-127, dtype(1), codes(dtype))
    table, updates, rows = x.reshape(64, 4), x[::-1].reshape(64, 4), np.arange(64) * 7 % 40
    fn = lambda t, u, i: [t.at[i].max(u), t.at[i].min(u), t.at[i].set(u)]
    for got, right in zip(run(fn, table, updates, rows), jax.jit(fn)(table, updates, rows)):
        same_bits(got, right)


@pytest.mark.parametrize("dtype", TYPES)
def test_sort(dtype):
    x = codes(dtype).reshape(64, 4)[::-1]
    same_bits(run(lambda x: jnp.sort(x, 0), x), jnp.sort(x, 0))


def test_exponents_are_not_sorted():
    with pytest.raises(weft.jax.ExportError, match="sorts f8E8M0FNU, which has no sign"):
        weft.jax.export(jnp.sort, codes(ml_dtypes.float8_e8m0fnu))


@pytest.mark.parametrize("dtype", TYPES)
def test_sums_in_a_declared_order(dtype):
    """By rows and by columns, with the lanes and leaves that they have in invariant mode."""
    x = (np.arange(192) % 5 - 2).astype(dtype)
    fn = lambda x: [x.sum(), x.reshape(-1, 4).sum(0), x.reshape(4, -1).sum(1)]
    for size in (1, 2, 4):
        module = weft.jax.export(fn, x, mesh={"a": size}, in_shardings=jax.sharding.PartitionSpec("a"))
        for got, expected in zip(weft.compile(module, invariant=True)(x), jax.jit(fn)(x)):
            same_bits(got, expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_sharded_weights_through_files(dtype, tmp_path):
    """A product of f8, on ranks that hold parts, with tensors in safetensors files."""
    def step(w, x):
        return w * 2, lax.dot(x.astype(w.dtype), w, preferred_element_type=jnp.float32)
    random = np.random.default_rng(0)
    w = random.standard_normal((16, 8), np.float32).astype(dtype)
    x = random.standard_normal((4, 16), np.float32)
    module = weft.jax.export(step, w, x, mesh={"a": 2}, in_shardings=(jax.P("a"), None), donate_argnums=0)
    expected = jax.jit(step)(w, x)
    for sizes in ({"a": 1}, {"a": 2}, {"a": 4}):
        got = Exported(module, (w, x), tmp_path).run(sizes)
        same_bits(got[0], expected[0])
        np.testing.assert_allclose(got[1], expected[1], rtol=1e-5)


@pytest.mark.parametrize("dtype", TYPES)
def test_products_are_rounded_once_on_each_mesh(dtype, tmp_path):
    """Sums of small numbers have no rounding in f32, in any order; ranks' parts of them in 8 bits would have some."""
    random = np.random.default_rng(1)
    x, w = (random.integers(-4, 5, shape).astype(dtype) for shape in ((8, 64), (64, 8)))
    def step(x, w):
        wide = lax.dot(x, w, preferred_element_type=jnp.float32)
        return lax.dot(x, w), wide.astype(dtype), lax.dot(x, w) + x[:, :8]
    module = weft.jax.export(step, x, w, mesh={"a": 4}, in_shardings=(jax.P(None, "a"), jax.P("a")))
    exact = (x.astype(np.float64) @ w.astype(np.float64)).astype(dtype)
    exported = Exported(module, (x, w), tmp_path)
    for sizes in ({"a": 1}, {"a": 2}, {"a": 4}):
        for got, want in zip(exported.run(sizes), (exact, exact, exact + x[:, :8])):
            same_bits(got, want)


def nan_code(dtype):
    return 0x7F if dtype == ml_dtypes.float8_e4m3fn else 0x7E


MESHES = [{"a": 1}, {"a": 2}, {"a": 8}]


@pytest.mark.parametrize("dtype", TYPES)
def test_computing_gives_one_nan_on_each_mesh(dtype, tmp_path):
    """Each code, alone among zeros and ones in its column, of which ranks have rows."""
    def computed(x, y):
        wide = x.astype(jnp.float32)
        return (x + y, x - y, x * y, x / y, jnp.maximum(x, y), jnp.minimum(y, x), -x, jnp.abs(x), jnp.sqrt(x), (wide * 2).astype(dtype),
                (wide - wide).astype(dtype), jnp.max(x, 0), jnp.min(x, 0), jnp.sum(x, 0), jnp.prod(y, 0),
                jnp.sum(wide, 0).astype(dtype), jnp.max(x, 1))
    def moved(x, y, of=jnp):
        return x[::-1], of.concatenate([x, y]), of.where(x.astype(of.float32) < 1, y, x), x.T, x.reshape(-1)
    def step(x, y):
        return computed(x, y), moved(x, y)
    own = np.arange(8)[:, None] == np.arange(256)[None] % 8
    x, y = (np.where(own, codes(dtype).astype(np.float32), other).astype(dtype) for other in (0, 1))
    for array in (x, y):  # Casts lose what NaNs were.
        array.view(np.uint8)[own] = np.broadcast_to(np.arange(256, dtype=np.uint8), own.shape)[own]
    module = weft.jax.export(step, x, y, mesh={"a": 8}, in_shardings=(jax.P("a"), jax.P("a")))
    exported, expected = Exported(module, (x, y), tmp_path), jax.jit(step)(x, y)
    runs = [exported.run(mesh) for mesh in MESHES]
    for got, want in zip(jax.tree.leaves(runs[0]), jax.tree.leaves(expected)):
        same_bits(got, want)
    has_nan = np.isnan(x.astype(np.float32))
    where = {has_nan.shape: has_nan, (256,): has_nan.any(0), (8,): has_nan.any(1)}
    for i, got in enumerate(runs[0][0]):  # What is too small is 0xff in f8E4M3FN.
        assert set(got.view(np.uint8)[where[got.shape]]) == {nan_code(dtype)}, i
    for got, want in zip(runs[0][1], moved(x, y, np)):
        np.testing.assert_array_equal(np.asarray(got).view(np.uint8), np.ascontiguousarray(want).view(np.uint8))
    for other in runs[1:]:
        for got, want in zip(jax.tree.leaves(other), jax.tree.leaves(runs[0])):
            np.testing.assert_array_equal(np.asarray(got).view(np.uint8), np.asarray(want).view(np.uint8))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_nans_of_wider_types_are_nans_on_each_mesh(dtype, tmp_path):
    """Whose bits are open: NaNs of both signs and several payloads, that meet in columns cut over ranks."""
    bits = f"u{np.dtype(dtype).itemsize}"
    infinity = int(np.asarray(np.inf, dtype).view(bits))
    sign = 1 << (8 * np.dtype(dtype).itemsize - 1)
    special = np.array([0, sign, infinity, infinity | sign, infinity + 1, sign | infinity + 1, sign - 1, 2 * sign - 1], bits)
    x = np.stack([np.roll(np.repeat(special, 8), 9 * row) for row in range(8)]).view(dtype)
    def step(x):
        return jnp.max(x, 0), jnp.min(x, 0), jnp.sum(x, 0), jnp.prod(x, 0), jnp.maximum(x, x[::-1]), x + x.T[:8, :8].sum()
    module = weft.jax.export(step, x, mesh={"a": 8}, in_shardings=(jax.P("a"),))
    exported, expected = Exported(module, (x,), tmp_path), jax.jit(step)(x)
    for mesh in MESHES:
        for got, want in zip(exported.run(mesh), expected):
            same_bits(got, np.asarray(want))


def test_files_and_dlpack(tmp_path):
    for dtype in TYPES:
        safetensors.save(tmp_path / "x", {"x": codes(dtype)})
        same_bits(safetensors.load(tmp_path / "x")["x"], codes(dtype))
        result = run(lambda x: x.reshape(16, 16), codes(dtype))
        assert result.__dlpack__() and result.dtype == dtype


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz, ml_dtypes.int4, ml_dtypes.uint4])
def test_other_narrow_types_are_refused_where_they_arise(dtype):
    with pytest.raises(weft.jax.ExportError, match=r"test_float8.py:\d+: 'stablehlo.convert' computes with .*, which weft does not have"):
        weft.jax.export(lambda x: x.astype(dtype).astype(jnp.float32), np.zeros(4, np.float32))
    with pytest.raises(weft.jax.ExportError, match="argument 'x' has elements of .*, which weft does not have"):
        weft.jax.export(lambda x: x.astype(jnp.float32), np.zeros(4, dtype))
