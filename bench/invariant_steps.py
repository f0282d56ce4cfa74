# SPDX-License-Identifier: Apache-2.0

"""Training steps of the dense example and of its relative with experts, in sizes
whose sums can be cut over eight ranks, with their first arguments; and the same
in f64."""

import functools
import importlib.util
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp  # noqa: F401  (the models' functions need it)
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ROOT = Path(__file__).resolve().parent.parent
FILES = {"model": ROOT / "examples/qwen3/model.py", "moe": ROOT / "bench/moe.py"}
AXES = {"dense": ("dp", "fsdp", "tp"), "untied": ("dp", "fsdp", "tp"), "moe": ("dp", "fsdp", "ep", "tp")}
# name -> kind, sizes
CONFIGS = {
    "small": ("dense", dict(layers=1, d_model=64, heads=8, kv_heads=4, head_dim=64, ffn=512, vocab=512,
                            seq=32, batch=16)),
    "small-moe": ("moe", dict(layers=1, d_model=64, heads=8, kv_heads=4, head_dim=32, ffn=512, vocab=512,
                              seq=32, batch=32, experts=8, chosen=2, group=128)),
    "untied": ("untied", dict(layers=1, d_model=64, heads=8, kv_heads=2, head_dim=32, ffn=256, vocab=256,
                              seq=16, batch=16)),
    "odd": ("dense", dict(layers=1, d_model=96, heads=6, kv_heads=3, head_dim=32, ffn=384, vocab=384,
                          seq=32, batch=12)),
    "medium": ("dense", dict(layers=2, d_model=512, heads=8, kv_heads=8, head_dim=64, ffn=1536, vocab=4096,
                             seq=256, batch=8)),
    "narrow": ("dense", dict(layers=2, d_model=256, heads=8, kv_heads=2, head_dim=32, ffn=768, vocab=4096,
                             seq=256, batch=8)),
    "medium-moe": ("moe", dict(layers=2, d_model=256, heads=8, kv_heads=8, head_dim=64, ffn=512, vocab=4096,
                               seq=256, batch=8, experts=8, chosen=2, group=256)),
}  # fmt: skip
# An output head of its own, beside the embeddings. No line is added: names of results are read from the source.
UNTIED = {
    '    return {\n        "embed"': '    return {"head": ((c.vocab, c.d_model), P("tp", "fsdp"), 0.02),\n        "embed"',
    "head_loss(c, params, x, table, targets)\n\n":
        "head_loss(c, params, x, params[\"head\"].astype(c.compute_dtype), targets)\n\n",
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
    """A step with its first arguments, which `draw` draws anew.

    If it is routed, the experts of each token are further arguments, `choices`:
    for each layer those that the step itself would choose.
    """

    def __init__(self, name, dtype, words=None, routed=False):
        self.kind, sizes = CONFIGS[name]
        words = {**(words or {}), **(UNTIED if self.kind == "untied" else {})}
        self.axes, self.model = AXES[self.kind], load("model", words)
        self.own = own = load("moe", words) if self.kind == "moe" else self.model
        self.config = c = own.Config(**sizes, dtype=dtype)
        tree, is_leaf = own.weights(c), lambda w: isinstance(w, tuple)
        specs, self.shapes = (jax.tree.map(lambda w: w[i], tree, is_leaf=is_leaf) for i in (1, 0))
        self.function = own.make_step(c, specs) if self.kind == "moe" else own.make_step(c)
        opt = {"m": specs, "v": specs, "t": P()}
        data = P(own.BATCH, None)
        self.ins, self.outs = (specs, opt, data, data), (specs, opt, P())
        self.choices = ()
        if routed:
            self.function = self.routed(self.function)
            self.ins += (P(own.BATCH, None, None),) * c.layers
        self.draw(0)

    def routed(self, function):
        def step(params, opt, tokens, targets, *choices):
            left = iter(choices)
            self.own.choose = lambda c, gates: next(left)
            params, opt, loss = function(params, opt, tokens, targets)
            return params, opt, loss  # which names the results
        return step

    @functools.cached_property
    def chooser(self):
        def forward(*arguments):
            choose, seen = self.own.choose, []
            self.own.choose = lambda c, gates: seen.append(choose(c, gates)) or seen[-1]
            self.own.loss_fn(self.config, *arguments)
            self.own.choose = choose
            return tuple(seen)
        return jax.jit(forward)

    def choose(self):
        """The experts of each token, for each layer."""
        with jax.set_mesh(self.on_devices((1,) * len(self.axes))[0]):
            return jax.tree.map(np.asarray, self.chooser(self.params, *self.data))

    def draw(self, seed):
        c, random = self.config, np.random.default_rng(seed)
        self.params = jax.tree.map(lambda shape: draw(random, shape), self.shapes,
                                   is_leaf=lambda shape: isinstance(shape, tuple))
        self.data = [random.integers(0, c.vocab, (c.batch, c.seq), dtype=np.int32) for _ in range(2)]

    @property
    def arguments(self):
        return (self.params, self.model.init_optimizer(self.params), *self.data, *self.choices)

    def export(self):
        import weft
        sizes = {axis: 2 if axis == "fsdp" else 1 for axis in self.axes}
        return weft.jax.export(self.function, *self.arguments, mesh=sizes, donate_argnums=(0, 1),
                               in_shardings=self.ins, out_shardings=self.outs)  # fmt: skip

    @functools.cache
    def on_devices(self, shape):
        """The mesh of that shape, shardings of arguments, and the step."""
        mesh = Mesh(np.array(jax.devices()[: np.prod(shape)]).reshape(shape), self.axes)
        ins, outs = (jax.tree.map(lambda spec: NamedSharding(mesh, spec), tree, is_leaf=lambda x: isinstance(x, P))
                     for tree in (self.ins, self.outs))  # fmt: skip
        return mesh, ins, jax.jit(self.function, in_shardings=ins, out_shardings=outs, donate_argnums=(0, 1))

    def run_jax(self, steps=1, **sizes):
        """Weights, optimizer's state and loss after some steps under JAX, and each step's milliseconds."""
        mesh, shardings, step = self.on_devices(tuple(sizes.get(axis, 1) for axis in self.axes))
        times = []
        with jax.set_mesh(mesh):
            params, opt, *data = jax.device_put(self.arguments, shardings)
            state = params, opt
            for _ in range(steps):
                start = time.perf_counter()
                *state, loss = jax.block_until_ready(step(*state, *data))
                times.append((time.perf_counter() - start) * 1e3)
        return jax.tree.map(np.asarray, (*state, loss)), times


class Exact:
    """The step in f64."""

    def __init__(self, name, routed=False):
        with jax.enable_x64(True):
            self.step = Step(name, "f32", WIDE, routed)

    def gradients(self, seed=0, choices=()):
        """Of one step, from the same f32 weights, as the first moments hold them: name -> array."""
        self.draw(seed)
        self.step.choices = choices
        with jax.enable_x64(True):
            return named(self.step.run_jax()[0][1]["m"], "opt.m.")

    def choose(self, seed=0):
        """The experts of each token, for each layer."""
        self.draw(seed)
        with jax.enable_x64(True):
            return self.step.choose()

    def draw(self, seed):
        self.step.draw(seed)
        self.step.params = jax.tree.map(lambda w: w.astype(np.float64), self.step.params)


def named(tree, prefix=""):
    """name -> array, with the names of an exported step's results."""
    key = lambda part: str(getattr(part, "key", getattr(part, "idx", "")))
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {prefix + ".".join(map(key, path)): leaf for path, leaf in leaves}
