"""Learns the exact forms of nearly all lines of a file from its first lines, as regular expressions.

A line of such a form is certainly valid, or only belongs to another alias, file, server or topic than the connector's,
which may be intended. It is also certain which part of the line becomes which part of its canonical text. A line of
another form is not wrong for that reason: the strict reader and the rule function decide.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from gitops_connect.checks.entries import EntryChecker
from gitops_connect.checks.large.line_formats.fast_path import match_lines
from gitops_connect.checks.large.line_formats.known_fields import BY_TYPE, Known, counted_field, known_of
from gitops_connect.checks.large.line_formats.layouts import (
    TEXTS,
    TYPE,
    Admits,
    Anchors,
    Field,
    Layout,
    LineBuffer,
    LineForm,
    LineFormat,
    Member,
    Span,
    layout_of,
)
from gitops_connect.checks.rules import Finding
from gitops_connect.checks.ties import RULES
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.offsets import Offsets, offset_text, partition_text
from gitops_connect.model.operations import OperationKind
from gitops_connect.model.shape_fields import FieldType, Shape

MAX_FORMS = 4
"""A line that matches none costs a match with each of them, in addition to its cost without them."""
_LONGEST = 4096
"""Characters of a regular expression: a line may begin with megabytes of whitespace."""
_TEXT = r'"[^"\\\x00-\x1f]*"'
_NATURAL, _WHOLE = "(?:0|[1-9][0-9]{0,17})", "(?:0|-?[1-9][0-9]{0,17})"
_PATTERNS: Mapping[FieldType, str] = {
    **dict.fromkeys(TEXTS, _TEXT),
    FieldType.NUMBER: _NATURAL,
    FieldType.SMALL: "(?:0|[1-9][0-9]{0,8})",
    FieldType.SIGNED: _WHOLE,
    FieldType.SERVER: _WHOLE,
    FieldType.PG_LSN: _NATURAL,
    FieldType.MILLISECONDS: _WHOLE,
    FieldType.ZERO: "0",
    FieldType.FLAG: "(?:true|false)",
}
"""All values of a type except extreme ones, and LSNs only as numbers. Lines with other types are checked singly."""
_NUMBERS = frozenset(_PATTERNS) - {*TEXTS, FieldType.FLAG, FieldType.PG_LSN}
"""The types of which no string is a value."""


def learn(lines: Iterable[bytes], context: ManifestContext, kind: OperationKind) -> LineFormat | None:
    """Learn from lines that are certain. None if no line has a known form, or if each line must be checked singly.

    `context.current` are offsets that show the types of all current offsets.
    """
    known = known_of(context)
    if known is None:
        return None
    checker = EntryChecker(context, kind)
    strings = _string_fields(context.current or {})
    certain = partial(_certain, checker, known, strings)
    return _learnt(lines, known, certain, tombstones=kind is OperationKind.ALTER)


def learn_current(lines: Iterable[bytes], shape: Shape | None, *, tombstones: bool = False) -> LineFormat | None:
    """Learn the format of the current offsets: as they are, valid or not."""
    counted = counted_field(shape)
    known = Known(offset={counted: FieldType.NUMBER} if counted else {}, counted=counted)
    return _learnt(lines, known, lambda value: None if value["offset"] is None else (), tombstones=tombstones)


def _string_fields(current: Offsets) -> frozenset[str]:
    """The fields that are strings in some of the current offsets."""
    halves = [("partition", str(text)) for text in current] + [("offset", str(text)) for text in current.values()]
    return frozenset(
        f"{half}.{name}" for half, text in halves for name, value in json.loads(text).items() if isinstance(value, str)
    )


def _certain(checker: EntryChecker, known: Known, strings: frozenset[str], value: Any) -> tuple[Finding, ...] | None:
    """The findings of each line like this one; None: not certain.

    A line like this one has other strings of the config's fields, or another string for a number. If no current offset
    has a string there, its type is wrong whatever the current offset is. A null for a partition without a current
    offset is found by the join.
    """
    found = [one for one in checker.check_alone(value).findings if one.rule != "manifest/nothing-to-remove"]
    fixed = {f"partition.{name}" for name in known.admits}
    if all(one.rule in RULES and one.field in fixed for one in found):
        return tuple(one.explained() for one in found)
    for one in found:
        half, _, name = one.field.partition(".")
        types = known.partition if half == "partition" else known.offset
        is_string = isinstance((value.get(half) or {}).get(name), str)
        if one.rule != TYPE or types.get(name) not in _NUMBERS or not is_string or one.field in strings:
            return None
    return tuple(found)


def _learnt(
    lines: Iterable[bytes], known: Known, certain: Callable[[Any], tuple[Finding, ...] | None], *, tombstones: bool
) -> LineFormat | None:
    """Learn the next form from the first line that matches no form, until there are enough forms."""
    left = [text for line in lines if (text := _decoded(line)) is not None]
    found: list[tuple[int, list[LineForm]]] = []
    while left and len(found) < MAX_FORMS:
        layout = layout_of(left[0][:-1])
        findings = None if layout is None else certain(layout.value)
        forms: list[LineForm] = []
        others = left
        if layout is not None and findings is not None:
            for facts, said in _readings(known, findings):
                more = _forms(layout, facts, said, tombstones=tombstones)
                rest = _unmatched(left, more)
                if len(rest) < len(others):
                    forms, others = more, rest
        if forms and others[:1] != left[:1]:
            found.append((len(left) - len(others), forms))
            left = others
        else:
            left = left[1:]
    found.sort(key=lambda one: -one[0])
    learnt = dict.fromkeys(form for _, forms in found for form in forms)
    return LineFormat(tuple(sorted(learnt, key=lambda form: form.has_own_words))) if learnt else None


def _readings(known: Known, findings: tuple[Finding, ...]) -> Iterator[tuple[Known, tuple[Finding, ...]]]:
    """The facts of lines with equal strings in the fields of the findings, then of lines with any wrong strings."""
    if all(one.rule in RULES for one in findings):
        names = {one.field.removeprefix("partition.") for one in findings}
        yield replace(known, fixed=known.fixed | names), findings
    if findings:
        bare = tuple(one._replace(words={}) for one in findings)
        yield replace(known, wrong=frozenset(one.field for one in findings)), bare


def _unmatched(lines: list[str], forms: Sequence[LineForm]) -> list[str]:
    _, slow = match_lines(LineBuffer("".join(lines).encode()), LineFormat(tuple(forms)))
    return [lines[number] for number in slow.tolist()]


def _decoded(line: bytes) -> str | None:
    try:
        return line.decode().rstrip("\r\n") + "\n"
    except UnicodeDecodeError:
        return None


def _forms(layout: Layout, known: Known, findings: tuple[Finding, ...], *, tombstones: bool) -> list[LineForm]:
    """The form of the line, and that form with a null offset: a removal may name any partition."""
    try:
        form = _form(layout, known)
    except ValueError:  # half of a surrogate pair
        return []
    if form is None or len(form.pattern) > _LONGEST or not layout.line.startswith(b"{"):
        return []  # a line that begins with whitespace has its entry in another column
    form = replace(form, findings=findings)
    half = layout.halves["offset"]
    if half.value is None or not tombstones or any(one.rule == TYPE for one in findings):
        return [form]
    line = layout.line[: half.start] + b"null" + layout.line[half.end :]
    without = layout_of(line.decode())
    null = None if without is None else _form(without, known)
    return [form] if null is None else [form, null]


def _form(layout: Layout, known: Known) -> LineForm | None:
    """The form of a line; None if a field has no form, or if the current offset decides what the fields mean."""
    names = {member.name for member in layout.offset}
    if any(names.issuperset(pair) for pair in known.pairs):
        return None
    varying: dict[int, tuple[Member, str]] = {}
    fields = []
    for half, members in (("partition", layout.partition), ("offset", layout.offset)):
        for member in members:
            found = _field(half, member, known)
            if found is None:
                return None
            fields.append((found[0], member))
            if found[0].constant is None:
                varying[member.start] = member, found[1]
    members = [varying[start][0] for start in sorted(varying)]
    anchors = Anchors(layout.line)
    partition = _pieces(layout, "partition", members, anchors)
    offset = _pieces(layout, "offset", members, anchors) if layout.halves["offset"].value is not None else ()
    form = LineForm(_pattern(layout.line, varying), anchors.count, partition, offset)
    return replace(
        form,
        number=_number(layout, known, anchors),
        filters=tuple(_filters(layout, known, anchors)),
        fields=tuple(_located(one, member, anchors) for one, member in fields),
        is_canonical=layout.line.decode() == _canonical(layout.value),
    )


def _field(half: str, member: Member, known: Known) -> tuple[Field, str] | None:
    """A field with its regular expression."""
    if f"{half}.{member.name}" in known.wrong:
        return Field(half, member.name, FieldType.TEXT), _TEXT
    if half == "partition" and member.name in known.fixed:
        is_plain = isinstance(member.value, str) and "\\" not in _json(member.value)
        return (Field(half, member.name, FieldType.TEXT, member.value), "") if is_plain else None
    kind = known.kind(half, member)
    pattern = _PATTERNS.get(kind or FieldType.ANY)
    if kind is None or pattern is None or type(member.value) not in BY_TYPE:
        return None
    return Field(half, member.name, kind), pattern


def _located(field: Field, member: Member, anchors: Anchors) -> Field:
    return field if field.constant is not None else field._replace(span=anchors.span(*_inside(member)))


def _inside(member: Member) -> tuple[int, int]:
    """The value without the quotation marks of a string, which do not vary."""
    quoted = isinstance(member.value, str)
    return member.start + quoted, member.end - quoted


def _pattern(line: bytes, varying: Mapping[int, tuple[Member, str]]) -> str:
    parts, at = [r"\A"], 0
    for start, (member, pattern) in sorted(varying.items()):
        parts += [re.escape(line[at:start].decode()), pattern]
        at = member.end
    return "".join((*parts, re.escape(line[at:].decode()), r"\r?\n\z"))


def _pieces(layout: Layout, half: str, varying: Sequence[Member], anchors: Anchors) -> tuple[bytes | Span, ...]:
    """The parts of the canonical text of that half: one part of the line if the line is canonical there."""
    whole = layout.halves[half]
    text = (partition_text if half == "partition" else offset_text)(whole.value)
    if layout.line[whole.start : whole.end].decode() == text:
        return (anchors.span(whole.start, whole.end),)
    parts: list[bytes | Span] = []
    constant = b"{"
    members = layout.partition if half == "partition" else layout.offset
    for member in sorted(members, key=lambda one: one.name):
        constant += f"{',' if parts or constant != b'{' else ''}{_json(member.name)}:".encode()
        if member in varying:
            parts += [constant, anchors.span(member.start, member.end)]
            constant = b""
        else:
            constant += _json(member.value).encode()
    return (*parts, constant + b"}")


def _number(layout: Layout, known: Known, anchors: Anchors) -> Span | None:
    if not known.counted or [member.name for member in layout.offset] != [known.counted]:
        return None
    if f"offset.{known.counted}" in known.wrong:
        return None
    return anchors.span(layout.offset[0].start, layout.offset[0].end)


def _filters(layout: Layout, known: Known, anchors: Anchors) -> Iterator[tuple[Span, Admits, bool]]:
    """What to ask of strings that the pattern alone cannot decide."""
    for member in layout.partition:
        is_wrong = f"partition.{member.name}" in known.wrong
        if member.name in known.admits and (is_wrong or member.name not in known.fixed):
            yield anchors.span(*_inside(member)), known.admits[member.name], not is_wrong


def _canonical(value: Any) -> str:
    offset = "null" if value["offset"] is None else offset_text(value["offset"])
    return f'{{"partition":{partition_text(value["partition"])},"offset":{offset}}}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
