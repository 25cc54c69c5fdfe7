"""Learns the exact forms of nearly all lines of a file from its first lines, as regular expressions.

A line of such a form is certainly valid, or only belongs to another alias, file, server or topic than the connector's,
which may be intended. It is also certain which part of the line becomes which part of its canonical text. A line of
another form is not wrong for that reason: the strict reader and the rule function decide.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gitops_connect.families.field_kinds import ANY, FLAG, NUMBER, SIGNED, TEXT, TEXT_PATTERN, FieldKind
from gitops_connect.families.shapes import Shape
from gitops_connect.families.ties import RULES, Expectation
from gitops_connect.model.findings import Finding
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.offsets import Offsets, offset_text, partition_text
from gitops_connect.offsets.context import ManifestContext
from gitops_connect.offsets.rules.entries import EntryChecker
from gitops_connect.offsets.spark.layouts import (
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
from gitops_connect.offsets.spark.parquet_rows import ColumnBuffer, Matched

MAX_FORMS = 4
"""A line that matches none costs a match with each of them, in addition to its cost without them."""
_LONGEST = 4096
"""Characters of a regular expression: a line may begin with megabytes of whitespace."""
BY_TYPE = {str: TEXT, int: SIGNED, bool: FLAG}
"""The type of an example, if the class says nothing about its field."""
_PARTITION, _OFFSET, _END = b'{"partition":', b',"offset":', b"}\n"


def learn(lines: Iterable[bytes], context: ManifestContext, kind: OffsetChangeKind) -> LineFormat | None:
    """Learn from lines that are certain. None if no line has a known form, or if each line must be checked singly.

    `context.current` are offsets that show the types of all current offsets.
    """
    known = known_of(context)
    if known is None:
        return None
    checker = EntryChecker(context, kind)
    strings = _string_fields(context.current or {})
    certain = partial(_certain, checker, known, strings)
    return _learnt(lines, known, certain, tombstones=kind is OffsetChangeKind.ALTER)


def learn_current(lines: Iterable[bytes], shape: Shape | None, *, tombstones: bool = False) -> LineFormat | None:
    """Learn the format of the current offsets: as they are, valid or not."""
    counted = counted_field(shape)
    known = Known(offset={counted: NUMBER} if counted else {}, counted=counted)
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
        if one.rule != TYPE or not _is_number(types.get(name)) or not is_string or one.field in strings:
            return None
    return tuple(found)


def _is_number(kind: FieldKind | None) -> bool:
    """Whether no string is a value of that type, and lines with its values have a form."""
    return kind is not None and kind.is_number and not kind.takes_notation and kind.fast_pattern is not None


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
    anchors = Anchors(layout.line)
    varying: dict[int, tuple[Member, str]] = {}
    fields, columns = [], []
    for half, members in (("partition", layout.partition), ("offset", layout.offset)):
        for member in members:
            found = _pattern_of(half, member, known)
            if found is None:
                return None
            kind, pattern = found
            if pattern is not None:
                varying[member.start] = member, pattern
            columns.append((f"{half}.{member.name}", pattern or re.escape(_json(member.value))))
            if half == "partition":
                value = member.value if pattern is None else anchors.span(*_inside(member))
                fields.append(Field(member.name, kind.is_text, value))
    members = [varying[start][0] for start in sorted(varying)]
    is_canonical = layout.line.decode() == _canonical(layout.value)
    return LineForm(
        _line_pattern(layout.line, varying),
        marks=layout.line.count(b'"'),
        partition=_pieces(layout, "partition", members, anchors),
        offset=_pieces(layout, "offset", members, anchors) if layout.halves["offset"].value is not None else (),
        number=_number(layout, known, anchors),
        is_canonical=is_canonical,
        fields=tuple(fields),
        filters=tuple(_filters(layout, known, anchors)),
        columns=tuple(sorted(columns)) if is_canonical else (),
    )


def _pattern_of(half: str, member: Member, known: Known) -> tuple[FieldKind, str | None] | None:
    """The type of a field and the regular expression of its values; no expression if the value does not vary."""
    if f"{half}.{member.name}" in known.wrong:
        return TEXT, TEXT_PATTERN
    if half == "partition" and member.name in known.fixed:
        is_plain = isinstance(member.value, str) and "\\" not in _json(member.value)
        return (TEXT, None) if is_plain else None
    kind = known.kind(half, member)
    if kind is None or kind.fast_pattern is None or type(member.value) not in BY_TYPE:
        return None
    return kind, kind.fast_pattern


def _inside(member: Member) -> tuple[int, int]:
    """The value without the quotation marks of a string, which do not vary."""
    quoted = isinstance(member.value, str)
    return member.start + quoted, member.end - quoted


def _line_pattern(line: bytes, varying: Mapping[int, tuple[Member, str]]) -> str:
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


def match_lines(
    lines: LineBuffer | ColumnBuffer, line_format: LineFormat | None
) -> tuple[list[Matched], NDArray[np.intp]]:
    """The lines by their forms, and the numbers of the lines that match none."""
    found: list[Matched] = []
    left, is_slow = lines.in_utf8, np.ones(len(lines), np.bool_)
    for form in () if line_format is None else line_format.forms:
        if not len(left):
            break
        well = lines.matches(form, left)
        for span, admits, expected in form.filters:
            well = well.copy()
            well[well] = _admitted(lines.of(form, left[well]).array(span), admits) == expected
        if well.any():
            found.append(lines.of(form, left[well]))
            is_slow[left[well]] = False
            left = left[~well]
    return found, np.flatnonzero(is_slow)


def _admitted(texts: Any, admits: Admits) -> NDArray[np.bool_]:
    """Whether the connector reads each string: there are fewer topics than lines."""
    found = texts.dictionary_encode()
    known = np.array([admits(text) for text in found.dictionary.to_pylist()], np.bool_)
    return np.asarray(known[found.indices.to_numpy(zero_copy_only=False)])


def canonical_lines(content: bytes, line_format: LineFormat | None) -> Any:
    """Each line as it is sent, with a line feed, as an Arrow array; null if it matches no known form."""
    lines = LineBuffer(content)
    found, left = match_lines(lines, line_format)
    if len(found) == 1 and not len(left) and found[0].form.is_canonical and b"\r" not in content:
        return lines.array
    arrays = [
        one.texts((_PARTITION, *one.form.partition, _OFFSET, *(one.form.offset or (b"null",)), _END)) for one in found
    ]
    return _in_order(arrays, found, left)


def canonical_partitions(content: bytes, line_format: LineFormat | None) -> Any:
    """The canonical partition of each line, as an Arrow array; null if the line matches no known form."""
    found, left = match_lines(LineBuffer(content), line_format)
    return _in_order([one.texts(one.form.partition) for one in found], found, left)


def _in_order(arrays: list[Any], found: list[Matched], left: NDArray[np.intp]) -> Any:
    order = np.argsort(np.concatenate([*(one.rows for one in found), left]), kind="stable")
    return pa.concat_arrays([*arrays, pa.nulls(len(left), pa.string())]).take(pa.array(order))


@dataclass(frozen=True, slots=True)
class Known:
    """The facts about the fields of an entry: their types, and which strings are right in fields of the partition.

    A field without a type may have the type that it has in an example. Nothing is certain about the `closed` fields of
    an offset, whose values are a closed set, nor about an offset that has both fields of one of the `pairs`. `counted`
    is the field that alone decides the move of an offset; see `counted_field`. `admits` says for each field of the
    partition that the config limits whether the connector reads a string. Those in `fixed` have the same string in all
    lines of a form. The fields in `wrong` (`offset.lsn`) have any string, none of which is right.
    """

    partition: Mapping[str, FieldKind] = field(default_factory=dict)
    offset: Mapping[str, FieldKind] = field(default_factory=dict)
    admits: Mapping[str, Admits] = field(default_factory=dict)
    counted: str = ""
    closed: frozenset[str] = frozenset()
    pairs: frozenset[tuple[str, str]] = frozenset()
    fixed: frozenset[str] = frozenset()
    wrong: frozenset[str] = frozenset()

    def kind(self, half: str, member: Member) -> FieldKind | None:
        """The type of a field; None if nothing is certain about it."""
        if half == "offset" and member.name in self.closed:
            return None
        kind = (self.partition if half == "partition" else self.offset).get(member.name, ANY)
        return BY_TYPE.get(type(member.value)) if kind == ANY else kind


def counted_field(shape: Shape | None) -> str:
    """The only field of an offset, if it is a number of 0 or more that decides the direction of a move; else empty."""
    if shape is None or shape.unit is None or shape.offset.optional or len(shape.offset.required) != 1:
        return ""
    ((name, kind),) = shape.offset.required.items()
    decides = shape.position == (name,) == shape.measured and not shape.frame
    return name if decides and kind == NUMBER else ""


def known_of(context: ManifestContext) -> Known | None:
    """The facts from the connector's class and config; None if each entry must be checked singly."""
    if context.schema is not None:
        return None
    shape = context.shape
    if shape is None or not shape.partitions:
        return Known(counted=counted_field(shape))
    ties = shape.ties(context.config)
    if ties.filters:
        return None
    admits: dict[str, Admits] = {one.field: one.admits for one in ties.expectations}
    types = {name: kind for part in shape.partitions for name, kind in part.types.items()}
    closed = frozenset(shape.offset.choices)
    pairs = frozenset((one.changed, one.kept) for one in shape.contradictions)
    fixed = frozenset(one.field for one in ties.expectations if isinstance(one, Expectation) and len(one.values) == 1)
    return Known(types, shape.offset.types, admits, counted_field(shape), closed, pairs, fixed)
