# SPDX-License-Identifier: Apache-2.0

"""Checks that a trace is what a viewer expects, and prints what is in it:

  trace.py FILE [NAME=MICROSECONDS]...     rows, slices by category and name, arrows

and that collectives of the names given take at least so long.

Every arrow goes from a start over its collective to its wait, each of which is
a slice with the same name but for the words before it; slices of one channel do
not overlap."""

import collections
import json
import sys

SLACK = 0.0011  # times are rounded to nanoseconds, in microseconds


CATEGORIES = {"s": "start", "t": "collective", "f": "wait"}


def enclosing(slices, event):
    """The slice of the event's row at the event's time."""
    found = [s for s in slices if (s["pid"], s["tid"]) == (event["pid"], event["tid"])
             and s["ts"] - SLACK <= event["ts"] <= s["ts"] + s["dur"] + SLACK
             and s["cat"] == CATEGORIES[event["ph"]]]
    assert found, f"no slice around {event}"
    if event["ph"] == "f":
        return min(found, key=lambda s: abs(s["ts"] + s["dur"] - event["ts"]))
    return min(found, key=lambda s: abs(s["ts"] - event["ts"]))


def check_flows(slices, events):
    flows = collections.defaultdict(dict)
    for event in events:
        if event["ph"] in "stf":
            assert event["ph"] not in flows[event["id"]], f"twice: {event}"
            flows[event["id"]][event["ph"]] = event
    for name, steps in flows.items():
        assert set(steps) == set("stf"), f"flow {name} has steps {sorted(steps)}"
        start, run, wait = (enclosing(slices, steps[p]) for p in "stf")
        assert steps["s"]["ts"] <= steps["t"]["ts"] <= steps["f"]["ts"] + SLACK, steps
        assert start["name"] == run["name"], (start, run)
        assert wait["name"].endswith(run["name"]), (wait, run)
        assert start["tid"] == wait["tid"] == 0 and run["tid"] > 0
        assert run["ts"] + run["dur"] <= wait["ts"] + wait["dur"] + SLACK, (run, wait)
    return len(flows)


def check_channels(slices):
    rows = collections.defaultdict(list)
    for s in slices:
        if s["tid"] > 0:
            rows[s["pid"], s["tid"]].append((s["ts"], s["ts"] + s["dur"]))
    for row in rows.values():
        row.sort()
        for (_, end), (begin, _) in zip(row, row[1:]):
            assert end <= begin + SLACK, "slices of a channel overlap"


def main(path, limits):
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    slices = [e for e in events if e["ph"] == "X"]
    assert all((s["pid"], s["tid"]) in rows and s["dur"] >= 0 for s in slices)
    check_channels(slices)
    print("ranks:", len({pid for pid, _ in rows}))
    print("rows:", *sorted(set(rows.values())), sep=" | ")
    print("arrows:", check_flows(slices, events))
    counts = collections.Counter((s["cat"], s["name"]) for s in slices)
    for (category, name), count in sorted(counts.items()):
        print(f"{category}: {name}: {count}")
    for name, shortest in (limit.split("=") for limit in limits):
        for s in slices:
            if (s["cat"], s["name"]) == ("collective", name):
                assert s["dur"] >= float(shortest) - SLACK, s


main(sys.argv[1], sys.argv[2:])
