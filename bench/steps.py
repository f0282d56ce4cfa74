#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Exports training steps of real sizes, in bf16 with f32 weights and AdamW.

    bench/steps.py OUT_DIR [--step qwen3-8b ...] [--layers N] [--batch N]
                            [--seq N] [--narrow-logits]
    bench/steps.py OUT_DIR --random SEED COUNT     # random shapes: random-SEED.mlir, ...

Shapes only: no weight is made, so that 32 billion of them fit on a laptop. The
mesh's sizes are weft-compile's to choose (--mesh), among dp, fsdp and tp, and ep
for experts.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "examples" / "qwen3"), str(ROOT / "python-bindings"),
             str(ROOT / "bench" / "peers")]

import model  # noqa: E402
import moe  # noqa: E402
import narrow_logits  # noqa: E402
import shapes  # noqa: E402
import weft  # noqa: E402

SEQ, BATCH = 4096, 16
VOCAB = 151936
# layers, width, heads, key heads, width of a head, ffn, vocabulary
STEPS = {
    "qwen3-0.6b": model.Config(28, 1024, 16, 8, 128, 3072, VOCAB, SEQ, BATCH, "bf16"),
    "qwen3-8b": model.Config(36, 4096, 32, 8, 128, 12288, VOCAB, SEQ, BATCH, "bf16"),
    "qwen3-32b": model.Config(64, 5120, 64, 8, 128, 25600, VOCAB, SEQ, BATCH, "bf16"),
    "llama-70b": model.Config(80, 8192, 64, 8, 128, 28672, 128256, SEQ, 64, "bf16"),
    "llama-405b": model.Config(126, 16384, 128, 8, 128, 53248, 128256, SEQ, 64, "bf16"),
    "moe-8x7b": moe.Config(32, 4096, 32, 8, 128, 14336, 32000, SEQ, BATCH, "bf16"),
    "moe-30b-a3b": moe.Config(48, 2048, 32, 4, 128, 768, VOCAB, SEQ, BATCH, "bf16",
                              experts=128, chosen=8),
}


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--step", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--layers", type=int, help="instead of the model's own number")
    parser.add_argument("--batch", type=int, help=f"of the whole job, instead of {BATCH}")
    parser.add_argument("--seq", type=int, help=f"length of a sequence, instead of {SEQ}")
    parser.add_argument("--narrow-logits", action="store_true",
                        help="as torch_step.py has them: qwen3's are in f32 else")
    parser.add_argument("--random", type=int, nargs=2, metavar=("SEED", "COUNT"),
                        help="steps of random shapes instead")
    return parser.parse_args()


def random_config(seed, layers):
    """The model of a random shape."""
    shape = shapes.draw(seed)
    fields = {**shape.fields, "dtype": "bf16", **({"layers": layers} if layers else {})}
    return moe.Config(**fields, **shape.experts) if shape.experts else model.Config(**fields)


def is_weight(leaf):
    return isinstance(leaf, tuple)


def export(c):
    """The step's module."""
    experts = isinstance(c, moe.Config)
    tree = moe.weights(c) if experts else model.weights(c)
    specs = jax.tree.map(lambda w: w[1], tree, is_leaf=is_weight)
    params = jax.tree.map(lambda w: jax.ShapeDtypeStruct(w[0], jnp.float32), tree,
                          is_leaf=is_weight)
    opt = {"m": params, "v": params, "t": jax.ShapeDtypeStruct((), jnp.int32)}
    tokens = jax.ShapeDtypeStruct((c.batch, c.seq), jnp.int32)
    opt_specs = {"m": specs, "v": specs, "t": P()}
    data = P(moe.BATCH if experts else model.BATCH, None)
    axes = ("dp", "fsdp", "ep", "tp") if experts else ("dp", "fsdp", "tp")
    return weft.jax.export(
        moe.make_step(c, specs) if experts else model.make_step(c), params, opt, tokens, tokens,
        mesh={name: 8 if name == "fsdp" else 1 for name in axes}, donate_argnums=(0, 1),
        in_shardings=(specs, opt_specs, data, data), out_shardings=(specs, opt_specs, P()))


def main():
    options = arguments()
    if options.narrow_logits:
        narrow_logits.use_narrow_logits(model)
    options.folder.mkdir(parents=True, exist_ok=True)
    given = {key: getattr(options, key) for key in ("layers", "batch", "seq")
             if getattr(options, key) is not None}
    configs = {name: replace(STEPS[name], **given) for name in options.step}
    if options.random:
        first, count = options.random
        configs = {f"random-{seed}": random_config(seed, options.layers)
                   for seed in range(first, first + count)}
    for name, config in configs.items():
        start, path = time.perf_counter(), options.folder / f"{name}.mlir"
        export(config).save(path)
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {time.perf_counter() - start:.1f} s",
              flush=True)


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    main()
