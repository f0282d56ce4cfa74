#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks reductions with orders that are drawn at random, bit for bit.

    random_orders.py FIRST COUNT [--cpus A,B] [--device]

Each program has up to three reductions over the same loops, of different orders
or of the same, with an elementwise op in front and one after, so that they
share kernels in many ways.
"""

import argparse
import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import equivalence
import native

# Sizes of up to three loops, for short and long runs, with tails.
SIZES = [1, 2, 3, 4, 5, 8, 16, 24, 40, 64, 80, 130, 200]
MAX_POINTS = 20000
HEADER = "module attributes {weft.invariance = #weft.invariance<axes = [], leaves = 16>} {"


def tensor(sizes, element):
    return f"tensor<{''.join(f'{n}x' for n in sizes)}{element}>"


def affine(num_loops, loops):
    names = [f"d{i}" for i in range(num_loops)]
    return f"affine_map<({', '.join(names)}) -> ({', '.join(names[i] for i in loops)})>"


class Program:
    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.name = f"seed_{seed}"
        while True:
            self.sizes = [rng.choice(SIZES) for _ in range(rng.randint(1, 3))]
            self.reduced = [rng.random() < 0.6 for _ in self.sizes]
            if any(self.reduced) and math.prod(self.sizes) <= MAX_POINTS:
                break
        self.element = rng.choice(["f32"] * 4 + ["f64", "f16", "bf16"])
        self.layout = rng.sample(range(len(self.sizes)), len(self.sizes))
        self.kept = [i for i, reduced in enumerate(self.reduced) if not reduced]
        self.kept_layout = rng.sample(self.kept, len(self.kept))

    def order(self):
        count = math.prod(n for n, red in zip(self.sizes, self.reduced) if red)
        leaves = self.rng.choice([n for n in range(1, 13) if count % n == 0])
        lanes, leaf, run = self.rng.choice([1, 4, 16, 16]), count // leaves, self.sizes[-1]
        if not self.reduced[-1] or (leaf % run and run % leaf):
            lanes = 1
        return f"#weft.order<leaves = {leaves}, lanes = {lanes}>"

    def iterators(self):
        kinds = ['"reduction"' if red else '"parallel"' for red in self.reduced]
        return f"iterator_types = [{', '.join(kinds)}]"

    def elementwise(self, result, ops, a, b, layout, b_layout):
        n = len(layout)
        whole = tensor([self.sizes[i] for i in layout], self.element)
        maps = [affine(n, range(n)), affine(n, [layout.index(i) for i in b_layout])]
        other = tensor([self.sizes[i] for i in b_layout], self.element)
        kinds = ", ".join(['"parallel"'] * n)
        return f"""
  %e_{result} = tensor.empty() : {whole}
  %{result} = linalg.generic {{indexing_maps = [{maps[0]}, {maps[1]}, {maps[0]}], iterator_types = [{kinds}]}}
      ins(%{a}, %{b} : {whole}, {other}) outs(%e_{result} : {whole}) {{
  ^bb0(%a: {self.element}, %b: {self.element}, %o: {self.element}):
    %0 = {ops} %a, %b : {self.element}
    linalg.yield %0 : {self.element}
  }} -> {whole}"""

    def reduction(self, result, source, order, init):
        n = len(self.sizes)
        whole = tensor([self.sizes[i] for i in self.layout], self.element)
        small = tensor([self.sizes[i] for i in self.kept_layout], self.element)
        is_product = self.rng.random() < 0.15
        combine = "arith.mulf" if is_product else "arith.addf"
        operands = self.rng.choice(["%s, %t", "%t, %s"])
        return f"""
  %{result} = linalg.generic {{indexing_maps = [{affine(n, self.layout)}, {affine(n, self.kept_layout)}], {self.iterators()}}}
      ins(%{source} : {whole}) outs(%{init} : {small}) attrs = {{weft.order = {order}}} {{
  ^bb0(%a: {self.element}, %s: {self.element}):
    %t = arith.mulf %a, %half : {self.element}
    %0 = {combine} {operands} : {self.element}
    linalg.yield %0 : {self.element}
  }} -> {small}"""

    def text(self):
        rng = self.rng
        whole = tensor([self.sizes[i] for i in self.layout], self.element)
        small = tensor([self.sizes[i] for i in self.kept_layout], self.element)
        lines = [self.elementwise("p", "arith.subf", "x", "y", self.layout, self.layout)]
        orders = [self.order(), self.order()]
        sums = [f"s{i}" for i in range(rng.randint(1, 3))]
        for name in sums:
            source = rng.choice(["p", "p", "x"])
            init = rng.choice(["zero", "zero", "start"])
            lines.append(self.reduction(name, source, rng.choice(orders), init))
        lines.append(self.elementwise("q", "arith.addf", "p", sums[0], self.layout, self.kept_layout))
        lines.append(self.reduction("last", "q", rng.choice(orders), "zero"))
        results = [*sums, "last"] + (["q"] if rng.random() < 0.5 else [])
        types = [whole if name == "q" else small for name in results]
        named = [f'{t} {{weft.name = "{n}"}}' for n, t in zip(results, types)]
        return f"""{HEADER}
func.func @{self.name}(%x: {whole} {{weft.name = "x"}}, %y: {whole} {{weft.name = "y"}},
                       %start: {small} {{weft.name = "start"}}) -> ({", ".join(named)}) {{
  %c = arith.constant 0.0 : {self.element}
  %half = arith.constant 1.25 : {self.element}
  %e = tensor.empty() : {small}
  %zero = linalg.fill ins(%c : {self.element}) outs(%e : {small}) -> {small}{"".join(lines)}
  return {", ".join("%" + n for n in results)} : {", ".join(types)}
}}
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--cpus", type=lambda text: text.split(","), default=["native"])
    parser.add_argument("--device", action="store_true")
    args = parser.parse_args()
    failures = []
    for seed in range(args.first, args.first + args.count):
        text = Program(seed).text()
        try:
            native.check(text, "random", 0, args.cpus, args.device)
        except equivalence.Mismatch as problem:
            failures.append(f"seed {seed}: {problem}\n{text}")
    if failures:
        sys.exit("\n".join(failures))
    print(f"{args.count} programs agree")


if __name__ == "__main__":
    main()
