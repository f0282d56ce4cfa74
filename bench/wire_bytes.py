#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Bytes on the wire for each element of a weight and each step, counted in runs of three small models in each format.

    PYTHONPATH=build/python bench/wire_bytes.py [--formats bf16,mxfp8,nvfp4] [--models layers,decoder,experts] [--ranks 2,4,8]

Weights of linear layers are cut over fsdp; all else (embeddings, norms, routers) is whole on each rank, so that what is
gathered and what is scattered as sums are these weights alone. Of n ranks each receives (n - 1) / n of that, which the
table leaves out. What other collectives bring, as the sums of gradients of what is whole, beyond what they bring in bf16 are
the magnitudes of tensors. A gather that serves two products in a row counts once, so that less than two may be counted.
"""

import argparse
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "bench"), str(ROOT / "examples" / "qwen3")]

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import model  # noqa: E402
import moe  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import weft  # noqa: E402
import weft.jax  # noqa: E402

AXES = ("dp", "fsdp", "tp", "ep")
# Forward and backward gather and the sum of the gradient.
LIMITS = {"bf16": 6.0, "fp8": 4.0, "fp8-block": 4.0625, "mxfp8": 4.0626, "nvfp4": 3.125}
SIZES = {"layers": 2, "d_model": 256, "heads": 4, "kv_heads": 2, "head_dim": 64, "ffn": 512, "vocab": 256, "seq": 64, "batch": 16,
         "dtype": "bf16"}


def is_leaf(leaf):
    return isinstance(leaf, tuple) and not isinstance(leaf, P)


def decoder(config, tree, make_step):
    """A step, its arguments and their shardings; only weights of linear layers are cut."""
    rng = np.random.default_rng(0)
    cut = lambda path, spec: spec if "['w" in jax.tree_util.keystr(path) else P()
    specs = jax.tree_util.tree_map_with_path(lambda path, leaf: cut(path, leaf[1]), tree, is_leaf=is_leaf)
    params = jax.tree.map(lambda leaf: rng.standard_normal(leaf[0], np.float32) * 0.02 if len(leaf[0]) > 1
                          else np.ones(leaf[0], np.float32), tree, is_leaf=is_leaf)
    tokens, targets = (rng.integers(0, config.vocab, (config.batch, config.seq), dtype=np.int32) for _ in range(2))
    state, data = (specs, {"m": specs, "v": specs, "t": P()}), P("fsdp")
    return (make_step(specs), (params, model.init_optimizer(params), tokens, targets), (*state, data, data), (*state, P()))


def layers():
    width, hidden = 256, 512
    specs = [{"up": P("fsdp"), "down": P("fsdp")} for _ in range(3)]
    rng = np.random.default_rng(0)
    params = [{"up": rng.standard_normal((width, hidden), np.float32) / 16,
               "down": rng.standard_normal((hidden, width), np.float32) / 16} for _ in specs]

    def step(params, x, target):
        def loss(params):
            # Such that the first layer, too, has an input with a gradient.
            h = (x * jnp.mean(params[0]["up"])).astype(jnp.bfloat16)
            for layer in params:
                w = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), layer)
                h = h + jax.nn.silu(h @ w["up"]) @ w["down"]
            return jnp.mean((h.astype(jnp.float32) - target) ** 2)

        value, gradient = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    x, target = (rng.standard_normal((16, 64, width), np.float32) for _ in range(2))
    return step, (params, x, target), (specs, P("fsdp"), P("fsdp")), (specs, P())


def qwen3():
    config = model.Config(**SIZES)
    def make_step(specs):
        def step(params, opt, tokens, targets):
            loss, grads = jax.value_and_grad(lambda p: model.loss_fn(config, p, tokens, targets))(params)
            return (*model.adamw(config, params, grads, opt, specs), loss)
        return step
    return decoder(config, model.weights(config), make_step)


def experts():
    config = moe.Config(**{**SIZES, "ffn": 256}, experts=4, chosen=2, group=128, spare=1.0)
    return decoder(config, moe.weights(config), lambda specs: moe.make_step(config, specs))


MODELS = {"layers": layers, "decoder": qwen3, "experts": experts}


def count_cut(params, specs):
    leaves = zip(jax.tree.leaves(params), jax.tree.leaves(specs, is_leaf=lambda leaf: isinstance(leaf, P)), strict=True)
    return sum(value.size for value, spec in leaves if spec != P())


def measure(name, ranks, format):
    """Bytes for an element of what is gathered and of what is scattered; bytes of all other collectives."""
    step, arguments, ins, outs = MODELS[name]()
    mesh = {**dict.fromkeys(AXES, 1), "fsdp": ranks}
    donated = tuple(range(len(outs) - 1))
    module = weft.jax.export(step, *arguments, mesh=mesh, in_shardings=ins, out_shardings=outs, donate_argnums=donated)
    options = {} if format == "bf16" else {"quantize": format}
    program = weft.compile(module, mesh=mesh, **options)
    program(*arguments)
    received = dict(program.stats.received_bytes)
    share = (ranks - 1) / ranks * count_cut(arguments[0], ins[0])
    gathered, scattered = (received.pop(kind, 0) / share for kind in ("all_gather", "reduce_scatter"))
    return gathered, scattered, sum(received.values())


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    listed = lambda text: text.split(",")
    parser.add_argument("--formats", type=listed, default=["bf16", "mxfp8", "nvfp4"])
    parser.add_argument("--models", type=listed, default=list(MODELS))
    parser.add_argument("--ranks", type=lambda text: [int(number) for number in text.split(",")], default=[2, 4, 8])
    return parser.parse_args()


def main():
    options = parse_options()
    warnings.simplefilter("ignore", weft.CompileWarning)
    failed = False
    print(f"{'':8} {'ranks':>5} {'format':>10} {'gathered':>9} {'scattered':>9} {'sum':>8} {'at most':>8} {'other bytes':>12}")
    for name in options.models:
        for ranks in options.ranks:
            for format in options.formats:
                gathered, scattered, others = measure(name, ranks, format)
                total = gathered + scattered
                failed |= total > LIMITS[format]
                print(f"{name:8} {ranks:5} {format:>10} {gathered:9.4f} {scattered:9.4f} {total:8.4f} {LIMITS[format]:8.4f} {others:12}",
                      flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
