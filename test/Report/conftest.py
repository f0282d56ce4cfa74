# SPDX-License-Identifier: Apache-2.0
"""A browser for all tests, and the pages that they look at."""
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from browser import Browser  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="session")
def browser():
    running = Browser()
    yield running
    running.close()


@pytest.fixture(scope="session")
def fixture_page(tmp_path_factory):
    """Makes pages of made-up schedules: fixture_page(layers, "compare")."""
    folder = tmp_path_factory.mktemp("pages")

    def make(layers, *mode):
        path = folder / f"{layers}{''.join(mode)}.html"
        if not path.exists():
            subprocess.run([ROOT / "build/bin/weft-report-fixture", path, str(layers), *mode],
                           check=True)
        return path
    return make


@pytest.fixture
def open_page(browser):
    """Opens a page; it must not have complained about anything when the test ends."""
    tabs = []

    def open_it(path, **options):
        tabs.append(browser.open(path, **options))
        return tabs[-1]
    yield open_it
    found = [problem for tab in tabs for problem in tab.problems()]
    for tab in tabs:
        tab.close()
    assert found == []
