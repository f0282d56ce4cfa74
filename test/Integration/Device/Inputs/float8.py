# SPDX-License-Identifier: Apache-2.0
"""Runs a program for each of many f32 numbers and f8 codes, on the host and as kernels of a GPU that is emulated.

    float8.py PROGRAM.mlir FOLDER ARCH
"""

import pathlib
import sys

import numpy as np


def arguments():
    """All signs, exponents and first 7 bits of the mantissa, on, above and below numbers of bf16; all codes."""
    high = np.arange(1 << 16, dtype=np.uint32) << 16
    numbers = np.concatenate([high, high | 1, high | 0x8000, high - 1]).view(np.float32)
    return {"x": (numbers, "f32"), "codes": (np.arange(256, dtype=np.uint8).view(np.int8), "i8")}


if __name__ == "__main__":
    import bits

    bits.compare(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], arguments())
