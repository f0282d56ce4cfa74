# SPDX-License-Identifier: Apache-2.0

"""Arrays of any library in, arrays that any library takes out."""

import sys

import ml_dtypes
import numpy as np

from weft.words import printable

# DLPack's type codes and bits.
_DLPACK = {
    (0, 8): np.int8, (0, 16): np.int16, (0, 32): np.int32, (0, 64): np.int64,
    (1, 8): np.uint8, (1, 16): np.uint16, (1, 32): np.uint32, (1, 64): np.uint64,
    (2, 16): np.float16, (2, 32): np.float32, (2, 64): np.float64,
    (4, 16): ml_dtypes.bfloat16, (6, 8): np.bool_,
    (10, 8): ml_dtypes.float8_e4m3fn, (12, 8): ml_dtypes.float8_e5m2,
    (14, 8): ml_dtypes.float8_e8m0fnu,
}
_CODES = {np.dtype(dtype): code for code, dtype in _DLPACK.items()}
# Types whose DLPack export numpy refuses.
_EXTENSIONS = {dtype for dtype in _CODES if dtype.isbuiltin != 1}


class Array(np.ndarray):
    """A numpy array of a type that numpy itself does not know, such as bfloat16.
    It exports DLPack, which numpy's own arrays of such types do not."""

    def __dlpack__(self, **kwargs):
        from weft import _native
        if self.dtype not in _EXTENSIONS:
            return super().__dlpack__(**kwargs)
        bits = self.view(np.ndarray).view(f"u{self.dtype.itemsize}")
        return _native.with_type(bits, *_CODES[self.dtype]).__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return (1, 0)


def empty(spec):
    """An array for the tensor, with unspecified contents."""
    array = np.empty(spec.shape, spec.dtype)
    return array.view(Array) if spec.dtype in _EXTENSIONS else array


def as_bytes(array):
    """The memory of a contiguous array, without a copy."""
    return array.reshape(-1).view(np.uint8)


def to_numpy(leaf):
    """Any array as a numpy array; memory is shared where possible."""
    if not hasattr(leaf, "__dlpack__"):
        return np.asarray(leaf)
    if not hasattr(leaf, "__array__"):
        return _from_dlpack(leaf)
    try:
        return np.asarray(leaf)  # waits for the values, joins pieces of several devices
    except (TypeError, RuntimeError) as error:
        try:
            return _from_dlpack(leaf)  # a type that its library has and numpy has not
        except Exception:
            raise error from None


def _from_dlpack(leaf):
    from weft import _native
    device = leaf.__dlpack_device__()[0]
    if device != 1:
        raise TypeError(f"{type(leaf).__name__} is on a device of DLPack's type {device}, "
                        "expected the CPU's memory (1)")
    bits, code, width = _native.from_dlpack(leaf)
    dtype = _DLPACK.get((code, width))
    if dtype is None:
        raise TypeError(f"DLPack type code {code} with {width} bits is not supported")
    return bits.view(dtype)


def as_array(leaf, spec):
    """The leaf as a contiguous numpy array of the type that the program has."""
    array = to_numpy(_key_data(leaf, spec))
    if array.shape != spec.shape:
        raise ValueError(f"'{printable(spec.name)}' has shape {array.shape}, the program's is {spec.shape}")
    if array.dtype != spec.dtype:
        array = _convert(array, spec)
    return np.ascontiguousarray(array).reshape(spec.shape)


def _key_data(leaf, spec):
    """The data of typed PRNG keys; other leaves as they are."""
    jax = sys.modules.get("jax")
    dtype = getattr(leaf, "dtype", None)
    if jax is None or dtype is None or not jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return leaf
    kind = str(jax.random.key_impl(leaf))
    if kind != spec.key:
        expected = f"of '{spec.key}'" if spec.key else f"of {spec.dtype}: pass jax.random.key_data of it"
        raise TypeError(f"'{printable(spec.name)}' is keys of '{kind}', the program's is {expected}")
    return jax.random.key_data(leaf)


def as_result(array, spec):
    """What the program's caller gets: keys where the function returns keys, if JAX is there."""
    if spec.key is None:
        return array
    try:
        import jax
    except ImportError:
        return array
    return jax.random.wrap_key_data(array, impl=spec.key)


def _convert(array, spec):
    """Floats may be rounded; integers have to keep their values."""
    are_integers = array.dtype.kind in "iu" and spec.dtype.kind in "iu"
    if not are_integers and not np.can_cast(array.dtype, spec.dtype, "same_kind"):
        raise TypeError(f"'{printable(spec.name)}' is {array.dtype}, the program's is {spec.dtype}")
    converted = array.astype(spec.dtype)
    if are_integers and not np.array_equal(converted, array):
        raise ValueError(f"'{printable(spec.name)}' is {array.dtype} with values that the program's "
                         f"{spec.dtype} does not hold")
    return converted
