# SPDX-License-Identifier: Apache-2.0
"""Programs of equal layers of which one is edited.

What is found of one layer is taken for others that are alike. Each form of a
program of LAYERS layers is edited in the second layer, one in the middle, and the
last one: another function, another number, the weights of the layer before, a sum
of one tensor with itself, a kernel of other operands. Each must be refused as made
from the form before, which the form itself is.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

LAYERS = 6
EDITED = [1, 3, LAYERS - 1]
PHASES = ["source", "global", "local", "scheduled", "planned"]
MAPS = "[affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]"
X, W = "tensor<8x16xf32>", "tensor<16x16xf32>"


def source():
    weights = ", ".join(f'%w{i}: {W} {{weft.name = "w{i}", weft.sharding = #weft.sharding<@mesh, [{{"fsdp"}}, {{}}]>}}'
                        for i in range(LAYERS))
    lines = []
    for i in range(LAYERS):
        x = f"%x{i}" if i else "%x"
        lines += [f"%p{i} = weft.matmul {x}, %w{i} {{indexing_maps = {MAPS}}} : {X}, {W} -> {X}",
                  f"%t{i} = linalg.map {{ math.tanh }} ins(%p{i} : {X}) outs(%e : {X})",
                  f"%s{i} = linalg.map ins(%t{i} : {X}) outs(%e : {X}) (%v: f32, %o: f32) {{",
                  "  %c = arith.constant 0.5 : f32", "  %m = arith.mulf %v, %c : f32", "  linalg.yield %m : f32", "}",
                  f"%x{i + 1} = linalg.map {{ arith.subf }} ins(%s{i}, {x} : {X}, {X}) outs(%e : {X})"]
    return "\n".join([
        'weft.mesh @mesh = <["fsdp"=2]>',
        f'func.func @f(%x: {X} {{weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{{"fsdp"}}, {{}}]>}}, {weights})'
        f' -> ({X} {{weft.name = "y"}}) {{', f"%e = tensor.empty() : {X}", *lines, f"return %x{LAYERS} : {X}", "}"])


def replaced(text, pattern, layer, change):
    """The text with one of the matches changed: that of a layer, if each has as many."""
    found = list(re.finditer(pattern, text))
    if not found or len(found) % LAYERS:
        return None
    match = found[len(found) // LAYERS * layer]
    return text[:match.start()] + change(match) + text[match.end():]


def edits(text, layer):
    yield "function", replaced(text, r"math\.tanh", layer, lambda match: "math.exp")
    yield "factor", replaced(text, r"arith\.mulf", layer, lambda match: "arith.divf")
    yield "operands", replaced(text, r"(arith\.subf) (%\w+), (%\w+)", layer,
                               lambda match: f"{match[1]} {match[3]}, {match[2]}")
    yield "same operand", replaced(text, r"(arith\.subf) (%\w+), (%\w+)", layer,
                                   lambda match: f"{match[1]} {match[2]}, {match[2]}")
    made = [match[1] for match in re.finditer(r"weft\.matmul %\w+, (%\w+)", text)]
    if len(made) == LAYERS:
        yield "weights", replaced(text, r"(weft\.matmul %\w+, )%\w+", layer, lambda match: match[1] + made[layer - 1])


def verify(phase, before, after):
    command = ["weft-verify", "--from", phase, before, after]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main():
    failed = counted = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = {phase: Path(folder) / f"{phase}.mlir" for phase in [*PHASES, "edited"]}
        paths["source"].write_text(source())
        for before, after in zip(PHASES, PHASES[1:]):
            subprocess.run(["weft-compile", paths[before], "--to", after, "-o", paths[after]], check=True)
            if verify(before, paths[before], paths[after]).returncode:
                failed += 1
                print(f"refused: {after}")
            text = paths[after].read_text()
            for layer in EDITED:
                for name, edited in edits(text, layer):
                    if not edited:
                        continue
                    counted += 1
                    paths["edited"].write_text(edited)
                    done = verify(before, paths[before], paths["edited"])
                    if done.returncode != 1 or "error: " not in done.stderr:
                        failed += 1
                        print(f"accepted: {after}, {name} of layer {layer}\n{done.stderr}")
    print(f"{counted} edits")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
