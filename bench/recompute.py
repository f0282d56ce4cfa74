#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Compares what `--recompute auto` chooses with JAX's own policies.

    bench/recompute.py [--step dense scanned experts long] [--limit none middle least] [--layers N] [--json FILE]
    bench/recompute.py --run [--rounds N]           # measured on this CPU, with small shapes

Each step is exported as it is and with each policy of jax.checkpoint. A policy is
planned without a limit, at the least limit that it fits into, and between the two;
the step without marks is then planned with `auto` at the bytes that each of these
plans needs, and must not be slower. Prints a table as Markdown, and what misses the
bar. Times are the simulator's, or with --run those of steps that take turns, the least of
several rounds; they are measured, so nothing is held to a bar.
"""

import argparse
import functools
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python-bindings"))

import weft.jax  # noqa: E402

MESH = {"fsdp": 4, "tp": 2}
HEADS, EXPERTS, VOCABULARY = 8, 4, 2048
# Rows of the batch, sequence, width, hidden width.
SHAPES = {"dense": (32, 1024, 1024, 4096), "scanned": (32, 1024, 1024, 4096),
          "experts": (32, 512, 1024, 2048), "long": (4, 8192, 512, 2048)}
POLICIES = {
    "plain": None,
    "everything": {"policy": jax.checkpoint_policies.everything_saveable},
    "dots": {"policy": jax.checkpoint_policies.dots_saveable},
    "per layer": {"policy": jax.checkpoint_policies.nothing_saveable},
    "whole": {"policy": jax.checkpoint_policies.nothing_saveable},
}
# What is run: as above, on as many ranks as a small machine has cores.
RUN_MESH = {"fsdp": 2, "tp": 1}
RUN_SHAPES = {"dense": (8, 256, 256, 1024), "scanned": (8, 256, 256, 1024),
              "experts": (8, 128, 256, 512), "long": (2, 1024, 128, 512)}
LIMITS = ("none", "middle", "least")
# Rounding of the simulated times.
SLACK = 1.001


def norm(x, scale):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)).astype(x.dtype) * scale


def attention(x, w):
    batch, seq, width = x.shape
    q, k, v = (jnp.einsum("bsd,dhk->bshk", x, w[n]) for n in ("q", "k", "v"))
    scores = jnp.einsum("bshk,bthk->bhst", q, k).astype(jnp.float32) * (width // HEADS) ** -0.5
    causal = jnp.tril(jnp.ones((seq, seq), bool))
    shares = jax.nn.softmax(jnp.where(causal, scores, -1e30), -1).astype(x.dtype)
    return jnp.einsum("bshk,hkd->bsd", jnp.einsum("bhst,bthk->bshk", shares, v), w["o"])


def mlp(x, w):
    return (jax.nn.silu(x @ w["gate"]) * (x @ w["up"])) @ w["down"]


def experts(x, w):
    """All experts see all rows, weighed: what is saved is as in a dispatch."""
    shares = jax.nn.softmax((x @ w["router"]).astype(jnp.float32), -1).astype(x.dtype)
    hidden = jax.nn.silu(jnp.einsum("bsd,edf->bsef", x, w["gate"])) * jnp.einsum("bsd,edf->bsef", x, w["up"])
    return jnp.einsum("bsef,efd,bse->bsd", hidden, w["down"], shares)


def layer(feed, x, w):
    w = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), w)
    x = x + attention(norm(x, w["first"]), w)
    return x + feed(norm(x, w["second"]), w)


def weights_of(name, layers, width, hidden):
    """(shape, sharding) of each weight of all layers."""
    many = (EXPERTS,) if name == "experts" else ()
    none = (None,) * len(many)
    heads = (width, HEADS, width // HEADS)
    shapes = {"q": (heads, P("fsdp", "tp", None)), "k": (heads, P("fsdp", "tp", None)),
              "v": (heads, P("fsdp", "tp", None)), "o": (heads[1:] + heads[:1], P("tp", None, "fsdp")),
              "gate": (many + (width, hidden), P(*none, "fsdp", "tp")),
              "up": (many + (width, hidden), P(*none, "fsdp", "tp")),
              "down": (many + (hidden, width), P(*none, "tp", "fsdp")),
              "first": ((width,), P(None)), "second": ((width,), P(None))}
    if many:
        shapes["router"] = ((width, EXPERTS), P("fsdp", None))
    stacked = {key: (jax.ShapeDtypeStruct((layers, *shape), jnp.float32), P(None, *spec))
               for key, (shape, spec) in shapes.items()}
    stacked["head"] = (jax.ShapeDtypeStruct((width, VOCABULARY), jnp.float32), P("fsdp", "tp"))
    return {key: value[0] for key, value in stacked.items()}, {key: value[1] for key, value in stacked.items()}


def make_step(name, layers, policy):
    """A step of gradient descent, with the policy's recomputation."""
    one = functools.partial(layer, experts if name == "experts" else mlp)
    wrap = functools.partial(jax.checkpoint, **POLICIES[policy]) if POLICIES[policy] else (lambda f: f)
    each = (lambda f: f) if policy == "whole" else wrap

    def run(stacked, x):
        if name == "scanned":
            return jax.lax.scan(each(lambda x, w: (one(x, w), None)), x, stacked)[0]
        for i in range(layers):
            x = each(one)(x, jax.tree.map(lambda w, i=i: w[i], stacked))
        return x

    whole = wrap(run) if policy == "whole" else run

    def loss(weights, x, labels):
        stacked = {key: value for key, value in weights.items() if key != "head"}
        logits = (whole(stacked, x) @ weights["head"].astype(jnp.bfloat16)).astype(jnp.float32)
        chosen = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - chosen)

    def step(weights, x, labels):
        value, gradient = jax.value_and_grad(loss)(weights, x, labels)
        return jax.tree.map(lambda w, g: w - 0.001 * g, weights, gradient), value

    return step


def export(name, layers, policy, path, mesh=MESH, shapes=SHAPES):
    """The arguments' shapes; the step is in the file."""
    batch, seq, width, hidden = shapes[name]
    weights, specs = weights_of(name, layers, width, hidden)
    data = P("fsdp", None)
    arguments = (weights, jax.ShapeDtypeStruct((batch, seq, width), jnp.bfloat16),
                 jax.ShapeDtypeStruct((batch, seq), jnp.int32))
    module = weft.jax.export(
        make_step(name, layers, policy), *arguments, mesh=mesh, donate_argnums=(0,),
        in_shardings=(specs, P("fsdp", None, None), data), out_shardings=(specs, P()))
    path.write_text(module.text)
    return arguments


def plan(path, recompute, limit, options, *more):
    """Step time in ns and bytes, or (None, bytes that it needs at least); `more` goes to weft-compile."""
    run = subprocess.run(
        [options.build / "bin" / "weft-compile", path, "--to", "planned", "--stats", "--no-proofs", "-o", "-",
         "--machine", options.machine, "--recompute", recompute,
         "--memory-limit", "none" if limit is None else f"{limit}B", *more], text=True, capture_output=True, check=False)
    if run.returncode == 0:
        total = re.search(r"^  total +(\d+) B$", run.stderr.split("each rank needs:")[1], re.M)
        return int(re.search(r" step_ns = (\d+)", run.stdout)[1]), int(total[1])
    needed = re.search(r"needs (\d+) bytes at least", run.stderr)
    if not needed:
        sys.exit(f"bench: {path}: {run.stderr[:2000]}")
    return None, int(needed[1])


def points_of(path, options):
    """(limit's name, ns, bytes) of plans of a policy."""
    ns, most = plan(path, "marked", None, options)
    if "none" in options.limit:
        yield "none", ns, most
    _, least = plan(path, "marked", 1, options)
    for name, limit in (("middle", (least + most) // 2), ("least", least)):
        if name not in options.limit:
            continue
        ns, total = plan(path, "marked", limit, options)
        if ns is not None:
            yield name, ns, total


def rows_of(name, options, folder):
    for policy in options.policy:
        export(name, options.layers, policy, folder / f"{policy}.mlir")
    export(name, options.layers, "plain", folder / "auto.mlir")
    for policy in options.policy:
        for limit, ns, total in points_of(folder / f"{policy}.mlir", options):
            begin = time.monotonic()
            auto, needed = plan(folder / "auto.mlir", "auto", total, options)
            yield {"step": name, "policy": policy, "limit": limit, "bytes": total, "ns": ns, "auto_ns": auto,
                   "auto_bytes": needed, "ratio": auto and auto / ns, "seconds": time.monotonic() - begin}


def compile_to_run(path, recompute, limit):
    """The program, and the bytes of a rank."""
    program = weft.compile(path, machine="host", recompute=recompute, proofs=False,
                           memory_limit="none" if limit is None else limit)
    stats = program.stats
    return program, stats.argument_bytes_per_rank + stats.result_bytes_per_rank + stats.arena_bytes_per_rank


def measure(programs, arguments, rounds):
    """The least seconds of a step of each, in turns."""
    least = [float("inf")] * len(programs)
    for _ in range(rounds):
        for i, program in enumerate(programs):
            begin = time.monotonic()
            jax.tree.map(np.asarray, program(*arguments))
            least[i] = min(least[i], time.monotonic() - begin)
    return least


def run_step(name, options, folder):
    """Prints each policy's time and bytes, and those of `auto` in so many bytes."""
    random = np.random.default_rng(1)
    draw = lambda leaf: (np.zeros(leaf.shape, np.int32) if leaf.dtype == jnp.int32
                         else random.standard_normal(leaf.shape, np.float32).astype(leaf.dtype) * leaf.dtype.type(0.05))
    for policy in options.policy:
        arguments = export(name, options.layers, policy, folder / "policy.mlir", RUN_MESH, RUN_SHAPES)
        export(name, options.layers, "plain", folder / "auto.mlir", RUN_MESH, RUN_SHAPES)
        theirs, needed = compile_to_run(folder / "policy.mlir", "marked", None)
        auto, auto_bytes = compile_to_run(folder / "auto.mlir", "auto", needed)
        seconds = measure([theirs, auto], jax.tree.map(draw, arguments), options.rounds)
        print(f"| {name} | {policy} | {needed / 1e6:.1f} | {seconds[0] * 1e3:.1f} | {auto_bytes / 1e6:.1f} "
              f"| {seconds[1] * 1e3:.1f} | {seconds[1] / seconds[0]:.3f} |", flush=True)


def run_all(options):
    print("| step | policy | MB | ms | auto MB | auto ms | ratio |\n|---|---|--:|--:|--:|--:|--:|")
    for name in options.step:
        with tempfile.TemporaryDirectory() as folder:
            run_step(name, options, Path(folder))


def print_row(row):
    auto = "does not fit | " if row["auto_ns"] is None else f"{row['auto_ns'] / 1e6:.3f} | {row['ratio']:.3f}"
    print(f"| {row['step']} | {row['policy']} | {row['limit']} | {row['bytes'] / 1e6:.1f} | {row['ns'] / 1e6:.3f} "
          f"| {auto} | {row['seconds']:.1f} |", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--policy", nargs="+", choices=POLICIES, default=list(POLICIES))
    parser.add_argument("--limit", nargs="+", choices=LIMITS, default=LIMITS)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--machine", default="h100x8")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--json", type=Path, help="where the figures go as well")
    parser.add_argument("--run", action="store_true", help="measure on this CPU instead of simulating")
    parser.add_argument("--rounds", type=int, default=5, help="of steps that are measured")
    return parser.parse_args()


def main():
    options, rows = arguments(), []
    if options.run:
        return run_all(options)
    print("| step | policy | limit | MB | ms | auto ms | ratio | s |\n|---|---|---|--:|--:|--:|--:|--:|")
    for name in options.step:
        with tempfile.TemporaryDirectory() as folder:
            for row in rows_of(name, options, Path(folder)):
                rows.append(row)
                print_row(row)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    misses = [row for row in rows if row["ratio"] is None or row["ratio"] > SLACK]
    for row in misses:
        print(f"miss: {row['step']}, {row['policy']} at {row['bytes']} B")
    sys.exit(1 if misses else 0)


if __name__ == "__main__":
    main()
