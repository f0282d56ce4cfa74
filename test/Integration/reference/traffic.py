#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what a step of the example moves, by kind of collective and axes.

    traffic.py STEP.mlir --mesh dp=2,fsdp=2,tp=2 [--mesh ...]

The bytes are compared with those that a person would count for a decoder that
is sharded as the example is, written down here from the model's sizes alone:
weights are gathered in the forward pass and again in the backward pass, their
gradients scattered once and then summed over dp in parts; each of the two
blocks of a layer sums its result over tp in the forward pass, and the gradient
of its input in the backward pass; the table stays where it rests in the lookup;
of the vocabulary only rows' scalars move.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

# The sizes of examples/qwen3/step.mlir.
LAYERS, MODEL, HEADS, KV_HEADS, HEAD, FFN, VOCAB, SEQ, BATCH = 2, 64, 4, 2, 16, 128, 256, 32, 8
BYTES = 4


class Count:
    """Adds up bytes that a rank receives, by kind and axes."""

    def __init__(self, mesh):
        self.mesh = mesh
        self.bytes = collections.Counter()

    def size(self, axes):
        result = 1
        for _, size in axes:
            result *= size
        return result

    def whole(self, *names):
        return [(f'"{name}"', self.mesh.get(name, 1)) for name in names]

    def add(self, kind, axes, elements, factor=1):
        """`elements`: of the whole buffer, that is of the larger side."""
        axes = [(name, size) for name, size in axes if size > 1]
        group = self.size(axes)
        if group > 1:
            key = kind, ", ".join(name for name, _ in axes)
            self.bytes[key] += -(-factor * elements * BYTES * (group - 1) // group)

    def all_gather(self, axes, elements):
        self.add("all_gather", axes, elements)

    def reduce_scatter(self, axes, elements):
        self.add("reduce_scatter", axes, elements)

    def all_reduce(self, axes, elements):
        self.add("all_reduce", axes, elements, 2)


def count_weight(count, elements, num_gathers):
    """A matrix: at rest over fsdp and tp."""
    fsdp, tp = count.mesh.get("fsdp", 1), count.mesh.get("tp", 1)
    for _ in range(num_gathers):
        count.all_gather(count.whole("fsdp"), elements // tp)
    count.reduce_scatter(count.whole("fsdp"), elements // tp)
    count.all_reduce(count.whole("dp"), elements // tp // fsdp)


def count_lookup(count, tokens):
    """Each rank looks up all tokens of its fsdp group in its rows (tp) and columns
    (fsdp) of the table; what it found goes to the ranks whose tokens these are."""
    tp, fsdp = count.whole("tp"), count.whole("fsdp")
    if count.size(fsdp) == 1:
        count.all_reduce(tp, tokens * MODEL)
        return
    count.all_gather(fsdp, tokens * count.size(fsdp))
    count.reduce_scatter(tp, tokens * MODEL)
    count.add("all_to_all", fsdp, tokens * MODEL // count.size(tp))
    count.all_gather(tp, tokens * MODEL)


def part(name, before, size, whole):
    """A sub-axis, or the axis if it is all of it."""
    return f'"{name}"' if size == whole else f'"{name}":({before}){size}'


def count_heads(count, tokens):
    """Heads on more ranks than there are. A projection's columns are gathered to
    whole heads; the gradients of keys and values come from several query heads."""
    tp = count.mesh.get("tp", 1)
    per_query, per_key = max(1, tp // HEADS), max(1, tp // KV_HEADS)
    head = tokens * HEAD
    in_query = [(part("tp", tp // per_query, per_query, tp), per_query)]
    in_key = [(part("tp", tp // per_key, per_key, tp), per_key)]
    queries = per_key // per_query
    over_queries = [(part("tp", tp // per_key, queries, tp), queries)]
    count.all_gather(in_query, head)  # queries
    count.all_gather(in_query, head)  # the gradient of what is mixed
    count.all_gather(in_key, head)
    count.all_gather(in_key, head)
    count.all_reduce(over_queries, head)  # keys: the norm needs whole heads
    if per_query == 1:
        count.reduce_scatter(over_queries, head)
    else:
        # The ranks of a query head have all of what attention gives.
        count.all_reduce(over_queries, head)


def norm_axes(count, heads):
    """The ranks that contribute to the gradient of a norm over heads."""
    tp = count.mesh.get("tp", 1)
    cut = min(tp, heads)
    return count.whole("dp", "fsdp") + [(part("tp", 1, cut, tp), cut)]


def expected(mesh):
    count = Count(mesh)
    batch, tp = count.whole("dp", "fsdp"), count.whole("tp")
    tokens = BATCH * SEQ // count.size(batch)
    query, key = HEADS * HEAD, KV_HEADS * HEAD
    for _ in range(LAYERS):
        for columns in (query, key, key, query, FFN, FFN, FFN):
            count_weight(count, MODEL * columns, num_gathers=2)
        count.all_reduce(batch, MODEL)  # the two norms of the layer
        count.all_reduce(batch, MODEL)
        count.all_reduce(norm_axes(count, HEADS), HEAD)
        count.all_reduce(norm_axes(count, KV_HEADS), HEAD)
        count_heads(count, tokens)
        for _ in range(4):
            count.all_reduce(tp, tokens * MODEL)
    # Gathered once, for the head and its gradient.
    count_weight(count, VOCAB * MODEL, num_gathers=1)
    count_lookup(count, tokens)
    count.all_reduce(batch, MODEL)  # the last norm
    count.all_reduce(tp, tokens * MODEL)  # the gradient of the head's input
    for _ in range(3):  # greatest logit, sum, the target's logit
        count.all_reduce(tp, tokens)
    count.all_reduce(batch, 1)  # the loss
    return count.bytes


def actual(step, mesh):
    sizes = ",".join(f"{axis}={mesh.get(axis, 1)}" for axis in ("dp", "fsdp", "tp"))
    command = ["weft-opt", step, f"--weft-global-to-local=mesh={sizes}", "--weft-print-traffic", "-o", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    rows = re.findall(r"(\w+) over #weft\.axes<\{(.*?)\}>: \d+ operands, (\d+) bytes", done.stderr)
    return {(kind, axes): int(count) for kind, axes, count in rows}


def parse_mesh(text):
    return {k: int(v) for k, v in (e.split("=") for e in text.split(","))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("step", type=pathlib.Path)
    parser.add_argument("--mesh", action="append", type=parse_mesh, required=True)
    args = parser.parse_args()
    failed = False
    for mesh in args.mesh:
        wanted, moved = expected(mesh), actual(args.step, mesh)
        for key in sorted(set(wanted) | set(moved)):
            if wanted.get(key, 0) != moved.get(key, 0):
                failed = True
                print(f"mesh {mesh}: {key[0]} over {{{key[1]}}}: {moved.get(key, 0)} bytes, "
                      f"expected {wanted.get(key, 0)}")  # fmt: skip
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
