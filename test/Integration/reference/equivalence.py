#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a program means the same sharded and unsharded.

    equivalence.py PROGRAM.mlir --mesh dp=2,tp=2 --mesh dp=3 [--backend host]

The program is a module of phase `global`. Its meaning is taken from it as it
stands, by the reference interpreter. For each mesh (axes that are not named
have size 1) it is partitioned and run on all ranks, in the interpreter or as
native code, and each rank's part of each result is compared. In the
interpreter all unspecified elements are poisoned: padding is NaN, or integers
that are a good index, none, or make a zero of a divisor, and a leak shows.
"""

import argparse
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np

import elements
import interpreter
import mlir_text

TO_LOCAL = [
    "--weft-raise", "--weft-infer-storage", "--weft-propagate-shardings",
    "--weft-insert-reshards", "--weft-verify-sharding", "--weft-partition",
    "--weft-verify-local", "--canonicalize", "--cse", "--weft-ring-attention=when={ring}",
    "--weft-merge-collectives",
]  # fmt: skip
# Relative to the largest element, and for what is left after cancellation. What
# was once rounded to a narrow type is only as good as that.
TOLERANCE = {"f64": 1e-9, "f32": 1e-4, "f16": 2e-2, "bf16": 5e-2}


class Mismatch(Exception):
    pass


# ---- programs


def with_mesh(text, sizes):
    """Gives the axes of the program's mesh these sizes, others 1."""

    def resize(match):
        axes = re.findall(r'"([^"]*)"=\d+', match.group(0))
        unknown = set(sizes) - set(axes)
        if unknown:
            raise SystemExit(f"the program's mesh has no axis {sorted(unknown)}")
        body = ", ".join(f'"{a}"={sizes.get(a, 1)}' for a in axes)
        return f"weft.mesh @mesh = <[{body}]>"

    return re.sub(r"weft\.mesh @mesh = <\[.*?\]>", resize, text)


def weft_opt(text, *passes):
    command = ["weft-opt", "-mlir-print-op-generic", *passes, "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise Mismatch(f"{' '.join(command)} failed:\n{done.stderr}")
    return mlir_text.parse(done.stdout)


def random_array(rng, type):
    dtype = elements.dtype_of(type)
    shape = type.shape if isinstance(type, mlir_text.Tensor) else ()
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "i":
        return rng.integers(-2, 12, shape).astype(dtype)
    return np.asarray(rng.standard_normal(shape) / 2).astype(dtype)


def poison(shape, dtype):
    if dtype == np.bool_:
        return np.ones(shape, dtype)
    if dtype.kind == "i":
        values = [0, 3, -3, np.iinfo(dtype).max // 3]
        return np.resize(np.array(values, dtype), shape)
    return np.full(shape, np.nan, dtype)


# ---- parts of a tensor


class Layout:
    """Which part of a global tensor each rank holds."""

    def __init__(self, attrs, type, mesh):
        self.shape = attrs.get("weft.global_type", type).shape
        self.mesh = mesh
        text = attrs["weft.sharding"].text if "weft.sharding" in attrs else ""
        dims = re.search(r"\[(.*?)\]", text)
        lists = re.findall(r"\{(.*?)\}", dims.group(1)) if dims else []
        self.refs = [mesh.refs(t) for t in lists] or [[]] * len(self.shape)

    def ranges(self, rank):
        result = []
        for size, refs in zip(self.shape, self.refs):
            chunk = -(-size // int(np.prod([r[2] for r in refs], dtype=int)))
            begin = min(size, self.mesh.index(rank, refs) * chunk)
            result.append((begin, min(size, begin + chunk), chunk))
        return result

    def part(self, array, rank):
        """Returns the valid part of the rank."""
        return array[tuple(slice(b, e) for b, e, _ in self.ranges(rank))]

    def local(self, array, rank):
        """Returns what the rank holds, padding poisoned."""
        result = poison(tuple(c for _, _, c in self.ranges(rank)), array.dtype)
        part = self.part(array, rank)
        result[tuple(slice(0, n) for n in part.shape)] = part
        return result


def layouts(func, mesh, kind):
    types = func.attrs["function_type"][1 if kind == "arg" else 2]
    attrs = func.attrs.get(f"{kind}_attrs", [{}] * len(types))
    return [Layout(a, t, mesh) for a, t in zip(attrs, types)]


def tolerance_of(text):
    """Returns the tolerance of the narrowest type that the program uses."""
    used = set(re.findall(r"\b(?:\d+x)*(bf16|f16|f32|f64)\b", text))
    return max((TOLERANCE[element] for element in used), default=0)


def compare(expected, actual, tolerance, where):
    if expected.shape != actual.shape:
        raise Mismatch(f"{where}: shape {actual.shape}, expected {expected.shape}")
    if expected.dtype.kind in "ib":
        bad = expected != actual
    else:
        expected, actual = expected.astype(np.float64), actual.astype(np.float64)
        scale = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
        with np.errstate(invalid="ignore"):  # inf - inf
            close = np.abs(expected - actual) <= tolerance * scale
        same = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
        bad = ~(close | same)
    if np.any(bad):
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise Mismatch(
            f"{where}: {int(bad.sum())} of {bad.size} elements differ, first at"
            f" {at}: expected {expected[at]}, got {actual[at]}"
        )


# ---- back ends


def run_interpreter(text, arrays, ring):
    """Returns the valid part of each result on each rank, with its place."""
    passes = [step.format(ring=ring) for step in TO_LOCAL]
    machine = interpreter.Interpreter(weft_opt(text, *passes), poison)
    ranks = range(machine.mesh.ranks)
    ins = layouts(machine.func, machine.mesh, "arg")
    outs = layouts(machine.func, machine.mesh, "res")
    parts = machine.run([[i.local(a, r) for i, a in zip(ins, arrays)] for r in ranks])
    for rank in ranks:
        for i, (layout, value) in enumerate(zip(outs, parts[rank])):
            valid = [slice(0, e - b) for b, e, _ in layout.ranges(rank)]
            yield i, rank, layout, value[tuple(valid)]


SAFETENSORS = {"f32": "F32", "f64": "F64", "f16": "F16", "bf16": "BF16", "i1": "BOOL",
               "i8": "I8", "i16": "I16", "i32": "I32", "i64": "I64",
               "f8E4M3FN": "F8_E4M3", "f8E5M2": "F8_E5M2"}  # fmt: skip


def write_safetensors(path, arrays):
    header, offset = {}, 0
    for name, (array, element) in arrays.items():
        end = offset + array.nbytes
        header[name] = {"dtype": SAFETENSORS[element], "shape": list(array.shape),
                        "data_offsets": [offset, end]}  # fmt: skip
        offset = end
    text = json.dumps(header).encode()
    body = b"".join(np.ascontiguousarray(a).tobytes() for a, _ in arrays.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def read_safetensors(path):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + size])
    header.pop("__metadata__", None)
    element_of = {v: k for k, v in SAFETENSORS.items()}
    result = {}
    for name, entry in header.items():
        begin, end = (8 + size + o for o in entry["data_offsets"])
        dtype = elements.DTYPES[element_of[entry["dtype"]]]
        result[name] = np.frombuffer(raw[begin:end], dtype).reshape(entry["shape"])
    return result


def run_command(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        raise Mismatch(f"{' '.join(map(str, command))} failed:\n{done.stderr}")


def run_host(text, arrays, ring):
    """Compiles and runs the program; the runtime joins the parts."""
    func = interpreter.Interpreter(weft_opt(text)).func
    mesh = interpreter.Interpreter(weft_opt(text)).mesh
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "step.mlir").write_text(text)
        types = func.attrs["function_type"][1]
        named = {a["weft.name"]: (array, t.element)
                 for a, array, t in zip(func.attrs.get("arg_attrs", []), arrays, types)}  # fmt: skip
        write_safetensors(folder / "in.safetensors", named)
        run_command("weft-compile", folder / "step.mlir", "-o", folder / "step.so",
                    "--effort", "quick", f"--ring-attention={ring}")  # fmt: skip
        run_command("weft-run", folder / "step.so", "--ranks", mesh.ranks,
                    "--inputs", folder / "in.safetensors",
                    "--outputs", folder / "out.safetensors")  # fmt: skip
        results = read_safetensors(folder / "out.safetensors")
    whole = interpreter.Mesh([])
    for i, attrs in enumerate(func.attrs["res_attrs"]):
        type = func.attrs["function_type"][2][i]
        yield i, 0, Layout({}, type, whole), results[attrs["weft.name"]]


BACKENDS = {"interpreter": run_interpreter, "host": run_host}


def check(text, meshes, backend="interpreter", seed=0, ring="auto"):
    """Raises Mismatch if the program means something else on some mesh; `ring`
    says whether keys of attention travel: never, auto, always or balanced."""
    reference = interpreter.Interpreter(weft_opt(text, "--linalg-generalize-named-ops"))
    rng = np.random.default_rng(seed)
    inputs = reference.func.attrs["function_type"][1]
    tolerance = tolerance_of(text)
    arrays = [random_array(rng, type) for type in inputs]
    [expected] = reference.run([arrays])
    for sizes in meshes:
        for i, rank, layout, actual in BACKENDS[backend](with_mesh(text, sizes), arrays, ring):
            where = f"mesh {sizes}: result {i} on rank {rank}"
            compare(layout.part(expected[i], rank), actual, tolerance, where)


def parse_mesh(text):
    return {k: int(v) for k, v in (e.split("=") for e in text.split(",") if e)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--mesh", action="append", type=parse_mesh, required=True)
    parser.add_argument("--backend", choices=BACKENDS, default="interpreter")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ring", default="auto")
    args = parser.parse_args()
    try:
        check(args.program.read_text(), args.mesh, args.backend, args.seed, args.ring)
    except (Mismatch, elements.Fault) as problem:
        sys.exit(f"{args.program}: {problem}")
    print(f"{len(args.mesh)} meshes agree")


if __name__ == "__main__":
    main()
