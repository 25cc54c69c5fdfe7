"""Every config, written in any format, is read back as it was."""

from __future__ import annotations

import pytest
from exchange.writers import HOSTILE, WRITERS, texts
from hypothesis import example, given
from hypothesis import strategies as st

from gitops_connect.exchange.readers.reader import read
from gitops_connect.model.documents import Blob

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
