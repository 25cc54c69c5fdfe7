"""The pages compared with pictures of them, pixel by pixel: both widths, light, dark, forced colours, and print.

Pictures depend on the version of Chromium and on the fonts: `pictures/made-with.json` says which ones they are of, and
with others the test is skipped. After a change, `PICTURES=rewrite pytest tests/server/test_pictures.py` writes them
again. Look at them before you commit them.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cluster.manual_clock import START
from support.files.tables import table
from support.planner.situations import CLUSTER
from support.server.browser import Browser, browser, find_chromium
from support.server.made_up import World

from gitops_connect.model.observed_state import TaskStatus, WorkerState
from gitops_connect.model.verdicts import VerdictKind

CHROMIUM = find_chromium()
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed; on Debian: apt install chromium"),
]
PICTURES = Path(__file__).with_name("pictures")
MADE_WITH = PICTURES / "made-with.json"
REWRITE = os.environ.get("PICTURES") == "rewrite"
MOST = 0.001
"""The share of pixels that may differ, such as those of the version in the footer."""
MOST_BYTES = 500_000
COMPARE, PALETTE = (Path(__file__).with_name(name).read_text() for name in ("compare_pictures.js", "palette.js"))
FIXED_CLOCK = f"""
  Date.now = () => {START.timestamp() * 1000:.0f};
  document.addEventListener("readystatechange", () => {{ document.body.dataset.now = "{START:%Y-%m-%dT%H:%M:%SZ}"; }});
"""
FONTS = """
  ["system-ui", "sans-serif", "monospace"].map((family) => {
    const context = new OffscreenCanvas(1, 1).getContext("2d");
    context.font = `100px ${family}`;
    return `${family} ${context.measureText("Kafka Connect, 0123456789").width.toFixed(1)}`;
  })
"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert CHROMIUM is not None
    with browser(CHROMIUM, tmp_path_factory.mktemp("chromium")) as one:
        one.send("Page.addScriptToEvaluateOnNewDocument", source=FIXED_CLOCK)
        yield one


def made_with(chromium: Browser) -> dict[str, Any]:
    """The major version of the browser, and the widths of a text in its fonts."""
    product = chromium.send("Browser.getVersion")["product"]
    return {"chromium": product.partition("/")[2].partition(".")[0], "fonts": chromium.evaluate(FONTS)}


def show_each_verdict(made: World) -> None:
    """The first connectors have one verdict each."""
    connectors = made.served.snapshot.clusters[CLUSTER].connectors
    each = [
        replace(one, verdict=replace(one.verdict, kind=kind, cause=one.verdict.cause or f"why {one.name} has it"))
        for one, kind in zip(connectors, VerdictKind, strict=False)
    ]
    parts = tuple(TaskStatus(number, WorkerState.FAILED, "10.0.0.4:8083") for number in range(2))
    others = (replace(one, parts=parts) if one.name == "failed" else one for one in connectors[len(each) :])
    made.daemon.state.update_cluster(CLUSTER, connectors=(*each, *others))


def take(chromium: Browser, url: str, of: dict[str, Any]) -> str:
    """A picture of a page as a data URL."""
    chromium.open(url, width=of["width"], height=of["height"])
    chromium.send("Emulation.setEmulatedMedia", media=of.get("media", ""), features=of["features"])
    chromium.await_that("document.getElementById('connection').textContent === 'Live'")
    chromium.evaluate("document.getElementById('printed').textContent = 'https://gitops-connect.example/'")
    chromium.evaluate("document.fonts.ready.then(() => 0)")
    return f"data:image/png;base64,{chromium.send('Page.captureScreenshot', format='png')['data']}"


def small_png(width: int, palette: list[int], indices: str) -> bytes:
    """A picture with a palette: it needs a third of the bytes of one with all colours."""
    data = base64.b64decode(indices)
    lines = b"".join(b"\0" + data[start : start + width] for start in range(0, len(data), width))
    head = struct.pack(">IIBBBBB", width, len(data) // width, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"PLTE", bytes(palette)), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    parts = (
        struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part)) for kind, part in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_the_pages_look_as_before(chromium: Browser, url: str, made: World) -> None:
    here = made_with(chromium)
    if not REWRITE and here != (known := json.loads(MADE_WITH.read_text())):
        pytest.skip(f"the pictures are of {known}, and this is {here}; PICTURES=rewrite pytest writes them again")
    show_each_verdict(made)
    differing = {}
    for look, of in table(__file__, "looks").items():
        for name, path in table(__file__, "pages").items():
            file, taken = PICTURES / f"{name}-{look}.png", take(chromium, url + path, of)
            chromium.open("about:blank#")
            if REWRITE:
                file.write_bytes(small_png(*chromium.evaluate(f"({PALETTE})({json.dumps(taken)})")))
            before = f"data:image/png;base64,{base64.b64encode(file.read_bytes()).decode()}"
            count, pixels = chromium.evaluate(f"({COMPARE})({json.dumps(before)}, {json.dumps(taken)})")
            if count > MOST * pixels:
                differing[file.name] = f"{count} of {pixels} pixels differ"
    if REWRITE:
        MADE_WITH.write_text(json.dumps(here, indent=2) + "\n")
    assert differing == {}
    assert sum(file.stat().st_size for file in PICTURES.iterdir()) < MOST_BYTES
