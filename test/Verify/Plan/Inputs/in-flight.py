# SPDX-License-Identifier: Apache-2.0
"""Prints a planned step that starts as many collectives as it is told before it
waits for the first one."""
import sys

count = int(sys.argv[1])
print('weft.mesh @mesh = <["a"=2]>\nweft.channel @c on @mesh <{"a"}> purpose data')
print(f"func.func @step() attributes {{weft_rt.arena_bytes = {64 * count} : i64, weft_rt.args = [], "
      "weft_rt.results = []} {")
for i in range(count):
    print(f"  %b{i} = weft_rt.buffer arena {64 * i} : memref<4xf32>")
for i in range(count):
    print(f'  %t{i} = weft_rt.start <all_reduce, mesh = @mesh, axes = <{{"a"}}>, reduce = sum> '
          f'ins(%b{i} : memref<4xf32>) outs(%b{i} : memref<4xf32>) {{channel = @c, weft.op = "sum {i}"}}')
for i in range(count):
    print(f"  weft_rt.wait %t{i}")
print("  return\n}")
