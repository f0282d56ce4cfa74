#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the README, and makes its table, from weft-sim's reports.

  draw-pictures.py [FOLDER]        docs/pictures if no folder is named

The shipped step on 8 H100, under three schedules with one memory limit: what
compute and the links do when, and how much memory is in use. The table, which is
printed, has the step on more meshes, with all the memory of the machine. Times
are simulated, and the same everywhere. Needs weft-sim in $PATH or build/bin.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DRAWN = ("dp=1,fsdp=8,tp=1", "h100x8", "1000KiB")
LISTED = {"8 H100, `fsdp=8`": ("dp=1,fsdp=8,tp=1", "h100x8", "80GiB"),
          "8 H100, `dp=2,fsdp=2,tp=2`": ("dp=2,fsdp=2,tp=2", "h100x8", "80GiB"),
          "64 H100, `fsdp=8,tp=8`": ("dp=1,fsdp=8,tp=8", "h100-cluster", "80GiB")}
SCHEDULES = {"sync": "each collective where it stands", "next-layer": "one layer ahead, as runtime systems do",
             "best": "weft's own"}
# Tones that can be read on white and on black.
TEXT, LINE = "#7a828b", "#7a828b55"
COMPUTE, TRANSFER, WAIT = "#3b82d6", "#9b6fd3", "#e0524a"
COLOURS = {"sync": WAIT, "next-layer": TRANSFER, "best": COMPUTE}
WIDTH, LEFT, RIGHT = 840, 96, 16
# In the order of the report's numbers.
KINDS = ("compute", "collective", "wait")


def simulate(policy, mesh, machine, memory):
    """The data of a schedule, as it stands in the report."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        subprocess.run(["weft-sim", "examples/qwen3/step.mlir", "--mesh", mesh, "--machine", machine,
                        "--memory-limit", memory, "--schedule", policy, "--report", page],
                       cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        data = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page.read_text(), re.S)
    return json.loads(data[1])["schedules"][0]


def intervals(schedule, kind):
    """When slices of a kind run, as pairs without overlaps, in the order of time."""
    slices, joined = schedule["slices"], []
    rows = zip(slices["begin"], slices["length"], slices["kind"])
    for begin, end in sorted((b, b + n) for b, n, k in rows if KINDS[k] == kind and n > 0):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def print_table():
    """What the step costs, in Markdown."""
    print("| | schedule | step | of it waits | received | memory |\n|---|---|--:|--:|--:|--:|")
    for case, where in LISTED.items():
        for policy, what in SCHEDULES.items():
            schedule = simulate(policy, *where)
            waits = sum(end - begin for begin, end in intervals(schedule, "wait"))
            received = sum(count for count, kind in zip(schedule["slices"]["bytes"], schedule["slices"]["kind"])
                           if KINDS[kind] == "collective")
            step = schedule["stepNs"]
            print(f"| {case} | `{policy}`: {what} | {step / 1e6:.3f} ms | {100 * waits / step:.0f} % "
                  f"| {received / 1024:.0f} KiB | {schedule['peakBytes'] / 1024:.0f} KiB |")
            case = ""


class Picture:
    """An SVG, with times of a common axis."""

    def __init__(self, height, longest_ns, title):
        self.scale, self.lines = (WIDTH - LEFT - RIGHT) / longest_ns, []
        self.lines.append(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
                          f'font-family="sans-serif" font-size="13" fill="{TEXT}">')
        self.lines.append(f"<title>{title}</title>")

    def x(self, ns):
        return f"{LEFT + ns * self.scale:.1f}"

    def text(self, x, y, text, more=""):
        self.lines.append(f'<text x="{x}" y="{y}"{more}>{text}</text>')

    def bars(self, pairs, y, height, colour):
        """One path: a bar for each pair of times, at least half a pixel wide."""
        path = "".join(f"M{self.x(begin)} {y}h{max((end - begin) * self.scale, 0.5):.1f}v{height}"
                       f"H{self.x(begin)}z" for begin, end in pairs)
        self.lines.append(f'<path fill="{colour}" d="{path}"/>')

    def time_axis(self, top, bottom, longest_ns):
        for ns in range(0, longest_ns + 1, 100_000):
            self.lines.append(f'<path stroke="{LINE}" d="M{self.x(ns)} {top}V{bottom}"/>')
            self.text(self.x(ns), bottom + 16, f"{ns / 1e6:.1f} ms" if ns else "0", ' text-anchor="middle"')

    def write(self, path):
        path.write_text("\n".join([*self.lines, "</svg>"]) + "\n")


def draw_schedules(schedules, path):
    longest = max(schedule["stepNs"] for schedule in schedules.values())
    picture = Picture(280, longest, "The same step under three schedules: compute, waits and communication over time")
    picture.time_axis(4, 240, longest)
    for index, (policy, schedule) in enumerate(schedules.items()):
        top = 6 + 80 * index
        waits = sum(end - begin for begin, end in intervals(schedule, "wait"))
        step = schedule["stepNs"]
        picture.text(LEFT, top + 14, f'<tspan font-weight="bold">{policy}</tspan>: {SCHEDULES[policy]}; '
                     f'{step / 1e6:.3f} ms, of which {100 * waits / step:.0f} % waits')
        picture.text(LEFT - 8, top + 35, "compute", ' text-anchor="end"')
        picture.text(LEFT - 8, top + 58, "links", ' text-anchor="end"')
        picture.bars(intervals(schedule, "compute"), top + 22, 18, COMPUTE)
        picture.bars(intervals(schedule, "wait"), top + 22, 18, WAIT)
        picture.bars(intervals(schedule, "collective"), top + 45, 18, TRANSFER)
    for x, colour, what in ((LEFT, COMPUTE, "computes"), (LEFT + 110, WAIT, "waits"), (LEFT + 190, TRANSFER, "transfers")):
        picture.lines.append(f'<rect x="{x}" y="264" width="12" height="12" fill="{colour}"/>')
        picture.text(x + 18, 275, what)
    picture.write(path)


def draw_memory(schedules, path):
    longest = max(schedule["stepNs"] for schedule in schedules.values())
    most = max(schedule["peakBytes"] for schedule in schedules.values())
    limit = schedules["best"]["memoryLimit"]
    top, bottom = 12, 212
    picture = Picture(258, longest, "Memory of a rank over time, under three schedules")
    picture.time_axis(top, bottom, longest)

    def y(count):
        return f"{bottom - (bottom - top) * count / max(most, limit):.1f}"

    for count in range(0, max(most, limit) + 1, 256 << 10):
        picture.lines.append(f'<path stroke="{LINE}" d="M{LEFT} {y(count)}H{WIDTH - RIGHT}"/>')
        picture.text(LEFT - 8, float(y(count)) + 4, f"{count >> 10} KiB" if count else "0", ' text-anchor="end"')
    picture.lines.append(f'<path stroke="{TEXT}" stroke-dasharray="6 4" d="M{LEFT} {y(limit)}H{WIDTH - RIGHT}"/>')
    picture.text(WIDTH - RIGHT, float(y(limit)) + 15, f"limit: {limit >> 10} KiB", ' text-anchor="end"')
    for index, (policy, schedule) in enumerate(schedules.items()):
        memory, steps = schedule["memory"], ""
        for ns, count in zip(memory["ns"], memory["bytes"]):
            steps += f"H{picture.x(ns)}V{y(count)}" if steps else f"M{picture.x(ns)} {y(count)}"
        picture.lines.append(f'<path fill="none" stroke="{COLOURS[policy]}" stroke-width="1.5" '
                             f'd="{steps}H{picture.x(schedule["stepNs"])}"/>')
        x = LEFT + 240 * index
        picture.lines.append(f'<rect x="{x}" y="242" width="12" height="12" fill="{COLOURS[policy]}"/>')
        picture.text(x + 18, 253, f"{policy}: at most {schedule['peakBytes'] / 1024:.0f} KiB")
    picture.write(path)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/pictures"
    os.environ["PATH"] += os.pathsep + str(ROOT / "build" / "bin")
    schedules = {policy: simulate(policy, *DRAWN) for policy in SCHEDULES}
    folder.mkdir(parents=True, exist_ok=True)
    draw_schedules(schedules, folder / "schedules.svg")
    draw_memory(schedules, folder / "memory.svg")
    print_table()


if __name__ == "__main__":
    main()
