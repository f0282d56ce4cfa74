# SPDX-License-Identifier: Apache-2.0
"""Writes and prints safetensors files with nothing but the standard library.

  tensors.py write FILE NAME:DTYPE:SHAPE:VALUES...   e.g. x:F32:2x2:1,2,3,4
  tensors.py waves FILE NAME:SHAPE...                F32 values whose sums are rounded
  tensors.py raw FILE HEADER BYTES [LENGTH]          a header as given, zeros after
                                                     it, and a length that may lie
  tensors.py print FILE                              one tensor a line, by name
  tensors.py digest FILE                             what weft-run --digest prints for it
"""
import hashlib
import json
import math
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


def waves(path, specs):
    """Values that are no short binary fractions, and cancel when added up."""
    full = []
    for spec in specs:
        name, shape = spec.split(":")
        count = math.prod(int(s) for s in shape.split("x"))
        values = ",".join(str(math.sin(0.7 * i + len(full))) for i in range(count))
        full.append(f"{name}:F32:{shape}:{values}")
    write(path, full)


def write_raw(path, header, data_bytes, length=None):
    length = len(header) if length is None else int(length)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", length) + header.encode() + bytes(int(data_bytes)))


def tensors(path):
    """The names, entries and bytes in a file, by name."""
    with open(path, "rb") as file:
        image = file.read()
    start = 8 + struct.unpack("<Q", image[:8])[0]
    for name, entry in sorted(json.loads(image[8:start]).items()):
        begin, end = (start + o for o in entry["data_offsets"])
        yield name, entry, image[begin:end]


def show(path):
    for name, entry, data in tensors(path):
        values = [v for v, in struct.iter_unpack(CODES[entry["dtype"]], data)]
        print(name, entry["dtype"], entry["shape"], *(f"{v:g}" for v in values))


def digest(path):
    lines = "".join(f"digest {name} {hashlib.sha256(data).hexdigest()}\n"
                    for name, _, data in tensors(path))
    print(f"{lines}digest-of-all {hashlib.sha256(lines.encode()).hexdigest()}")


if sys.argv[1] == "write":
    write(sys.argv[2], sys.argv[3:])
elif sys.argv[1] == "waves":
    waves(sys.argv[2], sys.argv[3:])
elif sys.argv[1] == "raw":
    write_raw(*sys.argv[2:])
elif sys.argv[1] == "digest":
    digest(sys.argv[2])
else:
    show(sys.argv[2])
