# SPDX-License-Identifier: Apache-2.0

"""Families of other fields, of sizes that few meshes divide: tagging with a chain of states, rendering of rays,
policies and values of games, pairs of residues, learning to learn, images in windows that shift.

Written as in families.py, each for the axes dp, fsdp and tp.
"""

import jax
import jax.numpy as jnp
import numpy as np
from families import BATCH, Draw, layer_norm, norm_weights
from jax import lax
from jax.sharding import PartitionSpec as P
from optimizers import adam, adam_shardings, adam_state, momentum, momentum_shardings, momentum_state, sgd

# -- a conditional random field: the sum over all paths is a scan, and what a path weighs lookups of two subscripts

def crf():
    batch, length, words, d, tags = 5, 7, 19, 6, 5
    draw = Draw(51)
    params = {"embed": draw.normal(words, d, scale=0.5), "filters": draw.normal(3, d, d, scale=0.4),
              "out": draw.normal(d, tags, scale=0.5), "pairs": draw.normal(tags, tags, scale=0.5), "first": draw.normal(tags)}
    specs = {"embed": P("tp", "fsdp"), "filters": P(None, "fsdp", "tp"), "out": P("tp", None), "pairs": P("fsdp", "tp"), "first": P()}

    def loss_fn(params, tokens, gold, lengths):
        x = params["embed"][tokens]
        around = jnp.pad(x, ((0, 0), (1, 1), (0, 0)))
        x = jax.nn.elu(sum(around[:, k:k + length] @ params["filters"][k] for k in range(3)))
        scores = x @ params["out"]

        def forward(alpha, now):
            score, is_there = now
            following = jax.nn.logsumexp(alpha[:, :, None] + params["pairs"], axis=1) + score
            return jnp.where(is_there[:, None], following, alpha), None
        there = jnp.arange(length)[None] < lengths[:, None]
        over = scores[:, 1:].swapaxes(0, 1), there[:, 1:].swapaxes(0, 1)
        alpha, _ = lax.scan(forward, params["first"] + scores[:, 0], over)
        own = jnp.take_along_axis(scores, gold[..., None], -1)[..., 0]
        steps = jnp.where(there[:, 1:], own[:, 1:] + params["pairs"][gold[:, :-1], gold[:, 1:]], 0)
        path = params["first"][gold[:, 0]] + own[:, 0] + steps.sum(1)
        return jnp.mean(jax.nn.logsumexp(alpha, -1) - path)
    args = params, draw.ints(words, batch, length), draw.ints(tags, batch, length), np.array([7, 3, 1, 5, 6], np.int32)
    return sgd(loss_fn), args, (specs, P(BATCH), P(BATCH), P(BATCH)), 0


# -- radiance fields: running products along rays, and more samples where the first ones found something

def nerf():
    rays, coarse, fine, waves, width = 9, 6, 5, 3, 14
    draw = Draw(52)

    def field():
        return {"in": draw.normal(3 + 6 * waves, width, scale=0.4), "mid": draw.normal(width, width, scale=0.4),
                "out": draw.normal(width, 4, scale=0.5), "b": draw.normal(width)}
    params = {"coarse": field(), "fine": field()}
    one = {"in": P("fsdp", "tp"), "mid": P("tp", "fsdp"), "out": P("tp"), "b": P("tp")}
    specs = {"coarse": one, "fine": one}

    def shine(w, points):
        scaled = points[..., None, :] * 2.0 ** jnp.arange(waves)[:, None]
        encoded = jnp.concatenate([jnp.sin(scaled), jnp.cos(scaled)], -1).reshape(*points.shape[:-1], -1)
        h = jax.nn.softplus(jnp.concatenate([points, encoded], -1) @ w["in"] + w["b"])
        out = jax.nn.softplus(h @ w["mid"]) @ w["out"]
        return jax.nn.softplus(out[..., 0]), jax.nn.sigmoid(out[..., 1:])

    def render(w, origins, directions, depths):
        density, color = shine(w, origins[:, None] + depths[..., None] * directions[:, None])
        gaps = jnp.concatenate([jnp.diff(depths, axis=1), jnp.full((rays, 1), 0.4)], 1)
        stays = jnp.exp(-density * gaps)
        reaches = jnp.cumprod(jnp.concatenate([jnp.ones((rays, 1)), stays[:, :-1]], 1), 1)
        weights = reaches * (1 - stays)
        return jnp.einsum("rs,rsc->rc", weights, color), weights

    def resample(depths, weights):
        share = jnp.cumsum(lax.stop_gradient(weights) + 1e-2, 1)
        share = share / share[:, -1:]
        wanted = (jnp.arange(fine) + 0.5) / fine
        place = jnp.clip(jnp.sum(share[:, None] < wanted[None, :, None], -1), 0, coarse - 2)
        low, high = (jnp.take_along_axis(depths, place + k, 1) for k in (0, 1))
        return jnp.sort(jnp.concatenate([depths, (low + high) / 2], 1), 1)

    def loss_fn(params, origins, directions, colors):
        directions = directions / jnp.linalg.norm(directions, axis=-1, keepdims=True)
        depths = jnp.broadcast_to(jnp.linspace(0.5, 3.0, coarse), (rays, coarse))
        first, weights = render(params["coarse"], origins, directions, depths)
        second, _ = render(params["fine"], origins, directions, resample(depths, weights))
        return jnp.mean((first - colors) ** 2) + jnp.mean((second - colors) ** 2)
    args = adam_state(params), draw.normal(rays, 3, scale=1), draw.normal(rays, 3, scale=1), np.abs(draw.normal(rays, 3, scale=0.5))
    return adam(loss_fn), args, (adam_shardings(specs), P(BATCH), P(BATCH), P(BATCH)), 0


# -- policies and values: advantages from the end to the begin, evened out over all of the batch, and ratios that are clipped

def ppo():
    games, moves, seen, width, actions = 6, 5, 7, 10, 3
    draw = Draw(53)
    params = {"body": draw.normal(seen, width, scale=0.5), "scale": np.ones(width, np.float32),
              "policy": draw.normal(width, actions, scale=0.5), "value": draw.normal(width, 1, scale=0.5)}
    specs = {"body": P("fsdp", "tp"), "scale": P("tp"), "policy": P("tp", "fsdp"), "value": P("tp")}

    def loss_fn(params, states, acts, old, rewards, ended):
        h = jnp.tanh(states @ params["body"] * params["scale"])
        logits, values = h @ params["policy"], (h @ params["value"])[..., 0]
        fixed = lax.stop_gradient(values)

        def back(after, now):
            reward, value, following, goes_on = now
            after = reward + 0.9 * following * goes_on - value + 0.9 * 0.95 * goes_on * after
            return after, after
        goes_on = 1 - ended.astype(jnp.float32)
        following = jnp.concatenate([fixed[:, 1:], jnp.zeros((games, 1))], 1)
        over = jax.tree.map(lambda t: t.T, (rewards, fixed, following, goes_on))
        advantages = lax.scan(back, jnp.zeros(games), over, reverse=True)[1].T
        targets = advantages + fixed
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-4)
        logs = jax.nn.log_softmax(logits)
        taken = jnp.take_along_axis(logs, acts[..., None], -1)[..., 0]
        ratio = jnp.exp(taken - old)
        gain = jnp.minimum(ratio * advantages, jnp.clip(ratio, 0.8, 1.2) * advantages)
        entropy = -jnp.sum(jnp.exp(logs) * logs, -1)
        return -gain.mean() + 0.5 * jnp.mean((values - targets) ** 2) - 0.01 * entropy.mean()
    old = np.log(np.abs(draw.normal(games, moves, scale=0.3)) + 0.05).astype(np.float32)
    args = (adam_state(params), draw.normal(games, moves, seen, scale=1), draw.ints(actions, games, moves), old,
            draw.normal(games, moves, scale=1), draw.ints(5, games, moves) == 0)
    return adam(loss_fn), args, (adam_shardings(specs), *[P(BATCH)] * 5), 0


# -- pairs of residues: products around triangles, attention along rows that pairs bias, and weights updated by an iteration of matrices

def triangles():
    rows, length, d, pair, heads = 3, 5, 6, 4, 2
    draw = Draw(54)
    params = {"qkv": draw.normal(3, d, heads, 3, scale=0.4), "bias": draw.normal(pair, heads, scale=0.4), "out": draw.normal(heads, 3, d, scale=0.4),
              "left": draw.normal(pair, pair, scale=0.4), "right": draw.normal(pair, pair, scale=0.4), "gate": draw.normal(pair, pair, scale=0.4),
              "outer": draw.normal(2, d, 2, scale=0.4), "fold": draw.normal(4, pair, scale=0.4), "norm": norm_weights(pair), "far": draw.normal(pair, 1)}
    specs = {"qkv": P(None, "fsdp", "tp"), "bias": P(None, "tp"), "out": P("tp", None, "fsdp"), "left": P("fsdp", "tp"), "right": P("fsdp", "tp"),
             "gate": P("tp", "fsdp"), "outer": P(None, "fsdp"), "fold": P("tp"), "norm": {"scale": P(), "bias": P()}, "far": P()}

    def loss_fn(params, x, pairs, target):
        q, k, v = jnp.einsum("rnd,cdhe->crnhe", x, params["qkv"])
        bias = jnp.einsum("ijp,ph->hij", pairs, params["bias"])
        share = jax.nn.softmax(jnp.einsum("rihe,rjhe->rhij", q, k) * 0.5 + bias[None], -1)
        x = x + jnp.einsum("rhij,rjhe,hed->rid", share, v, params["out"])
        a, b = jnp.einsum("rnd,cdo->crno", x, params["outer"])
        pairs = pairs + jnp.einsum("rio,rjp->ijop", a, b).reshape(length, length, 4) / rows @ params["fold"]
        normal = layer_norm(pairs, params["norm"])
        left, right = jax.nn.sigmoid(normal @ params["left"]), normal @ params["right"]
        pairs = pairs + jax.nn.sigmoid(normal @ params["gate"]) * (
            jnp.einsum("ikp,jkp->ijp", left, right) + jnp.einsum("kip,kjp->ijp", left, right))
        far = (pairs + pairs.swapaxes(0, 1)) @ params["far"]
        return jnp.mean((far[..., 0] - target) ** 2)

    def orthogonal(g):
        """Newton and Schulz's iteration, of a matrix whose rows are not more than its columns."""
        if g.ndim != 2 or 1 in g.shape:
            return g
        m = g if g.shape[0] <= g.shape[1] else g.T
        m = m / (jnp.linalg.norm(m) + 1e-3)
        for _ in range(3):
            square = m @ m.T
            m = 1.5 * m - 0.5 * square @ m
        return m if g.shape[0] <= g.shape[1] else m.T

    def step(state, *data):
        loss, grads = jax.value_and_grad(loss_fn)(state["params"], *data)
        trace = jax.tree.map(lambda m, g: 0.9 * m + g, state["trace"], grads)
        params = jax.tree.map(lambda p, m: p - 0.02 * orthogonal(m), state["params"], trace)
        return {"params": params, "trace": trace}, {"loss": loss, "grads": grads}
    state = {"params": params, "trace": jax.tree.map(np.zeros_like, params)}
    target = draw.normal(length, length, scale=1)
    args = state, draw.normal(rows, length, d, scale=1), draw.normal(length, length, pair, scale=1), target
    return step, args, ({"params": specs, "trace": specs}, P(None, BATCH), P(BATCH, "tp"), P(BATCH)), 0


# -- learning to learn: the gradient goes through gradient steps of each task, and the loss asks for second derivatives

def meta():
    tasks, points, width = 7, 5, 9
    draw = Draw(55)
    params = {"up": draw.normal(2, width, scale=0.7), "mid": draw.normal(width, width, scale=0.4), "down": draw.normal(width, scale=0.5),
              "rates": np.full(3, 0.1, np.float32)}
    specs = {"up": P(None, "tp"), "mid": P("tp", "fsdp"), "down": P("fsdp"), "rates": P()}

    def field(w, at):
        return jnp.tanh(jnp.tanh(at @ w["up"]) @ w["mid"]) @ w["down"]

    def residual(w, at, values, speed):
        """Of a wave: the second derivative along one axis is that along the other one times the speed."""
        def bend(at, axis):
            unit = jnp.eye(2)[axis]
            slope = lambda at: jax.jvp(lambda at: field(w, at), (at,), (unit,))[1]
            return jax.jvp(slope, (at,), (unit,))[1]
        inner = jax.vmap(lambda at: bend(at, 0) - speed * bend(at, 1))(at)
        return jnp.mean(inner ** 2) + jnp.mean((field(w, at) - values) ** 2)

    def loss_fn(params, at, values, speeds):
        def task(at, values, speed):
            w = {k: params[k] for k in ("up", "mid", "down")}
            for _ in range(2):
                grads = jax.grad(residual)(w, at, values, speed)
                w = {k: w[k] - params["rates"][i] * grads[k] for i, k in enumerate(w)}
            return residual(w, at[::-1], values[::-1], speed)
        return jnp.mean(jax.vmap(task)(at, values, speeds))
    args = momentum_state(params), draw.normal(tasks, points, 2, scale=1), draw.normal(tasks, points), np.abs(draw.normal(tasks, scale=1))
    return momentum(loss_fn), args, (momentum_shardings(specs), P(BATCH), P(BATCH), P(BATCH)), 0


# -- images in windows that shift around, with places told by a table of distances, parts merged, and moments of the batch

def swin():
    batch, size, window, d, heads, classes = 5, 6, 3, 6, 2, 5
    draw = Draw(56)

    def layer():
        return {"qkv": draw.normal(d, 3, heads, d // heads, scale=0.4), "out": draw.normal(heads, d // heads, d, scale=0.4),
                "places": draw.normal((2 * window - 1) ** 2, heads, scale=0.3)}
    params = {"patch": draw.normal(3, d, scale=0.5), "layers": [layer(), layer()], "merge": draw.normal(4 * d, 7, scale=0.3),
              "scale": np.ones(7, np.float32), "head": draw.normal(7, classes, scale=0.5)}
    one = {"qkv": P("fsdp", None, "tp"), "out": P("tp", None, "fsdp"), "places": P(None, "tp")}
    specs = {"patch": P(None, "tp"), "layers": [one, one], "merge": P("fsdp", "tp"), "scale": P("tp"), "head": P("tp", "fsdp")}
    at = np.stack(np.meshgrid(np.arange(window), np.arange(window), indexing="ij"), -1).reshape(-1, 2)
    apart = at[:, None] - at[None] + window - 1
    distances = apart[..., 0] * (2 * window - 1) + apart[..., 1]
    area = np.zeros((size, size), np.int32)
    for i, (low, high) in enumerate([(0, 3), (3, 5), (5, 6)]):
        area[low:high] += 3 * i
        area[:, low:high] += i

    def cut(x):
        n = size // window
        x = x.reshape(-1, n, window, n, window, x.shape[-1]).transpose(0, 1, 3, 2, 4, 5)
        return x.reshape(x.shape[0], n * n, window * window, -1)

    def attend(x, w, shift):
        x = jnp.roll(x, (-shift, -shift), (1, 2))
        q, k, v = jnp.moveaxis(jnp.einsum("bwnd,dche->bwnche", cut(x), w["qkv"]), 3, 0)
        scores = jnp.einsum("bwqhe,bwkhe->bwhqk", q, k) * 0.6 + w["places"][distances].transpose(2, 0, 1)
        if shift:
            areas = cut(jnp.asarray(area)[None, ..., None])[..., 0]
            scores = jnp.where((areas[..., None] == areas[..., None, :])[:, :, None], scores, -1e9)
        out = jnp.einsum("bwhqk,bwkhe,hed->bwqd", jax.nn.softmax(scores, -1), v, w["out"])
        n = size // window
        out = out.reshape(batch, n, n, window, window, d).transpose(0, 1, 3, 2, 4, 5).reshape(batch, size, size, d)
        return jnp.roll(out, (shift, shift), (1, 2))

    def loss_fn(params, images, labels):
        x = images @ params["patch"]
        for i, w in enumerate(params["layers"]):
            x = x + attend(x, w, i)
        x = jnp.concatenate([x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)], -1) @ params["merge"]
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        x = jax.nn.hard_swish((x - mean) * lax.rsqrt(variance + 1e-4) * params["scale"])
        logits = x.mean((1, 2)) @ params["head"]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1))
    args = params, draw.normal(batch, size, size, 3, scale=1), draw.ints(classes, batch)
    return sgd(loss_fn), args, (specs, P(BATCH), P(BATCH)), 0


FAMILIES = {"crf": crf, "nerf": nerf, "ppo": ppo, "triangles": triangles, "meta": meta, "swin": swin}
