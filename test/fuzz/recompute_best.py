#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small random steps within limits of memory: `auto` beside the best by brute force.

  recompute_best.py [--seeds A:B] [--seconds N] [--layers N] [--bar PERCENT] [--headroom PERCENT] [--verbose]

A seed is a step of a few layers whose widths differ, on one H100 or two. Each layer is in a
jax.checkpoint whose policy keeps some of its values by name; all sets of names there are
make a program each, and so does the step without checkpoints. Each is planned by the
simulator as it is marked. Limits are the bytes that some of these plans need, from
`headroom` above the least on; at each, `auto` may be slower than the fastest of all by
the bar, from the step without checkpoints. Ends with `N passed, N failed`.
"""
import argparse
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "build/python"))
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402  (it has to be told its platform first)
import jax.numpy as jnp  # noqa: E402
import seeds  # noqa: E402
import weft.jax  # noqa: E402
from jax.ad_checkpoint import checkpoint_name  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

ACTIVATIONS = {"silu": jax.nn.silu, "gelu": jax.nn.gelu, "tanh": jnp.tanh, "softplus": jax.nn.softplus}
# Values of a layer of each kind that may be kept.
NAMES = {"mlp": ("up",), "gated": ("gate", "up"), "deep": ("up", "middle")}
NUM_LIMITS = 4


class Step:
    """A random step, and where its values are named."""

    def __init__(self, seed, layers):
        rng = random.Random(f"recompute best {seed}")
        self.rows, self.width = rng.choice([4096, 8192]), rng.choice([512, 1024])
        self.ranks = rng.choice([1, 2])
        self.kinds = [rng.choice(sorted(NAMES)) for _ in range(layers)]
        self.hidden = [rng.choice([1024, 2048, 4096]) for _ in range(layers)]
        self.activation = [ACTIVATIONS[rng.choice(sorted(ACTIVATIONS))] for _ in range(layers)]
        self.names = [f"{name}{i}" for i, kind in enumerate(self.kinds) for name in NAMES[kind]]
        self.picks = [rng.random() for _ in range(NUM_LIMITS)]

    def shapes(self):
        square = {"mlp": {}, "gated": {"gate": (0, 1)}, "deep": {"middle": (1, 1)}}
        sizes = lambda i, pair: tuple((self.width, self.hidden[i])[k] for k in pair)
        return [{key: jax.ShapeDtypeStruct(sizes(i, pair), jnp.bfloat16)
                 for key, pair in {"up": (0, 1), "down": (1, 0), **square[kind]}.items()}
                for i, kind in enumerate(self.kinds)]

    def layer(self, i, x, w):
        f, kind = self.activation[i], self.kinds[i]
        wide = x.astype(jnp.float32)
        x0 = (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)).astype(x.dtype)
        h = checkpoint_name(x0 @ w["up"], f"up{i}")
        if kind == "gated":
            h = f(checkpoint_name(x0 @ w["gate"], f"gate{i}")) * h
        else:
            h = f(h)
        if kind == "deep":
            h = f(checkpoint_name(h @ w["middle"], f"middle{i}"))
        return x + h @ w["down"]

    def export(self, kept, path):
        """With the names that are kept; None: nothing is marked."""
        def loss(weights, x):
            for i, w in enumerate(weights):
                one = lambda x, w, i=i: self.layer(i, x, w)
                if kept is not None:
                    one = jax.checkpoint(one, policy=jax.checkpoint_policies.save_only_these_names(*kept))
                x = one(x, w)
            return jnp.mean(x.astype(jnp.float32) ** 2)
        shapes = self.shapes()
        module = weft.jax.export(
            jax.grad(loss), shapes, jax.ShapeDtypeStruct((self.rows, self.width), jnp.bfloat16),
            mesh={"d": self.ranks}, in_shardings=(jax.tree.map(lambda _: P(), shapes), P("d")))
        path.write_text(module.text)


def plan(path, recompute, limit):
    """Step time in ns and bytes; (None, None) if it does not fit."""
    run = subprocess.run(
        [ROOT / "build/bin/weft-compile", path, "--to", "planned", "--stats", "--no-proofs", "-o", "-",
         "--machine", "h100x8", "--recompute", recompute,
         "--memory-limit", "none" if limit is None else f"{limit}B"], text=True, capture_output=True, check=False)
    if run.returncode:
        if "bytes at least" not in run.stderr:
            sys.exit(f"{path}: {run.stderr[:2000]}")
        return None, None
    total = re.search(r"^  total +(\d+) B$", run.stderr.split("each rank needs:")[1], re.M)
    return int(re.search(r" step_ns = (\d+)", run.stdout)[1]), int(total[1])


class BruteForce:
    """Plans of all sets of values that may be kept."""

    def __init__(self, step, folder):
        self.paths = [folder / "plain.mlir"]
        step.export(None, self.paths[0])
        for count in range(len(step.names) + 1):
            for kept in itertools.combinations(step.names, count):
                self.paths.append(folder / f"{'-'.join(kept) or 'none'}.mlir")
                step.export(kept, self.paths[-1])
        self.unlimited = [plan(path, "marked", None) for path in self.paths]

    def find(self, limit):
        """The least time of those that fit, and whose it is."""
        best = None
        for path, (ns, needed) in zip(self.paths, self.unlimited):
            # No limit makes a step faster.
            if best and ns >= best[0]:
                continue
            if needed > limit:
                ns, _ = plan(path, "marked", limit)
            if ns is not None and (not best or ns < best[0]):
                best = ns, path.stem
        return best


def check(seed, options):
    """What is wrong; None: nothing."""
    step, problem = Step(seed, options.layers), None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        force = BruteForce(step, folder)
        needed = sorted(total for _, total in force.unlimited)
        needed = [total for total in needed if total >= needed[0] * (1 + options.headroom / 100)]
        limits = sorted({needed[int(pick * len(needed))] for pick in step.picks} | {needed[0]})
        for limit in limits:
            best, whose = force.find(limit)
            auto, _ = plan(force.paths[0], "auto", limit)
            ratio = auto / best if auto else float("inf")
            if options.verbose:
                print(f"seed {seed}, {limit} B: auto {auto} ns, best {best} ns ({whose}), {ratio:.4f}", flush=True)
            if ratio > 1 + options.bar / 100:
                problem = f"at {limit} B auto takes {auto} ns, and keeping {whose} {best}"
    return problem


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    seeds.add_options(parser, "0:10")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--bar", type=float, default=2)
    parser.add_argument("--headroom", type=float, default=0)
    parser.add_argument("--verbose", action="store_true", help="print each limit")
    options = parser.parse_args()
    seeds.run(options, lambda seed: check(seed, options))


if __name__ == "__main__":
    main()
