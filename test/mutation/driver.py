# SPDX-License-Identifier: Apache-2.0
"""What checks of proofs have in common that edit the text of a program.

An example is a program, and what a proof compares it with. The program itself
must be accepted, and so must harmless edits of it. Then it is edited (edits.py),
each edit one that could be a bug of the pass that the proof is about. A mutant
that is accepted must give what the program gives when both run on the host
backend. Prints what became of each kind; the last line is `N passed, N failed`.
"""
import argparse
import collections
import concurrent.futures
import gzip
import json
import math
import os
import struct
import sys
import tempfile
import time
from pathlib import Path

from run import BIN, HERE, ROOT, call, write_inputs

INPUTS = sorted((HERE / "Inputs").glob("*.mlir.gz"))
MESHES = ["dp=2,fsdp=2,tp=2", "dp=1,fsdp=2,tp=4", "dp=2,fsdp=1,tp=1"]
HARMLESS = {"itself", "renamed", "reordered"}
FORMATS = {"F32": "f", "F64": "d", "F16": "e", "BF16": "H", "I16": "h", "I32": "i",
           "I64": "q", "U8": "B", "U16": "H", "U32": "I", "U64": "Q", "I8": "b", "BOOL": "?"}
# Of the greatest number of a result; sums of f32 in other orders differ by less.
TOLERANCE = 1e-4
# Of a program that computes in bf16, where another mesh rounds parts of sums.
HALF_TOLERANCE = 2e-2


def read_numbers(raw):
    """The tensors of a safetensors file, as lists of numbers."""
    size = struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        code = FORMATS[entry["dtype"]]
        count = (end - begin) // struct.calcsize(code)
        numbers = struct.unpack(f"<{count}{code}", raw[begin:end])
        if entry["dtype"] == "BF16":  # the upper half of an f32
            numbers = struct.unpack(f"<{count}f", struct.pack(
                f"<{count}I", *(number << 16 for number in numbers)))
        tensors[name] = numbers
    return tensors


def are_close(one, other, tolerance=TOLERANCE):
    """Whether two runs gave the same numbers, but for rounding of floats."""
    one, other = read_numbers(one), read_numbers(other)
    if one.keys() != other.keys():
        return False
    for name, numbers in one.items():
        if not any(isinstance(x, float) for x in numbers[:1]):
            if numbers != other[name]:
                return False
            continue
        scale = max((abs(x) for x in numbers if math.isfinite(x)), default=0) or 1
        for a, b in zip(numbers, other[name], strict=True):
            if a != b and not abs(a - b) <= tolerance * scale and not (a != a and b != b):
                return False
    return True


class Example:
    """A program whose edits are put to a proof. Those that inherit set `text`, and
    `program`, the path of what runs as it is; say what is accepted; and may say
    what of two runs is the same."""

    # How a program that is edited becomes one that runs.
    COMPILE = []
    program: Path

    def __init__(self, module, setting, folder):
        self.name = f"{module.name.split('.')[0]} {setting}"
        self.folder = folder
        self.step = folder / "step.mlir"
        self.step.write_bytes(gzip.decompress(module.read_bytes())
                              if module.suffix == ".gz" else module.read_bytes())
        self.inputs = None
        self.right = None

    @staticmethod
    def make(tool, source, target, *arguments):
        result = call(BIN / tool, source, "-o", target, *arguments)
        if result.returncode != 0:
            raise RuntimeError(result.stdout)

    @staticmethod
    def is_program(path):
        return call(BIN / "weft-opt", path, "-o", os.devnull).returncode == 0

    @staticmethod
    def prove(path, *proof):
        result = call(BIN / "weft-opt", path, "--weft-check-values", *proof, "-o", os.devnull)
        if result.returncode not in (0, 1):
            raise RuntimeError(f"weft-opt ended with {result.returncode}: {result.stdout}")
        return result

    def run(self, path):
        """What a step gives: bytes, None if it does not run, or "" if it is not compiled."""
        library = path.with_suffix(".so")
        if call(BIN / "weft-compile", path, "-o", library, *self.COMPILE).returncode != 0:
            return ""
        outputs = path.with_suffix(".out")
        call(BIN / "weft-run", library, "--inputs", self.inputs, "--outputs", outputs,
             "--quiet", "--deadline", 10, seconds=60)  # of a loop that does not end nothing is left
        return outputs.read_bytes() if outputs.exists() else None

    def make_inputs(self):
        planned = self.folder / "right.mlir"
        self.make("weft-compile", self.program, planned, "--to", "planned", *self.COMPILE)
        self.inputs = self.folder / "in.safetensors"
        write_inputs(planned.read_text(), self.inputs)

    def gives_the_same(self, path):
        if self.right is None:
            self.make_inputs()
            self.right = self.run(self.program)
        other = self.run(path)
        return bool(self.right) and (other == "" or other is not None and self.are_same(self.right, other))

    def are_same(self, one, other):
        return one == other


class Check:
    """All mutants of all examples of one proof."""

    def __init__(self, make_example, edits, kinds, never_accepted=()):
        self.make_example, self.edits = make_example, edits
        self.kinds = ["itself", *kinds]
        self.never_accepted = never_accepted
        self.counts = collections.defaultdict(collections.Counter)
        self.failed = []

    def make_mutants(self, example, per_kind):
        for kind in self.kinds:
            edits = self.edits(example.text, f"{example.name} {kind}")
            for i, text in zip(range(per_kind), getattr(edits, "make_" + kind)()):
                path = example.folder / f"{kind}{i}.mlir"
                path.write_text(text)
                yield kind, path

    def judge(self, example, kind, path):
        """Returns what became of a mutant, and what is wrong with that."""
        accepted = example.is_accepted(path)
        if accepted is None:
            return "no program", "is no program" if kind == "itself" else None
        if kind in HARMLESS and not accepted:
            return "rejected", "is rejected"
        if accepted and kind in self.never_accepted:
            return "accepted", "is accepted"
        return "accepted" if accepted else "rejected", None

    def check(self, example, per_kind, pool, until):
        made = list(self.make_mutants(example, per_kind))
        outcomes = pool.map(lambda mutant: self.judge(example, *mutant), made)
        for (kind, path), (outcome, wrong) in zip(made, outcomes, strict=True):
            self.counts[kind][outcome] += 1
            runs = outcome == "accepted" and kind not in HARMLESS and not wrong
            if runs and time.monotonic() < until:
                same = example.gives_the_same(path)
                self.counts[kind]["same" if same else "different"] += 1
                wrong = None if same else "is accepted, but gives other results"
            if wrong:
                kept = ROOT / "build" / "test-reports" / f"{example.name.split()[0]}-{path.name}"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(path.read_text())
                self.failed.append(f"{example.name}: {kind} {wrong}: {kept}")

    def print_counts(self):
        columns = ["rejected", "accepted", "same", "different", "no program"]
        print(f"{'':22}" + "".join(f"{c:>11}" for c in columns))
        total = collections.Counter()
        for kind in self.kinds:
            total.update(self.counts[kind])
            print(f"{kind.replace('_', ' '):22}"
                  + "".join(f"{self.counts[kind][c]:11}" for c in columns))
        print(f"{'all':22}" + "".join(f"{total[c]:11}" for c in columns))
        return total["rejected"] + total["accepted"]

    def main(self, settings=lambda i: [MESHES[i % 3], MESHES[(i + 1) % 3]], inputs=INPUTS,
             per_kind=3, seconds=60):
        """`settings(i)` are those of the i-th module."""
        parser = argparse.ArgumentParser()
        parser.add_argument("--per-kind", type=int, default=per_kind)
        parser.add_argument("--seconds", type=float, default=seconds)
        parser.add_argument("modules", nargs="*", type=Path, default=inputs)
        options = parser.parse_args()
        made = [(module, setting) for i, module in enumerate(options.modules)
                for setting in settings(i)]
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for i, (module, setting) in enumerate(made):
                with tempfile.TemporaryDirectory() as folder:
                    example = self.make_example(module, setting, Path(folder))
                    self.check(example, options.per_kind, pool,
                               begin + options.seconds * (i + 1) / len(made))
        self.finish()

    def finish(self):
        count = self.print_counts()
        for line in self.failed:
            print("FAILED", line)
        print(f"{count - len(self.failed)} passed, {len(self.failed)} failed")
        sys.exit(1 if self.failed else 0)
