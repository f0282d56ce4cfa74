# SPDX-License-Identifier: Apache-2.0
"""Prints a step with 1100 sums that nothing holds back, in front of a product of
which each wants one; with `max`, reads a scheduled step and prints the most
collectives that are in flight."""
import sys

COUNT = 1100
MAPS = ("[affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, "
        "affine_map<(m, n, k) -> (m, n)>]")

if sys.argv[1:] == ["max"]:
    flying = most = 0
    for line in sys.stdin:
        flying += ("= weft.all_reduce" in line) - ("= weft.wait" in line)
        most = max(most, flying)
    print("at most", most)
    sys.exit()
print('weft.mesh @mesh = <["dp"=2]>\nweft.channel @data.dp on @mesh <{"dp"}> purpose data')
arguments = ", ".join(f"%a{i}: tensor<8x8xf32>" for i in range(COUNT))
print(f"func.func @step({arguments}) -> tensor<8x8xf32> {{")
for i in range(COUNT):
    print(f"  %s{i} = weft.all_reduce sum %a{i} on @mesh <{{\"dp\"}}> {{channel = @data.dp, "
          f"weft.op = \"sum {i}\"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>")
print("  %m0 = weft.matmul %a0, %a0 {indexing_maps = " + MAPS + ", weft.op = \"first\"} "
      ": tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>")
for i in range(COUNT):
    print(f"  %m{i + 1} = weft.matmul %m{i}, %s{i} {{indexing_maps = {MAPS}, weft.op = \"product {i}\"}} "
          ": tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>")
print(f"  return %m{COUNT} : tensor<8x8xf32>\n}}")
