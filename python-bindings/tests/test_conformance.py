# SPDX-License-Identifier: Apache-2.0

"""Each StableHLO operation that JAX makes, on values at the edges: right, or refused as docs/conformance.md says."""

import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import weft
from conftest import ROOT
from jax import lax

FLOATS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.7, 1e-3, 300.0, -70000.0, 3e9, -5e9, 1e19, 1e30, np.inf, -np.inf, np.nan], np.float32)
INTEGERS = {d: np.array([0, 1, 2, 3, 5, 7, 31, 32, 100, np.iinfo(d).max, np.iinfo(d).max - 1, np.iinfo(d).min, *([-1, -2, -7] if np.iinfo(d).min else [])], d)
            for d in (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32)}
BOOLS = np.array([False, True])

UNARY = {
    "abs": lax.abs, "cbrt": lax.cbrt, "ceil": lax.ceil, "cosine": lax.cos, "exponential": lax.exp, "exponential_minus_one": lax.expm1,
    "floor": lax.floor, "is_finite": lax.is_finite, "log": lax.log, "log_plus_one": lax.log1p, "logistic": lax.logistic,
    "negate": lax.neg, "round_nearest_afz": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    "round_nearest_even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), "rsqrt": lax.rsqrt, "sign": lax.sign,
    "sine": lax.sin, "sqrt": lax.sqrt, "tan": lax.tan, "tanh": lax.tanh,
    "reduce_precision": lambda x: lax.reduce_precision(x, 5, 7), "bitcast_convert": lambda x: lax.bitcast_convert_type(lax.abs(x), np.uint32),
    "convert": lambda x: [x.astype(d) for d in (*INTEGERS, np.bool_, np.float16, jnp.bfloat16)],
    "chlo.acos": lax.acos, "chlo.acosh": lax.acosh, "chlo.asin": lax.asin, "chlo.asinh": lax.asinh, "chlo.atan": lax.atan,
    "chlo.atanh": lax.atanh, "chlo.cosh": lax.cosh, "chlo.sinh": lax.sinh, "chlo.erf": lax.erf, "chlo.erfc": lax.erfc,
    "chlo.square": lax.square,
}
BINARY = {
    "add": lax.add, "atan2": lax.atan2, "compare": lambda a, b: [f(a, b) for f in (lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge)],
    "divide": lax.div, "maximum": lax.max, "minimum": lax.min, "multiply": lax.mul, "power": lax.pow, "remainder": lax.rem,
    "subtract": lax.sub, "select": lambda a, b: lax.select(a < b, a, b), "clamp": lambda a, b: lax.clamp(a, b, jnp.full_like(a, 2)),
}
INTEGER_UNARY = {
    "abs": lax.abs, "count_leading_zeros": lax.clz, "negate": lax.neg, "not": lax.bitwise_not, "popcnt": lax.population_count,
    "sign": lax.sign, "convert": lambda x: [x.astype(d) for d in (*INTEGERS, np.bool_, np.float32, jnp.bfloat16)],
}
INTEGER_BINARY = {
    "add": lax.add, "and": lax.bitwise_and, "compare": BINARY["compare"], "divide": lax.div, "maximum": lax.max, "minimum": lax.min,
    "multiply": lax.mul, "or": lax.bitwise_or, "remainder": lax.rem, "select": BINARY["select"], "clamp": BINARY["clamp"],
    "shift_left": lax.shift_left, "shift_right_arithmetic": lax.shift_right_arithmetic,
    "shift_right_logical": lax.shift_right_logical, "subtract": lax.sub, "xor": lax.bitwise_xor,
}


def at_windows(x, i):
    """Windows of several rows and columns, indices of which come in two orders; updates that overlap and lie outside."""
    places, updates = jnp.stack([i, i[::-1]], 1), jnp.arange(30, dtype=np.float32).reshape(2, 5, 3)
    found = [lax.gather(x, places, lax.GatherDimensionNumbers((0, 2), (), order), (2, 3), mode=mode, fill_value=7)
             for order, mode in (((0, 1), "clip"), ((1, 0), "fill"))]
    numbers = lax.ScatterDimensionNumbers((0, 2), (), (0, 1))
    scatters = (lax.scatter, lax.scatter_add, lax.scatter_max)
    return found + [op(x, places, updates, numbers, mode=mode) for op in scatters for mode in ("clip", "drop")]


SHAPES = {  # on x: f32[4, 6], i: i32[5] with places outside
    "broadcast_in_dim": lambda x, i: lax.broadcast_in_dim(x, (4, 3, 6), (0, 2)), "concatenate": lambda x, i: lax.concatenate([x, x[:1]], 0),
    "constant": lambda x, i: x + np.arange(24, dtype=np.float32).reshape(4, 6), "iota": lambda x, i: lax.broadcasted_iota(np.int32, (3, 4), 1),
    "case": lambda x, i: lax.switch(i[0], [jnp.sin, jnp.cos, jnp.tanh], x), "dot_general": lambda x, i: [x @ x.T, *(jnp.einsum(form, np.arange(24).reshape(2, 3, 4) * i[0] - i[1], np.arange(40).reshape(4, 2, 5) + i[2]) for form in ("bij,jbn->bin", "bij,jbn->ibn"))],
    "dynamic_slice": lambda x, i: [lax.dynamic_slice(x, (i[k], i[-1 - k]), (2, 3)) for k in range(5)],
    "dynamic_update_slice": lambda x, i: [lax.dynamic_update_slice(x, x[:2, :3], (i[k], i[-1 - k])) for k in range(5)],
    "gather": lambda x, i: [x.at[i].get(mode=m, fill_value=7.0) for m in ("fill", "clip")],
    "scatter": lambda x, i: [x.at[i].add(2.0, mode="drop"), x.at[i].set(3.0, mode="drop"), x.at[:, i].max(0.5, mode="clip")],
    "windows at indices": lambda x, i: [*at_windows(x, i), jax.grad(lambda y: (at_windows(y, i)[0] ** 2).sum())(x)],
    "pad": lambda x, i: lax.pad(x, np.float32(2), [(1, -1, 1), (-2, 3, 0)]), "reduce": lambda x, i: [x.max(0), x.min(1), x.argmax(1), x.sum(), (x > 0).any(0)],
    "reduce_window": lambda x, i: [lax.reduce_window(x, -np.inf, lax.max, (2, 3), (1, 2), "SAME"), jnp.cumsum(x, 1), lax.cummax(x, 0)],
    "reshape": lambda x, i: x.reshape(3, 8), "reverse": lambda x, i: lax.rev(x, (0, 1)), "slice": lambda x, i: x[1:4:2, ::3],
    "select_and_scatter": lambda x, i: jax.grad(lambda x: (lax.reduce_window(jnp.round(x), -np.inf, lax.max, (2, 2), (1, 1), "SAME") * 3).sum())(x),
    "sort": lambda x, i: [lax.sort(x, dimension=1), jnp.argsort(x, 0), lax.sort((jnp.round(x), x), num_keys=2)], "transpose": lambda x, i: x.T,
    "while": lambda x, i: lax.fori_loop(0, 3, lambda k, y: jnp.sin(y) * k, x), "chlo.top_k": lambda x, i: lax.top_k(x, 4),
    "convolution": lambda x, i: lax.conv(x[None, None], x[None, None, :2, :2], (1, 1), "SAME"),
    "complex": lambda x, i: lax.complex(x, x[::-1]).imag, "real": lambda x, i: lax.complex(x, x).real, "imag": lambda x, i: lax.conj(lax.complex(x, x)).imag, "fft": lambda x, i: jnp.fft.rfft(x[0]).real,
    "optimization_barrier": lambda x, i: lax.optimization_barrier(x), "composite": lambda x, i: jax.nn.relu(x),
}
REFUSED = {
    "cholesky": lambda x: lax.linalg.cholesky(x @ x.T),
    "triangular_solve": lambda x: lax.linalg.triangular_solve(x[:, :4], x, left_side=True),
    "rng_bit_generator": lambda x: lax.rng_bit_generator(jnp.zeros(4, jnp.uint32), (4,))[1],
    "rng_uniform": lambda x: lax.rng_uniform(0.0, 1.0, (4,)) + x[0, :4],
    "custom_call": lambda x: jnp.linalg.eigh(x @ x.T)[0], "while of data": lambda x: lax.while_loop(lambda y: y.sum() > 1, lambda y: y / 2, x),
}


def pairs(values):
    return np.repeat(values, len(values)), np.tile(values, len(values))


def check(table, *args):
    """All in one module, against JAX; floats as close as f32 rounds, NaN for NaN."""
    fn = lambda *args: {name: op(*args) for name, op in table.items()}
    got, expected = weft.compile(weft.jax.export(fn, *args))(*args), jax.jit(fn)(*args)
    wrong = []
    for name in table:
        for g, e in zip(jax.tree.leaves(got[name]), jax.tree.leaves(expected[name])):
            g, e = np.asarray(g), np.asarray(e)
            assert g.dtype == e.dtype and g.shape == e.shape, name
            tolerance = 0 if g.dtype.kind in "iub" else 1e-5 if g.dtype == np.float32 else 1e-2
            same = np.isclose(g.astype(np.float64), e.astype(np.float64), rtol=tolerance, atol=tolerance * 1e-2, equal_nan=True)
            if not same.all():
                at = tuple(np.argwhere(~same)[0])
                wrong.append(f"{name} {g.dtype}: {(~same).sum()} differ, {list(at)} is {g[at]}, expected {e[at]}")
    assert not wrong, "\n".join(wrong)


def test_unary_on_floats():
    check(UNARY, FLOATS)


def test_binary_on_floats():
    check(BINARY, *pairs(FLOATS))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype):
    signed = np.iinfo(dtype).min < 0
    check({name: op for name, op in INTEGER_UNARY.items() if signed or name != "abs"}, INTEGERS[dtype])
    check(INTEGER_BINARY, *pairs(INTEGERS[dtype]))


def test_truth_values():
    table = {"and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor, "compare": BINARY["compare"],
             "maximum": lax.max, "minimum": lax.min, "convert": lambda a, b: [a.astype(d) for d in (*INTEGERS, np.float32)]}
    check(table, *pairs(BOOLS))


def test_shapes_lookups_and_reductions():
    x = np.random.default_rng(0).standard_normal((4, 6), np.float32)
    check(SHAPES, x, np.array([2, -1, 9, -100, 2**31 - 1], np.int32))


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    row = re.search(rf"^\| `?{name}`?[^|]*\| refused: (.*?) \|$", (ROOT / "docs/conformance.md").read_text(), re.M)
    with pytest.raises(weft.jax.ExportError) as refusal:
        weft.jax.export(REFUSED[name], np.ones((4, 6), np.float32))
    assert row and row.group(1).strip("`") in str(refusal.value)


def test_the_page_names_what_is_tested():
    page = (ROOT / "docs/conformance.md").read_text()
    right = set(re.findall(r"`([\w.]+)`", "".join(re.findall(r"^\| (.*?) \| right", page, re.M))))
    assert right == {*UNARY, *BINARY, *INTEGER_UNARY, *INTEGER_BINARY, *SHAPES} - {"windows at indices"}


def test_sums_of_a_scatter_may_be_rounded_once(tmp_path):
    """0 where each addition is rounded to f16, as the file expects, and 4 where all are rounded at the end."""
    folder = tmp_path / "stablehlo/tests/interpret"
    folder.mkdir(parents=True)
    (folder / "scatter.mlir").write_text("""
func.func @main() {
  %x = stablehlo.constant dense<[2048.0, 2048.0]> : tensor<2xf16>
  %at = stablehlo.constant dense<0> : tensor<5x1xi32>
  %updates = stablehlo.constant dense<[1.0, 1.0, 1.0, 1.0, -2048.0]> : tensor<5xf16>
  %sum = "stablehlo.scatter"(%x, %at, %updates) ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %c = stablehlo.add %a, %b : tensor<f16>
    stablehlo.return %c : tensor<f16>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
      : (tensor<2xf16>, tensor<5x1xi32>, tensor<5xf16>) -> tensor<2xf16>
  %expected = stablehlo.constant dense<[0.0, 2048.0]> : tensor<2xf16>
  check.expect_close %sum, %expected : tensor<2xf16>, tensor<2xf16>
  func.return
}
""")
    script = ROOT / "test/conformance/run.py"
    done = subprocess.run([sys.executable, str(script), str(tmp_path), "--results", str(tmp_path / "results.jsonl")], text=True, capture_output=True)
    assert done.returncode == 0 and done.stdout.endswith("\n1 right\n"), done.stdout + done.stderr


def test_the_runner_of_stablehlo_data_tells_right_from_wrong(tmp_path):
    case = """
func.func @main() {
  %0 = stablehlo.constant dense<-2> : tensor<1xi32>
  %1 = stablehlo.abs %0 : tensor<1xi32>
  check.expect_eq_const %1, dense<EXPECTED> : tensor<1xi32>
  func.return
}
"""
    folder = tmp_path / "stablehlo/tests/interpret"
    folder.mkdir(parents=True)
    (folder / "abs.mlir").write_text("// -----".join(case.replace("EXPECTED", value) for value in ("2", "3")))
    script, results = ROOT / "test/conformance/run.py", tmp_path / "results.jsonl"
    done = subprocess.run([sys.executable, str(script), str(tmp_path), "--results", str(results)], text=True, capture_output=True)
    assert done.returncode == 1 and "1 right, 1 wrong" in done.stdout, done.stdout + done.stderr
    assert "[0] is 2, expected 3" in done.stdout
    few = [sys.executable, str(script), str(tmp_path), "--results", str(tmp_path / "few.jsonl"), "--every", "2"]
    done = subprocess.run(few, text=True, capture_output=True)
    assert done.returncode == 0 and done.stdout.endswith("\n1 right\n"), done.stdout + done.stderr
