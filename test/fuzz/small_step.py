# SPDX-License-Identifier: Apache-2.0
"""Small random training steps of one kind each, or of all kinds together: state-space
scans, attention over a sequence that ranks share, narrow operands, values that are
kept in the host's memory or computed again, microbatches."""
import random

import jax
import jax.numpy as jnp
import numpy as np
import weft
import weft.jax
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import PartitionSpec as P

KINDS = ["state", "ring", "narrow", "memory", "microbatches", "mixed"]
BATCH, HEADS, CHUNK = 4, 2, 4
OFFLOADED = jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=[], names_which_can_be_offloaded=["h"], offload_src="device", offload_dst="pinned_host")
LAYERS = {"state": ["tick", "chunks", "associative", "long"], "ring": ["attend", "written"], "narrow": ["mlp", "gated"],
          "memory": ["mlp", "gated", "written"], "microbatches": ["mlp", "attend", "tick", "gated"],
          "mixed": ["tick", "chunks", "attend", "mlp", "associative"]}  # fmt: skip
MESHES = {"state": ["dp=2,tp=1", "dp=2,tp=2", "dp=1,tp=2"], "ring": ["dp=1,tp=2", "dp=1,tp=4", "dp=2,tp=2"],
          "narrow": ["dp=2,tp=2", "dp=1,tp=2", "dp=4,tp=1"], "memory": ["dp=2,tp=1", "dp=2,tp=2"],
          "microbatches": ["mb=2,dp=2,tp=1", "mb=4,dp=1,tp=1", "mb=2,dp=1,tp=2"],
          "mixed": ["mb=2,dp=1,tp=2", "mb=2,dp=2,tp=1"]}  # fmt: skip


class SmallStep:
    """Its axis tp cuts weights, or the sequence. `options` are those of weft-compile by phase."""

    def __init__(self, seed, kind):
        rng = self.rng = random.Random(f"{kind} {seed}")
        self.kind, self.meshes = kind, MESHES[kind]
        self.width, self.length = (32 if kind == "narrow" else 8), 8
        count = 2 if kind in ("memory", "mixed") else 1
        self.layers = [*rng.sample(LAYERS[kind], count)]
        self.cuts_sequence = kind == "ring" or kind == "mixed" and "attend" in self.layers and rng.random() < 0.5
        self.dtype = rng.choice([jnp.float32, jnp.float32, jnp.bfloat16])
        self.causal, self.ring = rng.random() < 0.7, rng.choice(["always", "always", "balanced"])
        self.formats = rng.choice(["fp8", "mxfp8", "nvfp4", "mxfp8=*.down,fp8"]) if kind == "narrow" else None
        self.policy = rng.choice([OFFLOADED, OFFLOADED, None, "all"]) if kind in ("memory", "mixed") else "all"
        self.momentum = rng.random() < 0.5
        draw = np.random.default_rng(rng.randrange(1 << 30))
        self.weights = [{name: (draw.standard_normal(shape) * 0.3).astype(np.float32)
                         for name, shape in self.shapes(layer).items()} for layer in self.layers]
        shape = (8 if "mb" in self.meshes[0] else BATCH, self.length, self.width)
        self.x = draw.standard_normal(shape).astype(np.float32)
        self.options = self.draw_options()

    def draw_options(self):
        options = {"source": [], "global": [], "local": []}
        if self.formats:
            options["source"] = ["--quantize", self.formats]
        if self.cuts_sequence:
            options["global"] += ["--ring-attention", self.ring]
        if "mb" in self.meshes[0]:
            options["global"] += ["--accumulate", "mb"]
        if self.kind == "memory" and self.momentum:
            options["global"] += ["--offload", "*.moments.*"]
        if self.kind in ("memory", "mixed"):
            options["local"] += ["--recompute", self.rng.choice(["auto", "marked"])]
        options["local"] += ["--schedule", self.rng.choice(["best", "greedy", "sync", "next-layer"])]
        return options

    def shapes(self, layer):
        d, h = self.width, self.width * 2
        if layer in ("mlp", "gated"):
            return {"up": (d, h), "down": (h, d), **({"gate": (d, h)} if layer == "gated" else {})}
        if layer in ("attend", "written"):
            return {"qkv": (d, 3, d), "out": (d, d)}
        if layer == "long":
            return {"a": (d,)}
        return {"in": (d, 3 * d), "a": (d,), "out": (d, d)}

    def specs(self):
        wide = {"up": P("dp", "tp"), "gate": P("dp", "tp"), "down": P("tp", "dp"), "qkv": P("dp", None, "tp"), "in": P("dp"),
                "out": P("tp", "dp"), "a": P()}  # fmt: skip
        rows = P("dp")
        weights = [{name: rows if self.cuts_sequence and name != "a" else wide[name] for name in layer} for layer in self.weights]
        batch = ("dp", "mb") if "mb" in self.meshes[0] else "dp"
        return self.with_moments(weights), P(batch, "tp") if self.cuts_sequence else P(batch)

    def with_moments(self, weights):
        return {"weights": weights, **({"moments": weights} if self.momentum else {})}

    # ---- layers

    def attend(self, x, w):
        q, k, v = (t.reshape(*x.shape[:2], HEADS, -1) for t in jnp.moveaxis(jnp.einsum("bsd,dce->bsce", x, w["qkv"]), 2, 0))
        out = weft.jax.dot_product_attention(q, k, v, is_causal=self.causal)
        return out.reshape(x.shape) @ w["out"]

    def written(self, x, w):
        q, k, v = (t.reshape(*x.shape[:2], HEADS, -1) for t in jnp.moveaxis(jnp.einsum("bsd,dce->bsce", x, w["qkv"]), 2, 0))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * 0.5
        if self.causal:
            scores = jnp.where(jnp.tril(jnp.ones(scores.shape[2:], bool)), scores, -1e30)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v).reshape(x.shape) @ w["out"]

    def mlp(self, x, w):
        return checkpoint_name(jnp.tanh(x @ w["up"]), "h") @ w["down"]

    def gated(self, x, w):
        return (jax.nn.silu(x @ w["gate"]) * checkpoint_name(x @ w["up"], "h")) @ w["down"]

    def pieces(self, x, w):
        """Rates of decay, what comes in, and what it is read by, along the sequence."""
        u, b, c = jnp.split((x @ w["in"]).astype(jnp.float32), 3, -1)
        return jnp.exp(-jax.nn.softplus(u) * jnp.exp(w["a"])), b, c

    def tick(self, x, w):
        def one(h, now):
            decay, b, c = now
            h = decay * h + b * 0.5
            return h, h * c
        over = jax.tree.map(lambda t: t.swapaxes(0, 1), self.pieces(x, w))
        return lax.scan(one, jnp.zeros((x.shape[0], self.width)), over)[1].swapaxes(0, 1) @ w["out"]

    def chunks(self, x, w):
        """A state between chunks, and inside of one a masked product."""
        def one(h, now):
            decay, b, c = now
            log = jnp.cumsum(jnp.log(decay.mean(-1)), 1)
            inner = jnp.where(jnp.tril(jnp.ones((CHUNK, CHUNK), bool)), jnp.exp(log[:, :, None] - log[:, None, :]), 0)
            y = jnp.einsum("bij,bid,bjd,bje->bie", inner, c, b, b) + jnp.einsum("bi,bid,bde->bie", jnp.exp(log), c, h)
            last = jnp.exp(log[:, -1:] - log)
            h = jnp.exp(log[:, -1])[:, None, None] * h + jnp.einsum("bj,bjd,bje->bde", last, b, b)
            return h, y
        cut = lambda t: t.reshape(x.shape[0], -1, CHUNK, self.width).swapaxes(0, 1)
        zero = jnp.zeros((x.shape[0], self.width, self.width))
        out = lax.scan(one, zero, jax.tree.map(cut, self.pieces(x, w)))[1]
        return out.swapaxes(0, 1).reshape(x.shape) @ w["out"]

    def associative(self, x, w):
        decay, b, c = self.pieces(x, w)
        _, h = lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (decay, b), axis=1)
        return (h * c) @ w["out"]

    def long(self, x, w):
        """A loop that is not written out."""
        decay, x = lax.stop_gradient(jax.nn.sigmoid(w["a"])), x.astype(jnp.float32)
        return lax.fori_loop(0, 300, lambda _, h: h * decay + lax.stop_gradient(x) * 0.1, lax.stop_gradient(x)) * w["a"] + x

    # ---- the step

    def loss(self, weights, x):
        h = x.astype(self.dtype)
        for layer, w in zip(self.layers, weights, strict=True):
            one = lambda h, w, layer=layer: h + getattr(self, layer)(h, w).astype(h.dtype)
            if self.policy != "all":
                one = jax.checkpoint(one, policy=self.policy)
            h = one(h, jax.tree.map(lambda t: t.astype(self.dtype) if t.ndim > 1 else t, w))
        return jnp.mean(h.astype(jnp.float32) ** 2)

    def step(self, state, x):
        value, grads = jax.value_and_grad(self.loss)(state["weights"], x)
        if self.momentum:
            grads = state["moments"] = jax.tree.map(lambda m, g: 0.9 * m + g, state["moments"], grads)
        return {**state, "weights": jax.tree.map(lambda a, g: a - 0.1 * g, state["weights"], grads)}, value

    def arguments(self):
        return self.with_moments(self.weights), self.x

    def export(self):
        mesh = {axis: 1 for axis in ("mb", "dp", "tp") if axis in self.meshes[0]}
        return weft.jax.export(self.step, *self.arguments(), mesh=mesh, in_shardings=self.specs(), donate_argnums=0)
