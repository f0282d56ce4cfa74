# SPDX-License-Identifier: Apache-2.0
"""A plan of test/mutation/Inputs/main_grads.mlir in which a weight is copied over the first reduce-scatter's result,
behind the addition in the plan, but before it in the schedule.

early.py PLAN
"""
import re
import sys

lines = open(sys.argv[1]).read().split("\n")
start = next(line for line in lines if "start" in line and '"reduce_scatter grads.3"' in line)
weight = next(line for line in lines if "buffer argument 0 " in line)
end = next(i for i, line in enumerate(lines) if '"kernel #10"' in line)
result = re.search(r"outs\((%\d+)", start).group(1)
name = re.search(r"(%\d+) =", weight).group(1)
kind = "memref<128x256xf32>"
attributes = "{weft_rt.stream = @reduce.fsdp, weft_rt.values = array<i64: 0, 0>}"
lines.insert(end + 1, f"    weft_rt.copy {name} to {result} {attributes} : {kind} to {kind}")
print("\n".join(lines))
