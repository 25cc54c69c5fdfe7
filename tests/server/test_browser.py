"""The pages in a real headless Chromium: updates, keyboard, contrast, phone, and hostile values.

The screenshots are in the directory `screenshots`, to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from support.files.tables import rows, table
from support.planner.situations import CLUSTER
from support.server.browser import Browser, browser, find_chromium
from support.server.made_up import World
from support.server.running import served

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.names import ConnectorName, Revision
from gitops_connect.model.observed_state import TaskStatus, WorkerState
from gitops_connect.model.verdicts import IS_OK, NextStep, Verdict, VerdictKind
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


@pytest.fixture(autouse=True)
def _leave(chromium: Browser) -> Iterator[None]:
    """A page that stays open would ask a server that has ended for events, and complain in the next test."""
    yield
    chromium.open("about:blank#")
    complaints(chromium)


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
    open_live(chromium, f"{url}/connectors?cluster=local", height=500)
    row = "document.getElementById('c/local/orders')"
    chromium.evaluate("search.value = 'orders'; search.dispatchEvent(new Event('input', {bubbles: true}))")
    chromium.await_that("location.search === '?q=orders&cluster=local'")
    chromium.await_that("document.querySelectorAll('#connectors tbody tr').length < 60")
    chromium.evaluate(f"{row}.scrollIntoView({{block: 'center'}}); {row}.querySelector('a').focus()")
    other = "document.getElementById('c/local/orders-source-0000')"
    chromium.evaluate(f"{other}.kept = true")
    before = chromium.evaluate("scrollY")
    connectors = made.served.snapshot.clusters[CLUSTER].connectors
    changed = tuple(replace(one, verdict=IS_OK) if one.name == "orders" else one for one in connectors)
    made.daemon.state.update_cluster(CLUSTER, connectors=changed)
    chromium.await_that(f"{row}.textContent.includes('OK')")
    assert chromium.evaluate(f"document.activeElement === {row}.querySelector('a')")
    assert chromium.evaluate("scrollY") == before
    assert chromium.evaluate("search.value") == "orders"
    assert chromium.evaluate(f"{other}.kept"), "a row that did not change is not replaced"
    made.daemon.state.update_cluster(CLUSTER, connectors=changed[:1])
    chromium.await_that("document.querySelector('.waiting')?.textContent.includes('changes · show')")
    assert chromium.evaluate(f"{row} !== null"), "nothing disappears while a person reads"
    chromium.evaluate("document.querySelector('.waiting').click()")
    chromium.await_that(f"{row} === null")
    assert chromium.evaluate("document.querySelector('.waiting') === null")
    assert complaints(chromium) == []


def test_a_lost_connection_covers_the_whole_width(chromium: Browser, made: World) -> None:
    app = application(made.served)
    with served(app) as url:
        open_live(chromium, f"{url}/connectors")
    chromium.evaluate("heard = 0; show()")
    assert chromium.evaluate("document.getElementById('lost').textContent").startswith("Connection lost")
    assert chromium.evaluate("document.title.startsWith('⚠')")
    assert chromium.evaluate("document.getElementById('lost').offsetWidth === document.body.clientWidth")
    chromium.screenshot(SCREENSHOTS / "lost.png")
    connectors = chromium.evaluate("document.querySelectorAll('#connectors tbody tr').length")
    assert connectors > 40, "it still shows the last state"
    chromium.open("about:blank#")
    complaints(chromium)


def test_the_keyboard_is_enough(chromium: Browser, url: str) -> None:
    open_live(chromium, f"{url}/connectors")
    chromium.press("Tab")
    assert chromium.evaluate("document.activeElement.className") == "skip"
    for expected in ("local/customers-sink-0003", "local/failed"):
        chromium.press("j")
        assert chromium.evaluate("document.activeElement.closest('tr').id") == f"c/{expected}"
    chromium.press("k")
    assert chromium.evaluate("document.activeElement.closest('tr').id") == "c/local/customers-sink-0003"
    chromium.press("p")
    assert chromium.evaluate("document.getElementById('connection').textContent") == "Paused"
    chromium.press("p")
    chromium.press("t")
    assert "UTC" in chromium.evaluate("document.querySelector('time').textContent")
    chromium.press("?")
    assert chromium.evaluate("document.getElementById('keys').open")
    chromium.evaluate("document.getElementById('keys').close()")
    chromium.press("/")
    assert chromium.evaluate("document.activeElement.id") == "search"
    for key in "disk":
        chromium.press(key)
    chromium.await_that("document.querySelectorAll('#connectors tbody tr').length === 1")
    chromium.await_that("document.getElementById('shown').textContent.trim().startsWith('1 of ')")
    chromium.press("Escape")
    for key in "gf":
        chromium.press(key)
    chromium.await_that("location.pathname === '/'")
    assert complaints(chromium) == []


def test_without_scripts_the_page_has_everything(chromium: Browser, url: str) -> None:
    chromium.open(f"{url}/connectors?attention=1", scripts=False)
    chromium.screenshot(SCREENSHOTS / "connectors-without-scripts.png")
    chromium.send("Emulation.setScriptExecutionDisabled", value=False)
    assert chromium.evaluate("getComputedStyle(document.querySelector('.filter button')).display") != "none"
    assert chromium.evaluate("document.getElementById('connection').hidden")
    assert "UTC" in chromium.evaluate("document.querySelector('time').textContent")


def test_hostile_values_are_only_text(chromium: Browser, url: str, made: World) -> None:
    state = made.daemon.state
    first, *others = state.snapshot.clusters[CLUSTER].connectors
    for value in rows(__file__, "hostile"):
        chromium.open("about:blank#")
        verdict = Verdict(VerdictKind.FAILED, value, value, value, NextStep(value, value, value, Location(value)))
        known = {"class_name": value, "labels": ((value, value),), "parts": (TaskStatus(1, WorkerState.FAILED, value),)}
        one = replace(
            first, name=ConnectorName(value), state=value, problem=value, tasks=value, verdict=verdict, **known
        )
        place = Location(value, 1, 1)
        problems = Diagnostics.of([Diagnostic(Severity.ERROR, value, value, place, value, ConnectorName(value))])
        state.update_cluster(CLUSTER, connectors=(one, *others[:3]), error=value, diagnostics=problems)
        texts = dict.fromkeys(("author", "subject", "error"), value)
        repository = replace(state.snapshot.repository, revision=Revision(value), diagnostics=problems, **texts)
        state.set_repository(repository)
        lists = (f"/connectors?q={quote(value)}", "/connectors?group=cause", "/connectors?group=class")
        for path in ("/", "/clusters/local", "/problems", *lists):
            open_live(chromium, url + path)
            assert chromium.evaluate("window.hacked") is None
            active = "document.querySelectorAll('main script, main img, [onload], [onerror]').length"
            assert chromium.evaluate(active) == 0
            assert chromium.evaluate("[...document.links].every((one) => one.protocol === 'http:')")
        chromium.open(f"{url}/connectors")
        link = chromium.evaluate(
            "[...document.querySelectorAll('#connectors th a')].map((one) => one.href).concat([location.href])[0]"
        )
        chromium.open(link)
        assert chromium.evaluate("window.hacked") is None
    assert complaints(chromium) == []
