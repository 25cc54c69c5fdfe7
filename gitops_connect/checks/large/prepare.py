"""Prepares a job without a session: its splits, the form of lines, and the types of the current offsets."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from gitops_connect.checks.large.input_splits.splits import (
    SPLIT_SIZE,
    InputSplit,
    ManifestReader,
    blocks_of,
    input_splits,
)
from gitops_connect.checks.large.job import Job, ManifestTask
from gitops_connect.checks.large.line_formats.fast_path import match_lines
from gitops_connect.checks.large.line_formats.layouts import LineBuffer, LineFormat
from gitops_connect.checks.large.line_formats.line_format import learn, learn_current
from gitops_connect.checks.large.parse.type_examples import TypeExamples
from gitops_connect.model.large_manifests import LargeManifest
from gitops_connect.model.shapes import shape_of

_FIRST_LINES = 1000
"""The number of lines from which the forms are learnt."""


def prepare(
    manifests: Sequence[LargeManifest], reader: ManifestReader, buckets: int = 1, split_size: int = SPLIT_SIZE
) -> Job:
    """The job over all manifests, in splits of `split_size` bytes and in `buckets`, at least.

    Only the first current offsets are read: nearly always all others have the same types. Raises OSError if a file
    cannot be read.
    """
    splits = input_splits(manifests, split_size)
    return Job(tuple(splits), tuple(_tasks(manifests, splits, reader)), reader, os.urandom(16), buckets)


def prepare_with_all_types(manifests: Sequence[LargeManifest], job: Job) -> Job:
    """The job after some current offsets turned out to have other types: all of them are read."""
    return replace(job, manifests=tuple(_tasks(manifests, job.splits, job.reader, reads_all=True)))


def _tasks(
    manifests: Sequence[LargeManifest], splits: Sequence[InputSplit], reader: ManifestReader, *, reads_all: bool = False
) -> Iterator[ManifestTask]:
    for number, manifest in enumerate(manifests):
        config = None if manifest.context.config is None else dict(manifest.context.config)
        shape = shape_of(config or {}, manifest.context.schema)
        context = replace(manifest.context, config=config, current=None)
        current_format, examples = None, None
        if manifest.current is not None:
            own = [split for split in splits if split.manifest == number and split.is_current]
            current_format = learn_current(_first_lines(own, reader), shape)
            examples = TypeExamples()
            lines = _lines_of_each_form(own, current_format, reader) if reads_all else _first_lines(own, reader)
            examples.add_all(json.loads(line) for line in lines)
        first = _first_lines([split for split in splits if split.manifest == number and not split.is_current], reader)
        if manifest.is_checked:
            current = None if examples is None else examples.offsets
            line_format = learn(first, replace(context, current=current), manifest.kind)
        else:
            line_format = learn_current(first, shape, tombstones=True)
        yield ManifestTask(
            context=context,
            kind=manifest.kind,
            line_format=line_format,
            current_line_format=current_format,
            examples=examples,
            is_checked=manifest.is_checked,
        )


def _first_lines(splits: Sequence[InputSplit], reader: ManifestReader) -> Iterator[bytes]:
    lines = (line for split in splits for block in blocks_of(split, reader) for line in block.text.splitlines())
    return islice((line for line in lines if line.strip()), _FIRST_LINES)


def _lines_of_each_form(
    splits: Sequence[InputSplit], line_format: LineFormat | None, reader: ManifestReader
) -> Iterator[bytes]:
    """The first line of each form in each block, because lines of one form have equal types; all lines of no form."""
    for block in (block for split in splits for block in blocks_of(split, reader)):
        lines = LineBuffer(block.text)
        matched, slow = match_lines(lines, line_format)
        first = [np.array([one.rows[0] for one in matched], np.int64), slow]
        yield from filter(bytes.strip, lines.text_of(np.concatenate(first)).splitlines())
