# SPDX-License-Identifier: Apache-2.0
"""Compiled quantization: the bytes of weft.quantization, its products, and the same bits on every mesh."""

import functools
import itertools
import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from conftest import days, nightly
from jax.sharding import PartitionSpec as P

import weft
import weft.jax
from weft import quantization

BF16 = np.dtype(ml_dtypes.bfloat16)
TYPES = {"f32": np.dtype(np.float32), "bf16": BF16, "f16": np.dtype(np.float16)}
ELEMENTS = {"f8E4M3FN": quantization.E4M3, "f8E5M2": quantization.E5M2, "f4E2M1FN": quantization.E2M1}
SCALES = {"fp8": "f32", "fp8-block": "f32", "mxfp8": "f8E8M0FNU", "nvfp4": "f8E4M3FN"}
FORMATS = list(SCALES)
ROWS, COLUMNS = 32, 256

# -- bytes


def numbers(shape=(ROWS, COLUMNS)):
    rng = np.random.default_rng(1)
    draw = functools.partial(rng.standard_normal, shape)
    yield "normal", draw()
    yield "wide", draw() * 2.0 ** rng.integers(-30, 30, shape)
    yield "subnormal", draw() * 1e-38
    yield "huge", draw() * 1e38
    zeros = np.zeros(shape)
    zeros[::2] = -0.0
    yield "zeros", zeros
    special = draw()
    special[3, 5], special[7, 40], special[9, 100], special[20:24] = np.nan, np.inf, -np.inf, 0
    yield "special", special
    infinite = draw()
    infinite[7, 40] = np.inf
    yield "infinite", infinite
    ties = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6, -0.25, -0.75, -2.5, -5, 448, 464, -17, 17, 18, 19, 22]
    yield "ties", rng.choice(ties, shape)


def program(dtype, counts, format, element, shape=(ROWS, COLUMNS)):
    """Text that gives the numbers that are stood for, the scales, and the elements of 8 bits."""
    whole, blocks, scale = "x".join(map(str, shape)), "x".join(map(str, counts)), SCALES[format]
    lengths = f"{shape[0] // counts[0]}, {shape[1] // counts[1]}"
    narrow = format == "nvfp4"
    stored = "" if narrow else f', tensor<{whole}x{element}> {{weft.name = "q"}}'
    of_tensor = f"""
  %t = weft.amax %a {{blocks = array<i64: {counts[0]}, {counts[1]}>}} : tensor<{blocks}xf32> -> tensor<1x1xf32>
  %m, %s = weft.block_scale %a of %t {{element = {element}}}
      : (tensor<{blocks}xf32>, tensor<1x1xf32>) -> (tensor<{blocks}xf32>, tensor<{blocks}x{scale}>)"""
    of_blocks = f"""
  %m, %s = weft.block_scale %a {{element = {element}{", power_of_two" if format == "fp8-block" else ""}}}
      : (tensor<{blocks}xf32>) -> (tensor<{blocks}xf32>, tensor<{blocks}x{scale}>)"""
    return f"""
func.func @f(%x: tensor<{whole}x{dtype}> {{weft.name = "x"}})
    -> (tensor<{whole}xf32> {{weft.name = "d"}}, tensor<{blocks}x{scale}> {{weft.name = "s"}}{stored}) {{
  %a = weft.amax %x {{blocks = array<i64: {lengths}>}} : tensor<{whole}x{dtype}> -> tensor<{blocks}xf32>
  {of_tensor if narrow else of_blocks}
  %q = weft.quantize %x, %m : tensor<{whole}x{dtype}>, tensor<{blocks}xf32> -> tensor<{whole}x{element}>
  %d = weft.dequantize %q, %s : tensor<{whole}x{element}>, tensor<{blocks}x{scale}> -> tensor<{whole}xf32>
  return %d, %s{"" if narrow else ", %q"} : tensor<{whole}xf32>, tensor<{blocks}x{scale}>{re.sub(" {.*}", "", stored)}
}}
"""


CASES = [("fp8", (1, 1), "f8E4M3FN"), ("fp8", (1, 1), "f8E5M2"), ("fp8-block", (ROWS, 2), "f8E4M3FN"),
         ("fp8-block", (1, 2), "f8E4M3FN"), ("mxfp8", (ROWS, 8), "f8E4M3FN"), ("mxfp8", (ROWS, 8), "f8E5M2"),
         ("mxfp8", (1, COLUMNS), "f8E4M3FN"), ("nvfp4", (ROWS, 16), "f4E2M1FN"), ("nvfp4", (2, 16), "f4E2M1FN"),
         ("nvfp4", (2, COLUMNS), "f4E2M1FN")]


def bits(array):
    array = np.ascontiguousarray(array)
    return array.view(f"u{array.itemsize}")


def check_bytes(compiled, x, format, counts, element, name):
    block = None if format == "fp8" else (x.shape[0] // counts[0], x.shape[1] // counts[1])
    wanted, (back, scales, *data) = quantization.quantize(x, format, block=block, element=ELEMENTS[element]), map(np.asarray, compiled(x))
    assert np.array_equal(bits(scales), bits(np.reshape(wanted.scales, counts))), name
    assert not data or np.array_equal(bits(data[0]), bits(wanted.data)), name
    # The scale of a tensor in nvfp4 is another op's.
    of_blocks = quantization.Quantized(wanted.data, wanted.scales, None, format, wanted.block)
    assert np.array_equal(back, quantization.dequantize(of_blocks), equal_nan=True), name


@pytest.mark.parametrize("format, counts, element", CASES)
@pytest.mark.parametrize("dtype, cpu", [*[(dtype, None) for dtype in TYPES], ("bf16", "x86-64"), ("bf16", "x86-64-v3")])
def test_bytes_are_those_of_the_reference(tmp_path, dtype, cpu, format, counts, element):
    path = tmp_path / "f.mlir"
    path.write_text(program(dtype, counts, format, element))
    compiled = weft.compile(path, cpu=cpu)
    for name, wide in numbers():
        with np.errstate(over="ignore"):
            x = wide.astype(np.float32).astype(TYPES[dtype])
        check_bytes(compiled, x, format, counts, element, name)


def test_magnitudes_of_unequal_parts_keep_denormals(tmp_path):
    """A maximum of bf16 rounds nothing, also where a mask keeps it from being one of bits."""
    path = tmp_path / "f.mlir"
    path.write_text('weft.mesh @mesh = <["a"=3]>' + program("bf16", (1, 1), "fp8", "f8E4M3FN").replace(
        '{weft.name = "x"}', '{weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>}'))
    x = (np.random.default_rng(1).standard_normal((ROWS, COLUMNS)) * 1e-39).astype(np.float32).astype(TYPES["bf16"])
    wanted = quantization.quantize(x, "fp8", element=ELEMENTS["f8E4M3FN"])
    _, scales, data = (np.asarray(result) for result in weft.compile(path, mesh={"a": 3})(x))
    assert np.array_equal(bits(scales), bits(np.reshape(wanted.scales, (1, 1))))
    assert np.array_equal(bits(data), bits(wanted.data))


# -- products

TOKENS, IN, OUT = 256, 128, 256


def one_layer(weight, x, direction):
    """One linear layer between two that are none, with its gradients."""
    def loss(w, x):
        y = jnp.abs(x) @ w.astype(jnp.bfloat16)
        return jnp.sum(y.astype(jnp.float32) * direction), y

    (_, y), (dw, dx) = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)(weight, x)
    return weight - dw, y, dx


def layer_inputs():
    rng = np.random.default_rng(3)
    return (rng.standard_normal((IN, OUT), np.float32), rng.standard_normal((TOKENS, IN), np.float32).astype(BF16),
            rng.standard_normal((TOKENS, OUT), np.float32))


def narrowed(x, format, dim, square=False, gradient=False, seed=None, stream=0):
    """What the contraction that sums `dim` sees of an operand."""
    length = quantization.FORMATS[format].length
    block = None if length is None else (length, length) if square else tuple(length if d == dim else 1 for d in (0, 1))
    element = quantization.E5M2 if format == "fp8" and gradient else None
    found = quantization.quantize(x, format, block=block, element=element, seed=seed, stream=stream)
    return quantization.dequantize(found)


def is_close(got, wanted):
    """But for the order of f32 sums, and one rounding to bf16."""
    got, wanted = np.asarray(got, np.float32), np.asarray(wanted, np.float32)
    return np.max(np.abs(got - wanted)) <= 2 ** -8 * np.max(np.abs(wanted))


@pytest.mark.parametrize("format", ["fp8", "fp8-block", "mxfp8"])
def test_products_are_those_of_narrow_operands(format):
    weight, x, direction = layer_inputs()
    module = weft.jax.export(one_layer, weight, x, direction, donate_argnums=(0,))
    updated, y, dx = weft.compile(module, quantize=format)(weight, x, direction)
    h, w, dy = np.abs(x), weight.astype(BF16), direction.astype(BF16)
    narrow = functools.partial(narrowed, format=format)
    square = format == "fp8-block"
    assert is_close(y, narrow(h, dim=1) @ narrow(w, dim=0, square=square))
    dh = (narrow(dy, dim=1, gradient=True) @ narrow(w, dim=1, square=square).T).astype(BF16).astype(np.float32)
    assert is_close(dx, dh * np.sign(x.astype(np.float32)))
    assert is_close(weight - updated, narrow(h, dim=0).T @ narrow(dy, dim=0, gradient=True))
    # Far from what wide operands give: the test can fail.
    assert not is_close(weight - updated, h.astype(np.float32).T @ dy.astype(np.float32))


def test_gradients_in_nvfp4_are_random_and_mixed():
    weight, x, direction = layer_inputs()
    module = weft.jax.export(one_layer, weight, x, direction, donate_argnums=(0,))
    updated, y, dx = weft.compile(module, quantize="nvfp4")(weight, x, direction)
    h, w, dy = np.abs(x), weight.astype(BF16), direction.astype(BF16)
    assert is_close(y, narrowed(h, "nvfp4", 1) @ narrowed(w, "nvfp4", 0, square=True))

    def random(value, dim):
        seed = int(quantization.amax(value).view(np.uint32))
        return [narrowed(value, "nvfp4", dim, seed=seed, stream=stream) for stream in (1, 2)]

    back = narrowed(w, "nvfp4", 0, square=True).T
    sign = np.sign(x.astype(np.float32))
    assert any(is_close(dx, (value @ back).astype(BF16).astype(np.float32) * sign) for value in random(dy, 1))
    mixed = narrowed(quantization.hadamard(h, 0), "nvfp4", 0)
    assert any(is_close(weight - updated, mixed.T @ value) for value in random(quantization.hadamard(dy, 0), 0))


# -- steps

WIDTH, HIDDEN, BATCH, SEQUENCE = 128, 256, 8, 128
SPECS = {"up": P("fsdp", "tp"), "down": P("tp", "fsdp")}


def step(params, x, target):
    def loss(params):
        h = x.astype(jnp.bfloat16)
        for layer in params:
            w = {name: value.astype(jnp.bfloat16) for name, value in layer.items()}
            h = h + jax.nn.silu(h @ w["up"]) @ w["down"]
        return jnp.mean((h.astype(jnp.float32) - target) ** 2)

    value, gradient = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value


def step_inputs(layers=2):
    rng = np.random.default_rng(0)
    params = [{"up": rng.standard_normal((WIDTH, HIDDEN), np.float32) / 8,
               "down": rng.standard_normal((HIDDEN, WIDTH), np.float32) / 16} for _ in range(layers)]
    return params, *(rng.standard_normal((BATCH, SEQUENCE, WIDTH), np.float32) for _ in range(2))


@functools.cache
def exported(layers=2):
    params, x, target = step_inputs(layers)
    batch = P(("dp", "fsdp"))
    return weft.jax.export(step, params, x, target, mesh={"dp": 1, "fsdp": 2, "tp": 1}, donate_argnums=(0,),
                           in_shardings=([SPECS] * layers, batch, batch))


MESHES = [{"dp": dp, "fsdp": fsdp, "tp": tp} for dp, fsdp, tp in itertools.product((1, 2), (1, 2, 4), (1, 2))]


@pytest.mark.parametrize("format, every", [
    ("nvfp4", 4), *(nightly(format, 1 if format in ("mxfp8", "nvfp4") else 5) for format in FORMATS)])
def test_bits_are_the_same_on_every_mesh(format, every):
    inputs = step_inputs()
    digests = set()
    for mesh, cpu in [*((mesh, None) for mesh in MESHES[::every]), (MESHES[0], "x86-64-v3")]:
        params, value = weft.compile(exported(), quantize=format, invariant=True, mesh=mesh, cpu=cpu)(*inputs)
        digests.add(b"".join(np.asarray(leaf).tobytes() for leaf in [*jax.tree.leaves(params), value]))
    assert len(digests) == 1


@pytest.mark.parametrize("format", FORMATS)
def test_fast_mode_agrees(format):
    inputs = step_inputs()
    wide = float(jax.jit(step)(*inputs)[1])
    losses = [float(weft.compile(exported(), mesh=mesh, quantize=format)(*inputs)[1])
              for mesh in ({"dp": 1, "fsdp": 1, "tp": 1}, {"dp": 2, "fsdp": 2, "tp": 2})]
    assert losses[0] != wide and abs(losses[0] - wide) <= 0.01 * wide
    assert abs(losses[0] - losses[1]) <= 2e-3 * wide


def test_batches_of_one_compile():
    """Random bits follow from indices, of which that of a dim of size 1 is none."""
    weight, x, direction = layer_inputs()
    module = weft.jax.export(one_layer, weight, x[None], direction[None], donate_argnums=(0,))
    flat = weft.jax.export(one_layer, weight, x, direction, donate_argnums=(0,))
    nested = weft.compile(module, quantize="nvfp4")(weight, x[None], direction[None])
    for one, other in zip(nested, weft.compile(flat, quantize="nvfp4")(weight, x, direction), strict=True):
        assert np.array_equal(np.squeeze(np.asarray(one)), np.asarray(other))


@pytest.mark.parametrize("format", days(FORMATS, ["fp8-block", "mxfp8"]))
def test_microbatches_of_one_sequence(format):
    """Their bits are those of the whole batch, random ones too."""
    inputs = step_inputs(1)
    module = weft.jax.export(step, *inputs, mesh={"mb": 1}, donate_argnums=(0,),
                             in_shardings=([{name: P() for name in SPECS}], P("mb"), P("mb")))
    found = [jax.tree.leaves(weft.compile(module, mesh={"mb": size}, accumulate="mb", quantize=format, invariant=True)(*inputs))
             for size in (1, BATCH)]
    for one, other in zip(*found, strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other))


def test_stacked_weights_of_which_ranks_have_one_block():
    """Where a rank has one block of a layer, proofs still know which dim the ranks share."""
    def update(weights, x):
        def loss(weights):
            h = x
            for layer in range(2):
                h = h + (h @ weights[layer]) @ weights[layer].T
            return jnp.sum(h ** 2)

        return weights - jax.grad(loss)(weights)

    weights, x = np.zeros((2, 64, 32), np.float32), np.zeros((64, 64), np.float32)
    module = weft.jax.export(update, weights, x, mesh={"fsdp": 4, "tp": 2}, donate_argnums=(0,),
                             in_shardings=(P(None, "fsdp", "tp"), P("fsdp")))
    assert "f8E4M3FN" in weft.lower(module, quantize="nvfp4=*")


# Bytes that a weight's element takes, forward and backward, and what its gradient takes.
WIRE = {None: 6.0, "fp8": 4.0, "fp8-block": 4.0 + 2 * 4 / 128 ** 2, "mxfp8": 4.0 + 2 / 32, "nvfp4": 3.0 + 2 / 256}


@pytest.mark.parametrize("format", WIRE)
def test_wire_bytes(format):
    """A rank receives 3/4 of each gathered weight, and sends as much of its gradient."""
    layers = 3
    program = weft.compile(exported(layers), mesh={"dp": 1, "fsdp": 4, "tp": 1}, quantize=format)
    program(*step_inputs(layers))
    received = program.stats.received_bytes
    elements, gathered = layers * 2 * WIDTH * HIDDEN, (WIRE[format] - 2) / 2
    # The first input has no gradient. The last weight may be used twice in a row.
    most, fewer = 3 / 4 * elements * 2 * gathered, 3 / 4 * WIDTH * HIDDEN * gathered
    assert most - 2.01 * fewer <= received.pop("all_gather") <= most - fewer
    assert received.pop("reduce_scatter") == 3 / 4 * elements * 2
    # Numbers for the tensor, and the loss.
    assert sum(received.values()) <= 512


def test_one_collective_for_the_magnitudes_of_weights():
    text = str(weft.lower(exported(), to="local", mesh={"dp": 1, "fsdp": 4, "tp": 1}, quantize="fp8"))
    maxima = re.findall(r"weft\.all_reduce max ([^\n]*) on @mesh", text)
    assert max(len(operands.split(",")) for operands in maxima) >= 4


def many_ranks(format, phase):
    """A step on so many ranks that each has less than a block along one dim of a weight."""
    params, _, _ = step_inputs(layers := 3)
    x = np.zeros((32, 64, WIDTH), np.float32)
    module = weft.jax.export(step, params, x, x, mesh={"dp": 1, "fsdp": 32, "tp": 1}, donate_argnums=(0,),
                             in_shardings=([SPECS] * layers, P("fsdp"), P("fsdp")))
    return weft.lower(module, to=phase, quantize=format)


def planned_maxima(format, axes):
    """How many magnitudes each collective over axes has."""
    found = re.findall(r"weft_rt\.start <all_reduce.*?axes = <\{(.*?)\}>, reduce = max> ins\((.*?) :", many_ranks(format, "planned"))
    return [len(operands.split(",")) for over, operands in found if over == axes]


@pytest.mark.parametrize("format, axes", [("fp8-block", '"fsdp"'), nightly("mxfp8", '"fsdp":(4)8'), ("nvfp4", '"fsdp":(8)4')])
def test_one_collective_for_blocks_that_ranks_share(format, axes):
    # Of all six weights.
    assert planned_maxima(format, axes) == [6]
    # Elements by one collective for each use, of which the first weight has one; one gather of squares serves two in a row.
    gathers = re.findall(r'weft\.all_gather (%\S+) on @mesh <\{"fsdp"\}>', re.sub(r",[^\n]* on", " on", many_ranks(format, "local")))
    assert len(gathers) == (10 if format == "fp8-block" else 11)


def test_one_collective_for_the_magnitudes_of_a_value():
    """What a product needs of activations, and what a later one needs of them mixed, is there at the same point."""
    # Five inputs of layers, and six gradients, of which the first layer's is needed once.
    assert planned_maxima("nvfp4", '"fsdp"') == [2] * 11 + [1]


@pytest.mark.parametrize("format", [None, "fp8", "nvfp4"])
def test_products_of_f16_are_summed_as_f16(tmp_path, format):
    path = tmp_path / "f16.mlir"
    path.write_text(exported().text.replace("bf16", "f16"))
    text = weft.lower(path, to="local", mesh={"dp": 2, "fsdp": 2, "tp": 2}, quantize=format)
    summed = re.findall(r"weft\.(?:all_reduce|reduce_scatter) sum .*? : \((.*?)\) ->", text)
    assert {type.rsplit("x", 1)[1] for types in summed for type in types.split(", ") if "x" in type} == {"f16>"}


# -- which contractions


def count_scales(module, **options):
    return str(weft.lower(module, to="global", **options)).count("f8E8M0FNU>")


def test_patterns_choose_weights():
    every = count_scales(exported(), quantize="mxfp8")
    ups, downs = (count_scales(exported(), quantize=f"mxfp8=*.{name}") for name in SPECS)
    assert 0 < ups < every and 0 < downs < every
    assert count_scales(exported(), quantize=["mxfp8=*.up", "fp8=*.down"]) == ups
    with pytest.warns(weft.CompileWarning, match="cannot quantize as 'fp8'"):
        assert count_scales(exported(), quantize=["mxfp8=*.{up,down}", "fp8"]) == every
    assert count_scales(exported(), quantize=None) == 0


@pytest.mark.parametrize("quantize, message", [
    ("int8", "cannot quantize as 'int8', expected fp8, fp8-block, mxfp8 or nvfp4"),
    ("mxfp8=[", "cannot quantize weights '\\['"),
    (["mxfp8", "fp8"], "cannot quantize as 'fp8': each linear layer that it is for has an entry before it, 'mxfp8'"),
    ("mxfp8=*router*", "has no linear layer whose weight's name is like that of 'mxfp8=\\*router\\*'"),
])
def test_bad_requests(quantize, message):
    with pytest.raises(weft.CompileError, match=message):
        weft.compile(exported(), quantize=quantize)


def odd_layer(width):
    def update(weight, x):
        return weight - jax.grad(lambda weight: jnp.sum((jnp.abs(x) @ weight) ** 2))(weight)

    return weft.jax.export(update, np.zeros((width, 64), np.float32), np.zeros((32, width), np.float32), donate_argnums=(0,))


def test_blocks_that_divide_nothing_are_refused():
    with pytest.raises(weft.CompileError, match="cannot be quantized as 'fp8-block', the forward of 'weight': blocks of 128 do not "
                       "divide the 64 elements that it sums; nor can any other of the 2 contractions"):
        weft.compile(odd_layer(64), quantize="fp8-block")


def test_what_stays_wide_is_said():
    with pytest.warns(weft.CompileWarning, match="the forward of 'weight': blocks of 32 do not divide the 60 elements that it sums; "
                      "1 of 2 contractions stay wide"):
        weft.compile(odd_layer(60), quantize="mxfp8")


def test_bad_type():
    with pytest.raises(TypeError, match="quantize is 8, expected a text, or several"):
        weft.compile(exported(), quantize=8)
