# SPDX-License-Identifier: Apache-2.0
"""zeros.py FILE NAME=SHAPE...: writes a safetensors file of f32 zeros."""
import json
import math
import sys

header, size = {}, 0
for argument in sys.argv[2:]:
    name, shape = argument.split("=")
    shape = [int(n) for n in shape.split("x")]
    end = size + 4 * math.prod(shape)
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [size, end]}
    size = end
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(len(text).to_bytes(8, "little") + text + bytes(size))
