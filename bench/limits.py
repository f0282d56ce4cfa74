#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Plans a step within limits of memory from the least upward, with each choice that a user has.

    bench/limits.py step.mlir [--count N] [--recompute auto none] [OPTIONS OF weft-compile]

The first limit is the least, which the refusal of too small a limit names; the others come closer
together towards it, up to the bytes that the plan without a limit needs; and there are the least limits
of the other values of `--recompute`. Of `--recompute` the first
value is the one that is held to the bar: with `best` it must be no slower than with the other policies,
and no more than 0.5 % slower than with the other values; within more memory no more than 1 % slower
than within less. The least limit must do, and one byte less must be refused with the same number.
Prints a table as Markdown, and what misses the bar; of rows that do not fit nothing is printed.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
POLICIES = ["best", "greedy", "next-layer", "sync"]
# Rounding of a step's time, and what is left to what recomputation estimates.
ROUNDING_NS, RECOMPUTE_SLACK, MEMORY_SLACK = 100, 1.005, 1.01


class Plan:
    """What weft-compile says with some options: `ns` and `bytes`, or `least`, the bytes that are missing."""

    def __init__(self, options, recompute, policy, limit):
        self.recompute, self.policy, self.limit = recompute, policy, limit
        begin = time.monotonic()
        run = subprocess.run(
            [options.build / "bin" / "weft-compile", options.step, "--to", "planned", "--stats", "--no-proofs",
             "-o", "-", "--machine", options.machine, "--recompute", recompute, "--schedule", policy,
             "--memory-limit", limit if limit == "none" else f"{limit}B", *options.more],
            text=True, capture_output=True, check=False)
        self.seconds = time.monotonic() - begin
        self.fits = run.returncode == 0
        if self.fits:
            self.ns = int(re.search(r" step_ns = (\d+)", run.stdout)[1])
            total = re.search(r"^  total +(\d+) B$", run.stderr.split("each rank needs:")[1], re.M)
            self.bytes = int(total[1])
            return
        needed = re.search(r"needs (\d+) bytes at least", run.stderr)
        if not needed:
            sys.exit(f"bench: {options.step}: {run.stderr[:2000]}")
        self.least = int(needed[1])

    def __str__(self):
        return f"--recompute {self.recompute} --schedule {self.policy}"

    def print_row(self, ours):
        if self.fits:
            ratio = f"{self.ns / ours.ns:.4f}" if ours.fits else ""
            print(f"| {self.limit} | {self.recompute} | {self.policy} | {self.ns / 1e6:.4f} | {ratio} "
                  f"| {self.bytes} | {self.seconds:.1f} |", flush=True)


def misses_at(limit, ours, others):
    """What misses the bar at one limit, as text."""
    for plan in [ours, *others]:
        if plan.fits and plan.bytes > limit:
            yield f"{plan} needs {plan.bytes} bytes within {limit}"
    for plan in others:
        slack = 1 if plan.recompute == ours.recompute else RECOMPUTE_SLACK
        if plan.fits and not ours.fits:
            yield f"{plan} fits into {limit} bytes, {ours} does not"
        elif plan.fits and ours.ns > plan.ns * slack + ROUNDING_NS:
            yield f"{plan} takes {plan.ns} ns within {limit} bytes, {ours} {ours.ns} ns"


def misses_of_least(options, least):
    """What is wrong with the limit that is said to be the least."""
    at_least = Plan(options, options.recompute[0], "best", least)
    if not at_least.fits:
        yield f"{least} bytes are said to do, but {at_least.least} are missing there"
    below = Plan(options, options.recompute[0], "best", least - 1)
    if below.fits:
        yield f"{least - 1} bytes do, though {least} are said to be the least"
    elif below.least != least:
        yield f"within {least - 1} bytes {below.least} are said to be the least, within 1 byte {least}"


def limits_of(options):
    first, *others = options.recompute
    least = options.least or Plan(options, first, "best", 1).least
    most = max(least, Plan(options, first, "best", "none").bytes)
    steps = max(1, options.count - 1)
    spread = [least + round((most - least) * (i / steps) ** 2) for i in range(options.count)]
    of_others = [Plan(options, other, "best", 1).least for other in others]
    return sorted({*spread, *(limit for limit in of_others if limit >= least)})


def sweep(options):
    """Prints rows; what misses the bar is yielded."""
    limits = limits_of(options)
    if options.check_least:
        yield from misses_of_least(options, limits[0])
    fastest = None
    for limit in limits:
        plans: list[Plan] = []
        for recompute in options.recompute:
            for policy in options.policy:
                plans.append(Plan(options, recompute, policy, limit))
                plans[-1].print_row(plans[0])
        ours, *others = plans
        yield from misses_at(limit, ours, others)
        if fastest and ours.fits and ours.ns > fastest.ns * MEMORY_SLACK:
            yield f"{ours} takes {ours.ns} ns within {limit} bytes, {fastest.ns} ns within {fastest.limit}"
        if ours.fits and (not fastest or ours.ns < fastest.ns):
            fastest = ours


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("step", type=Path)
    parser.add_argument("--count", type=int, default=5, help="of limits")
    parser.add_argument("--least", type=int, help="the least limit, instead of looking for it")
    parser.add_argument("--check-least", action="store_true",
                        help="whether it is the least, which takes as long as to find it")
    parser.add_argument("--recompute", nargs="+", default=["auto", "none", "marked"])
    parser.add_argument("--policy", nargs="+", default=POLICIES, help="the first is held to the bar")
    parser.add_argument("--machine", default="h100x8")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options, more = parser.parse_known_args()
    options.more = more
    return options


def main():
    options = arguments()
    print("| limit | recompute | policy | ms | ratio | bytes | s |\n|--:|---|---|--:|--:|--:|--:|")
    misses = 0
    for miss in sweep(options):
        print(f"miss: {miss}", flush=True)
        misses += 1
    sys.exit(1 if misses else 0)


if __name__ == "__main__":
    main()
