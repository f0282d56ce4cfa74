# SPDX-License-Identifier: Apache-2.0

"""Reads and writes safetensors files, the form in which tensors travel."""

import json
import struct

import ml_dtypes
import numpy as np

_CODES = {
    np.dtype(np.float64): "F64", np.dtype(np.float32): "F32", np.dtype(np.float16): "F16",
    np.dtype(ml_dtypes.bfloat16): "BF16", np.dtype(ml_dtypes.float8_e4m3fn): "F8_E4M3",
    np.dtype(ml_dtypes.float8_e5m2): "F8_E5M2",
    np.dtype(np.int64): "I64", np.dtype(np.int32): "I32", np.dtype(np.int16): "I16",
    np.dtype(np.int8): "I8", np.dtype(np.uint64): "U64", np.dtype(np.uint32): "U32",
    np.dtype(np.uint16): "U16", np.dtype(np.uint8): "U8", np.dtype(bool): "BOOL",
}
_TYPES = {code: dtype for dtype, code in _CODES.items()}


def save(path, tensors):
    """Writes a dict of numpy arrays, in its order."""
    header, offset = {}, 0
    for name, array in tensors.items():
        end = offset + array.nbytes
        header[name] = {"dtype": _CODES[array.dtype], "shape": list(array.shape),
                        "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())


def load(path):
    """Reads a file as a dict of numpy arrays."""
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    body = memoryview(data)[8 + size:]
    return {name: _array(entry, body) for name, entry in header.items()}


def _array(entry, body):
    begin, end = entry["data_offsets"]
    return np.frombuffer(body[begin:end], _TYPES[entry["dtype"]]).reshape(entry["shape"])
