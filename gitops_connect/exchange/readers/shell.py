"""The words and the heredocs of a shell script, each character with its place. Nothing is run. No text is an error.

Variables and commands in a word are unknown values (`unknown_values.py`). What a command prints is unknown, but its
own words and heredocs are read, too: `DATA=$(cat <<EOF`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from gitops_connect.exchange.readers.excerpts import Excerpt, PlaceOf
from gitops_connect.exchange.readers.unknown_values import mark

_NAME = r"[A-Za-z_][A-Za-z0-9_]*+|[0-9@*\#?$!-]"
_BRACES = r"[^{}\n]*+(?:\{[^{}\n]*+\}[^{}\n]*+)*+"
_VARIABLE = rf"(?P<variable>\$(?:(?P<name>{_NAME})|\{{[!\#]?(?P<braced>{_NAME}){_BRACES}\}}))"
_CALCULATION = r"\(\((?:[^()]++|\([^()]*+\))*+\)\)"
_OUTSIDE = re.compile(
    rf"""(?P<plain>[^\s'"\\$`;&|()<>\#]++)
      | (?P<nothing>\\\r?\n)
      | (?P<space>[ \t\r\f\v]++|<<<|[0-9]?[<>]&[0-9-])
      | (?P<line>\n)
      | (?P<heredoc><<(?P<tabs>-?)[ \t]*+(?P<delimiter>(?:'[^'\n]*+'|"[^"\n]*+"|\\.|[^\s'"\\;&|()<>`$])++))
      | (?P<comment>\#[^\n]*+)
      | '(?P<single>[^']*+)'
      | \$'(?P<ansi>[^'\\]*+(?:\\.[^'\\]*+)*+)'
      | (?P<quote>\$?")
      | (?P<command>\$?{_CALCULATION}|`[^`]*+`)
      | (?P<substitution>[$<>]\()
      | {_VARIABLE}
      | (?P<open>\()
      | (?P<close>\))
      | (?P<end>;|&&|\|\||&(?!>))
      | (?P<pipe>\|&?)
      | (?P<output>&?>[>|]?)
      | (?P<input><)
      | \\(?P<escape>.)
      | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_IN_QUOTES = re.compile(
    rf"""(?P<plain>[^"\\$`]++)
      | (?P<nothing>\\\r?\n)
      | \\(?P<escape>[\\$`"])
      | (?P<unquote>")
      | (?P<command>\${_CALCULATION}|`[^`]*+`)
      | (?P<substitution>\$\()
      | {_VARIABLE}
      | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_IN_HEREDOC = re.compile(
    rf"""(?P<plain>[^\\$`]++)
      | (?P<nothing>\\\r?\n)
      | \\(?P<escape>[\\$`])
      | (?P<command>\$\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)|`[^`]*+`)
      | {_VARIABLE}
      | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_ANSI = re.compile(r"\\(?:x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|[0-7]{1,3}|.)|[^\\]+", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


_MAX_LEVELS = 1000
"""Levels of quotes and parentheses. The rest of a deeper script is not read."""
_TEXTS = ("plain", "single", "escape", "other")


class TokenKind(Enum):
    WORD = "word"
    OUTPUT = "output"
    """The file of `> file`."""
    INPUT = "input"
    """The file of `< file`."""
    HEREDOC = "heredoc"
    END = "end"
    """The end of a pipeline."""


class Token(NamedTuple):
    kind: TokenKind
    excerpt: Excerpt


_END = Token(TokenKind.END, Excerpt.whole(""))


class _Heredoc(NamedTuple):
    delimiter: str
    strips_tabs: bool
    is_literal: bool


class _Level(NamedTuple):
    """What a quote or a parenthesis interrupts. `word` is continued after `$(…)`."""

    is_quote: bool
    is_substitution: bool = False
    word: Excerpt | None = None


@dataclass(slots=True)
class ShellLexer:
    """Reads the tokens of a text. Every step takes at least one character."""

    text: str
    place: PlaceOf
    _at: int = 0
    _word: Excerpt | None = None
    _role: TokenKind = TokenKind.WORD
    _levels: list[_Level] = field(default_factory=list)
    _substitutions: int = 0
    _heredocs: list[_Heredoc] = field(default_factory=list)
    _continues: bool = False
    """Whether a `|` is the last token: the pipeline continues on the next line."""

    def tokens(self) -> Iterator[Token]:
        while self._at < len(self.text):
            is_quoted = bool(self._levels) and self._levels[-1].is_quote
            found = (_IN_QUOTES if is_quoted else _OUTSIDE).match(self.text, self._at)
            if found is None or len(self._levels) > _MAX_LEVELS:  # each pattern takes any character
                return
            self._at = found.end()
            yield from self._take(str(found.lastgroup), found)
        yield from self._end_word()
        yield _END

    def _take(self, kind: str, found: re.Match[str]) -> Iterator[Token]:
        if kind in _TEXTS:
            self._open_word().add(found.group(kind), found.start(kind))
        elif kind == "ansi":
            word = self._open_word()
            for piece in _ANSI.finditer(self.text, found.start(kind), found.end(kind)):
                word.add(_character(piece.group()), piece.start())
        elif kind in ("variable", "command"):
            self._open_word().add(_mark_of(found), found.start())
        elif kind in ("quote", "substitution", "unquote"):
            self._change_level(kind, found)
        elif kind == "comment" and self._word is not None:
            self._word.add("#", found.start())
            self._at = found.start() + 1
        elif kind != "nothing":
            yield from self._end_word()
            yield from self._separate(kind, found)

    def _open_word(self) -> Excerpt:
        if self._word is None:
            self._word = Excerpt(self.place)
        return self._word

    def _change_level(self, kind: str, found: re.Match[str]) -> None:
        if kind == "unquote":
            self._levels.pop()
            return
        word = self._open_word()
        self._levels.append(_Level(kind == "quote", kind == "substitution", word))
        if kind == "substitution":
            word.add(mark(""), found.start())
            self._word = None
            self._substitutions += 1

    def _separate(self, kind: str, found: re.Match[str]) -> Iterator[Token]:
        """What is between two words."""
        match kind:
            case "heredoc":
                self._heredocs.append(_heredoc_of(found))
            case "output" | "input":
                self._role = TokenKind(kind)
            case "pipe":
                self._continues = True
            case "open":
                self._levels.append(_Level(is_quote=False))
            case "line":
                yield from (Token(TokenKind.HEREDOC, self._body(one)) for one in self._heredocs)
                self._heredocs = []
                yield from self._end_pipeline() if not self._continues else ()
            case "close" if self._levels:
                level = self._levels.pop()
                self._substitutions -= level.is_substitution
                self._word = level.word
            case "close" | "end":
                yield from self._end_pipeline()
            case _:  # whitespace
                pass

    def _end_pipeline(self) -> Iterator[Token]:
        self._continues = False
        if not self._substitutions:
            yield _END

    def _end_word(self) -> Iterator[Token]:
        if self._word is not None:
            yield Token(self._role, self._word)
            self._word, self._role, self._continues = None, TokenKind.WORD, False

    def _body(self, heredoc: _Heredoc) -> Excerpt:
        """The lines up to the delimiter, or all of them."""
        body = Excerpt(self.place)
        while self._at < len(self.text):
            begin = self._at
            end = self.text.find("\n", begin) + 1 or len(self.text)
            self._at = end
            line = self.text[begin:end]
            content = line.lstrip("\t") if heredoc.strips_tabs else line
            if content.rstrip("\r\n") == heredoc.delimiter:
                break
            begin += len(line) - len(content)
            if heredoc.is_literal:
                body.add(content, begin)
                continue
            for piece in _IN_HEREDOC.finditer(self.text, begin, end):
                kind = str(piece.lastgroup)
                if kind in _TEXTS:
                    body.add(piece.group(kind), piece.start(kind))
                elif kind != "nothing":
                    body.add(_mark_of(piece), piece.start())
        return body


def _mark_of(found: re.Match[str]) -> str:
    name = (found.group("name") or found.group("braced") or "") if found.lastgroup == "variable" else ""
    return mark(name if name[:1].isalpha() or name[:1] == "_" else "")


def _heredoc_of(found: re.Match[str]) -> _Heredoc:
    written = found.group("delimiter")
    delimiter = re.sub(r"""['"\\]""", "", written)
    return _Heredoc(delimiter, bool(found.group("tabs")), delimiter != written)


def _character(escape: str) -> str:
    """What `$'…'` means by the escape; the text itself if it is none."""
    if escape[0] != "\\" or len(escape) == 1:
        return escape
    if escape[1] in "xu" and len(escape) > 2:
        return chr(int(escape[2:], 16))
    if escape[1] in "01234567":
        return chr(int(escape[1:], 8) & 255)
    return _LETTERS.get(escape[1], escape[1] if escape[1] in "\\'\"?" else escape)
