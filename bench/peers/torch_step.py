#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Qwen3-style step under PyTorch, as the peer: on this machine's CPU, or (--device
cuda; eager and compile) on its first GPU.

  eager    one process
  compile  one process; torch.compile of each layer and of the head
  fsdp     one process per rank over gloo: FSDP2, a unit per layer
  tp       one process per rank over gloo: tensor parallelism written by hand, with
           all-reduces where the sums over ranks are due

Weights, tokens and targets are those of examples/qwen3, so that the losses are
comparable. bf16 means f32 master weights and moments, and bf16 in the model.
Prints one JSON object: compile_s (time of the first step beyond an ordinary one),
step_ms_median, step_ms (all), peak_rss_mb (sum over processes), losses.
"""
import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections import namedtuple

import sizes

Config = namedtuple("Config", "layers d_model heads kv_heads head_dim ffn vocab seq batch")
CONFIGS = {
    "XS": Config(2, 64, 4, 2, 16, 128, 256, 32, 8),
    "S": Config(2, 256, 4, 2, 64, 768, 1024, 128, 8),
    "M": Config(4, 512, 8, 4, 64, 1536, 4096, 256, 8),
    "Q06": Config(2, 1024, 16, 8, 128, 3072, 16384, 256, 8),
    **{name: Config(*fields) for name, fields in sizes.QWEN3.items()},
}
EPS = 1e-6


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", choices=CONFIGS, default="M")
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--mode", choices=["eager", "compile", "fsdp", "tp"], default="eager")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--ranks", type=int, default=4, help="processes of fsdp and tp")
    parser.add_argument("--threads", type=int, default=os.cpu_count(),
                        help="of all processes together; each has at least one")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--gemm", action="store_true",
                        help="measure the rate of a matrix product instead; prints gflop_per_s")
    options = parser.parse_args()
    if options.mode in ("eager", "compile"):
        options.ranks = 1
    c = CONFIGS[options.config]
    if options.mode == "tp" and c.kv_heads % options.ranks:
        parser.error(f"{options.ranks} ranks do not divide {c.kv_heads} key heads")
    if options.mode == "fsdp" and c.batch % options.ranks:
        parser.error(f"{options.ranks} ranks do not divide a batch of {c.batch}")
    return options


if __name__ == "__main__":  # threads are decided before torch is imported
    OPTIONS = arguments()
    os.environ["OMP_NUM_THREADS"] = str(max(1, OPTIONS.threads // OPTIONS.ranks))

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402


def draw(c):
    """Weights, tokens and targets as examples/qwen3/model.py draws them."""
    random = np.random.default_rng(0)
    tokens, targets = (random.integers(0, c.vocab, (c.batch, c.seq), dtype=np.int32)
                       for _ in range(2))
    d, q, kv = c.d_model, c.heads * c.head_dim, c.kv_heads * c.head_dim

    def normal(rows, columns, deviation):
        return random.standard_normal((rows, columns), np.float32) * np.float32(deviation)
    weights = {"embed": normal(c.vocab, d, 0.02)}
    for i in range(c.layers):
        for name, rows, columns in (("wq", d, q), ("wk", d, kv), ("wv", d, kv), ("wo", q, d),
                                    ("w_gate", d, c.ffn), ("w_up", d, c.ffn),
                                    ("w_down", c.ffn, d)):
            weights[f"{i}.{name}"] = normal(rows, columns, rows ** -0.5)
    return weights, torch.from_numpy(tokens).long(), torch.from_numpy(targets).long()


# -- tensor parallelism: a region of ranks that each hold a part of the columns

class Enter(torch.autograd.Function):
    """Every rank uses the whole of x, so its gradient is the sum over ranks."""
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    """The sum over ranks; each rank's part gets the gradient of the sum."""
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class ShardedCrossEntropy(torch.autograd.Function):
    """Mean cross-entropy of logits whose columns from `first` on are here."""
    @staticmethod
    def forward(ctx, logits, targets, first):
        peak = logits.max(-1, keepdim=True).values
        dist.all_reduce(peak, dist.ReduceOp.MAX)
        shifted = logits - peak
        local = targets - first
        is_here = (local >= 0) & (local < logits.shape[-1])
        local = torch.where(is_here, local, 0)
        chosen = shifted.gather(-1, local[:, None])[:, 0] * is_here
        weight = shifted.exp_()
        both = torch.stack([weight.sum(-1), chosen])
        dist.all_reduce(both)
        weight /= both[0][:, None]
        weight.scatter_add_(-1, local[:, None], -is_here[:, None].to(weight.dtype))
        ctx.save_for_backward(weight)
        return (both[0].log() - both[1]).mean()

    @staticmethod
    def backward(ctx, grad):
        weight, = ctx.saved_tensors
        return weight * (grad / weight.shape[0]), None, None


# -- the model

class Linear(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(torch.from_numpy(weight.T).contiguous())

    def forward(self, x):
        return F.linear(x, self.weight)


class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, EPS)


def rotary_angles(c):
    half = c.head_dim // 2
    inverse = torch.exp(torch.arange(half) * (-np.log(1e6) / half))
    angle = torch.arange(c.seq)[:, None] * inverse
    return torch.cos(angle), torch.sin(angle)


def rotate(x, angles):
    cos, sin = angles
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


class Layer(nn.Module):
    """A decoder layer; `part` cuts a weight's rows or columns to this rank's."""
    def __init__(self, c, weights, part, parallel):
        super().__init__()
        self.head_dim = c.head_dim
        self.enter = Enter.apply if parallel else nn.Identity()
        self.leave = Leave.apply if parallel else nn.Identity()
        self.attention_norm, self.mlp_norm = Norm(c.d_model), Norm(c.d_model)
        self.q_norm, self.k_norm = Norm(c.head_dim), Norm(c.head_dim)
        for name in ("wq", "wk", "wv", "w_gate", "w_up"):
            setattr(self, name, Linear(part(weights[name], 1)))
        for name in ("wo", "w_down"):
            setattr(self, name, Linear(part(weights[name], 0)))

    def attention(self, x, angles):
        heads = lambda y: y.unflatten(-1, (-1, self.head_dim))
        q = rotate(self.q_norm(heads(self.wq(x))).transpose(1, 2), angles)
        k = rotate(self.k_norm(heads(self.wk(x))).transpose(1, 2), angles)
        v = heads(self.wv(x)).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.wo(mixed.transpose(1, 2).flatten(2))

    def forward(self, x, angles):
        x = x + self.leave(self.attention(self.enter(self.attention_norm(x)), angles))
        h = self.enter(self.mlp_norm(x))
        return x + self.leave(self.w_down(F.silu(self.w_gate(h)) * self.w_up(h)))


class Model(nn.Module):
    def __init__(self, c, weights, rank, ranks):
        super().__init__()
        self.parallel = ranks > 1
        part = lambda w, dim: np.array_split(w, ranks, dim)[rank]
        self.first = rank * (c.vocab // ranks)
        self.embed = nn.Parameter(torch.from_numpy(part(weights["embed"], 0).copy()))
        self.layers = nn.ModuleList(
            Layer(c, {name.split(".")[1]: w for name, w in weights.items()
                      if name.startswith(f"{i}.")}, part, self.parallel)
            for i in range(c.layers))
        self.final_norm = Norm(c.d_model)
        self.angles = rotary_angles(c)
        self.head = self.whole_head

    def look_up(self, tokens):
        if not self.parallel:
            return F.embedding(tokens, self.embed)
        local = tokens - self.first
        is_here = (local >= 0) & (local < self.embed.shape[0])
        rows = F.embedding(torch.where(is_here, local, 0), self.embed)
        return Leave.apply(rows * is_here[..., None].to(rows.dtype))

    def whole_head(self, x, embed, targets):
        return F.cross_entropy(F.linear(x, embed).float().flatten(0, 1), targets.flatten())

    def forward(self, tokens, targets):
        x = self.look_up(tokens)
        for layer in self.layers:
            x = layer(x, self.angles)
        x = self.final_norm(x)
        if not self.parallel:
            return self.head(x, self.embed, targets)
        logits = F.linear(Enter.apply(x), self.embed).float()
        return ShardedCrossEntropy.apply(logits.flatten(0, 1), targets.flatten(), self.first)


# -- the step

def adamw(params):
    """Decay on matrices only."""
    groups = [{"params": [p for p in params if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in params if p.dim() == 1], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, fused=True)


class Trainer:
    def __init__(self, options, rank):
        c = CONFIGS[options.config]
        weights, tokens, targets = draw(c)
        self.is_tp, self.is_fsdp = options.mode == "tp", options.mode == "fsdp"
        self.model = Model(c, weights, rank if self.is_tp else 0,
                           options.ranks if self.is_tp else 1).to(options.device)
        self.model.angles = tuple(part.to(options.device) for part in self.model.angles)
        tokens, targets = tokens.to(options.device), targets.to(options.device)
        if self.is_fsdp:
            tokens, targets = (t.chunk(options.ranks)[rank] for t in (tokens, targets))
            self.shard(options)
        if options.mode == "compile":
            for layer in self.model.layers:
                layer.compile()
            self.model.head = torch.compile(self.model.whole_head)
        self.data = tokens, targets
        self.params = list(self.model.parameters())
        self.masters = self.params
        if options.dtype == "bf16" and not self.is_fsdp:
            self.masters = [nn.Parameter(p.detach().clone()) for p in self.params]
            self.model.to(torch.bfloat16)
        self.optimizer = adamw(self.masters)

    def shard(self, options):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
        policy = MixedPrecisionPolicy()
        if options.dtype == "bf16":
            policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
        mesh = init_device_mesh("cpu", (options.ranks,))
        for layer in self.model.layers:
            fully_shard(layer, mesh=mesh, mp_policy=policy)
        fully_shard(self.model, mesh=mesh, mp_policy=policy)

    def sum_partial_gradients(self):
        """Norms over a head's values see only this rank's heads."""
        grads = [norm.weight.grad for layer in self.model.layers
                 for norm in (layer.q_norm, layer.k_norm)]
        flat = torch.cat([grad.float() for grad in grads])
        dist.all_reduce(flat)
        for grad, whole in zip(grads, flat.split([grad.numel() for grad in grads])):
            grad.copy_(whole)

    def step(self):
        loss = self.model(*self.data)
        loss.backward()
        if self.is_tp:
            self.sum_partial_gradients()
        if self.masters is not self.params:
            for master, param in zip(self.masters, self.params):
                master.grad, param.grad = param.grad.float(), None
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.masters is not self.params:
            with torch.no_grad():
                torch._foreach_copy_(self.params, self.masters)
        return loss.detach()


def measure(options, rank):
    trainer = Trainer(options, rank)
    losses, times = [], []
    for _ in range(options.steps + 2):
        if options.ranks > 1:
            dist.barrier()
        start = time.perf_counter()
        loss = trainer.step()
        if options.ranks > 1:
            dist.barrier()
        if options.device == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
        if trainer.is_fsdp:
            dist.all_reduce(loss)
            loss /= options.ranks
        losses.append(loss.item())
    more = {"gpu": torch.cuda.get_device_name(), "gpu_peak_mb": round(
        torch.cuda.max_memory_allocated() / 2 ** 20, 1)} if options.device == "cuda" else {}
    peaks = [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]
    if options.ranks > 1:
        everyone = [None] * options.ranks
        dist.all_gather_object(everyone, peaks)
        peaks = sum(everyone, [])
    median = statistics.median(times[2:])
    if rank == 0:
        print(json.dumps({
            "compile_s": round(max(0.0, times[0] - median) / 1e3, 3),
            "step_ms": [round(t, 2) for t in times[2:]], "step_ms_median": round(median, 2),
            "peak_rss_mb": round(sum(peaks), 1), "losses": losses,
            "torch": torch.__version__, **more}), flush=True)


def run_rank(rank, options, folder):
    torch.set_num_threads(max(1, options.threads // options.ranks))
    if options.ranks == 1:
        measure(options, 0)
        return
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank,
                            world_size=options.ranks)
    measure(options, rank)
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # gloo's threads may abort the process when Python takes it down


def measure_gemm(options):
    """The best rate seen of a large square product, all threads busy."""
    dtype = torch.bfloat16 if options.dtype == "bf16" else torch.float32
    a, b = (torch.randn(2048, 2048).to(dtype) for _ in range(2))
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - start)
    print(json.dumps({"gflop_per_s": round(2 * 2048 ** 3 / best / 1e9, 1)}))


def main(options):
    if options.gemm:
        torch.set_num_threads(options.threads)
        measure_gemm(options)
    elif options.ranks == 1:
        run_rank(0, options, None)
    else:
        import torch.multiprocessing as processes
        with tempfile.TemporaryDirectory() as folder:
            processes.spawn(run_rank, (options, folder), nprocs=options.ranks)


if __name__ == "__main__":
    main(OPTIONS)
