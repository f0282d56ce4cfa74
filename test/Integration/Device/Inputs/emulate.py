#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles a program for the cuda target, with code for the stand-in of the driver.

    emulate.py PROGRAM.mlir FOLDER [OPTION...]

Writes FOLDER/step.so, and for its image, under the image's digest, a library of
its kernels as they are emulated (runtime/test/cuda/image.h). Options are
weft-compile's.
"""

import hashlib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT / "test" / "Target" / "CUDA" / "Inputs"))

from assemble import read_image  # noqa: E402

# A kernel of the library takes buffers and scalars apart, and runs its whole
# grid; the driver is given one list of both.
HEAD = """#include <stdint.h>
typedef void (*weft_rt_kernel)(void *const *, const int64_t *, int64_t, int64_t);
void *dlopen(const char *, int);
void *dlsym(void *, const char *);
static void run(const char *name, void **params, int buffers, int scalars) {
  void *addresses[512];
  int64_t numbers[512];
  for (int i = 0; i < buffers; ++i)
    addresses[i] = *(void **)params[i];
  for (int i = 0; i < scalars; ++i)
    numbers[i] = *(int64_t *)params[buffers + i];
  ((weft_rt_kernel)dlsym(dlopen("LIBRARY", 2), name))(addresses, numbers, 0, 1);
}
"""
KERNEL = """void {0}(void **params, const uint32_t *grid, const uint32_t *block, uint32_t shared) {{
  run("{0}", params, {1}, {2});
}}
"""


def run(*command):
    subprocess.run([str(word) for word in command], check=True)


def list_kernels(ptx):
    """Name, and how many buffers and scalars it takes."""
    for name, params in re.findall(r"\.entry (\w+)\((.*?)\)", ptx, re.S):
        yield name, params.count(".ptr"), params.count(".param") - params.count(".ptr")


def main():
    program, folder, *options = sys.argv[1:]
    folder = pathlib.Path(folder).resolve()
    library = folder / "kernels.so"
    run(ROOT / "test" / "lib" / "TestOps" / "emulate-kernels.sh", program, library, *options)
    compiled = ["weft-compile", program, "--target", "cuda", "--target-options", "cubin=never", *options]
    run(*compiled, "-o", folder / "step.so")
    run(*compiled, "--to", "llvm", "-o", folder / "llvm.mlir")
    ptx = read_image((folder / "llvm.mlir").read_text())
    source = folder / "image.c"
    source.write_text(HEAD.replace("LIBRARY", str(library))
                      + "".join(KERNEL.format(*kernel) for kernel in list_kernels(ptx)))
    digest = hashlib.sha256(ptx.encode()).hexdigest()
    run("cc", "-shared", "-fPIC", source, "-o", folder / f"{digest}.so", "-ldl")


if __name__ == "__main__":
    main()
