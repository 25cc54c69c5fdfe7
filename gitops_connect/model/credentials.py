"""Finds the credentials in a string by their syntax: passwords in URLs, JAAS entries, connection strings and JSON.

If the syntax tells where a credential ends, it alone is found; otherwise the whole string is, from the beginning of the
line. References of config providers (KIP-297) and masks are no credentials. Every search takes linear time: the strings
come from others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Span = tuple[int, int]
"""Index of the first character of a credential, and index after its last one."""

_REFERENCE = r"\$\{[^}$\n]*\}"
_ASSIGNED = re.compile(
    r"""(?:password|passwd|pwd|passphrase|secret|token|credentials?|signature
          |(?:access|account|api|private|secret|shared)[._-]?key
          |(?<![a-z0-9])(?:pass|pw|sig))
        (?:(?P<quoted>\\*["'])\s*[:=]\s*|[ \t]*=[ \t]*)""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_SECRET = re.compile(
    r"(?:(?:\$\{[^:}$\n]*+:[^}$\n]*+\})++|\*{3,}|\u2022{3,}|\[hidden\]|<redacted>|true|false|null)?", re.IGNORECASE
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
_HEADER = re.compile(
    r"""authorization["']?\s*[:=]\s*["']?(?:basic|bearer|token)\s+(?P<value>[^\s"',;]+)""", re.IGNORECASE
)
_AWS = re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])")
_KEY_BEGIN = "-----BEGIN"
_KEY_BEGINS = re.compile(rf"{_KEY_BEGIN} [A-Z ]{{0,40}}PRIVATE KEY-----")
_KEY_ENDS = "-----END"


def credentials(text: str) -> list[Span]:
    """Where the credentials in `text` are, in order and without overlaps."""
    found = [span for needs, search in _SEARCHES if needs(text) for span in search(text)]
    merged: list[Span] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


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
    if text[start : start + 1] in ('"', "'"):
        return _quoted_value(text, start)
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
    """Private keys in PEM, up to their end line or the end of the text."""
    end = 0
    while (found := _KEY_BEGINS.search(text, end)) is not None:
        end = text.find(_KEY_ENDS, found.end())
        end = end if end >= 0 else len(text)
        yield found.end(), end


def _headers(text: str) -> Iterator[Span]:
    """The value of an `Authorization` header, behind its scheme."""
    for found in _HEADER.finditer(text):
        if not _NO_SECRET.fullmatch(found["value"]):
            yield found.span("value")


def _aws_keys(text: str) -> Iterator[Span]:
    """Identifiers of AWS access keys, which have a fixed form. A secret key has none, and is found by its name."""
    return (found.span() for found in _AWS.finditer(text))


_SEARCHES: tuple[tuple[Callable[[str], bool], Callable[[str], Iterator[Span]]], ...] = (
    (lambda text: "=" in text or (":" in text and ('"' in text or "'" in text)), _assigned),
    (lambda text: "@" in text and "://" in text, _in_urls),
    (lambda text: "@" in text, _of_oracle),
    (lambda text: _KEY_BEGIN in text, _private_keys),
    (lambda text: " " in text and "uthorization" in text.lower(), _headers),
    (lambda text: "AKIA" in text or "ASIA" in text, _aws_keys),
)
"""Each search, and what a string must contain for the search to find anything.

Nearly all config values contain none of these, and every reconciliation searches all values of a repository.
"""
