# SPDX-License-Identifier: Apache-2.0

"""Programs that run: a hand-written one, loaded as a library."""

import os
import threading

import numpy as np
import pytest
import weft
from conftest import ROOT

# runtime/test/programs/accumulate.c: state += sum(x), on the mesh dp=2, tp=2.
ACCUMULATE = ROOT / "build/lib/accumulate.so"
FAIL = 1


@pytest.fixture
def program():
    return weft.load(ACCUMULATE, threads=4, deadline=20)


def arguments(mode=0):
    return np.arange(27, dtype=np.float32).reshape(9, 3), np.arange(8, dtype=np.float32), mode


def test_a_program_describes_itself(program):
    assert (program.name, program.ranks, program.mesh) == ("accumulate", 4, {"dp": 2, "tp": 2})
    assert [(a.name, a.shape, a.dtype) for a in program.arguments] == [
        ("state", (9, 3), np.float32), ("x", (8,), np.float32), ("mode", (), np.int32)]
    assert program.arguments[0].sharding == ('{"dp"}', '{"tp"}')
    assert [r.alias for r in program.results] == [0, None, None]


def test_a_call_returns_results_and_leaves_arguments_alone(program):
    state, x, mode = arguments()
    for _ in range(2):  # the second call begins with what it is given, too
        new, total, gathered = program(state, x, mode)
        np.testing.assert_array_equal(new, np.arange(27).reshape(9, 3) + 28)
        assert total == 28 and gathered.tolist() == list(range(8))
    np.testing.assert_array_equal(state, arguments()[0])


def test_a_donated_argument_goes_from_step_to_step(program):
    program.set_arguments(*arguments())
    program.run(3)
    new, _, _ = program.get_results()
    np.testing.assert_array_equal(new, arguments()[0] + 3 * 28)


def test_one_argument_is_set_and_one_result_taken(program):
    program.set_arguments(*arguments())
    program.run()
    program.set_argument(1, np.ones(8))
    program.run()
    assert program.get_result(1) == 8
    np.testing.assert_array_equal(program.get_result(0), arguments()[0] + 28 + 8)
    with pytest.raises(LookupError, match=r"there is no 3, expected one of \[0, 1, 2\]"):
        program.set_argument(3, 0)


def test_what_is_not_there_yet(program):
    with pytest.raises(ValueError, match="argument 'state' is not set"):
        program.run()
    with pytest.raises(ValueError, match="result 'state' does not exist before the first step"):
        program.get_results()


def test_stats(program):
    program.set_arguments(*arguments())
    program.run(3)
    stats = program.stats
    assert stats.steps == 3 and len(stats.step_seconds) == 3 and min(stats.step_seconds) > 0
    assert stats.received_bytes == {"all_gather": 24, "reduce_scatter": 0, "all_reduce": 6,
                                    "all_to_all": 0, "permute": 0}
    assert stats.threads_per_rank == 1 and stats.arena_bytes_per_rank == 64
    assert stats.memory_bytes >= 4 * (stats.argument_bytes_per_rank + stats.arena_bytes_per_rank)


def test_stats_before_the_first_step(program):
    assert program.stats.steps == 0 and program.stats.received_bytes["all_gather"] == 0


def test_wrong_calls_say_what_is_wrong(program):
    state, x, mode = arguments()
    with pytest.raises(ValueError, match=r"arguments has 2 items, expected 3"):
        program(state, x)
    with pytest.raises(ValueError, match=r"'x' has shape \(7,\), the program's is \(8,\)"):
        program(state, x[1:], mode)
    with pytest.raises(TypeError, match="'mode' is float32, the program's is int32"):
        program(state, x, np.float32(1))


def test_a_failing_rank_is_an_error(program):
    with pytest.raises(weft.RunError, match="told to fail"):
        program(*arguments(FAIL))
    with pytest.raises(weft.RunError):
        program(*arguments())


def test_what_is_not_a_program():
    with pytest.raises(weft.RunError, match="libm.so.6"):
        weft.load("libm.so.6")
    with pytest.raises(weft.RunError, match="none.so"):
        weft.load("none.so")
    with pytest.raises(ValueError, match="4.*8"):
        weft.load(ACCUMULATE, ranks=8)


def test_threads_take_turns(program):
    results = []
    def work(offset):
        x = np.full(8, offset, np.float32)
        for _ in range(20):
            results.append((offset, float(program(arguments()[0], x, 0)[1])))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80 and all(total == 8 * offset for offset, total in results)


def multiplier(factor):
    return f"""
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %c = arith.constant dense<{factor}.0> : tensor<4xf32>
  %y = arith.mulf %x, %c : tensor<4xf32>
  return %y : tensor<4xf32>
}}
"""


def test_a_library_that_is_built_again(tmp_path):
    """The loader knows a file by its name; a program is what is in the file now, and the one before goes on."""
    step, library = tmp_path / "f.mlir", tmp_path / "f.so"
    programs = []
    for factor in (2, 3, 5, 7):
        step.write_text(multiplier(factor))
        weft.build(step, library)
        programs.append(weft.load(library))
        if factor == 3:
            del programs[0]
            programs.append(weft.load(library))
    x = np.ones(4, np.float32)
    assert [float(program(x)[0][0]) for program in programs] == [3, 3, 5, 7]


def test_a_library_that_is_written_over(tmp_path):
    step, library = tmp_path / "f.mlir", tmp_path / "f.so"
    step.write_text(multiplier(2))
    weft.build(step, library)
    program = weft.load(library)
    # In place, and without making it shorter, which would take the code from under the program.
    with open(library, "r+b") as file:
        file.write(library.read_bytes())
    os.utime(library, (1, 1))
    with pytest.raises(weft.RunError, match="f.so'.*written over"):
        weft.load(library)
    del program
    assert float(weft.load(library)(np.ones(4, np.float32))[0][0]) == 2
