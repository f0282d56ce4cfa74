# SPDX-License-Identifier: Apache-2.0
"""Ops of two programs that are nearly alike.

What an op of one program makes is taken for what the same op of the other one
makes. OPS differ in one thing each: each is put beside itself, which must be
accepted, and beside each other one, which must be refused.
"""

import itertools
import re
import subprocess
import sys

MAPS = {"a": "(d0, d1) -> (d0, d1)", "t": "(d0, d1) -> (d1, d0)", "r": "(d0, d1) -> (d0)", "c": "(d0, d1) -> (d1)",
        "ik": "(d0, d1, d2) -> (d0, d2)", "kj": "(d0, d1, d2) -> (d2, d1)", "jk": "(d0, d1, d2) -> (d1, d2)",
        "ij": "(d0, d1, d2) -> (d0, d1)", "ji": "(d0, d1, d2) -> (d1, d0)"}
ORDER = "weft.order = #weft.order<leaves = 2, lanes = 1>"


def generic(body, ins="%x, %y", maps="a a", iterators="parallel parallel", result="4x4xf32", out="%e", attrs=""):
    """Arguments of the body are %a, %b, and %o."""
    kinds = {"%x": "4x4xf32", "%y": "4x4xf32"}
    taken = [word.strip() for word in ins.split(",")]
    types = ", ".join(f"tensor<{kinds[word]}>" for word in taken)
    out_map = "a" if result.startswith("4x4") else "r"
    affine = ", ".join(f"affine_map<{MAPS[name]}>" for name in [*maps.split(), out_map])
    named = ", ".join(f'"{name}"' for name in iterators.split())
    arguments = ", ".join(f"%{name}: f32" for name in "ab"[:len(taken)])
    *ops, last = body.split("; ")
    lines = "".join(f"  {op}\n" for op in ops)
    return (f"%r = linalg.generic {{indexing_maps = [{affine}], iterator_types = [{named}]{attrs}}} "
            f"ins({ins} : {types}) outs({out} : tensor<{result}>) {{\n"
            f"^bb0({arguments}, %o: {result.split('x')[-1]}):\n{lines}  linalg.yield {last}\n}} -> tensor<{result}>")


def matmul(operands, maps, attrs="", types="tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>"):
    affine = ", ".join(f"affine_map<{MAPS[name]}>" for name in maps.split())
    return f"%r = weft.matmul {operands} {{indexing_maps = [{affine}]{attrs}}} : {types}"


FLOATS = [
    generic("%p = arith.subf %a, %b : f32; %p : f32"),
    generic("%p = arith.subf %b, %a : f32; %p : f32"),
    generic("%p = arith.divf %a, %b : f32; %p : f32"),
    generic("%p = arith.subf %a, %b : f32; %p : f32", maps="t a"),
    generic("%p = arith.subf %a, %a : f32; %p : f32"),
    generic("%p = arith.subf %a, %s : f32; %p : f32"),
    generic("%p = arith.subf %a, %u : f32; %p : f32"),
    generic("%c = arith.constant 2.0 : f32; %p = arith.mulf %a, %c : f32; %p : f32"),
    generic("%c = arith.constant 3.0 : f32; %p = arith.mulf %a, %c : f32; %p : f32"),
    generic("%c = arith.cmpf olt, %a, %b : f32; %p = arith.select %c, %a, %s : f32; %p : f32"),
    generic("%c = arith.cmpf ole, %a, %b : f32; %p = arith.select %c, %a, %s : f32; %p : f32"),
    generic("%i = linalg.index 0 : index; %j = arith.index_cast %i : index to i32; "
            "%f = arith.sitofp %j : i32 to f32; %p = arith.addf %a, %f : f32; %p : f32"),
    generic("%i = linalg.index 1 : index; %j = arith.index_cast %i : index to i32; "
            "%f = arith.sitofp %j : i32 to f32; %p = arith.addf %a, %f : f32; %p : f32"),
    generic("%h = arith.truncf %a : f32 to bf16; %p = arith.extf %h : bf16 to f32; %p : f32"),
    generic("%h = arith.truncf %a : f32 to f16; %p = arith.extf %h : f16 to f32; %p : f32"),
    generic("%a : f32"), generic("%b : f32"), generic("%p = arith.addf %a, %s fastmath<nnan> : f32; %p : f32"),
    generic("%p = arith.addf %a, %s : f32; %p : f32"),
    *(matmul(operands, maps) for operands in ("%x, %y", "%y, %x")
      for maps in ("ik kj ij", "ik jk ij", "ik kj ji")),
    matmul("%x, %y", "ik kj ij", f", {ORDER}"),
]
SUMS = [
    generic("%p = arith.addf %o, %a : f32; %p : f32", "%x", "a", "parallel reduction", "4xf32", "%z"),
    generic("%p = arith.addf %o, %a : f32; %p : f32", "%x", "t", "parallel reduction", "4xf32", "%z"),
    generic("%p = arith.maximumf %o, %a : f32; %p : f32", "%x", "a", "parallel reduction", "4xf32", "%z"),
    generic("%p = arith.addf %o, %a : f32; %p : f32", "%x", "a", "parallel reduction", "4xf32", "%n"),
    generic("%p = arith.addf %o, %a : f32; %p : f32", "%x", "a", "parallel reduction", "4xf32", "%z", f", {ORDER}"),
    generic("%p = arith.mulf %a, %a : f32; %q = arith.addf %o, %p : f32; %q : f32", "%x", "a", "parallel reduction",
            "4xf32", "%z"),
]


def function(op, result):
    return f"""func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %s: f32, %u: f32, %n: tensor<4xf32>) -> tensor<{result}> {{
%e = tensor.empty() : tensor<4x4xf32>
%z = arith.constant dense<0.0> : tensor<4xf32>
{op}
return %r : tensor<{result}>
}}
"""


def main():
    failed = 0
    for ops, result in ((FLOATS, "4x4xf32"), (SUMS, "4xf32")):
        pairs = list(itertools.product(range(len(ops)), repeat=2))
        text = "// -----\n".join(
            f"module {{\n{function(ops[i], result)}module @source {{\n{function(ops[j], result)}}}\n}}\n" for i, j in pairs)
        done = subprocess.run(["weft-opt", "-", "--weft-verify-canonicalization", "-split-input-file",
                               "-mlir-print-op-on-diagnostic=false"], input=text, text=True, capture_output=True)
        # Lines of diagnostics say of which pair they are.
        first = [text[:m.start()].count("\n") + 1 for m in re.finditer("^module {", text, re.MULTILINE)]
        lines = sorted(int(line) for line in re.findall(r"^\S*:(\d+):\d+: error: ", done.stderr, re.MULTILINE))
        for (i, j), begin, end in zip(pairs, first, [*first[1:], 10**9], strict=True):
            is_refused = any(begin <= line < end for line in lines)
            if is_refused == (i == j):
                failed += 1
                print(f"{'refused' if is_refused else 'accepted'}:\n{ops[i]}\nfor\n{ops[j]}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
