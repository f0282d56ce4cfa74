#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures compiled functions of one variable against f64.

    accuracy.py TYPE NAME=ULPS...     e.g. f32 math.exp=2

Each function is compiled over inputs that lie densely among all numbers of the
type, denormals, infinities and NaN among them. The largest error in units in
the last place must be at most ULPS. Results that are infinite, NaN or zero must
be so, with the right sign.
"""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import equivalence
import ml_dtypes
import numpy as np
from elements import DTYPES, UNARY

COUNT = 1 << 17
EXTRA = {
    "math.expm1": np.expm1, "math.log2": np.log2, "math.exp2": np.exp2, "math.cbrt": np.cbrt,
    "math.ceil": np.ceil, "math.floor": np.floor, "math.roundeven": np.rint, "math.tan": np.tan,
    "math.atan": np.arctan, "math.log10": np.log10, "math.sinh": np.sinh, "math.cosh": np.cosh,
    "math.asin": np.arcsin, "math.acos": np.arccos, "math.trunc": np.trunc,
}  # fmt: skip


def dense_inputs(dtype):
    """Numbers of all magnitudes, then many near the origin."""
    bits = dtype.itemsize * 8
    patterns = np.linspace(0, 2**bits, COUNT // 2, endpoint=False).astype(np.uint64)
    everywhere = patterns.astype(f"u{dtype.itemsize}").view(dtype)
    info = ml_dtypes.finfo(dtype)
    special = np.array([0.0, info.max, info.tiny, info.smallest_subnormal, np.inf, np.nan])
    near = np.linspace(-100, 100, COUNT // 2 - 2 * len(special))
    return np.concatenate([everywhere, special.astype(dtype), (-special).astype(dtype),
                           near.astype(dtype)])  # fmt: skip


def program(names, element):
    type = f"tensor<{COUNT}x{element}>"
    results = ", ".join(f'{type} {{weft.name = "{n}"}}' for n in names)
    body = "".join(f"  %{i} = {n} %x : {type}\n" for i, n in enumerate(names))
    values = ", ".join(f"%{i}" for i in range(len(names)))
    types = ", ".join([type] * len(names))
    return (f'func.func @f(%x: {type} {{weft.name = "x"}}) -> ({results}) {{\n'
            f"{body}  return {values} : {types}\n}}\n")  # fmt: skip


def run(names, element, inputs):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "step.mlir").write_text(program(names, element))
        equivalence.write_safetensors(folder / "in.safetensors", {"x": (inputs, element)})
        equivalence.run_command("weft-compile", folder / "step.mlir", "-o", folder / "step.so")
        equivalence.run_command("weft-run", folder / "step.so", "--inputs", folder / "in.safetensors",
                                "--outputs", folder / "out.safetensors")  # fmt: skip
        return equivalence.read_safetensors(folder / "out.safetensors")


def spacing(exact, dtype):
    """The distance of the numbers of the type around each exact value."""
    info = ml_dtypes.finfo(dtype)
    exponent = np.floor(np.log2(np.maximum(np.abs(exact), float(info.tiny))))
    return 2.0 ** (exponent - info.nmant)


def worst(exact, actual, inputs):
    """Returns the largest error in ulps and the input that has it."""
    rounded, wide = exact.astype(actual.dtype), actual.astype(np.float64)
    error = np.abs(wide - exact) / spacing(exact, actual.dtype)
    finite = np.isfinite(rounded.astype(np.float64)) & np.isfinite(wide)
    # Past the largest number, or there where the exact value is.
    edge = np.isinf(rounded.astype(np.float64)) != np.isinf(wide)
    almost = np.abs(exact) >= float(ml_dtypes.finfo(actual.dtype).max) * (1 - 1e-6)
    error = np.where(finite, error, np.where(edge & ~almost, np.inf, 0))
    error = np.where(np.isnan(exact) != np.isnan(wide), np.inf, error)
    zero = (exact == 0) & ((wide != 0) | (np.signbit(exact) != np.signbit(wide)))
    infinite = np.isinf(exact) & (exact != wide)
    error = np.where(zero | infinite, np.inf, error)
    at = int(np.argmax(error))
    return error[at], inputs[at], actual[at]


def main():
    element, limits = sys.argv[1], dict(a.split("=") for a in sys.argv[2:])
    inputs = dense_inputs(np.dtype(DTYPES[element]))
    results = run(list(limits), element, inputs)
    failed = False
    with np.errstate(all="ignore"):
        for name, limit in limits.items():
            exact = {**UNARY, **EXTRA}[name](inputs.astype(np.float64))
            ulps, at, got = worst(exact, results[name], inputs)
            failed |= not ulps <= float(limit)
            print(f"{name}: {ulps:.3g} ulp at {at!r} (gives {got!r}), at most {limit}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
