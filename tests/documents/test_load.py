from __future__ import annotations

import pytest
from support.files.document_files import MemoryFiles, connector, files, read, rules
from support.files.tables import rows

from gitops_connect.documents.load import MAX_SIZE, ParseCache, load
from gitops_connect.errors import SourceUnavailable
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity


def test_only_what_changed_is_read_and_parsed_again() -> None:
    cache = ParseCache()
    contents = {f"{name}.yaml": connector(name) for name in ("a", "b", "c")} | {"values.yaml": "image: x\n"}
    before = load(files(contents), cache)
    later = files(contents | {"b.yaml": connector("b", "  class: Other\n")})
    after = load(later, cache)
    assert later.reads == ["b.yaml"]
    assert [document.connector for document in after.documents] == ["a", "b", "c"]
    assert after.documents[0] is before.documents[0]
    assert after.documents[1] is not before.documents[1]
    assert after.ignored == 1
    load(files({"b.yaml": connector("b")}), cache)
    assert len(cache.files) == 1, "it forgets what is gone"


def test_the_same_content_at_another_path_has_its_own_places() -> None:
    documents = read({"a.yaml": connector("a"), "b.yaml": connector("a")})
    assert [document.location.file for document in documents.documents] == ["a.yaml", "b.yaml"]


def test_the_order_of_the_files_does_not_matter() -> None:
    contents = {f"{name}.yaml": connector(name) for name in "cab"}
    assert read(contents) == read(dict(sorted(contents.items())))


def test_a_place_leads_to_its_document() -> None:
    documents = read({"a.yaml": connector("a") + "---\n" + connector("b"), "b.yaml": connector("c")})
    for document in documents.documents:
        assert documents.at(document.locate(("spec", "class"))) is document
    assert documents.at(Location("a.yml", 9, 9)) is None
    assert documents.at(Location("zzz.yaml", 9, 9)) is None


def test_documents_may_be_anywhere_and_hidden_and_other_files_are_not_even_read() -> None:
    documents = ["a.json", "a.yaml", "a.yml", "a.b/c.yaml", "deep/er/a.yaml"]
    others = [".github/a.yaml", ".a.yaml", "x/.hidden/y/a.yaml", "a.txt", "a.yaml.bak", "a.jsonl"]
    checkout = files({path: connector(f"c{number}") for number, path in enumerate([*others, *documents])})
    assert len(load(checkout, ParseCache()).documents) == len(documents)
    assert sorted(checkout.reads) == sorted(documents)


@pytest.mark.parametrize("text", rows(__file__, "what_is_not_ours_is_left_alone"))
def test_what_is_not_ours_is_left_alone(text: str) -> None:
    documents = read({"a.yaml": text})
    assert not documents.documents
    assert not documents.diagnostics.items
    assert documents.complete
    assert documents.ignored == 1


@pytest.mark.parametrize("sized", [True, False])
def test_a_document_that_is_too_large_is_refused(*, sized: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitops_connect.documents.load.MAX_SIZE", 200)
    checkout = MemoryFiles(
        {"a.yaml": connector("a").encode().ljust(201), "b.yaml": connector("b").encode()}, sized=sized
    )
    documents = load(checkout, ParseCache())
    assert rules(documents.diagnostics) == ["document/too-large"]
    assert [document.connector for document in documents.documents] == ["b"]
    assert not documents.complete


@pytest.mark.parametrize("path", ["offsets/a.json", "offsets/a.yaml"])
def test_a_manifest_may_be_larger_than_a_document(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitops_connect.documents.load.MAX_SIZE", 200)
    cache = ParseCache()
    checkout = MemoryFiles({path: b'{"offsets": [' + b" " * 200 + b"]}", "b.yaml": connector("b").encode()})
    documents = load(checkout, cache)
    assert not documents.diagnostics.items
    assert documents.complete
    assert documents.ignored == 1
    load(checkout, cache)
    assert sorted(checkout.reads) == ["b.yaml", path], "nothing is read twice"


@pytest.mark.parametrize("text", [*rows(__file__, "manifests"), "[" * 100_000])
def test_a_manifest_is_no_document(text: str) -> None:
    documents = read({"offsets/a.yaml": text})
    assert not documents.documents
    assert not documents.diagnostics.items
    assert documents.complete


def test_the_size_that_is_allowed_is_the_documented_one() -> None:
    assert MAX_SIZE == 10 * 1024 * 1024


def test_what_the_source_left_out_counts() -> None:
    link = Diagnostic(Severity.WARNING, "source/link", "a link out of the directory", Location("b.yaml"))
    checkout = MemoryFiles({"a.yaml": connector("a").encode()}, diagnostics=Diagnostics.of([link]), complete=False)
    documents = load(checkout, ParseCache())
    assert list(documents.diagnostics) == [link]
    assert not documents.complete


def test_a_failed_read_is_no_empty_repository() -> None:
    class Unreachable(MemoryFiles):
        def blobs(self, entries: object, at_most: int | None = None) -> object:  # type: ignore[override]  # raises
            raise SourceUnavailable("the server is gone")

    with pytest.raises(SourceUnavailable):
        load(Unreachable({"a.yaml": connector("a").encode()}), ParseCache())


def test_a_file_in_another_encoding_is_reported_and_not_ignored() -> None:
    documents = load(MemoryFiles({"a.yaml": connector("a").encode("utf-16")}), ParseCache())
    assert rules(documents.diagnostics) == ["yaml/encoding"]
    assert not documents.complete
