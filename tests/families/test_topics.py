"""The topics that a sink reads. There is no violation if a pattern may have another meaning in Java."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.files.tables import rows

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.families.ties import Expectation, TopicFilter, translate


def topic_filters(config: dict[str, str]) -> Sequence[Expectation | TopicFilter]:
    shape = BUILT_IN.shape({"connector.class": "com.example.Sink", **config})
    return shape.ties(config).expectations if shape is not None else ()


@pytest.mark.parametrize(("pattern", "topic", "reads"), rows(__file__, "patterns"))
def test_a_pattern_matches_from_end_to_end(pattern: str, topic: str, reads: bool) -> None:
    assert translate(pattern) is not None
    (found,) = topic_filters({"topics.regex": pattern})
    assert found.admits(topic) is reads


@pytest.mark.parametrize("pattern", rows(__file__, "unknown"))
def test_nothing_is_reported_if_the_match_is_unknown(pattern: str) -> None:
    assert translate(pattern) is None
    (found,) = topic_filters({"topics.regex": pattern})
    assert found.admits("whatever")


def test_a_name_that_is_longer_than_a_topic_is_not_matched() -> None:
    (found,) = topic_filters({"topics.regex": "a.*b.*c.*d"})
    assert found.admits("a" * 250)
    assert not found.admits("a" * 249)


def test_a_list_is_trimmed() -> None:
    (found,) = topic_filters({"topics": " orders ,invoices"})
    assert [found.admits(topic) for topic in ("orders", "invoices", "orders ", "")] == [True, True, False, False]


@pytest.mark.parametrize("config", [{}, {"topics": " "}, {"topics": "${file:x:y}"}, {"topics.regex": "${env:TOPICS}"}])
def test_unknown_topics(config: dict[str, str]) -> None:
    assert not topic_filters(config)
