# SPDX-License-Identifier: Apache-2.0

"""The quantization formats, written out: the reference of what compiled steps give, byte for byte.

A tensor is quantized in two phases. `amax` takes the largest magnitude of each
block; `scales` makes of it what elements are multiplied by, and what is stored
beside them. `cast` rounds. `quantize` is the three together, `dequantize` the
way back. `hadamard` transforms an operand before it is quantized.

    >>> import numpy as np
    >>> from weft import quantization
    >>> q = quantization.quantize(np.linspace(-1, 1, 64, dtype=np.float32), "mxfp8")
    >>> q.data.dtype, q.scales.view(np.uint8)
    (dtype(float8_e4m3fn), array([119, 119], dtype=uint8))

All arithmetic is that of IEEE f32: every operation is rounded to nearest, ties
to even, and denormals are kept. What is written here as integers is meant so.
docs/quantization.md explains the choices, and how packages differ.
"""

import dataclasses
import itertools
import math
import typing
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array: typing.TypeAlias = "np.ndarray[typing.Any, np.dtype[typing.Any]]"
Block: typing.TypeAlias = "int | Sequence[int] | None"

E4M3, E5M2 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)
E2M1, E8M0 = np.dtype(ml_dtypes.float4_e2m1fn), np.dtype(ml_dtypes.float8_e8m0fnu)
F32 = np.dtype(np.float32)

# The largest finite number of each type of elements, and its NaN. E2M1 has none.
LARGEST = {E4M3: np.float32(448), E5M2: np.float32(57344), E2M1: np.float32(6)}
NAN_CODE = {E4M3: 0x7F, E5M2: 0x7F, E2M1: 0}
INPUTS = (F32, np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16))

F32_MAX = np.finfo(np.float32).max
F32_NAN = np.uint32(0x7FC00000).view(np.float32)  # the only NaN that is stored in f32
TWO_TO_MINUS_127 = np.uint32(0x00400000).view(np.float32)
HADAMARD = 16
NEGATED = 0xD7E8  # bit k: whether the Hadamard transform negates element k of 16


@dataclasses.dataclass(frozen=True)
class Format:
    """A format: the types it may store elements in (the first is the default), the length of
    its blocks (None: the tensor is one block), the type of their scales."""
    elements: tuple[np.dtype, ...]
    length: int | None
    scale: np.dtype


FORMATS = {
    "fp8": Format((E4M3, E5M2), None, F32),
    "fp8-block": Format((E4M3, E5M2), 128, F32),
    "mxfp8": Format((E4M3, E5M2), 32, E8M0),
    "nvfp4": Format((E2M1,), 16, E4M3),
}


class Scales(typing.NamedTuple):
    """What elements are multiplied by, what is stored of it for each block, and for the tensor
    (nvfp4; else None)."""
    multiplier: Array
    stored: Array
    tensor: np.float32 | None


@dataclasses.dataclass(frozen=True, eq=False)
class Quantized:
    """A quantized tensor.

    data: the elements, in the shape of the tensor, in an 8-bit type or float4_e2m1fn
    scales: one for each block, with which data is multiplied to get back
    global_scale: the f32 scale of the whole tensor (nvfp4), or None
    format: the name in FORMATS
    block: the lengths of a block, one for each dim
    """
    data: Array
    scales: Array
    global_scale: np.float32 | None
    format: str
    block: tuple[int, ...]

    def to_bytes(self) -> tuple[bytes, bytes, bytes]:
        """Data (4-bit elements packed), scales and global scale as they lie in memory."""
        data = pack(self.data) if self.data.dtype == E2M1 else self.data
        tensor = b"" if self.global_scale is None else np.float32(self.global_scale).tobytes()
        return data.tobytes(), self.scales.tobytes(), tensor


def amax(x: npt.ArrayLike, block: Block = None, axis: int = -1) -> Array:
    """The largest magnitude of each block, in f32; 0 of nothing, NaN if any element is NaN.

    block: None for one block; a number for blocks along `axis`; or the lengths of the last
    dims' blocks, as in (16, 16). A block that the tensor ends within is the maximum of what
    is there, as if padded with zeros. The result has the dims of x, each divided by the
    block's and rounded up; one block of all gives a scalar.
    """
    x = _input(x)
    # Without the sign, the bits of floats are in the order of the floats; NaN is above all.
    bits = x.view(np.uint32) & np.uint32(0x7FFFFFFF)
    if block is not None:
        bits = _blocks(bits, _block(x.shape, block, axis))
    within = None if block is None else tuple(range(1, bits.ndim, 2))
    return _one_nan(np.asarray(bits.max(axis=within, initial=np.uint32(0))).view(np.float32))


def scales(largest: npt.ArrayLike, format: str, element: npt.DTypeLike | None = None,
           tensor_amax: npt.ArrayLike | None = None) -> Scales:
    """The scales of blocks, from their `amax`.

    element: the type of the elements: E4M3 unless said, E2M1 for nvfp4
    tensor_amax: the amax of the whole tensor, over all ranks (nvfp4 only)
    """
    largest = np.asarray(largest, np.float32)
    dtype = _element(format, element)
    with np.errstate(all="ignore"):
        if format == "nvfp4":
            if tensor_amax is None:
                raise ValueError("nvfp4: scales need tensor_amax, the amax of the whole tensor")
            return _nvfp4_scales(largest, np.asarray(tensor_amax, np.float32).reshape(()))
        if format == "mxfp8":
            return _mxfp8_scales(largest, LARGEST[dtype])
        return _fp8_scales(largest, LARGEST[dtype], powers=format == "fp8-block")


def _fp8_scales(largest, limit, powers):
    scale = limit / largest
    scale = np.where(scale == np.inf, F32_MAX, scale)
    scale = np.where(largest == 0, np.float32(1), scale)
    if powers:
        # The power of two below: the exponent's bits.
        floor = (scale.view(np.uint32) & np.uint32(0x7F800000)).view(np.float32)
        scale = np.where(np.isnan(scale), F32_NAN, floor)
    return Scales(_one_nan(scale), _one_nan(np.float32(1) / scale), None)


def _mxfp8_scales(largest, limit):
    # Rounded up: no element is saturated, but by what a subnormal quotient loses.
    quotient = (largest * (np.float32(1) / limit)).astype(np.float32)
    bits = quotient.view(np.uint32)
    exponent, mantissa = bits >> np.uint32(23), bits & np.uint32(0x7FFFFF)
    up = (mantissa != 0) & ((exponent != 0) | (mantissa > 0x400000))
    exponent = np.minimum(exponent + up, 254)
    exponent = np.where(np.isnan(quotient), 255, exponent).astype(np.uint8)
    return Scales(_power(254 - exponent.astype(np.int32)), exponent.view(E8M0), None)


def _nvfp4_scales(largest, tensor):
    encode = np.float32(2688) / tensor  # 448 * 6
    encode = np.where(encode == np.inf, F32_MAX, encode)
    encode = np.where((tensor == 0) | (encode == 0), np.float32(1), encode)
    decode = np.float32(1) / encode
    target = largest * (encode * (np.float32(1) / np.float32(6)))
    stored = _rounded(np.where(target > 448, np.float32(448), target), E4M3)
    multiplier = np.float32(1) / (stored.astype(np.float32) * decode)
    multiplier = np.where(multiplier == np.inf, F32_MAX, multiplier)
    # An infinity must not become finite. The multiplier is then of no importance.
    whole = np.where(tensor == np.inf, tensor, decode)
    return Scales(_one_nan(multiplier), stored, _one_nan(whole)[()])


def cast(x: npt.ArrayLike, multiplier: npt.ArrayLike, element: npt.DTypeLike,
         bits: npt.ArrayLike | None = None) -> Array:
    """Elements times `multiplier` (which broadcasts), saturated and rounded to nearest even.

    bits: of E2M1, 8 random bits for each element: rounds up with the probability of what is
    beyond the number below, in 256ths
    """
    dtype = np.dtype(element)
    with np.errstate(all="ignore"):
        y = (_input(x) * np.asarray(multiplier, np.float32)).astype(np.float32)
    if dtype == E2M1:
        y = y + np.float32(0)  # -0 becomes +0
    if bits is None:
        return _rounded(y, dtype)
    if dtype != E2M1:
        raise ValueError(f"{dtype.name} is not rounded stochastically, only {E2M1.name}")
    # The sum carries into the next number where the random bits say so; what is beyond that
    # number is cut off. From 1 on a mantissa has one bit; below, there are 0 and 0.5.
    size = np.minimum(np.abs(y), LARGEST[E2M1])
    step = np.where(size >= 4, np.float32(2), np.where(size >= 2, np.float32(1), np.float32(0.5)))
    total = size + np.asarray(bits, np.uint8).astype(np.float32) * np.float32(1 / 256) * step
    cut = (total.view(np.uint32) & np.uint32(0xFFC00000)).view(np.float32)
    cut = np.where(total >= 1, cut, np.where(total >= 0.5, np.float32(0.5), np.float32(0)))
    return _rounded(np.where(np.isnan(y), y, np.copysign(cut, y)), E2M1)


def quantize(x: npt.ArrayLike, format: str, block: Block = None, axis: int = -1, *,
             element: npt.DTypeLike | None = None, tensor_amax: npt.ArrayLike | None = None,
             seed: int | None = None, stream: int = 0, index: npt.ArrayLike | None = None) -> Quantized:
    """A tensor of f32, bf16 or f16 in `format`: fp8, fp8-block, mxfp8 or nvfp4.

    block: the blocks that share a scale, as for `amax`; if not given, the format's length
        along `axis` (128, 32, 16), which is the dim that a product sums over
    element: float8_e5m2 instead of float8_e4m3fn
    tensor_amax: of a shard of a tensor in fp8 or nvfp4, the amax of the whole tensor
    seed: round stochastically (nvfp4), by `random_bits` of this seed and `stream`
    index: of a shard, each element's row-major index in the whole tensor
    """
    x = _input(x)
    dtype = _element(format, element)
    lengths = _block(x.shape, FORMATS[format].length if block is None else block, axis)
    whole = amax(x) if tensor_amax is None else np.asarray(tensor_amax, np.float32).reshape(())
    if format == "fp8":
        if block is not None:
            raise ValueError(f"fp8 has one scale for the tensor, not one for each block of {block}")
        found = scales(whole, format, dtype)
    else:
        found = scales(amax(x, lengths), format, dtype, whole)
    bits = None
    if seed is not None:
        where = np.arange(x.size, dtype=np.uint64).reshape(x.shape) if index is None else index
        bits = random_bits(where, seed, stream)
    data = cast(x, _spread(found.multiplier, lengths, x.shape), dtype, bits)
    return Quantized(data, found.stored, found.tensor, format, tuple(lengths))


def dequantize(q: Quantized) -> Array:
    """What a quantized tensor stands for, in f32: data times scale, times global scale."""
    stored = q.scales
    if stored.dtype == E8M0:
        stored = _power(stored.view(np.uint8).astype(np.int32))
    with np.errstate(all="ignore"):
        y = q.data.astype(np.float32) * _spread(stored.astype(np.float32), q.block, q.data.shape)
        if q.global_scale is not None:
            y = y * np.float32(q.global_scale)
    return _one_nan(y)


def random_bits(index: npt.ArrayLike, seed: int, stream: int = 0) -> Array:
    """8 random bits for each element, from its row-major index in the whole tensor alone.

    Elements that are sharded otherwise, or computed by another kernel, get the same bits.
    Four elements take the four bytes of one word. `seed` and `stream` are of 32 bits; a
    training step takes a new seed each time, each quantization within it its own stream.
    """
    index = np.asarray(index, np.uint64)
    quad = index >> np.uint64(2)
    low, high = quad.astype(np.uint32), (quad >> np.uint64(32)).astype(np.uint32)
    with np.errstate(over="ignore"):
        first = _mix(np.uint32(seed) ^ np.uint32(0x9E3779B9))
        second = _mix(np.uint32(stream) ^ first ^ np.uint32(0x85EBCA6B))
        word = _mix(_mix(low ^ first) + second + high * np.uint32(0x9E3779B9))
    return (word >> (np.uint32(8) * (index & np.uint64(3)).astype(np.uint32))).astype(np.uint8)


def _mix(h):
    """A bijection of 32 bits in which each bit of the result depends on all of h."""
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x7FEB352D)
    h = (h ^ (h >> np.uint32(15))) * np.uint32(0x846CA68B)
    return h ^ (h >> np.uint32(16))


def hadamard(x: npt.ArrayLike, axis: int = -1) -> Array:
    """The random Hadamard transform of each 16 elements along `axis`, in the type of x.

    It is x * D * H / 4: D negates the elements in NEGATED, H[i, j] is 1, or -1 if i & j has
    an odd number of bits. D * H / 4 is orthogonal: applied to both operands along the dim
    that a product sums over, it changes nothing but the rounding. Computed in f32: four
    times sums and differences of elements 1, 2, 4, 8 apart, then a quarter of it.
    """
    given = np.asarray(x)
    values = np.moveaxis(_input(given), axis, -1)
    if values.shape[-1] % HADAMARD:
        raise ValueError(f"the transform takes {HADAMARD} elements at a time, which do not divide the {values.shape[-1]} along axis {axis}")
    groups = values.reshape(-1, HADAMARD)
    negated = (NEGATED >> np.arange(HADAMARD)) & 1 == 1
    groups = np.where(negated, -groups, groups)
    with np.errstate(all="ignore"):
        for apart in (1, 2, 4, 8):
            pairs = groups.reshape(-1, HADAMARD // (2 * apart), 2, apart)
            one, two = pairs[:, :, :1], pairs[:, :, 1:]
            groups = np.concatenate([one + two, one - two], axis=2).reshape(-1, HADAMARD)
        result = (groups * np.float32(0.25)).astype(given.dtype)
    return np.moveaxis(result.reshape(values.shape), -1, axis)


def pack(data: Array) -> Array:
    """4-bit elements as bytes: two each in row-major order, the first in the low bits. An odd
    element at the end is alone in its byte."""
    codes = data.view(np.uint8).reshape(-1) & 0xF
    codes = np.pad(codes, (0, codes.size % 2))
    return codes[::2] | (codes[1::2] << 4)


def unpack(packed: Array, shape: Sequence[int]) -> Array:
    """The 4-bit elements of a shape that `pack` made bytes of."""
    codes = np.stack([packed & 0xF, packed >> 4], axis=-1).reshape(-1)
    return codes[:math.prod(shape)].reshape(shape).astype(np.uint8).view(E2M1)


def _input(x):
    """The values in f32. A type that f32 does not hold is refused, rather than rounded."""
    x = np.asarray(x)
    if x.dtype not in INPUTS:
        raise TypeError(f"quantized are f32, bf16 and f16, not {x.dtype.name}")
    return np.ascontiguousarray(x.astype(np.float32)).reshape(x.shape)


def _element(format, element):
    if format not in FORMATS:
        raise ValueError(f"no format is named '{format}'; there are {', '.join(FORMATS)}")
    allowed = FORMATS[format].elements
    dtype = allowed[0] if element is None else np.dtype(element)
    if dtype not in allowed:
        raise ValueError(f"{format} stores {' or '.join(t.name for t in allowed)}, not {dtype.name}")
    return dtype


def _block(shape, block, axis):
    """The lengths of a block, one for each dim."""
    if block is None:
        return tuple(shape)
    lengths = [1] * len(shape)
    if isinstance(block, (int, np.integer)):
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"no axis {axis}, along which blocks of {block} would lie, in shape {tuple(shape)}")
        lengths[axis] = int(block)
    else:
        if len(block) > len(shape):
            raise ValueError(f"blocks of {tuple(block)} have more dims than shape {tuple(shape)}")
        lengths[len(shape) - len(block):] = [int(length) for length in block]
    if any(length < 1 for length in lengths) and math.prod(shape):
        raise ValueError(f"a block has at least one element along each dim, not {tuple(lengths)}")
    return tuple(max(length, 1) for length in lengths)


def _blocks(x, lengths):
    """Each dim becomes two: its blocks, and within a block. The last ones are padded with zeros."""
    x = np.pad(x, [(0, -size % length) for size, length in zip(x.shape, lengths)])
    return x.reshape(tuple(itertools.chain.from_iterable(
        (size // length, length) for size, length in zip(x.shape, lengths))))


def _spread(values, lengths, shape):
    """The value of its block for each element."""
    values = np.asarray(values)
    if values.ndim == 0:
        return np.broadcast_to(values, shape)
    for axis, (length, size) in enumerate(zip(lengths, shape)):
        values = np.repeat(values, length, axis).take(range(size), axis)
    return values


def _rounded(y, dtype):
    """Saturated, rounded to nearest even; NaN becomes the one code that the type has for it."""
    nan = np.isnan(y)
    limit = LARGEST[dtype]
    finite = np.clip(np.where(nan, np.float32(0), y), -limit, limit)
    codes = finite.astype(dtype).view(np.uint8)
    return np.where(nan, np.uint8(NAN_CODE[dtype]), codes).view(dtype)


def _one_nan(values):
    return np.where(np.isnan(values), F32_NAN, values)


def _power(exponent):
    """2^(exponent - 127) by its bits: -1 of it means NaN, as does 255; 0 is subnormal."""
    bits = (np.clip(exponent, 0, 254).astype(np.uint32) << np.uint32(23)).view(np.float32)
    value = np.where(exponent == 0, TWO_TO_MINUS_127, bits)
    return np.where((exponent == -1) | (exponent == 255), F32_NAN, value)
