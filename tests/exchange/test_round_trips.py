"""Every config, written in any format, is read back as it was."""

from __future__ import annotations

import pytest
from exchange.writers import WRITERS
from hypothesis import example, given
from hypothesis import strategies as st

from gitops_connect.exchange.readers.reader import read
from gitops_connect.model.documents import Blob

HOSTILE = [
    *("", " ", "  a", "a  ", "\t", "#a", "a #b", "!a", "a=b", "a:b", "=", ":", "a\\", "\\", "\\n", "\\u0041", "\\\\"),
    *("a\nb", "a\nb\n", "\n", "\na", "a\r\nb", "a\rb", "a\n b", "'", "''", "it's", '"', '""', "`", "${file:/a:b}", "$"),
    *("$$", "${", "}", "$${a}", "%{if}", "%%{", "{{ a }}", "//", "/* a */", "--", "-- a", ";", ",", ")", "<<EOT", "ä"),
    *("é\u0301", "\U0001f600", "\u2028", "\u0085", "\ufeff", "\x00", "\x7f", "true", "null", "1.10", "1e5", "0777"),
    *("${secrets:a/b:c}", "a\tb", "- a", "[a]", "{a}", "*a", "&a", "@a", "a: b", "yes", "2026-11-23", "\f"),
]
characters = st.characters(exclude_categories=["Cs"])
texts = st.one_of(st.sampled_from(HOSTILE), st.text(characters, max_size=12))
keys = st.one_of(
    st.from_regex(r"[a-z][a-z0-9._-]{0,12}", fullmatch=True),
    st.sampled_from(["a b", "a=b", "a:b", "ä", "#a", "!a", "'", '"', "\\", "${x:y}", "a.b", "A"]),
).filter(lambda key: key not in ("name", "connector.class", "config", "tasks.max", "apiVersion", "kind"))


@pytest.mark.slow
@pytest.mark.parametrize("file", WRITERS)
@given(config=st.dictionaries(keys, texts, max_size=4), name=texts.filter(lambda text: text.strip()))
@example(config={f"key{number}": text for number, text in enumerate(HOSTILE)}, name="orders")
def test_a_config_is_read_back_as_it_was(file: str, config: dict[str, str], name: str) -> None:
    whole = {"connector.class": "org.example.Sink", **config}
    content = WRITERS[file](name, whole)
    reading = read(Blob(file, "", content))
    (found,) = reading.declarations
    assert not reading.diagnostics.errors
    assert (found.name, found.config, found.unknown) == (name, whole, {}), content
