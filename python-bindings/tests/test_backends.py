# SPDX-License-Identifier: Apache-2.0

"""Backends of the runtime that Python loads from shared libraries, or names."""

import numpy as np
import pytest
import weft
from conftest import ROOT
from test_program import ACCUMULATE, arguments

RECORDER = ROOT / "build/lib/backend-recorder.so"  # the null backend under another name
ONE_RANK = ROOT / "build/lib/backend-one.so"       # has rank 1 alone


def test_a_program_runs_on_a_loaded_backend():
    with pytest.raises(weft.RunError, match="unknown backend 'recorder': expected cuda, host, null"):
        weft.load(ACCUMULATE, backend="recorder")
    weft.load_backend(RECORDER)
    state, total, gathered = weft.load(ACCUMULATE, backend="recorder")(*arguments())
    for result in (state, total, gathered):
        np.testing.assert_array_equal(result, np.zeros_like(result))
    assert weft.load(ACCUMULATE)(*arguments())[1] == 28  # its own backend is the host
    with pytest.raises(ValueError, match="there is a backend 'recorder' already"):
        weft.load_backend(str(RECORDER))


def test_what_other_processes_have_is_refused():
    weft.load_backend(ONE_RANK)
    program = weft.load(ACCUMULATE, backend="one")
    program.set_arguments(*arguments())
    program.run()
    assert program.get_result(1) == 5
    with pytest.raises(ValueError, match="result 'state' is not whole in this process, which has 1 of 4 ranks"):
        program.get_results()
    assert program.is_usable


@pytest.mark.parametrize("path, message", [("none.so", "no such file"), (ACCUMULATE, "does not define weft_rt_backend"),
                                           (__file__, "cannot load the backend")])
def test_what_is_no_backend_is_refused(path, message):
    with pytest.raises(weft.RunError, match=message):
        weft.load_backend(path)


def test_what_is_no_path_is_refused():
    with pytest.raises(TypeError, match="os.PathLike"):
        weft.load_backend(3)
