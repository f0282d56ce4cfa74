#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs weft's test suites on a finished build and adds up what they count.

  run-tests.py [--all] [SUITE...]

Suites run in the order below; without a name all run. Tests that are slow and
rarely fail (in pytest with the mark `nightly`, in lit those that require the
feature `nightly`; sanitizers, but for what reads files and options) run with
--all only, which scripts/nightly says; fuzz and mutation are scripts that it
calls with more seeds. The last line is `N passed, N failed`, with `, N skipped`
if any was. Exit code 1 if one failed.
"""
import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
REPORTS = BUILD / "test-reports"
LLVM_BIN = "/usr/lib/llvm-22/bin"
NIGHTLY = "--all" in sys.argv[1:]
# What tests take that can do more or less.
EFFORT = "full" if NIGHTLY else "quick"


def last_lines(text):
    return "\n".join(line[:200] for line in text.strip().splitlines()[-30:])


class Count:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped
        # The name of each failed test that is known, and the end of what it
        # printed: said once more before the totals, as a long log may be cut.
        self.failures = []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures

    def add_failure(self, name, output):
        self.failed += 1
        self.failures.append((name, last_lines(output)))

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def run(command, **kwargs):
    return subprocess.run([str(c) for c in command], cwd=ROOT, **kwargs).returncode


def count_junit(path):
    """Adds up the test cases of a JUnit file, which ctest and pytest write."""
    count = Count()
    for case in ElementTree.parse(path).iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"} or case.get("status") == "fail":
            count.add_failure(case.get("name"), "\n".join(
                child.text or "" for child in case if child.tag in ("failure", "error", "system-out")))
        elif "skipped" in kinds or case.get("status") in ("disabled", "notrun"):
            count.skipped += 1
        else:
            count.passed += 1
    return count


def suite_lint():
    """Each check script is one test: it prints a line per problem. Then the
    tests that the checks can fail."""
    count = Count()
    scripts = sorted((ROOT / "scripts").glob("check-*.py"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(start_script, [(sys.executable, script) for script in scripts]))
    for script, result in zip(scripts, results):
        if result.returncode == 0:
            count.passed += 1
        else:
            print(f"FAILED {script.name}", result.stdout, sep="\n", end="")
            count.add_failure(script.name, result.stdout)
    report = REPORTS / "lint.xml"
    report.unlink(missing_ok=True)
    run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(os.cpu_count()),
         "--junitxml", report, "test/lint"])
    count.add(count_junit(report) if report.exists() else Count(failed=1))
    return count


# Of lit's tests those of more than half a minute: one that is left at the end has one processor for itself.
LONG_TESTS = ["Integration/Schedule/limits.test", "Integration/Schedule/least-limits.test", "Integration/Device/examples.test",
              "Tools/weft-verify/programs.test", "Integration/Device/qwen3.test",
              "Integration/Device/cuda-step.test", "Integration/Device/ring-attention.test", "Integration/Plan/qwen3.test",
              "Integration/Device/host-programs.test", "Integration/Device/random-steps.test"]  # fmt: skip


def begin_with_long_tests():
    """lit begins with what took longest the last time; after a clean checkout there was none."""
    times = BUILD / "test/.lit_test_times.txt"
    if not times.exists():
        times.write_text("".join(f"6.0e+01 {name}\n" for name in LONG_TESTS))


def suite_lit():
    begin_with_long_tests()
    report = REPORTS / "lit.json"
    only = ["-Dnightly=1"] if NIGHTLY else []
    report.unlink(missing_ok=True)
    code = run([Path(LLVM_BIN) / "lit", "-q", f"-j{os.cpu_count()}", *only,
                "--output", report, BUILD / "test"])
    if not report.exists():
        return Count(failed=1)
    count = Count()
    for test in json.loads(report.read_text())["tests"]:
        if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
            count.passed += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
            count.skipped += 1
        else:
            count.add_failure(test["name"], test["output"])
    if code != 0 and count.failed == 0:
        count.failed = 1
    return count


def suite_ctest():
    report = REPORTS / "ctest.xml"
    report.unlink(missing_ok=True)
    # The longest tests wait, for deadlines and delays: more of them than cores.
    run(["ctest", "--test-dir", BUILD, f"-j{2 * os.cpu_count()}", "--quiet",
         "--output-on-failure", "--no-tests=error", "--output-junit", report],
        env=dict(os.environ, WEFT_TEST_EFFORT=EFFORT))
    return count_junit(report) if report.exists() else Count(failed=1)


def install_package():
    """Installs the Python package, with its extension linked to the finished
    build, where only the tests find it."""
    folder = BUILD / "python"
    environment = dict(os.environ, CCACHE_BASEDIR=str(ROOT), CCACHE_NOHASHDIR="1")
    if shutil.which("ccache"):
        environment["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    code = run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
                "--disable-pip-version-check", "--root-user-action=ignore",
                "--no-build-isolation", "--upgrade", "--target", folder,
                "--config-settings", f"build-dir={BUILD / 'python-build'}",
                "--config-settings", f"cmake.define.WEFT_BUILD_DIR={BUILD}", ROOT], env=environment)
    return folder if code == 0 else None


def suite_pytest():
    report = REPORTS / "pytest.xml"
    report.unlink(missing_ok=True)
    folder = install_package()
    if folder is None:
        return Count(failed=1)
    environment = dict(os.environ, PYTHONPATH=str(folder), JAX_PLATFORMS="cpu",
                       WEFT_TEST_EFFORT=EFFORT)
    only = [] if NIGHTLY else ["-m", "not nightly"]
    # A file's tests stay in one process: they share what they compile.
    run([sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count()),
         "--dist", "loadfile", *only, "--junitxml", report,
         "python-bindings/tests"], env=environment)
    return count_junit(report) if report.exists() else Count(failed=1)


def run_script(*command):
    """A script that runs tests of its own and ends with a line of totals."""
    return count_script(start_script(command))


def run_scripts(commands):
    """Scripts that use one core each, as many at a time as there are cores."""
    count = Count()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for result in pool.map(start_script, commands):
            count.add(count_script(result))
    return count


def start_script(command):
    return subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE)


def count_script(result):
    count = count_of_script(result)
    if count.failed:
        count.failures.append((result.args[0] if len(result.args) == 1 else result.args[1], last_lines(result.stdout)))
    return count


def count_of_script(result):
    sys.stdout.write(result.stdout)
    lines = result.stdout.strip().splitlines()
    words = lines[-1].replace(",", "").split() if lines else []
    if len(words) >= 4 and words[1] == "passed" and words[3] == "failed":
        count = Count(int(words[0]), int(words[2]))
        if result.returncode != 0 and count.failed == 0:
            count.failed = 1
        return count
    return Count(passed=int(result.returncode == 0),
                 failed=int(result.returncode != 0))


def suite_fuzz():
    """The same programs each time; on a slow machine fewer of them."""
    def script(name, *options):
        return (sys.executable, ROOT / "test" / "fuzz" / name, *options)

    if not (BUILD / "python").exists() and install_package() is None:
        return Count(failed=1)
    count = run_scripts(
        [script("random_programs.py", "--kind", kind, "--backend", backend, "--seeds", seeds, "--seconds", seconds)
         for kind, backend, seeds, seconds in (("any", "interpreter", "0:300", "9"), ("any", "host", "600:670", "9"),
                                               ("scan", "host", "0:40", "8"), ("data", "host", "0:40", "8"),
                                               ("rows", "host", "0:40", "8"))]
        + [script("attention.py", "--seeds", "0:6", "--seconds", "6"),
           script("quantization.py", "--seeds", "0:3", "--seconds", "6"),
           script("integers.py", "--seeds", "0:24", "--seconds", "6"),
           script("number_programs.py", "--seeds", "0:4", "--seconds", "6")])
    # These use all cores by themselves.
    count.add(run_script(*script("malformed.py", "--cases", "40", "--seconds", "12")))
    count.add(run_script(*script("invariance.py", "--seeds", "0:26", "--seconds", "10", "--meshes", "3", "--control", "4")))
    return count


def suite_mutation():
    """Wrong programs, which the proofs must reject; see test/mutation. Fewer of
    each kind than the scripts make by themselves, which scripts/nightly runs."""
    def mutate(name, *options):
        return run_script(sys.executable, ROOT / "test" / "mutation" / name, *options)

    # Small steps: what takes the time is to plan them.
    inputs = [ROOT / "test" / "mutation" / "Inputs" / name for name in ("mlp.mlir.gz", "moe.mlir.gz", "quantized.mlir.gz")]
    loops = ROOT / "test" / "mutation" / "Inputs" / "loops.local.mlir"
    spelled = ROOT / "test" / "mutation" / "Inputs" / "spelled.global.mlir"
    count = mutate("run.py", "--per-kind", "1", "--runs", "6", "--seconds", "10", *inputs)
    count.add(mutate("planning.py", "--per-kind", "1", "--runs", "2", "--seconds", "8", loops, *inputs))
    count.add(mutate("canonicalization.py", "--per-kind", "1", "--seconds", "5", spelled, *inputs))
    for name in ("invariance.py", "partitioning.py", "scheduling.py"):
        count.add(mutate(name, "--per-kind", "1", "--seconds", "5", *inputs))
    # Its programs are exported by the package.
    if not (BUILD / "python").exists() and install_package() is None:
        count.add(Count(failed=1))
    count.add(mutate("tokens.py", "--per-kind", "1", "--seconds", "9"))
    return count


def suite_sanitizers():
    return run_script(ROOT / "scripts" / "test-sanitizers.sh", *(["--all"] if NIGHTLY else ["--core", "asan"]))


def suite_browser():
    """Pages that a headless Chromium opens."""
    report = REPORTS / "browser.xml"
    report.unlink(missing_ok=True)
    run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
         "--junitxml", report, "test/Report"])
    return count_junit(report) if report.exists() else Count(failed=1)


def suite_demo():
    """What ./scripts/demo runs; it fails if its results differ from JAX's."""
    failed = run([sys.executable, ROOT / "scripts" / "demo.py"]) != 0
    return Count(passed=int(not failed), failed=int(failed))


SUITES = {name[len("suite_"):]: function
          for name, function in list(globals().items())
          if name.startswith("suite_")}


def main():
    names = [name for name in sys.argv[1:] if name != "--all"] or list(SUITES)
    for name in names:
        if name not in SUITES:
            sys.exit(f"run-tests.py: unknown suite '{name}'; there are "
                     + ", ".join(SUITES))
    REPORTS.mkdir(parents=True, exist_ok=True)
    os.environ["PATH"] = os.pathsep.join([str(BUILD / "bin"), LLVM_BIN,
                                          os.environ["PATH"]])
    os.environ["WEFT_TEST_PYTHON"] = sys.executable
    total, rows = Count(), []
    for name in names:
        print(f"== {name}", flush=True)
        start = time.monotonic()
        count = SUITES[name]()
        total.add(count)
        rows.append((name, count, time.monotonic() - start))
    for name, output in total.failures:
        print(f"\nFAILED {name}\n{output}")
    print()
    for name, count, seconds in rows:
        print(f"{name:12} {seconds:6.1f} s   {count}")
    print(total)
    sys.exit(1 if total.failed else 0)


if __name__ == "__main__":
    main()
