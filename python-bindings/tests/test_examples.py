# SPDX-License-Identifier: Apache-2.0

"""The shipped examples, compiled from their files, beside JAX; and Qwen3 beside PyTorch."""

import functools

import jax
import numpy as np
import pytest
import torch_reference
import weft
from compiled import Exported, assert_agrees, assert_as_close_as_jax, relative_error, run_files
from conftest import ROOT, load, nightly
from jax.sharding import PartitionSpec as P
from optimizers import sgd
from test_compiled import jax_results, sizes
from weft import safetensors

EXAMPLES = {"qwen3": ("qwen3", "f32", "step.mlir"), "qwen3_bf16": ("qwen3", "bf16", "step_bf16.mlir"),
            "qwen3_scan": ("qwen3_scan", "f32", "step.mlir")}


@functools.cache
def example(folder, dtype):
    """The example's model module, configuration and arguments."""
    model = load(f"examples/{folder}/model.py")
    c = model.config("XS", dtype)
    params, tokens, targets = model.init(c)
    return model, c, (params, model.init_optimizer(params), tokens, targets)


@functools.cache
def jax_step(folder, dtype):
    model, c, call = example(folder, dtype)
    return jax_results(model.make_step(c), call)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_shipped_program_is_what_the_script_writes(name):
    """Up to locations, which say where the script was run from."""
    folder, dtype, file = EXAMPLES[name]
    model, c, call = example(folder, dtype)
    ins, outs = model.shardings(c)
    m = weft.jax.export(model.make_step(c), *call, mesh=sizes("eight"), in_shardings=ins, out_shardings=outs,
                        donate_argnums=(0, 1))
    body = lambda text: [line.split(" loc(")[0] for line in text.splitlines() if not line.startswith(("#loc", "//"))]
    assert body(m.text) == body((ROOT / "examples" / folder / file).read_text())


@pytest.mark.parametrize("mesh, name", [
    (mesh, name) if mesh == "eight" or (mesh, name) == ("threes", "qwen3_bf16") else nightly(mesh, name)
    for mesh in ("one", "eight", "threes") for name in EXAMPLES])
def test_the_shipped_program_gives_what_jax_gives(name, mesh, tmp_path):
    folder, dtype, file = EXAMPLES[name]
    module = weft.Module.load(ROOT / "examples" / folder / file)
    tensors = run_files(ROOT / "examples" / folder / file, ROOT / "examples" / folder / "inputs.safetensors",
                        sizes(mesh), tmp_path)
    got = module.out_tree.unflatten([tensors[r.name] for r in module.results])
    if dtype == "f32":
        assert_agrees(module, got, jax_step(folder, dtype), 1e-5)
    else:
        assert_as_close_as_jax(module, got, jax_step(folder, dtype), jax_step(folder, "f32"))


# -- beside PyTorch

def untied(model, c):
    """The example's loss with a head of its own."""
    def loss_fn(params, tokens, targets):
        x, _ = model.embed(c, params, tokens)
        for w in params["layers"]:
            x = model.layer(c, x, w, model.rotary_angles(c))
        return model.head_loss(c, params, x, params["head"], targets)
    return loss_fn


def as_tree(weights):
    layers = [{} for _ in range(torch_reference.LAYERS)]
    tree = {"layers": layers}
    for name, value in weights.items():
        parts = name.split(".")
        (layers[int(parts[1])] if parts[0] == "layers" else tree)[parts[-1]] = value
    return tree


def torch_model():
    r, model = torch_reference, load("examples/qwen3/model.py")
    c = model.Config(r.LAYERS, r.WIDTH, r.HEADS, r.GROUPS, r.SIZE, r.FFN, r.VOCAB, r.SEQ, r.BATCH)
    specs = {**model.param_specs(c), "head": P("tp", "fsdp")}
    stored = safetensors.load(ROOT / "python-bindings/tests/data/torch_reference.safetensors")
    part = lambda root: as_tree({k.removeprefix(root): v for k, v in stored.items() if k.startswith(root)})
    weights, tokens, targets = r.inputs()
    return model, c, specs, (as_tree(weights), tokens, targets), (stored["loss"], part("grads."), part("params."))


@pytest.mark.parametrize("mesh", ["one", "eight", nightly("threes")])
def test_gradients_are_those_of_torch(mesh, tmp_path):
    model, c, specs, (params, *data), (losses, grads, _) = torch_model()
    batch = P(("dp", "fsdp"))
    module = weft.jax.export(sgd(untied(model, c)), params, *data, mesh=sizes("eight"),
                             in_shardings=(specs, batch, batch), donate_argnums=0)
    updated, report = Exported(module, (params, *data), tmp_path).run(sizes(mesh))
    assert relative_error(report["loss"], losses[0]) <= 1e-6
    errors = jax.tree.map(relative_error, report["grads"], grads)
    assert max(jax.tree.leaves(errors)) <= 1e-5
    stepped = jax.tree.map(lambda p, g: p - np.float32(0.1) * g, params, grads)
    assert max(jax.tree.leaves(jax.tree.map(relative_error, updated, stepped))) <= 1e-5


def test_weights_after_three_steps_are_those_of_torch(tmp_path):
    model, c, specs, (params, *data), (losses, _, weights) = torch_model()
    decayed = jax.tree.map(lambda p: P("every tensor decays"), params)

    def step(params, opt, tokens, targets):
        loss, grads = jax.value_and_grad(untied(model, c))(params, tokens, targets)
        return *model.adamw(c, params, grads, opt, decayed), loss
    opt, batch = {"m": specs, "v": specs, "t": P()}, P(("dp", "fsdp"))
    call = (params, model.init_optimizer(params), *data)
    module = weft.jax.export(step, *call, mesh=sizes("eight"), in_shardings=(specs, opt, batch, batch),
                             donate_argnums=(0, 1))
    updated, _, loss = Exported(module, call, tmp_path).run(sizes("eight"), steps=torch_reference.STEPS)
    assert relative_error(loss, losses[-1]) <= 1e-5
    assert max(jax.tree.leaves(jax.tree.map(relative_error, updated, weights))) <= 1e-5
