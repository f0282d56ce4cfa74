# SPDX-License-Identifier: Apache-2.0
"""Writes a chain of as many links as its argument says: each takes the sums of rows off a tensor."""

import sys

TENSOR, SUMS = "tensor<64x4096xf32>", "tensor<64xf32>"
LINK = """
%z{i} = arith.constant 0.0 : f32
%s{i} = tensor.empty() : {sums}
%f{i} = linalg.fill ins(%z{i} : f32) outs(%s{i} : {sums}) -> {sums}
%r{i} = linalg.generic {{indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}}
    ins(%x{i} : {tensor}) outs(%f{i} : {sums}) {{
^bb0(%a: f32, %o: f32):
  %q = arith.addf %a, %o : f32
  linalg.yield %q : f32
}} -> {sums}
%e{i} = tensor.empty() : {tensor}
%x{next} = linalg.generic {{indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}}
    ins(%x{i}, %r{i} : {tensor}, {sums}) outs(%e{i} : {tensor}) {{
^bb0(%a: f32, %b: f32, %o: f32):
  %w = arith.subf %a, %b : f32
  linalg.yield %w : f32
}} -> {tensor}"""

links = int(sys.argv[1])
print("#id = affine_map<(d0, d1) -> (d0, d1)>\n#row = affine_map<(d0, d1) -> (d0)>")
print(f"func.func @chain(%x0: {TENSOR}) -> {TENSOR} {{")
for i in range(links):
    print(LINK.format(i=i, next=i + 1, tensor=TENSOR, sums=SUMS))
print(f"return %x{links} : {TENSOR}\n}}")
