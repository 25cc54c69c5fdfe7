"""The exact form that nearly all lines of a file have, learnt from its first ones, as a regular expression.

A line of that form is certain to be well and to be canonical, so that its bytes can be taken as they are. Whatever has
another form is not wrong for it: the strict reader and the rule function say what it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_connect.checks.entries import EntryJudge
from gitops_connect.checks.ties import ties_of
from gitops_connect.checks.topics import topic_filter
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.offsets import offset_text, partition_text
from gitops_connect.model.operations import OperationKind
from gitops_connect.model.shape_fields import FieldType, Shape
from gitops_connect.model.shapes import shape_of

_TOPIC = "kafka_topic"
_PARTITION, _OFFSET = '{"partition":', ',"offset":'
_TEXT = r'"[^"\\\x00-\x1f]*"'
_NATURAL, _WHOLE = "(?:0|[1-9][0-9]{0,17})", "(?:0|-?[1-9][0-9]{0,17})"
_FORMS: Mapping[FieldType, str] = {
    FieldType.TEXT: _TEXT,
    FieldType.GTIDS: _TEXT,
    FieldType.TOKEN: _TEXT,
    FieldType.NUMBER: _NATURAL,
    FieldType.SMALL: "(?:0|[1-9][0-9]{0,8})",
    FieldType.SIGNED: _WHOLE,
    FieldType.SERVER: _WHOLE,
    FieldType.ZERO: "0",
    FieldType.FLAG: "(?:true|false)",
}
"""All of a type but the extreme ones. Types that are not here make lines that are looked at one by one."""
_BY_TYPE = {str: _TEXT, int: _WHOLE, bool: "(?:true|false)"}


@dataclass(frozen=True, slots=True)
class Template:
    """`pattern` is for RE2 and holds for a whole line with its line feed; its group `at` is what stands between the
    partition and the offset. `field` is the one field of the offset, where that is a number that decides all; or empty.
    """

    pattern: str
    field: str = ""


def counted_field(shape: Shape | None) -> str:
    """The field of an offset that is a number of 0 or more, decides which way it moves, and is alone; else empty."""
    if shape is None or not shape.unit or shape.offset.optional or len(shape.offset.required) != 1:
        return ""
    ((name, kind),) = shape.offset.required.items()
    decides = shape.position == (name,) == shape.measured and not shape.frame
    return name if decides and kind is FieldType.NUMBER else ""


def learn(lines: Iterable[bytes], context: ManifestContext, kind: OperationKind) -> Template | None:
    """From the first line that is well and canonical; None where there is none, or where each line needs its own look.

    `context.live` are offsets that tell the types of all that stand.
    """
    if context.schema is not None:
        return None
    shape = shape_of(context.config or {})
    known = shape if shape is not None and shape.partitions else None
    types = {} if known is None else {name: kind for part in known.partitions for name, kind in part.types.items()}
    fixed = {one.field: re.escape(_json(one.value)) for one in ties_of(known, context.config).expectations}
    topics = topic_filter(context.config or {}) if _TOPIC in types else None
    if topics is not None:
        if topics.key != "topics":
            return None
        fixed[_TOPIC] = f"(?:{'|'.join(re.escape(_json(name.strip())) for name in topics.value.split(','))})"
    judge = EntryJudge(context, kind)
    for line in lines:
        value = _canonical(line)
        if value is None or any(one.rule != "manifest/nothing-to-remove" for one in judge.judge(value).findings):
            continue
        forms = _form(value["partition"], types, fixed), _form(value["offset"], known.offset.types if known else {}, {})
        if forms[0] and forms[1]:
            field = counted_field(shape) if value["offset"] else ""
            return _template(forms[0], forms[1], field, tombstones=kind is OperationKind.ALTER)
    return None


def learn_live(lines: Iterable[bytes], shape: Shape | None) -> Template | None:
    """For the offsets that stand: by what is there, whether it is as it should be or not."""
    counted = counted_field(shape)
    for line in lines:
        value = _canonical(line)
        if value is None or value["offset"] is None:
            continue
        field = counted if list(value["offset"]) == [counted] else ""
        types = {field: FieldType.NUMBER} if field else {}
        forms = _form(value["partition"], {}, {}), _form(value["offset"], types, {})
        if forms[0] and forms[1]:
            return _template(forms[0], forms[1], field, tombstones=False)
    return None


def _canonical(line: bytes) -> Any:
    """The entry, where its line is exactly as it would be written here."""
    try:
        text = line.decode().rstrip("\r\n")
        value = json.loads(text)
        partition, offset = partition_text(value["partition"]), value["offset"]
        written = f"{_PARTITION}{partition}{_OFFSET}{'null' if offset is None else offset_text(offset)}}}"
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    mappings = isinstance(value["partition"], dict) and isinstance(offset, dict | None)
    return value if mappings and written == text else None


def _form(part: Mapping[str, Any] | None, types: Mapping[str, FieldType], fixed: Mapping[str, str]) -> str:
    """The expression for a partition or an offset with the same fields; empty where one of them has no form."""
    if part is None:
        return "null"
    fields = []
    for name, value in sorted(part.items()):
        kind = types.get(name, FieldType.ANY)
        form = fixed.get(name) or (_BY_TYPE.get(type(value)) if kind is FieldType.ANY else _FORMS.get(kind))
        if form is None:
            return ""
        fields.append(f"{re.escape(_json(name))}:{form}")
    return rf"\{{{','.join(fields)}\}}"


def _template(partition: str, offset: str, field: str, *, tombstones: bool) -> Template:
    if tombstones and offset != "null":
        offset = f"(?:{offset}|null)"
    return Template(rf"\A{re.escape(_PARTITION)}{partition}(?P<at>{_OFFSET}){offset}\}}\r?\n\z", field)


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
