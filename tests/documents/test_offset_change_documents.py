"""Offset changes and initial offsets: from documents to declared offset changes, and the files that a path names."""

from __future__ import annotations

from typing import Any

import pytest
from support.files.document_files import LOCAL, connector, declare
from support.files.tables import rows

from gitops_connect.documents.offset_change_fields import ManifestFiles, NoManifest
from gitops_connect.model.desired import DesiredOffsetChange, ManifestUri, OnDelete
from gitops_connect.model.documents import Entry
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind

MIRROR = ConnectorName("east->west.MirrorSourceConnector")
INLINE = "  offsets:\n    - partition: {filename: a}\n      offset: {position: 1}\n"


def change(name: str = "c", spec: str = f"  operation: alter\n{INLINE}", to: str = "orders", metadata: str = "") -> str:
    """An `OffsetChange` document; `spec` and `metadata` are more lines, indented by two."""
    head = f"apiVersion: gitops-connect/v1\nkind: OffsetChange\nmetadata:\n  name: {name}\n{metadata}"
    return f"{head}spec:\n  connector: {to}\n{spec}"


def from_file(path: str, offset_change: str = "alter") -> str:
    return f"  operation: {offset_change}\n  manifest:\n    path: {path}\n"


def only(text: str, **others: str) -> DesiredOffsetChange:
    """The only change of a document without problems."""
    states, diagnostics = declare({"a.yaml": text, **others})
    assert not diagnostics.items, diagnostics.items
    (offset_change,) = states[LOCAL].offset_changes
    return offset_change


def described(found: DesiredOffsetChange) -> dict[str, object]:
    manifest, entries = found.manifest, getattr(found.manifest, "entries", ())
    return {
        "kind": found.kind.value,
        "acknowledged": sorted(one.value for one in found.acknowledged),
        "acknowledged_at": str(found.locate("acknowledge")),
        "reason": found.reason,
        "manifest": type(manifest).__name__ if manifest else None,
        "manifest_at": str(manifest.location) if manifest else None,
        "entries": [one.path if isinstance(one, Entry) else one.value for one in entries],
        "entries_at": [str(one.location) for one in entries if not isinstance(one, Entry)],
    }


@pytest.mark.parametrize(("spec", "expected"), rows(__file__, "changes"))
def test_a_document_is_a_change(spec: str, expected: dict[str, object]) -> None:
    found = only(change("2026-11-21", spec), **{"offsets/x.jsonl": "{}"})
    assert (found.name, found.connector) == ("2026-11-21", "orders")
    assert {key: described(found)[key] for key in expected} == expected


def test_initial_offsets_belong_to_their_connector() -> None:
    seeded = connector(
        "a", f"  class: X\n  initialOffsets:\n    acknowledge: [skip]\n{INLINE.replace('  ', '    ', 1)}"
    )
    states, diagnostics = declare(
        {"a.yaml": seeded.replace("    - part", "      - part").replace("      off", "        off")}
    )
    assert not diagnostics.items, diagnostics.items
    (found,) = states[LOCAL].connectors
    assert states[LOCAL].offset_changes == ()
    assert found.initial_offsets is not None
    assert (found.initial_offsets.name, found.initial_offsets.kind) == ("initialOffsets/a", OffsetChangeKind.SEED)
    assert found.initial_offsets.connector == "a"
    assert found.initial_offsets.acknowledged == {Acknowledgement.SKIP}
    assert str(found.initial_offsets.locate("acknowledge")) == "a.yaml:8:5"


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("offsets: keep", OnDelete.KEEP),
        ("offsets: reset", OnDelete.RESET),
        ("topics: keep", OnDelete.KEEP),
        ("topics: reset", OnDelete.KEEP_AND_RESET_TOPICS),
        ("offsets: reset, topics: reset", OnDelete.RESET_WITH_TOPICS),
    ],
)
def test_on_delete(written: str, wanted: OnDelete) -> None:
    states, diagnostics = declare({"a.yaml": connector("a", f"  class: X\n  onDelete: {{{written}}}\n")})
    assert not diagnostics.items
    assert states[LOCAL].connectors[0].on_delete is wanted


def document(given: str | dict[str, str]) -> str:
    return given if isinstance(given, str) else change(**given)


@pytest.mark.parametrize("row", rows(__file__, "states"), ids=lambda row: row["case"])
def test_documents_become_the_changes_of_their_clusters(row: dict[str, Any]) -> None:
    contents = {path: "---\n".join(map(document, given)) for path, given in row["files"].items()}
    states, diagnostics = declare(contents, row.get("clusters", [LOCAL]))
    assert {str(name): [one.name for one in state.offset_changes] for name, state in states.items()} == row["changes"]
    connectors = {str(name): [one.name for one in state.connectors] for name, state in states.items()}
    assert {name: names for name, names in connectors.items() if names} == row.get("connectors", {})
    assert sorted(states[LOCAL].held) == row.get("held", [])
    problems = [f"{item.rule} of {item.connector} at {item.location}: {item.summary}" for item in diagnostics]
    assert len(problems) == len(row.get("problems", []))
    for problem, texts in zip(problems, row.get("problems", []), strict=True):
        assert [text for text in texts if text not in problem] == [], problem


@pytest.mark.parametrize("broken", rows(__file__, "broken_changes"))
def test_a_broken_change_holds_up_nothing_else(broken: str) -> None:
    states, diagnostics = declare({"a.yaml": broken, "b.yaml": change("good"), "c.yaml": connector("orders")}, [LOCAL])
    assert diagnostics.errors
    assert {item.connector for item in diagnostics} <= {"orders", None}
    assert [one.name for one in states[LOCAL].offset_changes] == ["good"]
    assert [one.name for one in states[LOCAL].connectors] == ["orders"]
    assert not states[LOCAL].held
    assert states[LOCAL].complete


def test_the_digest_is_of_what_a_change_does() -> None:
    base = only(change())
    same = [
        change("other-name"),
        change(spec=f"  operation: alter\n{INLINE}  acknowledge: [rewind]\n  reason: because\n"),
        "# a comment\n" + change(),
    ]
    assert {only(text).digest for text in same} == {base.digest}
    different = [
        change(to="other"),
        change(spec=f"  operation: replace\n{INLINE}"),
        change(spec=f"  operation: alter\n{INLINE.replace('1', '2')}"),
        change(spec=f"  operation: alter\n{INLINE.replace('1', '1.0')}"),
        change(spec=f"  operation: alter\n{INLINE.replace('1', chr(34) + '1' + chr(34))}"),
        change(spec="  operation: reset\n"),
    ]
    assert len({only(text).digest for text in different} | {base.digest}) == len(different) + 1


def test_the_digest_of_files_is_that_of_their_contents_in_order() -> None:
    def of(path: str, **contents: str) -> str:
        return only(change(spec=from_file(path)), **{f"o/{name}.jsonl": text for name, text in contents.items()}).digest

    both = of("o/", a="1", b="2")
    assert both == of("o/*.jsonl", c="1", d="2")
    assert of("o/*", a="1") == of("o/a.jsonl", a="1") == of("o/b.jsonl", b="1")
    others = [of("o/", a="2", b="1"), of("o/", a="1"), of("o/", a="1 "), of("o/", a="1", b="2", c="2")]
    assert len({both, *others}) == 5


def test_a_change_from_a_uri_is_known_by_what_was_reviewed() -> None:
    def of(uri: str, sha256: str) -> DesiredOffsetChange:
        return only(change(spec=f"  operation: alter\n  manifest:\n    uri: {uri}\n    sha256: {sha256}\n"))

    found = of("s3a://bucket/a b/*.jsonl", "AB" * 32)
    assert isinstance(found.manifest, ManifestUri)
    assert (found.manifest.uri, found.manifest.sha256) == ("s3a://bucket/a b/*.jsonl", "ab" * 32)
    assert str(found.manifest.location) == "a.yaml:9:5"
    assert found.digest == of("hdfs:/elsewhere.csv", "ab" * 32).digest
    assert found.digest != of("s3a://bucket/a b/*.jsonl", "cd" * 32).digest


DOCUMENT = "clusters/local/x.yaml"


def paths_of(path: str, *files: str, document: str = DOCUMENT) -> list[str] | NoManifest:
    known = ManifestFiles(Entry(file, f"id of {file}", 1) for file in files)
    entries = known.find(path, document, MIRROR)
    return entries if isinstance(entries, NoManifest) else [one.path for one in entries]


def missing(path: str, *files: str, document: str = DOCUMENT) -> NoManifest:
    why = paths_of(path, *files, document=document)
    assert isinstance(why, NoManifest), why
    assert why.rule == ("offsets/path" if "leads out" in why.summary else "offsets/no-file")
    return why


NAMED = rows(__file__, "files_with_names_of_connectors")
TREE = rows(__file__, "tree")


@pytest.mark.parametrize(
    ("names", "document", "path", "wanted"),
    [
        *((NAMED, DOCUMENT, *row) for row in rows(__file__, "the_file_that_a_path_means")),
        *((TREE, "clusters/x.yaml", *row) for row in rows(__file__, "the_files_that_a_directory_or_a_glob_means")),
    ],
)
def test_the_files_that_a_path_means(names: list[str], document: str, path: str, wanted: list[str]) -> None:
    assert paths_of(path, *reversed(names), document=document) == wanted


@pytest.mark.parametrize("row", rows(__file__, "files_that_are_missing"), ids=lambda row: row["case"])
def test_a_path_without_a_file_is_an_error_that_says_what_is_near(row: dict[str, Any]) -> None:
    names, document = row.get("names", TREE), row.get("document", DOCUMENT)
    for path, texts in row["missing"].items():
        why = missing(path, *names, document=document)
        said = f"{why.rule}: {why.summary}.\n{why.hint}."
        assert [text for text in texts if text not in said] == [], said
    for path, wanted in row.get("found", {}).items():
        assert paths_of(path, *names, document=document) == wanted


def test_a_glob_with_many_wildcards_is_decided_at_once() -> None:
    for path in ("**/a/" * 50 + "y.json", "*a" * 50 + "b.json"):
        missing(path, "/".join("a" * 200) + "/x.json", "a" * 200 + ".json")
