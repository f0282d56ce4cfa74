#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of the CUDA backend to PTX, as text that C++ includes.

Run it after a change of runtime/backends/cuda/*kernels.cpp or of what they
include. Each text has a digest of itself and of all that it is made from: --check
fails if one is another. --compile does that by compiling again, which takes
minutes, and lets ptxas, where it is found, take the text. PTX of sm_80 runs on
every later GPU; that of group_attention_kernels.cpp on sm_90 alone.
Needs clang 22, but for --check.
"""
import argparse
import hashlib
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
// Digest of what it is made from and of what follows: {digest}

"""
INCLUDE = re.compile(r'^#include "(.+)"$', re.M)
COMMENT = re.compile(r"//.*?$|/\*.*?\*/", re.M | re.S)

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


def made_from(source: str) -> list[Path]:
    """The file and all files of the runtime that it includes, as they are met."""
    files = [FOLDER / source]
    for file in files:
        for name in INCLUDE.findall(file.read_text()):
            found = next(folder / name for folder in (RUNTIME, RUNTIME / "include") if (folder / name).exists())
            files += [found] if found not in files else []
    return files


def digest_of(source: str, ptx: str) -> str:
    words = [word.replace(str(RUNTIME), "runtime") for word in (*COMMAND, *SPECIAL.get(source, ()))]
    code = (COMMENT.sub("", file.read_text()) for file in made_from(source))
    parts = [" ".join(words), *(" ".join(text.split()) for text in code), ptx]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def text_of(source: str, ptx: str) -> str:
    return HEAD.format(source=source, digest=digest_of(source, ptx)) + 'R"ptx(' + ptx + ')ptx"\n'


def is_current(source: str, text: str, compiles: bool) -> bool:
    if compiles:
        ptx = compile_kernels(source)
        assemble(ptx, SPECIAL[source][:1] if source in SPECIAL else ARCHITECTURES)
    else:
        ptx = text[text.index('R"ptx(') + len('R"ptx('):text.rindex(')ptx"')]
    return text == text_of(source, ptx)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    stale = []
    for source in SOURCES:
        target = FOLDER / source.replace("kernels.cpp", "ptx.inc" if "_" in source else "kernels_ptx.inc")
        if not arguments.check and not arguments.compile:
            target.write_text(text_of(source, compile_kernels(source)))
        elif not is_current(source, target.read_text(), arguments.compile):
            stale.append(target.name)
    if stale:
        sys.exit(f"{', '.join(stale)}: not what the sources give: run make-cuda-kernels.py")


if __name__ == "__main__":
    main()
