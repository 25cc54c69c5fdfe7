from __future__ import annotations

import pytest

from gitops_connect.errors import SourceRefused
from gitops_connect.model.diagnostics import Severity
from gitops_connect.source import directory_listing
from gitops_connect.source.directory_listing import FoundFile, PathKind, arrange, bounded


def file(path: bytes, blob_id: str = "b") -> FoundFile:
    return FoundFile(path, PathKind.FILE, blob_id, 1)


def tree(links: dict[str, str], *files: str) -> list[FoundFile]:
    """Files whose ids are their paths, and links with their targets."""
    found = [FoundFile(path.encode(), PathKind.LINK, "l", None, target.encode()) for path, target in links.items()]
    return [*(file(path.encode(), path) for path in files), *found]


def rules(*found: FoundFile) -> list[tuple[str, str]]:
    return [(item.rule, item.location.file) for item in arrange(found).diagnostics]


def test_files_are_sorted_and_hidden_ones_left_out() -> None:
    paths = ("b.yaml", ".x.yaml", "a/.github/w.yaml", "häuser/заказы/注文.yaml", "a/z.yaml", "a.yaml")
    found = arrange(tree({}, *paths))
    assert [entry.path for entry in found.entries] == ["a.yaml", "a/z.yaml", "b.yaml", "häuser/заказы/注文.yaml"]
    assert not found.diagnostics


@pytest.mark.parametrize("target", ["../shared/x.yaml", "./../a/../shared/x.yaml", "next.yaml", "../directory/x.yaml"])
def test_a_link_inside_is_read_as_the_file_that_it_leads_to(target: str) -> None:
    links = {"a/next.yaml": "../shared/x.yaml", "directory": "shared", "a/link.yaml": target}
    found = arrange(tree(links, "shared/x.yaml"))
    assert {entry.path: entry.blob_id for entry in found.entries}["a/link.yaml"] == "shared/x.yaml"


@pytest.mark.parametrize("target", ["/etc/passwd", "../../x", "../a/../../x", "out", "up/x"])
def test_a_link_out_of_the_directory_is_refused_by_name(target: str) -> None:
    found = tree({"a/l.yaml": target, "a/out": "/etc/passwd", "a/up": "../.."}, "a/f.yaml")
    diagnostics = arrange(found).diagnostics
    named = [item for item in diagnostics if item.location.file == "a/l.yaml"]
    assert [(item.rule, item.severity) for item in named] == [("source/link-out-of-tree", Severity.ERROR)]
    assert target in named[0].summary


def test_other_links_are_refused_by_name_and_hold_up_nothing_else() -> None:
    found = tree({"1": "d", "2": "none", "3": ".", "4": "4"}, "ok.yaml", "d/f.yaml")
    assert rules(*found) == [
        ("source/link-to-directory", "1"),
        ("source/broken-link", "2"),
        ("source/link-to-directory", "3"),
        ("source/broken-link", "4"),
    ]
    assert [entry.path for entry in arrange(found).entries] == ["d/f.yaml", "ok.yaml"]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (b"a\nb.yaml", "a\\nb.yaml"),
        (b"\xff.yaml", "\\xff.yaml"),
        (b"\x1b[31m.yaml", "\\x1b[31m.yaml"),
        ("a\u202eb.yaml".encode(), "a\\u202eb.yaml"),
        ("a\u2028b.yaml".encode(), "a\\u2028b.yaml"),
    ],
)
def test_an_odd_name_is_refused_and_shown_with_escapes(path: bytes, shown: str) -> None:
    assert rules(file(path)) == [("source/file-name", shown)]


def test_a_submodule_is_a_warning_and_a_pipe_an_error() -> None:
    found = arrange([FoundFile(b"sub", PathKind.SUBMODULE), FoundFile(b"pipe", PathKind.SPECIAL)])
    assert [(item.location.file, item.severity) for item in found.diagnostics] == [
        ("pipe", Severity.ERROR),
        ("sub", Severity.WARNING),
    ]


def test_too_many_files_are_refused_before_they_are_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_listing, "MOST_FILES", 3)
    endless = (file(b"%d" % number) for number in iter(int, 1))
    with pytest.raises(SourceRefused, match=r"directory x: more than 3 files.*\[repository\] path"):
        list(bounded(endless, "directory x"))
