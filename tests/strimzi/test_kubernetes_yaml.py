"""The values are those that `yaml.YAMLToJSON` of sigs.k8s.io/yaml 1.6.0 printed for `k: TEXT` (Go 1.26)."""

from __future__ import annotations

import json

import pytest
from support.files.tables import rows

from gitops_connect.documents.fields import read
from gitops_connect.documents.nodes import compose
from gitops_connect.documents.yaml import KUBERNETES


def _value(text: str) -> object:
    (root,) = compose(text, 1)
    reading = read(root, KUBERNETES)
    assert not reading.refusals
    return reading.value


def test_scalars_are_read_as_kubectl_reads_them() -> None:
    for text, shown in rows(__file__, "values"):
        value, expected = _value(f"k: {text}\n")["k"], json.loads(shown)  # type: ignore[index]
        assert (value, type(value)) == (expected, type(expected)), text


@pytest.mark.parametrize(("text", "value"), rows(__file__, "documents"))
def test_mappings_are_read_as_kubectl_reads_them(text: str, value: object) -> None:
    assert _value(text) == value


@pytest.mark.parametrize(("text", "rule"), rows(__file__, "refused"))
def test_what_json_cannot_hold_is_refused(text: str, rule: str) -> None:
    (root,) = compose(text, 1)
    assert [refusal.rule for refusal in read(root, KUBERNETES).refusals] == [rule]
