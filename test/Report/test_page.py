# SPDX-License-Identifier: Apache-2.0
"""Pages in a real browser: what they say, what they draw, what they answer.

The made-up schedule of 12 layers takes 530 us. Its first gather (0 to 30 us) and
its last reduction (510 to 530 us) are exposed.
"""
import re

import pytest
from browser import decode_png

STYLES = [(1280, False), (1280, True), (390, False), (390, True)]


def colours(tab):
    """The colours of the page by name, as (r, g, b)."""
    style = "getComputedStyle(document.documentElement).getPropertyValue('--%s').trim()"
    result = {}
    for name in ("card", "compute", "gather", "reduce", "move", "wait"):
        text = tab.evaluate(style % name)
        result[name] = tuple(int(text[i:i + 2], 16) for i in (1, 3, 5))
    return result


def count_pixels(tab, selector):
    """How many pixels of each named colour an element shows."""
    image = decode_png(tab.screenshot(clip=tab.box(selector)))
    return {name: int((image == colour).all(axis=2).sum())
            for name, colour in colours(tab).items()}


def text_of(tab, selector):
    text = tab.evaluate(f"document.querySelector('{selector}').innerText")
    return text.replace("\u00a0", " ")


def in_view(tab, selector, dx, dy):
    """A place of an element, in the window, after scrolling there."""
    tab.evaluate(f"document.querySelector('{selector}').scrollIntoView({{block: 'center'}})")
    tab.settle()
    x, y = tab.evaluate(f"(() => {{ const b = document.querySelector('{selector}')"
                        ".getBoundingClientRect(); return [b.x, b.y]; })()")
    return x + dx, y + dy


def place_of(tab, ns, row, begin=0, end=530000):
    """Where a time of a row of the timeline is, on a wide screen."""
    width = tab.box("#timeline-canvas")[2] - 2
    x = 1 + 150 + (ns - begin) / (end - begin) * (width - 150)
    return in_view(tab, "#timeline-canvas", x, 1 + 22 + 26 * row + 13)


@pytest.mark.parametrize("width,dark", STYLES)
def test_says_the_numbers(open_page, fixture_page, width, dark):
    tab = open_page(fixture_page(12), width=width, dark=dark)
    assert text_of(tab, ".verdict") == (
        "The step takes 530.0 µs, 3.92 % above the lower bound. "
        "2 of 27 collectives are exposed, for 50.00 µs.")
    figures = text_of(tab, ".figures")
    for part in ("510.0 µs", "compute 480.0 µs", "36.00 MiB", "96.58 %"):
        assert part in figures
    dump = tab.dump()
    assert dump.count("<a href=\"#flow=") == 2
    assert len(re.findall("<tr><th scope=\"row\">", dump)) == 6 + 2 + 4 + 3 + 2
    again = text_of(tab, "#recomputed-table")
    for part in ("matmul params.layers.*.wq", "1.000 MiB", "total"):
        assert part in again


@pytest.mark.parametrize("width,dark", STYLES)
def test_draws_each_kind(open_page, fixture_page, width, dark):
    tab = open_page(fixture_page(12), width=width, dark=dark)
    counts = count_pixels(tab, "#timeline-canvas")
    # Of the plot's 4 rows of 22 pixels: compute fills most of one.
    least = (width - 200) * 22
    assert counts["card"] > least
    assert counts["compute"] > least / 3
    assert counts["gather"] > least / 6
    assert counts["reduce"] > least / 6
    assert counts["move"] > 3 * 22
    assert counts["wait"] > least / 20
    assert count_pixels(tab, "#overview")["wait"] > 100
    assert count_pixels(tab, "#memory-canvas")["gather"] > width / 4


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_sticks_out(open_page, fixture_page, width):
    for page in (fixture_page(12), fixture_page(12, "compare")):
        tab = open_page(page, width=width)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        overlaps = tab.evaluate("""(() => {
            const boxes = [...document.querySelectorAll('header > *, main > section, section > *')]
                .filter(e => e.offsetHeight).map(e => [e, e.getBoundingClientRect()]);
            return boxes.filter(([a, x]) => boxes.some(([b, y]) => a !== b && !a.contains(b) &&
                !b.contains(a) && x.top < y.bottom - 1 && y.top < x.bottom - 1 &&
                x.left < y.right - 1 && y.left < x.right - 1)).map(([a]) => a.outerHTML.slice(0, 80));
        })()""")
        assert overlaps == []


def test_readable_without_scripts(open_page, fixture_page):
    path = fixture_page(12)
    tab = open_page(path, script=False)
    tab.call("Emulation.setScriptExecutionDisabled", value=False)
    assert "All figures are in the tables" in text_of(tab, "main")
    assert "gathered params.layers.6.wq" in text_of(tab, "#owners")
    assert "exposed 30.0 us: nothing can run before it" in text_of(tab, "#exposed-table")
    assert tab.evaluate("document.getElementById('timeline-tools').hidden")


def test_fragment_zooms(open_page, fixture_page):
    whole = count_pixels(open_page(fixture_page(12)), "#timeline-canvas")
    # Layers 3 to 5: nothing is exposed there.
    tab = open_page(fixture_page(12), fragment="#zoom=150000,260000")
    part = count_pixels(tab, "#timeline-canvas")
    assert whole["wait"] > 0 and part["wait"] == 0
    assert part["compute"] > whole["compute"]


def test_wheel_drag_and_buttons(open_page, fixture_page):
    tab = open_page(fixture_page(12))
    whole = count_pixels(tab, "#timeline-canvas")
    x, y = place_of(tab, 250000, 0)
    for _ in range(2):
        tab.wheel(x, y, -240)
    zoomed = count_pixels(tab, "#timeline-canvas")
    assert zoomed["wait"] == 0 and zoomed["compute"] > whole["compute"]
    # Dragging to the right shows what is earlier, at last the first wait.
    for _ in range(8):
        tab.mouse("mousePressed", 300, y, button="left", clickCount=1)
        tab.mouse("mouseMoved", 1200, y, button="left", buttons=1)
        tab.mouse("mouseReleased", 1200, y, button="left", clickCount=1)
    tab.settle()
    assert count_pixels(tab, "#timeline-canvas")["wait"] > whole["wait"]
    tab.evaluate("document.getElementById('zoom-all').click()")
    tab.mouse("mouseMoved", 5, 5)
    tab.settle()
    assert count_pixels(tab, "#timeline-canvas") == whole


def test_hover_explains(open_page, fixture_page):
    tab = open_page(fixture_page(12))
    tab.hover(*place_of(tab, 15000, 1))
    assert text_of(tab, "#tip").splitlines() == [
        "all_gather params.layers.0.wq", "0 ns to 30.00 µs, takes 30.00 µs",
        "receives 3.000 MiB on gather.fsdp", "compute waits 30.00 µs for it",
        "exposed 30.0 us: nothing can run before it"]
    tab.hover(*place_of(tab, 45000, 1))
    assert "hidden; needed 10.00 µs after its end" in text_of(tab, "#tip")
    tab.hover(*place_of(tab, 50000, 0))
    assert text_of(tab, "#tip").startswith("matmul #0\n30.00 µs to 70.00 µs")
    tab.hover(5, 5)
    assert tab.evaluate("document.getElementById('tip').hidden")


def test_link_jumps_to_the_wait(open_page, fixture_page):
    tab = open_page(fixture_page(12))
    before = count_pixels(tab, "#timeline-canvas")
    tab.evaluate("document.querySelectorAll('#exposed-table a')[1].click()")
    tab.settle()
    assert "wait for reduce_scatter grads.params.layers.11.wq" in text_of(tab, "#detail")
    assert "510.0 µs to 530.0 µs" in text_of(tab, "#detail")
    assert count_pixels(tab, "#timeline-canvas")["wait"] > 2 * before["wait"]
    assert tab.evaluate("document.activeElement.id") == "timeline-canvas"


def test_keys(open_page, fixture_page):
    tab = open_page(fixture_page(12))
    tab.evaluate("document.getElementById('timeline-canvas').focus()")
    tab.press("ArrowRight")
    assert "wait for all_gather params.layers.0.wq" in text_of(tab, "#detail")
    tab.press("ArrowRight")
    assert text_of(tab, "#detail").startswith("matmul #0")
    tab.press("ArrowDown")
    assert text_of(tab, "#detail").startswith("all_gather params.layers.1.wq")
    tab.press("e")
    assert "wait for reduce_scatter grads.params.layers.11.wq" in text_of(tab, "#detail")
    tab.press("Escape")
    assert tab.evaluate("document.getElementById('detail').hidden")


def test_memory_lists_owners(open_page, fixture_page):
    tab = open_page(fixture_page(12))
    width = tab.box("#memory-canvas")[2] - 2
    x, y = in_view(tab, "#memory-canvas", 1 + 150 + 15 / 530 * (width - 150), 100)
    tab.hover(x, y)
    assert "alive in 1 buffers" in text_of(tab, "#tip")
    assert "4.000 MiB gathered params.layers.0.wq" in text_of(tab, "#tip")
    tab.click(x, y)
    rows = text_of(tab, "#owners").splitlines()
    assert rows[0].startswith("Alive at 15.") and rows[0].endswith(": 20.00 MiB")
    assert [row.split("\t")[0] for row in rows[2:]] == ["gathered params.layers.0.wq",
                                                        "arguments and results"]


@pytest.mark.parametrize("dark", [False, True])
def test_comparison(open_page, fixture_page, dark):
    tab = open_page(fixture_page(12, "compare"), dark=dark)
    assert text_of(tab, ".verdict") == "best takes 530.0 µs, 330.0 µs (38.37 %) less than sync."
    assert "step time\t530.0 µs\t860.0 µs\t+330.0 µs" in text_of(tab, "#numbers-table")
    assert "all_gather params.layers.1.wq\t0 ns\t30.00 µs\t+30.00 µs" in text_of(
        tab, "#differences-table")
    both = count_pixels(tab, "#timeline-canvas")
    assert both["wait"] > 10 * 20 * 22
    assert tab.evaluate("document.getElementById('arena-canvas').hidden")
    tab.evaluate("document.querySelector('#differences-table a').click()")
    tab.settle()
    assert "in schedule best" in text_of(tab, "#detail")


def test_forty_thousand_slices(open_page, fixture_page):
    tab = open_page(fixture_page(13000))
    counts = count_pixels(tab, "#timeline-canvas")
    assert counts["compute"] > 10000 and counts["gather"] > 10000
    tab.evaluate("document.getElementById('next-exposed').click()")
    tab.settle()
    assert "wait for all_gather params.layers.0.wq" in text_of(tab, "#detail")
