"""Finds the credentials in a string: by the syntax around them (URLs, JAAS, connection strings, JSON, HTTP headers),
and by their own form (`token_shapes.toml`).

If the syntax tells where a credential ends, it alone is found; otherwise the whole string is, from the beginning of the
line. References of config providers (KIP-297), masks and placeholders are no credentials. Every search takes linear
time: the strings come from others.
"""

from __future__ import annotations

import binascii
import re
import tomllib
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from gitops_connect.model.sensitivity import PLACEHOLDER, masked_beside_references

MASK = "***"
Span = tuple[int, int]
"""Index of the first character of a credential, and index after its last one."""

_REFERENCE = r"\$\{[^}$\n]*\}"
_ASSIGNED = re.compile(
    r"""(?:password|passwd|pwd|passphrase|passcode|secret|token|credentials?|signature|user\.info
          |(?:access|account|api|encryption|keystore|master|private|sas|secret|shared|signing)[._-]?key
          |(?<![a-z0-9])(?:pass|pw|sig))
        (?:(?P<quoted>\\*["'])\s*[:=]\s*|[ \t]*=[ \t]*)""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_SECRET = re.compile(
    rf"(?:(?:(?!\$\{{[^}}$\n]*:-){_REFERENCE})+|{PLACEHOLDER}|[*\u2022]{{3,}}|\[hidden\]|true|false|null|[01])?",
    re.IGNORECASE,
)
_MASKED = re.compile(r"""\*{3}(?=["'&;,)}\]\s]|$)""")
"""A secret that is already masked: the text after it on the line is not part of the secret."""
_NAME = re.compile(r"[\w.\-]")
_AFTER_QUOTES = re.compile(r"[\s;,)}\]&]|$")
_ENDS = {
    "&": re.compile(rf"(?:{_REFERENCE}|[^&\n])*+"),
    ";": re.compile(rf"(?:{_REFERENCE}|[^;\n])*+"),
    " ": re.compile(rf"(?:{_REFERENCE}|\S)*+"),
    "\n": re.compile(rf"(?:{_REFERENCE}|[^\s;&,])*+(?=\n|$)"),
}
_SEPARATORS = {"?": "&", "&": "&", ";": ";", ":": ";", " ": " ", "": "\n"}
"""What ends an unquoted value, by the character before its name: URL queries, JDBC's `;name=value`, DB2's
`:name=value;`, `name=value` pairs with whitespace between them, and a pair by itself."""
_QUOTED = {
    '"': re.compile(r'"(?P<value>(?:\\.|[^"\\])*+)"', re.DOTALL),
    "'": re.compile(r"'(?P<value>(?:\\.|[^'\\])*+)'", re.DOTALL),
    "{": re.compile(r"\{(?P<value>(?:\}\}|[^}])*+)\}"),
}
"""JSON and JAAS quote in this way; braces are SQL Server's, which doubles a closing one inside."""
_JSON_SCALAR = re.compile(r"[^\s,}\]\"'\\]++")
_TOKEN = re.compile(rf"(?:{_REFERENCE}|\S)++")
_AUTHORITY = re.compile(rf"(?:{_REFERENCE}|[^/?#;\s])*+")
_PORTS = re.compile(r"(?:\[[0-9A-Fa-f:.%]*\]|[^:,\[\]]*)(?::\d*)?(?:,(?:\[[0-9A-Fa-f:.%]*\]|[^:,\[\]]*)(?::\d*)?)*+")
_ORACLE = re.compile(r"jdbc:oracle:\w+:[^/@\s]*/", re.IGNORECASE)
_SCHEME = r"(?:api-?key|basic|bearer|geniekey|negotiate|sharedkey|splunk|ssws|token)"
_HEADER = re.compile(
    rf"""
    (?<![a-z0-9])(?:
      (?:authorization|private-token|(?<!-)x-[a-z0-9-]{{0,40}}?(?:key|secret|token))\\*["']?\s*[:=]\s*\\*["']?
      (?:{_SCHEME}\s+)?(?P<header>(?:{_REFERENCE}|[^\s"',;|\\])++)
    | cookie\\*["']?\s*[:=]\s*\\*["']?(?P<cookie>[^\s"'=;,|\\]{{1,100}}=[^"'|\\\r\n]*)
    | bearer\s+(?P<bearer>(?=[\w.~+/=-]{{0,100}}[0-9])[\w.~+/=-]{{16,}})
    | basic\s+(?P<basic>(?=[A-Za-z0-9+/=]{{8}})[A-Za-z0-9+/]{{6,}}={{0,2}})
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_HEADER_WORDS = ("uthorization", "ookie", "earer", "asic ", "x-", "private-token")
_PLAIN_WORD = re.compile(rf"(?i:{_SCHEME})|[A-Za-z]?[a-z]{{0,19}}|[A-Z]{{1,20}}")
_LONGEST_BASIC = 1024
_KEY_BEGIN = "-----BEGIN"
_KEY_BEGINS = re.compile(rf"{_KEY_BEGIN} [A-Z ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = "-----END"


def credentials(text: str) -> tuple[FoundCredential, ...]:
    return _remembered(text) if len(text) <= _LONG else _search(text)


def concealed(text: str) -> str:
    parts, end = [], 0
    for one in credentials(text):
        parts += [text[end : one.start], masked_beside_references(text[one.start : one.end], MASK)]
        end = one.end
    return "".join([*parts, text[end:]]) if parts else text


def _search(text: str) -> tuple[FoundCredential, ...]:
    found = [*shaped(text)]
    found += [FoundCredential(*span, kind) for kind, needs, search in _SEARCHES if needs(text) for span in search(text)]
    merged: list[FoundCredential] = []
    for one in sorted(found, key=lambda one: one.start):
        if merged and one.start <= merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(one.end, merged[-1].end))
        else:
            merged.append(one)
    return tuple(merged)


_LONG = 200
_remembered = lru_cache(maxsize=30_000)(_search)
"""Most config values of a repository are short, and equal from connector to connector and from poll to poll."""


def _assigned(text: str) -> Iterator[Span]:
    """`password=…`, `"password": "…"` and the like, under any name that ends with such a word."""
    position = 0
    while (found := _ASSIGNED.search(text, position)) is not None:
        span = _json_value(text, found) if found["quoted"] else _pair_value(text, found)
        position = max(found.end(), span[1] if span else 0)
        if span is not None:
            yield span


def _json_value(text: str, found: re.Match[str]) -> Span | None:
    start = found.end()
    if found["quoted"].startswith("\\"):
        return _everything(text, start)
    opening = text[start : start + 1]
    if opening in ('"', "'"):
        return _quoted_value(text, start)
    if opening in ("{", "["):
        return None
    scalar = _JSON_SCALAR.match(text, start)
    return _secret(text, scalar.span() if scalar else None, start)


def _pair_value(text: str, found: re.Match[str]) -> Span | None:
    start = found.end()
    if _MASKED.match(text, start):
        return None
    separator, opening = _SEPARATORS.get(_before_name(text, found.start())), text[start : start + 1]
    if separator != "&" and opening in _QUOTED and not (opening == "{" and separator != ";"):
        return _quoted_value(text, start)
    value = _ENDS[separator].match(text, start) if separator is not None and opening != "\\" else None
    return _secret(text, value.span() if value else None, start)


def _secret(text: str, span: Span | None, position: int) -> Span | None:
    """The span if it contains a secret, None if not; all from the start of the line if the value's end is unknown."""
    if span is None:
        return _everything(text, position)
    return None if _NO_SECRET.fullmatch(text, *span) else span


def _before_name(text: str, position: int) -> str:
    """The character before the name that ends at `position`, a space for whitespace after a value, or nothing."""
    while position and _NAME.match(text[position - 1]):
        position -= 1
    name = position
    while position and text[position - 1] in " \t":
        position -= 1
    if not position or text[position - 1] == "\n":
        return ""
    last = text[position - 1]
    return " " if position < name and last not in "?&;,({[" else last


def _quoted_value(text: str, start: int) -> Span | None:
    quoted = _QUOTED[text[start]].match(text, start)
    if quoted is None or not _AFTER_QUOTES.match(text, quoted.end()):
        return _everything(text, start)
    return _secret(text, quoted.span("value"), start)


def _everything(text: str, position: int) -> Span:
    return text.rfind("\n", 0, position) + 1, len(text)


def _in_urls(text: str) -> Iterator[Span]:
    """The password of `scheme://user:password@host`, and the user of an HTTP URL without password, which is a token."""
    for token in _TOKEN.finditer(text):
        last = text.rfind("@", *token.span())
        begin = text.find("://", token.start(), max(last, token.start()))
        while begin >= 0:
            span = _user_info(text, begin, token.end(), last)
            if span is not None:
                if span[0] < span[1]:
                    yield span
                break
            begin = text.find("://", begin + 3, last)


def _user_info(text: str, begin: int, end: int, last: int) -> Span | None:
    """None if this URL has no user info. The `last` @ of the string ends it: a password may contain any character."""
    authority = _AUTHORITY.match(text, begin + 3, end)
    if authority is None or "@" not in authority[0]:
        return None if authority is None or _PORTS.fullmatch(authority[0]) else _everything(text, begin)
    start, colon = authority.start(), authority[0].find(":")
    if 0 <= colon < authority[0].rfind("@"):
        start += colon + 1
    elif not text[max(0, begin - 5) : begin].lower().endswith(("http", "https")):
        return start, start
    return (start, start) if _NO_SECRET.fullmatch(text, start, last) else (start, last)


def _of_oracle(text: str) -> Iterator[Span]:
    """`jdbc:oracle:thin:user/password@…`; the password may be in quotes and contain an @."""
    found = _ORACLE.search(text)
    while found is not None:
        line = text.find("\n", found.end())
        end = text.rfind("@", found.end(), line if line >= 0 else len(text))
        if end > found.end() and not _NO_SECRET.fullmatch(text, found.end(), end):
            yield found.end(), end
        found = _ORACLE.search(text, max(end, line)) if line >= 0 else None


def _private_keys(text: str) -> Iterator[Span]:
    end = 0
    while (found := _KEY_BEGINS.search(text, end)) is not None:
        end = text.find(_KEY_ENDS, found.end())
        end = end if end >= 0 else len(text)
        yield found.end(), end


def _headers(text: str) -> Iterator[Span]:
    """The values of headers that authenticate a request, behind their scheme, and a scheme with its value."""
    for found in _HEADER.finditer(text):
        name = str(found.lastgroup)
        is_word = name == "header" and _PLAIN_WORD.fullmatch(found[name])
        if not (is_word or _NO_SECRET.fullmatch(found[name])) and (name != "basic" or _is_user(found[name])):
            yield found.span(name)


def _is_user(encoded: str) -> bool:
    try:
        return b":" in b64decode(encoded[:_LONGEST_BASIC] + "==")
    except binascii.Error:
        return False


_SEARCHES: tuple[tuple[str, Callable[[str], bool], Callable[[str], Iterator[Span]]], ...] = (
    ("a private key", lambda text: _KEY_BEGIN in text, _private_keys),
    ("a credential in a header", lambda text: any(word in text.lower() for word in _HEADER_WORDS), _headers),
    ("a password in a URL", lambda text: "@" in text and "://" in text, _in_urls),
    ("a password in a URL", lambda text: "@" in text, _of_oracle),
    ("a password of JAAS", lambda text: "LoginModule" in text, _assigned),
    (
        "a password or another secret",
        lambda text: "=" in text or (":" in text and ('"' in text or "'" in text)),
        _assigned,
    ),
)
"""The kind that each search finds, what a string must contain for it to find anything, and the search.

Nearly all config values contain none of these, and every reconciliation searches all values of a repository.
"""


# Tokens, keys and URLs that their issuers write in a form of their own.


class FoundCredential(NamedTuple):
    """Index of the first character of a credential, index after its last one, and its kind, such as `a password`."""

    start: int
    end: int
    kind: str


_SHAPES = tomllib.loads(files("gitops_connect.model").joinpath("token_shapes.toml").read_text(encoding="utf-8"))
_ANY = re.compile("|".join(f"({pattern})" for pattern in _SHAPES.values()), re.ASCII)
_KINDS = tuple(_SHAPES)
_HINT = re.compile(
    r"gh[pousr]_|github_pat_|gl[a-z]{1,5}[-_]|xox|xapp-|A(?:KIA|SIA|Iza|TATT3|VNS_|GE-S)|GOCSPX|ya29|[rs]k[-_]|whsec_|npm_"
    r"|pypi-|dckr_|SG\.|SK[0-9a-f]|do[opr]_v1|hf_|dapi[0-9a-f]|hv[brs]\.|atlasv1|NRAK|shp[a-z]{2}_|Q~|pscale_|:AA|eyJ|MII"
    r"|hook|/with/key/|code="
)
"""What a string with such a secret contains: a search for this takes a fraction of the time."""
_SHORTEST = 17


def shaped(text: str) -> Iterator[FoundCredential]:
    """Every secret in the text that has such a form."""
    if len(text) >= _SHORTEST and _HINT.search(text):
        for found in _ANY.finditer(text):
            yield FoundCredential(*found.span(), _KINDS[(found.lastindex or 1) - 1])
