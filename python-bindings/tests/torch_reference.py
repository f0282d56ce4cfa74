# SPDX-License-Identifier: Apache-2.0

"""A Qwen3-style step in PyTorch, whose values weft's step of the JAX model is held to.

    python torch_reference.py data/torch_reference.safetensors

Running it needs torch; the tests read the file that it wrote and import only what
stands above `main`. Weights are [in, out], drawn by numpy. The file has the
gradients (grads.NAME) of the first step and the weights (params.NAME) after three
steps of torch's AdamW, which decays every tensor.
"""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

LAYERS, WIDTH, HEADS, GROUPS, SIZE, FFN, VOCAB, SEQ, BATCH = 2, 32, 4, 2, 8, 48, 64, 12, 4
STEPS = 3
ADAMW = dict(lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)


def inputs():
    """Weights by name, tokens and targets; a norm's weights are near one."""
    random = np.random.default_rng(7)
    normal = lambda *shape: random.standard_normal(shape, np.float32)
    q, kv = HEADS * SIZE, GROUPS * SIZE
    matrices = {"wq": (WIDTH, q), "wk": (WIDTH, kv), "wv": (WIDTH, kv), "wo": (q, WIDTH), "w_gate": (WIDTH, FFN),
                "w_up": (WIDTH, FFN), "w_down": (FFN, WIDTH)}
    norms = {"attn_norm": WIDTH, "mlp_norm": WIDTH, "q_norm": SIZE, "k_norm": SIZE}
    weights = {"embed": normal(VOCAB, WIDTH), "head": normal(VOCAB, WIDTH) * np.float32(0.1),
               "final_norm": 1 + normal(WIDTH) * np.float32(0.1)}
    for layer in range(LAYERS):
        for name, shape in matrices.items():
            weights[f"layers.{layer}.{name}"] = normal(*shape) * np.float32(shape[0] ** -0.5)
        for name, size in norms.items():
            weights[f"layers.{layer}.{name}"] = 1 + normal(size) * np.float32(0.1)
    tokens, targets = (random.integers(0, VOCAB, (BATCH, SEQ), dtype=np.int32) for _ in range(2))
    return weights, tokens, targets


def main(path):
    import torch
    import torch.nn.functional as F
    from weft import safetensors

    def rms_norm(x, weight):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight

    def rotate(x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def loss_fn(w, tokens, targets):
        half = SIZE // 2
        angle = torch.arange(SEQ)[:, None] * torch.exp(torch.arange(half) * (-np.log(1e6) / half))
        cos, sin = (torch.cat([f(angle), f(angle)], -1)[None, :, None] for f in (torch.cos, torch.sin))
        x = w["embed"][tokens]
        for layer in range(LAYERS):
            v = {name.split(".")[2]: a for name, a in w.items() if name.startswith(f"layers.{layer}.")}
            h = rms_norm(x, v["attn_norm"])
            split = lambda a: a.view(BATCH, SEQ, -1, SIZE)
            q = rotate(rms_norm(split(h @ v["wq"]), v["q_norm"]), cos, sin).transpose(1, 2)
            k = rotate(rms_norm(split(h @ v["wk"]), v["k_norm"]), cos, sin).transpose(1, 2)
            k, values = (a.repeat_interleave(HEADS // GROUPS, 1) for a in (k, split(h @ v["wv"]).transpose(1, 2)))
            mixed = F.scaled_dot_product_attention(q, k, values, is_causal=True)
            x = x + mixed.transpose(1, 2).reshape(BATCH, SEQ, -1) @ v["wo"]
            h = rms_norm(x, v["mlp_norm"])
            x = x + (F.silu(h @ v["w_gate"]) * (h @ v["w_up"])) @ v["w_down"]
        logits = rms_norm(x, w["final_norm"]) @ w["head"].T
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten().long())

    weights, tokens, targets = inputs()
    weights = {name: torch.tensor(a, requires_grad=True) for name, a in weights.items()}
    optimizer = torch.optim.AdamW(weights.values(), **ADAMW)
    tensors, losses = {}, []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_fn(weights, torch.tensor(tokens), torch.tensor(targets))
        loss.backward()
        if step == 0:
            tensors.update({f"grads.{name}": a.grad.numpy().copy() for name, a in weights.items()})
        losses.append(loss.item())
        optimizer.step()
    tensors.update({f"params.{name}": a.detach().numpy() for name, a in weights.items()})
    tensors["loss"] = np.array(losses, np.float32)
    safetensors.save(path, tensors)
    print(f"torch {torch.__version__}, losses {losses}")


if __name__ == "__main__":
    main(sys.argv[1])
