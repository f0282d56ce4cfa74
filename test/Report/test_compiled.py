# SPDX-License-Identifier: Apache-2.0
"""The report of a real step, as weft-compile writes it, in a real browser."""
import json
import re
import subprocess

import pytest
from conftest import ROOT
from test_page import count_pixels, text_of

STEP = ROOT / "examples/qwen3/step.mlir"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compiled")
    for name, extra in (("one", []), ("two", ["--compare", "sync"])):
        subprocess.run([ROOT / "build/bin/weft-compile", STEP, "-o", folder / "local.mlir",
                        "--machine", "h100x8", "--report", folder / f"{name}.html", *extra],
                       check=True)
    return folder


def schedule_of(path, index=0):
    text = re.search('id="data">(.*?)</script>', path.read_text(), re.S).group(1)
    return json.loads(text)["schedules"][index]


def exposed_waits(schedule):
    columns = schedule["slices"]
    return [length for kind, length in zip(columns["kind"], columns["length"])
            if kind == 2 and length > 0]


def test_numbers_agree_with_the_timeline(open_page, pages):
    tab = open_page(pages / "one.html")
    schedule = schedule_of(pages / "one.html")
    columns, waits = schedule["slices"], exposed_waits(schedule)
    end = max(begin + length for begin, length in zip(columns["begin"], columns["length"]))
    assert end == schedule["stepNs"] >= schedule["boundNs"] > 0
    # Compute and waits fill the step without a gap: nothing else takes time.
    assert sum(length for length, stream in zip(columns["length"], columns["stream"])
               if stream == 0) == schedule["stepNs"]
    rows = tab.evaluate("document.querySelectorAll('#exposed-table tbody tr').length")
    assert 0 < rows <= len(waits)
    assert f"{rows} of {columns['kind'].count(1)} collectives" in text_of(tab, ".verdict")
    assert "limited by" in text_of(tab, "#exposed-table")


def test_owners_add_up(open_page, pages):
    tab = open_page(pages / "one.html")
    schedule = schedule_of(pages / "one.html")
    memory, owners = schedule["memory"], schedule["owners"]
    assert max(memory["bytes"]) == schedule["peakBytes"]
    # Where time passes, buffers and arguments are all that is in use.
    arguments = {total - sum(size for size, begin, end in
                             zip(owners["bytes"], owners["begin"], owners["end"])
                             if begin <= ns < end)
                 for ns, after, total in zip(memory["ns"], memory["ns"][1:], memory["bytes"])
                 if ns < after}
    assert len(arguments) == 1
    listed = sum(bytes_of(cell) for cell in tab.evaluate(
        "[...document.querySelectorAll('#owners td:nth-child(2)')].map(cell => cell.textContent)"))
    assert abs(listed - schedule["peakBytes"]) < schedule["peakBytes"] / 1000
    assert "arguments and results" in text_of(tab, "#owners")


def bytes_of(text):
    number, unit = text.split("\u00a0")
    return float(number) * 1024 ** ["B", "KiB", "MiB", "GiB"].index(unit)


@pytest.mark.parametrize("width,dark", [(1280, False), (1280, True), (390, False)])
def test_draws_the_step(open_page, pages, width, dark):
    tab = open_page(pages / "one.html", width=width, dark=dark)
    counts = count_pixels(tab, "#timeline-canvas")
    assert min(counts["compute"], counts["gather"], counts["reduce"], counts["wait"]) > 50
    assert count_pixels(tab, "#memory-canvas")["card"] > 1000
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.evaluate("document.getElementById('next-exposed').click()")
    tab.settle()
    assert count_pixels(tab, "#timeline-canvas")["wait"] > 50
    assert text_of(tab, "#detail").startswith("wait for ")


def test_lists_what_is_computed_again(open_page, pages, tmp_path):
    tab = open_page(pages / "one.html")
    assert "Nothing is computed again." in text_of(tab, "#recomputed")
    subprocess.run([ROOT / "build/bin/weft-compile", STEP, "-o", tmp_path / "planned.mlir", "--to", "planned",
                    "--machine", "h100x8", "--mesh", "dp=1,fsdp=8,tp=1", "--memory-limit", "600KiB",
                    "--report", tmp_path / "page.html"], check=True)
    tab = open_page(tmp_path / "page.html")
    rows = [row.split("\t") for row in tab.evaluate(
        "[...document.querySelectorAll('#recomputed-table tbody tr')].map("
        "row => [...row.cells].map(cell => cell.textContent).join('\\t'))")]
    assert len(rows) > 1 and rows[-1][0] == "total"
    assert sum(int(row[1].replace(",", "")) for row in rows[:-1]) == int(rows[-1][1].replace(",", ""))
    assert bytes_of(rows[-1][4]) > 0


def test_compares_policies(open_page, pages):
    best, sync = (schedule_of(pages / "two.html", index) for index in (0, 1))
    assert (best["policy"], sync["policy"]) == ("best", "sync")
    assert best["stepNs"] < sync["stepNs"]
    tab = open_page(pages / "two.html")
    assert text_of(tab, ".verdict").startswith("best takes ")
    assert text_of(tab, ".verdict").endswith("less than sync.")
    assert sum(exposed_waits(best)) < sum(exposed_waits(sync))
    assert count_pixels(tab, "#timeline-canvas")["wait"] > 50
