"""Annotations are only written at lines that the forge shows, and their messages are only code."""

from __future__ import annotations

from markdown_it import MarkdownIt
from support.files.tables import table

from gitops_connect.forge.github_style import MARK, LineComment, is_line_comment, line_comments, lines_in_diff
from gitops_connect.model.pull_requests import Annotation


def test_the_lines_of_a_diff() -> None:
    assert lines_in_diff(table(__file__, "diff")) == {"orders.yaml": {1, 2, 3, 11}}
    assert lines_in_diff("@@ -0,0 +1,2 @@\n+a\n+b", "a.yaml") == {"a.yaml": {1, 2}}
    assert lines_in_diff("") == {}


def test_errors_come_first_if_there_are_too_many() -> None:
    many = [Annotation("a.yaml", line, "message", is_error=line > 60) for line in range(1, 101)]
    chosen = line_comments(many, {"a.yaml": frozenset(range(1, 101))})
    assert sorted(one.line for one in chosen) == [*range(1, 11), *range(61, 101)]


def test_a_message_is_one_block_of_code() -> None:
    for message in ("```\n@name", "~~~\n<b>", "a`b``c", "`" * 300 + "\n# title", "\r\x00\x1b[31m", "x" * 10_000, MARK):
        (comment,) = line_comments([Annotation("a.yaml", 1, message, is_error=True)], {"a.yaml": frozenset({1})})
        tokens = [one.type for one in MarkdownIt("commonmark").parse(comment.body)]
        assert tokens == ["paragraph_open", "inline", "paragraph_close", "fence", "html_block"], message
        assert is_line_comment(comment.body)


def test_comments_of_others_are_not_taken_for_annotations() -> None:
    assert not is_line_comment("I wonder about the end: " + MARK + " as in the docs")
    assert LineComment("a", 1, "b") < LineComment("a", 2, "a")
