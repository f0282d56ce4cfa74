#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Feeds malformed inputs to every reader of weft's tools, and wants an answer from each.

  malformed.py [--cases N] [--seed S] [--kinds K,K...] [--seconds S] [--keep FOLDER] [--strict]

Kinds: tensors (safetensors), machine (JSON), durations (traces), program (machine code that is
inspected, and run where it is cut off), module (MLIR of all phases; see malformed_modules.py),
bytecode (the same as MLIR's bytecode, bytes of which are changed), command (command lines), python (the same files in one process). A case is an input that was
mutated by a generator with a fixed seed: the same each time. A tool has to end in time with 0, 1,
2 or 3, to say what is wrong if it is not 0, to leave no outputs then, and neither to crash nor to
print a traceback. Prints each case that does not, and `N passed, N failed`. A crash that was
caught (exit code 1) passes where a parser that is not weft's own reads the input: modules, and
what is nested deeply on purpose. It fails elsewhere; with --strict also for modules, but for those
that end weft-opt as well when it only reads them (bytecode, too).
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import malformed_modules
from malformed_modules import mutate_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEP = ROOT / "test/Tools/weft-compile/Inputs/step.mlir"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "build/python")}
TIMEOUT = 300  # however busy the machine is; what counts is the time of the processor
CPU_SECONDS = 20
MEMORY = 8 << 30
BAD = re.compile(rb"Traceback|LLVM ERROR|Assertion|terminate called|Sanitizer|UNREACHABLE|Stack dump")
ENDED = re.compile(rb"ended by (SIG\w+|signal)|the compiler (was )?ended")


class Case:
    """Command lines that read one malformed input, and the file of it."""

    def __init__(self, kind, number, commands, may_be_caught=False):
        self.kind, self.number, self.commands = kind, number, commands
        self.may_be_caught = may_be_caught


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def left_behind(command, folder):
    """What a failure must not leave: outputs, and temporary files beside them."""
    for flag, word in zip(command, command[1:]):
        if flag in ("-o", "--report", "--outputs") and isinstance(word, pathlib.Path) and word.exists():
            return word
        if flag == "-o" and isinstance(word, pathlib.Path):
            return next(folder.glob(word.name + "*.tmp"), None)
    return None


def run_tool(command, folder):
    try:
        done = subprocess.run([str(c) for c in command], cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT, preexec_fn=limit, env=ENVIRONMENT)
    except subprocess.TimeoutExpired:
        return "did not end"
    except ValueError as error:  # a zero within a command line, which no system takes
        return None if "null byte" in str(error) else str(error)
    text = done.stdout[-4000:] + done.stderr[-4000:]
    if done.returncode not in (0, 1, 2, 3):
        return f"ended with {done.returncode}"
    if done.returncode and left_behind(command, folder):
        return f"left {left_behind(command, folder).name}"
    if b"SIGXCPU" in text or b"SIGKILL" in text:
        return "took too long"
    ended = done.returncode and ENDED.search(done.stderr)
    bad = BAD.search(text.replace(b"Stack dump", b"") if ended else text)
    if bad and b"out of memory" not in text:
        return "printed " + bad.group().decode()
    if ended:
        return "caught: " + ended.group().decode()
    if done.returncode and not done.stderr.strip():
        return f"ended with {done.returncode} without a word"
    if command[0] != "weft-opt" and re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", done.stderr):
        return "printed a control character"
    return None


def mutate_bytes(rng, data, other=b""):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        length = rng.choice((1, 1, 2, 4, 8, 64))
        kind = rng.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at:at + length]
        elif kind == 2:
            data[at:at] = data[at:at + length]
        elif kind == 3:
            data[at:at + length] = bytes(rng.randrange(256) for _ in range(length))
        elif kind == 4:
            data[at:at + 8] = struct.pack("<q", rng.choice((-1, 0, 2**63 - 1, -2**63, 2**32, 1)))
        else:
            data = data[:at] or bytearray(b"x")
    return bytes(data)


def header_of(rng):
    """A safetensors file for the program `accumulate`, or something like it."""
    fields = {"state": ("F32", [9, 3], 108), "x": ("F32", [8], 32), "mode": ("I32", [], 4)}
    at, header = 0, {}
    for name, (dtype, shape, size) in fields.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    entry = header[rng.choice(list(header))]
    rng.choice([
        lambda: entry.update(dtype=rng.choice(["F4", "C64", "", "f32", 7, None, "F8_E4M3"])),
        lambda: entry.update(shape=rng.choice([[-1], [2**62, 4], [0], "x", [1.5], [[1]], None])),
        lambda: entry.update(data_offsets=rng.choice([[0], [4, 0], [0, 2**63], [-4, 4], "", [0, 4, 8]])),
        lambda: entry.pop(rng.choice(list(entry))),
        lambda: header.update({rng.choice(["\x1b[31m", "", "x" * 70000, "\u202e", "__metadata__"]):
                               rng.choice([entry, {}, [], "x", {"a": 1}])}),
        lambda: None])()
    text = json.dumps(header).encode()
    if rng.random() < 0.5:
        text = mutate_text(rng, text.decode()).encode("utf-8", "surrogatepass")
    length = len(text) if rng.random() < 0.9 else rng.choice([0, 1, 2**63, 2**64 - 1, 10**8, len(text) + 1])
    return struct.pack("<Q", length) + text + bytes(at)


def tensors_case(rng, number, folder, seeds):
    path = folder / f"t{number}.safetensors"
    data = header_of(rng)
    path.write_bytes(data if rng.random() < 0.6 else mutate_bytes(rng, data))
    return Case("tensors", number, [["weft-run", seeds["accumulate"], "--inputs", path,
                                     "--deadline", "5", "--threads", "4"]])


def machine_case(rng, number, folder, seeds):
    path = folder / f"m{number}.json"
    text = rng.choice(seeds["machines"])
    is_deep = rng.random() < 0.05
    if is_deep:
        text = "[" * 100000
    path.write_bytes(mutate_text(rng, text).encode("utf-8", "surrogatepass"))
    command = ["weft-compile", STEP, "-o", "-", "--to", "scheduled", "--machine", path]
    if rng.random() < 0.5:
        command = ["weft-sim", STEP, "--machine", path]
    return Case("machine", number, [command], is_deep)


def program_case(rng, number, folder, seeds):
    path = folder / f"p{number}.so"
    data = rng.choice(seeds["programs"])
    commands = [["weft-run", path, "--inspect"]]
    if rng.random() < 0.2:  # cut off: nothing of it may run
        path.write_bytes(data[:rng.randrange(len(data))])
        commands.append(["weft-run", path])
    else:
        path.write_bytes(mutate_bytes(rng, data))
    if rng.random() < 0.3:
        commands.append(["weft-compile", "--diff-order", path, path])
    return Case("program", number, commands)


def module_case(rng, number, folder, seeds):
    commands = malformed_modules.make(rng.random(), number, seeds["modules"], folder)
    return Case("module", number, commands, may_be_caught=True)


def bytecode_case(rng, number, folder, seeds):
    path = folder / f"b{number}.mlir"
    phase, data = rng.choice(seeds["bytecode"])
    is_cut = rng.random() < 0.15
    path.write_bytes(data[:rng.randrange(len(data))] if is_cut else mutate_bytes(rng, data))
    return Case("bytecode", number, malformed_modules.commands_for(rng, phase, path, folder, number), may_be_caught=True)


RECORD = ('\n// weft.python: {"mesh": {"dp": 2}, "in_tree": ["leaf", [], [], null], "out_tree": null, '
          '"arguments": [["x", [8], "float32", null, null, null]], "results": []}\n')
OPTIONS = {
    "weft-compile": ["-o", "--to", "--mesh", "--ranks", "--accumulate", "--cpu", "--emit-header",
                     "--invariant", "--leaves", "--partials", "--schedule", "--machine",
                     "--memory-limit", "--report", "--compare", "--stats", "--remarks",
                     "--no-proofs", "--merge-channels", "--diff-order", "--help", "--version"],
    "weft-run": ["--ranks", "--inputs", "--outputs", "--steps", "--threads", "--deadline", "--print",
                 "--digest", "--trace", "--stats", "--profile", "--fault", "--poison", "--link",
                 "--shared-link", "--perturb", "--rank-program", "--inspect", "--quiet", "--help"],
    "weft-sim": ["--machine", "--trace", "--report", "--durations", "--rank", "--slow-rank",
                 "--jitter", "--seed", "--mesh", "--memory-limit", "--help"],
    "weft-measure": ["-o", "--name", "--ranks", "--threads", "--help", "-x"],
    "weft-verify": ["--help", "--from", "scheduled", "--", "-x"]}
VALUES = ["", "-", "0", "-1", "1", "2", "99999999999999999999", "dp=0", "dp=4", "dp=-1", "dp", "=",
          "dp=9223372036854775807", "x\x1b[31my", "\udcff", "nan", "1e400", "0-3", "/dev/full",
          "/dev/null", "/", ".", "/none/x", "vanish:1:0", "fail:99", "dp=1,1", "f=nan,nan", "8GiB",
          "16777216TiB", "planned", "llvm", "mesh", "best", "sync", "x.mlir", "x.so", "x.ll", "x.o",
          "%s%n%s", "a" * 5000]


def command_case(rng, number, folder, seeds):
    tool = rng.choice(list(OPTIONS))
    own = folder / f"c{number}"
    own.mkdir()
    words: list = ["--quick"] if tool == "weft-measure" else []
    if tool != "weft-measure" and rng.random() < 0.9:
        words.append(seeds["accumulate"] if tool == "weft-run" else STEP)
    for _ in range(rng.randrange(6)):
        option = rng.choice(OPTIONS[tool])
        value = rng.choice(VALUES)
        words += rng.choice([[option], [option, value], [f"{option}={value}"], [value]])
    if tool == "weft-compile" and "-o" not in words and rng.random() < 0.7:
        words += ["-o", "x.mlir"]
    return Case("command", number, [[tool, *(os.fsencode(str(w)) for w in words)]])


def durations_case(rng, number, folder, seeds):
    path = folder / f"d{number}.json"
    path.write_bytes(mutate_text(rng, seeds["trace"]).encode("utf-8", "surrogatepass"))
    return Case("durations", number, [["weft-sim", STEP, "--durations", path]])


def python_case(rng, number, folder, seeds):
    """Several files of each kind, as the interpreter takes long to start."""
    paths = []
    for i in range(4):
        _, text = rng.choice(seeds["modules"])
        module = malformed_modules.mutate(rng, text, rng.choice(seeds["modules"])[1])
        record = mutate_text(rng, RECORD) if rng.random() < 0.3 else ""
        contents = {".mlir": (module + record).encode("utf-8", "surrogatepass"),
                    ".safetensors": mutate_bytes(rng, header_of(rng)),
                    ".so": mutate_bytes(rng, rng.choice(seeds["programs"][1:]))}
        for suffix, data in contents.items():
            paths.append(folder / f"y{number}-{i}{suffix}")
            paths[-1].write_bytes(data)
    return Case("python", number, [[sys.executable, ROOT / "test/fuzz/malformed_python.py", *paths]], True)


KINDS = {"tensors": tensors_case, "machine": machine_case, "program": program_case,
         "module": module_case, "bytecode": bytecode_case, "command": command_case, "durations": durations_case,
         "python": python_case}


def make_seeds(folder, is_quick):
    """Right inputs of each kind, which are then made wrong."""
    seeds: dict = {"accumulate": ROOT / "build/lib/accumulate.so",
             "machines": [p.read_text() for p in sorted((ROOT / "machines").glob("*.json"))],
             "modules": [], "programs": [(ROOT / "build/lib/accumulate.so").read_bytes()]}
    trace = folder / "trace.json"
    subprocess.run(["weft-sim", STEP, "--trace", trace], check=True, stdout=subprocess.DEVNULL)
    seeds["trace"] = trace.read_text().replace('"compute", "dur"', '"kernel", "dur"')
    seeds["modules"] = malformed_modules.make_phases(folder, is_quick)
    seeds["bytecode"] = malformed_modules.make_bytecode(folder, seeds["modules"])
    for name in ("step", "sums"):
        path = folder / f"{name}.so"
        subprocess.run(["weft-compile", ROOT / f"test/Tools/weft-compile/Inputs/{name}.mlir", "--invariant",
                        "-o", path], check=True)
        seeds["programs"].append(path.read_bytes())
    return seeds


def ends_reader(command):
    """Says whether reading the module is enough for the crash."""
    path = next(word for word in command if isinstance(word, pathlib.Path) and word.suffix == ".mlir")
    problem = run_tool(["weft-opt", path, "-o", "/dev/null"], path.parent)
    return problem is not None and problem.startswith("caught: ")


def check(case, folder, keep, strict):
    """What is wrong with the answers to a case, as lines."""
    problems = []
    for command in case.commands:
        own = folder / f"c{case.number}"
        problem = run_tool(command, own if case.kind == "command" else folder)
        if problem and problem.startswith("caught: ") and case.may_be_caught and \
                (not strict or case.kind not in ("module", "bytecode") or ends_reader(command)):
            continue
        if problem:
            words = " ".join(repr(w) if isinstance(w, bytes) else str(w) for w in command)
            problems.append(f"{case.kind} {case.number}: {problem}: {words[:400]}")
            for word in command if keep else []:
                if isinstance(word, pathlib.Path) and word.parent == folder and word.exists():
                    shutil.copy(word, keep)
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=80, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seconds", type=float, default=1e9, help="start no case after that")
    parser.add_argument("--keep", type=pathlib.Path, help="where inputs that failed are kept")
    parser.add_argument("--strict", action="store_true", help="crashes that were caught fail everywhere")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    end, passed, failed = time.monotonic() + options.seconds, 0, 0
    with tempfile.TemporaryDirectory(prefix="weft-malformed-") as name:
        folder = pathlib.Path(name)
        seeds = make_seeds(folder, options.cases <= 100)

        def work(kind, number):
            if time.monotonic() > end:
                return None
            rng = random.Random(f"{options.seed} {kind} {number}")
            case = KINDS[kind](rng, number, folder, seeds)
            return check(case, folder, options.keep, options.strict)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            jobs = [pool.submit(work, kind, number)
                    for number in range(options.first, options.first + options.cases)
                    for kind in options.kinds.split(",")]
            for job in jobs:
                problems = job.result()
                if problems is None:
                    continue
                failed += bool(problems)
                passed += not problems
                for problem in problems:
                    print("FAILED", problem, flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
