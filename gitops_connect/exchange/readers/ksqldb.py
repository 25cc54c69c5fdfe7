"""ksqlDB's statements `CREATE SOURCE|SINK CONNECTOR [IF NOT EXISTS] name WITH (…);`. Other statements are skipped."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from gitops_connect.documents.encoding import Refused, decode
from gitops_connect.documents.fields import CLASS, TASKS
from gitops_connect.documents.load import MAX_SIZE
from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat
from gitops_connect.exchange.readers.reading import MAX_KEYS, Findings, LineStarts, too_many
from gitops_connect.families.jdbc import CONFLUENT_SOURCE
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.java_numbers import java_double
from gitops_connect.model.names import ConnectorName

_COMMENT = r"--[^\r\n]*+|/\*.*?\*/"
_TEXTS = r"""'(?P<string>[^']*+(?:''[^']*+)*+)'|`(?P<exact>[^`]*+(?:``[^`]*+)*+)`|"(?P<quoted>[^"]*+(?:""[^"]*+)*+)\""""
_BLANK = re.compile(rf"(?:\s++|{_COMMENT})*+", re.DOTALL)
_TOKEN = re.compile(
    rf"""{_TEXTS}
      | (?P<open>/\*|['`"])
      | (?P<variable>\$\{{[A-Za-z_][A-Za-z0-9_@]*\}})
      | (?P<number>-?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?)(?![A-Za-z0-9_@])
      | (?P<word>[A-Za-z0-9_][A-Za-z0-9_@]*+)
      | (?P<end>;)
      | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_PART = rf"""[^;'"`/-]++|'[^']*+'|`[^`]*+`|"[^"]*+"|{_COMMENT}|-|/(?!\*)"""
"""A part of a statement. The two halves of a string with a quote inside are two strings here, which end the same."""
_SPACE = rf"(?:\s++|{_COMMENT})++"
_MATTERS = rf"CREATE{_SPACE}(?:SOURCE|SINK){_SPACE}CONNECTOR\b|DEFINE{_SPACE}\w"
_BETWEEN = rf"(?:\s++|{_COMMENT}|;)*+"
_REST = re.compile(
    rf"(?:{_PART})*+(?:;{_BETWEEN}(?!{_MATTERS})(?:{_PART})*+)*+(?:;{_BETWEEN})?", re.DOTALL | re.IGNORECASE
)
"""The rest of a statement, and all statements up to the next one that matters."""
_TRANSFORMS = "org.apache.kafka.connect.transforms"
_KEY_TRANSFORMS = {"ksqlCreateKey": ("ValueToKey", "fields"), "ksqlExtractString": ("ExtractField$Key", "field")}
"""The transforms that ksqlDB adds: their class, and the option that gets the name of the column."""
_QUOTES = {"string": "'", "exact": "`", "quoted": '"'}
_FOUND = {
    "string": "a string",
    "exact": "a name in quotes",
    "quoted": "a name in quotes",
    "variable": "a variable",
    "number": "a number",
    "word": "a word",
    "end": "the end of the statement",
}
"""What an error calls a token: its text may be a secret. Only a sign is repeated."""
_VARIABLE = re.compile(r"\$\$\{|\$\{([^}]*)\}")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_@]*")
_LONGEST_NUMBER = 200
_BOOLEANS = ("TRUE", "FALSE")
_KINDS = ("SOURCE", "SINK")
_LARGEST_INTEGER = 2**63 - 1


class _Token(NamedTuple):
    kind: str
    text: str
    at: int
    end: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.upper() in words

    def is_sign(self, sign: str) -> bool:
        return self.kind == "other" and self.text == sign


class _NotSql(Exception):
    def __init__(self, expected: str, token: _Token) -> None:
        super().__init__(expected)
        self.expected = expected
        self.token = token


def read(blob: Blob, findings: Findings) -> None:
    """Read every statement of a file. Raises Refused."""
    text = decode(blob.content)
    _KsqlReader(_Tokens(text, LineStarts(text)), findings).read()


@dataclass(slots=True)
class _Tokens:
    """The tokens of a text. Each is found when it is needed: most statements of a file are about something else."""

    text: str
    lines: LineStarts
    at: int = 0

    def next(self) -> _Token:
        """The next token, which is not taken. At the end of a statement, its kind is "end". Raises Refused."""
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            return _Token("end", "", self.at, self.at)
        kind = str(found.lastgroup)
        if kind == "open":
            what = "comment" if found.group() == "/*" else "quote"
            raise Refused("convert/syntax", f"the {what} is not closed", self.lines.place(self.at))
        content = found.group(kind) if kind != "end" else ""
        if kind in _QUOTES:
            content = content.replace(_QUOTES[kind] * 2, _QUOTES[kind])
        return _Token(kind, content, found.start(), found.end())

    def take(self, expected: str, *kinds: str) -> _Token:
        token = self.next()
        if token.kind not in kinds:
            raise _NotSql(expected, token)
        self.at = token.end
        return token

    def take_sign(self, sign: str) -> None:
        if not self.next().is_sign(sign):
            raise _NotSql(sign, self.next())
        self.at += 1

    def take_words(self, *words: str) -> bool:
        begin = self.at
        for word in words:
            token = self.next()
            if not token.is_word(word):
                self.at = begin
                return False
            self.at = token.end
        return True

    def skip_statement(self) -> bool:
        """Continue at the next statement that matters. Returns whether anything follows."""
        rest = _REST.match(self.text, self.at)
        self.at = rest.end() if rest else self.at
        return self.next().end > self.at


@dataclass(slots=True)
class _KsqlReader:
    tokens: _Tokens
    findings: Findings
    defined: dict[str, str] = field(default_factory=dict)
    """The variables that `DEFINE` statements set before."""
    size: int = 0
    """Characters of all values of variables so far."""

    def read(self) -> None:
        while True:
            first = self.tokens.next()
            try:
                if self.tokens.take_words("DEFINE"):
                    self._define()
                elif any(self.tokens.take_words("CREATE", kind, "CONNECTOR") for kind in _KINDS):
                    self._connector(self._where(first))
            except _NotSql as error:
                found = _FOUND.get(error.token.kind, repr(error.token.text))
                summary = f"this statement cannot be read: expected {error.expected}, found {found}"
                self.findings.error("convert/syntax", summary, self._where(error.token))
            if not self.tokens.skip_statement():
                return

    def _define(self) -> None:
        """`DEFINE name = 'value'`; anything else is ksqlDB's error."""
        with suppress(_NotSql):
            name = self.tokens.take("a name", "word")
            self.tokens.take_sign("=")
            self.defined[name.text] = self.tokens.take("a string", "string").text

    def _connector(self, where: Location) -> None:
        rest = self.tokens
        if rest.take_words("IF", "NOT", "EXISTS"):
            summary = "IF NOT EXISTS is left out: gitops-connect also updates a connector that exists"
            self.findings.note("convert/unknown-field", summary, where)
        name = self._name(rest.take("a name", "exact", "quoted", "word"))
        self.findings.begin(name)
        draft = ConnectorDeclaration(ConnectorName(name), FileFormat.KSQLDB, where)
        if not rest.take_words("WITH"):
            raise _NotSql("WITH", rest.next())
        rest.take_sign("(")
        while True:
            self._property(draft)
            if rest.next().is_sign(")"):
                break
            rest.take_sign(",")
        _add_key_of_jdbc(draft)
        self.findings.declare(draft)

    def _name(self, token: _Token) -> str:
        if token.kind != "word" or token.text == token.text.upper():
            return token.text
        summary = f"ksqlDB writes names without quotes in capitals: the connector is called {token.text.upper()!r}"
        self.findings.warning("convert/name", summary, self._where(token))
        return token.text.upper()

    def _property(self, draft: ConnectorDeclaration) -> None:
        rest = self.tokens
        token = rest.take("a config key", "string", "exact", "quoted", "word")
        key = token.text.upper() if token.kind == "word" else token.text
        draft.places[key] = self._where(token)
        if len(draft.places) > MAX_KEYS:
            raise too_many(draft.places[key])
        if key in draft.config or key in draft.unknown:
            raise _NotSql(f"each key once, and {key!r} repeats", token)
        rest.take_sign("=")
        value = rest.take("a value", "string", "number", "word", "variable")
        if value.is_word("NULL"):
            summary = f"the value of {key!r} is NULL: the key is left out"
            self.findings.warning("convert/null", summary, draft.places[key])
            return
        text, is_known = self._text(value)
        (draft.config if is_known else draft.unknown)[key] = text

    def _text(self, token: _Token) -> tuple[str, bool]:
        """The value as ksqlDB sends it, and whether all of its variables are defined."""
        if token.kind == "number":
            return _number(token), True
        if token.kind == "word":
            if not token.is_word(*_BOOLEANS):
                raise _NotSql("a string, a number, TRUE or FALSE", token)
            return token.text.lower(), True
        return self._substituted(token.text)

    def _substituted(self, text: str) -> tuple[str, bool]:
        """The text with the values of variables: `${name}`, or `${name:-default}`. `$${` means `${`."""
        end = text.rfind("}") + 1  # without it, each of many `${` would be searched for its end
        names = [found.group(1) or "" for found in _VARIABLE.finditer(text[:end])]
        if any(_VARIABLE_NAME.fullmatch(name) and name not in self.defined for name in names):
            return text, False
        return _VARIABLE.sub(self._value, text[:end]) + text[end:].replace("$${", "${"), True

    def _value(self, found: re.Match[str]) -> str:
        if found.group(1) is None:
            return found.group()[1:]
        name, separator, default = found.group(1).partition(":-")
        value = self.defined.get(name, default if separator else found.group())
        self.size += len(value)
        if self.size > MAX_SIZE:
            where = self.tokens.lines.place(self.tokens.at)
            raise Refused("document/too-large", "the values of the variables are larger than 10 MiB", where)
        return value

    def _where(self, token: _Token) -> Location:
        return Location(self.findings.path, *self.tokens.lines.place(token.at))


def _add_key_of_jdbc(draft: ConnectorDeclaration) -> None:
    """What ksqlDB sends for a JDBC source (`JdbcSource.resolveConfigs`): one task, and transforms instead of `key`."""
    if draft.config.get(CLASS) != CONFLUENT_SOURCE:
        return
    if TASKS not in draft.unknown:
        draft.config.setdefault(TASKS, "1")
    values = draft.unknown if "key" in draft.unknown else draft.config
    key = values.pop("key", None)
    if key is None:
        return
    for name, (kind, option) in _KEY_TRANSFORMS.items():
        draft.config[f"transforms.{name}.type"] = f"{_TRANSFORMS}.{kind}"
        values[f"transforms.{name}.{option}"] = key
    own = [draft.config["transforms"]] if "transforms" in draft.config else []
    draft.config["transforms"] = ",".join([*own, *_KEY_TRANSFORMS])


def _number(token: _Token) -> str:
    """The number as Java writes it: a `double` if it has an exponent, else a `BigDecimal` or a `long`."""
    digits = token.text
    if len(digits) > _LONGEST_NUMBER:
        raise _NotSql("a shorter number", token)
    if "e" in digits.lower():
        number = float(digits)
        if math.isinf(number):
            raise _NotSql("a number that fits into a DOUBLE", token)
        return java_double(number)
    if "." in digits:
        return str(Decimal(digits) or abs(Decimal(digits)))
    if not -_LARGEST_INTEGER - 1 <= int(digits) <= _LARGEST_INTEGER:
        raise _NotSql("a number that fits into a BIGINT", token)
    return str(int(digits))
