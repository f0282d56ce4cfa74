# SPDX-License-Identifier: Apache-2.0

"""weft.quantization, the written reference: against stored bytes, ml_dtypes' casts, and values computed by hand."""

import json
import pathlib

import ml_dtypes
import numpy as np
import pytest
from weft import quantization as q

DATA = pathlib.Path(__file__).parent / "data/quantization.npz"  # made by bench/quantization_references.py --write
E4M3, E5M2, E2M1 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn
F32_MAX, INF, NAN = np.finfo(np.float32).max, np.inf, np.nan


def f32(*values):
    return np.array(values, np.float32)


def codes(array):
    return [int(code) for code in np.asarray(array).reshape(-1).view(np.uint8)]


def bits(value):
    return int(np.float32(value).view(np.uint32))


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def same(one, two):
    assert one.to_bytes() == two.to_bytes() and one.data.shape == two.data.shape and one.scales.shape == two.scales.shape


# ---- stored bytes

def stored():
    with np.load(DATA) as file:
        arrays = dict(file)
    return arrays, json.loads(arrays["cases"].tobytes())


def test_stored_bytes():
    arrays, cases = stored()
    assert len(cases) > 100
    for case in cases:
        x = arrays[case["x"]].view(case["dtype"])
        arguments = {k: tuple(v) if k == "block" else v for k, v in case["arguments"].items()}
        if arguments.pop("hadamard", False):
            x = q.hadamard(x, arguments["axis"])
        got = b"".join(q.quantize(x, **arguments).to_bytes())
        assert got == arrays[case["y"]].tobytes(), (case["case"], case["input"])


def test_stored_bytes_are_those_of_the_packages():
    """What differs from them is in docs/quantization.md, and nothing else does."""
    tiny, zero = {"subnormal", "1e-37 bf16"}, {"zeros"}
    apart = {
        "TE": {"fp8 e4m3": {"1e-37 bf16"}, "fp8 e5m2": {"1e-37 bf16"}, "fp8-block 1x128": {"nan"}, "fp8-block 128x128": {"nan"},
               **{f"nvfp4 {case}": tiny | zero for case in ("1x16", "16x16", "1x16 columns", "hadamard columns")}},
        "torchao": {"fp8 e4m3": tiny | zero, "fp8 e5m2": tiny | zero, "mxfp8 e4m3": tiny | {"edges"},
                    "nvfp4 1x16": tiny | zero | {"randn bf16", "wide", "ties", "ties e4m3", "edges", "inf", "nan"}},
    }
    for case in stored()[1]:
        for package, cases in apart.items():
            if case["case"] in cases:
                assert (package in case["equal"]) == (case["input"] not in cases[case["case"]]), (package, case["case"], case["input"])


# ---- element types

@pytest.mark.parametrize("dtype", [E4M3, E5M2, E2M1])
def test_casts_are_those_of_ml_dtypes_saturated(dtype):
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    with np.errstate(invalid="ignore"):
        x = np.concatenate([halves, np.nextafter(halves, f32(INF)), np.nextafter(halves, f32(-INF)), f32(1e30, F32_MAX, 1e-45)])
    got = q.cast(x, 1.0, dtype)
    limit = q.LARGEST[np.dtype(dtype)]
    numbers = ~np.isnan(x) & ((x != 0) | (dtype != E2M1))
    assert codes(got[numbers]) == codes(np.clip(x[numbers], -limit, limit).astype(dtype))
    assert set(codes(got[np.isnan(x)])) == {0 if dtype == E2M1 else 0x7F}
    assert codes(q.cast(f32(0, -0.0), 1.0, dtype)) == [0, 0 if dtype == E2M1 else 0x80]


def test_e2m1_by_hand():
    x = f32(.25, .75, 1.25, 1.75, 2.5, 3.5, 5, 6, 7, INF, -.25, -.75, -5, -1e-30, -INF, .2500001)
    assert codes(q.cast(x, 1.0, E2M1)) == [0, 2, 2, 4, 4, 6, 6, 7, 7, 7, 8, 10, 14, 8, 15, 1]


# ---- scales

@pytest.mark.parametrize("values, expected", [
    ([448], 127), ([np.nextafter(f32(448), f32(INF))[0]], 128), ([-448], 127), ([449], 128), ([896], 128), ([1], 119), ([1.75], 119),
    ([1.7500001], 120), ([0, -0.0], 0), ([448 * 2.0**-127], 0), ([448 * 2.0**-127 * (1 + 2**-20)], 1), ([448 * 2.0**-126], 1),
    ([1e-45], 0), ([F32_MAX], 247), ([INF], 254), ([1, -INF], 254), ([NAN], 255), ([INF, NAN], 255)])
def test_mxfp8_exponents_by_hand(values, expected):
    result = q.quantize(f32(*values), "mxfp8")
    assert codes(result.scales) == [expected]


def test_mxfp8_scales_are_the_smallest_that_do_not_saturate():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.integers(0x04800000, 0x7F800000, 4000), np.arange(-300, 300) + bits(448), np.arange(-300, 300) + bits(448 * 2.0**60)])
    x = x.astype(np.uint32).view(np.float32)
    exponent = q.scales(x, "mxfp8").stored.view(np.uint8).astype(int)
    limit = np.ldexp(448.0, exponent - 127)  # exact, in f64
    assert (x <= limit).all() and (x > limit / 2).all()


def test_mxfp8_data_by_hand():
    result = q.quantize(f32(448, 1, -0.0, -17, 19, 2.0**-10, 2.0**-10 * 1.01), "mxfp8")
    assert codes(result.data) == [0x7E, 0x38, 0x80, 0xD8, 0x5A, 0, 1]  # 17 and 19 are ties: 16, 20
    inf = q.quantize(f32(INF, -INF, F32_MAX, 1), "mxfp8")
    assert codes(inf.data) == [0x7E, 0xFE, 0x40, 0]
    assert list(q.dequantize(inf)) == [INF, -INF, INF, 0]
    nan = q.quantize(f32(NAN, -NAN, 1, INF), "mxfp8")
    assert codes(nan.data) == [0x7F] * 4 and np.isnan(q.dequantize(nan)).all()
    tiny = q.quantize(f32(1e-45, -3e-42), "mxfp8")  # times 2^127: 2^-22 and -2^-10.97
    assert codes(tiny.data) == [0, 0x80]
    assert codes(q.quantize(f32(2.0**-130), "mxfp8").data) == [0x20]  # 2^-3
    assert codes(q.quantize(f32(57344, 1), "mxfp8", element=E5M2).scales) == [127]


@pytest.mark.parametrize("values, scale, data", [
    ([448, 1, -0.0], 1.0, [0x7E, 0x38, 0x80]), ([896, 1], 2.0, [0x7E, 0x30]), ([0, -0.0], 1.0, [0, 0x80]),
    ([3, -1], 1 / np.float32(448 / 3), [0x7E, 0xF1]),  # -149.33 lies between -144 and -160
    ([1e-38], 1 / F32_MAX, [0x46]),  # 1e-38 * F32_MAX = 3.403
    ([INF, 1, -1], INF, [0x7F, 0, 0x80]), ([NAN, 1], NAN, [0x7F, 0x7F])])
def test_fp8_by_hand(values, scale, data):
    result = q.quantize(f32(*values), "fp8")
    assert bits(result.scales) == bits(scale) and result.scales.shape == ()
    assert codes(result.data) == data
    if not np.isfinite(scale):
        assert np.isnan(q.dequantize(result)).all()


@pytest.mark.parametrize("values, scale, data", [
    ([448], 1.0, [0x7E]), ([449], 2.0, [0x76]), ([447], 1.0, [0x7E]), ([3, -1], 2.0**-7, [0x7C, 0xF0]), ([0], 1.0, [0]),
    ([1e-38], 2.0**-127, [0x3E]),  # 1e-38 * 2^127 = 1.70
    ([INF, -1], INF, [0x7F, 0x80]), ([NAN, 1], NAN, [0x7F, 0x7F])])
def test_fp8_block_by_hand(values, scale, data):
    result = q.quantize(f32(*values), "fp8-block")
    assert bits(result.scales[0]) == bits(scale) and codes(result.data) == data


def test_fp8_block_scales_are_powers_of_two():
    scales = q.scales(np.abs(normal(1000)) * 100, "fp8-block")
    assert (np.frexp(scales.stored)[0] == 0.5).all() and (scales.multiplier * scales.stored == 1).all()
    assert (np.frexp(q.scales(np.abs(normal(1000)), "fp8").stored)[0] != 0.5).any()


def test_nvfp4_by_hand():
    x = np.zeros(64, np.float32)
    x[:4], x[16:18], x[32] = [2688, -1344, 100, -0.0], [6, -2.5], 2.0**-10
    result = q.quantize(x, "nvfp4")
    assert bits(result.global_scale) == bits(1)
    assert codes(result.scales) == [0x7E, 0x38, 0x00, 0x00]  # 448, 1, 0, 0
    assert codes(result.data)[:4] == [7, 13, 0, 0]
    assert codes(result.data)[16:18] == [7, 12] and codes(result.data)[32] == 7  # the last saturates, and counts for nothing
    assert list(q.dequantize(result)[[0, 1, 16, 17, 32]]) == [2688, -1344, 6, -2, 0]


def test_nvfp4_of_what_is_not_finite_is_not_finite():
    x = normal(4, 32)
    x[1, 3] = -INF
    inf = q.quantize(x, "nvfp4")
    assert inf.global_scale == INF and codes(inf.data[1, 3]) == [15] and not np.isfinite(q.dequantize(inf)).any()
    x[2, 5] = NAN
    nan = q.quantize(x, "nvfp4")
    assert bits(nan.global_scale) == 0x7FC00000 and set(codes(nan.scales)) == {0x7F} and set(codes(nan.data)) == {0}
    assert np.isnan(q.dequantize(nan)).all()
    zero = q.quantize(np.zeros((4, 32), np.float32), "nvfp4")
    assert zero.global_scale == 1 and set(codes(zero.scales) + codes(zero.data)) == {0}


def test_amax():
    x = f32(1, -3, 2, NAN, -0.0, -0.0, -INF, 4)
    assert [bits(v) for v in q.amax(x, 2)] == [bits(3), 0x7FC00000, 0, bits(INF)]
    assert bits(q.amax(-f32(NAN))) == 0x7FC00000 and q.amax(f32()) == 0 and q.amax(f32()).shape == ()
    assert q.amax(normal(5, 70, 130), (64, 128)).shape == (5, 2, 2)
    assert q.amax(normal(5, 70), 32, axis=0).shape == (1, 70)


# ---- blocks

@pytest.mark.parametrize("name, length", [("fp8-block", 128), ("mxfp8", 32), ("nvfp4", 16)])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16])
def test_blocks_are_independent_and_may_be_cut_off(name, length, dtype):
    x = normal(3, 300).astype(dtype)
    whole = q.quantize(x, name)
    assert whole.scales.shape == (3, -(-300 // length))
    for start in range(0, 300, length):
        part = q.quantize(x[:, start:start + length], name, tensor_amax=q.amax(x))
        assert codes(part.data) == codes(whole.data[:, start:start + length])
        assert part.scales.tobytes() == np.ascontiguousarray(whole.scales[:, start // length]).tobytes()
    padded = q.quantize(np.pad(x, ((0, 0), (0, -300 % length))), name)
    assert codes(padded.data[:, :300]) == codes(whole.data) and padded.scales.tobytes() == whole.scales.tobytes()


@pytest.mark.parametrize("name", list(q.FORMATS))
def test_blocks_along_another_axis_are_those_of_the_transposed(name):
    x = normal(3, 70, 40)
    along = q.quantize(x, name, axis=1)
    turned = q.quantize(x.transpose(0, 2, 1), name)
    assert codes(np.ascontiguousarray(along.data.transpose(0, 2, 1))) == codes(turned.data)
    if name != "fp8":
        assert codes(np.ascontiguousarray(along.scales.transpose(0, 2, 1))) == codes(turned.scales)


@pytest.mark.parametrize("name, block", [("fp8-block", (128, 128)), ("nvfp4", (16, 16))])
def test_square_blocks_are_the_same_by_rows_and_columns(name, block):
    x = normal(150, 40)
    by_rows, by_columns = q.quantize(x, name, block), q.quantize(x.T, name, block)
    assert codes(np.ascontiguousarray(by_rows.data.T)) == codes(by_columns.data)
    assert codes(np.ascontiguousarray(by_rows.scales.T)) == codes(by_columns.scales)


@pytest.mark.parametrize("name, error", [("fp8", 2**-4), ("fp8-block", 2**-4), ("mxfp8", 2**-4), ("nvfp4", 0.21)])
def test_dequantized_is_near(name, error):
    x = 1 + np.abs(normal(8, 256))  # within a few powers of two: no element is subnormal
    assert np.max(np.abs(q.dequantize(q.quantize(x, name)) / x - 1)) <= error


def test_packed():
    data = np.array([1, 15, 7, 0, 9], np.uint8).view(E2M1)
    assert list(q.pack(data)) == [0xF1, 0x07, 0x09]
    assert codes(q.unpack(q.pack(data), (5,))) == [1, 15, 7, 0, 9]
    result = q.quantize(normal(7, 33), "nvfp4")
    assert [len(part) for part in result.to_bytes()] == [116, 7 * 3, 4]


# ---- the Hadamard transform

def test_hadamard():
    signs = np.array([1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1])
    matrix = np.array([[(-1) ** (i & j).bit_count() for j in range(16)] for i in range(16)])
    x = normal(6, 48, 5)
    expected = np.einsum("agib,ij->agjb", x.reshape(6, 3, 16, 5).astype(np.float64), np.diag(signs) @ matrix / 4).reshape(x.shape)
    np.testing.assert_allclose(q.hadamard(x, 1), expected, rtol=0, atol=2e-6)
    whole = np.arange(32, dtype=np.float32)  # sums of integers are exact
    assert q.hadamard(whole).tolist() == (whole.reshape(2, 16) @ np.diag(signs) @ matrix / 4).reshape(-1).tolist()
    narrow = normal(64).astype(ml_dtypes.bfloat16)
    assert q.hadamard(narrow).dtype == narrow.dtype
    np.testing.assert_array_equal(q.hadamard(narrow), q.hadamard(narrow.astype(np.float32)).astype(ml_dtypes.bfloat16))


# ---- stochastic rounding

def mixed(h):
    h = (h ^ h >> 16) * 0x7FEB352D % 2**32
    h = (h ^ h >> 15) * 0x846CA68B % 2**32
    return h ^ h >> 16


@pytest.mark.parametrize("index", [0, 1, 7, 12345, 2**34 + 5, 2**40 + 3])
@pytest.mark.parametrize("seed, stream", [(0, 0), (1, 0), (0, 1), (2**32 - 1, 77)])
def test_random_bits_by_hand(index, seed, stream):
    first = mixed(seed ^ 0x9E3779B9)
    second = mixed(stream ^ first ^ 0x85EBCA6B)
    quad = index >> 2
    word = mixed((mixed(quad % 2**32 ^ first) + second + (quad >> 32) * 0x9E3779B9) % 2**32)
    assert int(q.random_bits(index, seed, stream)) == word >> 8 * (index & 3) & 255


def test_random_bits_are_even_and_unrelated():
    rows = [q.random_bits(np.arange(1 << 16), seed, stream).astype(int) for seed, stream in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]]
    for row in rows:
        counts = np.bincount(row, minlength=256)
        assert 160 < ((counts - 256.0) ** 2 / 256).sum() < 370  # chi-square of 255: +-5 sigma
    pairs = [(a, b) for i, a in enumerate(rows) for b in rows[i + 1:]] + [(rows[0][:-k], rows[0][k:]) for k in (1, 2, 3, 4, 5, 16, 64, 1024)]
    for one, two in pairs:
        assert abs(np.corrcoef(one, two)[0, 1]) < 5 / 256  # 5 sigma


def test_stochastic_rounding_by_hand():
    x = f32(0.5, 6, -3, 0, -0.0, 9, -9, 0.25, 0.25, -0.1, -0.1, 1.9, 1.9, 5, 5, NAN)
    random = [255, 255, 255, 255, 255, 255, 255, 127, 128, 204, 205, 51, 52, 127, 128, 9]
    assert codes(q.cast(x, 1.0, E2M1, random)) == [1, 7, 13, 0, 0, 7, 15, 0, 1, 8, 9, 3, 4, 6, 7, 0]


def test_stochastic_rounding_is_a_floor_in_steps():
    def step(v):
        return np.where(v >= 4, f32(2), np.where(v >= 2, f32(1), f32(0.5)))
    x = np.concatenate([normal(4000) * 3, np.arange(-100, 101, dtype=np.float32) / 16, normal(500) * f32(1e-8)])
    for random in (0, 1, 127, 128, 254, 255):
        size = np.minimum(np.abs(x), 6)
        total = size + f32(random / 256) * step(size)
        expected = np.minimum(np.floor(total / step(total)) * step(total), 6)
        assert q.cast(x, 1.0, E2M1, random).astype(np.float32).tolist() == (expected * np.where(x < 0, -1, 1)).tolist()


def test_a_scale_says_what_was_multiplied_by():
    """Of fp8-block it does exactly; of fp8 it does not, so that a cast needs more than what is stored."""
    largest = np.concatenate([np.abs(normal(1000)), f32(0, 1e-45, 1e-38, F32_MAX, INF)])
    powers, numbers = (q.scales(largest, name) for name in ("fp8-block", "fp8"))
    with np.errstate(divide="ignore", over="ignore"):
        assert (1 / powers.stored == powers.multiplier).all()
        assert (1 / numbers.stored != numbers.multiplier).any()


def test_stochastic_rounding_is_right_in_the_mean():
    values = np.linspace(-6, 6, 97, dtype=np.float32)
    everything = q.cast(values[:, None], 1.0, E2M1, np.arange(256)[None]).astype(np.float64)
    step = np.where(np.abs(values) >= 4, 2, np.where(np.abs(values) >= 2, 1, 0.5))
    off = (np.abs(values) - np.abs(everything).mean(1)) / step
    assert off.min() >= -1e-7 and off.max() < 1 / 256  # of 8 bits: towards zero, by less than a 256th of a step


def test_shards_are_rounded_as_the_whole():
    x = normal(8, 64)
    whole = q.quantize(x, "nvfp4", seed=7, stream=3)
    index = np.arange(x.size).reshape(x.shape)
    for rows, columns in [(slice(0, 8), slice(32, 64)), (slice(4, 6), slice(0, 64)), (slice(1, 3), slice(16, 48))]:
        part = q.quantize(x[rows, columns], "nvfp4", tensor_amax=q.amax(x), seed=7, stream=3, index=index[rows, columns])
        assert codes(part.data) == codes(np.ascontiguousarray(whole.data[rows, columns]))
    assert whole.to_bytes() != q.quantize(x, "nvfp4", seed=8, stream=3).to_bytes()
    assert whole.to_bytes()[1:] == q.quantize(x, "nvfp4").to_bytes()[1:]
    same(whole, q.quantize(x, "nvfp4", seed=7, stream=3))


# ---- bad input

@pytest.mark.parametrize("call, message", [
    (lambda: q.quantize(normal(4), "fp4"), "no format is named 'fp4'; there are fp8, fp8-block, mxfp8, nvfp4"),
    (lambda: q.quantize(normal(4), "nvfp4", element=E4M3), "nvfp4 stores float4_e2m1fn, not float8_e4m3fn"),
    (lambda: q.quantize(np.zeros(4), "fp8"), "quantized are f32, bf16 and f16, not float64"),
    (lambda: q.quantize(normal(4), "mxfp8", axis=1), "no axis 1, along which blocks of 32 would lie, in shape \\(4,\\)"),
    (lambda: q.quantize(normal(4), "nvfp4", (16, 16)), "blocks of \\(16, 16\\) have more dims than shape \\(4,\\)"),
    (lambda: q.quantize(normal(4), "fp8", 2), "fp8 has one scale for the tensor, not one for each block of 2"),
    (lambda: q.amax(normal(4), 0), "a block has at least one element along each dim, not \\(0,\\)"),
    (lambda: q.quantize(normal(4), "mxfp8", seed=1), "float8_e4m3fn is not rounded stochastically, only float4_e2m1fn"),
    (lambda: q.scales(f32(1), "nvfp4"), "nvfp4: scales need tensor_amax"),
    (lambda: q.hadamard(normal(2, 24)), "takes 16 elements at a time, which do not divide the 24 along axis -1"),
])
def test_bad_input(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
