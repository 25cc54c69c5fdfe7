"""A real headless Chromium, controlled over a pipe with the Chrome DevTools Protocol."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.waiting import await_that

DEADLINE = 30.0
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--no-first-run",
    "--no-proxy-server",
    "--remote-debugging-pipe",
)


def find_chromium() -> str | None:
    """The program of Debian's package `chromium`, or another Chromium."""
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )


@dataclass
class Browser:
    """One page of a running browser."""

    reader: int
    writer: int
    session: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    _number: int = 0
    _rest: bytes = b""

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command, and return its result. Events that arrive before it are kept in `events`."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + DEADLINE
        while (answer := self._receive(until)).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def _receive(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self.reader], [], [], max(0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            read = os.read(self.reader, 2**16)
            assert read, "the browser has ended"
            self._rest += read
        first, _, self._rest = self._rest.partition(b"\0")
        return json.loads(first)

    def open(
        self, url: str, *, width: int = 1440, height: int = 1000, dark: bool = False, scripts: bool = True
    ) -> None:
        """Load a page, and wait until it is complete."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.send("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=scheme)
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.send("Page.navigate", url=url)
        self.await_that("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def await_that(self, expression: str) -> None:
        """Wait until the expression is true."""
        await_that(lambda: self.evaluate(expression))

    def press(self, key: str, **more: Any) -> None:
        """Press one key."""
        text = {"text": key} if len(key) == 1 else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **more)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, **more)

    def screenshot(self, file: Path, *, full: bool = False) -> None:
        """Save a picture of the page."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=full)["data"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(data))


@contextmanager
def browser(program: str, directory: Path) -> Iterator[Browser]:
    """A browser with one empty page, which ends with the block."""
    to_browser, from_browser = os.pipe(), os.pipe()
    passed = tuple(fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser[0], from_browser[1]))
    start = f"import os, sys; os.dup2({passed[0]}, 3); os.dup2({passed[1]}, 4); os.execv(sys.argv[1], sys.argv[1:])"
    arguments = [sys.executable, "-c", start, program, *_FLAGS, f"--user-data-dir={directory}", "about:blank"]
    process = subprocess.Popen(
        arguments, pass_fds=passed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    for end in (to_browser[0], from_browser[1], *passed):
        os.close(end)
    one = Browser(from_browser[0], to_browser[1])
    try:
        page = next(target for target in one.send("Target.getTargets")["targetInfos"] if target["type"] == "page")
        one.session = one.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            one.send(f"{domain}.enable")
        yield one
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for end in (one.reader, one.writer):
            os.close(end)
