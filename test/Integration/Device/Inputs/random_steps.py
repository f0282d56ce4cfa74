# SPDX-License-Identifier: Apache-2.0
"""Random programs on the host, and with kernels of the cuda target, emulated: in invariant mode the same bits, else
what types allow.

    random_steps.py FOLDER [KIND=FIRST:LAST...]

Kinds are those of test/fuzz/random_programs.py, `random` for any. What the host refuses is passed over.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT / "bench"))

import gpu_compare  # noqa: E402
import gpu_values  # noqa: E402
from gpu import read_tensors  # noqa: E402

SCRIPT = ROOT / "test" / "lib" / "TestOps" / "compile-emulated.sh"
DEFAULT = ["random=30:36", "data=0:3", "scan=0:2"]


def compile_emulated(source, program, *options):
    """Of what the host takes."""
    done = subprocess.run([SCRIPT, source, program, *options], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{source.name} {' '.join(options)}: {done.stderr}")
    return done


def run(folder, case):
    words = ["weft-run", folder.parent / case["program"], "--quiet", "--inputs", folder.parent / case["inputs"]]
    if "digest" in case:
        got = subprocess.run([*words, "--steps", str(gpu_values.STEPS), "--digest"], capture_output=True, text=True)
        gpu_compare.same_digests(got.stdout, case["digest"])
    else:
        out = folder / "out"
        subprocess.run([*words, "--outputs", out], check=True)
        gpu_compare.close(read_tensors(out), read_tensors(folder.parent / case["expected"]))


def main():
    folder = pathlib.Path(sys.argv[1]) / "values"
    values = gpu_values.Values(folder, pathlib.Path(), compile_emulated)
    passed, failed = 0, []
    for word in sys.argv[2:] or DEFAULT:
        kind, seeds = word.split("=")
        for name, source, inputs, options in gpu_values.random_programs(values, kind, range(*map(int, seeds.split(":")))):
            case = values.case(name, source, inputs, *options)
            if case is None:
                continue
            try:
                run(folder, case)
                passed += 1
            except (ValueError, subprocess.CalledProcessError) as error:
                failed.append(f"{name}: {error}")
    print(*failed, f"{passed} passed, {len(failed)} failed", sep="\n")
    sys.exit(1 if failed or not passed else 0)


main()
