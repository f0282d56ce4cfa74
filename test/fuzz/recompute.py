#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random training steps within random limits of memory: what is computed again must
not change a bit.

  recompute.py [--seeds A:B] [--seconds N]

A seed is a model (products, activation functions, norms, attention, dropout, residual
connections, with or without jax.checkpoint), a mesh, and a mode, fast or invariant. Its
step is compiled with all proofs with what `jax.checkpoint` marks alone, with `auto` without a
limit, at the least limit that the error of too little memory names, and at limits
between; the results of all are compared bit for bit, and no plan may be above its limit.
One byte less than the least must be refused. Ends with `N passed, N failed`.
"""
import argparse
import os
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "build/python"))
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402  (it has to be told its platform first)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import seeds  # noqa: E402
import weft  # noqa: E402
import weft.jax  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

ACTIVATIONS = {"silu": jax.nn.silu, "gelu": jax.nn.gelu, "tanh": jnp.tanh, "relu": jax.nn.relu,
               "square": lambda x: x * x * 0.1, "softplus": jax.nn.softplus, "exp": lambda x: jnp.exp(-x * x)}
POLICIES = [None, None, {}, {"policy": jax.checkpoint_policies.dots_saveable},
            {"policy": jax.checkpoint_policies.everything_saveable}, {"prevent_cse": False}]
BATCH = 8


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def attend(x):
    scores = jnp.einsum("bsd,btd->bst", x, x) * x.shape[-1] ** -0.5
    keep = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    return jnp.einsum("bst,btd->bsd", jax.nn.softmax(jnp.where(keep, scores, -1e30), -1), x)


class Model:
    """A step and its arguments."""

    def __init__(self, seed):
        rng = random.Random(f"recompute {seed}")
        self.width, self.hidden, self.length = rng.choice([8, 16]), rng.choice([32, 96]), rng.choice([4, 16])
        self.layers = [[rng.choice(["mlp", "gated", "attend", "norm", "dropout", "elements"])
                        for _ in range(rng.randint(1, 3))] for _ in range(rng.randint(2, 5))]
        self.activations = [rng.choice(sorted(ACTIVATIONS)) for _ in self.layers]
        self.policy = rng.choice(POLICIES)
        self.narrow, self.invariant = rng.random() < 0.3, rng.random() < 0.5
        self.mesh = rng.choice([{"d": 1}, {"d": 2}, {"d": 4}])
        self.limits = [rng.random() for _ in range(3)]
        draw = np.random.default_rng(seed).standard_normal
        self.weights = [{"up": draw((self.width, self.hidden), np.float32) * 0.3,
                         "gate": draw((self.width, self.hidden), np.float32) * 0.3,
                         "down": draw((self.hidden, self.width), np.float32) * 0.2} for _ in self.layers]
        self.x = draw((BATCH, self.length, self.width), np.float32)
        cut = rng.random() < 0.7
        self.specs = [{"up": P(None, "d"), "gate": P(None, "d"), "down": P("d")} if cut
                      else {"up": P("d"), "gate": P("d"), "down": P(None, "d")} for _ in self.layers]

    def part(self, kind, activation, x, w, key):
        f = ACTIVATIONS[activation]
        if kind == "mlp":
            return x + f(x @ w["up"]) @ w["down"]
        if kind == "gated":
            return x + (f(x @ w["gate"]) * (x @ w["up"])) @ w["down"]
        if kind == "attend":
            return x + attend(x)
        if kind == "norm":
            return norm(x)
        if kind == "dropout":
            return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x, 0)
        return x + f(jnp.sin(x)) * jnp.cos(x)

    def layer(self, i, x, w, key):
        for kind in self.layers[i]:
            x = self.part(kind, self.activations[i], x, w, key)
        return x

    def loss(self, weights, x, key):
        if self.narrow:
            weights, x = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), (weights, x))
        for i, w in enumerate(weights):
            one = lambda x, w, key, i=i: self.layer(i, x, w, key)
            if self.policy is not None:
                one = jax.checkpoint(one, **self.policy)
            x = one(x, w, jax.random.fold_in(key, i))
        return jnp.mean(x.astype(jnp.float32) ** 2)

    def export(self):
        return weft.jax.export(jax.value_and_grad(self.loss), self.weights, self.x, jax.random.PRNGKey(1),
                               mesh=self.mesh, in_shardings=(self.specs, P("d"), P()))

    def run(self, module, **options):
        """Bits of all results, and the bytes of a rank."""
        program = weft.compile(module, mesh=self.mesh, invariant=self.invariant, **options)
        results = program(self.weights, self.x, jax.random.PRNGKey(1))
        stats = program.stats
        needed = stats.argument_bytes_per_rank + stats.result_bytes_per_rank + stats.arena_bytes_per_rank
        return [np.array(leaf).tobytes() for leaf in jax.tree.leaves(results)], needed


def least_limit(model, module, below):
    """What the error names with one byte less than `below`; None if that is enough."""
    try:
        weft.compile(module, mesh=model.mesh, invariant=model.invariant, memory_limit=below - 1)
    except weft.CompileError as error:
        return int(re.search(r"needs (\d+) bytes at least", str(error))[1])
    return None


def find_problem(seed):
    """What is wrong; None: nothing."""
    model = Model(seed)
    module = model.export()
    # Without the marks attention may be raised that they hide, which has other bits.
    expected, _ = model.run(module, recompute="marked")
    _, most = model.run(module, recompute="none")
    least = least_limit(model, module, 2)
    if least_limit(model, module, least) != least:
        return f"compiles with less than {least} bytes, the least that was named"
    for limit in [None, least, *(int(least + share * max(0, most - least)) for share in model.limits)]:
        got, needed = model.run(module, recompute="auto", memory_limit="none" if limit is None else limit)
        if limit is not None and needed > limit:
            return f"needs {needed} bytes within a limit of {limit}"
        if got != expected:
            return f"other bits within a limit of {limit}, least {least}, most {most}"
    return None


def check(seed):
    try:
        return find_problem(seed)
    except weft.CompileError as error:
        return f"refused: {error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    seeds.add_options(parser, "0:20")
    options = parser.parse_args()
    seeds.run(options, check)


if __name__ == "__main__":
    main()
