# SPDX-License-Identifier: Apache-2.0
"""Certificates of one program and of edits of it.

    certificates.py PROGRAM.mlir

What gives other bits must have another certificate: a table of edits, of which
each changes one thing, must give as many certificates. What gives the same bits
by promise (meshes, schedules, shardings, names of values) must have the same.
"""

import re
import subprocess
import sys

SOURCE = open(sys.argv[1]).read()

# What is changed: the text there, the text that takes its place, options.
DIFFERENT = {
    "nothing": (None, None, []),
    "4 leaves": (None, None, ["--leaves", "4"]),
    "16 leaves": (None, None, ["--leaves", "16"]),
    "6 leaves": (None, None, ["--leaves", "6", "--mesh", "dp=1,tp=3"]),
    "bf16 partial sums": (None, None, ["--partials", "bf16"]),
    "a constant": ("arith.constant 0.5 : f32", "arith.constant 0.25 : f32", []),
    "the sign of a zero": ("%zero = arith.constant dense<0.0>", "%zero = arith.constant dense<-0.0>", []),
    "where a sum begins": ("%zero = arith.constant dense<0.0>", "%zero = arith.constant dense<1.0>", []),
    "where a maximum begins": ("dense<0xFF800000>", "dense<-9.0>", []),
    "a function": ("math.exp ", "math.exp2 ", []),
    "another function": ("math.exp ", "math.expm1 ", []),
    "an op": ("arith.subf", "arith.addf", []),
    "another op": ("arith.divf", "arith.mulf", []),
    "the order of a difference": ("arith.subf %a2, %c", "arith.subf %c, %a2", []),
    "the order of a quotient": ("arith.divf %c, %a3", "arith.divf %a3, %c", []),
    "what is multiplied": ("arith.mulf %a, %b", "arith.mulf %a, %a", []),
    "max for min": ("arith.maximumf", "arith.minimumf", []),
    "maximum for maxnum": ("arith.maximumf", "arith.maxnumf", []),
    "sum for product": ("%r = arith.addf %o, %a", "%r = arith.mulf %o, %a", []),
    "an operand": ("weft.matmul %x, %w", "weft.matmul %x, %u", []),
    "an op in front of a cast": ("%a2 = math.exp %a1 : f32",
                                 "%a0 = math.exp %a : bf16\n    %a2 = arith.extf %a0 : bf16 to f32", []),
    "another reshape": ("tensor.expand_shape %y [[0, 1], [2]]", "tensor.expand_shape %q [[0, 1], [2]]", []),
    "another lookup": ("weft.take %t, %n", "weft.take %t, %k", []),
    "other updates": ("weft.scatter_add %table, %n", "weft.scatter_add %table, %k", []),
    "the table of a scatter": ("%table = arith.constant dense<0.0>", "%table = arith.constant dense<2.0>", []),
    "which result": ("return %loss, %y", "return %loss, %e2", []),
    "the axes": (None, None, ["--invariant=tp"]),
}  # fmt: skip

# What some edits need in front of the op that they change.
EXTRA = {
    "%q": """  %q = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i0 = linalg.index 0 : index
    %c0 = arith.constant 3 : index
    %is = arith.cmpi eq, %i0, %c0 : index
    %c1 = arith.constant 1.0 : f32
    %v = arith.select %is, %c1, %a : f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
""",
    "%k": """  %k0 = tensor.empty() : tensor<8xi32>
  %k = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%n : tensor<8xi32>) outs(%k0 : tensor<8xi32>) {
  ^bb0(%a: i32, %o: i32):
    %c = arith.constant 1 : i32
    %v = arith.addi %a, %c : i32
    linalg.yield %v : i32
  } -> tensor<8xi32>
""",
    "%e2": """  %e2 = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
""",
}

SAME = {
    "one rank": (None, None, ["--mesh", "dp=1,tp=1"]),
    "more of one axis": (None, None, ["--mesh", "dp=1,tp=8"]),
    "more of the other": (None, None, ["--mesh", "dp=8,tp=1"]),
    "a schedule": (None, None, ["--schedule", "sync"]),
    "another schedule": (None, None, ["--schedule", "greedy"]),
    "no storage": (None, None, ["--no-infer-storage"]),
    "microbatches": (None, None, ["--mesh", "dp=4,tp=2", "--accumulate", "dp"]),
    "another processor": (None, None, ["--cpu", "x86-64-v3"]),
    "a sharding": ('[{"tp"}, {}]>},\n                %n', '[{}, {"tp"}]>},\n                %n', []),
    "another sharding": ('[{"dp"}, {"tp"}]>},', '[{"dp"}, {}]>},', []),
    "names of values": ("%a3", "%other", []),
}


def digest(name, old, new, options):
    """The digest of the certificate of an edited program."""
    text = SOURCE
    if old:
        assert old in text, f"{name}: no {old!r}"
        text = text.replace(old, new)
        for value, definition in EXTRA.items():
            if value in new:
                text = text.replace("  %z = tensor.expand", definition + "  %z = tensor.expand", 1)
    invariant = [] if any("--invariant" in option for option in options) else ["--invariant"]
    command = ["weft-compile", "-", "-o", "-", "--to", "scheduled", "--effort", "quick", *invariant, *options]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {' '.join(command)}: {done.stderr}")
    return re.search(r"digest\\22:\\22([0-9a-f]{64})", done.stdout)[1]


def main():
    failed = 0
    made = {}
    for name, edit in DIFFERENT.items():
        first = made.setdefault(digest(name, *edit), name)
        if first != name:
            failed += 1
            print(f"{name}: has the certificate of {first}")
    for name, edit in SAME.items():
        if made.get(digest(name, *edit)) != "nothing":
            failed += 1
            print(f"{name}: has another certificate")
    print(f"{len(DIFFERENT) + len(SAME) - failed} right, {failed} wrong")
    sys.exit(1 if failed else 0)


main()
