#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that compiled programs of one rank do what the interpreter says.

    native.py PROGRAMS.mlir [--values random|integers|special] [--ulps N] [--cpus A,B] [--device]

The file holds functions, separated by `// -----`, whose arguments and results
have names. Each is compiled and run for two steps, with memory that it must
not read poisoned: what is donated carries over, and everything else must still
be there. Results must be those of the interpreter, up to N units in the last
place: NaN where it has NaN, and zeros of the same sign. Denormals of bf16 count
as zeros.

Values: `random` normal numbers; `integers`, so small that sums are exact;
`special`: infinities, NaN, zeros, denormals and extremes, each with each other
over the first arguments.

With `--device` kernels are those of the cuda target, emulated on the CPU.

With `--cpus` programs are compiled for each of these CPUs, and must give the
same bits on all.
"""

import argparse
import itertools
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import equivalence
import interpreter
import ml_dtypes
import numpy as np
from elements import BF16, dtype_of


# ---- inputs


def special_values(dtype):
    if dtype == np.bool_:
        return np.array([False, True])
    if dtype.kind == "i":
        info = np.iinfo(dtype)
        return np.array([0, 1, -1, 2, -7, 100, info.max, info.min, info.max - 1], dtype)
    info = ml_dtypes.finfo(dtype)
    values = [0.0, 1.0, 0.3, 1.5, 2.5, 1000.25, info.tiny, info.smallest_subnormal, info.max, np.inf]
    values = np.array(values, dtype)
    return np.concatenate([values, -values, np.array([np.nan], dtype)])


def special_arrays(types):
    """All pairs of special values over neighbouring arguments."""
    result = []
    for number, type in enumerate(types):
        values = special_values(dtype_of(type))
        grid = np.repeat(values, len(values)) if number % 2 else np.tile(values, len(values))
        result.append(np.resize(grid, type.shape))
    return result


def integer_array(rng, type):
    dtype = dtype_of(type)
    low, high = (0, 2) if dtype == np.bool_ else (-4, 5)
    return rng.integers(low, high, type.shape).astype(dtype)


def make_inputs(kind, types):
    rng = np.random.default_rng(0)
    if kind == "special":
        return special_arrays(types)
    make = equivalence.random_array if kind == "random" else integer_array
    return [make(rng, type) for type in types]


# ---- comparison


def ordered(array):
    """Floats as integers in the same order, one apart for neighbours."""
    width = array.dtype.itemsize * 8
    bits = array.view(f"i{array.dtype.itemsize}").astype(np.int64)
    return np.where(bits < 0, -(bits & ((1 << (width - 1)) - 1)), bits)


def find_difference(expected, actual, ulps):
    """Returns the first place where the arrays differ, or None."""
    expected, actual = np.atleast_1d(expected), np.atleast_1d(actual)
    if expected.dtype.kind in "ib":
        bad = expected != actual
    else:
        if expected.dtype == BF16:  # whose conversion may flush denormals
            tiny = ml_dtypes.finfo(BF16).tiny
            expected, actual = (np.where(np.abs(a) < tiny, a * BF16(0), a) for a in (expected, actual))
        nan = np.isnan(expected)
        far = np.abs(ordered(expected) - ordered(actual)) > ulps
        sign = (expected == 0) & (actual == 0) & (np.signbit(expected) != np.signbit(actual))
        bad = (nan != np.isnan(actual)) | (~nan & (far | sign))
    return tuple(int(i) for i in np.argwhere(bad)[0]) if np.any(bad) else None


def compare(name, expected, actual, ulps, arrays):
    expected = np.asarray(expected, actual.dtype)
    with np.errstate(all="ignore"):  # comparisons with NaN
        at = find_difference(np.array(expected), np.array(actual), ulps)
    if at is None:
        return
    message = f"{name}{list(at)} is {np.atleast_1d(actual)[at]!r}, expected {np.atleast_1d(expected)[at]!r}"
    same = {k: v[at] for k, v in arrays.items() if np.shape(v) == np.shape(expected) != ()}
    raise equivalence.Mismatch(f"{message}; inputs there: {same}")


# ---- running


def names(func, kind):
    return [attrs["weft.name"] for attrs in func.attrs.get(f"{kind}_attrs", [])]


def run_steps(func, reference, arrays, steps):
    """What the interpreter gives after each of some steps."""
    results = []
    for _ in range(steps):
        [values] = reference.run([arrays])
        results.append(values)
        arrays = list(arrays)
        for attrs, value in zip(func.attrs["res_attrs"], values):
            if "weft.alias" in attrs:
                arrays[attrs["weft.alias"]] = np.asarray(value)
    return results


def compile_step(folder, cpu, on_device):
    """With kernels of the cuda target, emulated, if `on_device`."""
    if on_device:
        script = pathlib.Path(__file__).resolve().parents[2] / "lib" / "TestOps" / "compile-emulated.sh"
        equivalence.run_command(script, folder / "step.mlir", folder / "step.so", "--cpu", cpu)
        return
    equivalence.run_command("weft-compile", folder / "step.mlir", "--cpu", cpu, "-o", folder / "step.so")


def run_native(steps, folder):
    equivalence.run_command(
        "weft-run", folder / "step.so", "--poison", "--steps", steps,
        "--inputs", folder / "in.safetensors", "--outputs", folder / "out.safetensors",
    )  # fmt: skip
    return equivalence.read_safetensors(folder / "out.safetensors")


def check_same(name, expected, actual, cpus):
    """What two CPUs give must not differ in a bit, but for those of a NaN."""
    values = np.atleast_1d(expected), np.atleast_1d(actual)
    first, second = (a.view(f"u{a.dtype.itemsize}") for a in values)
    bad = (first != second) & ~((values[0] != values[0]) & (values[1] != values[1]))
    if np.any(bad):
        at = tuple(np.argwhere(bad)[0])
        pair = [a[at] for a in values]
        raise equivalence.Mismatch(f"{name}{[int(i) for i in at]} is {pair} on {cpus}")


def runs_here(cpu):
    """Whether this machine runs code for a CPU; it says what it has on Linux alone."""
    info = pathlib.Path("/proc/cpuinfo")
    if cpu != "x86-64-v4" or not info.exists():
        return True
    return {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= set(info.read_text().split())


def check(text, kind, ulps, cpus, on_device):
    cpus = [cpu for cpu in cpus if runs_here(cpu)]
    # Only where it is needed: the pass folds, and folds are not what is compared with.
    is_named = re.search(r"linalg\.(?!generic|fill|index|yield)", text)
    reference = interpreter.Interpreter(
        equivalence.weft_opt(text, *["--linalg-generalize-named-ops"] * bool(is_named)))
    func = reference.func
    types = func.attrs["function_type"][1]
    arrays = make_inputs(kind, types)
    named = {name: (array, type.element)
             for name, array, type in zip(names(func, "arg"), arrays, types)}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "step.mlir").write_text(text)
        equivalence.write_safetensors(folder / "in.safetensors", named)
        first, expected = {}, run_steps(func, reference, arrays, 2)
        for cpu, steps in itertools.product(cpus, (1, 2)):
            if steps == 1:
                compile_step(folder, cpu, on_device)
            actual = run_native(steps, folder)
            inputs = dict(zip(named, arrays)) if steps == 1 else {}
            for name, value in zip(names(func, "res"), expected[steps - 1]):
                compare(name, value, actual[name], ulps, inputs)
                other = first.setdefault((name, steps), actual[name])
                check_same(name, other, actual[name], (cpus[0], cpu))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--values", choices=["random", "integers", "special"], default="random")
    parser.add_argument("--ulps", type=int, default=0)
    parser.add_argument("--cpus", type=lambda text: text.split(","), default=["native"])
    parser.add_argument("--device", action="store_true")
    args = parser.parse_args()
    failures = []
    programs = re.split(r"^// -----$", args.programs.read_text(), flags=re.M)
    for text in programs:
        name = re.search(r"func\.func @(\w+)", text).group(1)
        try:
            check(text, args.values, args.ulps, args.cpus, args.device)
        except equivalence.Mismatch as problem:
            failures.append(f"{args.programs}: @{name}: {problem}")
    if failures:
        sys.exit("\n".join(failures))
    print(f"{len(programs)} programs agree")


if __name__ == "__main__":
    main()
