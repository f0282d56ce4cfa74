# SPDX-License-Identifier: Apache-2.0
"""What a step has to do, counted in the compiler's own text: operations of the
contractions in the exported step, and bytes that everything else reads and writes
in a rank's planned program."""
import math
import re

BYTES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "index": 8, "f16": 2, "bf16": 2,
         "f32": 4, "f64": 8}
MEMREF = re.compile(r"memref<((?:\d+x)*)(\w+)(?:, strided<\[([\d, ]*)\](?:, offset: \d+)?>)?>")


def flops_of(step):
    """Multiplications and additions of all contractions."""
    maps = {name: re.findall(r"d\d+", body.split("->")[1]) for name, body in
            re.findall(r"(#map\d*) = affine_map<(.*)>", step)}
    total = 0
    pattern = re.compile(r'"weft\.matmul"\(.*indexing_maps = \[(#map\d*), (#map\d*), '
                         r'(#map\d*)\].*: \(tensor<([\dx]*)x\w+>, tensor<([\dx]*)x\w+>\)')
    for lhs, rhs, _, left, right in pattern.findall(step):
        sizes = dict(zip(maps[lhs], map(int, left.split("x"))))
        sizes.update(zip(maps[rhs], map(int, right.split("x"))))
        total += 2 * math.prod(sizes.values())
    return total


def memref_bytes(dims, element, strides):
    sizes = [int(d) for d in dims.split("x") if d]
    # A stride of 0 repeats the same elements.
    repeats = [s == "0" for s in strides.split(", ")] if strides else [False] * len(sizes)
    return BYTES[element] * math.prod(n for n, again in zip(sizes, repeats) if not again)


def operands_of(text):
    """Bytes of each memref in a list of types."""
    return [memref_bytes(*match) for match in MEMREF.findall(text)]


def fused_bytes(op):
    """A fused loop nest reads each input once and writes each output once; of a
    table in which it looks rows up, it reads no more than it writes."""
    head = op.split("\n", 1)[0]
    ins, outs = (operands_of(part) for part in head.split(" outs(", 1))
    written = sum(outs)
    looked_up = {int(n) for n in re.findall(r"tensor\.extract %arg(\d+)", op)}
    read = sum(min(size, written) if i in looked_up else size for i, size in enumerate(ins))
    return read + written


def collective_bytes(line):
    """The whole is read and written once by each rank, in parts or at once."""
    ins, outs = (sum(operands_of(part)) for part in line.split(" outs(", 1))
    if '"all_gather"' in line:
        return 2 * outs
    return ins + outs


def bytes_of_everything_else(planned, ranks):
    """Bytes that one rank reads and writes outside of contractions."""
    total = 0
    for op in re.findall(r"^ *weft_rt\.fused .*?\n    }", planned, re.M | re.S):
        total += fused_bytes(op)
    for line in re.findall(r"weft_rt\.start .*", planned):
        total += collective_bytes(line) if ranks > 1 else 0
    for line in re.findall(r"weft_rt\.scatter_add .*", planned):
        _, indices, updates = operands_of(line)[:3]
        total += indices + 3 * updates  # rows are read, added to, written
    return total
