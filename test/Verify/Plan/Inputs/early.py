# SPDX-License-Identifier: Apache-2.0
"""Plans of test/mutation/Inputs/main_grads.mlir that do more than is scheduled.

early.py copy PLAN             a weight is copied over the first reduce-scatter's result, after the addition in the plan,
                               but before it in the schedule
early.py again PLAN SCHEDULED  the kernel on the stream of a channel stands there twice; with the scheduled program
                               inside, as weft-verify-planning takes it
"""
import pathlib
import re
import sys


def read(path, aliases="#"):
    """The lines of a module, and of what it calls by other names before it."""
    text = re.sub(r"#(?=map)", aliases, pathlib.Path(path).read_text())
    lines = text.rstrip().split("\n")
    begin = next(i for i, line in enumerate(lines) if line.startswith("module"))
    return lines[:begin], lines[begin:]


def copy_weight(lines, end):
    start = next(line for line in lines if "start" in line and '"reduce_scatter grads.3"' in line)
    weight = next(line for line in lines if "buffer argument 0 " in line)
    result = re.search(r"outs\((%\d+)", start).group(1)
    name = re.search(r"(%\d+) =", weight).group(1)
    kind = "memref<128x256xf32>"
    attributes = "{weft_rt.stream = @reduce.fsdp, weft_rt.values = array<i64: 0, 0>}"
    lines.insert(end + 1, f"    weft_rt.copy {name} to {result} {attributes} : {kind} to {kind}")


edit, plan, *scheduled = sys.argv[1:]
head, lines = read(plan)
end = next(i for i, line in enumerate(lines) if '"kernel #10"' in line)
if edit == "copy":
    copy_weight(lines, end)
else:
    begin = next(i for i in range(end, 0, -1) if "weft_rt.fused" in lines[i])
    lines[end + 1 : end + 1] = lines[begin : end + 1]
    names, inner = read(scheduled[0], aliases="#scheduled_")
    head += names
    lines[-1:] = [inner[0].replace("module", "module @scheduled", 1), *inner[1:], lines[-1]]
print("\n".join(head + lines))
