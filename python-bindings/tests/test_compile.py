# SPDX-License-Identifier: Apache-2.0

"""The compiler from Python: text, files, errors with their place, saved modules."""

import collections
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import weft
from conftest import ROOT

Pair = collections.namedtuple("Pair", "weight count")


def step(state, x):
    def loss(weight):
        return jnp.sum((x @ weight) ** 2)
    value, gradient = jax.value_and_grad(loss)(state.weight)
    return Pair(state.weight - 0.1 * gradient, state.count + 1), {"loss": value}


def export(mesh=None, **options):
    state = Pair(jax.ShapeDtypeStruct((8, 4), jnp.float32), jax.ShapeDtypeStruct((), jnp.int32))
    x = jax.ShapeDtypeStruct((2, 8), jnp.float32)
    return weft.jax.export(step, state, x, mesh=mesh, donate_argnums=0, **options)


def module(text):
    return weft.Module(text, {}, [], [], None, None, "bad.mlir")


def test_text_of_a_phase():
    m = export({"tp": 2}, in_shardings=(Pair(jax.P("tp"), None), None))
    assert "weft.mesh" in weft.lower(m, "global") and "weft.matmul" in weft.lower(m, "global")
    local = weft.lower(m, ranks=2)
    assert "weft.all_reduce" in local and "tensor<4x4xf32>" in local


def test_the_mesh_can_be_changed():
    m = export({"tp": 2}, in_shardings=(Pair(jax.P("tp"), None), None))
    assert "tensor<2x4xf32>" in weft.lower(m, mesh={"tp": 4}, ranks=4)


def test_the_schedule_can_be_chosen():
    m = export({"fsdp": 2}, in_shardings=(Pair(jax.P("fsdp"), None), None))
    text = weft.lower(m, "scheduled", schedule="sync", machine="h100x8", memory_limit=1 << 20)
    assert 'policy = "sync"' in text and "weft.wait" in text
    assert 'policy = "best"' in weft.lower(m, "scheduled", memory_limit="1MiB")
    assert "memory_limit = 0 " in weft.lower(m, "scheduled", machine="h100x8", memory_limit="none")
    with pytest.raises(ValueError, match="'hasty' is not a value of --schedule"):
        weft.lower(m, "scheduled", schedule="hasty")


def accumulating():
    f32 = jax.ShapeDtypeStruct((8, 64), jnp.float32)
    weight = jax.ShapeDtypeStruct((64, 4), jnp.float32)
    return weft.jax.export(lambda w, x: jnp.sum((x @ w) ** 2), weight, f32, mesh={"dp": 2, "mb": 2},
                           in_shardings=(None, jax.P(("dp", "mb"))))


def test_an_axis_can_be_gone_through_serially():
    text = weft.lower(accumulating(), accumulate="mb", ranks=2)
    assert text.count("weft.matmul") == 2 and '"mb"' not in text
    with pytest.raises(weft.CompileError, match="has no axis 'ep'"):
        weft.lower(accumulating(), accumulate="ep")


def test_bits_can_be_made_invariant():
    m = accumulating()
    for axes, listed in ((True, ["dp", "mb"]), ("mesh", ["dp", "mb"]), ("dp", ["dp"]),
                         (["mb", "dp"], ["mb", "dp"])):
        text = weft.lower(m, "global", invariant=axes, leaves=4, partials="bf16")
        listed = ", ".join(f'"{axis}"' for axis in listed)
        assert f"weft.invariance = #weft.invariance<axes = [{listed}], leaves = 4>" in text
    assert "weft.order" not in weft.lower(m, "global")
    with pytest.raises(ValueError, match="'f8' is not a value of --partials"):
        weft.lower(m, invariant=True, partials="f8")


def test_a_limit_that_cannot_be_kept_is_an_error():
    m = export({"fsdp": 2}, in_shardings=(Pair(jax.P("fsdp"), None), None))
    with pytest.raises(weft.CompileError, match="more than the 64 bytes") as caught:
        weft.lower(m, "planned", memory_limit=64)
    least = int(re.search(r"needs (\d+) bytes at least", str(caught.value))[1])
    assert "weft_rt.start" in weft.lower(m, "planned", memory_limit=least)
    with pytest.raises(weft.CompileError, match=f"needs {least} bytes"):
        weft.lower(m, "planned", memory_limit=least - 1)


def test_a_phase_is_written_by_suffix(tmp_path):
    assert weft.build(export(), tmp_path / "step.mlir") == []
    assert "linalg.generic" in (tmp_path / "step.mlir").read_text()


def test_an_error_has_its_place_and_text():
    text = "func.func @f(%x: tensor<?xf32>) {\n  return\n}\n"
    with pytest.raises(weft.CompileError, match="bad.mlir:1:1: error: .*'tensor<.xf32>'") as caught:
        weft.lower(module(text))
    first = caught.value.diagnostics[0]
    assert (first.severity, first.file, first.line, first.column) == ("error", "bad.mlir", 1, 1)


def test_an_error_is_at_the_line_of_the_users_program():
    text = """
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "weft.shard"(%x) {sharding = #weft.sharding<@mesh, [{"ep"}]>}
    : (tensor<8xf32>) -> tensor<8xf32> loc("train.py":12:3)
  return %0 : tensor<8xf32>
}
weft.mesh @mesh = <["dp"=2]>
"""
    with pytest.raises(weft.CompileError, match="^train.py:12:3: error: .*ep"):
        weft.lower(module(text))


def test_a_syntax_error():
    with pytest.raises(weft.CompileError, match="bad.mlir:1:1: error: "):
        weft.lower(module("not a module"))


def test_a_note_follows_its_error():
    text = ("func.func @f(%x: tensor<8xf32>) -> tensor<8xf16> {\n"
            "  return %x : tensor<8xf16>\n}\n")
    with pytest.raises(weft.CompileError) as caught:
        weft.lower(module(text))
    assert [d.severity for d in caught.value.diagnostics] == ["error", "note"]


def test_the_wrong_number_of_ranks():
    with pytest.raises(weft.CompileError, match="has 2 ranks, expected 8"):
        weft.lower(export({"tp": 2}), ranks=8)


def test_an_unknown_axis():
    with pytest.raises(weft.CompileError, match="ep"):
        weft.lower(export({"tp": 2}), mesh={"ep": 2})


def test_an_unknown_option():
    with pytest.raises(ValueError, match="unknown option '--fast'"):
        weft.lower(export(), arguments=["--fast"])


def test_an_argument_of_another_kind(tmp_path):
    with pytest.raises(TypeError, match="mesh is 'x=2', expected a dict, as in {'dp': 2}"):
        weft.compile(export(), mesh="x=2")
    for value in (None, True, 2.5):
        with pytest.raises(TypeError, match=f"mesh has 'x': {value}, expected texts or numbers"):
            weft.compile(export(), mesh={"x": value})
    for options in ({"cpu": "x86-64-v2,cpu=x86-64-v3"}, {"a=b": "c"}):
        with pytest.raises(ValueError, match="target_options has .*, which no command line can say"):
            weft.compile(export(), target_options=options)
    with pytest.raises(ValueError, match="'8589934592' is not a value of --leaves: expected a number from 1 to"):
        weft.compile(export(), invariant=True, leaves=2**33)
    with pytest.raises(weft.FormatError, match=f"cannot read '{tmp_path}': not a regular file"):
        weft.compile(str(tmp_path))


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(weft.CompileError, match="cannot write '.*none/step.mlir'"):
        weft.build(export(), tmp_path / "none" / "step.mlir")


def test_remarks_are_returned(tmp_path):
    f32 = jax.ShapeDtypeStruct((8, 8), jnp.float32)
    m = weft.jax.export(lambda a, b: a + b, f32, f32, mesh={"tp": 2},
                        in_shardings=(jax.P("tp", None), jax.P(None, "tp")))
    said = weft.build(m, tmp_path / "step.mlir", remarks=True)
    assert said and all(d.severity in ("remark", "note") for d in said)
    assert weft.build(m, tmp_path / "step.mlir") == []


def test_a_saved_module_is_the_same(tmp_path):
    m = export({"tp": 2}, in_shardings=(Pair(jax.P("tp"), None), None))
    m.save(tmp_path / "step.mlir")
    again = weft.Module.load(tmp_path / "step.mlir")
    assert again.text == m.text and again.mesh == m.mesh
    assert again.arguments == m.arguments and again.results == m.results
    state = again.in_tree.unflatten(["w", "c", "x"])
    assert state == (Pair("w", "c"), "x") and type(state[0]) is Pair
    assert again.out_tree.unflatten([1, 2, 3]) == (Pair(1, 2), {"loss": 3})
    assert weft.lower(again) == weft.lower(m)


def test_a_named_tuple_that_is_not_loaded_is_replaced(tmp_path):
    export().save(tmp_path / "step.mlir")
    code = ("import sys, weft\n"
            f"m = weft.Module.load({str(tmp_path / 'step.mlir')!r})\n"
            "(state, x) = m.in_tree.unflatten([1, 2, 3])\n"
            "assert type(state).__name__ == 'Pair' and (state.weight, state.count, x) == (1, 2, 3)\n"
            "weft.lower(m)\n"
            "assert 'jax' not in sys.modules\n")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_module_of_another_frontend_has_no_trees(tmp_path):
    path = tmp_path / "f.mlir"
    path.write_text("func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {\n  return %x : tensor<8xf32>\n}\n")
    m = weft.Module.load(path)
    assert weft.lower(path) == weft.lower(m)
    assert m.arguments is None and "func.func @f" in weft.lower(m)
    with pytest.raises(ValueError, match="f.mlir' does not say how its tensors relate"):
        m.save_inputs(tmp_path / "in.safetensors", np.zeros(8, np.float32))


def test_the_shipped_example_loads():
    m = weft.Module.load(ROOT / "examples/qwen3/step.mlir")
    assert m.mesh == {"dp": 2, "fsdp": 2, "tp": 2} and m.in_tree.count() == len(m.arguments)
    assert "weft.reduce_scatter" in weft.lower(m, ranks=8)
