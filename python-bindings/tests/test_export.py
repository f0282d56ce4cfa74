# SPDX-License-Identifier: Apache-2.0

"""Names, donation, shardings, loops, files: what surrounds the operations."""

import collections
import json

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import weft
from conftest import check, parses
from jax import lax
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P
from test_ops import normal
from weft import safetensors

MESH = {"fsdp": 4, "tp": 2}


def spec(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def names(specs):
    return [s.name for s in specs]


def train(params, opt, x):
    grads = jax.grad(lambda p: jnp.sum(jnp.tanh(x @ p["layers"][0]["w"]) + p["b"]))(params)
    opt = jax.tree.map(lambda m, g: 0.9 * m + g, opt, grads)
    loss = jnp.sum(x)
    return jax.tree.map(lambda p, m: p - 0.1 * m, params, opt), opt, loss


PARAMS = {"layers": [{"w": spec(8, 4)}], "b": spec(4)}


def test_names_follow_the_trees():
    m = weft.jax.export(train, PARAMS, PARAMS, spec(2, 8), donate_argnums=(0, 1))
    assert names(m.arguments) == ["params.b", "params.layers.0.w", "opt.b", "opt.layers.0.w", "x"]
    assert names(m.results) == ["params.b", "params.layers.0.w", "opt.b", "opt.layers.0.w", "loss"]
    assert [r.alias for r in m.results] == [0, 1, 2, 3, None]
    assert 'weft.alias = 3 : index' in m.text and 'weft.name = "opt.layers.0.w"' in m.text


def test_donation_goes_by_name_before_order():
    def step(params, momentum, x):
        loss = x.sum()
        new_params = jax.tree.map(lambda p, m: p - m, params, momentum)
        momentum = jax.tree.map(lambda m: m * x.sum(), momentum)
        return loss, momentum, new_params
    w = {"w": spec(4)}
    m = weft.jax.export(step, w, w, spec(3), donate_argnums=(0, 1))
    assert [(r.name, r.alias) for r in m.results] == [("loss", None), ("momentum.w", 1), ("params.w", 0)]


def test_donation_of_one_state():
    State = collections.namedtuple("State", "params momentum")
    def step(state, x):
        return {"metrics": {"loss": x.sum()}, "state": State(state.params - state.momentum, state.momentum * 2)}
    m = weft.jax.export(step, State(spec(4), spec(4)), spec(3), donate_argnums=0)
    assert [(r.name, r.alias) for r in m.results] == [
        ("metrics.loss", None), ("state.params", 0), ("state.momentum", 1)]


def test_donation_without_a_result_warns():
    with pytest.warns(UserWarning, match="donated arguments: x"):
        weft.jax.export(lambda x: x.sum(), spec(4), donate_argnums=0)


def test_names_are_unique():
    m = weft.jax.export(lambda a, b: (a + b, a - b, {"a": a * b}), spec(3), spec(3), donate_argnums=0)
    assert len(set(names(m.results))) == 3


def test_unused_arguments_stay():
    m = check(jax.jit(lambda a, b, c: a + c), normal(3), normal(5), normal(3))
    assert names(m.arguments) == ["a", "b", "c"] and m.arguments[1].shape == (5,)


def test_shardings():
    mesh = AbstractMesh((4, 2), ("fsdp", "tp"))
    def fn(w, x):
        y = lax.with_sharding_constraint(x @ w, P(("fsdp", "tp"), None))
        y = lax.with_sharding_constraint(y, NamedSharding(mesh, P(None, P.UNCONSTRAINED)))
        return y
    m = weft.jax.export(fn, spec(8, 4), spec(16, 8), mesh=MESH, out_shardings=P("fsdp"),
                        in_shardings=(P("fsdp", "tp"), NamedSharding(mesh, P("fsdp"))))
    assert 'mesh = #weft.mesh<["fsdp"=4, "tp"=2]>' in m.text and m.mesh == MESH
    assert m.arguments[0].sharding == ('{"fsdp"}', '{"tp"}') and m.arguments[1].sharding == ('{"fsdp"}', "{}")
    assert m.results[0].sharding == ('{"fsdp"}', "{}")
    assert '{sharding = #weft.sharding<@mesh, [{"fsdp", "tp"}, {}]>}' in m.text
    assert '{sharding = #weft.sharding<@mesh, [{}, {?}]>}' in m.text
    parses(m.text)


def test_sharding_prefixes_and_jitted_functions():
    mesh = AbstractMesh((4, 2), ("fsdp", "tp"))
    shard = NamedSharding(mesh, P("fsdp"))
    jitted = jax.jit(lambda p, x: jax.tree.map(lambda a: a * x.sum(), p), in_shardings=(shard, None),
                     donate_argnums=0)
    m = weft.jax.export(jitted, {"a": spec(8), "b": spec(4, 4)}, spec(3))
    assert m.mesh == MESH and names(m.arguments) == ["p.a", "p.b", "x"]
    assert [a.sharding for a in m.arguments] == [('{"fsdp"}',), ('{"fsdp"}', "{}"), None]
    assert [r.alias for r in m.results] == [0, 1]


def test_sizes_need_not_divide():
    m = weft.jax.export(lambda w, x: (x @ w, x), spec(7, 3), spec(9, 7), mesh=MESH,
                        in_shardings=(P(None, ("fsdp", "tp")), P("fsdp")), out_shardings=(P("fsdp", "tp"), None))
    assert m.arguments[0].sharding == ("{}", '{"fsdp", "tp"}') and m.arguments[1].sharding == ('{"fsdp"}', "{}")
    assert m.results[0].sharding == ('{"fsdp"}', '{"tp"}') and m.results[1].sharding is None
    parses(m.text)


@pytest.mark.parametrize("shardings,words", [
    ((P(), P()), "in_shardings has not the structure"), ((P("fsdp", "tp", None),), "to a value of rank 2"),
])
def test_shardings_that_do_not_fit(shardings, words):
    with pytest.raises(weft.jax.ExportError, match=words):
        weft.jax.export(lambda x: x, spec(8, 4), mesh=MESH, in_shardings=shardings)


def test_another_mesh_is_an_error():
    other = NamedSharding(AbstractMesh((8,), ("dp",)), P("dp"))
    with pytest.raises(weft.jax.ExportError, match="'dp': 8.*'fsdp': 4"):
        weft.jax.export(lambda x: x, spec(8), mesh=MESH, in_shardings=other)


def test_calls_that_grow_exponentially_are_refused():
    fn = jax.jit(jnp.sin)
    for _ in range(8):
        fn = jax.jit(lambda x, inner=fn: inner(inner(inner(inner(inner(inner(x)))))))
    with pytest.raises(weft.jax.ExportError, match="which is more than 262144 operations with all that it calls"):
        weft.jax.export(fn, np.ones(4, np.float32))


def test_scan_is_unrolled_and_sliced():
    """Stacked weights are sliced in place, stacked gradients joined once."""
    def loss(stacked, x):
        y, _ = lax.scan(lambda y, w: (jnp.tanh(y @ w), None), x, stacked)
        return jnp.sum(y ** 2)
    m = check(jax.value_and_grad(loss), normal(3, 4, 4), normal(2, 4))
    assert m.text.count("tensor.concat") == 1 and "tensor.insert_slice" not in m.text
    assert m.text.count('"weft.matmul"') == 3 + 5


@pytest.mark.parametrize("fn", [
    lambda x: lax.fori_loop(0, 4, lambda i, s: s + x[i % 3] * i, jnp.zeros(5)),
    lambda x: lax.scan(lambda c, a: (c + a.sum(), c * a), jnp.float32(0), x, reverse=True),
    lambda x: lax.scan(lambda c, i: (c + lax.dynamic_index_in_dim(x, i, keepdims=False), None), x[0],
                       jnp.arange(3)[::-1])[0],
    lambda x: lax.map(lambda r: lax.scan(lambda c, a: (c * a, c), jnp.float32(1), r)[1], x),
    lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 1.5), (0, x))[1],
    lambda x: lax.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, x),
    lambda x: lax.switch(2, [lambda a: a, lambda a: a + 1, lambda a: a * 3], x),
    lambda x: lax.associative_scan(jnp.add, x, axis=1),
    lambda x: jax.checkpoint(lambda a: jnp.sin(jnp.sin(a)))(x),
    lambda x: jax.vmap(lambda r: jnp.outer(r, r))(x),
])
def test_control_flow(fn):
    check(fn, normal(3, 5))
    gradient = lambda x: jax.grad(lambda x: sum(jnp.sum(a) for a in jax.tree.leaves(fn(x))))(x)
    if "while_loop" not in fn.__code__.co_names:
        check(gradient, normal(3, 5))


def test_locations_are_the_users():
    m = weft.jax.export(lambda x: jnp.sin(x), spec(3))
    assert "test_export.py" in m.text and "site-packages" not in m.text
    assert "test_export.py" not in weft.jax.export(lambda x: jnp.sin(x), spec(3), locations=False).text


def test_same_function_same_text():
    make = lambda: weft.jax.export(train, PARAMS, PARAMS, spec(2, 8), donate_argnums=(0, 1)).text
    assert make() == make()


def test_inputs_file(tmp_path):
    m = weft.jax.export(lambda p, n: (p["w"] * n, p["b"]), {"w": spec(2, 3, dtype=jnp.bfloat16), "b": spec(0)},
                        spec(dtype=jnp.int32))
    path = tmp_path / "inputs.safetensors"
    w = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    m.save_inputs(path, {"w": jnp.asarray(w), "b": np.zeros(0, np.float32)}, 7)
    loaded = safetensors.load(path)
    assert list(loaded) == ["p.b", "p.w", "n"]
    np.testing.assert_array_equal(loaded["p.w"], w)
    assert loaded["n"].dtype == np.int32 and loaded["n"] == 7
    header = path.read_bytes()
    assert json.loads(header[8:8 + int.from_bytes(header[:8], "little")])["p.w"]["dtype"] == "BF16"


def test_inputs_that_do_not_fit(tmp_path):
    m = weft.jax.export(lambda p: p["w"], {"w": spec(2, 3)})
    save = lambda value: m.save_inputs(tmp_path / "x", value)
    with pytest.raises(ValueError, match=r"'p.w' has shape \(3, 2\), the program's is \(2, 3\)"):
        save({"w": np.zeros((3, 2), np.float32)})
    with pytest.raises(ValueError, match=r"expected the keys \['w'\]"):
        save({"v": np.zeros((2, 3), np.float32)})
    with pytest.raises(TypeError, match="'p.w' is complex64, the program's is float32"):
        save({"w": np.zeros((2, 3), np.complex64)})


def test_trees_come_back():
    value = {"b": [np.zeros(2), None], "a": (np.ones(1), {"c": np.ones(3)})}
    m = weft.jax.export(lambda v: v, value)
    leaves = m.in_tree.flatten((value,))
    assert [leaf.shape for leaf in leaves] == [(1,), (3,), (2,)]
    assert m.out_tree.unflatten([1, 2, 3]) == {"a": (1, {"c": 2}), "b": [3, None]}


@pytest.mark.parametrize("shape", [{}, {"x": None}, [None, (), None]])
def test_shardings_beside_none(shape):
    """What has no leaves takes no sharding, wherever it stands."""
    args = {"a": None, "b": shape, "w1": spec(64, 64), "w2": spec(64, 64), "z": None}
    given = {"a": None, "b": None, "w1": P("fsdp"), "w2": P(None, "tp"), "z": P()}
    module = weft.jax.export(lambda p: {"n": None, "w": p["w1"], "v": p["w2"]}, args, mesh=MESH, in_shardings=(given,),
                             out_shardings={"n": None, "v": P("tp"), "w": None})
    assert names(module.arguments) == ["p.w1", "p.w2"]
    assert [s.sharding for s in module.arguments] == [('{"fsdp"}', "{}"), ("{}", '{"tp"}')]
    assert [s.sharding for s in module.results][0] == ('{"tp"}', "{}")


def test_what_is_no_sharding():
    with pytest.raises(weft.jax.ExportError, match="in_shardings has 'tp', expected a PartitionSpec"):
        weft.jax.export(jnp.sum, spec(4), mesh=MESH, in_shardings="tp")
    with pytest.raises(weft.jax.ExportError, match="does not fit the mesh.*'dp'"):
        weft.jax.export(jnp.sum, spec(4), mesh=MESH, in_shardings=P("dp"))


def test_typed_keys():
    def step(keys, x):
        return jax.random.split(keys[0], 3), x * jax.random.bernoulli(keys[1], 0.5, x.shape)
    keys = jax.random.split(jax.random.key(0), 2)
    module = weft.jax.export(step, keys, spec(4), mesh=MESH, in_shardings=(P("tp"), P("fsdp")))
    keys_spec = module.arguments[0]
    assert (keys_spec.shape, keys_spec.dtype, keys_spec.key) == ((2, 2), np.uint32, "threefry2x32")
    assert keys_spec.sharding == ('{"tp"}', "{}")
    assert [(s.shape, s.key) for s in module.results] == [((3, 2), "threefry2x32"), ((4,), None)]


def test_typed_keys_in_a_file(tmp_path):
    module = weft.jax.export(lambda key: jax.random.key_data(key), jax.random.key(3))
    module.save(tmp_path / "step.mlir")
    module = weft.Module.load(tmp_path / "step.mlir")
    module.save_inputs(tmp_path / "in.safetensors", jax.random.key(3))
    saved = safetensors.load(tmp_path / "in.safetensors")["key"]
    assert np.array_equal(saved, jax.random.key_data(jax.random.key(3)))
    with pytest.raises(TypeError, match="'key' is keys of 'rbg', the program's is of 'threefry2x32'"):
        module.save_inputs(tmp_path / "in.safetensors", jax.random.key(3, impl="rbg"))
    module = weft.jax.export(lambda data: data, spec(2, dtype=jnp.uint32))
    with pytest.raises(TypeError, match="'data' is keys of 'threefry2x32', the program's is of uint32: pass"):
        module.save_inputs(tmp_path / "in.safetensors", jax.random.key(3))


@jax.tree_util.register_pytree_node_class
class Layer:
    """As Equinox has it: what is no array is a leaf as well."""

    def __init__(self, w, activation):
        self.w, self.activation = w, activation

    def tree_flatten(self):
        return (self.w, self.activation), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


def test_leaves_that_are_no_arrays():
    run = lambda layer, x: layer.activation(x @ layer.w)
    with pytest.raises(weft.jax.ExportError, match="'layer.*' is of type .*, expected an array.*closes over"):
        weft.jax.export(run, Layer(spec(4, 4), jnp.tanh), spec(2, 4))
    weft.jax.export(lambda w, x: run(Layer(w, jnp.tanh), x), spec(4, 4), spec(2, 4))
    with pytest.raises(weft.jax.ExportError, match="'x' has elements of type <U4, expected numbers"):
        weft.jax.export(lambda x: x, np.array(["text"]))


def test_static_arguments_are_an_error():
    power = jax.jit(lambda x, n: x**n, static_argnums=1)
    with pytest.raises(weft.jax.ExportError, match="the function has static arguments.*closes over"):
        weft.jax.export(power, spec(4), 2)
    named = jax.jit(lambda x, mode: x, static_argnames="mode")
    with pytest.raises(weft.jax.ExportError, match="'mode' is of type str, expected an array.*closes over"):
        weft.jax.export(named, spec(4), "fast")
    assert names(weft.jax.export(lambda x: power(x, 2), spec(4)).arguments) == ["x"]


def test_what_another_library_jitted():
    """As flax.nnx.jit has it: it traces to something of its own."""
    class Jitted:
        __name__ = "step"
        trace = lower = lambda self, *args: self

        def __call__(self, x):
            return jax.jit(lambda x: x + 1)(x)
    assert weft.jax.export(Jitted(), spec(4)).results[0].shape == (4,)
