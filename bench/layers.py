#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Writes a training step of many equal layers, as text of the local phase.

    bench/layers.py --ops 36000 > step.mlir

A layer is two weights with a residual connection, forward and backward, and
AdamW: casts, gathers, products, elementwise ops and reduce_scatters of one
rank of 8 in the proportions of a real step, but with more collectives. Needs
nothing but Python, and is fast enough for 100,000 ops.
"""

import argparse
import os
import sys

RANKS, BATCH, WIDTH, HIDDEN = 8, 1024, 2048, 8192
MAPS = {
    "id": "affine_map<(m, n) -> (m, n)>",
    "mk": "affine_map<(m, n, k) -> (m, k)>",
    "km": "affine_map<(m, n, k) -> (k, m)>",
    "kn": "affine_map<(m, n, k) -> (k, n)>",
    "nk": "affine_map<(m, n, k) -> (n, k)>",
    "mn": "affine_map<(m, n, k) -> (m, n)>",
}


def tensor(shape, element):
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


class Value:
    def __init__(self, name, shape, element):
        self.name, self.shape, self.element = name, shape, element

    @property
    def type(self):
        return tensor(self.shape, self.element)


class Step:
    """The body's lines so far."""

    def __init__(self):
        self.lines, self.count, self.constants = [], 0, {}

    def add(self, text, shape, element):
        value = Value(f"%v{self.count}", shape, element)
        self.count += 1
        self.lines.append(f"    {value.name} = {text}")
        return value

    def constant(self, number):
        """A scalar, written at the top of the function."""
        return self.constants.setdefault(number, f"%c{len(self.constants)}")

    def map(self, inputs, element, body):
        """An elementwise op: `body` are pairs (op, operands), each the value of
        the next number; numbers are results, texts %a0, %a1, ... the inputs."""
        shape = inputs[0].shape
        empty = self.add(f"tensor.empty() : {tensor(shape, element)}", shape, element)
        names = ", ".join(v.name for v in inputs)
        types = ", ".join(v.type for v in inputs)
        blocks = ", ".join(f"%a{i}: {v.element}" for i, v in enumerate(inputs))
        lines = [f"linalg.generic {{indexing_maps = [{', '.join(['#id'] * (len(inputs) + 1))}], "
                 f'iterator_types = ["parallel", "parallel"]}} ins({names} : {types}) '
                 f"outs({empty.name} : {empty.type}) {{",
                 f"    ^bb0({blocks}, %out: {element}):"]
        for i, (op, operands, type) in enumerate(body):
            lines.append(f"      %b{i} = {op} {', '.join(operands)} : {type}")
        lines += [f"      linalg.yield %b{len(body) - 1} : {element}", f"    }} -> {empty.type}"]
        return self.add("\n".join(lines), shape, element)

    def cast(self, value, element):
        op = "arith.truncf" if element == "bf16" else "arith.extf"
        return self.map([value], element, [(op, ["%a0"], f"{value.element} to {element}")])

    def gather(self, value, dim):
        shape = list(value.shape)
        shape[dim] *= RANKS
        return self.add(f'weft.all_gather {value.name} on @mesh <{{"fsdp"}}> dims [{dim}] : '
                        f"({value.type}) -> {tensor(shape, value.element)}", shape, value.element)

    def scatter(self, value, dim):
        shape = list(value.shape)
        shape[dim] //= RANKS
        return self.add(f'weft.reduce_scatter sum {value.name} on @mesh <{{"fsdp"}}> dims [{dim}] : '
                        f"({value.type}) -> {tensor(shape, value.element)}", shape, value.element)

    def matmul(self, lhs, rhs, lhs_map, rhs_map, shape):
        maps = ", ".join(f"#{name}" for name in (lhs_map, rhs_map, "mn"))
        return self.add(f"weft.matmul {lhs.name}, {rhs.name} {{indexing_maps = [{maps}]}} : "
                        f"{lhs.type}, {rhs.type} -> {tensor(shape, 'bf16')}", shape, "bf16")

    def relu(self, x):
        zero = self.constant("0.000000e+00 : bf16")
        return self.map([x], "bf16", [("arith.maximumf", ["%a0", zero], "bf16")])

    def relu_gradient(self, x, g):
        zero = self.constant("0.000000e+00 : bf16")
        return self.map([x, g], "bf16", [("arith.cmpf ogt,", ["%a0", zero], "bf16"),
                                         ("arith.select", ["%b0", "%a1", zero], "bf16")])

    def sum(self, a, b):
        return self.map([a, b], "bf16", [("arith.addf", ["%a0", "%a1"], "bf16")])

    def adamw(self, weight, m, v, gradient):
        g = self.cast(gradient, "f32")
        mix = lambda keep: [
            ("arith.mulf", ["%a0", self.constant(f"{keep:e} : f32")], "f32"),
            ("arith.mulf", ["%a1", self.constant(f"{1 - keep:e} : f32")], "f32"),
            ("arith.addf", ["%b0", "%b1"], "f32")]
        square = self.map([g], "f32", [("arith.mulf", ["%a0", "%a0"], "f32")])
        m = self.map([m, g], "f32", mix(0.9))
        v = self.map([v, square], "f32", mix(0.95))
        root = self.map([v], "f32", [("math.sqrt", ["%a0"], "f32"), (
            "arith.addf", ["%b0", self.constant("9.99999993E-9 : f32")], "f32")])
        direction = self.map([m, root], "f32", [("arith.divf", ["%a0", "%a1"], "f32")])
        weight = self.map([weight, direction], "f32", [
            ("arith.mulf", ["%a1", self.constant("1.000000e-03 : f32")], "f32"),
            ("arith.subf", ["%a0", "%b0"], "f32")])
        return weight, m, v


def forward(step, x, up, down):
    """The output, and what the backward pass needs."""
    wide = step.matmul(x, step.gather(step.cast(up, "bf16"), 0), "mk", "kn", [BATCH, HIDDEN])
    hidden = step.relu(wide)
    out = step.matmul(hidden, step.gather(step.cast(down, "bf16"), 1), "mk", "kn", [BATCH, WIDTH])
    return step.sum(x, out), (x, wide, hidden)


def backward(step, g, saved, up, down):
    """The gradients of the input and of both weights."""
    x, wide, hidden = saved
    down_gradient = step.scatter(step.matmul(hidden, g, "km", "kn", [HIDDEN, WIDTH]), 1)
    g_hidden = step.matmul(g, step.gather(step.cast(down, "bf16"), 1), "mk", "nk", [BATCH, HIDDEN])
    g_wide = step.relu_gradient(wide, g_hidden)
    up_gradient = step.scatter(step.matmul(x, g_wide, "km", "kn", [WIDTH, HIDDEN]), 0)
    g_x = step.matmul(g_wide, step.gather(step.cast(up, "bf16"), 0), "mk", "nk", [BATCH, WIDTH])
    return step.sum(g, g_x), up_gradient, down_gradient


def parameters(layers):
    """(name, rest shape, sharding) of each weight, its m and its v."""
    for layer in range(layers):
        for name, shape, axes in (
                ("up", [WIDTH // RANKS, HIDDEN], '{"fsdp"}, {}'),
                ("down", [HIDDEN, WIDTH // RANKS], '{}, {"fsdp"}')):
            for kind in ("params", "opt.m", "opt.v"):
                yield f"{kind}.layers.{layer}.{name}", shape, axes


def attributes(name, shape, axes, alias=None):
    whole = [WIDTH, HIDDEN] if name.endswith("up") else [HIDDEN, WIDTH]
    alias = "" if alias is None else f"weft.alias = {alias} : index, "
    return (f"{{{alias}weft.global_type = {tensor(whole, 'f32')}, weft.name = \"{name}\", "
            f'weft.sharding = #weft.sharding<@mesh, [{axes}], storage = {{"fsdp"}}>}}')


def write(layers, out):
    step = Step()
    described = list(parameters(layers))
    states = [Value(f"%arg{i}", shape, "f32") for i, (_, shape, _) in enumerate(described)]
    x, saved = Value(f"%arg{len(states)}", [BATCH, WIDTH], "bf16"), []
    data = x
    for layer in range(layers):
        up, down = states[6 * layer], states[6 * layer + 3]
        x, kept = forward(step, x, up, down)
        saved.append(kept)
    gradient, results = x, list(states)
    for layer in reversed(range(layers)):
        at = 6 * layer
        gradient, g_up, g_down = backward(step, gradient, saved[layer], states[at], states[at + 3])
        results[at:at + 3] = step.adamw(*states[at:at + 3], g_up)  # type: ignore[call-arg]
        results[at + 3:at + 6] = step.adamw(*states[at + 3:at + 6], g_down)  # type: ignore[call-arg]
    for name, text in MAPS.items():
        out.write(f"#{name} = {text}\n")
    arguments = [f"{v.name}: {v.type} {attributes(*d)}" for v, d in zip(states, described)]
    arguments.append(f"{data.name}: {data.type} {{weft.global_type = "
                     f"{tensor([BATCH * RANKS, WIDTH], 'bf16')}, weft.name = \"x\", "
                     'weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>}')
    types = [f"{v.type} {attributes(*d, alias=i)}" for i, (v, d) in enumerate(zip(states, described))]
    out.write(f"module {{\n  weft.mesh @mesh = <[\"fsdp\"={RANKS}]>\n"
              f"  func.func @step({', '.join(arguments)}) -> ({', '.join(types)}) {{\n")
    for number, name in step.constants.items():
        out.write(f"    {name} = arith.constant {number}\n")
    out.write("\n".join(step.lines))
    out.write(f"\n    return {', '.join(v.name for v in results)} : "
              f"{', '.join(v.type for v in results)}\n  }}\n}}\n")
    return step.count


def write_ops(ops, out):
    """Writes a step of about so many ops."""
    with open(os.devnull, "w") as nowhere:
        per_layer = write(1, nowhere)
    write(max(1, round(ops / per_layer)), out)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", type=int, default=36000, help="about this many")
    write_ops(parser.parse_args().ops, sys.stdout)


if __name__ == "__main__":
    main()
