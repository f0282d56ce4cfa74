# SPDX-License-Identifier: Apache-2.0
"""Modules for malformed.py: right ones of all phases and passes, and how they are made wrong.

Seeds are modules that the tools compile, in each phase and in MLIR's generic form, and the inputs
of the passes' own tests, with the passes that these name. An edit changes words, lines, types,
attributes, shardings or names, or takes a piece of another seed.
"""
import functools
import pathlib
import random
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ["test/Tools/weft-compile/Inputs/step.mlir", "test/Tools/weft-compile/Inputs/sums.mlir",
           "test/Tools/weft-compile/Inputs/state.mlir", "test/Tools/weft-compile/Inputs/narrow.mlir",
           "test/Integration/Host/loops.mlir", "test/Integration/Host/movement.mlir",
           "test/Integration/Host/reductions.mlir", "test/Integration/Host/lookups.mlir",
           "test/Integration/Host/calls.mlir", "test/Integration/Equivalence/reshards.mlir",
           "test/Integration/Equivalence/sequence.mlir", "examples/qwen3/step.mlir",
           "test/Integration/Equivalence/attention.mlir", "test/mutation/Inputs/scan.mlir"]
TESTS = ["Accumulation", "Attention", "Canonicalize", "Codegen", "Communication", "Dialect", "Orders", "Partition", "Pipelines",
         "Propagation", "Quantize", "Schedule", "Target", "Verify"]
PHASES = ["local", "scheduled", "planned", "llvm"]
NUMBERS = ["0", "-1", "1", "2", "3", "7", "64", "4294967296", "9223372036854775807",
           "-9223372036854775808", "18446744073709551616", "1e999", "-0.0", "nan", "1e-320"]
SIZES = ["0", "1", "2", "3", "?", "-1", "1073741824", "4611686018427387904", "9223372036854775807"]
TYPES = ["f32", "bf16", "i1", "i4", "i8", "i64", "ui8", "f64", "f8E4M3FN", "index", "i128", "complex<f32>",
         "none", "vector<4xf32>", "memref<4xf32>", "tensor<*xf32>", "!weft.none", "tuple<f32>"]
ATTRIBUTES = ["unit", "true", "\"\"", "\"x\"", "[]", "{}", "0 : i64", "-1 : i64", "1.5 : f32", "@mesh",
              "@nothing", "f32", "dense<1> : tensor<2xi64>", "array<i64>", "array<i64: -1, 9>",
              "affine_map<(d0) -> (d0)>", "affine_map<() -> ()>", "9223372036854775807 : i64", "[[], 1]",
              "#weft.sharding<@mesh, []>", "dense<> : tensor<0xf32>", "dense_resource<x> : tensor<4xf32>"]
SHARDINGS = ['[{"dp"}]', '[{"dp", "dp"}]', '[{"none"}]', '[{"dp":(1)2}]', '[{"dp":(0)0}]', '[{"dp":(2)4}]',
             '[{}, {}, {}, {}]', '[{"tp"}, {"tp"}]', '[]', '[{"dp":(9223372036854775807)2}]', '[{"dp", "tp"}, {}]']
MESHES = ['<[]>', '<["dp"=0]>', '<["dp"=-2, "tp"=2]>', '<["dp"=3, "tp"=5]>', '<["dp"=2, "dp"=2]>', '<["tp"=2]>',
          '<["dp"=4294967296, "tp"=4294967296]>', '<["dp"=9223372036854775807]>', '<[""=2]>', '<["dp"=64, "tp"=64]>']
TOKEN = re.compile(r"[%@#!^]?[A-Za-z_0-9][\w.$-]*|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\"(?:[^\"\\]|\\.)*\"|\S")


def mutate_text(rng, text):
    """Mutates words, numbers and brackets; what is around them stays."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        tokens = list(TOKEN.finditer(text))
        if not tokens:
            return text
        one, other = rng.choice(tokens), rng.choice(tokens)
        numbers = [t for t in tokens if re.fullmatch(r"-?\d.*", t.group())]
        kind = rng.randrange(7)
        if kind < 2 and numbers:
            one, new = rng.choice(numbers), rng.choice(NUMBERS)
        elif kind == 2:
            new = ""
        elif kind == 3:
            new = one.group() + " " + one.group()
        elif kind == 4:
            new = rng.choice(["\x1b[31m", "\x00", "\xff", "\u202e", "\"\\1B[2J\"", "}", "{", "<", "]"])
        else:
            new = other.group()
        text = text[:one.start()] + new + text[one.end():]
    return text


def replace_one(rng, text, pattern, make):
    found = list(re.finditer(pattern, text))
    if not found:
        return mutate_text(rng, text)
    one = rng.choice(found)
    return text[:one.start()] + make(one) + text[one.end():]


def edit_type(rng, text, other):
    """A size or the element type of a shaped type."""
    def make(match):
        dims = match.group(2).split("x")
        if rng.random() < 0.3 or len(dims) == 1:
            dims[-1] = rng.choice(TYPES)
        elif rng.random() < 0.2:
            dims.insert(0, rng.choice(SIZES))
        else:
            dims[rng.randrange(len(dims) - 1)] = rng.choice(SIZES)
        return f"{match.group(1)}<{'x'.join(dims)}"
    return replace_one(rng, text, r"(tensor|memref|vector)<((?:[\d?]+x)*\w+)", make)


def edit_types_alike(rng, text, other):
    """One size in all types: what stays right in itself."""
    sizes = re.findall(r"(?<=[<x])\d+(?=x)", text)
    if not sizes:
        return mutate_text(rng, text)
    size = rng.choice(sizes)
    return re.sub(rf"(?<=[<x]){size}(?=x)", rng.choice(SIZES), text)


def edit_attribute(rng, text, other):
    return replace_one(rng, text, r"(?<== )(?:\w+<[^<>]*>|\[[^\[\]]*\]|-?\d+(?: : \w+)?|\"[^\"]*\"|@\w+|#\w+)",
                       lambda match: rng.choice(ATTRIBUTES))


def edit_number(rng, text, other):
    return replace_one(rng, text, r"(?<![\w%#@.])-?\d+(?![\w.])", lambda match: rng.choice(NUMBERS[:11]))


def edit_list(rng, text, other):
    """Lists of numbers: dims, offsets, axes."""
    def make(match):
        words = match.group(2).split(", ")
        rng.choice([lambda: words.append(rng.choice(NUMBERS[:9])), lambda: words.pop(rng.randrange(len(words))),
                    lambda: words.extend(words), lambda: words.reverse()])()
        return match.group(1) + ", ".join(words) + match.group(3)
    return replace_one(rng, text, r"(\[|: )(-?\d+(?:, -?\d+)*)(\]|>)", make)


def edit_sharding(rng, text, other):
    return replace_one(rng, text, r"\[(?:\{[^{}]*\}(?:, )?)+\]", lambda match: rng.choice(SHARDINGS))


def edit_mesh(rng, text, other):
    return replace_one(rng, text, r"(?<=weft\.mesh )(@\w+ = )<\[[^\]]*\]>", lambda m: m.group(1) + rng.choice(MESHES))


def edit_lines(rng, text, other):
    lines = text.split("\n")
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(5)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(one, lines[two])
    elif kind == 2:
        lines[one], lines[two] = lines[two], lines[one]
    else:
        theirs = other.split("\n")
        begin = rng.randrange(len(theirs))
        lines[one:one + rng.randrange(2)] = theirs[begin:begin + rng.choice((1, 1, 2, 8))]
    return "\n".join(lines)


def edit_operand(rng, text, other):
    """A value where another one stands."""
    values = re.findall(r"%\w+", text) or ["%x"]
    return replace_one(rng, text, r"%\w+", lambda match: rng.choice(values))


def edit_name(rng, text, other):
    """Another op, one that nobody knows, or a symbol that is there already."""
    names = re.findall(r"\b[a-z_]+\.[a-z_]+\b", text + other) + ["unknown.op", "weft.none"]
    if rng.random() < 0.3:
        symbols = re.findall(r"@\w+", text) or ["@x"]
        return replace_one(rng, text, r"@\w+", lambda match: rng.choice(symbols + ["@nothing"]))
    return replace_one(rng, text, r"\b[a-z_]+\.[a-z_]+\b", lambda match: rng.choice(names))


def repeat_function(rng, text, other):
    begin = text.find("func.func")
    return text + "\n" + text[begin:] if rng.random() < 0.5 else text[:begin] + text[begin:] + text[:begin]


EDITS = [edit_type, edit_type, edit_types_alike, edit_attribute, edit_attribute, edit_number, edit_list,
         edit_sharding, edit_mesh, edit_lines, edit_lines, edit_operand, edit_name, repeat_function,
         lambda rng, text, other: mutate_text(rng, text)]
DEEP = ["module attributes {a = " + "[" * 60000 + "]" * 60000 + "} {}",
        "func.func private @f(" + "tuple<" * 60000 + "f32" + ">" * 60000 + ")",
        "func.func @f() {" + "scf.execute_region {" * 20000, "(" * 200000,
        "#a = affine_map<(d0) -> (" + "(" * 60000 + "d0" + ")" * 60000 + ")>",
        "\"builtin.module\"() ({" * 30000]


def mutate(rng, text, other):
    """One edit, mostly: of several, the first that is refused hides the others."""
    if rng.random() < 0.005:
        return rng.choice(DEEP)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = rng.choice(EDITS)(rng, text, other)
    return text


@functools.cache
def pass_seeds():
    """(text, flags of weft-opt) of the tests of passes."""
    seeds = []
    for folder in TESTS:
        for path in sorted((ROOT / "test" / folder).rglob("*.mlir")):
            text = path.read_text()
            run = re.search(r"RUN: weft-opt (.*?%s.*?)(?:\||2>|>|$)", text, re.M)
            if not run or "%t" in run.group(1) or "\\" in run.group(1):
                continue
            flags = [word for word in shlex.split(run.group(1)) if word.startswith("-") and
                     not re.match(r"--?(split-input-file|verify-diagnostics|o$)", word)]
            chunks = [chunk for chunk in text.split("// -----") if len(chunk) < 20000]
            seeds += [(re.sub(r"//.*", "", chunk), flags) for chunk in chunks]
    return seeds


def make_phases(folder, is_quick):
    """(phase, text) of all sources; the quick ones are the first two."""
    seeds = []
    for source in SOURCES[:2] if is_quick else SOURCES:
        name = source.replace("/", "-")
        seeds.append(("global", (ROOT / source).read_text()))
        for phase in PHASES:
            path = folder / f"{name}.{phase}.mlir"
            done = subprocess.run(["weft-compile", ROOT / source, "--to", phase, "-o", path],
                                  capture_output=True)
            if done.returncode == 0:
                seeds.append((phase, path.read_text()))
                generic = subprocess.run(["weft-opt", "--mlir-print-op-generic", path], capture_output=True,
                                         text=True)
                seeds.append((phase, generic.stdout or path.read_text()))
    return seeds


def make_bytecode(folder, modules):
    """(phase, bytes) of modules, as MLIR's bytecode."""
    seeds = []
    for number, (phase, text) in enumerate(modules):
        path, made = folder / f"text{number}.mlir", folder / f"bytecode{number}.mlir"
        path.write_text(text)
        subprocess.run(["weft-opt", path, "--emit-bytecode", "-o", made], check=True)
        seeds.append((phase, made.read_bytes()))
    return seeds


def commands_for(rng, phase, path, folder, number):
    """Tools that read a module of this phase."""
    out = folder / f"m{number}{rng.choice(['.ll', '.ll', '.o'])}"
    commands = [["weft-compile", path, "-o", out]]
    if phase == "planned" and rng.random() < 0.5:
        commands = [["weft-verify", path]]
    elif phase == "scheduled" and rng.random() < 0.3:
        commands = [["weft-verify", "--from", "scheduled", path, path]]
    elif rng.random() < 0.3:
        commands = [rng.choice([["weft-sim", path], ["weft-opt", path, "-o", "/dev/null"],
                                ["weft-opt", path, "--canonicalize", "--cse", "-o", "/dev/null"],
                                ["weft-compile", path, "-o", "-", "--to", "planned", "--stats"],
                                ["weft-compile", path, "-o", "-", "--to", "scheduled", "--schedule", "sync"],
                                ["weft-compile", path, "-o", folder / f"m{number}.so", "--report",
                                 folder / f"m{number}.html"]])]
    if phase == "global" and rng.random() < 0.4:
        commands[0] += rng.choice([["--invariant"], ["--mesh", "dp=4"], ["--accumulate", "dp"],
                                   ["--schedule", "greedy"], ["--memory-limit", "4KiB"]]) \
            if commands[0][0] == "weft-compile" else []
    return commands


def make(seed, number, seeds, folder):
    """Command lines that read one module."""
    rng = random.Random(seed)
    path = folder / f"m{number}.mlir"
    if rng.random() < 0.35:
        text, flags = rng.choice(pass_seeds())
        text = mutate(rng, text, rng.choice(pass_seeds())[0])
        commands = [["weft-opt", path, *flags, "-o", "/dev/null"]]
    else:
        phase, text = rng.choice(seeds)
        text = mutate(rng, text, rng.choice(seeds)[1])
        commands = commands_for(rng, phase, path, folder, number)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return commands
