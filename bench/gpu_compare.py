# SPDX-License-Identifier: Apache-2.0
"""Compares results of a GPU with those of the host, without any package."""
import array
import re
import struct

# Of each tensor's largest element, for sums in other orders; a type rounds once more.
TOLERANCES = {"F64": 1e-9, "F32": 1e-4, "F16": 2e-2, "BF16": 5e-2}


def same_digests(got, expected):
    """Lines of weft-run --digest; names the results that differ."""
    if got != expected:
        ours, theirs = got.splitlines(), expected.splitlines()
        bad = [a for a, b in zip(ours, theirs) if a != b]
        raise ValueError(f"{len(bad)} of {len(theirs)} digests differ: {bad[:3]}")


def numbers(dtype, data):
    """The elements of a tensor as numbers of Python."""
    if dtype == "BF16":
        wide = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
        return array.array("f", wide)
    if dtype == "F16":
        return [value for (value,) in struct.iter_unpack("<e", data)]
    kind = {"F32": "f", "F64": "d", "I8": "b", "U8": "B", "BOOL": "B", "I16": "h", "I32": "i",
            "I64": "q"}.get(dtype, "B")
    return array.array(kind, data)


def same(a, b):
    return a == b or (a != a and b != b)


def close(got, expected):
    """The largest error over all tensors, of what each one's type allows."""
    known = {name: (dtype, data) for name, dtype, data in expected}
    # What was once narrow is only as good as that.
    allowed = max((TOLERANCES.get(dtype, 0) for dtype, _ in known.values()), default=0)
    worst = 0.0
    for name, dtype, data in got:
        ours, theirs = numbers(dtype, data), numbers(*known[name])
        if not re.match("B?F", dtype):
            if ours != theirs:
                raise ValueError(f"{name}: integers differ")
            continue
        most = max((abs(x) for x in theirs if abs(x) < float("inf")), default=0) or 1
        errors = [0 if same(a, b) else abs(a - b) / most for a, b in zip(ours, theirs)]
        worst = max([worst] + [e if e == e else float("inf") for e in errors])
        if worst > allowed:
            raise ValueError(f"{name}: an error of {worst:.2e} of the largest element")
    return worst / (allowed or 1)
