# SPDX-License-Identifier: Apache-2.0

"""Each option of the compiler's table means the same from each way in: as a flag of
weft-compile, as words for the C API, as a keyword. Values are odd on purpose."""

import pathlib
import subprocess
import sys

import pytest
import weft
from conftest import ROOT
from weft import _native, options

TABLE = options.table()
COMPILER = ROOT / "build/bin/weft-compile"
OUTPUTS = ("output", "to", "header", "report")
STEP = (ROOT / "test/Tools/weft-compile/Inputs/step.mlir").read_text()


@pytest.fixture(scope="module")
def step(tmp_path_factory):
    path = tmp_path_factory.mktemp("options") / "step.mlir"
    path.write_text(STEP)
    return path


def by_command_line(step, words, to="planned"):
    """The text, or the sentence that says what is wrong with the options."""
    run = subprocess.run([COMPILER, step, "-o", "-", "--to", to, *words], capture_output=True, text=True)
    if run.returncode == 2:
        return run.stderr.removeprefix("weft-compile: ").removesuffix("\nsee weft-compile --help\n")
    assert run.returncode == 0, run.stderr
    return run.stdout


def by_c(step, words, to="planned"):
    status, said, text = _native.compile_to_text(STEP.encode(), str(step).encode(),
                                                 [word.encode() for word in ["--to", to, *words]])
    assert status in (0, 2), said
    return said[0][4] if status == 2 else text


def by_keyword(step, name, value, to="planned", **more):
    try:
        return weft.lower(step, to, **{name: value}, **more)
    except ValueError as error:
        return str(error)


ODD = {"number": ("0", "-1", "1.5", "99999999999999999999", "x", ""),
       "bytes": ("0B", "-1B", "8", "8GB", "99999999999TiB", ""),
       "choice": ("none-such", "F32", " best", "")}


@pytest.mark.parametrize("name", [o.name for o in TABLE.values() if o.kind in ODD and o.name not in OUTPUTS])
def test_a_value_that_is_none_gets_one_sentence(step, name):
    option = TABLE[name]
    for value in ODD[option.kind]:
        sentence = by_command_line(step, [option.flag, value])
        expected = f"'{value}' is not a value of {option.flag}: expected " if value else f"{option.flag} needs a value"
        assert sentence.startswith(expected)
        assert by_c(step, [option.flag, value]) == sentence
        assert by_keyword(step, name, value) == sentence


GOOD = {"target": "host", "target_options": {"cpu": "x86-64-v2"}, "cpu": "x86-64-v3", "tf32": True,
        "mesh": {"dp": 4, "tp": 1}, "ranks": 4,
        "infer_storage": False, "invariant": ["dp", "tp"], "attention": "keep", "ring_attention": "never", "quantize": ["fp8=w", "mxfp8"],
        "schedule": "sync", "effort": "quick", "machine": "h100x8",
        "memory_limit": 1 << 20, "recompute": "auto", "merge_channels": True,
        "offload": ["none"], "proofs": False, "stats": True, "timing": True,
        "linker": "none-such"}
WITH = {"leaves": (4, ["--invariant"], {"invariant": True}), "partials": ("bf16", ["--invariant"], {"invariant": True})}


@pytest.mark.parametrize("name", [*GOOD, *WITH])
def test_a_value_gives_one_program(step, name):
    value, flags, keywords = WITH.get(name, (GOOD.get(name), [], {}))
    words = [*flags, *map(str, TABLE[name].words(value))]
    text = by_command_line(step, words)
    assert "weft_rt" in text
    assert by_c(step, words) == text
    assert by_keyword(step, name, value, **keywords) == text
    # Twice is once, but that sizes add up: an axis has one.
    if TABLE[name].kind != "pairs":
        assert by_c(step, words + words) == text


def test_each_option_is_tried():
    """What is not in the lists above is a file, or has a test of its own."""
    tried = {*GOOD, *WITH, *OUTPUTS, "accumulate", "remarks", "compare"}
    assert tried == set(TABLE)


def test_the_default_is_what_is_not_given(step):
    plain = by_command_line(step, [])
    for option in TABLE.values():
        # A CPU that was asked for is noted in the text, and lower has no remarks.
        if option.name in (*OUTPUTS, "cpu", "remarks"):
            continue
        assert by_keyword(step, option.name, None) == plain
        if option.kind == "flag":
            assert by_keyword(step, option.name, option.default == "on") == plain
        elif option.default:
            assert by_command_line(step, [option.flag, option.default]) == plain
            assert by_keyword(step, option.name, option.default) == plain
    assert by_command_line(step, [], TABLE["to"].default) == weft.lower(step)


def test_an_axis_by_itself(step):
    words = ["--accumulate", "dp"]
    text = by_command_line(step, words)
    assert by_c(step, words) == by_keyword(step, "accumulate", "dp") == text
    assert text != by_command_line(step, [])


def test_files_are_written_from_each_way_in(step, tmp_path):
    for name, suffix in (("header", ".so"), ("report", ".mlir")):
        path = tmp_path / name
        weft.build(step, tmp_path / f"a{suffix}", **{name: path})
        flag = TABLE[name].flag
        subprocess.run([COMPILER, step, "-o", tmp_path / f"b{suffix}", flag, tmp_path / "other"], check=True)
        assert path.read_bytes() == (tmp_path / "other").read_bytes() != b""
    with pytest.raises(ValueError, match="--compare is for a report: --report is missing"):
        weft.build(step, tmp_path / "a.mlir", compare="sync")


def test_a_flag_takes_no_value(step):
    for option in TABLE.values():
        if option.kind == "flag":
            sentence = f"{option.flag} takes no value"
            words = [option.flag + "=yes"]
            assert by_command_line(step, words) == by_c(step, words) == sentence
            with pytest.raises(TypeError, match=f"{option.name} is 'yes', expected True or False"):
                weft.build(step, "none.mlir", **{option.name: "yes"})


def test_an_unknown_keyword_names_what_is_meant(step):
    for function, call in (("lower", weft.lower), ("compile", weft.compile),
                           ("build", lambda module, **o: weft.build(module, "none.mlir", **o))):
        with pytest.raises(TypeError, match=rf"{function}\(\) has no option 'leafs'; is 'leaves' meant\?"):
            call(step, leafs=4)
        with pytest.raises(TypeError, match=rf"{function}\(\) has no option 'output'"):
            call(step, output="x.mlir")
    with pytest.raises(TypeError, match=r"lower\(\) has no option 'remarks'"):
        weft.lower(step, remarks=True)
    assert by_command_line(step, ["--leafs", "4"]) == "unknown option '--leafs'; is '--leaves' meant?"
    assert by_c(step, ["--frobnicate"]) == "unknown option '--frobnicate'"


def test_a_value_of_another_type(step):
    for name, value in (("mesh", "dp=2"), ("mesh", 3), ("invariant", 3), ("invariant", [3]), ("proofs", "no")):
        with pytest.raises(TypeError, match=f"{name} is .*, expected "):
            weft.lower(step, **{name: value})
    assert by_keyword(step, "invariant", "") == "--invariant needs a value"
    for name, nothing in (("mesh", {}), ("invariant", []), ("invariant", False)):
        assert by_keyword(step, name, nothing) == by_command_line(step, [])


def test_what_is_made_of_the_table_is_not_stale():
    run = subprocess.run([sys.executable, ROOT / "scripts/make-options.py", "--check"], text=True, capture_output=True,
                         env={"PYTHONPATH": str(pathlib.Path(weft.__file__).parents[1])})
    assert run.returncode == 0, run.stdout + run.stderr
