#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles with a ptxas that is found on the path.

    cubin.py real|broken|idle COMMAND...

`real` is that of assemble.py, `broken` one that says no, `idle` one that does nothing.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from assemble import find_ptxas

which, *command = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    ptxas = pathlib.Path(folder, "ptxas")
    if which == "real":
        ptxas.symlink_to(find_ptxas())
    else:
        ptxas.write_text("#!/bin/sh\n" + ("echo no such architecture\nexit 7\n" if which == "broken" else ""))
        ptxas.chmod(0o755)
    path = os.pathsep.join([folder, os.environ["PATH"]])
    sys.exit(subprocess.run(command, env={**os.environ, "PATH": path}).returncode)
