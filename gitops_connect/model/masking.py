"""The only module that masks secrets: in config values before they are shown, and in the answers of Connect.

Connect quotes values in its errors ("Invalid value hunter2 for configuration database.password"), quotes whole configs
("Connector config {…} contains no connector type"), and plugins put them into stack traces.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import quote, quote_plus, unquote

from gitops_connect.model.credentials import MASK, concealed, credentials
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.sensitivity import (
    is_mask,
    is_only_reference,
    is_placeholder,
    is_secret_key,
    masked_beside_references,
)

BY_KEY = "a secret"
"""The kind of a value that only its key shows to be a secret."""
_SHORT = 4
_COMMON_WORDS = ("true", "false", "null")
_BASE64 = "A-Za-z0-9+/_-"
_ENCODERS = (b64encode, urlsafe_b64encode)


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` with `***` for each of `secrets`, and for each credential that is found by its syntax.

    A secret is also found without the whitespace at its ends (Connect trims values), in the notations of JSON, HTML and
    URLs, and in Base64. If it is a part of an encoded string (`user:secret` of Basic authentication), the whole encoded
    string is masked. A secret of fewer than four characters is only masked if it is a whole word: elsewhere the masked
    positions would reveal it.
    """
    if not text:
        return text
    known = _patterns(frozenset(secrets))
    for core in known.cores.parts_of(text):
        text = re.sub(rf"(?<![{_BASE64}])[{_BASE64}]*?{re.escape(core)}[{_BASE64}]*+={{0,2}}", MASK, text)
    for form in known.forms.parts_of(text):
        text = text.replace(form, MASK)
    for word in known.words:
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", MASK, text)
    return concealed(text)


def masked_value(key: str, value: str, *, sensitive: bool = False) -> str:
    """The value as it may be shown. `sensitive`: the key has a secret. References of config providers are shown."""
    if (sensitive or is_secret_key(key, value)) and not is_only_reference(value):
        return masked_beside_references(value, MASK)
    return mask(value)


def clear_secret(key: str, value: str) -> str | None:
    """The kind of secret in a value, such as `a GitHub token`; None for masks, references and placeholders, too."""
    if found := credentials(value):
        return found[0].kind
    if not value or not is_secret_key(key, value) or value.lower() in _COMMON_WORDS:
        return None
    return None if is_mask(value) or is_placeholder(value) or is_only_reference(value) else BY_KEY


def sensitive_values(config: Mapping[str, str], sensitive: Iterable[str] = ()) -> frozenset[str]:
    """The secrets of a config: values of sensitive keys, and credentials in others, but no masks and references."""
    keys = {key for key, value in config.items() if is_secret_key(key, value)} | {
        key for key in sensitive if key in config
    }
    whole = {config[key] for key in keys if not is_mask(config[key]) and not is_only_reference(config[key])}
    return frozenset(whole.union(*(_parts(value) for value in config.values() if credentials(value))))


def mask_traces(connector: ObservedConnector, secrets: Iterable[str]) -> ObservedConnector:
    """The connector without these secrets in its stack traces: plugins quote their config there."""
    tasks = tuple(replace(task, trace=mask(task.trace, secrets)) for task in connector.tasks)
    return replace(connector, trace=mask(connector.trace, secrets), tasks=tasks)


def distinctive(secrets: Iterable[str]) -> frozenset[str]:
    """The secrets that are also masked in messages about other connectors: shorter ones are words of many texts."""
    return frozenset(one for one in secrets if len(one.strip()) >= _SHORT and one.strip().lower() not in _COMMON_WORDS)


def _parts(value: str) -> set[str]:
    """The credentials in a value, as they are written, and with the escapes of URLs decoded."""
    found = {value[one.start : one.end] for one in credentials(value)}
    return found | {unquote(part) for part in found}


_cached = lru_cache(maxsize=10_000)
"""The daemon masks each line of its log, and the secrets stay the same."""


@dataclass(frozen=True, slots=True)
class _Strings:
    """Strings by their first `_SHORT` characters: the time of a search depends on the length of the text only."""

    by_start: Mapping[str, Sequence[str]]

    @staticmethod
    def of(strings: Iterable[str]) -> _Strings:
        found: dict[str, list[str]] = {}
        for one in strings:
            found.setdefault(one[:_SHORT], []).append(one)
        return _Strings(found)

    def parts_of(self, text: str) -> list[str]:
        """The strings that the text contains, the longest first."""
        starts: Iterable[str] = self.by_start
        if len(self.by_start) > len(text):
            starts = self.by_start.keys() & {text[at : at + _SHORT] for at in range(len(text))}
        found = [one for start in starts if start in text for one in self.by_start[start] if one in text]
        return sorted(found, key=lambda one: (-len(one), one))


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Search patterns: `cores` are parts of Base64, `forms` are secrets in any notation, `words` are short secrets."""

    cores: _Strings
    forms: _Strings
    words: tuple[str, ...]


@lru_cache(maxsize=64)
def _patterns(secrets: frozenset[str]) -> _Patterns:
    forms = {form for secret in secrets for form in _forms(secret)}
    short = {form for form in forms if len(form) < _SHORT}
    words = sorted(short, key=lambda one: (-len(one), one))
    cores = {core for secret in secrets for core in _encoded_cores(secret)}
    return _Patterns(_Strings.of(cores), _Strings.of(forms - short), tuple(words))


@_cached
def _forms(secret: str) -> set[str]:
    plain = {secret, secret.strip()} | _parts(secret)
    return plain.union(*(_escaped(form) for form in plain)) - {""}


def _escaped(plain: str) -> set[str]:
    markup = html.escape(plain)
    escaped = {markup, markup.replace("&#x27;", "&#39;"), html.escape(plain, quote=False)}
    content = plain.encode(errors="surrogatepass")
    encoded = {encode(content).decode() for encode in _ENCODERS}
    urls = {quote(content, safe=""), quote_plus(content)}
    in_json = json.dumps(plain, ensure_ascii=False)[1:-1]
    partly = "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in in_json)
    texts = {json.dumps(plain)[1:-1], in_json, partly}
    return escaped | urls | encoded | {form.rstrip("=") for form in encoded} | texts


@_cached
def _encoded_cores(secret: str) -> set[str]:
    """The Base64 characters that depend on the secret alone, for each of its three alignments to three bytes."""
    contents = {plain.encode(errors="surrogatepass") for plain in {secret, secret.strip()}}
    cores = set()
    for content in contents:
        for before in range(3):
            end = (before + len(content)) * 8 // 6
            cores |= {encode(bytes(before) + content)[-(-before * 8 // 6) : end].decode() for encode in _ENCODERS}
    return {core for core in cores if len(core) >= _SHORT}
