# SPDX-License-Identifier: Apache-2.0

"""Files that are not what they should be: an error that names the file and the tensor. Names that
would move a terminal's cursor. Nothing is left behind by what fails."""

import gc
import json
import os
import random
import re
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest
import weft
from test_faults import STEP, module
from weft import files, safetensors

UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
RIGHT = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
         "b": {"dtype": "I8", "shape": [2, 2], "data_offsets": [8, 12]}}


def write(path, header, data=bytes(12), length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def changed(name="a", **fields):
    return {**RIGHT, name: {**RIGHT[name], **fields}}


@pytest.mark.parametrize("header, message", [
    (changed(dtype="F4"), "tensor 'a' has unsupported dtype 'F4'"),
    (changed(dtype=None), "tensor 'a' has unsupported dtype None"),
    (changed(dtype=["F32"]), "tensor 'a' has unsupported dtype"),
    (changed(shape=[3]), r"tensor 'a' has 8 bytes, expected 12 for F32\[3\]"),
    (changed(shape=[-2]), "tensor 'a' has shape .-2., expected a list of numbers"),
    (changed(shape=[True, 2]), "tensor 'a' has shape"),
    (changed(shape=[2**40, 2**40]), "tensor 'a' has 8 bytes, expected"),
    (changed(shape=[2] + [1] * 80), "tensor 'a' has shape"),
    (changed(data_offsets=[0, 2**63]), "tensor 'a' has bytes 0 to 9223372036854775808, outside"),
    (changed(data_offsets=[8, 0]), "tensor 'a' has bytes 8 to 0, outside the data of 12 bytes"),
    (changed(data_offsets=[0]), "tensor 'a' has data_offsets"),
    (changed(data_offsets=[4, 12]), "'(a|b)' begins at byte"),
    (changed(extra=1), "tensor 'a' does not have the fields"),
    ({**RIGHT, "c": []}, "tensor 'c' does not have the fields"),
    ({"a": RIGHT["a"]}, "tensor 'a' ends at byte 8, the last of all, but the data has 12 bytes"),
    ([], "header: expected an object"),
    ({**RIGHT, "__metadata__": {"k": 1}}, "header: '__metadata__' is no object of strings"),
    ({**RIGHT, "__metadata__": []}, "header: '__metadata__' is no object of strings"),
    (b'{"a": 1, "a": 2}', "header: duplicate 'a'"),
    (b'{"a": {"dtype": "F32", "dtype": "F32"}}', "header: duplicate 'dtype'"),
    (json.dumps(RIGHT).replace("[0, 8]", "[-0, 8]").encode(), "header: expected an integer of at least 0, found -0"),
    (json.dumps(RIGHT).replace("[2, 2]", "[-0, 2]").encode(), "header: expected an integer of at least 0, found -0"),
    ({**RIGHT, "\ud800": RIGHT["a"]}, "header: lone surrogate in a string"),
    (changed(dtype="\udfff"), "header: lone surrogate in a string"),
    ({**RIGHT, "__metadata__": {"k": "\udc00"}}, "header: lone surrogate in a string"),
    (b"[" * 100000, "header: "), (b"\xff", "header: "), (b"", "header: "), (b"9" * 5000, "header: "),
    ({"\x1b[2J\u202e": {}}, r"tensor '\\x1b\[2J\\xe2\\x80\\xae' does not")])
def test_a_header_that_lies(header, message, tmp_path):
    path = write(tmp_path / "in.safetensors", header)
    with pytest.raises(weft.FormatError, match=f"{path}: .*{message}") as error:
        safetensors.load(path)
    assert not UNPRINTABLE.search(str(error.value))


def test_what_is_true_or_false_is_1_or_0(tmp_path):
    header = {"a": {"dtype": "BOOL", "shape": [4], "data_offsets": [0, 4]}}
    assert list(safetensors.load(write(tmp_path / "x", header, b"\0\1\1\0"))["a"]) == [False, True, True, False]
    with pytest.raises(weft.FormatError, match="tensor 'a' has a byte 2, expected 0 or 1 in BOOL"):
        safetensors.load(write(tmp_path / "x", header, b"\0\1\2\1"))


@pytest.mark.parametrize("length, message", [
    (2**63, "header length 9223372036854775808 exceeds the limit"), (10**8, "exceeds the .* bytes that follow")])
def test_a_header_that_is_not_there(length, message, tmp_path):
    with pytest.raises(weft.FormatError, match=message):
        safetensors.load(write(tmp_path / "x", RIGHT, length=length))


def test_each_cut_and_many_flips_of_a_file(tmp_path):
    whole = write(tmp_path / "x", RIGHT).read_bytes()
    expected = safetensors.load(tmp_path / "x")
    for size in range(len(whole)):
        (tmp_path / "x").write_bytes(whole[:size])
        with pytest.raises(weft.FormatError, match="x: "):
            safetensors.load(tmp_path / "x")
    rng = random.Random(1)
    for _ in range(400):
        data = bytearray(whole)
        data[rng.randrange(len(data) - 12)] ^= 1 << rng.randrange(8)
        (tmp_path / "x").write_bytes(data)
        try:
            assert len(safetensors.load(tmp_path / "x")) <= len(expected)
        except weft.FormatError as error:
            assert str(error).startswith(str(tmp_path / "x"))


def test_what_no_file_can_hold(tmp_path):
    with pytest.raises(TypeError, match="tensor 'z' is complex64"):
        safetensors.save(tmp_path / "x", {"z": np.zeros(2, np.complex64)})
    for name in ("__metadata__", "\udcff"):
        with pytest.raises(ValueError, match="cannot be a tensor's name"):
            safetensors.save(tmp_path / "x", {name: np.zeros(2)})
    assert not list(tmp_path.iterdir())


def test_files_are_there_whole_or_not_at_all(tmp_path):
    path, link = tmp_path / "x", tmp_path / "link"
    safetensors.save(path, {"a": np.arange(3)})
    link.symlink_to(path)

    def pieces():
        yield b"x"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.write(link, pieces())
    np.testing.assert_array_equal(safetensors.load(link)["a"], np.arange(3))
    safetensors.save(link, {"a": np.arange(4)})
    assert link.is_symlink() and len(safetensors.load(path)["a"]) == 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "x"]
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    os.mkfifo(tmp_path / "pipe")
    for call in (lambda: safetensors.load(tmp_path / "pipe"), lambda: weft.Module.load(tmp_path / "pipe"),
                 lambda: safetensors.save(tmp_path / "pipe", {})):
        with pytest.raises(weft.FormatError, match="not a regular file"):
            call()


@pytest.mark.parametrize("record", ["{", "{}", "[]", "null", '{"mesh": {}, "arguments": 3}', "[" * 100000,
                                    '{"mesh": {}, "arguments": [[1]], "results": [], "in_tree": 1, "out_tree": 2}'])
def test_a_module_with_a_damaged_record(record, tmp_path):
    path = tmp_path / "m.mlir"
    path.write_text(STEP + "// weft.python: " + record + "\n")
    with pytest.raises(weft.FormatError, match="m.mlir: the last line"):
        weft.Module.load(path)


def test_what_is_no_path_and_no_text(tmp_path):
    with pytest.raises(ValueError, match="zero byte"):
        weft.build(module(), str(tmp_path / "x\0.so"))
    with pytest.raises(ValueError, match="zero byte"):
        weft.load(str(tmp_path / "x\0.so"))
    with pytest.raises(TypeError):
        weft.Module.load(3)  # which is no descriptor
    with pytest.raises(ValueError, match="threads"):
        weft.load(tmp_path / "x.so", threads=10**12)
    (tmp_path / "bytes.mlir").write_bytes(STEP.replace("exp", "e\xffxp").encode("latin-1"))
    with pytest.raises(weft.CompileError, match="bytes.mlir:4:"):
        weft.compile(tmp_path / "bytes.mlir")
    weft.build(module(), os.fsencode(tmp_path / "\udcff.so"))
    assert weft.load(tmp_path / "\udcff.so").ranks == 2
    assert not list(tmp_path.glob("*x*so"))


@pytest.mark.parametrize("old, new", [('"x"', r'"\1B[2J\E2\80\AE"'), ('"x"', r'"\FF"'), ('"dp"', r'"\C2\9B\FF"'),
                                      ("@step", r'@"s\1B\FF"'), ("math.exp", "math.e\x1bxp"), ("math.exp", "math.\x9b")])
def test_names_are_printable_in_exceptions(old, new):
    try:
        program = weft.compile(weft.Module(STEP.replace(old, new), None, None, None, None, None, "a\x1b.mlir"))
        with pytest.raises(ValueError, match="has shape") as error:
            program(np.zeros(7, np.float32))
        assert program.mesh and program.name and program.arguments
    except weft.CompileError as refused:
        error = pytest.ExceptionInfo.from_exception(refused)
    assert not UNPRINTABLE.search(str(error.value))


def count_open():
    gc.collect()  # what earlier tests left
    return len(os.listdir("/proc/self/fd"))


def count_children():
    done = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "comm="], text=True, capture_output=True)
    return sum("weft" in line for line in done.stdout.splitlines())


def test_failures_leave_no_descriptors_processes_and_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "bad.so").write_bytes(b"\x7fELF" + bytes(100))
    weft.compile(module())
    before = count_open()
    for _ in range(5):
        for call in (lambda: weft.compile(module(STEP.replace("exp", "none"))),
                     lambda: weft.compile(module("(" * 200000)), lambda: weft.load(tmp_path / "bad.so"),
                     lambda: weft.lower(module(), arguments=["--none"]),
                     lambda: weft.build(module(), tmp_path / "none" / "x.so")):
            with pytest.raises((weft.CompileError, weft.RunError, ValueError)):
                call()
    assert (count_open(), count_children()) == (before, 0)
    assert [p.name for p in tmp_path.iterdir()] == ["bad.so"]


def test_threads_that_compile_and_run_at_the_same_time():
    shared, wrong = weft.compile(module()), []

    def work(number):
        x = np.full(8, number, np.float32)
        own = weft.compile(module())
        for program in (own, shared, own, shared):
            if not np.allclose(program(x)[0], np.exp(x)):
                wrong.append(number)

    before = count_open()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and count_open() == before


@pytest.mark.parametrize("worker, message", [
    (None, "there is no program weft-worker"), ("junk", "Exec format error"),
    ("#!/bin/sh\nexit 3\n", "ended with exit code 3"), ("#!/bin/sh\necho word >&2\n", "exit code 0: word"),
    ("#!/bin/sh\nkill -9 $$\n", "ended by SIGKILL")])
def test_a_worker_that_does_not_work(worker, message, tmp_path):
    package = tmp_path / "weft"
    subprocess.run(["cp", "-r", os.path.dirname(weft.__file__), package], check=True)
    (package / "weft-worker").unlink()
    if worker:
        (package / "weft-worker").write_text(worker)
        (package / "weft-worker").chmod(0o755)
    done = subprocess.run([sys.executable, "-c", f"import weft\ntry: weft.lower(weft.Module({STEP!r}, *[None] * 5))\n"
                           "except weft.CompileError as error: print(error)"], text=True, capture_output=True,
                          env={**os.environ, "PYTHONPATH": str(tmp_path)}, timeout=120)
    assert message in done.stdout, done
