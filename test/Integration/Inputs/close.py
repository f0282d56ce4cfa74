# SPDX-License-Identifier: Apache-2.0
"""Fails unless two safetensors files hold the same tensors up to a tolerance.

  close.py FILE FILE TOLERANCE     relative to each tensor's largest element
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "reference"))

import numpy as np
from equivalence import read_safetensors

first, second = map(read_safetensors, map(pathlib.Path, sys.argv[1:3]))
assert first.keys() == second.keys()
for name, array in first.items():
    a, b = array.astype(np.float64), second[name].astype(np.float64)
    other = a != b  # infinities are close to themselves
    error = np.max(np.abs(a[other] - b[other]), initial=0) / (np.max(np.abs(a)) + 1e-30)
    assert error <= float(sys.argv[3]), f"{name}: {error}"
