# SPDX-License-Identifier: Apache-2.0

"""Training steps of the dense example and of its relative with experts, in sizes
whose sums can be cut over eight ranks, with their first arguments; and the same
in f64."""

import importlib.util
import sys
from pathlib import Path

import jax
import jax.numpy as jnp  # noqa: F401  (the models' functions need it)
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ROOT = Path(__file__).resolve().parent.parent
FILES = {"model": ROOT / "examples/qwen3/model.py", "moe": ROOT / "bench/moe.py"}
AXES = {"dense": ("dp", "fsdp", "tp"), "moe": ("dp", "fsdp", "ep", "tp")}
# name -> kind, sizes
CONFIGS = {
    "small": ("dense", dict(layers=1, d_model=64, heads=8, kv_heads=4, head_dim=64, ffn=512, vocab=512,
                            seq=32, batch=16)),
    "small-moe": ("moe", dict(layers=1, d_model=64, heads=8, kv_heads=4, head_dim=32, ffn=512, vocab=512,
                              seq=32, batch=32, experts=8, chosen=2, group=128)),
    "medium": ("dense", dict(layers=2, d_model=512, heads=8, kv_heads=8, head_dim=64, ffn=1536, vocab=4096,
                             seq=256, batch=8)),
    "medium-moe": ("moe", dict(layers=2, d_model=256, heads=8, kv_heads=8, head_dim=64, ffn=512, vocab=4096,
                               seq=256, batch=8, experts=8, chosen=2, group=256)),
}  # fmt: skip
WIDE = {"float32": "float64", "bfloat16": "float64"}


def load(name, words=None):
    """A module of the models; other types of numbers stand in for its own."""
    source = FILES[name].read_text()
    for old, new in (words or {}).items():
        source = source.replace(old, new)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader=None))
    sys.modules[name] = module  # `moe` imports `model`
    exec(compile(source, str(FILES[name]), "exec"), module.__dict__)
    return module


def draw(random, shape):
    if len(shape) == 1:
        return np.ones(shape, np.float32)
    return random.standard_normal(shape, np.float32) * np.float32(shape[-2] ** -0.5)


class Step:
    """A step with its first arguments."""

    def __init__(self, name, dtype, words=None):
        self.kind, sizes = CONFIGS[name]
        self.axes, self.model = AXES[self.kind], load("model", words)
        own = self.model if self.kind == "dense" else load("moe", words)
        c = own.Config(**sizes, dtype=dtype)
        tree, is_leaf = own.weights(c), lambda w: isinstance(w, tuple)
        random = np.random.default_rng(0)
        specs = jax.tree.map(lambda w: w[1], tree, is_leaf=is_leaf)
        self.params = jax.tree.map(lambda w: draw(random, w[0]), tree, is_leaf=is_leaf)
        self.data = [random.integers(0, c.vocab, (c.batch, c.seq), dtype=np.int32) for _ in range(2)]
        self.function = own.make_step(c) if self.kind == "dense" else own.make_step(c, specs)
        opt = {"m": specs, "v": specs, "t": P()}
        data = P(own.BATCH, None)
        self.ins, self.outs = (specs, opt, data, data), (specs, opt, P())

    @property
    def arguments(self):
        return (self.params, self.model.init_optimizer(self.params), *self.data)

    def export(self):
        import weft
        sizes = {axis: 2 if axis == "fsdp" else 1 for axis in self.axes}
        return weft.jax.export(self.function, *self.arguments, mesh=sizes, donate_argnums=(0, 1),
                               in_shardings=self.ins, out_shardings=self.outs)  # fmt: skip

    def run_jax(self, steps=1, **sizes):
        """Weights, optimizer's state and loss after some steps under JAX."""
        shape = [sizes.get(axis, 1) for axis in self.axes]
        mesh = Mesh(np.array(jax.devices()[: np.prod(shape)]).reshape(shape), self.axes)
        named = lambda tree: jax.tree.map(lambda spec: NamedSharding(mesh, spec), tree,
                                          is_leaf=lambda x: isinstance(x, P))  # fmt: skip
        with jax.set_mesh(mesh):
            step = jax.jit(self.function, in_shardings=named(self.ins), out_shardings=named(self.outs))
            call = jax.device_put(self.arguments, named(self.ins))
            for _ in range(steps):
                params, opt, loss = step(*call)
                call = (params, opt, *call[2:])
        return jax.tree.map(np.asarray, (params, opt, loss))


def exact(name):
    """What the step returns in f64, from the same f32 weights."""
    with jax.enable_x64(True):
        step = Step(name, "f32", WIDE)
        step.params = jax.tree.map(lambda w: w.astype(np.float64), step.params)
        return step.run_jax()


def named(tree, prefix=""):
    """name -> array, with the names of an exported step's results."""
    key = lambda part: str(getattr(part, "key", getattr(part, "idx", "")))
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {prefix + ".".join(map(key, path)): leaf for path, leaf in leaves}
