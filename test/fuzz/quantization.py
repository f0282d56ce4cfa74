#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random quantized training steps: the same bits on every mesh, and close to the wide step.

  quantization.py [--seeds A:B] [--seconds N]

A seed is a model (layers of several forms, experts, weights that are used twice, that lie transposed,
stacked or in heads, with or without jax.checkpoint), formats of its weights, and builds: meshes, microbatches,
schedules, limits of memory, instruction sets. All are compiled with all proofs. In invariant mode all
builds have to give the same bits; in fast mode results are near those of one rank. The loss is near that of
the wide step, and where batches and weights alone are cut, a rank receives no more bytes than in that. Ends
with `N passed, N failed`.
"""
import argparse
import os
import random
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

FORMATS = ["fp8", "fp8-block", "mxfp8", "nvfp4"]
BATCH = 8
# How far results may be from those of other orders of sums, which round to other elements; and the loss from
# that of wide operands.
NEAR = {"fp8": 0.2, "fp8-block": 0.15, "mxfp8": 0.15, "nvfp4": 0.5}
WIDE = {"fp8": 0.03, "fp8-block": 0.03, "mxfp8": 0.03, "nvfp4": 0.1}
SCHEDULES = [None, None, "sync", "next-layer", "greedy"]


class Model:
    """A step, its arguments, and the builds of it."""

    def __init__(self, seed):
        rng = self.rng = random.Random(f"quantization {seed}")
        self.width, self.hidden = rng.choice([(128, 256), (64, 128), (128, 128), (96, 160)])
        self.length, self.experts = rng.choice([16, 32, 128]), 4
        self.dtype = rng.choice([jnp.bfloat16, jnp.bfloat16, jnp.bfloat16, jnp.float32])
        self.kinds = [rng.choice(["mlp", "gated", "heads", "experts", "twice", "transposed", "stacked", "bias"])
                      for _ in range(rng.randint(1, 3))]
        self.checkpoint = rng.random() < 0.3
        self.formats = rng.choice([[f] for f in FORMATS] * 2 + [["nvfp4=*.up", "mxfp8"], ["fp8=*.down", "fp8-block"],
                                                              ["mxfp8=*.{up,gate}", "fp8"], ["fp8-block=*.up", "nvfp4"]])
        self.invariant = rng.random() < 0.6
        draw = np.random.default_rng(seed).standard_normal
        scale = lambda *shape: draw(shape, np.float32) / shape[-2] ** 0.5
        d, h, e = self.width, self.hidden, self.experts
        shapes: dict[str, dict[str, tuple]] = {
                  "mlp": {"up": (d, h), "down": (h, d)}, "gated": {"up": (d, h), "gate": (d, h), "down": (h, d)},
                  "heads": {"up": (d, 4, h // 4), "down": (4, h // 4, d)}, "experts": {"up": (e, d, h), "down": (e, h, d)},
                  "twice": {"up": (d, d)}, "transposed": {"up": (h, d), "down": (d, h)},
                  "stacked": {"up": (2, d, h), "down": (h, d)}, "bias": {"up": (d, h), "bias": (h,), "down": (h, d)}}
        self.params = [{name: scale(*shape) if len(shape) > 1 else draw(shape, np.float32) * 0.1
                        for name, shape in shapes[kind].items()} for kind in self.kinds]
        self.x = draw((BATCH, self.length, d), np.float32)
        self.target = draw((BATCH, self.length, d), np.float32)

    def specs(self):
        rng = random.Random(len(self.kinds) * 1000 + self.width)
        found = []
        for layer in self.params:
            found.append({})
            for name, value in layer.items():
                axes = [None] * value.ndim
                if value.ndim > 1:
                    first, second = rng.sample(range(value.ndim)[-2:], 2)
                    axes[first], axes[second] = "fsdp", "tp"
                found[-1][name] = P(*axes)
        return found

    def part(self, kind, x, w):
        if kind == "gated":
            return (jax.nn.silu(x @ w["gate"]) * (x @ w["up"])) @ w["down"]
        if kind == "heads":
            y = jnp.einsum("bsd,dnk->bsnk", x, w["up"])
            return jnp.einsum("bsnk,nkd->bsd", jax.nn.gelu(y), w["down"])
        if kind == "experts":
            parts = x.reshape(self.experts, -1, self.width)
            y = jax.nn.silu(jnp.einsum("etd,edh->eth", parts, w["up"]))
            return jnp.einsum("eth,ehd->etd", y, w["down"]).reshape(x.shape)
        if kind == "twice":
            return jnp.tanh(x @ w["up"]) @ w["up"].T
        if kind == "transposed":
            return jax.nn.relu(x @ w["up"].T) @ w["down"].T
        if kind == "stacked":
            return (jax.nn.silu(x @ w["up"][0]) * (x @ w["up"][1])) @ w["down"]
        up = x @ w["up"]
        return jax.nn.silu(up + w["bias"] if kind == "bias" else up) @ w["down"]

    def loss(self, params, x, target):
        h = x.astype(self.dtype)
        for kind, layer in zip(self.kinds, params, strict=True):
            one = lambda h, layer, kind=kind: h + self.part(kind, h, jax.tree.map(lambda p: p.astype(self.dtype), layer))
            h = (jax.checkpoint(one) if self.checkpoint else one)(h, layer)
        return jnp.mean((h.astype(jnp.float32) - target) ** 2)

    def step(self, params, x, target):
        value, gradient = jax.value_and_grad(self.loss)(params, x, target)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    def export(self):
        batch = P(("mb", "dp", "fsdp"))
        return weft.jax.export(self.step, self.params, self.x, self.target, donate_argnums=(0,),
                               mesh={"mb": 1, "dp": 1, "fsdp": 2, "tp": 1}, in_shardings=(self.specs(), batch, batch))

    def build(self):
        """Options of one build."""
        rng = self.rng
        mesh = {"mb": 1, "dp": rng.choice([1, 2]), "fsdp": rng.choice([1, 2, 4]), "tp": rng.choice([1, 2])}
        options = {"mesh": mesh}
        if rng.random() < 0.3 and mesh["dp"] * mesh["fsdp"] < 8:
            mesh["mb"] = 8 // (mesh["dp"] * mesh["fsdp"]) if rng.random() < 0.5 else 2
            if BATCH % (mesh["mb"] * mesh["dp"] * mesh["fsdp"]) == 0:
                options["accumulate"] = "mb"
            else:
                mesh["mb"] = 1
        if schedule := rng.choice(SCHEDULES):
            options["schedule"] = schedule
        if rng.random() < 0.15:
            options["cpu"] = "x86-64-v3"
        return options

    def run(self, module, limit=None, **options):
        program = weft.compile(module, quantize=self.formats, invariant=self.invariant,
                               **({} if limit is None else {"memory_limit": limit}), **options)
        params, value = program(self.params, self.x, self.target)
        stats = program.stats
        needed = stats.argument_bytes_per_rank + stats.result_bytes_per_rank + stats.arena_bytes_per_rank
        return [np.array(leaf) for leaf in jax.tree.leaves((params, value))], sum(stats.received_bytes.values()), needed


def is_near(got, wanted, before, share):
    """The updates of all weights, as vectors."""
    for one, other, old in zip(got, wanted, before, strict=True):
        update = np.linalg.norm((other - old).astype(np.float64))
        if not np.linalg.norm((one - other).astype(np.float64)) <= share * update + 1e-6:
            return False
    return True


def find_problem(seed):
    """What is wrong; None: nothing."""
    model = Model(seed)
    module = model.export()
    names = {entry.split("=")[0] for entry in model.formats}
    one = {"mb": 1, "dp": 1, "fsdp": 1, "tp": 1}
    try:
        expected, _, _ = model.run(module, mesh=one)
    except weft.CompileError as error:
        # Sizes that no block divides, or patterns that nothing is like.
        refused = "has no linear layer" in str(error) or "cannot be quantized as" in str(error)
        return None if refused else f"refused on one rank: {error}"
    wide = float(jax.jit(model.step)(model.params, model.x, model.target)[1])
    share = max(WIDE[name] for name in names)
    if not abs(float(expected[-1]) - wide) <= share * wide:
        return f"loss {expected[-1]}, {wide} with wide operands"
    before = jax.tree.leaves(model.params)
    for _ in range(2):
        options = model.build()
        what = f"{model.kinds} as {model.formats} in {options}"
        try:
            plain = weft.compile(module, invariant=model.invariant, **options)
        except weft.CompileError:
            continue  # not for quantization's sake
        got, received, needed = model.run(module, **options)
        if model.invariant and any(a.tobytes() != b.tobytes() for a, b in zip(got, expected, strict=True)):
            return f"other bits: {what}"
        if not is_near(got[:-1], expected[:-1], before, max(NEAR[name] for name in names)):
            return f"other updates: {what}"
        plain(model.params, model.x, model.target)
        # Magnitudes, and a loss. Sums and products that axes of tensors cut may be cut in other ways.
        if options["mesh"]["tp"] == 1 and received > sum(plain.stats.received_bytes.values()) * 1.02 + 4096:
            return f"receives {received} bytes, {plain.stats.received_bytes} with wide operands: {what}"
        if model.rng.random() < 0.5:
            again, _, least = model.run(module, limit=needed, **options)
            if least > needed or model.invariant and any(a.tobytes() != b.tobytes() for a, b in zip(again, got, strict=True)):
                return f"other bits or {least} bytes within {needed} bytes: {what}"
    return None


def check(seed):
    try:
        return find_problem(seed)
    except weft.CompileError as error:
        return f"refused: {error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    seeds.add_options(parser, "0:10")
    options = parser.parse_args()
    seeds.run(options, check)


if __name__ == "__main__":
    main()
