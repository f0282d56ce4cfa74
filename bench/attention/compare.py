#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft's host attention beside PyTorch's, forward and gradient.

    cmake -S bench/attention -B build-attention-bench && cmake --build build-attention-bench
    bench/attention/compare.py --torch-python /path/to/torch/python

Both run in turns, so that disturbances hit them alike, and the medians count, of
the ratios those of pairs. One thread: CPU time, else wall time. Prints a table as
Markdown: milliseconds of both, and weft's time over torch's, of forward and gradient
together and of each.
"""
import argparse
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SHAPES = [(8, 512, 64), (4, 512, 128), (4, 2048, 64), (2, 2048, 128), (1, 8192, 64), (1, 8192, 128)]


class Peer:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.times = []

    def take(self, case):
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        self.times.append([float(x) for x in self.process.stdout.readline().split()])

        self.times[-1].insert(0, sum(self.times[-1]))

    def medians(self):
        return [statistics.median(times) for times in zip(*self.times)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", help="a Python that has torch; without it weft alone is measured")
    parser.add_argument("--bench", default=str(ROOT / "build-attention-bench/weft-attention-bench"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--type", nargs="*", default=["f32", "bf16"])
    parser.add_argument("--leaves", type=int, default=0, help="weft's declared order")
    parser.add_argument("--only", default="", help="part of a case's name, as 'f32 8 512 512 64 causal'")
    options = parser.parse_args()
    weft = Peer([options.bench, str(options.threads)])
    torch = options.torch_python and Peer(
        [options.torch_python, str(ROOT / "bench/peers/torch_attention.py"), str(options.threads)])
    print("| type | heads | sequence | head | | weft ms | torch ms | ratio | forward | gradient | weft GFLOP/s |")
    print("| --- | --: | --: | --: | --- | --: | --: | --: | --: | --: | --: |")
    for type in options.type:
        for heads, length, depth in SHAPES:
            for mask in ("full", "causal"):
                case = f"{type} {heads} {length} {length} {depth} {mask}"
                if options.only not in case:
                    continue
                for _ in range(options.rounds):
                    weft.take(f"{case} {options.leaves}")
                    if torch:
                        torch.take(case)
                ours, theirs, ratios = weft.medians()[0], 0, [""] * 3
                if torch:
                    theirs = torch.medians()[0]
                    pairs = [[x / y for x, y in zip(*both)] for both in zip(weft.times, torch.times)]
                    ratios = [f"{statistics.median(column):.2f}" for column in zip(*pairs)]
                    torch.times = []
                weft.times = []
                scores = length * (length + 1) / 2 if mask == "causal" else length * length
                print(f"| {type} | {heads} | {length} | {depth} | {mask} | {ours * 1e3:.1f} | {theirs * 1e3:.1f} | "
                      f"{' | '.join(ratios)} | {14 * heads * scores * depth / ours / 1e9:.1f} |", flush=True)


if __name__ == "__main__":
    main()
