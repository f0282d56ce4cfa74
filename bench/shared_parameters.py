#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Memory and time, as planned, of steps whose layers share parameters.

    bench/shared_parameters.py [--machine h100x8]

First decoders with T5's table of positions, which all layers share and which is
learned: with attention raised, and with --attention=keep. Then 12 layers of one
weight: the least memory that they need. Batches are on fsdp=4. Prints tables as Markdown.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

from recompute import plan

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python-bindings"))

import weft.jax  # noqa: E402

HEADS, HEAD, BUCKETS = 8, 64, 32
WIDTH = HEADS * HEAD
# Layers, batch, sequence, type, jax.checkpoint.
DECODERS = [(2, 8, 512, "bfloat16", False), (4, 64, 128, "bfloat16", False),
            (6, 4, 2048, "bfloat16", False), (6, 4, 2048, "float32", True)]


def attend(x, w, bias):
    q, k, v = (jnp.einsum("bsd,dhk->bhsk", x, w[n]) for n in "qkv")
    scores = jnp.einsum("bhsk,bhtk->bhst", q, k) * HEAD ** -0.5 + bias
    return x + jnp.einsum("bhsk,hkd->bsd", jax.nn.softmax(scores, -1) @ v, w["o"])


def decoder(layers, length, kind, checkpoint):
    """The step, and the shapes of its weights."""
    distance = np.arange(length)[None] - np.arange(length)[:, None]
    bucket = np.clip(distance, -BUCKETS // 2, BUCKETS // 2 - 1) + BUCKETS // 2
    one = jax.checkpoint(attend) if checkpoint else attend

    def loss(weights, x):
        weights = jax.tree.map(lambda w: w.astype(kind), weights)
        bias = jnp.moveaxis(weights["positions"][bucket], -1, 0)[None]
        for w in weights["layers"]:
            x = one(x, w, bias)
        return jnp.mean(jnp.square(x.astype(jnp.float32)))

    narrow = {n: (WIDTH, HEADS, HEAD) for n in "qkv"} | {"o": (HEADS, HEAD, WIDTH)}
    return loss, {"layers": [narrow] * layers, "positions": (BUCKETS, HEADS)}


def tied(layers):
    """Layers of one weight."""
    def loss(weights, x):
        for _ in range(layers):
            x = jnp.tanh(x @ weights["w"])
        return jnp.mean(jnp.square(x))

    return loss, {"w": (512, 512)}


def export(loss, shapes, data, path):
    def step(weights, x):
        value, gradient = jax.value_and_grad(loss)(weights, x)
        return jax.tree.map(lambda w, g: w - 0.001 * g, weights, gradient), value

    def is_shape(x):
        return isinstance(x, tuple)

    weights = jax.tree.map(lambda s: jax.ShapeDtypeStruct(s, jnp.float32), shapes, is_leaf=is_shape)
    specs = jax.tree.map(lambda s: P(), shapes, is_leaf=is_shape)
    weft.jax.export(step, weights, data, mesh={"fsdp": 4}, donate_argnums=(0,),
                    in_shardings=(specs, P("fsdp")), out_shardings=(specs, P())).save(path)


def print_decoders(options, path):
    print("| layers, batch, sequence | MB | ms | MB, kept | ms, kept |")
    print("| --- | --: | --: | --: | --: |")
    for layers, batch, length, kind, checkpoint in DECODERS:
        loss, shapes = decoder(layers, length, kind, checkpoint)
        export(loss, shapes, jax.ShapeDtypeStruct((batch, length, WIDTH), kind), path)
        figures = []
        for attention in ("raise", "keep"):
            nanoseconds, size = plan(path, "auto", None, options, "--attention", attention)
            figures += [size / 1e6, nanoseconds / 1e6]
        name = f"{layers}, {batch}, {length}, {kind}{', jax.checkpoint' if checkpoint else ''}"
        print(f"| {name} | {' | '.join(f'{figure:.4g}' for figure in figures)} |", flush=True)


def print_tied(options, path):
    loss, shapes = tied(12)
    export(loss, shapes, jax.ShapeDtypeStruct((2048, 512), jnp.float32), path)
    _, least = plan(path, "auto", 1, options)
    print(f"\n12 layers of one weight need {least / 1e6:.2f} MB at least")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", default="h100x8")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step.mlir"
        print_decoders(options, path)
        print_tied(options, path)


if __name__ == "__main__":
    main()
