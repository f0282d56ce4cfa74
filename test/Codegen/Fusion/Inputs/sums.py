# SPDX-License-Identifier: Apache-2.0
"""Writes a chain of as many links as its argument says: each takes the sums of rows off a tensor.

With `broadcast` sums are broadcast first, as JAX writes them, and with `scaled` also scaled then.
"""

import sys

TENSOR, SUMS = "tensor<64x4096xf32>", "tensor<64xf32>"
SUM = """
%z{i} = arith.constant 0.0 : f32
%s{i} = tensor.empty() : {sums}
%f{i} = linalg.fill ins(%z{i} : f32) outs(%s{i} : {sums}) -> {sums}
%r{i} = linalg.generic {{indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}}
    ins(%x{i} : {tensor}) outs(%f{i} : {sums}) {{
^bb0(%a: f32, %o: f32):
  %q = arith.addf %a, %o : f32
  linalg.yield %q : f32
}} -> {sums}
%e{i} = tensor.empty() : {tensor}"""
BROADCAST = """
%c{i} = linalg.generic {{indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}}
    ins(%r{i} : {sums}) outs(%e{i} : {tensor}) {{
^bb0(%a: f32, %o: f32):
  linalg.yield %a : f32
}} -> {tensor}"""
SCALE = """
%m{i} = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}}
    ins(%c{i}, %scale : {tensor}, {tensor}) outs(%e{i} : {tensor}) {{
^bb0(%a: f32, %b: f32, %o: f32):
  %w = arith.mulf %a, %b : f32
  linalg.yield %w : f32
}} -> {tensor}"""
TAKE = """
%x{next} = linalg.generic {{indexing_maps = [#id, MAP, #id], iterator_types = ["parallel", "parallel"]}}
    ins(%x{i}, TAKEN : {tensor}, TYPE) outs(%e{i} : {tensor}) {{
^bb0(%a: f32, %b: f32, %o: f32):
  %w = arith.subf %a, %b : f32
  linalg.yield %w : f32
}} -> {tensor}"""
FORMS = {
    "": (SUM, "#row", "%r{i}", "{sums}"),
    "broadcast": (SUM + BROADCAST, "#id", "%c{i}", "{tensor}"),
    "scaled": (SUM + BROADCAST + SCALE, "#id", "%m{i}", "{tensor}"),
}

links, form = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
made, taken_map, taken, taken_type = FORMS[form]
link = made + TAKE.replace("MAP", taken_map).replace("TAKEN", taken).replace("TYPE", taken_type)
print("#id = affine_map<(d0, d1) -> (d0, d1)>\n#row = affine_map<(d0, d1) -> (d0)>")
print(f"func.func @chain(%x0: {TENSOR}) -> {TENSOR} {{")
if form == "scaled":
    print(f"%scale = arith.constant dense<1.0e-2> : {TENSOR}")
for i in range(links):
    print(link.format(i=i, next=i + 1, tensor=TENSOR, sums=SUMS))
print(f"return %x{links} : {TENSOR}\n}}")
