# SPDX-License-Identifier: Apache-2.0
"""Fails unless a trace is well formed: slices of a stream do not overlap, each
slice is on a stream with a name, each flow begins, passes and ends once, in
order of time."""
import json
import sys
from collections import defaultdict

events = json.load(open(sys.argv[1]))["traceEvents"]
streams = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
last = defaultdict(float)
flows = defaultdict(list)
for event in events:
    stream = event["pid"], event["tid"]
    if event["ph"] == "X" and event["cat"] != "start":
        assert stream in streams, f"{event} is on a stream without a name"
        assert event["ts"] >= last[stream], f"{event} overlaps the one before"
        last[stream] = round(event["ts"] + event["dur"], 3)
    elif event.get("cat") == "flow":
        flows[event["id"]].append((event["ts"], event["ph"]))
for name, ends in flows.items():
    assert "".join(ph for _, ph in sorted(ends, key=lambda e: (e[0], "stf".index(e[1])))) == "stf", \
        f"flow {name} has {ends}"
assert flows, "no flows"
