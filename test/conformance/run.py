#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Runs StableHLO's own test data through weft and prints a table by operation.

    PYTHONPATH=build/python JAX_PLATFORMS=cpu test/conformance/run.py CHECKOUT --results FILE [FILTER ...]

CHECKOUT is a checkout of StableHLO. Each case runs with arguments on one rank, as
constants, and with its arguments cut in two ways over two ranks, and in one in invariant mode. What is in FILE
already is not run again, so that a run may be stopped and go on. The exit code is 1
if a result is wrong or anything ends by other than a diagnostic.
"""

import argparse
import collections
import faulthandler
import json
import pathlib
import re
import subprocess
import sys

import cases

LIMIT = 120  # seconds for one way of one case
BAD = ("wrong", "crash")
# Cases in which XLA's results, which are weft's, are not those of StableHLO's interpreter.
AS_XLA = {"interpret/reduce_precision.mlir:1": "NaN without mantissa bits stays NaN"}


def work(checkout):
    """A process of its own, as runs may end it: cases come in as lines, results go out as lines."""
    import one
    context = cases.context()
    for line in sys.stdin:
        name, way = json.loads(line)
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        try:
            result = one.run(checkout, context, name, way)
        except cases.Unreadable as error:
            result = one.Result("skipped", str(error))
        except Exception as error:
            result = one.Result("crash", f"{type(error).__name__}: {error}")
        faulthandler.cancel_dump_traceback_later()
        sys.stdout.write(json.dumps([result.word, result.why] if result else ["same", ""]) + "\n")
        sys.stdout.flush()


class Worker:
    def __init__(self, checkout):
        self._command = [sys.executable, __file__, str(checkout), "--work"]
        self._process = None

    def run(self, name, way):
        if self._process is None:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             stderr=subprocess.DEVNULL, text=True)
        self._process.stdin.write(json.dumps([name, way]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if line:
            return json.loads(line)
        code, self._process = self._process.wait(), None
        return ["crash", f"the process ended with {code}"]


def operation(name):
    """What a case is about: the file's name up to types and shapes."""
    if name.startswith("interpret/"):
        return name.removeprefix("interpret/").split(".mlir")[0]
    stem = name.removeprefix("testdata/").removesuffix(".mlir")
    kinds = r"_(shape|dtypes?|arg|int|uint|bool|float|bfloat|complex|inshape|lhs|lhs_shape|dimensions|in_|k_|\d|$)"
    return re.split(kinds, stem + "_", maxsplit=1)[0].strip("_")


def reason(why):
    """The message of a refusal without what differs from case to case."""
    text = re.sub(r"^\S+:\d+(:\d+)?: ", "", why.splitlines()[0]) if why else ""
    return re.sub(r"^(error: )?'\S+' (op )?", "", text)[:90]


def table(results):
    """By kind of file and operation: how many cases are right and what is refused why."""
    rows = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
    for name, ways in results.items():
        if name in AS_XLA:
            ways = {way: ["as XLA", AS_XLA[name]] for way in ways}
        words = [word for word, _ in ways.values()]
        word = next((w for w in (*BAD, "as XLA", "right", "refused") if w in words), "skipped")
        row = rows[(name.split("/")[0], operation(name))]
        row[word][reason(next(why for w, why in ways.values() if w == word)) if word != "right" else ""] += 1
    return rows


def show(results):
    total = collections.Counter()
    for (kind, name), row in sorted(table(results).items()):
        counts = {word: sum(row[word].values()) for word in row}
        total.update(counts)
        whys = "; ".join(f"{why} ({n})" for word in row if word != "right" for why, n in row[word].most_common(3))
        print(f"{kind} {name}: {', '.join(f'{n} {w}' for w, n in sorted(counts.items()))}. {whys}")
    print(", ".join(f"{n} {word}" for word, n in sorted(total.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("filters", nargs="*")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("conformance.jsonl"))
    parser.add_argument("--every", type=int, default=1, help="run only each so many'th case")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    if options.work:
        return work(options.checkout)
    import one
    results = collections.defaultdict(dict)
    if options.results.exists():
        for name, way, *result in map(json.loads, options.results.read_text().splitlines()):
            results[name][way] = result
    names = [n for n in cases.find(options.checkout) if all(re.search(f, n) for f in options.filters)]
    worker = Worker(options.checkout)
    with open(options.results, "a") as file:
        for way in one.WAYS:
            for name in names[::options.every]:
                if way not in results[name]:
                    results[name][way] = worker.run(name, way)
                    file.write(json.dumps([name, way, *results[name][way]]) + "\n")
                    file.flush()
    known = {name: results[name] for name in names if results[name]}
    show(known)
    return int(any(word in BAD for row in table(known).values() for word in row))


if __name__ == "__main__":
    sys.exit(main())
