# SPDX-License-Identifier: Apache-2.0

"""Quantized steps whose activations are cut along the sequence between layers."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import nightly
from jax.sharding import PartitionSpec as P
from test_quantization import FORMATS, SPECS, WIDTH, step_inputs

import weft
import weft.jax


@functools.cache
def sequence_parallel():
    """Between layers a rank has a part of each sequence, and the product takes all of it, as the user says."""
    def parallel(params, x, target):
        def loss(params):
            h = parted(x.astype(jnp.bfloat16))
            for layer in params:
                w = {name: value.astype(jnp.bfloat16) for name, value in layer.items()}
                inner = jax.nn.silu(whole(jnp.tanh(h)) @ w["up"])
                h = parted(h + parted(inner @ w["down"]))
            return jnp.mean((h.astype(jnp.float32) - target) ** 2)

        value, gradient = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    parted = functools.partial(jax.lax.with_sharding_constraint, shardings=P(("dp", "fsdp"), "tp"))
    whole = functools.partial(jax.lax.with_sharding_constraint, shardings=P(("dp", "fsdp"), None))
    params, x, target = step_inputs()
    batch = P(("dp", "fsdp"), "tp")
    return weft.jax.export(parallel, params, x, target, mesh={"dp": 1, "fsdp": 2, "tp": 2}, donate_argnums=(0,),
                           in_shardings=([SPECS] * 2, batch, batch))


@pytest.mark.parametrize("format", FORMATS)
def test_activations_are_gathered_narrow(format):
    def gathered(**options):
        text = str(weft.lower(sequence_parallel(), to="local", **options))
        operands = re.findall(r'weft\.(?:all_gather|all_to_all) [^\n]* on @mesh <\{"tp"\}>[^\n]* : \(([^\n]*?)\) ->', text)
        return re.findall(r"x([a-z]\w*)>", ",".join(operands))

    # What is left is no operand of a layer, but what one is computed from.
    assert gathered().count("bf16") >= 3 and gathered(quantize=format).count("bf16") <= 1
    assert set(gathered(quantize=format)) & {"f8E4M3FN", "f8E5M2", "i8"}


@pytest.mark.parametrize("format", [nightly("mxfp8"), "nvfp4"])
def test_sequence_parallel_bits(format):
    digests = set()
    for dp, fsdp, tp in ((1, 1, 1), (1, 2, 2), (1, 1, 4), (2, 1, 2), (1, 4, 1), (2, 2, 2)):
        program = weft.compile(sequence_parallel(), quantize=format, invariant=True, mesh={"dp": dp, "fsdp": fsdp, "tp": tp})
        params, value = program(*step_inputs())
        digests.add(b"".join(np.asarray(leaf).tobytes() for leaf in [*jax.tree.leaves(params), value]))
    assert len(digests) == 1


@pytest.mark.parametrize("format", FORMATS)
def test_kernels_of_gpus_are_proved(format):
    """Where tokens are many, kernels loop over the digits of dims, which the program before them has whole, and the other way around."""
    def norm(x):
        x = x.astype(jnp.float32)
        return (x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)).astype(jnp.bfloat16)

    def update(params, x):
        def loss(params):
            h = x.astype(jnp.bfloat16)
            for w in jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), params):
                h = h + jax.nn.silu(norm(h) @ w["up"]) @ w["down"]
            return jnp.mean(h.astype(jnp.float32) ** 2)

        return jax.tree.map(jnp.subtract, params, jax.grad(loss)(params))

    params, _, _ = step_inputs(2)
    x = jax.ShapeDtypeStruct((16, 1024, WIDTH), jnp.float32)
    module = weft.jax.export(update, params, x, mesh={"fsdp": 2}, donate_argnums=(0,),
                             in_shardings=([{name: P("fsdp") for name in SPECS}] * 2, P("fsdp")))
    assert "weft_rt.fused" in weft.lower(module, to="scheduled", target="cuda:sm_90", quantize=format)
