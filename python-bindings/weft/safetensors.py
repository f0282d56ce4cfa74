# SPDX-License-Identifier: Apache-2.0

"""Reads and writes safetensors files, the form in which tensors travel."""

import itertools
import json
import math
import os
import re
import struct

import ml_dtypes
import numpy as np

from weft import files
from weft.words import printable

_CODES = {
    np.dtype(np.float64): "F64", np.dtype(np.float32): "F32", np.dtype(np.float16): "F16",
    np.dtype(ml_dtypes.bfloat16): "BF16", np.dtype(ml_dtypes.float8_e4m3fn): "F8_E4M3",
    np.dtype(ml_dtypes.float8_e5m2): "F8_E5M2", np.dtype(ml_dtypes.float8_e8m0fnu): "F8_E8M0",
    np.dtype(np.int64): "I64", np.dtype(np.int32): "I32", np.dtype(np.int16): "I16",
    np.dtype(np.int8): "I8", np.dtype(np.uint64): "U64", np.dtype(np.uint32): "U32",
    np.dtype(np.uint16): "U16", np.dtype(np.uint8): "U8", np.dtype(bool): "BOOL",
}
_TYPES = {code: dtype for dtype, code in _CODES.items()}


_MOST_HEADER_BYTES = 100_000_000
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIELDS = ("dtype", "shape", "data_offsets")


def save(path, tensors):
    """Writes a dict of numpy arrays, in its order."""
    header, offset = {}, 0
    for name, array in tensors.items():
        end = offset + array.nbytes
        header[_checked(name)] = {"dtype": _code(name, array), "shape": list(array.shape),
                                  "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    arrays = (np.ascontiguousarray(array).tobytes() for array in tensors.values())
    files.write(path, itertools.chain((struct.pack("<Q", len(text)) + text,), arrays))


def _checked(name):
    if name == "__metadata__" or _SURROGATE.search(name):
        raise ValueError(f"'{printable(name)}' cannot be a tensor's name in a file")
    return name


def _code(name, array):
    if array.dtype not in _CODES:
        raise TypeError(f"tensor '{printable(name)}' is {array.dtype}, which safetensors files do not have")
    return _CODES[array.dtype]


def load(path):
    """Reads a file as a dict of numpy arrays. What is wrong with it is a `FormatError`."""
    data = files.read(path)
    try:
        header, body = _split(data)
        tensors = {name: _array(name, entry, body) for name, entry in header.items()
                   if name != "__metadata__"}
        _check_cover(header, len(body))
    except files.FormatError as error:
        raise files.FormatError(printable(f"{os.fsdecode(path)}: {error}")) from None
    return tensors


def _split(data):
    """The header, and the data after it."""
    if len(data) < 8:
        raise files.FormatError(f"file has {len(data)} bytes, too short for a header length")
    size, = struct.unpack("<Q", data[:8])
    if size > _MOST_HEADER_BYTES:
        raise files.FormatError(f"header length {size} exceeds the limit of {_MOST_HEADER_BYTES}")
    if size > len(data) - 8:
        raise files.FormatError(f"header length {size} exceeds the {len(data) - 8} bytes that follow it")
    try:
        header = json.loads(data[8:8 + size].decode(), object_pairs_hook=_unique, parse_int=_integer)
    except files.FormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise files.FormatError(f"header: {error}") from None
    if not isinstance(header, dict):
        raise files.FormatError("header: expected an object")
    metadata = header.get("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise files.FormatError("header: '__metadata__' is no object of strings")
    return header, memoryview(data)[8 + size:]


def _integer(text):
    if text == "-0":
        raise files.FormatError("header: expected an integer of at least 0, found -0")
    return int(text)


def _unique(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise files.FormatError(f"header: duplicate '{twice}'")
    if any(isinstance(text, str) and _SURROGATE.search(text) for pair in pairs for text in pair):
        raise files.FormatError("header: lone surrogate in a string")
    return found


def _array(name, entry, body):
    def fail(text):
        raise files.FormatError(f"tensor '{name}' {text}")

    if not isinstance(entry, dict) or sorted(entry) != sorted(_FIELDS):
        fail("does not have the fields " + ", ".join(_FIELDS))
    dtype, shape, offsets = (entry[field] for field in _FIELDS)
    if not isinstance(dtype, str) or dtype not in _TYPES:
        fail(f"has unsupported dtype {dtype!r}")
    if not _are_sizes(shape):
        fail(f"has shape {shape!r}, expected a list of numbers of at least 0")
    if not _are_sizes(offsets) or len(offsets) != 2:
        fail(f"has data_offsets {offsets!r}, expected two numbers of at least 0")
    begin, end = offsets
    if not begin <= end <= len(body):
        fail(f"has bytes {begin} to {end}, outside the data of {len(body)} bytes")
    expected = math.prod(shape) * _TYPES[dtype].itemsize
    if end - begin != expected:
        fail(f"has {end - begin} bytes, expected {expected} for {dtype}{shape}")
    if dtype == "BOOL" and (most := np.frombuffer(body[begin:end], np.uint8).max(initial=0)) > 1:
        fail(f"has a byte {most}, expected 0 or 1 in BOOL")
    try:
        return np.frombuffer(body[begin:end], _TYPES[dtype]).reshape(shape)
    except ValueError as error:  # more dimensions, or larger ones, than numpy has
        fail(f"has shape {shape}: {error}")


def _are_sizes(values):
    return isinstance(values, list) and all(type(v) is int and v >= 0 for v in values)


def _check_cover(header, size):
    """Tensors lie one after the other, and the data ends with the last."""
    at, before = 0, "the header"
    entries = [(entry["data_offsets"], name) for name, entry in header.items() if name != "__metadata__"]
    for (begin, end), name in sorted(entries):
        if begin != at:
            raise files.FormatError(f"tensor '{name}' begins at byte {begin}, and {before} ends at byte {at}")
        at, before = end, f"tensor '{name}'"
    if at != size:
        raise files.FormatError(f"{before} ends at byte {at}, the last of all, but the data has {size} bytes")
