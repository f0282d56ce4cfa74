# SPDX-License-Identifier: Apache-2.0
"""Writes and prints safetensors files with nothing but the standard library.

  tensors.py write FILE NAME:DTYPE:SHAPE:VALUES...   e.g. x:F32:2x2:1,2,3,4
  tensors.py raw FILE HEADER BYTES [LENGTH]          a header as given, zeros behind
                                                     it, and a length that may lie
  tensors.py print FILE                              one tensor a line, by name
"""
import json
import struct
import sys

CODES = {"F32": "f", "I32": "i", "F64": "d"}


def write(path, specs):
    header, data = {}, b""
    for spec in specs:
        name, dtype, shape, values = spec.split(":")
        kind = float if dtype[0] == "F" else int
        numbers = [kind(v) for v in values.split(",")]
        raw = struct.pack(f"<{len(numbers)}{CODES[dtype]}", *numbers)
        header[name] = {"dtype": dtype,
                        "shape": [int(s) for s in shape.split("x") if s],
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def write_raw(path, header, data_bytes, length=None):
    length = len(header) if length is None else int(length)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", length) + header.encode() + bytes(int(data_bytes)))


def show(path):
    with open(path, "rb") as file:
        image = file.read()
    start = 8 + struct.unpack("<Q", image[:8])[0]
    for name, entry in sorted(json.loads(image[8:start]).items()):
        begin, end = (start + o for o in entry["data_offsets"])
        values = [v for v, in struct.iter_unpack(CODES[entry["dtype"]], image[begin:end])]
        print(name, entry["dtype"], entry["shape"], *(f"{v:g}" for v in values))


if sys.argv[1] == "write":
    write(sys.argv[2], sys.argv[3:])
elif sys.argv[1] == "raw":
    write_raw(*sys.argv[2:])
else:
    show(sys.argv[2])
