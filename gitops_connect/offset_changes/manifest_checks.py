"""Checks a manifest in local files against its connector, with the rules of a reconciliation.

Spark starts while the command reads other data, and is closed at the end of the command.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from gitops_connect.documents.manifest_paths import SUFFIXES, directory_of, is_glob, is_manifest, suffix_of
from gitops_connect.documents.offset_change_fields import ManifestFiles, NoManifest
from gitops_connect.errors import UsageError
from gitops_connect.model.canonical import digest
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.documents import Blob, Entry
from gitops_connect.model.manifests import LargeFile, LargeVerdict, Manifest, ManifestVerdict
from gitops_connect.model.names import ConnectorName, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChange, OffsetChangeKind
from gitops_connect.model.offsets import OffsetPatch, partition_text
from gitops_connect.model.units import DEFAULT_SKIP_LIMITS
from gitops_connect.offset_changes.kafka_positions import KafkaReads, NoLog
from gitops_connect.offset_changes.manifest_source import SparkChecks, workspace
from gitops_connect.offset_changes.staged_files import offsets_file, stage
from gitops_connect.offset_changes.subject import ManifestSubject
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.offsets.formats import manifest_parser
from gitops_connect.offsets.formats.manifest_parser import MAX_SIZE, is_staged_as_it_is
from gitops_connect.offsets.rules import small
from gitops_connect.plan.offset_review import described, effect_of, find_difference, refusals
from gitops_connect.report import manifest_page
from gitops_connect.report.manifest_check import CheckedManifest
from gitops_connect.runtime import SystemClock
from gitops_connect.safe_files import open_regular, write_new
from gitops_connect.settings.own import cache_directory
from gitops_connect.settings.sections import Settings
from gitops_connect.spark.master_url import master_of
from gitops_connect.spark.session import Say, SharedSession, require_packages

_BLOCK = 1024 * 1024
VIOLATIONS = "violations.parquet"


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What a command checks. `report` is a directory for the list of violations, or None."""

    path: Path
    connector: ConnectorName
    kind: OffsetChangeKind
    report: Path | None = None


def check(
    options: CheckOptions, settings: Settings, say: Say, read_subject: Callable[[Path], ManifestSubject]
) -> CheckedManifest:
    """Check all rules, and compute the manifest's effect. Another process, or Spark, checks a large manifest.

    `read_subject` gets a directory for offsets that are too many for memory. Raises UsageError if a file cannot be read
    or written, and the errors of `read_subject` and of Spark.
    """
    began = time.monotonic()
    given = find_manifest(options.path, options.connector)
    is_large = options.report is not None or given.are_certainly_large
    if is_large:
        require_packages()
    is_for_spark = is_large and given.size >= settings.spark.min_size
    with opened(settings, say) as large, large.checks.started_early() if is_for_spark else nullcontext():
        subject = read_subject(large.directory)
        manifest = None if is_large or subject.saved is not None else given.read()
        if manifest is None:
            verdict, master = _of_large(options, given, subject, large)
        else:
            verdict, master = _in_process(options.kind, manifest, subject), ""
    return CheckedManifest(
        file=given.shown,
        connector=options.connector,
        cluster=subject.cluster,
        basis=subject.basis,
        kind=options.kind,
        entries=verdict.entries,
        partitions=verdict.partitions,
        diagnostics=verdict.diagnostics,
        counts=verdict.counts,
        errors=verdict.errors,
        difference=None if verdict.difference is None else _with_log(verdict.difference, subject, settings),
        acknowledge=() if verdict.errors else needed(subject, options.kind, verdict.difference, settings, [verdict]),
        why_not=subject.unread,
        is_unreadable=subject.is_unreadable,
        distribution=verdict.distribution,
        files=tuple(path.as_posix() for path in given.paths),
        spark=master,
        seconds=time.monotonic() - began,
    )


def _with_log(difference: Difference, subject: ManifestSubject, settings: Settings) -> Difference:
    """The difference as a plan shows it, with the time between the records if the settings name the brokers."""
    shape, config = subject.context.shape, subject.context.config
    cluster = settings.clusters.get(subject.cluster) if subject.cluster is not None else None
    if cluster is not None and config is not None and shape is not None and shape.log is not None:
        with suppress(NoLog):  # a check does not need the brokers
            log = KafkaReads(cluster).log(shape, config, subject.context.current or {})
            shape = log.shape_for(difference.moves)
    return described(difference, shape)


def write_page(checked: CheckedManifest, directory: Path, program: str) -> None:
    """Write `index.html` next to the list of violations. Raises UsageError if the file cannot be written."""
    page = manifest_page.render(checked, manifest_page.PageOrigin(program, SystemClock().now()))
    write_new(directory / "index.html", page, force=True)


def _in_process(kind: OffsetChangeKind, manifest: Manifest, subject: ManifestSubject) -> LargeVerdict:
    """The verdict that Spark would return."""
    verdict, difference = small.check(manifest, subject.context, kind), None
    if verdict.offsets is not None and subject.context.current is not None:
        difference = difference_of(subject, kind, verdict.offsets)
    return LargeVerdict(
        len(manifest.entries),
        _partitions(manifest) if verdict.offsets is None else len(verdict.offsets),
        diagnostics=verdict.diagnostics,
        counts=verdict.counts,
        errors=verdict.errors,
        unread=verdict.unread,
        difference=difference,
        distribution=_distribution(difference) if difference is not None else {},
    )


def _of_large(
    options: CheckOptions, given: GivenFiles, subject: ManifestSubject, large: LargeChecks
) -> tuple[LargeVerdict, str]:
    """The verdict, and the URL of the Spark master that checked; empty: Spark was not needed."""
    files, offsets = large.stage(given), subject.current
    violations = large.directory / "violations" if options.report is not None else None
    with files_of_checks():
        current = None if offsets is None else offsets_file(offsets, large.directory / "current.jsonl")
        manifest = LargeManifest(Location(given.shown), files, subject.context, options.kind, current)
        (verdict,) = large.checks.check([manifest], violations=violations)
        needs_spark = large.checks.needs_spark([manifest])
    if violations is not None and options.report is not None:
        write_new(options.report / VIOLATIONS, blocks_of(violations / VIOLATIONS), force=True)
    return verdict, large.where if needs_spark else ""


def difference_of(subject: ManifestSubject, kind: OffsetChangeKind, offsets: OffsetPatch) -> Difference:
    """The effect of an offset change with these offsets on the current offsets (on no offsets, if they are unknown)."""
    current = subject.context.current or {}
    return find_difference(current, effect_of(_offset_change(subject, kind, offsets), current), subject.context.shape)


def _offset_change(subject: ManifestSubject, kind: OffsetChangeKind, offsets: OffsetPatch) -> OffsetChange:
    """The offset change of a document that acknowledges nothing."""
    return OffsetChange(OffsetChangeName("-"), subject.context.connector, kind, digest([]), Revision(""), offsets)


def needed(
    subject: ManifestSubject,
    kind: OffsetChangeKind,
    difference: Difference | None,
    settings: Settings,
    verdicts: Iterable[LargeVerdict | ManifestVerdict],
) -> tuple[Acknowledgement, ...]:
    """The acknowledgements that a document needs, in a fixed order: for its effects, and for unread partitions.

    If the cluster is unknown, nothing may be skipped.
    """
    known = settings.clusters.get(subject.cluster) if subject.cluster is not None else None
    limits = dict.fromkeys(DEFAULT_SKIP_LIMITS, 0) if known is None else known.max_skip.limits
    found = {Acknowledgement.UNREAD} if any(one.unread for one in verdicts) else set()
    if difference is not None:
        refused = refusals(_offset_change(subject, kind, {}), described(difference, subject.context.shape), limits)
        found |= {one.missing for one in refused if one.missing is not None}
    return tuple(sorted(found, key=lambda one: one.value))


def _distribution(difference: Difference) -> dict[Direction, tuple[int, ...]]:
    """For each direction with distances, how many are in [1, 10), [10, 100), and so on."""
    found: dict[Direction, list[int]] = {}
    for move in difference.moves:
        if move.distance:
            decade, counts = len(str(move.distance)) - 1, found.setdefault(move.direction, [])
            counts.extend([0] * (decade + 1 - len(counts)))
            counts[decade] += 1
    return {direction: tuple(counts) for direction, counts in found.items()}


def _partitions(manifest: Manifest) -> int:
    """The number of different partitions, among the entries whose partition can be read."""
    found = set()
    for entry in manifest.entries:
        partition = entry.value.get("partition") if isinstance(entry.value, dict) else None
        try:
            found |= {partition_text(partition)} if isinstance(partition, dict) else set()
        except (ValueError, TypeError, RecursionError):
            continue
    return len(found)


@dataclass(frozen=True, slots=True)
class LargeChecks:
    """Checks of large manifests for one command. The directory for its files need not exist."""

    checks: SparkChecks
    directory: Path

    @property
    def where(self) -> str:
        """The URL of the Spark master, without secrets."""
        return master_of(self.checks.sessions.settings.master).shown

    def stage(self, given: GivenFiles) -> tuple[LargeFile, ...]:
        """The files in a form that Spark can read: the original files if possible, else copies.

        Raises UsageError if a file cannot be read.
        """
        return tuple(self._stage(number, path) for number, path in enumerate(given.paths))

    def _stage(self, number: int, path: Path) -> LargeFile:
        name = path.as_posix()
        # Spark recognizes formats by the suffix of the path, in lower case.
        is_readable = is_manifest(name) and is_staged_as_it_is(name) and name.endswith(suffix_of(name))
        if is_readable and master_of(self.checks.sessions.settings.master).is_here:
            return LargeFile(name, str(path.absolute()))
        directory = self.directory / f"staged-{number}"
        directory.mkdir(parents=True)
        self.checks.say(f"reading {path.name}")
        return stage(name, blocks_of(path), directory)


@contextmanager
def opened(settings: Settings, say: Say) -> Iterator[LargeChecks]:
    """A `LargeChecks` that tells `say` its progress. Nothing is started yet."""
    with (
        closing(SharedSession(settings.spark, os.environ, cache_directory())) as sessions,
        workspace(sessions.directory) as directory,
    ):
        yield LargeChecks(SparkChecks(sessions, say), directory)


@contextmanager
def files_of_checks() -> Iterator[None]:
    """Raise UsageError if a file cannot be read or written during the block."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot check large manifests: {error}") from error


def blocks_of(path: Path) -> Iterator[bytes]:
    """The content of the file in blocks. Raises UsageError if the file cannot be read."""
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                yield block
    except OSError as error:
        raise UsageError(f"cannot read the manifest {path}: {error.strerror}") from error


# The manifest that a command line names: a file, a directory or a glob, with the same meaning as in a document.

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True, slots=True)
class GivenFiles:
    """The files of one manifest, at least one: `shown` for outputs, `paths`, and `size` in bytes of all files."""

    shown: str
    paths: tuple[Path, ...]
    size: int

    @property
    def are_certainly_large(self) -> bool:
        """Whether their names and sizes alone show that they are too large for this process."""
        if not all(is_manifest(path.name) for path in self.paths):
            return False
        return self.size > MAX_SIZE or any(path.suffix.lower() == ".parquet" for path in self.paths)

    def read(self) -> Manifest | None:
        """The parsed manifest; None if it is too large for this process. Raises UsageError if a file cannot be read."""
        manifest = manifest_parser.parse_all(_blob(path) for path in self.paths)
        is_too_large = any(fault.rule == "manifest/too-large" for fault in manifest.faults)
        return None if is_too_large and all(is_manifest(path.name) for path in self.paths) else manifest


def find_manifest(path: Path, connector: ConnectorName) -> GivenFiles:
    """The manifest files at that path, which has the same meaning as in a document (`desired.manifest_files`).

    Raises UsageError if there are no manifest files, or if they cannot be read.
    """
    text = path.as_posix()
    try:
        if path.is_file():
            return _given(text, [path])
        if path.is_dir():
            return _given(text, list(_found(path, "", connector)))
        if is_glob(text):
            directory = directory_of(text)
            below = Path(directory or ("/" if text.startswith("/") else "."))
            return _given(text, list(_found(below, text.removeprefix(directory).lstrip("/"), connector)))
    except OSError as error:
        raise UsageError(f"cannot read the manifest {path}: {error.strerror}") from error
    if _URI.match(text):
        raise UsageError(f"{path} is not a local file; to check the manifest at a uri, run `gitops-connect plan`")
    reason = "it is neither a file nor a directory" if path.exists() else "no such file or directory"
    raise UsageError(f"cannot read the manifest {path}: {reason}")


def _found(directory: Path, pattern: str, connector: ConnectorName) -> Iterator[Path]:
    """The files that a document in this directory would find, if the directory were the repository's root."""
    entries = [Entry(path.relative_to(directory).as_posix(), "", None) for path in _files_below(directory)]
    matching = ManifestFiles(entries).find(pattern, "", connector)
    if isinstance(matching, NoManifest):
        raise UsageError(_nothing(directory, pattern, connector))
    yield from (directory / entry.path for entry in matching)


def _nothing(directory: Path, pattern: str, connector: ConnectorName) -> str:
    if not pattern and next(directory.glob("*.json"), None) is not None:
        return (
            f"the directory {directory} has no {connector.replace('->', '--')}.json, and its other .json files may"
            f" belong to other connectors; to use all of them, give the glob {(directory / '*.json').as_posix()!r}"
        )
    found = (
        f"matches {(directory / pattern).as_posix()!r}" if pattern else f"is in the directory {directory.as_posix()!r}"
    )
    known = f"use one of the suffixes {', '.join(SUFFIXES)}; files whose names begin with _ or . are ignored"
    return f"no offset manifest {found}; {known}"


def _files_below(directory: Path) -> Iterator[Path]:
    for place, _, names in os.walk(directory):
        yield from (Path(place) / name for name in names)


def _given(shown: str, paths: list[Path]) -> GivenFiles:
    sizes = [path.stat().st_size for path in paths]
    for path, size in zip(paths, sizes, strict=True):
        if size > MAX_SIZE:
            _refuse_holes(path, size)
    return GivenFiles(shown, tuple(paths), sum(sizes))


def _refuse_holes(path: Path, size: int) -> None:
    """Raise UsageError for a sparse file: it needs no space on its writer's disk, and reading it could take days."""
    with open_regular(path) as stream:
        begin = os.lseek(stream.fileno(), 0, os.SEEK_HOLE)
    if begin < size:
        text = f"the file is sparse: {size:,} bytes with a hole at byte {begin:,}; an offset manifest has no holes"
        raise UsageError(f"cannot read the manifest {path}: {text}")


def _blob(path: Path) -> Blob:
    """The file's content. At most one byte more than the allowed size is read."""
    try:
        with open_regular(path) as stream:
            return Blob(path.as_posix(), "", stream.read(MAX_SIZE + 1))
    except OSError as error:
        raise UsageError(f"cannot read the manifest {path}: {error.strerror}") from error
