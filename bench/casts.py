#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Times casts to each format, by rows and by columns, beside a copy of as many bytes.

    PATH=build/bin:$PATH PYTHONPATH=build/python bench/casts.py [--steps 100] [--cpu x86-64-v3]

All kernels are in one program on one thread, and of each the best of many steps counts: other load
hits them alike. A cast reads a tensor, finds the largest magnitudes and scales of its blocks and
writes elements and scales; a ratio of 1 is the time in which a copy reads and writes as many bytes.
Norms and softmax stand beside them, and casts by rows and by columns of one tensor.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import tempfile

import numpy as np
from ml_dtypes import bfloat16

from weft import safetensors

TYPES = {"f32": np.dtype(np.float32), "bf16": np.dtype(bfloat16)}
BYTES = {"f32": 4, "bf16": 2, "f8E4M3FN": 1, "f8E8M0FNU": 1, "f4E2M1FN": 0.5}
ELEMENTS = {"nvfp4": "f4E2M1FN"}
SCALES = {"mxfp8": "f8E8M0FNU", "nvfp4": "f8E4M3FN"}
CASTS = {"fp8-block rows": (1, 128), "fp8-block columns": (128, 1), "fp8-block square": (128, 128),
         "mxfp8 rows": (1, 32), "mxfp8 columns": (32, 1),
         "nvfp4 rows": (1, 16), "nvfp4 columns": (16, 1), "nvfp4 square": (16, 16)}

COMMON = """
#whole = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
"""

COPY = """
  %e_{n} = tensor.empty() : {whole}
  %y_{n} = linalg.generic {{indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]}}
      ins(%x{n} : {whole}) outs(%e_{n} : {whole}) {{
  ^bb0(%a: {element}, %o: {element}):
    %b = arith.negf %a : {element}
    linalg.yield %b : {element}
  }} -> {whole} loc("{name}")"""

# x / sum of x's squares: two phases, the second as long as the first.
NORM = """
  %z_{n} = arith.constant dense<1.0> : tensor<{rows}xf32>
  %s_{n} = linalg.generic {{indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%x{n} : {whole}) outs(%z_{n} : tensor<{rows}xf32>) {{
  ^bb0(%a: {element}, %o: f32):
    %w = arith.extf %a : {element} to f32
    %q = arith.mulf %w, %w : f32
    %b = arith.addf %o, %q : f32
    linalg.yield %b : f32
  }} -> tensor<{rows}xf32> loc("{name}")
  %e_{n} = tensor.empty() : {whole}
  %y_{n} = linalg.generic {{indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel"]}}
      ins(%x{n}, %s_{n} : {whole}, tensor<{rows}xf32>) outs(%e_{n} : {whole}) {{
  ^bb0(%a: {element}, %t: f32, %o: {element}):
    %w = arith.extf %a : {element} to f32
    %q = math.rsqrt %t : f32
    %p = arith.mulf %w, %q : f32
    %b = arith.truncf %p : f32 to {element}
    linalg.yield %b : {element}
  }} -> {whole} loc("{name}")"""

SOFTMAX = """
  %l_{n} = arith.constant dense<0xFF800000> : tensor<{rows}xf32>
  %z_{n} = arith.constant dense<0.0> : tensor<{rows}xf32>
  %m_{n} = linalg.generic {{indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%x{n} : {whole}) outs(%l_{n} : tensor<{rows}xf32>) {{
  ^bb0(%a: {element}, %o: f32):
    %b = arith.maximumf %o, %a : f32
    linalg.yield %b : f32
  }} -> tensor<{rows}xf32> loc("{name}")
  %e_{n} = tensor.empty() : {whole}
  %p_{n} = linalg.generic {{indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel"]}}
      ins(%x{n}, %m_{n} : {whole}, tensor<{rows}xf32>) outs(%e_{n} : {whole}) {{
  ^bb0(%a: {element}, %t: f32, %o: {element}):
    %d = arith.subf %a, %t : f32
    %b = math.exp %d : f32
    linalg.yield %b : {element}
  }} -> {whole} loc("{name}")
  %s_{n} = linalg.generic {{indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%p_{n} : {whole}) outs(%z_{n} : tensor<{rows}xf32>) {{
  ^bb0(%a: {element}, %o: f32):
    %b = arith.addf %o, %a : f32
    linalg.yield %b : f32
  }} -> tensor<{rows}xf32> loc("{name}")
  %y_{n} = linalg.generic {{indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel"]}}
      ins(%p_{n}, %s_{n} : {whole}, tensor<{rows}xf32>) outs(%e_{n} : {whole}) {{
  ^bb0(%a: {element}, %t: f32, %o: {element}):
    %b = arith.divf %a, %t : {element}
    linalg.yield %b : {element}
  }} -> {whole} loc("{name}")"""


class Program:
    """A function of kernels that share nothing; `bytes` is what each reads and writes."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.arguments, self.lines, self.results, self.bytes = [], [], [], {}
        self.packed = {}

    def type(self, element, rows=None, columns=None):
        return f"tensor<{rows or self.rows}x{columns or self.columns}x{element}>"

    def add(self, name, element, template):
        """A kernel of one result, of the argument's type."""
        n = len(self.arguments)
        whole = self.type(element)
        self.arguments.append((f"%x{n}", whole))
        self.lines.append(template.format(n=n, name=name, rows=self.rows, whole=whole, element=element))
        self.results.append((f"%y_{n}", whole))
        self.bytes[name] = 2 * self.rows * self.columns * BYTES[element]

    def add_cast(self, name, element, casts):
        """A kernel for blocks of one tensor, or several."""
        x, whole = f"%x{len(self.arguments)}", self.type(element)
        self.arguments.append((x, whole))
        self.bytes[name] = self.rows * self.columns * BYTES[element]
        for format, block in casts:
            self.bytes[name] += self.cast(name, x, whole, format, block)

    def cast(self, name, x, whole, format, block):
        n = len(self.results)
        counts = self.rows // block[0], self.columns // block[1]
        narrow, scale = ELEMENTS.get(format, "f8E4M3FN"), SCALES.get(format, "f32")
        of_blocks, scales, data = self.type("f32", *counts), self.type(scale, *counts), self.type(narrow)
        of, of_type, power = "", "", ", power_of_two" if format == "fp8-block" else ""
        if format == "nvfp4":
            of, of_type = f" of %t{n}", ", tensor<1x1xf32>"
            self.lines.append(f"  %t{n} = arith.constant dense<5.0> : tensor<1x1xf32>")
        self.lines.append(f"""
  %a{n} = weft.amax {x} {{blocks = array<i64: {block[0]}, {block[1]}>}} : {whole} -> {of_blocks} loc("{name}")
  %m{n}, %s{n} = weft.block_scale %a{n}{of} {{element = {narrow}{power}}}
      : ({of_blocks}{of_type}) -> ({of_blocks}, {scales}) loc("{name}")
  %q{n} = weft.quantize {x}, %m{n} : {whole}, {of_blocks} -> {data} loc("{name}")""")
        if format == "nvfp4":
            self.lines.append(f"  %d{n} = weft.dequantize %q{n}, %s{n} : {data}, {scales} -> {self.type('bf16')}")
            self.packed[n] = True
            self.results.append((f"%d{n}", self.type("bf16")))
        else:
            self.results.append((f"%q{n}", data))
        self.results.append((f"%s{n}", scales))
        return self.rows * self.columns * BYTES[narrow] + counts[0] * counts[1] * BYTES[scale]

    def text(self, results):
        arguments = ", ".join(f'{name}: {type} {{weft.name = "{name[1:]}"}}' for name, type in self.arguments)
        types = ", ".join(f'{type} {{weft.name = "r{i}"}}' for i, (_, type) in enumerate(results))
        return (f"{COMMON}func.func @casts({arguments}) -> ({types}) {{\n" + "\n".join(self.lines) +
                f"\n  return {', '.join(name for name, _ in results)} : {', '.join(type for _, type in results)}\n}}\n")


def lower(program):
    """Writes quantization out. No program returns elements of 4 bits: their bytes take the place of what they stand for."""
    text = subprocess.run(["weft-opt", "--weft-lower-quantization", "--mlir-print-debuginfo", "-"], input=program.text(program.results),
                          capture_output=True, text=True, check=True).stdout
    bytes = re.findall(r"(%\S+) = linalg\.generic(?:(?!linalg\.generic).)*?-> (tensor<[0-9x]+xi8>)", text, re.DOTALL)
    names, types = re.search(r"return (.*?) : (.*?)(?: loc|\n)", text).groups()
    names, types = names.split(", "), types.split(", ")
    for position in program.packed:
        names[position], types[position] = bytes.pop(0)
    signature = ", ".join(f'{type} {{weft.name = "r{i}"}}' for i, type in enumerate(types))
    text = re.sub(r"return .* : .*?( loc|\n)", f"return {', '.join(names)} : {', '.join(types)}\\1", text)
    return re.sub(r"(func\.func @casts\(.*?\)) -> \(.*?\}\) \{", f"\\1 -> ({signature}) {{", text, flags=re.DOTALL)


def get_owners(source, cpu):
    """Which argument each kernel reads, by way of reshapes and other kernels."""
    text = subprocess.run(["weft-compile", source, "--to", "scheduled", "-o", "-", *cpu], capture_output=True, text=True, check=True).stdout
    owners, kernels = {}, {}
    for line in text.splitlines():
        made = re.match(r"    (%[\w-]+)(?::\d+)? = (?:tensor\.expand_shape|weft_rt\.fused ins\()(.*)", line)
        if made:
            read = [re.sub("#.*", "", name) for name in re.findall(r"%[\w#-]+", made[2])]
            owners[made[1]] = last = next(int(name[4:]) if name.startswith("%arg") else owners[name] for name in read)
        if found := re.match(r'    } \{weft\.op = "(kernel .*?)"', line):
            kernels[found[1]] = last
    return kernels


def get_times(trace, owners):
    """Of each argument the nanoseconds of its kernels: of each the best of the steps."""
    found = collections.defaultdict(list)
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event.get("cat") == "kernel":
            found[event["name"]].append(event["dur"] * 1000)
    times = collections.Counter()
    for name, argument in owners.items():
        times[argument] += min(found[name])
    return times


def make_program(rows, columns):
    program = Program(rows, columns)
    program.add("copy", "bf16", COPY)
    for element in ("bf16", "f32"):
        for case, block in CASTS.items():
            program.add_cast(f"{case} of {element}", element, [(case.split()[0], block)])
        for format in ("fp8-block", "mxfp8", "nvfp4"):
            blocks = [CASTS[f"{format} rows"], CASTS[f"{format} columns"]]
            program.add_cast(f"{format} both of {element}", element, [(format, block) for block in blocks])
    program.add("norm of bf16", "bf16", NORM)
    program.add("softmax of f32", "f32", SOFTMAX)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--columns", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--cpu")
    parser.add_argument("--keep", help="a folder for the program and the trace")
    options = parser.parse_args()
    program = make_program(options.rows, options.columns)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(options.keep or folder)
        (folder / "casts.mlir").write_text(lower(program))
        cpu = ["--cpu", options.cpu] if options.cpu else []
        subprocess.run(["weft-compile", folder / "casts.mlir", "-o", folder / "casts.so", *cpu], check=True)
        draw = np.random.default_rng(0).standard_normal
        safetensors.save(folder / "inputs.safetensors",
                         {name[1:]: draw((options.rows, options.columns), np.float32).astype(TYPES["bf16" if "bf16" in type else "f32"])
                          for name, type in program.arguments})
        subprocess.run(["weft-run", folder / "casts.so", "--inputs", folder / "inputs.safetensors", "--threads", "1", "--quiet",
                        "--steps", str(options.steps), "--trace", folder / "trace.json"], check=True, stdout=subprocess.DEVNULL)
        times = get_times(folder / "trace.json", get_owners(folder / "casts.mlir", cpu))
    copy = times[0] / program.bytes["copy"]
    print(f"copy: {1 / copy:.2f} GB/s\n{'kernel':34}{'us':>9}{'GB/s':>8}{'ratio':>8}")
    for i, (name, size) in enumerate(program.bytes.items()):
        print(f"{name:34}{times[i] / 1e3:9.1f}{size / times[i]:8.2f}{times[i] / size / copy:8.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
