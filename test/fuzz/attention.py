#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random training steps with attention, as users write it: positions rotated in
several ways, heads that share keys and values, one weight or three, masks; some
with dropout, as weft.jax.dot_product_attention has it.

  attention.py [--seeds A:B] [--seconds N]

Each is lowered with all proofs on several meshes, in fast and in invariant mode.
On one mesh the numbers are compared with JAX's, and the bits of two meshes in
invariant mode with each other. Ends with `N passed, N failed`.
"""
import argparse
import os
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "build/python"))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import jax  # noqa: E402  (it has to be told its platform first)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import weft  # noqa: E402
import weft.jax  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

BATCH, LENGTH, WIDTH = 4, 8, 16
MESHES = [(1, 1), (2, 2), (4, 1), (8, 2), (2, 4), (1, 8)]  # tp, fsdp


def angles(size):
    return (jnp.arange(LENGTH)[:, None] * (0.5 ** jnp.arange(size))[None])[None, :, None, :]


def rotate_halves(x):
    """As most models do, with cosines of both halves."""
    a, b = jnp.split(x, 2, -1)
    angle = jnp.concatenate([angles(x.shape[-1] // 2)] * 2, -1)
    return x * jnp.cos(angle) + jnp.concatenate([-b, a], -1) * jnp.sin(angle)


def rotate_split(x):
    """The two halves apart, then put together."""
    a, b = jnp.split(x, 2, -1)
    angle = angles(a.shape[-1])
    return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)], -1)


def rotate_pairs(x):
    """Interleaved pairs."""
    a, b = x[..., ::2], x[..., 1::2]
    angle = angles(a.shape[-1])
    pairs = [a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)]
    return jnp.stack(pairs, -1).reshape(x.shape)


def rotate_some(x):
    """Only the first part of each head."""
    size = x.shape[-1] // 3 * 2
    return jnp.concatenate([rotate_halves(x[..., :size]), x[..., size:]], -1)


def mix(x):
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a - b, a + b], -1)


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


ROTATIONS = [rotate_halves, rotate_split, rotate_pairs, rotate_some, mix, lambda x: x]
BEFORE = [jnp.tanh, norm, jax.nn.gelu, lambda x: x]
SHARES = [lambda k, count: jnp.repeat(k, count, 2), lambda k, count: jnp.tile(k, (1, 1, count, 1)), None]


class Attention:
    """One step, and its weights."""

    def __init__(self, seed):
        rng = random.Random(f"attention {seed}")
        self.heads, self.groups = rng.choice([(8, 4), (8, 2), (4, 4), (6, 3), (8, 1), (12, 4)])
        self.size = rng.choice([6, 12])
        self.rotate, self.before, self.share = rng.choice(ROTATIONS), rng.choice(BEFORE), rng.choice(SHARES)
        self.fused, self.causal, self.normed = rng.random() < 0.4, rng.random() < 0.5, rng.random() < 0.3
        draw = np.random.default_rng(rng.randrange(1 << 30)).standard_normal
        widths = {"q": self.heads, "k": self.groups, "v": self.groups}
        if self.fused:
            widths = {"qkv": self.heads + 2 * self.groups}
        weights = {name: draw((WIDTH, count * self.size)) for name, count in widths.items()}
        self.specs = {name: P("fsdp", "tp") for name in weights} | {"in": P("fsdp", "tp"), "out": P("tp", "fsdp")}
        weights |= {"in": draw((WIDTH, WIDTH)), "out": draw((self.heads * self.size, WIDTH))}
        self.args = jax.tree.map(lambda a: (a * 0.3).astype(np.float32), (weights, draw((BATCH, LENGTH, WIDTH))))
        self.meshes = rng.sample(MESHES, 3)
        self.dropout = rng.choice([0, 0, 0.2, 0.5])
        self.key = np.array([rng.getrandbits(32), rng.getrandbits(32)], np.uint32)

    def project(self, w, h):
        if self.fused:
            ends = [self.heads * self.size, (self.heads + self.groups) * self.size]
            parts = jnp.split(h @ w["qkv"], ends, -1)
        else:
            parts = [h @ w[name] for name in "qkv"]
        q, k, v = (part.reshape(BATCH, LENGTH, -1, self.size) for part in parts)
        return (norm(q), norm(k), v) if self.normed else (q, k, v)

    def attend(self, q, k, v):
        """Queries of several heads with one key: as a product of five loops, or with keys put beside each other."""
        if self.dropout:
            out = weft.jax.dot_product_attention(q, k, v, is_causal=self.causal, dropout_rate=self.dropout,
                                                 dropout_key=self.key)
            return out.reshape(BATCH, LENGTH, -1)
        count = self.heads // self.groups
        if self.share:
            k, v = self.share(k, count), self.share(v, count)
            products = "bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd"
        else:
            q = q.reshape(BATCH, LENGTH, self.groups, count, self.size)
            products = "bqgrd,bkgd->bgrqk", "bgrqk,bkgd->bqgrd"
        scores = jnp.einsum(products[0], q, k) * self.size ** -0.5
        if self.causal:
            scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e30)
        return jnp.einsum(products[1], jax.nn.softmax(scores, -1), v).reshape(BATCH, LENGTH, -1)

    def step(self, weights, x):
        def loss(w, x):
            q, k, v = self.project(w, self.before(x @ w["in"]))
            return jnp.mean((self.attend(self.rotate(q), self.rotate(k), v) @ w["out"]) ** 2)
        value, grads = jax.value_and_grad(loss)(weights, x)
        return value, jax.tree.map(lambda a, g: a - 0.1 * g, weights, grads)

    def export(self):
        return weft.jax.export(self.step, *self.args, mesh={"tp": 2, "fsdp": 2},
                               in_shardings=(self.specs, P("fsdp")))

    def check(self):
        module = self.export()
        made = []
        for tp, fsdp in self.meshes:
            mesh = {"tp": tp, "fsdp": fsdp}
            weft.lower(module, mesh=mesh, to="local")
            weft.lower(module, mesh=mesh, to="local", invariant=True)
            weft.lower(module, mesh=mesh, to="local", invariant="tp")
        expected = jax.tree.leaves(jax.jit(self.step)(*self.args))
        for tp, fsdp in self.meshes[:2]:
            made.append(jax.tree.leaves(weft.compile(
                module, mesh={"tp": tp, "fsdp": fsdp}, invariant=True)(*self.args)))
        for first, second, value in zip(*made, expected, strict=True):
            assert np.array_equal(first, second), f"other bits on {self.meshes[0]} than on {self.meshes[1]}"
            np.testing.assert_allclose(first, value, rtol=2e-4, atol=2e-5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:8")
    parser.add_argument("--seconds", type=float, default=1e9)
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    end = time.monotonic() + options.seconds
    passed = failed = 0
    for seed in range(first, last):
        if time.monotonic() > end:
            break
        try:
            Attention(seed).check()
            passed += 1
        except (AssertionError, weft.CompileError) as error:
            failed += 1
            print(f"FAILED seed {seed}: {str(error)[:600]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
