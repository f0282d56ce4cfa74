# SPDX-License-Identifier: Apache-2.0
"""Reductions of 128 rows, and what a target may make of them: 8 reductions of 16 rows each, and one of those.

For each op and type, from which numbers each of the three may begin: RIGHT are accepted, WRONG refused. `z` is a number
that changes nothing, `w` and `v` are others, of which `v` is not lost beside `w`. Of a type without infinities NaN is no `z`.
"""

import bisect
import re
import subprocess
import sys
import tempfile

# Op, type, z, w, v; ops of which an element may count twice are marked, and those of which nothing is claimed.
OPS = """
addf f32 0.0 0.5 3.0
addf f32 -0.0 0.5 3.0
addf bf16 0.0 0.5 3.0
mulf f32 1.0 0.5 3.0
addi i32 0 5 3
muli i8 1 5 3
xori i32 0 5 3
maximumf f32 0xFF800000 0.5 3.0 twice
maximumf bf16 0xFF80 0.5 3.0 twice
minimumf f32 0x7F800000 0.5 -3.0 twice
maxnumf f32 0x7FC00000 0.5 3.0 twice
minnumf f32 0xFFC00000 0.5 -3.0 twice
maxsi i32 -2147483648 5 7 twice
minsi i8 127 5 -3 twice
maxui i32 0 5 -3 twice
minui i32 -1 5 3 twice
andi i32 -1 5 3 twice
ori i32 0 5 3 twice
maximumf f8E4M3FN 0x7F 0.5 3.0 nothing
"""
# What the whole begins with, each part, and the reduction of the parts.
ALWAYS = ["zzz", "wzw"]
TWICE = ["www", "wwz"]
NEVER = ["zwz", "zzw", "wzz", "wvw", "wwv", "wvz", "zvz"]


def program(op, element, starts):
    whole, part, outer = starts
    head = "affine_map<(k, i) -> (k, i)>, affine_map<(k, i) -> (i)>"
    fill = lambda name, shape, start: (
        f"    %{name}c = arith.constant {start} : {element}\n    %{name}e = tensor.empty() : tensor<{shape}x{element}>\n"
        f"    %{name} = linalg.fill ins(%{name}c : {element}) outs(%{name}e : tensor<{shape}x{element}>) -> tensor<{shape}x{element}>\n")
    body = f"{{\n    ^bb0(%v: {element}, %o: {element}):\n      %r = arith.{op} %v, %o : {element}\n      linalg.yield %r : {element}\n    }}"
    border = f"func.func @f(%x: tensor<128x4x{element}>) -> tensor<4x{element}> {{\n"
    local = (border + fill("z", "4", whole) +
             f"    %y = linalg.generic {{indexing_maps = [{head}], iterator_types = [\"reduction\", \"parallel\"]}} "
             f"ins(%x : tensor<128x4x{element}>) outs(%z : tensor<4x{element}>) {body} -> tensor<4x{element}>\n"
             f"    return %y : tensor<4x{element}>\n  }}\n")
    parts = "affine_map<(r, k, i) -> (r, k, i)>, affine_map<(r, k, i) -> (r, i)>"
    cut = (border + fill("a", "8x4", part) + fill("z", "4", outer) +
           f"    %c = tensor.expand_shape %x [[0, 1], [2]] output_shape [8, 16, 4] : tensor<128x4x{element}> into tensor<8x16x4x{element}>\n"
           f"    %p = linalg.generic {{indexing_maps = [{parts}], iterator_types = [\"parallel\", \"reduction\", \"parallel\"]}} "
           f"ins(%c : tensor<8x16x4x{element}>) outs(%a : tensor<8x4x{element}>) {body} -> tensor<8x4x{element}>\n"
           f"    %y = linalg.generic {{indexing_maps = [{head}], iterator_types = [\"reduction\", \"parallel\"]}} "
           f"ins(%p : tensor<8x4x{element}>) outs(%z : tensor<4x{element}>) {body} -> tensor<4x{element}>\n"
           f"    return %y : tensor<4x{element}>\n  }}\n")
    return f"module {{\n  {cut}  module @local {{\n  {local}  }}\n}}\n"


def main():
    names, right, text, first = [], [], "", []
    for op, element, z, w, v, *mark in map(str.split, OPS.strip().splitlines()):
        numbers = {"z": z, "w": w, "v": v}
        good = ALWAYS + (TWICE if mark == ["twice"] else [])
        wrong = NEVER + (TWICE if not mark else [])
        if mark == ["nothing"]:
            good, wrong = [], ["wzw", "wvw", "wwv"]
        for starts in good + wrong:
            names.append(f"{op} {element} {starts}")
            right.append(starts in good)
            first.append(text.count("\n") + 2)
            text += "\n// -----\n" * bool(text) + program(op, element, [numbers[s] for s in starts])
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        flags = ["--weft-verify-scheduling", "-split-input-file", "-o", "/dev/null"]
        done = subprocess.run(["weft-opt", file.name, *flags], text=True, capture_output=True)
    errors = re.findall(r":(\d+):\d+: error: (.*)", done.stderr)
    refused = {bisect.bisect(first, int(line)) - 1: message for line, message in errors}
    bad = [f"{name}: {refused.get(i, 'accepted')}" for i, name in enumerate(names) if (i not in refused) != right[i]]
    bad += [message for message in refused.values() if "another one than before scheduling" not in message]
    sys.exit("\n".join(bad) or done.returncode not in (0, 1))


if __name__ == "__main__":
    main()
