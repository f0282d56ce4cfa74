# SPDX-License-Identifier: Apache-2.0

"""The steps of bench/runs.py compute what JAX computes, whatever they keep of the forward pass."""

import dataclasses
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import weft

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
import llama  # noqa: E402
import run_costs  # noqa: E402
import run_plans  # noqa: E402
import runs  # noqa: E402
from conftest import days

BUILD = Path(__file__).resolve().parents[2] / "build"
SMALL = llama.Config(2, 64, 4, 2, 16, 96, 128, 16, 8)


def inputs(c):
    rng = np.random.default_rng(5)
    is_weight = lambda leaf: isinstance(leaf, tuple)
    draw = lambda w: jnp.asarray(rng.standard_normal(w[0], np.float32) * 0.1)
    params = jax.tree.map(draw, llama.weights(c), is_leaf=is_weight)
    zeros = lambda: jax.tree.map(jnp.zeros_like, params)
    tokens = lambda: jnp.asarray(rng.integers(0, c.vocab, (c.batch, c.seq), dtype=np.int32))
    return params, {"m": zeros(), "v": zeros(), "t": jnp.zeros((), jnp.int32)}, tokens(), tokens()


VARIANTS = {
    **{kept: {"kept": kept, "qk_norm": kept == "op"} for kept in llama.KEPT},
    "gelu, tied": {"activation": "gelu", "tied": True},
    "relu2": {"activation": "relu2"},
    # A rank has one of them.
    "two sequences": {"batch": 2},
}


@pytest.mark.parametrize("variant", days(VARIANTS, ["op", "full"]))
def test_loss_is_that_of_jax(variant):
    c = dataclasses.replace(SMALL, **VARIANTS[variant])
    arguments = inputs(c)
    plain = dataclasses.replace(c, kept="none")
    mesh = jax.make_mesh((1,) * 5, run_plans.AXES, (jax.sharding.AxisType.Auto,) * 5)
    with jax.set_mesh(mesh):
        loss = jax.jit(llama.loss_fn, static_argnums=0)
        wanted = float(loss(plain, arguments[0], *arguments[2:]))
    module = llama.export(c, {**dict.fromkeys(run_plans.AXES, 1), "fsdp": 2, "tp": 2})
    assert abs(float(weft.compile(module)(*arguments)[2]) - wanted) <= 0.01 * wanted


@pytest.mark.nightly
def test_parts_of_a_sequence_have_the_loss_of_the_whole():
    arguments = inputs(SMALL)
    losses = []
    for parts in (1, 4):
        module = llama.export(SMALL, {**dict.fromkeys(run_plans.AXES, 1), "cp": parts})
        losses.append(float(weft.compile(module)(*arguments)[2]))
    assert abs(losses[0] - losses[1]) <= 0.01 * losses[0]


def test_every_run_has_its_settings():
    systems = run_plans.SYSTEMS
    assert len({run["id"] for run in runs.RUNS}) == len(runs.RUNS)
    for run in runs.RUNS:
        assert run["kept"] in llama.KEPT and len(run["dims"]) == 7 and run["source"]
        assert run["batch"] % run_plans.count_data_ranks(run) == 0
        own_kernels = systems["machines"][run["machine"]].get("attention", {})
        assert own_kernels.get(run["attention"], run["attention"]) in systems["attention"]
        assert run.get("kept_quantized", "none") in llama.KEPT
        assert run.get("scales", run["quantize"]) in {None, *run_costs.CAST_BYTES}
        assert run["framework"] in systems["frameworks"] and run["tokens_per_s_per_gpu"] > 0
    for group in systems.values():
        assert all(entry["source"] for entry in group.values())


def test_half_of_the_runs_calibrate():
    count = sum(map(runs.calibrates, runs.RUNS))
    assert abs(count - len(runs.RUNS) / 2) <= len(runs.RUNS) / 20


def test_figures_of_few_layers_are_extended():
    assert run_plans.extend(2, 4, 1.0, 1.5, 32) == 8.5


def test_parameters_are_those_of_the_model():
    run = {"dims": [32, 4096, 32, 8, 128, 14336, 128256]}
    assert abs(run_costs.count_parameters(run) / 8.03e9 - 1) < 0.001


def test_a_clock_scales_what_is_computed():
    whole, half = (run_plans.make_machine("h100-500w", "fa2", clock) for clock in (1, 0.5))
    rate = lambda machine: machine["compute"]["flops"]["bf16"]["per_s"]
    assert rate(half) * 2 == rate(whole) and half["memory"] == whole["memory"]


def test_products_have_the_measured_ratio():
    for name, kind, ratio in (("h100-dgx", "f8", 1.9), ("b200-dgx", "f4", 3.48)):
        flops = run_plans.make_machine(name)["compute"]["flops"]
        assert abs(run_plans.reach(flops[kind]) / run_plans.reach(flops["bf16"]) - ratio) < 1e-6


def test_attention_is_that_measured_on_the_gpu():
    def rate(machine, kernel):
        attention = run_plans.make_machine(machine, kernel)["compute"]["attention"]
        return dict(map(tuple, attention["forward"]["efficiency_by_keys"]))[4096]
    assert rate("h100-dgx", "cudnn") == 0.535 and rate("b200-dgx", "cudnn") == 0.615
    assert rate("b200-dgx", "cudnn-fp8") == 0.668


# A layer of Llama 8B: 4,096 wide, 32 and 8 heads of 128, 14,336 in the middle.
LAYER = {"dims": [1, 4096, 32, 8, 128, 14336, 128256], "batch": 1, "sequence": 8192,
         "mesh": {"fsdp": 1}, "kept": "none", "quantize": "fp8"}
MEMORY = {"memory": {"bytes_per_s": 1e12}}


def test_casts_of_a_layer():
    # Inputs after attention and activation; gradients of q, k, v, gate and up; twice the width
    # for gradients of results, and twice for norms, where their casts wait for a scale.
    split, widths, weights = 4096 + 14336 + 6144 + 2 * 14336, 2 * 4096, 218_103_808
    seconds = lambda run: run_costs.cast_seconds(run, MEMORY) * 1e12 / 8192
    assert seconds(LAYER) * 0.93 == pytest.approx(6 * (split + 2 * widths))
    assert seconds({**LAYER, "scales": "delayed"}) == pytest.approx(4 * (split + widths))
    again = {**LAYER, "kept": "attention", "quantize": "nvfp4"}
    twice = 2 * (4096 + 14336) + 6144 + 2 * 14336 + 3 * widths
    assert seconds(again) * 0.66 == pytest.approx(5.125 * twice)
    assert run_costs.cast_weight_seconds(LAYER, MEMORY) == 0
    assert run_costs.cast_weight_seconds(again, MEMORY) * 1e12 * 0.66 == \
        pytest.approx(2 * 5.125 * weights)


def test_sums_of_gradients():
    parameters = 218_103_808 + 4096 * 128256
    assert run_costs.sum_seconds(LAYER, MEMORY) * 1e12 == pytest.approx(6 * parameters)


def test_parts_of_a_simulated_step():
    printed = """\
channel                  collectives       received            busy         exposed
gather.fsdp                       16      775.2 MiB        3.305 ms        0.555 ms
amax.fsdp                         17        0.0 MiB        0.255 ms        2.006 ms
reduce.fsdp                       16     1113.0 MiB        4.441 ms        3.939 ms
activation.tp                      1        0.1 MiB        0.017 ms        0.000 ms
exposed longest:
         1.826 ms of        0.015 ms  all_reduce #1
"""
    assert run_plans.read_channels(printed) == pytest.approx((0.002006, 0.007746))
    events = [{"cat": "compute", "name": "kernel #1", "dur": 3.0},
              {"cat": "compute", "name": "matmul w", "dur": 5.0},
              {"cat": "wait", "name": "kernel", "dur": 7.0}, {"name": "thread_name"}]
    assert run_plans.sum_kernels(events) == 3e-6


@pytest.mark.parametrize("name", ["r031", "r033"])
def test_runs_are_planned_as_long_as_they_took(name, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["runs.py", "--run", name])
    run = next(run for run in runs.RUNS if run["id"] == name)
    row = runs.predict(run_plans.Planner(tmp_path, BUILD), run, runs.arguments())
    assert abs(row["time_error"]) <= 0.1
    assert abs(row.get("memory_error", 0)) <= 0.1
