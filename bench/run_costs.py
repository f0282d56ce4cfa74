# SPDX-License-Identifier: Apache-2.0

"""What frameworks do otherwise than weft's plan: seconds, and bytes of a rank.

weft's kernels are fused like those of a compiled framework. One that is not compiled runs an
operation of PyTorch at a time. Bytes that each moves are counted here.
"""

import math

from run_plans import count_data_ranks

# Of an element, forward and backward, as operations of their own and fused. A norm widens to
# f32, squares, averages, multiplies, narrows and multiplies by its weight; rotary positions are
# products of complex f32.
EAGER_BYTES = {
    "rms": (36, 76), "rotary": (20, 24), "activation": (14, 18), "sum": (6, 8)}
FUSED_BYTES = {
    "rms": (4, 8), "rotary": (4, 4), "activation": (6, 10), "sum": (2, 4)}
# Of a logit in a loss. Not compiled: widened to f32, log of the softmax, the chosen one; and back.
# Compiled: exponentials in f32 are written and read. weft's plan reads it and writes its gradient.
LOSS_BYTES = {"eager": 44, "compiled": 14}
PLANNED_LOSS_BYTES = 6
# Of a logit where most is needed: not compiled, f32 logs, their gradients and those of logits;
# compiled, and planned, logits and gradients in bf16.
LOSS_PEAK = {"eager": 12, "compiled": 4}
PLANNED_LOSS_PEAK = 4
# Reserved over allocated: the median of the seven published runs that have both.
RESERVED = 1.09
OPTIMIZER_BYTES = 28
# Of an element that a kernel written for it casts, as rows and as columns in one pass. With scales
# of the steps before (delayed) and of blocks (mxfp8) the pass reads bf16 and writes both. A scale
# of the tensor takes a pass before it (fp8, nvfp4).
CAST_BYTES = {"delayed": 4, "fp8": 6, "mxfp8": 4.0625, "nvfp4": 5.125}
# Of the bandwidth of copies, what these passes reach. NVIDIA/TransformerEngine
# docs/examples/gemm_profiling, 12 products of a layer of 4096 and 16384, with casts and without:
# on H200 fp8 3.50 ms for 13.9 GB, delayed 2.19 ms for 8.9 GB; on B300 fp8 2.34 ms, mxfp8 1.82 ms
# for 9.1 GB, nvfp4 2.69 ms for 12.2 GB.
CAST_RATE = {"delayed": 1, "fp8": 0.93, "mxfp8": 0.73, "nvfp4": 0.66}
# Its norms write what is cast themselves, where the scale does not wait for all of the tensor.
CASTS_IN_NORMS = {"delayed", "mxfp8"}
# Weights that are gathered in bf16 are cast whole, once a step: only f8 is gathered as such
# (torchtitan components/quantization/nvfp4.md; Megatron-LM --fp8-param-gather).
CASTS_OF_WEIGHTS = {"nvfp4"}
# Of a gradient of a microbatch that is added to those before: two bf16 are read, one is written.
SUM_BYTES = 6


def local_tokens(run):
    """Of a microbatch on a rank, before tensor parallelism."""
    ranks = count_data_ranks(run) * run["mesh"].get("cp", 1)
    return run["batch"] * run["sequence"] / ranks


def count_products(run):
    """Of the feed-forward part of a layer."""
    return 3 if run.get("activation", "swiglu") == "swiglu" else 2


def count_layer_parameters(run):
    _, width, heads, kv_heads, head, ffn, _ = run["dims"]
    return 2 * width * head * (heads + kv_heads) + count_products(run) * width * ffn


def count_parameters(run):
    layers, width, *_, vocab = run["dims"]
    return layers * count_layer_parameters(run) + vocab * width * (1 if run.get("tied") else 2)


def eager_layer_bytes(run):
    """Bytes of all layers of a microbatch beyond those of fused kernels."""
    layers, width, heads, kv_heads, head, ffn, _ = run["dims"]
    tp = run["mesh"].get("tp", 1)
    elements = {"rms": 2 * width, "rotary": head * (heads + kv_heads) / tp,
                "activation": ffn / tp, "sum": 2 * width}
    forward_runs = 1 if run["kept"] == "none" else 2
    extra = 0.0
    for name, count in elements.items():
        (forward, backward), (fused, fused_back) = EAGER_BYTES[name], FUSED_BYTES[name]
        extra += count * (forward_runs * (forward - fused) + backward - fused_back)
    return layers * local_tokens(run) * extra


def cast_seconds(run, machine):
    """Of casts by kernels that are written for it, in all layers of a microbatch."""
    layers, width, heads, kv_heads, head, ffn, _ = run["dims"]
    recipe = run.get("scales", run["quantize"])
    queries, ways_in = heads * head, count_products(run) - 1
    # Inputs of products, each time that the forward pass is done; and gradients of all results.
    forward_runs = 1 if run["kept"] == "none" else 2
    norms = 0 if recipe in CASTS_IN_NORMS else 2 * width
    split = forward_runs * (queries + ffn) + (queries + 2 * kv_heads * head) + ways_in * ffn
    elements = split / run["mesh"].get("tp", 1) + forward_runs * norms + 2 * width
    moved = run.get("quantized_layers", layers) * local_tokens(run) * elements * CAST_BYTES[recipe]
    return moved / (CAST_RATE[recipe] * machine["memory"]["bytes_per_s"])


def cast_weight_seconds(run, machine):
    """Of the casts of gathered weights in a step, each time that the forward pass is done."""
    if run["quantize"] not in CASTS_OF_WEIGHTS:
        return 0
    forward_runs = 1 if run["kept"] == "none" else 2
    layers = run.get("quantized_layers", run["dims"][0])
    elements = layers * count_layer_parameters(run) / run["mesh"].get("tp", 1)
    moved = forward_runs * elements * CAST_BYTES[run["quantize"]]
    return moved / (CAST_RATE[run["quantize"]] * machine["memory"]["bytes_per_s"])


def sum_seconds(run, machine):
    """Of adding the gradients of a microbatch to those before, which TransformerEngine's products
    of gradients do by themselves."""
    layers, width, *_, vocab = run["dims"]
    parameters = layers * count_layer_parameters(run) + vocab * width
    moved = SUM_BYTES * parameters / run["mesh"].get("tp", 1)
    return moved / machine["memory"]["bytes_per_s"]


def count_logits(run):
    return local_tokens(run) * run["dims"][6] / run["mesh"].get("tp", 1)


def framework_seconds(run, framework, machine):
    """Of a microbatch, beyond the plan."""
    moved = eager_layer_bytes(run) if run.get("eager") else 0
    moved += (LOSS_BYTES[framework["loss"]] - PLANNED_LOSS_BYTES) * count_logits(run)
    return moved / machine["memory"]["bytes_per_s"]


def framework_bytes(run, framework):
    """Beyond the plan; negative: less."""
    return (LOSS_PEAK[framework["loss"]] - PLANNED_LOSS_PEAK) * count_logits(run)


def reserve_bytes(run, framework, needed):
    """What PyTorch's allocator has reserved: also the blocks of the gradients of the step before,
    which are too small for what is made where most is needed. 8 GPUs reserve 15.0 GiB more than
    128 do: four f32 for each parameter, of which a gradient is one."""
    gradients = 4 * count_parameters(run) / count_shards(run) if framework.get("pytorch") else 0
    return RESERVED * (needed + gradients)


def count_shards(run):
    """Of weights, gradients and moments."""
    return math.prod(run["mesh"].get(axis, 1) for axis in ("fsdp", "cp", "tp"))


def optimizer_seconds(run, machine):
    parameters = count_parameters(run) / count_shards(run)
    return OPTIMIZER_BYTES * parameters / machine["memory"]["bytes_per_s"]
