# SPDX-License-Identifier: Apache-2.0

"""Writes one rank's part of a step with experts, as a local program.

    experts.py STEP.mlir SEED

A layer is a matmul with a weight that is gathered, and one expert's matmul, with
tokens that cross the axis of the experts in front of it and after it. The
backward pass goes the same way, gathers again, and sums gradients. Sizes and the
number of layers depend on the seed.
"""

import sys
from random import Random

EXPERTS, FSDP = 4, 2
MAPS = """#x = affine_map<(e, c, f, d) -> (e, c, d)>
#y = affine_map<(e, c, f, d) -> (e, c, f)>
#w = affine_map<(e, c, f, d) -> (e, d, f)>
#v = affine_map<(e, c, f, d) -> (d, f)>
"""


def type_of(shape):
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


class Step:
    """The text of a step. A value is its name and shape."""

    def __init__(self):
        self.arguments, self.lines = [], []

    def argument(self, name, *shape):
        self.arguments.append(f'%{name.replace(".", "_")}: {type_of(shape)} {{weft.name = "{name}"}}')
        return f"%{name.replace('.', '_')}", shape

    def add(self, shape, text):
        self.lines.append(f"  %{len(self.lines)} = {text} -> {type_of(shape)}")
        return f"%{len(self.lines) - 1}", shape

    def matmul(self, a, b, maps, shape):
        return self.add(shape, f"weft.matmul {a[0]}, {b[0]} {{indexing_maps = [{maps}]}} : "
                               f"{type_of(a[1])}, {type_of(b[1])}")

    def collective(self, kind, value, axis, rest, shape):
        return self.add(shape, f'weft.{kind} {value[0]} on @mesh <{{"{axis}"}}> {rest} : '
                               f"({type_of(value[1])})")

    def gather(self, w):
        *front, rows, columns = w[1]
        return self.collective("all_gather", w, "fsdp", f"dims [{len(front)}]",
                               (*front, rows * FSDP, columns))

    def reduce(self, g):
        *front, rows, columns = g[1]
        return self.collective("reduce_scatter sum", g, "fsdp", f"dims [{len(front)}]",
                               (*front, rows // FSDP, columns))

    def to_experts(self, x):
        experts, places, width = x[1]
        return self.collective("all_to_all", x, "ep", "split [0] concat [1]",
                               (1, experts * places, width))

    def from_experts(self, x):
        _, places, width = x[1]
        return self.collective("all_to_all", x, "ep", "split [1] concat [0]",
                               (EXPERTS, places // EXPERTS, width))


def write(seed):
    random = Random(seed)
    places, width = random.choice([64, 256, 512]), random.choice([64, 128, 256])
    step, saved, gradients = Step(), [], []
    x = step.argument("x", EXPERTS, places, width)
    for i in range(random.randrange(2, 5)):
        dense = step.argument(f"layers.{i}.dense", width // FSDP, width)
        expert = step.argument(f"layers.{i}.expert", 1, width // FSDP, width)
        middle = step.matmul(x, step.gather(dense), "#x, #v, #y", x[1])
        crossed = step.to_experts(middle)
        saved.append((x, crossed, dense, expert))
        x = step.from_experts(step.matmul(crossed, step.gather(expert), "#x, #w, #y", crossed[1]))
    for before, crossed, dense, expert in reversed(saved):
        crossing = step.to_experts(x)
        gradient = step.matmul(crossed, crossing, "#x, #y, #w", (1, width, width))
        gradients.append(step.reduce(gradient))
        crossing = step.matmul(crossing, step.gather(expert), "#y, #w, #x", crossing[1])
        x = step.from_experts(crossing)
        gradients.append(step.reduce(step.matmul(before, x, "#x, #y, #v", (width, width))))
        x = step.matmul(x, step.gather(dense), "#y, #v, #x", x[1])
    types = ", ".join(type_of(shape) for _, shape in gradients)
    names = ", ".join(name for name, _ in gradients)
    return "\n".join([MAPS, f'weft.mesh @mesh = <["fsdp"={FSDP}, "ep"={EXPERTS}]>',
                      f"func.func @step({', '.join(step.arguments)}) -> ({types}) {{", *step.lines,
                      f"  return {names} : {types}", "}", ""])


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(write(int(sys.argv[2])))
