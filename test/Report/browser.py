# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for tests, driven over its DevTools pipe.

The browser reads requests from file descriptor 3 and answers on 4: JSON, each
message ended by a zero byte. No port is opened.
"""
import base64
import json
import os
import select
import shutil
import struct
import subprocess
import tempfile
import zlib

import numpy

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# Seconds; an answer takes milliseconds.
PATIENCE = 120


class Browser:
    def __init__(self):
        program = next(filter(None, map(shutil.which, PROGRAMS)), None)
        if program is None:
            raise FileNotFoundError("no Chromium in $PATH: " + ", ".join(PROGRAMS))
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        # The child has them as 3 and 4, whatever their numbers are here.
        shell = f'exec "$0" "$@" 3<&{requests} 4>&{answers}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, program, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"],
            pass_fds=(requests, answers), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(requests)
        os.close(answers)
        self.buffer, self.count, self.events = b"", 0, []

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.requests)
        os.close(self.answers)
        self.profile.cleanup()

    def read(self):
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], PATIENCE)[0]:
                raise TimeoutError(f"the browser said nothing for {PATIENCE} s")
            part = os.read(self.answers, 1 << 16)
            if not part:
                raise ConnectionError("the browser ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.requests, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1280, height=900, dark=False, fragment="", script=True):
        return Tab(self, path, width, height, dark, fragment, script)


class Tab:
    """A page that has been loaded and drawn."""

    def __init__(self, browser, path, width, height, dark, fragment, script):
        self.browser, self.width, self.height = browser, width, height
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.target = target
        self.session = browser.call("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        if not script:
            self.call("Emulation.setScriptExecutionDisabled", value=True)
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}{fragment}")
        self.wait_for("Page.loadEventFired")
        if script:
            self.settle()

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def wait_for(self, method):
        while not any(event.get("method") == method and event.get("sessionId") == self.session
                      for event in self.browser.events):
            self.browser.events.append(self.browser.read())

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def settle(self):
        """Waits until two frames have been drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame("
                      "() => requestAnimationFrame(() => done(1))))")

    def problems(self):
        """What the console, the scripts and the network complained about, and each
        address beside the page itself that was asked for."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            method, parameters = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"]["exception"]["description"])
            elif method == "Log.entryAdded":
                found.append(parameters["entry"]["text"])
            elif method == "Runtime.consoleAPICalled":
                found.append(str(parameters["args"]))
            elif method == "Network.requestWillBeSent" and parameters["type"] != "Document":
                found.append("fetches " + parameters["request"]["url"])
        return found

    def dump(self):
        """The document as it is now."""
        return self.evaluate("document.documentElement.outerHTML")

    def mouse(self, kind, x, y, **parameters):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **parameters)

    def click(self, x, y, modifiers=0):
        self.mouse("mousePressed", x, y, button="left", clickCount=1, modifiers=modifiers)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1, modifiers=modifiers)
        self.settle()

    def hover(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.settle()

    def wheel(self, x, y, delta):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta)
        self.settle()

    def press(self, key, **parameters):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **parameters)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **parameters)
        self.settle()

    def screenshot(self, path=None, whole=False, clip=None):
        """A PNG of what is in view, of the whole page, or of (x, y, width, height)
        on the page."""
        parameters = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = (0, 0, size["width"], size["height"])
        if clip:
            x, y, width, height = clip
            parameters = {"captureBeyondViewport": True, "clip": {
                "x": x, "y": y, "width": width, "height": height, "scale": 1}}
        png = base64.b64decode(self.call("Page.captureScreenshot", optimizeForSpeed=True,
                                         **parameters)["data"])
        if path:
            with open(path, "wb") as file:
                file.write(png)
        return png

    def box(self, selector):
        """x, y, width and height of an element on the page, not in the window."""
        return self.evaluate(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect(); return [b.x + scrollX, b.y + scrollY, b.width, b.height]; })()")


def decode_png(png):
    """An 8-bit image as an array of height x width x (red, green, blue)."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        chunk = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", chunk[:10])
            assert depth == 8 and colour in (2, 6)
        elif kind == b"IDAT":
            packed += chunk
        at += length + 12
    size = 3 if colour == 2 else 4
    lines = numpy.frombuffer(zlib.decompress(packed), numpy.uint8).reshape(height, -1)
    image = numpy.empty((height, width, size), numpy.uint8)
    above = numpy.zeros((width, size), numpy.uint8)
    for y in range(height):
        above = image[y] = unfilter(lines[y, 0], lines[y, 1:].reshape(width, size), above)
    return image[:, :, :3]


def unfilter(kind, line, above):
    """Undoes the filter of one line of a PNG, as its specification says."""
    if kind == 0:
        return line
    if kind == 1:
        return numpy.cumsum(line, axis=0, dtype=numpy.uint8)
    if kind == 2:
        return line + above
    result = line.astype(int)
    left = corner = numpy.zeros(line.shape[1], int)
    for x, up in enumerate(above.astype(int)):
        if kind == 3:
            guess = (left + up) // 2
        else:
            candidates = numpy.stack([left, up, corner])
            nearest = numpy.abs(candidates - (left + up - corner)).argmin(axis=0)
            guess = candidates[nearest, range(len(up))]
        left, corner = (result[x] + guess) & 255, up
        result[x] = left
    return result.astype(numpy.uint8)
