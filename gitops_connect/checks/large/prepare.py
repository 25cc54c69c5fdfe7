"""Prepares a job: its splits, the form of lines, and the types of the current offsets."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice

import pyarrow.compute as pc

from gitops_connect.checks.large.input_splits.splits import UNIT, InputSplit, ManifestReader, input_splits, pieces
from gitops_connect.checks.large.job import Job, ManifestTask
from gitops_connect.checks.large.line_formats.layouts import LineBuffer
from gitops_connect.checks.large.line_formats.line_format import LineFormat, learn, learn_live
from gitops_connect.checks.large.parse.current_sample import CurrentSample, TypeExamples
from gitops_connect.model.large_manifests import LargeManifest
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.shapes import shape_of

_THREADS = 4
_LOOKED_AT = 1000
"""The first lines, from which the forms are learnt."""


def prepare(manifests: Sequence[LargeManifest], reader: ManifestReader, buckets: int, unit: int = UNIT) -> Job:
    """The job over all manifests, in splits of `unit` bytes at least. Raises OSError if a file cannot be read.

    Only the first current offsets are read: nearly always all others have the same types.
    """
    units = input_splits(manifests, unit)
    subjects = [_subject(number, one, units, reader, _first_live) for number, one in enumerate(manifests)]
    return Job(tuple(units), tuple(subjects), reader, os.urandom(16), buckets)


def prepare_surely(manifests: Sequence[LargeManifest], job: Job) -> Job:
    """The job after some current offsets turned out to have other types: all of them are read."""
    subjects = [_subject(number, one, job.splits, job.reader, _all_live) for number, one in enumerate(manifests)]
    return replace(job, manifests=tuple(subjects))


Look = Callable[[Sequence[InputSplit], LineFormat | None, ManifestReader], TypeExamples]
"""A function that reads the types of the current offsets; lines of known forms are skipped."""


def _subject(
    number: int, manifest: LargeManifest, units: Sequence[InputSplit], reader: ManifestReader, look: Look
) -> ManifestTask:
    config = None if manifest.context.config is None else dict(manifest.context.config)
    context = replace(manifest.context, config=config, live=None)
    live = [unit for unit in units if unit.manifest == number and unit.is_live]
    line_format, examples = None, None
    if manifest.live is not None:
        line_format = learn_live(_first_lines(live, reader), shape_of(config or {}, context.schema))
        examples = look(live, line_format, reader)
    current = None if examples is None else CurrentSample(examples.offsets)
    own = [unit for unit in units if unit.manifest == number and not unit.is_live]
    return ManifestTask(
        context=context,
        kind=manifest.kind,
        line_format=_learnt(manifest, _first_lines(own, reader), replace(context, live=current)),
        current_line_format=line_format,
        examples=examples,
        is_judged=manifest.is_judged,
    )


def _learnt(manifest: LargeManifest, lines: Iterator[bytes], context: ManifestContext) -> LineFormat | None:
    if manifest.is_judged:
        return learn(lines, context, manifest.kind)
    return learn_live(lines, shape_of(context.config or {}, context.schema), tombstones=True)


def _first_lines(units: Sequence[InputSplit], reader: ManifestReader) -> Iterator[bytes]:
    lines = (line for unit in units for piece in pieces(unit, reader) for line in piece.content.splitlines())
    return islice((line for line in lines if line.strip()), _LOOKED_AT)


def _first_live(units: Sequence[InputSplit], line_format: LineFormat | None, reader: ManifestReader) -> TypeExamples:
    """The types of the first lines. Lines of one form have equal types, and the job itself detects other forms."""
    found = TypeExamples()
    found.add_all(json.loads(line) for line in _first_lines(units, reader))
    return found


def _all_live(units: Sequence[InputSplit], line_format: LineFormat | None, reader: ManifestReader) -> TypeExamples:
    """The types of all lines. Lines of one form have equal types, so one line of each form is parsed."""
    found = TypeExamples()
    with ThreadPoolExecutor(_THREADS) as pool:  # nearly all of it runs in Arrow, in parallel
        for lines in pool.map(lambda unit: _others(unit, line_format, reader), units):
            found.add_all(json.loads(line) for line in lines)
    return found


def _others(unit: InputSplit, line_format: LineFormat | None, reader: ManifestReader) -> list[str]:
    """The first line of each form, and all lines of no form."""
    lines = []
    for piece in pieces(unit, reader):
        left = LineBuffer(piece.content).array
        for form in () if line_format is None else line_format.forms:
            well = pc.match_substring_regex(left, form.pattern)
            first = pc.index(well, value=True).as_py()
            if first >= 0:
                lines.append(left[first].as_py())
                left = left[:0] if pc.all(well, min_count=0).as_py() else left.filter(pc.invert(well))
        lines += [line for line in left.to_pylist() if line.strip()]
    return lines
