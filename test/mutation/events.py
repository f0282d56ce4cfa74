#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the proof of races against programs with wrong streams and events.

  events.py [--seconds N] PLANNED...

Each program names streams and events, and must be accepted. Its mutants drop,
swap and move events, put ops on other streams, and use a number of an event for
all. Whether a mutant is right is found here in another way than by the proof: a
graph with an edge for each order that streams, starts, waits and events give, in
which two ops that touch the same bytes must be connected. Both have to say the
same of each mutant. The last line is `N passed, N failed`.
"""
import argparse
import collections
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mutants import BUFFER, Program, Statement

BIN = Path(__file__).resolve().parent.parent.parent / "build" / "bin"
STREAM = re.compile(r",? ?weft_rt\.stream = @([\w.]+)")
CHANNEL = re.compile(r"channel = @([\w.]+)")
ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8, "i1": 1, "i8": 1, "i32": 4, "i64": 8}
COMPUTE = ""


def get_stream(statement):
    match = STREAM.search(statement.text)
    return match.group(1) if match else COMPUTE


def with_stream(statement, stream):
    """The same op on another stream."""
    text = STREAM.sub("", statement.text).replace("{, ", "{").replace(" {}", "")
    if stream == COMPUTE:
        return Statement(text.split("\n"))
    new = f"weft_rt.stream = @{stream}"
    head, brace, rest = text.rpartition("{")
    if brace and ("weft" in rest or "channel" in rest):
        text = head + brace + new + ", " + rest
    elif " : " in text:
        text = text.replace(" : ", f" {{{new}}} : ", 1)
    else:
        text += f" {{{new}}}"
    return Statement(text.split("\n"))


def event_of(statement):
    return re.search(r"weft_rt\.(?:record|await) (\d+)", statement.text).group(1)


def with_event(statement, number):
    text = re.sub(r"(weft_rt\.(?:record|await)) \d+", rf"\1 {number}", statement.text)
    return Statement(text.split("\n"))


def size_of(text):
    *shape, element = text.split(",")[0].split("x")
    count = 1
    for size in shape:
        count *= int(size)
    return count * ELEMENT_BYTES[element.strip()]


class Oracle:
    """Which ops of a body come before which, and whether that is enough."""

    def __init__(self, program):
        self.program = program
        self.extent = {}
        for statement in program.body:
            match = BUFFER.search(statement.text)
            if match:
                space, position = match.group(2), int(match.group(3))
                begin = position if space == "arena" else 0
                place = space if space == "arena" else f"{space} {position}"
                self.extent[match.group(1)] = (place, begin, begin + size_of(match.group(5)))

    def touched(self, statement):
        """Root by root: reads and writes."""
        written = self.program.written(statement)
        return [(root, root in written) for root in self.program.touched(statement)
                if root in self.extent]

    def conflict(self, a, b):
        for one, writes in a:
            for other, also in b:
                if not (writes or also):
                    continue
                x, y = self.extent[one], self.extent[other]
                if x[0] == y[0] and x[1] < y[2] and y[1] < x[2]:
                    return True
        return False

    def is_right(self, body):
        """Bits of an int say which ops come before."""
        before, ends, events = collections.defaultdict(int), {}, {}
        ops = []
        for statement in body:
            stream = get_stream(statement)
            if statement.kind == "weft_rt.record":
                events[event_of(statement)] = before[stream]
            elif statement.kind == "weft_rt.await":
                if event_of(statement) not in events:
                    return False
                before[stream] |= events[event_of(statement)]
            elif statement.kind == "weft_rt.wait":
                before[stream] |= ends[next(iter(statement.used))]
            else:
                touched = self.touched(statement)
                if statement.kind in ("weft_rt.buffer", "weft_rt.view", "weft_rt.assemble"):
                    continue
                if not touched:
                    continue
                place = stream
                if statement.kind == "weft_rt.start":
                    place = CHANNEL.search(statement.text).group(1)
                    before[place] |= before[stream]
                for number, theirs in enumerate(ops):
                    if not before[place] >> number & 1 and self.conflict(touched, theirs):
                        return False
                before[place] |= 1 << len(ops)
                ops.append(touched)
                if statement.kind == "weft_rt.start":
                    ends[next(iter(statement.defines))] = before[place]
        return before[COMPUTE] == (1 << len(ops)) - 1


def make_mutants(program, channels):
    """Kinds and bodies."""
    body = program.body

    def at(*kinds):
        return [i for i, s in enumerate(body) if s.kind in kinds]

    def having(site, statement):
        return [statement if i == site else s for i, s in enumerate(body)]

    events = at("weft_rt.record", "weft_rt.await")
    numbers = sorted({event_of(body[i]) for i in events}) + ["99"]
    for site in events:
        yield f"dropped {body[site].kind[8:]}", [s for i, s in enumerate(body) if i != site]
        for number in numbers:
            if number != event_of(body[site]):
                yield "swapped event", having(site, with_event(body[site], number))
        for stream in [COMPUTE, *channels]:
            if stream != get_stream(body[site]):
                yield "event on another stream", having(site, with_stream(body[site], stream))
        for distance in (-12, -6, -3, -2, -1, 1, 2, 3, 6, 12):
            to = site + distance
            if 0 <= to < len(body) - 1:
                moved = [s for i, s in enumerate(body) if i != site]
                moved.insert(to, body[site])
                yield "moved event", moved
    yield "one number for all", [with_event(s, 0) if i in events else s for i, s in enumerate(body)]
    for site in at("weft_rt.fused", "weft_rt.copy"):
        for stream in [COMPUTE, *channels]:
            if stream != get_stream(body[site]):
                yield "op on another stream", having(site, with_stream(body[site], stream))
    for site in at("weft_rt.wait", "weft_rt.start"):
        if body[site].kind == "weft_rt.start":
            channel = CHANNEL.search(body[site].text).group(1)
        else:
            ticket = next(iter(body[site].used))
            start = next(s for s in body if ticket in s.defines)
            channel = CHANNEL.search(start.text).group(1)
        other = channel if get_stream(body[site]) == COMPUTE else COMPUTE
        kind = body[site].kind[8:]
        yield f"{kind} on another stream", having(site, with_stream(body[site], other))


def is_accepted(text, path):
    path.write_text(text)
    result = subprocess.run([BIN / "weft-opt", path, "--weft-verify-races", "-o", "/dev/null"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    known = ("no event orders the two", "is awaited, but not recorded", "what computes is not after")
    if result.returncode != 0 and not any(words in result.stdout for words in known):
        return result.stdout
    return result.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("programs", nargs="+", type=Path)
    options = parser.parse_args()
    passed, failed = 0, 0
    counts = collections.defaultdict(collections.Counter)
    end = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant.mlir"
        for name in options.programs:
            program = Program(name.read_text())
            oracle = Oracle(program)
            channels = sorted(set(re.findall(r"weft\.channel @([\w.]+)", program.text())))
            mutants = [("the program itself", program.body), *make_mutants(program, channels)]
            for kind, body in mutants:
                if time.monotonic() > end:
                    break
                accepted, right = is_accepted(program.text(body), path), oracle.is_right(body)
                counts[kind]["rejected" if accepted is False else "accepted"] += 1
                if accepted == right and (right or kind != "the program itself"):
                    passed += 1
                    continue
                failed += 1
                kept = BIN.parent / "test-reports" / f"event-{failed}.mlir"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(program.text(body))
                print(f"FAILED {name}: {kind}: the proof says {accepted}, the graph {right}: {kept}")
    for kind, count in counts.items():
        print(f"{kind:28} {count['rejected']:6} rejected {count['accepted']:6} accepted")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
