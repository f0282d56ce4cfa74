# SPDX-License-Identifier: Apache-2.0

"""What a process with the emulated GPU does, for test_device_arrays.py:

    device_arrays.py CASE PROGRAM.so
"""

import sys

import ml_dtypes
import numpy as np
import weft
from foreign_gpu import Foreign, Gpu, OldForeign, read, take

STATE = np.arange(24, dtype=np.float32).reshape(6, 4)
X = np.arange(24, dtype=np.float32)[::-1].reshape(6, 4) * 2


def refusal(error, call, *arguments, **keywords):
    try:
        call(*arguments, **keywords)
    except error as refused:
        return str(refused)
    raise AssertionError(f"nothing was refused of {call}")


def goes_in(program):
    """Arrays of either form, also read-only and with an offset; the CPU's beside them."""
    gpu = Gpu()
    for x in (Foreign(gpu, X), OldForeign(gpu, X), Foreign(gpu, X, flags=1), Foreign(gpu, X, offset=8),
              Foreign(gpu, X, strides=[4, 1]), Foreign(gpu, X, version=(1, 9)), Foreign(gpu, X, exported=(13, None))):
        for state in (Foreign(gpu, STATE), STATE):
            program.set_arguments(state, x)
            program.run(2)
            total, double = program.get_results()
            np.testing.assert_array_equal(total, STATE + 2 * X)
            np.testing.assert_array_equal(double, 2 * X)
        assert x.deleted == len(x.streams) == 2, "each export is given back"
        assert all(stream not in (None, 0, -1) for stream in x.streams), x.streams


def goes_out(program):
    """Where it lies, as long as somebody holds it; the next step is seen there."""
    program.set_arguments(STATE, X)
    program.run()
    array = program.get_result(1, on_device=True)
    assert (array.shape, array.dtype, array.device) == ((6, 4), np.float32, 0)
    assert array.__dlpack_device__() == (2, 0)
    for keywords, expected in (({}, b"dltensor"), ({"stream": 1}, b"dltensor"),
                               ({"max_version": (1, 1), "dl_device": (2, 0), "copy": False}, b"dltensor_versioned")):
        capsule, name, form = take(array, **keywords)
        assert name == expected
        np.testing.assert_array_equal(read(form.tensor, np.float32), 2 * X)
        assert list(form.tensor.strides[:2]) == [4, 1] and form.tensor.device.type == 2
        assert name == b"dltensor" or (form.major, form.minor, form.flags) == (1, 0, 0)
    program.set_argument(1, 3 * X)
    program.run()
    del program, array
    np.testing.assert_array_equal(read(form.tensor, np.float32), 6 * X)
    del capsule


def goes_round(program):
    """From one program's GPU to the next step without the CPU."""
    program.set_arguments(STATE, X)
    for _ in range(3):
        program.run()
        program.set_argument(1, program.get_result(1, on_device=True))
    np.testing.assert_array_equal(program.get_result(1), 8 * X)
    np.testing.assert_array_equal(program.get_result(0), STATE + 7 * X)


def is_refused(program):
    gpu = Gpu()
    program.set_arguments(STATE, X)

    def of(error, array):
        return refusal(error, program.set_argument, 1, array)

    said = refusal(ValueError, program.get_result, 1, on_device=True)
    assert said == "result 'double' does not exist before the first step", said
    said = of(TypeError, Foreign(gpu, X.astype(np.float64)))
    assert said == "'x' is float64 on GPU 0, the program's is float32: convert it there", said
    said = of(TypeError, Foreign(gpu, X, code=(5, 64)))
    assert said == "'x' has elements of DLPack's type code 5 with 64 bits and 1 lanes, which is not supported", said
    assert "and 4 lanes" in of(TypeError, Foreign(gpu, X, lanes=4))
    said = of(ValueError, Foreign(gpu, X[:3]))
    assert said == "'x' has shape (3, 4), the program's is (6, 4)", said
    said = of(ValueError, Foreign(gpu, X, strides=[1, 6]))
    assert said == "'x' on GPU 0 is not dense in row-major order: make it contiguous there", said
    said = of(TypeError, Foreign(gpu, X, version=(2, 3)))
    assert said == "'x' is exported in version 2.3 of DLPack, expected 1", said
    said = of(TypeError, Foreign(gpu, X, exported=(10, 0)))
    assert said == "'x' is exported from a device of DLPack's type 10, expected a GPU of CUDA (2)", said
    said = of(ValueError, Foreign(gpu, X, exported=(2, 5)))
    assert said == "argument 'x' is on device 5, and rank 0 on device 0: pass it in the CPU's memory", said
    used = Foreign(gpu, X)
    capsule = used.__dlpack__(stream=1)
    weft._native.DeviceTensor(capsule)
    said = refusal(TypeError, weft._native.DeviceTensor, capsule)
    assert said == "__dlpack__ gave no DLPack capsule that is unused", said
    # All are checked before one is taken.
    refusal(ValueError, program.set_arguments, Foreign(gpu, STATE + 1), Foreign(gpu, X[:3]))
    program.run()
    np.testing.assert_array_equal(program.get_result(0), STATE + X)
    array = program.get_result(1, on_device=True)
    assert "does not move to the device (1, 0)" in refusal(BufferError, array.__dlpack__, dl_device=(1, 0))
    assert "not as a copy" in refusal(BufferError, array.__dlpack__, copy=True)
    assert program.is_usable


def ranks_share(program):
    """Two ranks of one GPU, each with half of the state."""
    gpu = Gpu()
    program.set_arguments(Foreign(gpu, STATE), Foreign(gpu, X))
    program.run()
    np.testing.assert_array_equal(program.get_result(0), STATE + X)
    capsule, _, form = take(program.get_result(1, on_device=True))
    np.testing.assert_array_equal(read(form.tensor, np.float32), 2 * X)
    del capsule
    said = refusal(ValueError, program.get_results, on_device=True)
    assert said == "result 'state' is whole on none of the devices: get it in the CPU's memory", said


def ranks_are_apart(program):
    """A GPU each: arrays come by the CPU, if their library brings them."""
    said = refusal(TypeError, program.set_argument, 1, Foreign(Gpu(1), X))
    assert "Foreign is on a device of DLPack's type 2, expected the CPU's memory (1)" in said
    program.set_arguments(STATE, X)
    program.run()
    np.testing.assert_array_equal(program.get_result(0), STATE + X)
    assert program.get_result(1, on_device=True).device == 0


def host_refuses(program):
    said = refusal(TypeError, program.set_argument, 1, Foreign(Gpu(), X))
    assert "Foreign is on a device of DLPack's type 2, expected the CPU's memory (1)" in said
    program.set_arguments(STATE, X)
    program.run()
    said = refusal(ValueError, program.get_result, 1, on_device=True)
    assert said == "result 'double' is in the CPU's memory", said


if __name__ == "__main__":
    assert ml_dtypes  # what weft's own types need
    globals()[sys.argv[1]](weft.load(sys.argv[2]))
    print("ok")
