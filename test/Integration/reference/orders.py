# SPDX-License-Identifier: Apache-2.0
"""Reductions in a declared order (weft.order), by the definition.

Sums of one result are kept apart per leaf and lane; each array holds them for
all results. They are joined at the end: lanes by halving, leaves in a binary
tree, and the init in front.
"""

import dataclasses
import math
import re

import numpy as np

JOINS = {"arith.addf": (np.add, 0), "arith.mulf": (np.multiply, 1)}


@dataclasses.dataclass
class Order:
    leaves: int
    lanes: int

    @staticmethod
    def of(op):
        text = op.attrs["weft.order"].text
        fields = {k: int(v) for k, v in re.findall(r"(leaves|lanes) = (\d+)", text)}
        return Order(fields["leaves"], fields.get("lanes", 1))


def joins_of(op):
    """The join and the identity of each result; None if it is no plain sum."""
    block = op.regions[0]
    makers = {name: inner for inner in block.ops for name in inner.results}
    outs = [name for name, _ in block.args][op.attrs["operandSegmentSizes"][0] :]
    makers = [makers.get(name) for name in block.ops[-1].operands]
    for out, maker in zip(outs, makers):
        users = [inner for inner in block.ops if out in inner.operands]
        if maker is None or maker.name not in JOINS or users != [maker]:
            return None
    return [JOINS[maker.name] for maker in makers]


def join_leaves(join, leaves):
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return join(join_leaves(join, leaves[:split]), join_leaves(join, leaves[split:]))


def join_lanes(join, lanes):
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [join(a, b) for a, b in zip(lanes[:half], lanes[half:])]
    return lanes[0]


class Sums:
    """The partial sums of an op; `sizes` are those of its reduction loops."""

    def __init__(self, op, sizes, outs):
        self.order, self.joins, self.inits = Order.of(op), joins_of(op), outs
        self.sizes = sizes
        self.length = math.prod(sizes) // self.order.leaves
        self.parts = {
            (leaf, lane): [np.full_like(out, identity) for (_, identity), out in zip(self.joins, outs)]
            for leaf in range(self.order.leaves)
            for lane in range(self.order.lanes)
        }

    def at(self, point):
        """The arrays to which the terms of a point are added."""
        flat = int(np.ravel_multi_index(point, self.sizes))
        leaf, place = divmod(flat, self.length)
        run = place % self.sizes[-1]
        return self.parts[leaf, run % self.order.lanes]

    def join(self, number):
        join, _ = self.joins[number]
        leaves = [
            join_lanes(join, [self.parts[leaf, lane][number] for lane in range(self.order.lanes)])
            for leaf in range(self.order.leaves)
        ]
        return join(self.inits[number], join_leaves(join, leaves))
