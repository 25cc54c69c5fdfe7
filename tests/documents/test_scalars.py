from __future__ import annotations

import pytest
from support.files.tables import rows

from gitops_connect.documents.nodes import Value, resolve


@pytest.mark.parametrize(("text", "value"), rows(__file__, "the_core_schema_of_yaml_1_2"))
def test_the_core_schema_of_yaml_1_2(text: str, value: Value) -> None:
    resolved = resolve(text)
    assert resolved == value
    assert type(resolved) is type(value)


@pytest.mark.parametrize("text", rows(__file__, "what_yaml_1_1_takes_for_something_else_is_a_text"))
def test_what_yaml_1_1_takes_for_something_else_is_a_text(text: str) -> None:
    assert resolve(text) == text


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".nan", "1e999", "9" * 5000])
def test_what_json_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        resolve(text)
