# SPDX-License-Identifier: Apache-2.0

"""JAX functions, compiled and run, beside what JAX makes of them."""

import collections
import functools
import re
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import weft
from conftest import ROOT, assert_close, load
from jax.sharding import PartitionSpec as P
from weft import safetensors

Point = collections.namedtuple("Point", "x y")


def run(fn, *args, tolerance=2e-5, **options):
    """Exports, compiles, runs and compares with JAX; returns the program."""
    program = weft.compile(weft.jax.export(fn, *args, **options))
    got, expected = program(*args), jax.jit(fn)(*args)
    assert jax.tree.structure(got) == jax.tree.structure(expected)
    jax.tree.map(lambda g, e: assert_close(g, e, tolerance), got, expected)
    return program


def test_pytrees_go_in_and_out():
    def fn(tree, unused, scale):
        return [tree["b"][0] * scale, (Point(tree["a"].y, None), {"sum": tree["a"].x.sum()})], tree["b"]
    tree = {"b": [jnp.arange(6.0).reshape(2, 3)], "a": Point(jnp.ones(4), jnp.arange(3))}
    program = run(fn, tree, None, 2.5)
    assert [a.name for a in program.arguments] == ["tree.a.x", "tree.a.y", "tree.b.0", "scale"]
    with pytest.raises(ValueError, match=r"arguments\[0\] has \['a'\], expected the keys \['a', 'b'\]"):
        program({"a": tree["a"]}, None, 2.5)


def test_one_array_is_no_tuple():
    assert isinstance(weft.compile(weft.jax.export(jnp.tanh, np.ones(3, "f4")))(np.ones(3)), np.ndarray)


def test_registered_classes_are_taken_apart_by_jax(tmp_path):
    @functools.partial(jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["name"])
    class Layer:
        def __init__(self, w, name):
            self.w, self.name = w, name
    def fn(x, layer):
        return x, Layer(layer.w * x, "out")
    module = weft.jax.export(fn, 2.0, Layer(jnp.ones(3), "in"))
    program = weft.compile(module)
    _, result = program(2, Layer(np.full(3, 4, np.float32), "in"))
    assert type(result) is Layer and result.name == "out" and result.w.tolist() == [8, 8, 8]
    program.set_argument(1, Layer(np.ones(3), "in"))
    program.run()
    assert program.get_result(1).w.tolist() == [2, 2, 2]
    # A file keeps the tensors' names and types, not the classes.
    module.save(tmp_path / "step.mlir")
    flat = weft.compile(weft.Module.load(tmp_path / "step.mlir"))(2, np.ones(3))
    assert [leaf.tolist() for leaf in flat] == [2, [2, 2, 2]]


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32",
                                   "float16", "bfloat16", "float32"])
def test_types_go_in_and_out(dtype):
    x = jnp.array([[0, 1, 1], [1, 0, 1]], dtype)
    def fn(x):
        return jnp.concatenate([x, x[:, ::-1]], 1), jnp.where(x > 0, x, x).T
    run(fn, x)
    run(fn, x, mesh={"dp": 2}, in_shardings=(P("dp"),))


def test_bfloat16_leaves_as_dlpack():
    program = run(lambda x: x @ x.T, jnp.ones((4, 4), jnp.bfloat16), tolerance=1e-2)
    result = jax.dlpack.from_dlpack(program(jnp.ones((4, 4), jnp.bfloat16)))
    assert result.dtype == jnp.bfloat16 and (result == 4).all()


def sgd(params, batch):
    def loss(params):
        hidden = jnp.tanh(batch["x"] @ params["w1"] + params["b"])
        return jnp.mean((hidden @ params["w2"] - batch["y"]) ** 2)
    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def sgd_arguments():
    random = np.random.default_rng(0)
    normal = lambda *shape: random.standard_normal(shape, np.float32)
    return ({"w1": normal(8, 16), "b": normal(16), "w2": normal(16, 4)},
            {"x": normal(12, 8), "y": normal(12, 4)})


MESHES = {
    "one rank": (None, None),
    "data": ({"dp": 4}, ({"w1": P(), "b": P(), "w2": P()}, P("dp"))),
    "storage and tensor": ({"fsdp": 2, "tp": 2},
                           ({"w1": P("fsdp", "tp"), "b": P("tp"), "w2": P("tp", "fsdp")}, P("fsdp"))),
    "to become uneven": ({"dp": 2}, ({"w1": P(), "b": P("dp"), "w2": P("dp")}, P("dp"))),
}


@pytest.mark.parametrize("name", MESHES)
def test_training_goes_on_from_what_was_returned(name):
    mesh, shardings = MESHES[name]
    params, batch = sgd_arguments()
    module = weft.jax.export(sgd, params, batch, mesh=mesh, in_shardings=shardings, donate_argnums=0)
    if name == "to become uneven":  # JAX refuses sizes that do not divide
        mesh = {"dp": 5}
    program = weft.compile(module, mesh=mesh, ranks=program_ranks(mesh))
    assert program.ranks == program_ranks(mesh) and program.mesh == (mesh or {})
    before = {key: value.copy() for key, value in params.items()}
    ours = theirs = params
    for _ in range(3):
        ours, loss = program(ours, batch)
        theirs, expected = jax.jit(sgd)(theirs, batch)
        assert_close(loss, expected)
    jax.tree.map(assert_close, ours, theirs)
    jax.tree.map(np.testing.assert_array_equal, params, before)
    program.set_arguments(params, batch)
    program.run(3)
    jax.tree.map(np.testing.assert_array_equal, program.get_results()[0], ours)


def program_ranks(mesh):
    return int(np.prod(list(mesh.values()))) if mesh else 1


def test_what_a_program_receives_is_counted():
    params, batch = sgd_arguments()
    mesh, shardings = MESHES["data"]
    program = weft.compile(weft.jax.export(sgd, params, batch, mesh=mesh, in_shardings=shardings))
    program(params, batch)
    # Gradients and the loss: twice three quarters of all.
    elements = sum(leaf.size for leaf in params.values()) + 1
    received = program.stats.received_bytes
    assert received["all_reduce"] == elements * 4 * 2 * 3 // 4
    assert sum(received.values()) == received["all_reduce"]


def test_nan_is_legal():
    program = weft.compile(weft.jax.export(lambda x: (x.sum(), x.max(), x * 2), np.ones(4, "f4")))
    total, most, double = program(np.array([1, np.nan, 2, 3], np.float32))
    assert np.isnan(total) and np.isnan(most) and np.isnan(double).tolist() == [0, 1, 0, 0]


def test_an_executable_runs_by_itself(tmp_path):
    params, batch = sgd_arguments()
    module = weft.jax.export(sgd, params, batch, donate_argnums=0)
    weft.build(module, tmp_path / "step", header=tmp_path / "step.h")
    module.save_inputs(tmp_path / "in.safetensors", params, batch)
    subprocess.run([tmp_path / "step", "--inputs", tmp_path / "in.safetensors", "--outputs",
                    tmp_path / "out.safetensors", "--steps", "2"], check=True, capture_output=True)
    expected = jax.jit(sgd)(jax.jit(sgd)(params, batch)[0], batch)
    outputs = safetensors.load(tmp_path / "out.safetensors")
    for spec, leaf in zip(module.results, module.out_tree.flatten(expected)):
        assert_close(outputs[spec.name], leaf)
    assert re.search(r"WEFT_ARG_\w+ ", (tmp_path / "step.h").read_text())


def test_the_shipped_example_on_eight_ranks():
    model = load("examples/qwen3/model.py")
    c = model.config("XS")
    params, tokens, targets = model.init(c)
    call = (params, model.init_optimizer(params), tokens, targets)
    with jax.set_mesh(jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1, 1), ("dp", "fsdp", "tp"))):
        expected = jax.jit(model.make_step(c))(*call)
    program = weft.compile(weft.Module.load(ROOT / "examples/qwen3/step.mlir"), ranks=8)
    got = program(*call)
    assert jax.tree.structure(got) == jax.tree.structure(expected)
    assert_close(got[2], expected[2], 1e-6)
    # A first step of AdamW moves weights by the gradients' signs: compare its moments.
    jax.tree.map(lambda g, e: assert_close(g, e, 1e-5), got[1]["m"], expected[1]["m"])
