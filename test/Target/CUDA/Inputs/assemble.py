#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Assembles the kernels of a program for GPUs.

    assemble.py ARCHITECTURES PROGRAM.mlir [OPTION...]

Compiles the program for each of the architectures, with commas, or for `all`
that the compiler knows, and has ptxas make machine code of its kernels. Fails
if anything is left for somebody else to define. Without ptxas it fails: CI has
that of the package nvidia-cuda-nvcc.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile


def find_ptxas():
    packages = pathlib.Path(sysconfig.get_paths()["purelib"])
    found = [str(path) for path in sorted(packages.glob("nvidia/*/bin/ptxas"))]
    found += [shutil.which("ptxas") or "", "/usr/local/cuda/bin/ptxas"]
    for path in found:
        if pathlib.Path(path).is_file():
            return path
    return sys.exit("found no ptxas: scripts/requirements-base.txt has the package nvidia-cuda-nvcc")


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return done.stdout


def list_all(program):
    done = subprocess.run(["weft-compile", program, "--target", "cuda:all", "-o", "-"], capture_output=True, text=True)
    return re.findall(r"sm_\w+", done.stderr)


def read_image(text):
    found = re.search(r'@weft_ptx\("(.*?)"\)', text, re.S)
    image = found.group(1) if found else sys.exit("the program has no image")
    image = re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m.group(1), 16)), image).replace('\\"', '"')
    assert image[-1] == "\0"
    return image[:-1]


def main():
    names, program, *options = sys.argv[1:]
    names = list_all(program) if names == "all" else names.split(",")
    ptxas = find_ptxas()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "kernels.ptx")
        for name in names:
            text = run("weft-compile", program, "--target", f"cuda:{name}", "--target-options", "cubin=never", "--effort", "quick",
                       "--to", "llvm", "-o", "-", *options)
            ptx = read_image(text)
            if left := re.search(r"\.extern \.func.*", ptx):
                sys.exit(f"{name}: {left.group()}")
            path.write_text(ptx)
            run(ptxas, f"-arch={name}", "-o", f"{folder}/kernels.cubin", path)
            print(f"{name}: {len(re.findall('[.]entry', ptx))} kernels")


if __name__ == "__main__":
    main()
