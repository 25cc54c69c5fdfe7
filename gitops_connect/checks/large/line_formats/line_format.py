"""Learns the exact forms of nearly all lines of a file from its first lines, as regular expressions.

A line of such a form is certainly valid, or only belongs to another alias, file, server or topic than the connector's,
which may be intended. It is also certain which part of the line becomes which part of its canonical text. A line of
another form is not wrong for that reason: the strict reader and the rule function decide.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gitops_connect.checks.entries import EntryJudge
from gitops_connect.checks.large.line_formats.known_fields import BY_TYPE, Known, counted_field, known_of
from gitops_connect.checks.large.line_formats.layouts import Anchors, Field, Layout, LineForm, Member, Span, layout_of
from gitops_connect.checks.rules import Finding
from gitops_connect.checks.ties import RULES
from gitops_connect.checks.topics import TopicFilter
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.offsets import offset_text, partition_text
from gitops_connect.model.operations import OperationKind
from gitops_connect.model.shape_fields import FieldType, Shape

MAX_FORMS = 4
"""A line that matches none costs a match with each of them, in addition to its cost without them."""
_LONGEST = 4096
"""Characters of a regular expression: a line may begin with megabytes of whitespace."""
_TEXT = r'"[^"\\\x00-\x1f]*"'
_NATURAL, _WHOLE = "(?:0|[1-9][0-9]{0,17})", "(?:0|-?[1-9][0-9]{0,17})"
_PATTERNS: Mapping[FieldType, str] = {
    FieldType.TEXT: _TEXT,
    FieldType.GTIDS: _TEXT,
    FieldType.TOKEN: _TEXT,
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
TEXTS = frozenset({FieldType.TEXT, FieldType.GTIDS, FieldType.TOKEN})


@dataclass(frozen=True, slots=True)
class LineFormat:
    """The forms, that of the most lines first. `topics`: lines are certain only if this filter reads their topic."""

    forms: tuple[LineForm, ...]
    topics: TopicFilter | None = None


def _certain(judge: EntryJudge, known: Known, value: Any) -> tuple[Finding, ...] | None:
    """The findings of each line that has equal strings in the fields that the config fixes; None: not certain.

    A null for a partition without a current offset is found by the join.
    """
    fixed = {f"partition.{name}" for name in known.texts}
    found = [one for one in judge.judge(value).findings if one.rule != "manifest/nothing-to-remove"]
    if not all(one.rule in RULES and one.field in fixed for one in found):
        return None
    return tuple(one.explained() for one in found)


def _pinned(known: Known, value: Mapping[str, Any], findings: Iterable[Finding]) -> Known:
    """The facts, with exactly these strings for the fields that have findings."""
    names = [one.field.removeprefix("partition.") for one in findings]
    return replace(known, texts={**known.texts, **{name: frozenset({value["partition"][name]}) for name in names}})


def learn(lines: Iterable[bytes], context: ManifestContext, kind: OperationKind) -> LineFormat | None:
    """Learn from lines that are certain. None if no line has a known form, or if each line must be checked singly.

    `context.live` are offsets that show the types of all current offsets.
    """
    known = known_of(context)
    if known is None:
        return None
    judge = EntryJudge(context, kind)
    forms = _learnt(lines, known, partial(_certain, judge, known), tombstones=kind is OperationKind.ALTER)
    return LineFormat(forms, known.topics) if forms else None


def learn_live(lines: Iterable[bytes], shape: Shape | None, *, tombstones: bool = False) -> LineFormat | None:
    """Learn the format of the current offsets: as they are, valid or not."""
    counted = counted_field(shape)
    known = Known(offset={counted: FieldType.NUMBER} if counted else {}, counted=counted)
    forms = _learnt(lines, known, lambda value: None if value["offset"] is None else (), tombstones=tombstones)
    return LineFormat(forms) if forms else None


def _learnt(
    lines: Iterable[bytes], known: Known, certain: Callable[[Any], tuple[Finding, ...] | None], *, tombstones: bool
) -> tuple[LineForm, ...]:
    """Learn the next form from the first line that matches no form, until there are enough forms."""
    left = pa.array([text for line in lines if (text := _decoded(line)) is not None], pa.string())
    found: list[tuple[int, list[LineForm]]] = []
    while len(left) and len(found) < MAX_FORMS:
        layout = layout_of(left[0].as_py()[:-1])
        findings = None if layout is None else certain(layout.value)
        forms = []
        if layout is not None and findings is not None:
            forms = _forms(layout, _pinned(known, layout.value, findings), findings, tombstones=tombstones)
        others = left[1:]
        for form in forms:
            others = others.filter(pc.invert(pc.match_substring_regex(others, form.pattern)))
        if forms and pc.match_substring_regex(left[:1], forms[0].pattern)[0].as_py():
            found.append((len(left) - len(others), forms))
            left = others
        else:
            left = left[1:]
    found.sort(key=lambda one: -one[0])
    return tuple(dict.fromkeys(form for _, forms in found for form in forms))


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
    if half.value is None or not tombstones:
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
        topic=_topic(layout, known, anchors),
        fields=tuple(_located(one, member, anchors) for one, member in fields),
        is_canonical=layout.line.decode() == _canonical(layout.value),
    )


def _field(half: str, member: Member, known: Known) -> tuple[Field, str] | None:
    """A field with its regular expression."""
    texts = known.texts.get(member.name) if half == "partition" else None
    if texts is not None and not isinstance(member.value, str):
        return None
    if texts is not None and len(texts) == 1:
        texts = frozenset({member.value})
    kind = known.kind(half, member) if texts is None else FieldType.TEXT
    pattern = _PATTERNS.get(kind or FieldType.ANY) if texts is None else _one_of(texts)
    if kind is None or pattern is None or type(member.value) not in BY_TYPE:
        return None
    return Field(half, member.name, kind, texts), pattern


def _located(field: Field, member: Member, anchors: Anchors) -> Field:
    return field if field.constant is not None else field._replace(span=anchors.span(*_inside(member)))


def _inside(member: Member) -> tuple[int, int]:
    """The value without the quotation marks of a string, which do not vary."""
    quoted = isinstance(member.value, str)
    return member.start + quoted, member.end - quoted


def _one_of(texts: Iterable[str]) -> str | None:
    """A pattern for the strings, except those with an escape, which may contain marks; None if none is left."""
    plain = [_json(text) for text in sorted(texts) if "\\" not in _json(text)]
    return f"(?:{'|'.join(map(re.escape, plain))})" if plain else None


def _pattern(line: bytes, varying: Mapping[int, tuple[Member, str]]) -> str:
    parts, at = [r"\A"], 0
    for start, (member, pattern) in sorted(varying.items()):
        parts += [re.escape(line[at:start].decode()), pattern]
        at = member.end
    return "".join((*parts, re.escape(line[at:].decode()), r"\r?\n\z"))


def _pieces(layout: Layout, half: str, varying: Sequence[Member], anchors: Anchors) -> tuple[bytes | Span, ...]:
    """The pieces of the canonical text of that half: one part of the line if the line is canonical there."""
    whole = layout.halves[half]
    text = (partition_text if half == "partition" else offset_text)(whole.value)
    if layout.line[whole.start : whole.end].decode() == text:
        return (anchors.span(whole.start, whole.end),)
    pieces: list[bytes | Span] = []
    constant = b"{"
    members = layout.partition if half == "partition" else layout.offset
    for member in sorted(members, key=lambda one: one.name):
        constant += f"{',' if pieces or constant != b'{' else ''}{_json(member.name)}:".encode()
        if member in varying:
            pieces += [constant, anchors.span(member.start, member.end)]
            constant = b""
        else:
            constant += _json(member.value).encode()
    return (*pieces, constant + b"}")


def _number(layout: Layout, known: Known, anchors: Anchors) -> Span | None:
    if not known.counted or [member.name for member in layout.offset] != [known.counted]:
        return None
    return anchors.span(layout.offset[0].start, layout.offset[0].end)


def _topic(layout: Layout, known: Known, anchors: Anchors) -> Span | None:
    """The place of the topic, between the marks."""
    name = "" if known.topics is None else known.topics.field
    found = next((one for one in layout.partition if one.name == name and isinstance(one.value, str)), None)
    return None if found is None else anchors.span(found.start + 1, found.end - 1)


def _canonical(value: Any) -> str:
    offset = "null" if value["offset"] is None else offset_text(value["offset"])
    return f'{{"partition":{partition_text(value["partition"])},"offset":{offset}}}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
