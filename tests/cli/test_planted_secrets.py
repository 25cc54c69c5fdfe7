"""A secret in a file whose syntax is broken right before, in or after it: no output and no written file contains it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from support.files.recognizable_secrets import BY_FORM
from support.files.tables import table

from gitops_connect.cli.main import run_command

LEFT, RIGHT = "Tr0ubl7Q", "p4ssw9Zk"
"""The halves of a password. Neither of them may be shown."""
FILES: dict[str, str] = table(__file__, "files")
COMMON = ('"', "\n", ",")
OTHERS = (
    *"'\\`\t *&!%@|>#:={}[]();\x00\x85",
    *(": ", "\n\n", "${", "${x}", "%{", "/*", "--", "//", "\\u12", "\\x", "\\U99999999", "---\n", "\n---\n", "\n- "),
    *("? ", "<<", "<<EOT\n", "$$", "{{"),
)
KEYS = ("db.password", "pwd", "ssl.keystore.key", "sasl.jaas.config")


def broken(text: str, at: int, end: int, breaks: tuple[str, ...], inside: int) -> Iterator[str]:
    """The text with each break at each place around the secret from `at` to `end`, and in the middle of it."""
    places = {at - 1, at, end, end + 1, *([inside] if inside else [])}
    yield from (text[:place] + one + text[place:] for place in sorted(places) for one in breaks)


def outputs(name: str, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What convert and validate print and write."""
    Path("in", name).write_text(text)
    codes = [run_command(["convert", "in", "--cluster", "c", "--out", "out", "--force"])]
    if name.endswith((".yaml", ".json")):
        codes.append(run_command(["validate", "in", "--offline", "-o", "json"]))
    assert not {70} & {*codes}, (text, capsys.readouterr())
    written = [file.read_text() for file in sorted(Path("out").rglob("*")) if file.is_file()]
    for file in sorted(Path("out").rglob("*.yaml")):
        file.unlink()
    return "\n".join([*capsys.readouterr(), *written])


def require_hidden(name: str, texts: Iterable[str], parts: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """No line that is printed or written for one of the texts contains a part of the secret."""
    for text in texts:
        lines = outputs(name, text, capsys).splitlines()
        assert [line for line in lines if any(part in line for part in parts)] == [], text


@pytest.fixture(autouse=True)
def _input(empty_directory: Path) -> None:
    Path("in").mkdir()


def passwords(name: str, key: str, breaks: tuple[str, ...]) -> Iterator[str]:
    """The broken texts, and those without the quote before the password, or after it, or cut off after or in it."""
    text = FILES[name].replace("KEY", key).replace("VALUE", LEFT + RIGHT)
    at = text.index(LEFT)
    inside, end = at + len(LEFT), at + len(LEFT + RIGHT)
    yield from broken(text, at, end, breaks, inside)
    yield from (text[: at - 1] + text[at:], text[:end] + text[end + 1 :], text[:end], text[:inside])


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_no_half_of_a_password_is_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    require_hidden(name, passwords(name, KEYS[0], COMMON), (LEFT, RIGHT), capsys)


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", FILES)
def test_no_half_of_a_password_is_shown_whatever_breaks_the_syntax(
    name: str, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if name.endswith(".properties") and key != KEYS[0]:
        return  # a break before = makes another key
    require_hidden(name, passwords(name, key, (*COMMON, *OTHERS)), (LEFT, RIGHT), capsys)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), [(name, at) for at, name in enumerate(FILES)])
def test_no_secret_with_a_form_of_its_own_is_shown(name: str, start: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Under a harmless key. Each format gets some of the kinds, and each of them with a quote too many."""
    for _, value in [one for one in BY_FORM if one[0] in TOKENS][start :: len(FILES)]:
        text = FILES[name].replace("KEY", "some.option").replace("VALUE", value)
        at = text.index(value)
        require_hidden(name, (text, *broken(text, at, at + len(value), ('"',), 0)), (value,), capsys)


TOKENS = {kind for kind, _ in BY_FORM} - {"url", "connection", "jaas", "header", "json", "default", "pem"}
