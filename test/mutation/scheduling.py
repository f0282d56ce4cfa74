#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the proof of fusion and scheduling against wrong programs.

  scheduling.py [--per-kind N] [--seconds N] [MODULE...]

For each example, mesh and mode: the scheduled program must be accepted, and so
must harmless edits of it. Then it is edited, each edit one that could be a bug of
fusion or scheduling, or of whoever edits a dump, and compared with the local
program that it was made from. A mutant that is accepted must give the same bytes
as the program when both run on the host backend. Prints what became of each kind;
the last line is `N passed, N failed`.
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
# What stands in the errors of the proof, and in none of the parser.
SAID = ["than before scheduling", "what it was made from", "that it was made from", "was made from one of type",
        "calls loop"]


class Mutator:
    """Edits of a scheduled function's lines; each method yields texts."""

    def __init__(self, text, seed):
        lines = text.rstrip().split("\n")
        begin = next(i for i, line in enumerate(lines) if "func.func" in line) + 1
        self.before, self.lines, self.after = lines[:begin], lines[begin:-1], lines[-1:]
        self.random = random.Random(seed)

    def text(self, lines):
        return "\n".join(self.before + lines + self.after) + "\n"

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
        return self.edited(pattern, lambda line: self.substitute(pattern, replacement, line))

    def substitute(self, pattern, replacement, line):
        """At one of the places of the line."""
        match = self.random.choice(list(re.finditer(pattern, line)))
        new = replacement(match) if callable(replacement) else match.expand(replacement)
        return line[:match.start()] + new + line[match.end():]

    def make_other_op(self):
        swaps = {"addf": "subf", "subf": "addf", "mulf": "addf", "maximumf": "minimumf",
                 "divf": "mulf", "minimumf": "maximumf", "addi": "subi", "andi": "ori",
                 "ori": "andi"}
        return self.substituted(rf"arith\.({'|'.join(swaps)})\b",
                                lambda m: "arith." + swaps[m[1]])

    def make_other_function(self):
        swaps = {"exp": "exp2", "cos": "sin", "sqrt": "rsqrt"}
        return self.substituted(r"math\.(exp|log|cos|sin|sqrt|rsqrt|tanh|erf)\b",
                                lambda m: "math." + swaps.get(m[1], "exp"))

    def make_other_predicate(self):
        swaps = {"slt": "sle", "ult": "ule", "eq": "ne", "ogt": "oge", "olt": "ole",
                 "oge": "ogt", "sgt": "sge", "une": "oeq", "oeq": "une", "ole": "olt"}
        return self.substituted(rf"(arith\.cmp[if] )({'|'.join(swaps)})\b",
                                lambda m: m[1] + swaps[m[2]])

    def make_other_constant(self):
        def edit(match):
            number = match[2]
            return match[1] + (str(int(number) + 1) if number.lstrip("-").isdigit()
                               else f"{float(number) * 1.5 + 1.0:e}")
        return self.substituted(r"(arith\.constant (?:dense<)?)(-?\d[\d.e+-]*)(?= |>)", edit)

    def make_swapped_operands(self):
        return self.substituted(r"(arith\.(?:subf|divf|cmp[if] \w+,|remsi) ?)(%\w+), (%\w+)",
                                r"\1\3, \2")

    def make_swapped_choice(self):
        return self.substituted(r"(arith\.select %\w+, )(%\w+), (%\w+)", r"\1\3, \2")

    def make_no_op(self):
        """What an op makes is its first operand."""
        for site in self.sites(r"^ +(%\w+) = (arith|math)\.\w+ .*%\w+"):
            line = self.lines[site]
            result = re.match(r" +(%\w+) =", line)[1]
            operand = re.findall(r"%\w+", line)[1]
            edited = list(self.lines)
            for i in range(site + 1, len(self.lines)):
                edited[i] = re.sub(re.escape(result) + r"\b", operand, edited[i])
                if "linalg.yield" in edited[i]:
                    break
            yield self.text(edited)

    def make_other_map(self):
        def edit(match):
            results = match[2].split(", ")
            if len(results) < 2:
                return match[0]
            i = self.random.randrange(len(results) - 1)
            results[i], results[i + 1] = results[i + 1], results[i]
            return f"{match[1]}({', '.join(results)})>"
        return self.substituted(r"(affine_map<\([^)]*\) -> )\(([^)]*)\)>", edit)

    def make_other_iterator(self):
        return self.substituted(r'"(parallel|reduction)"', lambda m:
                                '"reduction"' if m[1] == "parallel" else '"parallel"')

    def make_other_index(self):
        return self.substituted(r"linalg\.index (\d)", lambda m: f"linalg.index {1 - int(m[1])}")

    def make_swapped_inputs(self):
        """Of a kernel, generic or product, of one type or not."""
        def edit(match):
            operands = match[2].split(", ")
            i, j = self.random.sample(range(len(operands)), 2)
            operands[i], operands[j] = operands[j], operands[i]
            return match[1] + ", ".join(operands) + match[3]
        yield from self.substituted(r"(ins\()(%[\w#]+(?:, %[\w#]+)+)( :)", edit)
        yield from self.substituted(r"(weft\.matmul )(%[\w#]+, %[\w#]+)( \{)", edit)

    def make_swapped_yields(self):
        def edit(match):
            values = match[2].split(", ")
            i, j = self.random.sample(range(len(values)), 2)
            values[i], values[j] = values[j], values[i]
            return match[1] + ", ".join(values) + match[3]
        return self.substituted(r"((?:yield|return) )(%[\w#]+(?:, %[\w#]+)+)( :)", edit)

    def make_other_value(self):
        """A use of something else that is there."""
        names = sorted(set(re.findall(r"%[a-z]*\d+\b", "\n".join(self.lines))))
        return self.substituted(r"(?<== )([^%]*)(%[\w]+)", lambda m: m[1] + self.random.choice(names))

    def make_other_result(self):
        return self.substituted(r"(%\w+)#(\d)", lambda m: f"{m[1]}#{(int(m[2]) + 1) % 3}")

    def make_other_offset(self):
        return self.substituted(r"((?:extract|insert)_slice [^\[]*\[(?:\d+, )*)(\d+)",
                                lambda m: m[1] + str(max(0, int(m[2]) + self.random.choice([-1, 1, 2]))))

    def make_swapped_parts(self):
        return self.substituted(r"(tensor\.concat dim\(\d\) )(%[\w#]+), (%[\w#]+)", r"\1\3, \2")

    def make_other_extract(self):
        def edit(match):
            indices = match[2].split(", ")
            i, j = self.random.sample(range(len(indices)), 2)
            indices[i], indices[j] = indices[j], indices[i]
            return match[1] + ", ".join(indices) + "]"
        return self.substituted(r"(tensor\.extract %\w+\[)(%\w+(?:, %\w+)+)\]", edit)

    def make_other_axis_index(self):
        return self.substituted(r'(weft\.axis_index .*?)"(\w+)"', lambda m: m[1] + (
            '"tp"' if m[2] != "tp" else '"fsdp"'))

    # Collectives.

    def make_other_kind(self):
        return self.substituted(r"(weft\.(?:all_reduce|reduce_scatter) +)(sum|max)",
                                lambda m: m[1] + ("max" if m[2] == "sum" else "sum"))

    def make_other_axis(self):
        axes = re.findall(r'"(\w+)"=', next(l for l in self.before if "weft.mesh" in l))
        return self.substituted(r'(@mesh <\{)"\w+"\}>',
                                lambda m: f'{m[1]}"{self.random.choice(axes)}"}}>')

    def make_swapped_axes(self):
        return self.substituted(r'<\{"(\w+)", "(\w+)"\}>', r'<{"\2", "\1"}>')

    def make_other_moved_dim(self):
        return self.substituted(r"\b(dims|split|concat) \[(\d)", lambda m:
                                f"{m[1]} [{1 - int(m[2]) % 2}")

    def make_no_collective(self):
        """What a wait gives is what was sent."""
        for site in self.sites(r"= weft\.wait %\w+ :"):
            match = re.match(r" +(%\w+) = weft\.wait (%\w+) :", self.lines[site])
            start = next((line for line in self.lines
                          if re.match(rf" +{match[2]} = weft\.\w+ ", line)), "") if match else ""
            sent = re.search(r"= weft\.\w+ +(?:sum |max )?(%[\w#]+) ", start)
            if not sent:
                continue
            rest = [re.sub(match[1] + r"\b", sent[1], line) for line in self.lines[site + 1:]]
            yield self.text(self.lines[:site + 1] + rest)

    def make_swapped_futures(self):
        for site in self.sites(r" = weft\.wait"):
            later = [i for i in self.sites(r" = weft\.wait") if i > site]
            for other in later[:3]:
                names = [re.match(r" +(%\w+)(?::\d+)? =", self.lines[i]) for i in (site, other)]
                a, b = (name[1] for name in names)
                rest = [re.sub(rf"({a}|{b})\b", lambda m: b if m[1] == a else a, line)
                        for line in self.lines[other + 1:]]
                yield self.text(self.lines[:other + 1] + rest)

    # Orders.

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
        return self.substituted(r"(, )?weft\.order = #weft\.order<[^>]*>", "")

    def make_fast_math(self):
        return self.substituted(r"(arith\.(?:addf|mulf) %\w+, %\w+) :", r"\1 fastmath<reassoc> :")

    # Harmless ones.

    def make_renamed(self):
        names = re.findall(r"^    (%\d+) =", "\n".join(self.lines), re.M)
        name = self.random.choice(names)
        yield self.text([re.sub(re.escape(name) + r"\b", "%renamed", line)
                         for line in self.lines])

    def make_reordered(self):
        """A start and the line before it that has nothing to do with it."""
        for site in self.sites(r"^    %\w+ = weft\.(all|reduce)_\w+ "):
            first, second = self.lines[site - 1], self.lines[site]
            name = re.match(r"    (%\w+)(?::\d)? = weft\.(?:all|reduce|wait|matmul)", first)
            if name and not re.search(name[1] + r"\b", second):
                yield self.text(self.lines[:site - 1] + [second, first] + self.lines[site + 1:])


KINDS = [name[len("make_"):] for name in vars(Mutator) if name.startswith("make_")]


class Example:
    """A scheduled program and the local one that it was made from."""

    def __init__(self, module, mesh, mode, folder):
        self.name = f"{module.name.split('.')[0]} {mesh} {mode or 'fast'}"
        self.folder = folder
        step = folder / "step.mlir"
        step.write_bytes(gzip.decompress(module.read_bytes())
                         if module.suffix == ".gz" else module.read_bytes())
        self.make(step, folder / "local.mlir", "--mesh", mesh, "--to", "local",
                  *([mode] if mode else []))
        self.make(folder / "local.mlir", folder / "scheduled.mlir", "--to", "scheduled")
        local = self.read_plain(folder / "local.mlir")
        # Inside of another module; the one-rank program has nothing to do here.
        local = re.sub(r"\n  module @one_rank .*\n  }\n", "\n", local, flags=re.S)
        self.local = re.sub(r"\Amodule( @\w+)?", "module @local", local)
        self.text = self.read_plain(folder / "scheduled.mlir")
        self.inputs = None
        self.right = None

    @staticmethod
    def make(source, target, *arguments):
        result = call(BIN / "weft-compile", source, "-o", target, *arguments)
        if result.returncode != 0:
            raise RuntimeError(result.stdout)

    @staticmethod
    def read_plain(path):
        plain = path.with_suffix(".plain.mlir")
        result = call(BIN / "weft-opt", path, "--mlir-print-local-scope", "-o", plain)
        if result.returncode != 0:
            raise RuntimeError(result.stdout)
        return plain.read_text()

    def is_accepted(self, path):
        """None: not a program."""
        both = path.with_suffix(".both.mlir")
        both.write_text(path.read_text().rstrip()[:-1] + self.local + "}\n")
        result = call(BIN / "weft-opt", both, "--weft-check-values", "--weft-verify-scheduling", "-o", os.devnull)
        both.unlink()
        if result.returncode not in (0, 1):
            raise RuntimeError(f"weft-opt ended with {result.returncode}: {result.stdout}")
        if result.returncode == 0:
            return True
        return False if any(said in result.stdout for said in SAID) else None

    def run(self, scheduled):
        """What a step gives: bytes, None if it does not run, or "" if it is not compiled."""
        program = scheduled.with_suffix(".so")
        if call(BIN / "weft-compile", scheduled, "-o", program).returncode != 0:
            return ""
        outputs = scheduled.with_suffix(".out")
        call(BIN / "weft-run", program, "--inputs", self.inputs, "--outputs", outputs,
             "--quiet", "--deadline", 10)
        return outputs.read_bytes() if outputs.exists() else None

    def gives_the_same(self, path):
        if self.right is None:
            scheduled = self.folder / "scheduled.mlir"
            self.make(scheduled, self.folder / "planned.mlir", "--to", "planned")
            self.inputs = self.folder / "in.safetensors"
            write_inputs((self.folder / "planned.mlir").read_text(), self.inputs)
            self.right = self.run(scheduled)
        return bool(self.right) and self.run(path) in (self.right, "")


def check_mutant(example, kind, path):
    """Returns what became of it, and what is wrong with that."""
    accepted = example.is_accepted(path)
    if accepted is None:
        return "no program", None
    if kind in HARMLESS and not accepted:
        return "rejected", "is rejected"
    return ("accepted" if accepted else "rejected"), None


def check_example(example, options, pool, counts, until):
    plain = example.folder / "plain.mlir"
    plain.write_text(example.text)
    if not example.is_accepted(plain):
        return [f"{example.name}: the program itself is rejected"]
    failed, made = [], []
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
        # What must not be accepted is run in any case.
        if outcome == "accepted" and (kind not in HARMLESS or time.monotonic() < until):
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
    parser.add_argument("--per-kind", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("modules", nargs="*", type=Path, default=INPUTS)
    options = parser.parse_args()
    counts = collections.defaultdict(collections.Counter)
    failed = []
    settings = [(module, MESHES[(i + j) % len(MESHES)], ["", "--invariant=mesh"][j])
                for i, module in enumerate(options.modules) for j in range(2)]
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for i, (module, mesh, mode) in enumerate(settings):
            with tempfile.TemporaryDirectory() as folder:
                example = Example(module, mesh, mode, Path(folder))
                failed += check_example(example, options, pool, counts,
                                        begin + options.seconds * (i + 1) / len(settings))
    count = print_counts(counts)
    for line in failed:
        print("FAILED", line)
    print(f"{count - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
