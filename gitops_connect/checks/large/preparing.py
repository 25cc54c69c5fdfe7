"""What has to be known before the job: its units, the form of lines, and of what types the offsets are that stand."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice

import pyarrow.compute as pc

from gitops_connect.checks.large.job import Job, Subject
from gitops_connect.checks.large.layouts import Lines
from gitops_connect.checks.large.reading import UNIT, Reader, Unit, pieces, units_of
from gitops_connect.checks.large.standing import Examples, Standing
from gitops_connect.checks.large.templates import Template, learn, learn_live
from gitops_connect.model.large_manifests import LargeManifest
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.shapes import shape_of

_THREADS = 4
_LOOKED_AT = 1000
"""Lines of which one is taken for the form of the others."""


def prepare(manifests: Sequence[LargeManifest], reader: Reader, buckets: int, unit: int = UNIT) -> Job:
    """The job over all of them, in units of so many bytes at least. Raises OSError where a file cannot be read.

    Of the offsets that stand only the first are looked at: nearly always all others are like them.
    """
    units = units_of(manifests, unit)
    subjects = [_subject(number, one, units, reader, _first_live) for number, one in enumerate(manifests)]
    return Job(tuple(units), tuple(subjects), reader, os.urandom(16), buckets)


def prepare_surely(manifests: Sequence[LargeManifest], job: Job) -> Job:
    """The same job, where it turned out that others are not: all offsets that stand have been looked at."""
    subjects = [_subject(number, one, job.units, job.reader, _all_live) for number, one in enumerate(manifests)]
    return replace(job, subjects=tuple(subjects))


Look = Callable[[Sequence[Unit], Template | None, Reader], Examples]
"""At the offsets that stand, of which lines of some forms are known."""


def _subject(number: int, manifest: LargeManifest, units: Sequence[Unit], reader: Reader, look: Look) -> Subject:
    config = None if manifest.context.config is None else dict(manifest.context.config)
    context = replace(manifest.context, config=config, live=None)
    live = [unit for unit in units if unit.manifest == number and unit.is_live]
    template, examples = None, None
    if manifest.live is not None:
        template = learn_live(_first_lines(live, reader), shape_of(config or {}, context.schema))
        examples = look(live, template, reader)
    standing = None if examples is None else Standing(examples.offsets)
    own = [unit for unit in units if unit.manifest == number and not unit.is_live]
    return Subject(
        context=context,
        kind=manifest.kind,
        template=_learnt(manifest, _first_lines(own, reader), replace(context, live=standing)),
        live_template=template,
        examples=None if examples is None else examples.offsets,
        is_mixed=examples is not None and examples.are_mixed,
        is_judged=manifest.is_judged,
    )


def _learnt(manifest: LargeManifest, lines: Iterator[bytes], context: ManifestContext) -> Template | None:
    if manifest.is_judged:
        return learn(lines, context, manifest.kind)
    return learn_live(lines, shape_of(context.config or {}, context.schema), tombstones=True)


def _first_lines(units: Sequence[Unit], reader: Reader) -> Iterator[bytes]:
    lines = (line for unit in units for piece in pieces(unit, reader) for line in piece.content.splitlines())
    return islice((line for line in lines if line.strip()), _LOOKED_AT)


def _first_live(units: Sequence[Unit], template: Template | None, reader: Reader) -> Examples:
    """Lines of the same form have the same types; whoever reads the others says whether there is another form."""
    found = Examples()
    found.add_all(json.loads(line) for line in _first_lines(units, reader))
    return found


def _all_live(units: Sequence[Unit], template: Template | None, reader: Reader) -> Examples:
    """Lines of the same form have the same types: one of them, and a look at each of the others."""
    found = Examples()
    with ThreadPoolExecutor(_THREADS) as pool:  # nearly all of it is done in Arrow, side by side
        for lines in pool.map(lambda unit: _others(unit, template, reader), units):
            found.add_all(json.loads(line) for line in lines)
    return found


def _others(unit: Unit, template: Template | None, reader: Reader) -> list[str]:
    """The first line of each form, and all that are of none."""
    lines = []
    for piece in pieces(unit, reader):
        left = Lines(piece.content).array
        for form in () if template is None else template.forms:
            well = pc.match_substring_regex(left, form.pattern)
            first = pc.index(well, value=True).as_py()
            if first >= 0:
                lines.append(left[first].as_py())
                left = left[:0] if pc.all(well, min_count=0).as_py() else left.filter(pc.invert(well))
        lines += [line for line in left.to_pylist() if line.strip()]
    return lines
