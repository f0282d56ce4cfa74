# SPDX-License-Identifier: Apache-2.0

"""Arrays in the memory of GPUs, in and out by DLPack, without a copy on the CPU."""

import math

import numpy as np

from weft.arrays import _CODES, _DLPACK
from weft.words import printable

# DLPack's types of devices whose memory a GPU of CUDA has, and the version that is spoken.
_CUDA, _CUDA_MANAGED = 2, 13
_VERSION = (1, 0)


class DeviceArray:
    """A result where it lies on a GPU. It exports DLPack: `torch.from_dlpack(array)`,
    `jax.dlpack.from_dlpack(array)`, `cupy.from_dlpack(array)` take it without a copy.

    The memory is the program's, which stays as long as anybody holds such an array:
    the next step writes the next result there, so copy what is to stay."""

    def __init__(self, owner, address, device, spec):
        self._owner, self._address = owner, address
        self.device, self.shape, self.dtype = device, tuple(spec.shape), spec.dtype

    def __repr__(self):
        return f"weft.DeviceArray({self.dtype}{list(self.shape)} on GPU {self.device})"

    def __dlpack_device__(self):
        return (_CUDA, self.device)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Any stream may read it: a step is over when it has been run."""
        from weft import _native
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"{self!r} does not move to the device {tuple(dl_device)} of DLPack")
        if copy:
            raise BufferError(f"{self!r} is exported as it lies, not as a copy")
        is_versioned = max_version is not None and max_version[0] >= _VERSION[0]
        return _native.give_dlpack(self._address, self.__dlpack_device__(), *_CODES[self.dtype],
                                   list(self.shape), self._owner, is_versioned)


def device_of(leaf):
    """The GPU that has the leaf's memory, or None: it is elsewhere, or on several."""
    find = getattr(leaf, "__dlpack_device__", None)
    try:
        kind, number = find() if find else (None, None)
    except Exception:  # what its library says of arrays that it does not export, in its own way
        return None
    return int(number) if kind in (_CUDA, _CUDA_MANAGED) else None


class DeviceArgument:
    """An array on a GPU that fits an argument, while it is copied there."""

    def __init__(self, leaf, spec, stream):
        from weft import _native
        name = f"'{printable(spec.name)}'"
        tensor = _native.DeviceTensor(_export(leaf, stream))
        if tensor.version[0] > _VERSION[0]:
            raise TypeError(f"{name} is exported in version {tensor.version[0]}.{tensor.version[1]} of DLPack, "
                            f"expected {_VERSION[0]}")
        if tensor.device[0] not in (_CUDA, _CUDA_MANAGED):
            raise TypeError(f"{name} is exported from a device of DLPack's type {tensor.device[0]}, expected a GPU of "
                            f"CUDA ({_CUDA})")
        code, bits, lanes = tensor.type
        dtype = _DLPACK.get((code, bits)) if lanes == 1 else None
        if dtype is None:
            raise TypeError(f"{name} has elements of DLPack's type code {code} with {bits} bits and {lanes} lanes, "
                            "which is not supported")
        if dtype != spec.dtype:
            raise TypeError(f"{name} is {np.dtype(dtype)} on GPU {tensor.device[1]}, the program's is "
                            f"{spec.dtype}: convert it there")
        if tuple(tensor.shape) != tuple(spec.shape):
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}, the program's is {tuple(spec.shape)}")
        if not tensor.is_dense:
            raise ValueError(f"{name} on GPU {tensor.device[1]} is not dense in row-major order: make it contiguous "
                             "there")
        self.device, self.address = tensor.device[1], tensor.address
        self.bytes = math.prod(spec.shape) * spec.dtype.itemsize
        self._tensor = tensor  # keeps the memory


def _export(leaf, stream):
    """The leaf's capsule, once what writes it comes before what is put on the stream."""
    try:
        return leaf.__dlpack__(stream=stream, max_version=_VERSION)
    except TypeError:  # a library from before there were versions
        return leaf.__dlpack__(stream=stream)
