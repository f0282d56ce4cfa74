#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes random arguments for test/mutation/Inputs/main_grads.mlir.

squares.py FILE
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "reference"))

import numpy as np
from equivalence import write_safetensors

rng = np.random.default_rng(1)
shapes = {"x": (64, 256), **{f"{kind}.{layer}": (256, 256) for kind in ("params", "grads") for layer in range(4)}}
write_safetensors(pathlib.Path(sys.argv[1]),
                  {name: (rng.uniform(-0.1, 0.1, shape).astype(np.float32), "f32")
                   for name, shape in shapes.items()})
