"""The commands that people write as comments on a pull request, and the comment that explains them."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_connect.model.names import Digest
from gitops_connect.report.markdown_blocks import Markdown, bold, bullet, document, paragraph
from gitops_connect.report.review_marker import CommentKind, Marker
from gitops_connect.report.sentence import Sentence

PLAN = "gitops-connect plan"
APPROVE = "gitops-connect approve"
HELP = "gitops-connect help"


def help_comment(pull_request: int) -> str:
    """The commands, and who may use them."""
    return document(
        [
            Marker(CommentKind.HELP, pull_request).line,
            bold(Sentence("Commands of gitops-connect")),
            paragraph(
                Sentence(
                    "Write a command as a comment of one line. Only people with write access can use it. An edited"
                    " comment does not count: write a new one."
                )
            ),
            bullet(Sentence.of("{}: plans the pull request again, and updates the comment with the plan.", PLAN)),
            bullet(
                Sentence.of(
                    "{}: approves the plan with this digest, and no other plan. The comment that shows a plan contains"
                    " its digest.",
                    f"{APPROVE} DIGEST",
                )
            ),
            bullet(Sentence.of("{}: shows these commands.", HELP)),
        ]
    )


def command_lines(digest: Digest | None) -> Iterator[Markdown]:
    """The commands in short. `digest` is the one to approve; None if there is nothing to approve."""
    yield paragraph(Sentence("Commands, as a comment from someone with write access:"))
    yield bullet(Sentence.of("{}: plan again", PLAN))
    if digest is not None:
        yield bullet(Sentence.of("{}: approve exactly this plan, if it is blocked", f"{APPROVE} {digest}"))
    yield bullet(Sentence.of("{}: explain the commands", HELP))
