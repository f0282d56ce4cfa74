# SPDX-License-Identifier: Apache-2.0

"""Arrays of a library that has its memory on the emulated GPU, and speaks DLPack."""

import ctypes
import math

import numpy as np

CODES = {np.dtype(np.float32): (2, 32), np.dtype(np.int32): (0, 32), np.dtype(np.float64): (2, 64)}


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("rank", ctypes.c_int32), ("type", Type),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", DELETER), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
is_capsule = ctypes.pythonapi.PyCapsule_IsValid
is_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]
open_capsule = ctypes.pythonapi.PyCapsule_GetPointer
open_capsule.restype = ctypes.c_void_p
open_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Gpu:
    """Memory by the driver, as another library has it."""

    def __init__(self, number=0):
        self.driver, self.number = ctypes.CDLL("libcuda.so.1"), number
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
        self.context = context

    def call(self, function, *arguments):
        status = getattr(self.driver, function)(*arguments)
        assert status == 0, f"{function}: {status}"

    def take(self, array):
        """The array's bytes on the GPU: their address."""
        address, old = ctypes.c_ulonglong(), ctypes.c_void_p()
        self.call("cuCtxPushCurrent_v2", self.context)
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(array.nbytes, 1)))
        self.call("cuCtxPopCurrent_v2", ctypes.byref(old))
        ctypes.memmove(address.value, array.ctypes.data, array.nbytes)  # emulated memory is the process's
        return address.value


class Foreign:
    """An array, some of whose properties are not what they should be."""

    def __init__(self, gpu, array, *, strides=None, exported=(2, None), version=(1, 0), flags=0, lanes=1, code=None,
                 offset=0):
        array = np.ascontiguousarray(array)
        self.address, self.shape = gpu.take(array) - offset, array.shape
        self.gpu, self.strides, self.version, self.flags, self.offset = gpu, strides, version, flags, offset
        self.exported = (exported[0], gpu.number if exported[1] is None else exported[1])
        self.type = Type(*(code or CODES[array.dtype]), lanes)
        self.streams, self.deleted = [], 0

    def __dlpack_device__(self):
        return (2, self.gpu.number)

    def __dlpack__(self, *, stream, max_version=None):
        self.streams.append(stream)
        rank = len(self.shape)
        self.numbers = (ctypes.c_int64 * (2 * rank + 1))(*self.shape, *(self.strides or [0] * rank), 0)
        first = ctypes.addressof(self.numbers)
        pointer = ctypes.POINTER(ctypes.c_int64)
        tensor = Tensor(self.address, Device(*self.exported), rank, self.type, ctypes.cast(first, pointer),
                        ctypes.cast(first + 8 * rank if self.strides else None, pointer), self.offset)
        self.deleter = DELETER(self.delete)
        if self.version is None:
            self.form, name = Managed(tensor, None, self.deleter), b"dltensor"
        else:
            self.form = Versioned(*self.version, None, self.deleter, self.flags, tensor)
            name = b"dltensor_versioned"
        return new_capsule(ctypes.addressof(self.form), name, None)

    def delete(self, _):
        self.deleted += 1


class OldForeign(Foreign):
    """As before there were versions."""

    def __dlpack__(self, *, stream):
        self.version = None
        return super().__dlpack__(stream=stream)


def take(array, **keywords):
    """What another library sees of an exported array: its capsule, name, and tensor."""
    capsule = array.__dlpack__(**keywords)
    for name, form in ((b"dltensor", Managed), (b"dltensor_versioned", Versioned)):
        if is_capsule(capsule, name):
            return capsule, name, form.from_address(open_capsule(capsule, name))
    raise AssertionError("no capsule")


def read(tensor, dtype):
    """The tensor's elements, of emulated memory."""
    shape = tensor.shape[:tensor.rank]
    text = ctypes.string_at(tensor.data + tensor.byte_offset, math.prod(shape) * np.dtype(dtype).itemsize)
    return np.frombuffer(text, dtype).reshape(shape)
