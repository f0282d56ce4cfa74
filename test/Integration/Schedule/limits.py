# SPDX-License-Identifier: Apache-2.0

"""What holds for plans under limits of memory.

    limits.py order STEP.mlir          writes a step whose own order needs much
    limits.py sweep STEP.mlir NUMBER [options of weft-compile]
    limits.py least STEP.mlir [options of weft-compile]
    limits.py more STEP.mlir [options of weft-compile]

The sweep asks for the least limit of each policy, by the error that one byte
gives; that limit must compile, and one byte less must not. From the least on,
and without a limit, `best` must be no slower than any other policy, and no plan
above its limit; nor may it be slower with more memory by more than SLACK. With 0
for NUMBER only what has no limit is compared. With `least`, only the least limit
of `best` is looked at, all of which its plan must need. With `more`, `best` gets
what its plan without a limit needs, and 5 % more: it must be no slower than
without a limit.
"""

import re
import subprocess
import sys

POLICIES = ["sync", "next-layer", "greedy", "best"]
NUM_CHAINS = 6
SLACK = 0.01


def write_order(path):
    """Large values that are all made first, and then used one by one."""
    lines = ["#mk = affine_map<(m, n, k) -> (m, k)>", "#kn = affine_map<(m, n, k) -> (k, n)>",
             "#km = affine_map<(m, n, k) -> (k, m)>", "#mn = affine_map<(m, n, k) -> (m, n)>",
             "func.func @step(%x: tensor<256x8xf32> {weft.name = \"x\"}, "
             "%w: tensor<8x64xf32> {weft.name = \"w\"}) "
             "-> (tensor<64x64xf32> {weft.name = \"y\"}) {",
             "  %e = tensor.empty() : tensor<64x64xf32>",
             "  %one = arith.constant dense<1.0> : tensor<256x8xf32>",
             "  %x0 = arith.addf %x, %one : tensor<256x8xf32>"]
    for i in range(NUM_CHAINS):
        lines += [f"  %x{i + 1} = arith.addf %x{i}, %one : tensor<256x8xf32>",
                  f"  %v{i} = weft.matmul %x{i}, %w {{indexing_maps = [#mk, #kn, #mn]}} "
                  ": tensor<256x8xf32>, tensor<8x64xf32> -> tensor<256x64xf32>"]
    for i in range(NUM_CHAINS):
        lines += [f"  %s{i} = weft.matmul %v{i}, %v{i} {{indexing_maps = [#km, #kn, #mn]}} "
                  ": tensor<256x64xf32>, tensor<256x64xf32> -> tensor<64x64xf32>"]
    sum_ = "%s0"
    for i in range(1, NUM_CHAINS):
        lines += [f"  %t{i} = arith.addf {sum_}, %s{i} : tensor<64x64xf32>"]
        sum_ = f"%t{i}"
    lines += [f"  return {sum_} : tensor<64x64xf32>", "}", ""]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def compile_step(step, policy, limit, options):
    """Step time in nanoseconds and bytes, or (None, bytes that it needs)."""
    run = subprocess.run(["weft-compile", step, "--schedule", policy, "--memory-limit",
                          "none" if limit is None else f"{limit}B", "--to", "planned",
                          "--stats", "-o", "-", *options],
                         text=True, capture_output=True)
    if run.returncode == 0:
        total = re.search(r"^  total +(\d+) B$", run.stderr.split("each rank needs:")[1], re.M)
        return int(re.search(r" step_ns = (\d+)", run.stdout).group(1)), int(total.group(1))
    needed = re.search(r"needs (\d+) bytes at least", run.stderr)
    bound = re.search(r"no order needs less than (\d+) bytes", run.stderr)
    if not needed or int(bound.group(1)) > int(needed.group(1)):
        sys.exit(f"{policy} at {limit} B: {run.stderr}")
    return None, int(needed.group(1))


def compare(step, limit, options):
    rows = {policy: compile_step(step, policy, limit, options) for policy in POLICIES}
    for time, total in rows.values():
        if time is not None and (limit is not None and total > limit or rows["best"][0] > time):
            sys.exit(f"at {limit} B: {rows}")
    return rows["best"][0]


def check_least(step, options):
    limit = compile_step(step, "best", 1, options)[1]
    time, total = compile_step(step, "best", limit, options)
    if time is None or total != limit:
        sys.exit(f"{limit} B are named as the least, and {total} B are needed")
    if compile_step(step, "best", limit - 1, options) != (None, limit):
        sys.exit(f"{limit} B are named as the least, and one less is enough")


def check_more(step, options):
    unlimited, total = compile_step(step, "best", None, options)
    for limit in (total, total + total // 20):
        time, needed = compile_step(step, "best", limit, options)
        if time is None or needed > limit or time > unlimited:
            sys.exit(f"{time} ns within {limit} B, and {unlimited} ns in {total} B without a limit")


def sweep(step, number, options):
    unlimited = compare(step, None, options)
    if number == 0:
        return
    least = {policy: compile_step(step, policy, 1, options)[1] for policy in POLICIES}
    for policy, limit in least.items():
        time, total = compile_step(step, policy, limit, options)
        if time is None or total > limit:
            sys.exit(f"{policy}: {limit} B are named as the least, and {total} B are needed")
        if compile_step(step, policy, limit - 1, options) != (None, limit):
            sys.exit(f"{policy}: {limit} B are named as the least, and one less is enough")
    if least["best"] > min(least.values()):
        sys.exit(f"best needs more than another policy: {least}")
    limits = [least["best"] + least["best"] * i * i // (number * number) for i in range(number)]
    times = [compare(step, limit, options) for limit in limits] + [unlimited]
    for i, time in enumerate(times):
        if time > min(times[:i + 1]) * (1 + SLACK):
            sys.exit(f"slower with more memory: {times} ns at {limits} B and without a limit")
    print("least", least)


if __name__ == "__main__":
    if sys.argv[1] == "order":
        write_order(sys.argv[2])
    elif sys.argv[1] == "least":
        check_least(sys.argv[2], sys.argv[3:])
    elif sys.argv[1] == "more":
        check_more(sys.argv[2], sys.argv[3:])
    else:
        sweep(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
