"""The comments on a pull request: their text, their length, and what no value from outside can change in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.test_plans import SINK, of_topic, status
from report.test_values_from_outside import PARSER, PLANS, outside, tokens, values, with_values
from support.docs.docs_pages import DOCS
from support.files.goldens import assert_golden
from support.files.tables import rows
from support.planner.situations import CLUSTER, REVISION, change, seen, situation, wanted

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, Revision
from gitops_connect.model.pull_requests import CommentOptions, NotPlanned, OtherPullRequest, PullRequestPlan
from gitops_connect.model.reviewed_plans import UnreviewedChange
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy
from gitops_connect.report.comment_writer import (
    WORDS,
    CommentKind,
    Marker,
    destructive_words,
    find_marker,
    help_comment,
)
from gitops_connect.report.review_comment import blocked_comment, review_comment

FORGE = "https://git.example/shop/connect"
PAGE = "https://gitops-connect.example.com/clusters/local"
OPTIONS = CommentOptions(f"{FORGE}/blob/{REVISION}/", PAGE, 65_536)
LARGE = replace(OPTIONS, longest=10_000_000)
DIGEST = Digest("d" * 64)
EMPTY = PullRequestPlan(7, REVISION, "main")
ELEMENT = re.compile("<code>[^<>]*</code>")


def moves_of_orders(rewound: range, skipped: list[int]) -> PullRequestPlan:
    """One sink, whose offsets of these partitions move by one record each."""
    done = change("back", "orders", acknowledge=["rewind", "skip"])
    wanted_, seen_ = wanted("orders", config=SINK), seen("orders", config=SINK)
    to = of_topic({**dict.fromkeys(rewound, 9), **dict.fromkeys(skipped, 11)})
    offsets = OffsetSituation(
        manifests={done.name: to},
        current={ConnectorName("orders"): status(dict.fromkeys([*rewound, *skipped], 10))},
        shapes={ConnectorName("orders"): shape} if (shape := BUILT_IN.shape(wanted_.config)) is not None else {},
    )
    made = plan(situation([wanted_], [seen_], owned=["orders"], changes=[done], offsets=offsets))
    return replace(EMPTY, plans=(made,), digest=DIGEST)


def test_5000_partitions_are_ranges_and_totals_in_a_bounded_comment() -> None:
    text = review_comment(moves_of_orders(range(5000), [5001, 5002]), OPTIONS)
    assert "5,000 rewind (5,000 records reprocessed), 2 skip (2 records skipped)" in text
    assert "… and 4,992 more" in text
    assert "          skip: orders/5001-5002\n" in text
    assert (len(text) < 5_000, PAGE in text) == (True, True)
    ranges = review_comment(moves_of_orders(range(0, 5000, 2), []), OPTIONS)
    assert "and 2,480 more ranges" in ranges
    assert len(ranges) < 5_000


def problem(severity: Severity, file: str = "clusters/local/orders.yaml", rule: str = "schema/type") -> Diagnostic:
    return Diagnostic(severity, rule, "tasksMax: expected a number", Location(file, 3, 9), "write 1")


def planned() -> PullRequestPlan:
    """Two connectors with other configs, and two offset changes, of which one is not acknowledged."""
    done, missing = change("2026-11-20-bad-batch", "orders", acknowledge=["rewind"]), change("2026-11-21-no", "refunds")
    sinks = ("orders", "refunds")
    desired = [wanted("customers", config={"file": "/b"}), *(wanted(name, config=SINK) for name in sinks)]
    observed = [seen("customers", config={"file": "/a"}), *(seen(name, config=SINK) for name in sinks)]
    offsets = OffsetSituation(
        manifests={done.name: of_topic({0: 700}), missing.name: of_topic({0: 1})},
        current={ConnectorName("orders"): status({0: 848}), ConnectorName("refunds"): status({0: 90})},
        shapes={one.name: shape for one in desired if (shape := BUILT_IN.shape(one.config)) is not None},
    )
    made = plan(
        situation(desired, observed, owned=[one.name for one in desired], changes=[done, missing], offsets=offsets)
    )
    other = OtherPullRequest(9, f"{FORGE}/pull/9", (ConnectorName("orders"),))
    made = replace(made, untrusted=True)
    return replace(EMPTY, plans=(made,), digest=DIGEST, diagnostics=made.diagnostics, others=(other,))


def everything() -> PullRequestPlan:
    """Every kind of line of a comment."""
    unacknowledged = problem(Severity.ERROR, rule="offsets/unacknowledged")
    problems = Diagnostics.of([problem(Severity.ERROR), problem(Severity.WARNING), unacknowledged])
    return replace(planned(), plans=PLANS, unread={ClusterName("far"): "no worker answers"}, diagnostics=problems)


def many(count: int, *, deleted: int = 0) -> PullRequestPlan:
    """A plan that changes and deletes connectors."""
    names = [f"connector-{number:04}" for number in range(count)]
    desired = [wanted(name, config={"topic": "new", "batch": "1" * 40}) for name in names[deleted:]]
    observed = [seen(name, config={"topic": "old", "transforms": "x" * 40}) for name in names]
    policy = Policy(prune=True, max_deletions=1)
    return replace(EMPTY, plans=(plan(situation(desired, observed, owned=names, policy=policy)),), digest=DIGEST)


REWINDS = "1 rewind (148 records reprocessed)"
CHANGES = (
    UnreviewedChange(CLUSTER, ConnectorName("orders"), ("1 skip (12 records skipped)",), (REWINDS,)),
    UnreviewedChange(CLUSTER, ConnectorName("payments"), (), ("delete",)),
)
NOTHING = replace(EMPTY, plans=(plan(situation([wanted("a")], [seen("a")], owned=["a"])),), digest=DIGEST)
UNREAD = replace(EMPTY, unread={ClusterName("local"): "no worker of https://connect.example answers"})
FORK = replace(EMPTY, not_planned=NotPlanned.FORK, diagnostics=Diagnostics.of([problem(Severity.ERROR)]))
CONFLICT = replace(
    EMPTY, not_planned=NotPlanned.CONFLICT, conflicts=tuple(f"clusters/{letter}.yaml" for letter in "abcdefg")
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("review.md", review_comment(planned(), OPTIONS)),
        ("review_everything.md", review_comment(everything(), OPTIONS)),
        ("review_nothing.md", review_comment(NOTHING, OPTIONS)),
        ("review_unread.md", review_comment(UNREAD, OPTIONS)),
        ("review_fork.md", review_comment(FORK, OPTIONS)),
        ("review_conflict.md", review_comment(CONFLICT, OPTIONS)),
        ("review_cut.md", review_comment(many(60, deleted=20), replace(OPTIONS, longest=4096))),
        ("review_blocked.md", blocked_comment(planned(), CHANGES, OPTIONS)),
        ("review_help.md", help_comment(7)),
    ],
)
def test_every_kind_of_comment(name: str, text: str) -> None:
    assert_golden(name, text)


@pytest.mark.slow
def test_a_large_plan_is_cut_to_the_limit_and_the_comment_says_where_or_why() -> None:
    text = review_comment(many(2000), OPTIONS)
    assert 60_000 < len(text) <= OPTIONS.longest
    shown = text.count("<details>")
    assert f"[The whole plan]({PAGE}): {2000 - shown:,} more connectors not shown here" in text
    assert f"gitops-connect approve {DIGEST}`" in text.splitlines()[-2]
    text = review_comment(many(300), replace(OPTIONS, status_page=None, longest=8192))
    assert "more connectors not shown here, because the comment would be too long" in text
    assert "The whole plan" not in text


@pytest.mark.slow
def test_destructive_changes_are_left_out_last() -> None:
    text = review_comment(many(2000, deleted=300), OPTIONS)
    assert len(text) <= OPTIONS.longest
    assert all(f"connector-{number:04}" in text for number in range(300))
    brief = review_comment(many(300, deleted=200), replace(OPTIONS, longest=16_000))
    assert brief.count("- **delete**: `connector-") + brief.count("<summary><b>delete</b>") == 200
    assert "100 more connectors not shown here" in brief


@pytest.mark.slow
@given(st.integers(4096, 30_000), st.integers(0, 400), st.integers(0, 3000), st.integers(0, 40))
def test_no_comment_is_longer_than_the_limit(longest: int, count: int, width: int, problems: int) -> None:
    options = replace(OPTIONS, longest=longest)
    made = with_values(many(min(count, 40), deleted=min(count, 40) // 2).plans, lambda text: f"{text}{'`<' * width}")
    found = [problem(Severity.ERROR, f"{number}.yaml{'ü' * width}") for number in range(problems)]
    reviewed = replace(everything(), plans=made, diagnostics=Diagnostics.of(found), target="t" * width)
    for text in (review_comment(reviewed, options), blocked_comment(reviewed, CHANGES * problems, options)):
        assert len(text) <= longest
        assert_is_whole(text)


def assert_is_whole(text: str) -> None:
    """Every fence and fold is closed, and the last part of the comment is outside of them."""
    kinds = [one.type for one in PARSER.parse(text)]
    assert text.count("<details>") == text.count("</details>") == kinds.count("fence")
    assert "Next" in [one.content for one in tokens(text) if one.type == "text"]


def structure(document: str) -> list[tuple[str, ...]]:
    """What is outside of code, without links: a value that is no path of the repository has none."""
    found: list[tuple[str, ...]] = []
    for kind, *parts, content in outside(document):
        if kind in ("link_open", "link_close"):
            continue
        before = found.pop()[-1] if kind == "text" and found and found[-1][0] == "text" else ""
        found.append((kind, *parts, before + ELEMENT.sub("<code>", content)))
    return found


def with_hostile(reviewed: PullRequestPlan, text: Callable[[str], str]) -> PullRequestPlan:
    """Every value from outside replaced, and not the rules, which the program names."""
    rules = iter([one.rule for one in reviewed.diagnostics])
    items = [replace(with_values(one, text), rule=next(rules)) for one in reviewed.diagnostics]
    return replace(
        reviewed,
        target=text(reviewed.target),
        plans=with_values(reviewed.plans, text),
        unread=with_values(reviewed.unread, text),
        diagnostics=Diagnostics(tuple(items)),
        others=tuple(with_values(one, text) for one in reviewed.others),
    )


def comments(reviewed: PullRequestPlan, text: Callable[[str], str] = str) -> list[str]:
    changes = with_values(CHANGES, text)
    return [
        review_comment(reviewed, LARGE),
        review_comment(replace(reviewed, plans=(), not_planned=NotPlanned.CONFLICT), LARGE),
        review_comment(replace(reviewed, not_planned=NotPlanned.FORK), LARGE),
        blocked_comment(reviewed, changes, LARGE),
    ]


EXPECTED = [structure(text) for text in comments(everything())]


@pytest.mark.slow
@given(values, st.booleans())
def test_no_value_breaks_out_of_a_comment(value: str, in_front: bool) -> None:
    def text(given: str) -> str:
        return f"{value}{given}" if in_front else f"{given}{value}"

    found = comments(with_hostile(everything(), text), text)
    assert [structure(one) for one in found] == EXPECTED
    for one in found:
        assert one.replace("\n", "").isprintable()
        links = [str(token.attrs["href"]) for token in tokens(one) if token.type == "link_open"]
        assert [url for url in links if not url.startswith((OPTIONS.files, FORGE, PAGE, "https://evil.example"))] == []


def test_links_lead_to_lines_of_the_repository_and_to_web_pages_only() -> None:
    files = ["a b/ü)`<.yaml", "../x", "https://evil.example/x", "s3://bucket/x"]
    found = Diagnostics.of(problem(Severity.ERROR, file) for file in files)
    other = OtherPullRequest(9, "javascript:alert(1)", (ConnectorName("orders"),))
    text = review_comment(replace(NOTHING, diagnostics=found, others=(other,)), OPTIONS)
    links = [str(token.attrs["href"]) for token in tokens(text) if token.type == "link_open"]
    assert links == [f"{OPTIONS.files}a%20b/%C3%BC%29%60%3C.yaml#L3", PAGE]


@pytest.mark.parametrize("secret", ["hunter2-secret", 'pä"ss word\n&<x>'])
def test_no_secret_is_in_a_comment(secret: str) -> None:
    """The secret is planted in every string, and only `secrets` says that it is one."""
    planted = with_hostile(everything(), lambda text: f"{text} {secret} x")
    planted = replace(planted, secrets=frozenset({secret}))
    options = CommentOptions(f"{FORGE}/{secret}/", f"{PAGE}?token={secret}", LARGE.longest)
    changes = with_values(CHANGES, lambda text: f"{text} {secret}")
    texts = [review_comment(planted, options), blocked_comment(planted, changes, options)]
    texts += [review_comment(replace(planted, not_planned=why), options) for why in NotPlanned]
    assert [text for text in texts if "hunter2" in text or "ss word" in text or "ss%20word" in text] == []


def test_credentials_are_found_by_their_syntax() -> None:
    reason = "no answer from https://admin:hunter2@connect.example"
    page = "https://admin:hunter2@status.example/"
    text = review_comment(replace(UNREAD, unread={ClusterName("local"): reason}), replace(OPTIONS, status_page=page))
    assert "hunter2" not in text
    assert "https://admin:***@connect.example" in text


@pytest.mark.parametrize("digest", [None, DIGEST])
@pytest.mark.parametrize("commit", [None, REVISION, Revision("a" * 64)])
@pytest.mark.parametrize("kind", CommentKind)
def test_a_marker_is_found_again(kind: CommentKind, commit: Revision | None, digest: Digest | None) -> None:
    marker = Marker(kind, 7, commit, digest)
    assert find_marker(f"{marker.line}\nmore") == marker
    assert find_marker(marker.line.replace("\n", "\r\n")) == marker
    assert find_marker(marker.line.strip()) == marker


@pytest.mark.parametrize("body", rows(__file__, "no_markers"))
def test_no_other_line_is_a_marker(body: str) -> None:
    assert find_marker(body) is None
    assert find_marker(f"<!-- gitops-connect review pull-request={'7' * 100_000} -->") is None


@given(st.text())
def test_any_text_can_be_searched_for_a_marker(body: str) -> None:
    assert find_marker(body) is None


@pytest.mark.parametrize("fields", [{"commit": Revision("x -->\n<b>")}, {"digest": Digest("")}, {"pull_request": 0}])
def test_a_marker_cannot_be_left(fields: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a commit or not a digest"):
        assert replace(Marker(CommentKind.REVIEW, 7), **fields).line


def test_the_words_of_destructive_connectors_are_those_of_the_plan() -> None:
    found: dict[str, tuple[str, ...]] = {one.name: destructive_words(one) for made in PLANS for one in made.connectors}
    assert found["pruned"] == ("delete",)
    assert found["cleaned"] == ("reset", "removed")
    assert found["moved"] == ("rewind", "removed", "skip")
    assert found["drifting"] == found["refused"] == ()
    (connector,) = [one for made in PLANS for one in made.connectors if one.name == "moved"]
    assert destructive_words(replace(connector, applicable=False)) == ()
    assert set().union(*found.values()) <= set(WORDS)


def test_the_page_about_comments_shows_one() -> None:
    page, effects = ((DOCS / "reference" / name).read_text() for name in ("review-comments.md", "reviews.md"))
    assert f"\n````markdown\n{review_comment(planned(), OPTIONS)}````\n" in page
    assert all(f"\n| {word} | " in effects for word in WORDS)
