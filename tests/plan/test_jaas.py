from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.tables import rows

from gitops_connect.plan.config_diff import parse_jaas, same_value

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
FIRST = f'{MODULE} required username="me" password="${{env:P}}";'
SECOND = f'{MODULE} required password="${{env:P}}" username="me";'


@pytest.mark.parametrize("key", ["sasl.jaas.config", "source.cluster.sasl.jaas.config"])
def test_the_order_of_options_does_not_count(key: str) -> None:
    assert same_value(key, FIRST, SECOND)
    assert same_value(key, FIRST, f"  {SECOND.replace(' ', '   ').replace('required', 'REQUIRED')}\n")
    assert not same_value(key, FIRST, SECOND.replace("env:P", "env:Q"))
    assert not same_value(key, FIRST, SECOND.replace("username", "user"))
    assert not same_value(key, FIRST, None)


def test_other_keys_are_compared_as_text() -> None:
    assert not same_value("jaas.config", FIRST, SECOND)
    assert not same_value("not.a.mysasl.jaas.config.x", FIRST, SECOND)
    assert not same_value("mysasl.jaas.config", FIRST, SECOND)
    assert same_value("x", None, None)


@pytest.mark.parametrize("text", rows(__file__, "not_jaas"))
def test_what_is_not_jaas_is_compared_as_text(text: str) -> None:
    assert parse_jaas(text) is None
    assert same_value("sasl.jaas.config", text, text)
    assert not same_value("sasl.jaas.config", text, f"{text} ")


def test_several_modules_keep_their_order() -> None:
    both = "a required; b optional x=1;"
    assert parse_jaas(both) == (("a", "required", frozenset()), ("b", "optional", frozenset({("x", "1")})))
    assert not same_value("sasl.jaas.config", both, "b optional x=1; a required;")


NAMES = st.text("abcdefgh.", min_size=1)
VALUES = st.text(st.characters(exclude_characters='"\\', exclude_categories=["Cc", "Cs"]))


@given(
    st.dictionaries(NAMES, VALUES, max_size=5).flatmap(lambda one: st.tuples(st.just(one), st.permutations(list(one))))
)
def test_every_order_of_every_option_is_the_same(options: tuple[dict[str, str], list[str]]) -> None:
    values, order = options
    left, right = _line(values), _line({key: values[key] for key in order})
    assert parse_jaas(left) == (("M", "required", frozenset(values.items())),)
    assert same_value("sasl.jaas.config", left, right)


def _line(options: dict[str, str]) -> str:
    return f"M required {' '.join(f'{key}={chr(34)}{value}{chr(34)}' for key, value in options.items())};"
