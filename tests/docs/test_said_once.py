"""Each name that users meet is explained on one page of the reference, each term once, and each page can be found."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

import error_page
import pages_outside
import settings_page
from support.docs.docs_pages import DOCS, PAGES, ROOT
from support.log_events import FIELDS

from gitops_connect.cli.main import COMMANDS
from gitops_connect.ledger.archive import FORMAT_VERSION

REFERENCE = sorted((DOCS / "reference").rglob("*.md"))
ROW = re.compile(r"^(?:\| |#+ )`(?:\[[\w.]+\] )?([\w. -]+)`(?: \||$)", re.MULTILINE)
"""A row of a table, or a heading, about one name."""
HEADING = re.compile(r"^#+ `(.+)`$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)")
METRICS = re.compile(r"^\| `(gitops_connect_\w+)`", re.MULTILINE)


def explained(names: set[str], pattern: re.Pattern[str] = ROW) -> Iterator[str]:
    """The names that are explained on another number of pages of the reference than one, with these pages."""
    rows = {page.stem: set(pattern.findall(page.read_text())) for page in REFERENCE}
    for name in sorted(names):
        pages = [page for page, found in rows.items() if name in found]
        if len(pages) != 1:
            yield f"{name}: {pages}"


def test_each_event_is_explained_on_one_page() -> None:
    assert list(explained(set(FIELDS))) == []


def test_each_command_is_explained_on_one_page() -> None:
    assert list(explained({f"gitops-connect {name}" for name in COMMANDS}, HEADING)) == []


def test_no_page_but_that_of_the_errors_explains_an_error() -> None:
    names = {section.error.__name__ for sections in error_page.situations().values() for section in sections}
    for page in REFERENCE:
        assert names.isdisjoint(ROW.findall(page.read_text())), page


def test_each_metric_is_explained_on_one_page() -> None:
    metrics = set(METRICS.findall((DOCS / "reference" / "metrics.md").read_text()))
    assert len(metrics) > 30
    assert list(explained(metrics)) == []


def test_no_page_but_that_of_the_settings_explains_a_setting() -> None:
    settings = {field.name for cls in settings_page.TABLES for field in dataclasses.fields(cls) if "_" in field.name}
    assert len(settings) > 50
    for page in REFERENCE:
        if page.stem != "settings":
            assert settings.isdisjoint(ROW.findall(page.read_text())), page


def test_every_page_is_linked_from_another_one() -> None:
    linked = {(page.parent / link).resolve() for page in PAGES for link in LINK.findall(page.read_text())}
    start = {ROOT / name for name in ("README.md", "examples/repo/README.md")} | {DOCS / "index.md"}
    assert set(PAGES) - linked - start == set()


WORDS = {
    "DLQ": "skip-a-poison-pill",
    "canary": "roll-out-and-roll-back",
    "four eyes": "require-a-second-pair-of-eyes",
    "freeze": "hold-a-maintenance-window",
    "high availability": "run-several-replicas",
    "import": "take-over-existing-connectors",
    "mTLS": "use-tls-and-mtls",
    "replay": "rewind-a-sink",
    "reset its offsets": "reset-a-source",
}
"""Words that people search for, and the guide that the search must find."""


def test_the_search_finds_a_guide_under_the_words_that_people_use() -> None:
    for word, page in WORDS.items():
        assert word in " ".join((DOCS / "how-to" / f"{page}.md").read_text().split()), page


def test_each_term_of_the_glossary_is_defined_once_and_used() -> None:
    terms = [term.lower() for term, _ in pages_outside.TERMS]
    assert len(terms) == len(set(terms))
    assert {"adopt", "external", "forge", "hold", "ledger", "unread"} <= set(terms)
    prose = "\n".join(page.read_text().lower() for page in PAGES if page.stem != "glossary")
    assert [term for term in terms if not re.search(rf"\b{term}", prose)] == []


def test_the_first_use_of_a_term_on_a_page_is_a_link() -> None:
    text = "# Ledger\n\nThe `ledger` and the [ledger](a.md): a ledger, and the ledger.\n\n```sh\nledger\n```\nForges\n"
    linked = text.replace("a ledger,", "a [ledger](../g.md#ledger),").replace("Forges", "[Forges](../g.md#forge)")
    assert pages_outside.link_terms(text, "../g.md") == linked


def test_the_page_of_the_ledger_has_the_format_of_exports() -> None:
    assert f"writes {FORMAT_VERSION}, and reads 1 to {FORMAT_VERSION}." in (DOCS / "reference/ledger.md").read_text()
