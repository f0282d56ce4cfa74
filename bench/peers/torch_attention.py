#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled_dot_product_attention, as the peer of bench/attention/compare.py.

Each line of the standard input is a case, as bench/attention/attention_bench.cpp
has them; each gives a line: seconds of the forward pass and of the gradient.
"""
import sys
import time

import torch
from torch.nn.functional import scaled_dot_product_attention


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    before = None
    for line in sys.stdin:
        name, heads, queries, keys, depth, mask = line.split()[:6]
        causal = mask == "causal"

        def step():
            begin = clock()
            out = scaled_dot_product_attention(q, k, v, is_causal=causal)
            middle = clock()
            torch.autograd.grad(out, (q, k, v), dout)
            return middle - begin, clock() - middle

        if line != before:
            dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[name]

            def random(length):
                return (2 * torch.rand(1, int(heads), int(length), int(depth)) - 1).to(dtype)

            q, k, v = (random(n).requires_grad_() for n in (queries, keys, keys))
            dout = random(queries)
            before = line
            step()
        forward, gradient = step()
        print(f"{forward:.6f} {gradient:.6f}", flush=True)


if __name__ == "__main__":
    main()
