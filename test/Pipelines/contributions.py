# SPDX-License-Identifier: Apache-2.0
"""Two reductions whose operands are cut by other axes, joined by their own op, in invariant and in fast mode, with all
proofs: of integers contributions have no order, of floats what has one is brought together first. None may be refused."""

import itertools
import subprocess
import sys
import tempfile

# Op of the reduction, op that joins, type, neutral number.
OPS = [("addi", "addi", "i32", "0"), ("addi", "subi", "i8", "0"), ("muli", "muli", "i32", "1"), ("maxsi", "maxsi", "i32", "-2147483648"),
       ("minsi", "minsi", "i16", "32767"), ("andi", "andi", "i1", "true"), ("ori", "ori", "i1", "false"), ("andi", "andi", "i32", "-1"),
       ("addf", "addf", "f32", "0.0"), ("addf", "addf", "bf16", "0.0"), ("maximumf", "maximumf", "f32", "0xFF800000"), ("addf", "subf", "f32", "0.0")]  # fmt: skip
# How the matrix, the row and the result are cut.
CUTS = [('[{}, {"a", "b"}]', '[{"b"}]', "[{}]"), ('[{}, {"b", "a"}]', '[{"a"}]', '[{"b"}]'), ('[{"a"}, {"b"}]', '[{"a"}]', '[{"a", "b"}]'),
        ('[{}, {"a"}]', '[{"b", "a"}]', '[{"a"}]')]  # fmt: skip
MESHES = [(4, 2), (2, 4), (2, 2), (8, 1)]

BODY = """weft.mesh @mesh = <["a"={a}, "b"={b}]>
func.func @main(%x: tensor<16x16x{t}> {{weft.sharding = #weft.sharding<@mesh, {x}>}}, %v: tensor<16x{t}> {{weft.sharding = #weft.sharding<@mesh, {v}>}})
    -> (tensor<16x{t}> {{weft.sharding = #weft.sharding<@mesh, {y}>}}) {{
  %z = arith.constant dense<{zero}> : tensor<16x{t}>
  %e = tensor.empty() : tensor<16x16x{t}>
  %w = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      ins(%v : tensor<16x{t}>) outs(%e : tensor<16x16x{t}>) {{
  ^bb0(%p: {t}, %o: {t}):
    linalg.yield %p : {t}
  }} -> tensor<16x16x{t}>
  %a = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}}
      ins(%w : tensor<16x16x{t}>) outs(%z : tensor<16x{t}>) {{
  ^bb0(%p: {t}, %o: {t}):
    %r = arith.{op} %p, %o : {t}
    linalg.yield %r : {t}
  }} -> tensor<16x{t}>
  %b = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}}
      ins(%x : tensor<16x16x{t}>) outs(%z : tensor<16x{t}>) {{
  ^bb0(%p: {t}, %o: {t}):
    %r = arith.{op} %p, %o : {t}
    linalg.yield %r : {t}
  }} -> tensor<16x{t}>
  %c = arith.{join} %a, %b : tensor<16x{t}>
  return %c : tensor<16x{t}>
}}
"""


def main():
    programs = [(f"{op} {join} {t} on a={a}, b={b}, x {x}, v {v}", BODY.format(op=op, join=join, t=t, zero=zero, a=a, b=b, x=x, v=v, y=y))
                for (op, join, t, zero), (x, v, y), (a, b) in itertools.product(OPS, CUTS, MESHES)]  # fmt: skip
    bad = 0
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write("\n// -----\n\n".join(text for _, text in programs))
        file.flush()
        for mode in ("invariant=mesh", ""):
            done = subprocess.run(["weft-opt", file.name, f"--weft-global-to-local={mode}", "-split-input-file", "-o", "/dev/null"],
                                  text=True, capture_output=True)  # fmt: skip
            lines = [line for line in done.stderr.splitlines() if ": error: " in line]
            bad += done.returncode != 0 or len(lines)
            starts = list(itertools.accumulate(text.count("\n") + 3 for _, text in programs))
            for line in lines[:10]:
                at = int(line.split(":")[1])
                print(mode, next(name for (name, _), end in zip(programs, starts) if at <= end), line)
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()
