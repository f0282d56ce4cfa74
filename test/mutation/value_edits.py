# SPDX-License-Identifier: Apache-2.0
"""Edits of which elements of which values a plan says that its ops take."""
import math
import re
from typing import Any

PART = re.compile(r"#weft_rt\.part<begin = (\d+), [^>]*>")
GEMM = re.compile(r"weft_rt\.gemm (%\w+), (%\w+) into (%\w+ \{indexing_maps = \[(.*?)\], .*\} : )(memref<.*>), (memref<.*>) into ")
WORK = ("weft_rt.fused", "weft_rt.gemm", "weft_rt.scatter_add", "weft_rt.copy")


def sizes_of(memref):
    return [int(size) for size in re.findall(r"(\d+)x", memref.split(",")[0])]


def halved(memref, dim):
    """The type of the first half of a buffer along a dim."""
    sizes, element = sizes_of(memref), re.search(r"x([a-z]\w*)", memref)[1]
    found = re.search(r"strided<\[([\d, ]*)\]", memref)
    strides = [math.prod(sizes[i + 1:]) for i in range(len(sizes))] if not found else [int(s) for s in found[1].split(", ")]
    sizes[dim] //= 2
    return f"memref<{'x'.join(map(str, sizes))}x{element}, strided<{strides}>>"


class ValueEdits:
    """What mutants.Mutator makes with these, whose fields and methods they are."""
    program: Any
    body: Any
    random: Any
    at: Any
    with_text: Any

    def subscripts(self, maps):
        """The loops in each of a list of maps, which may be aliases."""
        names = dict(line.split(" = ", 1) for line in self.program.before if line.startswith("#map"))
        return [re.search(r"-> \((.*)\)>", names.get(m, m))[1].split(", ") for m in re.split(r", (?=#|affine_map)", maps)]

    def make_shorter_product(self):
        """A product takes only the first half of what it sums over, and says that it takes all."""
        for site in self.at("weft_rt.gemm"):
            match = GEMM.search(self.body[site].text)
            left, right, out = self.subscripts(match[4])
            loops = [loop for loop in left if loop in right and loop not in out and sizes_of(match[5])[left.index(loop)] > 1]
            if not loops:
                continue
            loop = self.random.choice(loops)
            halves = [halved(match[5], left.index(loop)), halved(match[6], right.index(loop))]
            views = [f"    %half{i} = weft_rt.view {match[i + 1]} at 0 : {match[i + 5]} to {halves[i]}" for i in range(2)]
            gemm = f"    weft_rt.gemm %half0, %half1 into {match[3]}{halves[0]}, {halves[1]} into "
            yield self.with_text(site, "\n".join([*views, gemm + self.body[site].text[match.end():]]))

    def make_other_part(self):
        """An op says that it takes other elements, all, or some at a place from data."""
        for site in self.at(*WORK, "weft_rt.start", "weft_rt.assemble", "weft_rt.read_scalar"):
            text = self.body[site].text
            found = list(PART.finditer(text))
            if found:
                part = self.random.choice(found)
                moved = part[0].replace(f"begin = {part[1]}", f"begin = {int(part[1]) + self.random.choice([1, 4])}")
                moves = part[0].replace(", moves = true", "") if "moves" in part[0] else part[0][:-1] + ", moves = true>"
                other = self.random.choice([moved, moves, "unit"])
                yield self.with_text(site, text[:part.start()] + other + text[part.end():])

    def make_other_assembly(self):
        """A value is put together from others, or is another one."""
        sites = self.at("weft_rt.assemble")
        values = [value for site in sites for value in re.findall(r"\d+", self.body[site].text.split(" {")[0].split(" from ")[1])]
        for site in sites:
            found = list(re.finditer(r"\d+", self.body[site].text.split(" {")[0].split(" value ")[1]))
            match, begin = self.random.choice(found), self.body[site].text.index(" value ") + len(" value ")
            text = self.body[site].text
            yield self.with_text(site, text[:begin + match.start()] + self.random.choice(values) + text[begin + match.end():])
