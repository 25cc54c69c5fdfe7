"""A piece of a file -> its rows, and what was found of its lines: the half of the work that needs the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gitops_connect.checks.entries import EntryJudge
from gitops_connect.checks.field_types import LONG
from gitops_connect.checks.large.keys import PAD, Positions, Secret, hash_texts, numbers_of, padded
from gitops_connect.checks.large.reading import Piece, Reader
from gitops_connect.checks.large.rows import LINE, Form, Rows, joined
from gitops_connect.checks.large.tally import Shown, Spot, Tally
from gitops_connect.checks.large.templates import Template
from gitops_connect.checks.rules import Finding
from gitops_connect.model.large_manifests import LineFault
from gitops_connect.model.offsets import OffsetText, PartitionText, offset_text, partition_text

_BOM = b"\xef\xbb\xbf"
_PREFIX, _INFIX = len('{"partition":'), len(',"offset":')


@dataclass(frozen=True, slots=True)
class Parser:
    """For the files of one manifest, or for the offsets that stand (`judge` is None).

    `salt` keeps the partitions of one manifest apart from those of another. `counted` is the field of an offset that is
    a number and decides all, or empty. `defers`: what was found may be otherwise for a partition that stands already.
    """

    reader: Reader
    secret: Secret
    salt: int
    template: Template | None
    counted: str
    judge: EntryJudge | None
    tally: Tally = field(default_factory=Tally)
    defers: bool = False
    defers_all: bool = False

    def parse(self, piece: Piece, unit: int) -> tuple[Rows, Tally, int]:
        """The rows, what was found, and how many lines there are."""
        tally = Tally(self.tally.acknowledged)
        content = piece.content
        lines = content.count(b"\n")
        refused = self._refused(piece)
        for fault in (refused, piece.fault):
            if fault is not None:
                finding = Finding(fault.rule, "", {"found": fault.found})
                tally.broken.append(Shown(Spot(unit, piece.base + fault.line - 1, fault.column), finding))
                tally.add(tally.broken[-1])
        if refused is not None or not lines:
            return _no_rows(), tally, lines
        if piece.is_first and content.startswith(_BOM):
            content = content[len(_BOM) :]
        certified, slow = self._certified(content)
        tally.entries += len(certified.h1)
        parts = [certified]
        if len(slow):
            parts.append(self._one_by_one(content, slow, Spot(unit, piece.base), tally))
        return _in_order(parts), tally, lines

    def _refused(self, piece: Piece) -> LineFault | None:
        array = _lines(piece.content, np.array([0, len(piece.content)], np.int32))
        suspicious = b"\0" in piece.content or piece.is_first
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            suspicious = True
        return self.reader.refuse(piece.content, piece.is_first) if suspicious else None

    def _certified(self, content: bytes) -> tuple[Rows, NDArray[np.intp]]:
        """The rows of all lines of the exact form, and the numbers of the others."""
        buffer = padded(content)
        ends = np.flatnonzero(buffer[PAD : PAD + len(content)] == ord("\n")) + 1
        starts = np.concatenate(([0], ends[:-1]))
        if self.template is None:
            return _no_rows(), np.arange(len(ends))
        offsets = np.concatenate(([0], ends)).astype(np.int32)
        found = pc.extract_regex_span(_lines(content, offsets), self.template.pattern)
        well = found.is_valid().to_numpy(zero_copy_only=False)
        rows, slow = np.flatnonzero(well), np.flatnonzero(~well)
        at = found.field("at").values[0::2].to_numpy(zero_copy_only=False)[rows].astype(np.int64)
        return self._rows(buffer, (starts[rows] + PAD, at, ends[rows] + PAD), rows), slow

    def _rows(self, buffer: NDArray[np.uint8], spans: tuple[Positions, Positions, Positions], rows: Any) -> Rows:
        """`spans`: where each line starts, how far behind that its partition ends, where the line ends."""
        starts, at, ends = spans
        hashes = hash_texts(buffer, starts + _PREFIX, at - _PREFIX, self.secret)
        ends = ends - 2 - (buffer[ends - 2] == ord("\r"))
        begins = starts + at + _INFIX
        form = np.where(buffer[begins] == ord("n"), Form.NONE, self._form).astype(np.uint8)
        value, texts = np.zeros(len(rows), np.int64), []
        if self.template is not None and self.template.field:
            lengths = np.where(form == Form.NUMBER, ends - 1 - begins - len(f'{{"{self.template.field}":'), 0)
            value = numbers_of(buffer, ends - 1, lengths)
        else:
            whole = buffer.tobytes()
            wanted = np.flatnonzero(form == Form.TEXT)
            texts = [whole[begins[row] : ends[row]].decode() for row in wanted]
            value[wanted] = np.arange(len(texts))
        return Rows(hashes[0] ^ np.uint64(self.salt), hashes[1], value, rows.astype(LINE), form, texts)

    @property
    def _form(self) -> Form:
        return Form.NUMBER if self.template is not None and self.template.field else Form.TEXT

    def _one_by_one(self, content: bytes, slow: NDArray[np.intp], first: Spot, tally: Tally) -> Rows:
        """The lines that the strict reader and the rule function decide on."""
        lines = content.split(b"\n")
        read = self.reader.lines(b"\n".join(lines[row] for row in slow.tolist()).decode())
        for fault in read.faults:
            spot = Spot(first.unit, first.line + int(slow[fault.line - 1]), fault.column)
            tally.add(Shown(spot, Finding(fault.rule, "", {"found": fault.found})))
        tally.entries += len(read.entries)
        found = _Collected(self.counted)
        for value, number, column in read.entries:
            line = int(slow[number - 1])
            partition, offset, deferred = self._judged(value, Spot(first.unit, first.line + line, column), tally)
            if partition is not None:
                found.add(partition, offset, line, [column, value] if deferred else None)
        return found.rows(self.secret, self.salt)

    def _judged(self, value: Any, spot: Spot, tally: Tally) -> tuple[PartitionText | None, OffsetText | None, bool]:
        if self.judge is None:
            offset = value["offset"]
            return partition_text(value["partition"]), None if offset is None else offset_text(offset), False
        findings, partition, offset = self.judge.judge(value)
        deferred = partition is not None and (self.defers_all or (self.defers and bool(findings)))
        if findings and not deferred:
            tally.add_entry(spot, findings)
        return partition, offset, deferred


class _Collected:
    """Rows that come one by one."""

    def __init__(self, counted: str) -> None:
        self._counted = counted
        self._keys: list[bytes] = []
        self._numbers: list[tuple[int, int, int]] = []
        self._texts: list[Any] = []

    def add(self, partition: PartitionText, offset: OffsetText | None, line: int, deferred: Any) -> None:
        form, value = Form.NONE, 0
        number = None if offset is None or deferred is not None else number_in(offset, self._counted)
        if deferred is not None:
            form, value = Form.DEFERRED, len(self._texts)
            self._texts.append([partition, *deferred])
        elif number is not None:
            form, value = Form.NUMBER, number
        elif offset is not None:
            form, value = Form.TEXT, len(self._texts)
            self._texts.append(offset)
        self._keys.append(partition.encode())
        self._numbers.append((value, line, form))

    def rows(self, secret: Secret, salt: int) -> Rows:
        lengths = np.array([len(key) for key in self._keys], np.int64)
        starts = np.cumsum(lengths) - lengths + PAD
        h1, h2 = hash_texts(padded(b"".join(self._keys)), starts, lengths, secret)
        value, line, form = np.array(self._numbers, np.int64).reshape(-1, 3).T
        return Rows(h1 ^ np.uint64(salt), h2, value.copy(), line.astype(LINE), form.astype(np.uint8), self._texts)


def number_in(offset: OffsetText, counted: str) -> int | None:
    """The number that decides all, where there is nothing else in the offset."""
    if not counted or not offset.startswith(f'{{"{counted}":'):
        return None
    value: Mapping[str, Any] = json.loads(offset)
    number = value[counted]
    return number if len(value) == 1 and type(number) is int and 0 <= number <= LONG else None


def lines_of(content: bytes) -> Any:
    """The lines with their line feeds, as an array of Arrow; the content ends with one."""
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n")) + 1
    return _lines(content, np.concatenate(([0], ends)).astype(np.int32))


def _lines(content: bytes, offsets: NDArray[np.int32]) -> Any:
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(content))


def _no_rows() -> Rows:
    hashes = np.zeros(0, np.uint64)
    return Rows(hashes, hashes, np.zeros(0, np.int64), np.zeros(0, LINE), np.zeros(0, np.uint8), [])


def _in_order(parts: list[Rows]) -> Rows:
    """By line: what was found first is what comes first."""
    if len(parts) == 1:
        return parts[0]
    rows = joined(parts)
    return rows.taken(np.argsort(rows.line, kind="stable"))
