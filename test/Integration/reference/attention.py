# SPDX-License-Identifier: Apache-2.0

"""weft.attention and its gradient in float64."""

import re

import numpy as np

from elements import dtype_of

LETTERS = "abcdefghijklmnopqrstuvwxyz"
INPUTS = ("q", "k", "v", "bias", "mask", "q_segments", "k_segments", "low_seeds", "high_seeds", "out", "lse", "dout")


def parts_of(names, values, maps):
    """name -> (array, letters of its loops)."""
    return {name: (value, "".join(LETTERS[loop] for loop in loops))
            for name, value, loops in zip(names, values, maps)}


def spread(part, to):
    """The array with the dimensions `to`, of size one where it has none."""
    array, letters = part
    order = [letters.index(letter) for letter in to if letter in letters]
    shape = [array.shape[letters.index(letter)] if letter in letters else 1 for letter in to]
    return array.transpose(order).reshape(shape)


def threefry(key, counter):
    """The two words of random bits: Salmon et al., \"Parallel random numbers\", in 20 rounds."""
    keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA]
    x, y = ((word + own) % 2**32 for word, own in zip(counter, keys))
    for step in range(20):
        by = (13, 15, 26, 6, 17, 29, 16, 24)[step % 8]
        x = (x + y) % 2**32
        y = (y << by | y >> 32 - by) % 2**32 ^ x
        if step % 4 == 3:
            group = step // 4 + 1
            x = (x + keys[group % 3]) % 2**32
            y = (y + keys[(group + 1) % 3] + group) % 2**32
    return x, y


def retained(parts, letters, keys, rate):
    """What weights are multiplied by, with the dimensions `letters`, the last one that of keys."""
    if not rate:
        return 1.0
    seeds = [spread(parts[name], letters).astype(np.int64) % 2**32 for name in ("low_seeds", "high_seeds")]
    key = np.arange(keys)
    words = threefry(seeds, (key // 32 * 16 + key % 16, 0 * key))
    bits = np.where(key % 32 < 16, *words)
    return np.where(bits < np.floor(float(rate) * 2**32), 0, 1 / (1 - float(rate)))


class Scores:
    """Scores and weights with a dimension for each loop but depth and value."""

    def __init__(self, parts, count, config, start):
        self.loops, self.config = LETTERS[:count], config
        query, key = self.loops[-4], self.loops[-3]
        self.letters = self.loops[:-2]
        q, k = parts["q"], parts["k"]
        product = np.einsum(f"{q[1]},{k[1]}->{self.letters}", q[0], k[0])
        self.capped = product * config["scale"]
        if config.get("softcap"):
            self.capped = config["softcap"] * np.tanh(self.capped / config["softcap"])
        self.scores = self.capped
        if "bias" in parts:
            self.scores = self.scores + spread(parts["bias"], self.letters)
        self.mask = spread(parts["mask"], self.letters).astype(bool) if "mask" in parts else None
        if self.mask is not None:
            self.scores = np.where(self.mask, self.scores, config.get("fill", -np.inf))
        self.retained = retained(parts, self.letters, k[0].shape[k[1].index(key)], config.get("dropout"))
        self.seen = self._seen(parts, start, q[0].shape[q[1].index(query)], k[0].shape[k[1].index(key)])

    def _seen(self, parts, start, queries, keys):
        position, key = start + np.arange(queries)[:, None], np.arange(keys)[None, :]
        seen = np.ones((queries, keys), bool)
        if self.config.get("left") is not None:
            seen &= key >= position - self.config["left"]
        if self.config.get("right") is not None:
            seen &= key <= position + self.config["right"]
        if "q_segments" in parts:
            seen = seen & (spread(parts["q_segments"], self.letters) == spread(parts["k_segments"], self.letters))
        return seen

    def lse(self):
        """With dimensions of size one for keys."""
        scores = np.where(self.seen, self.scores, -np.inf)
        highest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
        base = np.where(np.isinf(highest), 0, highest)
        with np.errstate(divide="ignore"):
            return np.log(np.exp(scores - base).sum(axis=-1, keepdims=True)) + base

    def weights(self, lse):
        with np.errstate(over="ignore"):
            weights = np.exp(self.scores - np.where(np.isinf(lse), 0, lse))
        return np.where(self.seen, weights, 0)


def wide(parts):
    return {name: (array if array.dtype.kind in "bi" else array.astype(np.float64), letters)
            for name, (array, letters) in parts.items()}


def attention(names, values, maps, count, config, start=0):
    """The output and the log of the sums, in the layouts of the last two maps."""
    parts = wide(parts_of(names, values, maps))
    scores = Scores(parts, count, config, start)
    lse = scores.lse()
    out, made = ("".join(LETTERS[loop] for loop in loops) for loops in maps[-2:])
    shape = np.broadcast(scores.scores, scores.seen).shape
    weights = np.broadcast_to(scores.weights(lse) * scores.retained, shape)
    summed = np.einsum(f"{scores.letters},{parts['v'][1]}->{out}", weights, parts["v"][0])
    rows = scores.letters[:-1]
    return summed, np.broadcast_to(lse[..., 0], shape[:-1]).transpose([rows.index(x) for x in made])


def attention_grad(names, values, maps, count, config, start=0):
    """The gradients of queries, keys and values, in the layouts of the last three maps."""
    parts = wide(parts_of(names, values, maps))
    scores = Scores(parts, count, config, start)
    rows = scores.letters[:-1]
    # The lse that is given may be rounded: what is lost in one like -1e30 is not in this.
    weights = scores.weights(scores.lse())
    out, dout = parts["out"], parts["dout"]
    delta = np.einsum(f"{out[1]},{dout[1]}->{rows}", out[0], dout[0])[..., None]
    change = np.einsum(f"{dout[1]},{parts['v'][1]}->{scores.letters}", dout[0], parts["v"][0])
    grad = weights * (change * scores.retained - delta)
    if scores.mask is not None:
        grad = np.where(scores.mask, grad, 0)
    if config.get("softcap"):
        grad = grad * (1 - np.square(scores.capped / config["softcap"]))
    grad = grad * config["scale"]
    dq, dk, dv = ("".join(LETTERS[loop] for loop in loops) for loops in maps[-3:])
    return (np.einsum(f"{scores.letters},{parts['k'][1]}->{dq}", grad, parts["k"][0]),
            np.einsum(f"{scores.letters},{parts['q'][1]}->{dk}", grad, parts["q"][0]),
            np.einsum(f"{scores.letters},{dout[1]}->{dv}", weights * scores.retained, dout[0]))


def number(text):
    """A float as MLIR writes it: decimal, or the bits of an f32."""
    if text.startswith("0x"):
        return float(np.uint32(int(text, 16)).view(np.float32))
    return float(text)


def read_config(text):
    """The fields of #weft.attention<scale = ..., ...>."""
    inside = text[text.index("<") + 1:text.rindex(">")]
    fields = (field.split("=") for field in inside.split(","))
    read = {name.strip(): value.split(":")[0].strip() for name, value in fields}
    return {name: int(value) if name in ("left", "right") else number(value) for name, value in read.items()}


def evaluate(op, operands):
    """The results of the op, in its types."""
    sizes = op.attrs["operandSegmentSizes"]
    operands = list(operands)
    start = int(operands.pop()) if sizes[-1] else 0
    names = [name for name, size in zip(INPUTS, sizes) if size]
    maps = [[int(re.fullmatch(r"d\[(\d+)\]", expr).group(1)) for expr in entry.results]
            for entry in op.attrs["indexing_maps"]]
    compute = attention if op.name == "weft.attention" else attention_grad
    count = op.attrs["indexing_maps"][0].num_dims
    made = compute(names, operands, maps, count, read_config(op.attrs["config"].text), start)
    return [np.asarray(array).astype(dtype_of(type)) for array, type in zip(made, op.result_types)]
