#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of the CUDA backend to PTX, as text that C++ includes.

Run it after a change of runtime/backends/cuda/*kernels.cpp or of what they
include; with --check it fails if a text is not what its file gives, or if
ptxas, where it is found, does not take it. PTX of sm_80 runs on every later GPU;
that of group_attention_kernels.cpp on sm_90 alone.
Needs clang 22.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RUNTIME = Path(__file__).resolve().parent.parent / "runtime"
FOLDER = RUNTIME / "backends" / "cuda"
SOURCES = ("kernels.cpp", "ordered_gemm_kernels.cpp", "attention_kernels.cpp", "tensor_attention_kernels.cpp",
           "group_attention_kernels.cpp")
# What other GPUs do not have: the architecture, and the version of PTX that has it.
SPECIAL = {"group_attention_kernels.cpp": ("sm_90a", "ptx80")}
# All is inlined: what a thread keeps over the phases of a block is in registers.
COMMAND = ("clang-22", "--target=nvptx64-nvidia-cuda", "-std=c++17", "-O2", "-ffreestanding", "-nostdinc++", "-fno-exceptions", "-fno-rtti", "-ffp-contract=off",
           "-fno-threadsafe-statics", "-fconvergent-functions", "-mllvm", "-inline-threshold=100000", "-I", str(RUNTIME), "-I",
           str(RUNTIME / "include"), "-S", "-o", "-")
HEAD = """// SPDX-License-Identifier: Apache-2.0
// Made from {source} by scripts/make-cuda-kernels.py.

"""


ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a", "sm_120")


def assemble(ptx: str, architectures: tuple[str, ...]) -> None:
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernels.ptx")
        file.write_text(ptx)
        for architecture in architectures if ptxas else ():
            subprocess.run([ptxas, f"-arch={architecture}", file, "-o", Path(folder, "kernels.cubin")], check=True)


def compile_kernels(source: str) -> str:
    architecture, version = SPECIAL.get(source, ("sm_80", "ptx70"))
    words = (f"-march={architecture}", "-Xclang", "-target-feature", "-Xclang", f"+{version}", str(FOLDER / source))
    made = subprocess.run((*COMMAND, *words), text=True, capture_output=True, check=True).stdout
    # Comments name the compiler's blocks; blanks at line ends are nobody's.
    lines = [re.sub(r"\s*//.*", "", line).rstrip() for line in made.splitlines()]
    return "\n".join(line for line in lines if line) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    stale = []
    for source in SOURCES:
        ptx = compile_kernels(source)
        target = FOLDER / source.replace("kernels.cpp", "ptx.inc" if "_" in source else "kernels_ptx.inc")
        text = HEAD.format(source=source) + 'R"ptx(' + ptx + ')ptx"\n'
        if arguments.check:
            assemble(ptx, SPECIAL[source][:1] if source in SPECIAL else ARCHITECTURES)
            stale += [target.name] if target.read_text() != text else []
        else:
            target.write_text(text)
    if stale:
        sys.exit(f"{', '.join(stale)}: not what the sources give: run make-cuda-kernels.py")


if __name__ == "__main__":
    main()
