#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft-compile for bench/gpu.py, which also leaves code for the stand-in of the driver.

    compile_emulated.py PROGRAM.mlir --target cuda [OPTION...] -o STEP.so

What emulate.py makes goes to a folder of its own in WEFT_EMULATED_IMAGES, and the
libraries that the stand-in looks for to that folder itself.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

program, *words = sys.argv[1:]
out = pathlib.Path(words[words.index("-o") + 1])
options = [word for word in words if word not in ("-o", str(out), "--target", "cuda")]
compile_ = ["weft-compile", program, "--target", "cuda", "--target-options", "cubin=never", *options]
subprocess.run([*compile_, "-o", out], check=True)
lowered = subprocess.run([*compile_, "--to", "llvm", "-o", "-"], check=True, capture_output=True, text=True)
if "weft_ptx" not in lowered.stdout:  # all is cuBLASLt's
    sys.exit()
images = pathlib.Path(os.environ["WEFT_EMULATED_IMAGES"])
folder = images / out.stem
folder.mkdir(parents=True)
script = pathlib.Path(__file__).with_name("emulate.py")
subprocess.run([sys.executable, script, program, folder, *options], check=True)
for file in folder.glob("*.so"):
    if re.fullmatch("[0-9a-f]{64}", file.stem):
        shutil.copy(file, images)
