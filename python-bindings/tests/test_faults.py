# SPDX-License-Identifier: Apache-2.0

"""What must not take the process along: signals, forks, memory that runs out, and modules
that end the compiler."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import weft
from test_program import ACCUMULATE, arguments

ABSENT = 2  # of ACCUMULATE's modes: one rank does not come
STEP = """
weft.mesh @mesh = <["dp"=2]>
func.func @step(%x: tensor<8xf32> {weft.name = "x"}) -> (tensor<8xf32> {weft.name = "y"}) {
  %0 = math.exp %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


@pytest.fixture(autouse=True)
def interruptible():
    """Ctrl-C as in a terminal: a shell starts what runs in the background with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def module(text=STEP):
    return weft.Module(text, None, None, None, None, None, "step.mlir")


def interrupt_soon(seconds=0.2):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def in_child(body):
    """Runs a function in a forked process; returns its exit code: 0 if it returned true."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if body() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_python(text):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], text=True,
                          capture_output=True, timeout=120)


def test_ctrl_c_between_steps_leaves_a_program_that_goes_on():
    program = weft.load(ACCUMULATE, threads=4, deadline=60)
    program.set_arguments(*arguments())
    timer = interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        program.run(10**12)
    timer.join()
    steps = program.stats.steps
    assert program.is_usable and 0 < steps == len(program.stats.step_seconds)
    program.run()
    expected = arguments()[0].copy()
    for _ in range(steps + 1):  # rounded as often as the program does
        expected += np.float32(28)
    np.testing.assert_array_equal(program.get_result(0), expected)


def test_ctrl_c_within_a_step_ends_the_program():
    program = weft.load(ACCUMULATE, threads=4, deadline=60)
    timer = interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        program(*arguments(ABSENT))
    timer.join()
    assert not program.is_usable
    with pytest.raises(weft.RunError, match="interrupted in the middle of a step"):
        program(*arguments())


def test_ctrl_c_ends_a_load():
    timer = interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        while True:  # however fast it is
            weft.load(ACCUMULATE, threads=4)
    timer.join()
    assert weft.load(ACCUMULATE, threads=4).is_usable


def test_ctrl_c_ends_a_compilation_and_leaves_no_file(tmp_path):
    chain = "\n".join(f"  %{i + 1} = math.exp %{i} : tensor<8xf32>" for i in range(3000))
    text = STEP.replace("%0 = math.exp %x", "%0 = math.sin %x").replace(
        "  return %0", chain + "\n  return %3000")
    timer = interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        while True:  # however fast it is
            weft.build(module(text), tmp_path / "step.so")
            (tmp_path / "step.so").unlink()
    timer.join()
    assert not list(tmp_path.glob("*.tmp"))


def test_a_handler_that_raises_nothing_ends_nothing():
    called = []
    old = signal.signal(signal.SIGINT, lambda *_: called.append(1))
    try:
        program = weft.load(ACCUMULATE, threads=4)
        program.set_arguments(*arguments())
        timer = interrupt_soon(0)
        while not called:
            program.run(100)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, old)
    assert program.is_usable


def test_steps_that_cannot_be():
    program = weft.load(ACCUMULATE, threads=4)
    with pytest.raises(ValueError, match="-1 steps"):
        program.run(-1)


def test_a_forked_process_cannot_use_a_program_and_says_so():
    program = weft.load(ACCUMULATE, threads=4, deadline=20)
    program(*arguments())
    calls = [lambda: program(*arguments()), lambda: program.run(), lambda: program.stats,
             lambda: program.set_arguments(*arguments()), lambda: program.get_results()]

    def is_refused(call):
        with pytest.raises(weft.RunError, match=f"belongs to process {os.getppid()}"):
            call()
        return not program.is_usable

    for call in calls:
        assert in_child(lambda: is_refused(call)) == 0
    assert program(*arguments())[1] == 28


def test_a_forked_process_drops_a_program_that_goes_on_in_the_parent():
    program = weft.load(ACCUMULATE, threads=4, deadline=20)

    def drop():
        nonlocal program
        del program
        return gc.collect() >= 0

    assert in_child(drop) == 0
    assert program(*arguments())[1] == 28


def test_a_process_that_is_forked_during_a_call_does_not_hang():
    program = weft.load(ACCUMULATE, threads=4, deadline=20)
    program.set_arguments(*arguments())
    started = threading.Event()

    def work():
        started.set()
        program.run(2000)

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    codes = [in_child(lambda: not program.is_usable) for _ in range(5)]
    thread.join()
    assert codes == [0] * 5


def test_a_forked_process_has_programs_of_its_own():
    parents = weft.compile(module())
    x = np.arange(8, dtype=np.float32)

    def work():
        return np.array_equal(weft.compile(module())(x), parents_result)

    parents_result = parents(x)
    assert in_child(work) == 0


def test_a_program_is_not_pickled():
    with pytest.raises(TypeError, match="'accumulate' cannot be pickled or copied"):
        pickle.dumps(weft.load(ACCUMULATE))


@pytest.mark.parametrize("ending", ["pass", "import sys; sys.exit(0)", "del program"])
def test_the_interpreter_ends_while_a_thread_runs_steps(ending):
    done = run_python(f"""
        import sys, threading
        sys.path.insert(0, {str(ACCUMULATE.parent)!r})
        import numpy as np, weft
        program = weft.load({str(ACCUMULATE)!r}, threads=4)
        program.set_arguments(np.zeros((9, 3), np.float32), np.ones(8, np.float32), 0)
        threading.Thread(target=lambda: program.run(10**9), daemon=True).start()
        {ending}
    """)
    assert (done.returncode, done.stderr) == (0, "")


def test_memory_that_runs_out_is_an_exception(tmp_path):
    # The C library may reserve 64 MiB of addresses for each thread: 2 GiB leave room for the small program.
    large = tmp_path / "large.so"
    weft.build(module(STEP.replace("8xf32", f"{1 << 30}xf32")), large, arguments=["--memory-limit", "1TiB"])
    done = run_python(f"""
        import resource, weft
        weft.load({str(ACCUMULATE)!r}, threads=4)
        used = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30),) * 2)
        try:
            weft.load({str(large)!r})
        except MemoryError as error:
            print(error)
        print(weft.load({str(ACCUMULATE)!r}, threads=4).ranks)
    """)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert "cannot allocate" in first and "for rank 0" in first and second == "4"


@pytest.mark.parametrize("text", [
    "module attributes {a = " + "[" * 50000 + "]" * 50000 + "} {}",
    "func.func @f() {" + "scf.execute_region {" * 30000 + "scf.yield}" * 30000 + "return }",
    "func.func private @f(" + "tuple<" * 50000 + "f32" + ">" * 50000 + ")",
    "func.func @f() { return } loc(" + "fused[" * 50000 + "\"x\"" + "]" * 50000 + ")"])
def test_nesting_that_ends_the_compiler_is_an_error(text, tmp_path):
    with pytest.raises(weft.CompileError, match="step.mlir"):
        weft.build(module(text), tmp_path / "step.so")
    with pytest.raises(weft.CompileError, match="step.mlir"):
        weft.lower(module(text))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cpu, message", [("cortex-a72", "unknown CPU 'cortex-a72'"),
                                          ("pentium3", "'pentium3' has no 64-bit instructions")])
def test_a_cpu_of_another_kind_is_an_error(cpu, message):
    with pytest.raises(weft.CompileError, match=message):
        weft.compile(module(), cpu=cpu)


def test_a_program_of_another_module_is_refused(tmp_path):
    path = tmp_path / "step.so"
    weft.build(module(), path)
    named = {"arguments": [weft.TensorSpec("x", (8,), np.dtype(np.float32))],
             "results": [weft.TensorSpec("y", (8,), np.dtype(np.float32))]}

    def load(**changed):
        specs = {**named, **changed}
        return weft.load(path, module=weft.Module(STEP, None, specs["arguments"], specs["results"],
                                                  None, None))

    np.testing.assert_array_equal(load()(np.zeros(8, np.float32))[0], np.ones(8, np.float32))
    for kind, name in (("argument", "x"), ("result", "y")):
        for shape, dtype, text in (((4, 2), np.float32, r"float32\[4, 2\]"),
                                   ((8,), np.int32, r"int32\[8\]")):
            spec = weft.TensorSpec(name, shape, np.dtype(dtype))
            with pytest.raises(ValueError, match=rf"{kind} '{name}' of the program is "
                                                 rf"float32\[8\], the module's is {text}"):
                load(**{kind + "s": [spec]})
    with pytest.raises(ValueError, match="arguments are"):
        load(arguments=[weft.TensorSpec("z", (8,), np.dtype(np.float32))])
