# SPDX-License-Identifier: Apache-2.0
"""Runs a program for each of many f32 numbers and f8 codes, on the host and as kernels of a GPU that is emulated.

    float8.py PROGRAM.mlir FOLDER ARCH

Results have to be the same bits, but for those of a NaN in f32 and bf16.
"""

import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT / "test" / "Integration" / "reference"))

from equivalence import read_safetensors, write_safetensors  # noqa: E402


def run(*command):
    subprocess.run([str(word) for word in command], check=True)


def arguments():
    """All signs, exponents and first 7 bits of the mantissa, on, above and below numbers of bf16; all codes."""
    high = np.arange(1 << 16, dtype=np.uint32) << 16
    numbers = np.concatenate([high, high | 1, high | 0x8000, high - 1]).view(np.float32)
    return {"x": (numbers, "f32"), "codes": (np.arange(256, dtype=np.uint8).view(np.int8), "i8")}


def main():
    program, folder, arch = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    write_safetensors(folder / "in.safetensors", arguments())
    run("weft-compile", program, "-o", folder / "host.so")
    run(ROOT / "test" / "lib" / "TestOps" / "compile-emulated.sh", program, folder / "device.so", "--target-options", f"arch={arch}")
    results = []
    for name in ("host", "device"):
        run("weft-run", folder / f"{name}.so", "--quiet", "--inputs", folder / "in.safetensors", "--outputs", folder / f"{name}.safetensors")
        results.append(read_safetensors(folder / f"{name}.safetensors"))
    for name, expected in results[0].items():
        got = results[1][name]
        one, other = (array.view(f"u{array.dtype.itemsize}") for array in (expected, got))
        bad = (one != other) & ~((expected != expected) & (got != got))
        if bad.any():
            at = np.argwhere(bad)[0]
            sys.exit(f"{name}{list(at)} is {other[tuple(at)]:#x} on the device, {one[tuple(at)]:#x} on the host; {bad.sum()} differ")


if __name__ == "__main__":
    main()
