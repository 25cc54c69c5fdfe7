"""The pages in a real headless Chromium: updates, keyboard, contrast, phone, and hostile values.

The screenshots are in the directory `screenshots`, to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.files.tables import rows, table
from support.planner.situations import CLUSTER
from support.server.browser import Browser, browser, find_chromium
from support.server.made_up import World
from support.server.running import served

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.names import ConnectorName, Revision
from gitops_connect.server.app import application

CHROMIUM = find_chromium()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed; on Debian: apt install chromium"),
]
SCREENSHOTS = Path(__file__).parents[2] / "screenshots"
CONTRAST = Path(__file__).with_name("contrast.js").read_text()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert CHROMIUM is not None
    with browser(CHROMIUM, tmp_path_factory.mktemp("chromium")) as one:
        yield one


def open_live(chromium: Browser, url: str, **how: Any) -> None:
    chromium.open(url, **how)
    chromium.await_that("document.getElementById('connection').textContent === 'Live'")


def complaints(chromium: Browser) -> list[object]:
    """What the console shows: errors of the script, violations of the policy."""
    names = ("Log.entryAdded", "Runtime.exceptionThrown")
    found = [one["params"] for one in chromium.events if one.get("method") in names]
    chromium.events.clear()
    return found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_every_page_is_readable(chromium: Browser, url: str, width: int, dark: bool) -> None:
    for name, path in table(__file__, "pages").items():
        open_live(chromium, url + path, width=width, dark=dark)
        assert chromium.evaluate("document.documentElement.scrollWidth") <= width, name
        assert chromium.evaluate(CONTRAST) == [], name
        chromium.screenshot(SCREENSHOTS / f"{name}-{width}-{'dark' if dark else 'light'}.png", full=True)
    assert complaints(chromium) == []


def test_the_page_updates_itself_and_keeps_focus_scroll_and_filter(chromium: Browser, url: str, made: World) -> None:
    open_live(chromium, f"{url}/?cluster=local", height=500)
    row = "document.getElementById('c/local/orders')"
    chromium.evaluate("search.value = 'o'; search.dispatchEvent(new Event('input', {bubbles: true}))")
    chromium.await_that("location.search === '?search=o&cluster=local'")
    chromium.await_that("document.querySelectorAll('#connectors tbody tr').length < 60")
    chromium.evaluate(f"{row}.scrollIntoView({{block: 'center'}}); {row}.querySelector('a').focus()")
    other = "document.getElementById('c/local/orders-source-0000')"
    chromium.evaluate(f"{other}.kept = true")
    before = chromium.evaluate("scrollY")
    connectors = made.served.snapshot.clusters[CLUSTER].connectors
    changed = tuple(replace(one, state="PAUSED") if one.name == "orders" else one for one in connectors)
    made.daemon.state.update_cluster(CLUSTER, connectors=changed)
    chromium.await_that(f"{row}.textContent.includes('PAUSED')")
    assert chromium.evaluate(f"document.activeElement === {row}.querySelector('a')")
    assert chromium.evaluate("scrollY") == before
    assert chromium.evaluate("search.value") == "o"
    assert chromium.evaluate(f"{other}.kept"), "a row that did not change is not replaced"
    made.daemon.state.update_cluster(CLUSTER, connectors=changed[:1])
    chromium.await_that("document.getElementById('announce').textContent.startsWith('0 connectors need attention')")
    assert complaints(chromium) == []


def test_the_page_connects_again(chromium: Browser, made: World) -> None:
    app = application(made.served)
    with served(app) as url:
        open_live(chromium, url)
    chromium.await_that("document.getElementById('connection').textContent === 'Reconnecting'")
    connectors = chromium.evaluate("document.querySelectorAll('#connectors tbody tr').length")
    assert connectors > 40, "it still shows the last state"
    complaints(chromium)


def test_the_keyboard_is_enough(chromium: Browser, url: str) -> None:
    chromium.open(url)
    chromium.press("Tab")
    assert chromium.evaluate("document.activeElement.className") == "skip"
    chromium.press("/")
    assert chromium.evaluate("document.activeElement.id") == "search"
    for key in "disk":
        chromium.press(key)
    chromium.await_that("document.querySelectorAll('#connectors tbody tr').length === 1")
    chromium.await_that("document.getElementById('shown').textContent.startsWith('1 of ')")
    assert complaints(chromium) == []


def test_without_scripts_the_page_has_everything(chromium: Browser, url: str) -> None:
    chromium.open(f"{url}/?attention=1", scripts=False)
    chromium.screenshot(SCREENSHOTS / "overview-without-scripts.png")
    chromium.send("Emulation.setScriptExecutionDisabled", value=False)
    assert chromium.evaluate("getComputedStyle(document.querySelector('.filter button')).display") != "none"
    assert chromium.evaluate("document.getElementById('connection').hidden")
    assert "UTC" in chromium.evaluate("document.querySelector('time').textContent")


def test_hostile_values_are_only_text(chromium: Browser, url: str, made: World) -> None:
    state = made.daemon.state
    first, *others = state.snapshot.clusters[CLUSTER].connectors
    for value in rows(__file__, "hostile"):
        chromium.open("about:blank#")
        one = replace(first, name=ConnectorName(value), state=value, problem=value, tasks=value)
        place = Location(value, 1, 1)
        problems = Diagnostics.of([Diagnostic(Severity.ERROR, value, value, place, value, ConnectorName(value))])
        state.update_cluster(CLUSTER, connectors=(one, *others[:3]), error=value, diagnostics=problems)
        texts = dict.fromkeys(("author", "subject", "error"), value)
        repository = replace(state.snapshot.repository, revision=Revision(value), diagnostics=problems, **texts)
        state.set_repository(repository)
        for path in ("/", "/clusters/local", "/problems", f"/?search={value}"):
            open_live(chromium, url + path)
            assert chromium.evaluate("window.hacked") is None
            active = "document.querySelectorAll('main script, main img, [onload], [onerror]').length"
            assert chromium.evaluate(active) == 0
            assert chromium.evaluate("[...document.links].every((one) => one.protocol === 'http:')")
        link = chromium.evaluate(
            "[...document.querySelectorAll('#connectors th a')].map((one) => one.href).concat([location.href])[0]"
        )
        chromium.open(link)
        assert chromium.evaluate("window.hacked") is None
    assert complaints(chromium) == []
