#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the proof of invariance against wrong programs.

  invariance.py [--per-kind N] [--seconds N] [MODULE...]

For each example and mesh: the local program itself must be accepted, and so must
harmless edits of it. Then the program of a rank is edited (the one-rank program
stays), each edit one that could be a bug of the partitioner. A mutant that is
accepted must give the same bytes as the program when both run on the host
backend; some kinds are never accepted. Prints what became of each kind; the
last line is `N passed, N failed`.
"""
import argparse
import collections
import concurrent.futures
import gzip
import os
import random
import re
import sys
import tempfile
import time
from pathlib import Path

from run import BIN, HERE, ROOT, call, write_inputs

INPUTS = sorted((HERE / "Inputs").glob("*.mlir.gz"))
MESHES = ["dp=2,fsdp=2,tp=2", "dp=1,fsdp=2,tp=4", "dp=2,fsdp=1,tp=1"]
HARMLESS = ["renamed", "reordered"]
# What is wrong whatever the numbers are. (An order is, too, but for a collective
# behind a lookup, which adds zeros to one part.)
NEVER_ACCEPTED = {"fast_math", "no_collective"}


class Mutator:
    """Edits of the lines of a rank's function; each method yields texts."""

    def __init__(self, text, seed):
        lines = text.split("\n")
        begin = next(i for i, line in enumerate(lines) if "func.func" in line) + 1
        end = next((i for i, line in enumerate(lines) if "module @one_rank" in line),
                   len(lines) - 3)
        self.before, self.lines, self.after = lines[:begin], lines[begin:end], lines[end:]
        self.random = random.Random(seed)
        self.types = {}
        for line in self.lines:
            match = re.match(r"\s*(%\w+) = .*?(?:->|:) (tensor<[^>]*>)$", line)
            if match:
                self.types[match[1]] = match[2]
        # The result of an op with a body stands before it, its type behind.
        name = None
        for line in self.lines:
            match = re.match(r"    (%\w+) = linalg\.generic", line)
            name = match[1] if match else name
            match = re.match(r"    } -> (tensor<[^>]*>)$", line)
            if match and name:
                self.types[name] = match[1]

    def text(self, lines):
        return "\n".join(self.before + lines + self.after)

    def sites(self, pattern):
        sites = [i for i, line in enumerate(self.lines) if re.search(pattern, line)]
        self.random.shuffle(sites)
        return sites

    def edited(self, pattern, edit):
        """One line at a time, of those that match, given to `edit`."""
        for site in self.sites(pattern):
            line = edit(self.lines[site])
            if line != self.lines[site]:
                yield self.text(self.lines[:site] + [line] + self.lines[site + 1:])

    def substituted(self, pattern, replacement):
        return self.edited(pattern, lambda line: re.sub(pattern, replacement, line, count=1))

    def make_fewer_leaves(self):
        return self.substituted(r"leaves = (8|4|2)", lambda m: f"leaves = {int(m[1]) // 2}")

    def make_more_leaves(self):
        return self.substituted(r"leaves = (\d+)", lambda m: f"leaves = {int(m[1]) * 2}")

    def make_lanes(self):
        return self.edited(r"linalg.generic.*#weft\.order<", lambda line:
                           re.sub(", lanes = 16", ", lanes = 8", line) if "lanes" in line
                           else re.sub(r"(leaves = \d+)", r"\1, lanes = 2", line))

    def make_rounded(self):
        return self.substituted(r"(weft\.matmul.*leaves = \d+)", r"\1, rounded = true")

    def make_no_order(self):
        return self.edited(r"weft\.order", lambda line:
                           re.sub(r"(, )?weft\.order = #weft\.order<[^>]*>", "", line))

    def make_swapped_axes(self):
        return self.substituted(r'<\{"(\w+)", "(\w+)"\}>', r'<{"\2", "\1"}>')

    def make_other_axis(self):
        axes = re.findall(r'"(\w+)"=', next(l for l in self.before if "weft.mesh" in l))
        return self.substituted(r'<\{"\w+"\}>', lambda m: f'<{{"{self.random.choice(axes)}"}}>')

    def make_swapped_collectives(self):
        """Of two reductions, one behind the other, the axes are exchanged."""
        for site in self.sites(r"weft\.(all_reduce|reduce_scatter) +sum"):
            first = self.lines[site]
            for later in range(site + 1, min(site + 3, len(self.lines))):
                axes = [re.search(r"weft\.(?:all_reduce|reduce_scatter).* (<\{.*?\}>)", line)
                        for line in (first, self.lines[later])]
                if all(axes) and axes[0][1] != axes[1][1]:
                    lines = list(self.lines)
                    lines[site] = first.replace(axes[0][1], axes[1][1])
                    lines[later] = self.lines[later].replace(axes[1][1], axes[0][1])
                    yield self.text(lines)

    def make_other_kind(self):
        return self.substituted(r"(weft\.(?:all_reduce|reduce_scatter) +)(sum|max)",
                                lambda m: m[1] + ("max" if m[2] == "sum" else "sum"))

    def make_no_collective(self):
        """What a reduction of contributions gives is one of them."""
        for site in self.sites(r"weft\.all_reduce +sum %\w+ "):
            match = re.search(r"(%\w+) = weft\.all_reduce +sum (%\w+) ", self.lines[site])
            rest = [re.sub(match[1] + r"\b", match[2], line) for line in self.lines[site + 1:]]
            yield self.text(self.lines[:site] + rest)

    def make_other_part(self):
        """A slice or base at another place."""
        for text in self.substituted(r"(tensor\.extract_slice %\w+\[)%\w+", r"\g<1>0"):
            yield text
        for text in self.substituted(r" base %\w+", ""):
            yield text
        for text in self.edited(r"arith\.muli .* : index", lambda line:
                                line.replace("arith.muli", "arith.addi")):
            yield text
        for text in self.edited(r'weft\.axis_index.*"(\w+)", "(\w+)"', lambda line: re.sub(
                r'"(\w+)", "(\w+)"', r'"\2", "\1"', line)):
            yield text

    def make_other_offset(self):
        return self.substituted(r"(tensor\.extract_slice %\w+\[(?:\d+, )*)0(.*\] \[(?:\d+, )*1\b)",
                                r"\g<1>1\2")

    def make_other_constant(self):
        return self.substituted(r"(arith\.constant (?:dense<)?)(\d\.\d+)e", r"\g<1>1\2e")

    def make_other_op(self):
        swaps = {"addf": "subf", "subf": "addf", "mulf": "addf", "maximumf": "minimumf",
                 "divf": "mulf", "slt": "sle", "cmpi eq": "cmpi ne"}
        pattern = "|".join(swaps)
        return self.edited(rf"arith\.({pattern}|cmpi slt)\b", lambda line:
                           re.sub(pattern, lambda m: swaps[m[0]], line, count=1))

    def make_swapped_operands(self):
        return self.substituted(r"(arith\.(?:subf|divf) )(%\w+), (%\w+)", r"\1\3, \2")

    def make_other_function(self):
        return self.substituted(r"math\.(exp|log|cos|sin|sqrt|rsqrt)\b",
                                lambda m: {"exp": "math.exp2", "cos": "math.sin",
                                           "sqrt": "math.rsqrt"}.get(m[1], "math.exp"))

    def make_other_operand(self):
        """Another tensor of the same type."""
        def edit(line):
            operands = re.search(r"ins\((%[^:]*) : ", line) or re.search(
                r"= weft\.\w+ +(?:sum |max )?(%[^{:o]*) ", line)
            if not operands:
                return line
            old = self.random.choice(re.findall(r"%\w+", operands[1]))
            same = [name for name, kind in self.types.items()
                    if kind == self.types.get(old) and name != old]
            if not same:
                return line
            return re.sub(re.escape(old) + r"\b", self.random.choice(same), line, count=1)
        return self.edited(r"linalg\.generic|weft\.", edit)

    def make_added_op(self):
        """A part is scaled on its way to a collective."""
        for site in self.sites(r"weft\.(all_reduce|reduce_scatter) +sum %\w+ "):
            match = re.search(r"sum (%\w+) .*: \((tensor<[^>]*>)\)", self.lines[site])
            rank = match[2].count("x")
            dims = ", ".join(f"d{i}" for i in range(rank))
            element = match[2][:-1].split("x")[-1].split("<")[-1]
            same = f"affine_map<({dims}) -> ({dims})>"
            iterators = ", ".join(['"parallel"'] * rank)
            added = f"""    %added_e = tensor.empty() : {match[2]}
    %added = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = [{iterators}]}} ins({match[1]} : {match[2]}) outs(%added_e : {match[2]}) {{
    ^bb0(%added_in: {element}, %added_out: {element}):
      %added_x = arith.addf %added_in, %added_in : {element}
      linalg.yield %added_x : {element}
    }} -> {match[2]}"""
            line = self.lines[site].replace(match[1] + " ", "%added ", 1)
            yield self.text(self.lines[:site] + added.split("\n") + [line]
                            + self.lines[site + 1:])

    def make_fast_math(self):
        return self.substituted(r"(arith\.(?:addf|mulf) %\w+, %\w+) :", r"\1 fastmath<reassoc> :")

    def make_renamed(self):
        name = self.random.choice(list(self.types))
        yield self.text([re.sub(re.escape(name) + r"\b", "%renamed", line)
                         for line in self.lines])

    def make_reordered(self):
        """Two ops of one line that have nothing to do with each other."""
        for site in self.sites(r"^    %\w+ = [^{]*$|^    %\w+ = weft\..*$"):
            if site + 1 == len(self.lines):
                continue
            first, second = self.lines[site], self.lines[site + 1]
            name = re.match(r"\s*(%\w+) ", first)[1]
            is_line = re.match(r"    %\w+ = (?!linalg|tensor\.pad)", second)
            is_op = not re.search(r"linalg\.generic|tensor\.pad", first)
            if is_line and is_op and not re.search(name + r"\b", second):
                yield self.text(self.lines[:site] + [second, first] + self.lines[site + 2:])


KINDS = [name[len("make_"):] for name in vars(Mutator) if name.startswith("make_")]


class Example:
    """A local program with its one-rank program."""

    def __init__(self, module, mesh, folder):
        self.name = f"{module.name.split('.')[0]} {mesh}"
        self.folder = folder
        plain = folder / "step.mlir"
        plain.write_bytes(gzip.decompress(module.read_bytes())
                          if module.suffix == ".gz" else module.read_bytes())
        self.local = folder / "local.mlir"
        # Leaves of few elements: the examples are small.
        result = call(BIN / "weft-opt", plain, "-o", self.local,
                      f"--weft-global-to-local=invariant=mesh mesh={mesh} leaves=8 min-leaf=2")
        if result.returncode != 0:
            raise RuntimeError(result.stdout)
        self.text = self.local.read_text()
        self.inputs = None
        self.right = None

    def is_accepted(self, path):
        """None: not a program."""
        if call(BIN / "weft-opt", path, "-o", os.devnull).returncode != 0:
            return None
        result = call(BIN / "weft-opt", path, "--weft-verify-invariance", "-o", os.devnull)
        if result.returncode not in (0, 1):
            raise RuntimeError(f"weft-opt ended with {result.returncode}: {result.stdout}")
        return result.returncode == 0

    def run(self, local):
        """What a step gives: bytes, or None if it does not run."""
        program = local.with_suffix(".so")
        if call(BIN / "weft-compile", local, "-o", program).returncode != 0:
            return None
        outputs = local.with_suffix(".out")
        call(BIN / "weft-run", program, "--inputs", self.inputs, "--outputs", outputs,
             "--quiet", "--deadline", 10)
        return outputs.read_bytes() if outputs.exists() else None

    def gives_the_same(self, path):
        if self.right is None:
            planned = self.folder / "planned.mlir"
            call(BIN / "weft-compile", self.local, "--to", "planned", "-o", planned)
            self.inputs = self.folder / "in.safetensors"
            write_inputs(planned.read_text(), self.inputs)
            self.right = self.run(self.local)
        return self.right is not None and self.run(path) == self.right


def check_mutant(example, kind, path):
    """Returns what became of it, and what is wrong with that."""
    accepted = example.is_accepted(path)
    if accepted is None:
        return "no program", None
    if kind in HARMLESS:
        return ("accepted", None) if accepted else ("rejected", "is rejected")
    if accepted and kind in NEVER_ACCEPTED:
        return "accepted", "is accepted"
    return "accepted" if accepted else "rejected", None


def check_example(example, options, pool, counts, until):
    failed = []
    made = []
    for kind in KINDS:
        mutator = Mutator(example.text, f"{example.name} {kind}")
        texts = getattr(mutator, "make_" + kind)()
        for i, text in zip(range(options.per_kind), texts):
            path = example.folder / f"{kind}{i}.mlir"
            path.write_text(text)
            made.append((kind, path))
    outcomes = pool.map(lambda mutant: check_mutant(example, *mutant), made)
    for (kind, path), (outcome, wrong) in zip(made, outcomes):
        counts[kind][outcome] += 1
        if outcome == "accepted" and kind not in HARMLESS and not wrong:
            if time.monotonic() > until:
                continue
            same = example.gives_the_same(path)
            counts[kind]["same" if same else "different"] += 1
            wrong = None if same else "is accepted, but gives other bytes"
        if wrong:
            kept = ROOT / "build" / "test-reports" / f"{example.name.split()[0]}-{path.name}"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(path.read_text())
            failed.append(f"{example.name}: {kind} {wrong}: {kept}")
    return failed


def print_counts(counts):
    columns = ["rejected", "accepted", "same", "different", "no program"]
    print(f"{'':22}" + "".join(f"{c:>11}" for c in columns))
    total = collections.Counter()
    for kind in KINDS:
        total.update(counts[kind])
        print(f"{kind.replace('_', ' '):22}" + "".join(f"{counts[kind][c]:11}" for c in columns))
    print(f"{'all':22}" + "".join(f"{total[c]:11}" for c in columns))
    return total["rejected"] + total["accepted"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--per-kind", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("modules", nargs="*", type=Path, default=INPUTS)
    options = parser.parse_args()
    counts = collections.defaultdict(collections.Counter)
    failed = []
    settings = [(module, MESHES[(i + j) % len(MESHES)])
                for i, module in enumerate(options.modules) for j in range(2)]
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for i, (module, mesh) in enumerate(settings):
            with tempfile.TemporaryDirectory() as folder:
                example = Example(module, mesh, Path(folder))
                failed += check_example(example, options, pool, counts,
                                        begin + options.seconds * (i + 1) / len(settings))
    tested = print_counts(counts)
    for line in failed:
        print("FAILED", line)
    print(f"{tested - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
