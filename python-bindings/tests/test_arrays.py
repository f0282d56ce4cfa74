# SPDX-License-Identifier: Apache-2.0

"""What comes in as an array, and what goes out through DLPack."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import weft
from weft.arrays import as_array, empty, to_numpy

TYPES = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, np.float16,
         np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


def spec(shape, dtype):
    return weft.TensorSpec("x", shape, np.dtype(dtype))


class Foreign:
    """An array of a library that speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("dtype", TYPES)
def test_dlpack_goes_out_and_in(dtype):
    array = empty(spec((2, 3), dtype))
    array[...] = np.arange(6).reshape(2, 3).astype(dtype)
    back = to_numpy(Foreign(array))
    assert back.dtype == dtype and np.shares_memory(back, array)
    np.testing.assert_array_equal(back.astype(np.float64), np.asarray(array).astype(np.float64))


def test_foreign_memory_outlives_its_array():
    back = to_numpy(Foreign(np.full(1000, 7, np.float32)))
    assert (back == 7).all() and not back.flags.writeable


def test_foreign_strides_are_kept():
    array = np.arange(12, dtype=np.int32).reshape(3, 4).T[1:]
    back = to_numpy(Foreign(array))
    assert back.strides == array.strides
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_jax_takes_what_weft_returns(dtype):
    array = empty(spec((4,), dtype))
    array[...] = [1, 2, 3, 4]
    taken = jax.dlpack.from_dlpack(array)
    assert taken.dtype == dtype and taken.tolist() == [1, 2, 3, 4]
    assert jnp.asarray(array).dtype == dtype


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.bool_])
def test_jax_arrays_are_taken(dtype):
    leaf = jnp.ones((3, 2), dtype)
    assert to_numpy(leaf).dtype == dtype and to_numpy(leaf).shape == (3, 2)


def test_extension_types_stay_arrays_of_weft():
    array = empty(spec((4,), ml_dtypes.bfloat16))
    assert isinstance(array, weft.Array) and isinstance(array[1:], weft.Array)
    assert type(empty(spec((4,), np.float32))) is np.ndarray
    assert array.astype(np.float32).__dlpack__() is not None


def test_scalars_and_lists_are_cast():
    assert as_array(3, spec((), np.float32)) == np.float32(3)
    assert as_array([1.0, 2.0], spec((2,), np.float32)).dtype == np.float32
    strided = as_array(np.arange(6, dtype=np.float32)[::2], spec((3,), np.float32))
    assert strided.flags.c_contiguous and strided.tolist() == [0, 2, 4]


def test_integers_keep_their_values():
    assert as_array(7, spec((), np.uint32)).dtype == np.uint32
    assert as_array(np.array([-1, 2]), spec((2,), np.int8)).tolist() == [-1, 2]
    for value, dtype in ((-1, np.uint32), (1 << 40, np.int32), (128, np.int8)):
        with pytest.raises(ValueError, match="'x' is int64 with values that the program's"):
            as_array(value, spec((), dtype))


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match=r"'x' has shape \(3,\), the program's is \(2,\)"):
        as_array(np.zeros(3, np.float32), spec((2,), np.float32))
    with pytest.raises(TypeError, match="'x' is float32, the program's is int32"):
        as_array(np.zeros(2, np.float32), spec((2,), np.int32))
    with pytest.raises(TypeError, match="'x' is object"):
        as_array(object(), spec((), np.float32))
    with pytest.raises(TypeError, match="DLPack type code 5 with 64 bits"):
        to_numpy(Foreign(np.zeros(2, np.complex64)))
    elsewhere = Foreign(np.zeros(2))
    elsewhere.__dlpack_device__ = lambda: (2, 0)
    with pytest.raises(TypeError, match="Foreign is on a device of DLPack's type 2"):
        to_numpy(elsewhere)
