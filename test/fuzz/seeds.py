# SPDX-License-Identifier: Apache-2.0
"""Runs a check for one seed after the other, as the scripts beside this one do."""
import sys
import time


def add_options(parser, seeds):
    """`seeds`: those that are checked by default."""
    parser.add_argument("--seeds", default=seeds, help="first:end")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop starting seeds after this")


def run(options, check):
    """`check` says of a seed what is wrong, or None. Prints that and the totals, and ends the program."""
    first, end = map(int, options.seeds.split(":"))
    begin, good, bad = time.monotonic(), 0, 0
    for seed in range(first, end):
        if time.monotonic() - begin > options.seconds:
            break
        problem = check(seed)
        good, bad = good + (problem is None), bad + (problem is not None)
        if problem:
            print(f"seed {seed}: {problem}", flush=True)
    print(f"{good} passed, {bad} failed")
    sys.exit(1 if bad else 0)
