#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that functions have the same bits on all CPUs and at all places.

    same_bits.py TYPE NAME...     e.g. f32 math.exp math.powf

Compiles the functions for CPUs with and without fused products, with short and
long vectors, as far as this machine runs them; and once more with the inputs
moved by a few places, so that what was in the body of a loop is in its tail.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import accuracy
import numpy as np

# A feature that a machine has which runs code for the CPU.
CPUS = {"x86-64": "sse2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl", "native": "sse2"}
MOVED = 13


def runnable():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    features = next(line for line in text.splitlines() if line.startswith("flags")).split()
    return [cpu for cpu, feature in CPUS.items() if feature in features]


def same(a, b):
    """Equal bits, or NaN both."""
    bits = f"u{a.dtype.itemsize}"
    return (a.view(bits) == b.view(bits)) | (np.isnan(a) & np.isnan(b))


def report(what, name, good, results, others):
    at = int(np.argmin(good))
    print(f"{name}, {what}: element {at} is {others[name][at]!r}, not {results[name][at]!r}")


def main():
    element, names = sys.argv[1], sys.argv[2:]
    accuracy.COUNT = (1 << 17) + 7
    inputs = accuracy.make_inputs(element)
    moved = {k: (np.roll(array, MOVED), type) for k, (array, type) in inputs.items()}
    text = accuracy.program(names, element)
    failed, results = False, None
    for cpu in runnable():
        for what, given, places in ((cpu, inputs, 0), (f"{cpu}, moved", moved, -MOVED)):
            others = accuracy.run(text, given, "--cpu", cpu)
            others = {k: np.roll(array, places) for k, array in others.items()}
            results = results or others
            for name in names:
                good = same(results[name], others[name])
                if not np.all(good):
                    failed = True
                    report(what, name, good, results, others)
    print(f"{len(names)} functions on {len(runnable())} CPUs")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
