# SPDX-License-Identifier: Apache-2.0
"""Writes a planned module with one launch of as many kernels as the argument says."""
import sys

count = int(sys.argv[1])
print('module attributes {weft.target = #weft.target<"cuda">} {\n  func.func @f() {')
for i in range(count):
    print(f"    %b{i} = weft_rt.buffer argument {i} : memref<4xf32>")
for i in range(count):
    print(f"""    weft_rt.fused ins() outs(%b{i} : memref<4xf32>) {{
      %c = arith.constant 1.0 : f32
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}} outs(%e : tensor<4xf32>) {{
      ^bb0(%o: f32):
        linalg.yield %c : f32
      }} -> tensor<4xf32>
      weft_rt.yield %r : tensor<4xf32>
    }} {{weft_rt.together = 0 : i64}}""")
print("    return\n  }\n}")
