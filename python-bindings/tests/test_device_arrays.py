# SPDX-License-Identifier: Apache-2.0

"""Arrays on the GPU, in and out by DLPack: on what stands in for CUDA's libraries, in
processes of their own that find it by LD_LIBRARY_PATH."""

import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT

HERE = pathlib.Path(__file__).parent
STEP = HERE / "data/device_step.mlir"
EMULATE = ROOT / "test/Integration/Device/Inputs/emulate.py"


def run(command, **environment):
    folders = [str(ROOT / "build/bin"), os.environ["PATH"]]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env={**os.environ, "PATH": ":".join(folders), **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Folders with step.so and the code of its kernels, by the number of ranks."""
    folders = {}
    for ranks in (1, 2):
        folders[ranks] = tmp_path_factory.mktemp(f"ranks{ranks}")
        run([sys.executable, EMULATE, STEP, folders[ranks], "--mesh", f"rows={ranks}"])
    return folders


@pytest.mark.parametrize("case, ranks, gpus", [
    ("goes_in", 1, 1), ("goes_out", 1, 1), ("goes_round", 1, 1), ("is_refused", 1, 1), ("ranks_share", 2, 1),
    ("ranks_are_apart", 2, 2)])
@pytest.mark.parametrize("delays", ["0", "5"])
def test_arrays_on_the_gpu(programs, case, ranks, gpus, delays):
    folder = programs[ranks]
    said = run([sys.executable, HERE / "device_arrays.py", case, folder / "step.so"],
               LD_LIBRARY_PATH=str(ROOT / "build/emulated-cuda"), WEFT_EMULATED_IMAGES=str(folder),
               EMULATED_GPUS=str(gpus), EMULATED_GPU_DELAYS=delays)
    assert said == "ok\n"


def test_programs_of_the_host_have_none(tmp_path):
    run(["weft-compile", STEP, "-o", tmp_path / "host.so"])
    said = run([sys.executable, HERE / "device_arrays.py", "host_refuses", tmp_path / "host.so"],
               LD_LIBRARY_PATH=str(ROOT / "build/emulated-cuda"))
    assert said == "ok\n"
