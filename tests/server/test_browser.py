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
from support.server.made_up import PROD, World
from support.server.running import served

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.names import ConnectorName, Revision
from gitops_connect.model.observed_state import TaskStatus, WorkerState
from gitops_connect.model.verdicts import NextStep, Verdict, VerdictKind
from gitops_connect.server.app import application

CHROMIUM = find_chromium()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed; on Debian: apt install chromium"),
]
SCREENSHOTS = Path(__file__).parents[2] / "screenshots"
CONTRAST = Path(__file__).with_name("contrast.js").read_text()
FILTER = "search.value = 'orders'; search.dispatchEvent(new Event('input', {bubbles: true}))"
WATCH = """
  window.touched = [];
  new MutationObserver((changes) => {
    for (const one of changes) {
      const node = one.target.nodeType === 1 ? one.target : one.target.parentElement;
      const row = node.closest("tbody tr");
      if (node.closest("tbody") && !node.closest("time") && !touched.includes(row?.id)) touched.push(row?.id);
    }
  }).observe(document.querySelector("main"), {subtree: true, childList: true, attributes: true, characterData: true});
"""
"""From now on, `touched` lists the ids of all rows in which something other than an age changes."""
AGE = "document.querySelector('.verdict-line time').innerText"
BUSY = "window.fetched = fetch; window.fetch = () => Promise.resolve(new Response('', {status: 503}))"
FIXED = """
  const now = Date.now();
  Date.now = () => now;
  window.timers = [];
  window.setTimeout = (work, wait) => timers.push([work, wait]);
  window.fetched = window.fetch;
  window.answers = window.fetched;
  window.fetches = 0;
  window.fetch = (...all) => { fetches += 1; return answers(...all); };
  window.isHidden = false;
  Object.defineProperty(document, "hidden", {get: () => isHidden});
"""
"""A clock that does not move, timers that only the test ends, and the number of times that the page was read again."""


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


def test_rows_change_in_place_while_a_person_reads_and_others_wait(chromium: Browser, url: str, made: World) -> None:
    open_live(chromium, f"{url}/connectors?cluster=local", height=500)
    row, other = (f"document.getElementById('c/local/{name}')" for name in ("orders", "orders-source-0000"))
    chromium.evaluate(FILTER)
    chromium.await_that("location.search === '?q=orders&cluster=local'")
    chromium.await_that("document.querySelectorAll('#connectors tbody tr').length < 60")
    chromium.evaluate(f"{row}.scrollIntoView({{block: 'center'}}); {row}.querySelector('a').focus()")
    chromium.evaluate(f"{row}.kept = {other}.kept = {row}.querySelector('a').kept = true")
    chromium.evaluate(f"getSelection().selectAllChildren({other}.querySelector('th'))")
    chromium.evaluate(WATCH)
    before = chromium.evaluate("scrollY")
    connectors = made.served.snapshot.clusters[CLUSTER].connectors
    unknown = Verdict(VerdictKind.UNKNOWN, "not read")
    changed = tuple(replace(one, verdict=unknown) if one.name == "orders" else one for one in connectors)
    made.daemon.state.update_cluster(CLUSTER, connectors=changed)
    chromium.await_that(f"{row}.textContent.includes('not read')")
    assert chromium.evaluate("touched") == ["c/local/orders"]
    assert chromium.evaluate(f"{row}.kept && {other}.kept && document.activeElement.kept")
    assert chromium.evaluate("getSelection().toString().trim()") == "orders-source-0000"
    assert (chromium.evaluate("scrollY"), chromium.evaluate("search.value")) == (before, "orders")
    assert chromium.evaluate("waiting.textContent") == "new order · show"
    assert complaints(chromium) == []


def test_rows_that_appear_or_disappear_wait_while_a_person_reads(chromium: Browser, url: str, made: World) -> None:
    open_live(chromium, f"{url}/connectors?cluster=local&q=orders")
    row = "document.getElementById('c/local/orders')"
    chromium.evaluate(f"{row}.querySelector('a').focus()")
    connectors = made.served.snapshot.clusters[CLUSTER].connectors
    added = replace(connectors[0], name=ConnectorName("orders-added"))
    made.daemon.state.update_cluster(CLUSTER, connectors=(added, *(one for one in connectors if one.name != "orders")))
    chromium.await_that("waiting.textContent === '1 new, 1 gone · show'")
    assert chromium.evaluate(f"{row} !== null"), "nothing disappears while a person reads"
    assert chromium.evaluate("document.getElementById('c/local/orders-added') === null")
    made.daemon.state.update_cluster(CLUSTER, connectors=())
    chromium.await_that("/^\\d+ gone · show$/.test(waiting.textContent)")
    made.daemon.state.update_cluster(CLUSTER, connectors=(added,))
    chromium.await_that("waiting.textContent.startsWith('1 new, ')")
    chromium.evaluate(f"{BUSY}; waiting.click()")
    chromium.await_that("failed")
    chromium.evaluate("window.fetch = fetched; hear({})")
    chromium.await_that(f"{row} === null && waiting.hidden")
    assert chromium.evaluate("document.querySelectorAll('#connectors tbody tr').length") == 1
    assert complaints(chromium) == []


def test_rows_appear_at_once_if_nobody_reads(chromium: Browser, url: str, made: World) -> None:
    open_live(chromium, f"{url}/connectors?cluster=local&sort=name")
    chromium.evaluate("for (const row of document.querySelectorAll('tbody tr')) row.kept = true")
    first, *others = made.served.snapshot.clusters[CLUSTER].connectors
    added = replace(first, name=ConnectorName("a-new-one"))
    made.daemon.state.update_cluster(CLUSTER, connectors=(added, *others))
    chromium.await_that("document.querySelector('tbody tr').id === 'c/local/a-new-one'")
    assert chromium.evaluate("[...document.querySelectorAll('tbody tr')].filter((row) => !row.kept).length") == 1
    assert chromium.evaluate(f"document.getElementById('c/local/{first.name}') === null")
    assert chromium.evaluate("waiting.hidden")


def test_open_details_and_selected_text_remain(chromium: Browser, url: str, made: World) -> None:
    parts = tuple(TaskStatus(number, WorkerState.FAILED, "no <disk>\n\tat x") for number in range(2))
    connectors = made.served.snapshot.clusters[CLUSTER].connectors
    connectors = tuple(replace(one, parts=parts) if one.name == "failed" else one for one in connectors)
    made.daemon.state.update_cluster(CLUSTER, connectors=connectors)
    open_live(chromium, f"{url}/clusters/local/connectors/failed")
    task = "document.getElementById('task-0')"
    chromium.evaluate(f"{task}.querySelector('summary').click()")
    chromium.evaluate(f"getSelection().selectAllChildren({task}.querySelector('pre'))")
    chromium.evaluate("document.getElementById('trace-1').kept = true")
    selected = chromium.evaluate("getSelection().toString()")
    assert "no <disk>" in selected
    verdict = Verdict(VerdictKind.FAILED, cause="another cause", next=NextStep("wait", command="gitops-connect status"))
    changed = tuple(replace(one, verdict=verdict) if one.name == "failed" else one for one in connectors)
    made.daemon.state.update_cluster(CLUSTER, connectors=changed)
    chromium.await_that("document.getElementById('facts').textContent.includes('another cause')")
    assert chromium.evaluate("getSelection().toString()") == selected
    assert chromium.evaluate(f"{task}.querySelector('details').open && document.getElementById('trace-1').kept")
    command, chat = chromium.evaluate("[...document.querySelectorAll('.copy')].map((one) => copied(one))")
    assert command == "gitops-connect status"
    verdict = f"Failed another cause {chromium.evaluate(AGE)}"
    assert chat.splitlines() == ["failed", verdict, f"Next: {command}", f"{url}/clusters/local/connectors/failed"]
    assert complaints(chromium) == []


def test_a_part_that_a_page_did_not_have_appears_and_disappears(chromium: Browser, url: str, made: World) -> None:
    made.daemon.state.set_repository(replace(made.served.snapshot.repository, diagnostics=Diagnostics()))
    open_live(chromium, f"{url}/clusters/prod-eu")
    assert chromium.evaluate("document.getElementById('problems') === null")
    one = Diagnostic(Severity.ERROR, "schema/type", "expected a number", Location("orders.yaml", 7, 1))
    made.daemon.state.update_cluster(PROD, diagnostics=Diagnostics.of([one]))
    chromium.await_that("document.getElementById('problems')?.textContent.includes('expected a number')")
    made.daemon.state.update_cluster(PROD, diagnostics=Diagnostics())
    chromium.await_that("document.getElementById('problems') === null")


def test_a_page_is_read_again_only_if_someone_sees_it_and_at_most_every_two_seconds(
    chromium: Browser, url: str, made: World
) -> None:
    open_live(chromium, f"{url}/connectors")
    chromium.evaluate(FIXED)
    news = "for (let count = 0; count < 10; count += 1) hear({number: -1});"
    chromium.evaluate(f"lastUpdate = Date.now(); {news}")
    assert chromium.evaluate("timers.map(([, wait]) => wait)") == [2000], "many events are one update"
    chromium.evaluate("isHidden = true; timers[0][0]()")
    chromium.evaluate(news)
    assert chromium.evaluate("[fetches, timers.length]") == [0, 1], "a hidden tab reads nothing"
    chromium.evaluate("isHidden = false; document.dispatchEvent(new Event('visibilitychange'))")
    assert chromium.evaluate("[fetches, timers.length]") == [0, 2]
    chromium.press("p")
    chromium.evaluate("timers[1][0]()")
    chromium.evaluate(news)
    assert chromium.evaluate("[fetches, timers.length]") == [0, 2], "a page that is paused reads nothing"
    chromium.press("p")
    assert chromium.evaluate("timers.length") == 3
    chromium.evaluate(f"timers[2][0](); {news}")
    assert chromium.evaluate("[fetches, timers.length]") == [1, 3], "no update ends another one"
    chromium.await_that("running === null")
    assert chromium.evaluate("timers.slice(3).map(([, wait]) => wait)") == [2000], "what came meanwhile is read later"
    chromium.evaluate("answers = () => Promise.resolve(new Response('', {status: 503})); timers[3][0]()")
    chromium.await_that("document.getElementById('connection').textContent === 'Update failed'")
    chromium.evaluate("answers = fetched; hear({}); timers[4][0]()")
    chromium.await_that("document.getElementById('connection').textContent === 'Live'")
    assert chromium.evaluate("fetches") == 3
    assert complaints(chromium) == []


def test_an_update_without_an_answer_is_ended_and_shown(chromium: Browser, url: str) -> None:
    open_live(chromium, f"{url}/connectors")
    until_ended = "new Promise((_, reject) => signal.addEventListener('abort', reject))"
    chromium.evaluate(f"window.fetch = (_, {{signal}}) => {until_ended}; hear({{number: -1}})")
    chromium.await_that("running !== null")
    chromium.evaluate("lastUpdate -= SILENCE + 1; show()")
    chromium.await_that("document.getElementById('connection').textContent === 'Update failed'")
    assert chromium.evaluate("running === null"), "the next event starts another one"


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
        word = quote(value.replace("\0", ""))  # a URL with this character is rejected
        lists = (f"/connectors?q={word}", "/connectors?group=cause", "/connectors?group=class")
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
