"""Reads and checks the manifests of one reconciliation.

Small ones are parsed and checked in this process. Large ones become files, and one job on Spark checks all of them.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Thread

from gitops_connect.connect.unreadable import TOO_LARGE
from gitops_connect.errors import GitopsConnectError, SparkUnusable, UsageError
from gitops_connect.families.registry import BUILT_IN, Registry
from gitops_connect.model.clock import endless
from gitops_connect.model.desired import DesiredConnector, DesiredOffsetChange, DesiredState, ManifestFile, ManifestUri
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity, contained
from gitops_connect.model.manifests import LargeFile, LargeVerdict, Manifest, SavedOffsets
from gitops_connect.model.names import ConnectorName, OffsetChangeName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeHistory, Past
from gitops_connect.model.offset_targets import OffsetTargets
from gitops_connect.model.offsets import OffsetPatch, Offsets
from gitops_connect.offset_changes import staged_files
from gitops_connect.offsets.context import LargeManifest, ManifestContext
from gitops_connect.offsets.formats import manifest_parser
from gitops_connect.offsets.rules import own_schemas, small
from gitops_connect.offsets.rules.own_schemas import MAX_BYTES, OwnSchemas
from gitops_connect.offsets.rules.rules import as_notes
from gitops_connect.safe_files import FULL, without_space
from gitops_connect.source.checkout import Checkout
from gitops_connect.spark.file_copy import CopiedFile
from gitops_connect.spark.session import Say, Session, SharedSession, require_packages


def read_own_schemas(checkout: Checkout) -> OwnSchemas:
    """The repository's schemas for the offsets of its own connector classes."""
    entries = [entry for entry in checkout.entries if own_schemas.is_offset_schema(entry.path)]
    return own_schemas.load((blob.path, blob.content) for blob in checkout.blobs(entries, MAX_BYTES + 1))


def context_of(
    connector: DesiredConnector, families: Registry, acknowledged: frozenset[Acknowledgement] = frozenset()
) -> ManifestContext:
    """The context in which a manifest of that connector is checked. `families` have the schemas of the repository."""
    config = connector.config
    schema, shape = families.schema(config), families.shape(config)
    return ManifestContext(connector.name, config, None, schema, acknowledged, shape)


_PROCESS = 32 * 2**20
"""The bytes of manifests for which another process pays: it starts within the time in which they are checked."""
FoundManifest = Manifest | tuple[LargeFile, ...]
"""A manifest in memory, or the files of one that is too large for this process."""


@dataclass(frozen=True, slots=True)
class ManifestSource:
    """The source of manifests. Staged files are kept in Spark's directory from one reconciliation to the next.

    No document may name one of `own_files`. `families` are the known connector classes. `left` returns the seconds in
    which the check of large manifests must end.
    """

    checkout: Checkout
    sessions: SharedSession
    say: Say
    own_files: frozenset[Path]
    families: Registry = BUILT_IN
    left: Callable[[], float] = endless

    def manifest(self, offset_change: DesiredOffsetChange) -> FoundManifest | Diagnostic | None:
        """None for an offset change without a manifest, and for targets, which are not resolved here; a diagnostic if
        the manifest cannot be read.

        Raises what reading the repository raises, and OSError.
        """
        match offset_change.manifest:
            case ManifestFile() as file:
                return self._in_repository(file, offset_change)
            case ManifestUri() as uri:
                return self._at_uri(uri, offset_change)
            case OffsetTargets():
                return None
            case Manifest() | None as inline:
                return inline

    def _in_repository(self, file: ManifestFile, offset_change: DesiredOffsetChange) -> FoundManifest | Diagnostic:
        """A file may be large due to whitespace or unreadable parts, and have few entries."""
        if sum(entry.size or 0 for entry in file.entries) <= manifest_parser.MAX_SIZE:
            manifest = manifest_parser.parse_all(self.checkout.blobs(file.entries, manifest_parser.MAX_SIZE + 1))
            if all(fault.rule != TOO_LARGE for fault in manifest.faults):
                return manifest
        try:
            require_packages()  # before the file is copied
        except UsageError as error:
            return _without_spark(error, offset_change.locate("manifest"), offset_change.connector)
        with staged_files.opened(staging_directory(self.sessions)) as kept:
            staged = tuple(kept.blob(entry, self.checkout.stream(entry)) for entry in file.entries)
        return staged_files.read_small(staged) or staged

    def _at_uri(self, uri: ManifestUri, offset_change: DesiredOffsetChange) -> FoundManifest | Diagnostic:
        try:
            staged_files.require_allowed(uri, self.sessions.settings.uris)
            local = staged_files.LocalFiles(self.sessions.settings.uris, self.own_files)
            with staged_files.opened(staging_directory(self.sessions)) as kept:
                staged = staged_files.stage_uri(kept, uri, SparkChecks(self.sessions, self.say).copy, local)
        except staged_files.UriRefused as error:
            return Diagnostic(Severity.ERROR, error.rule, str(error), uri.location, error.hint, offset_change.connector)
        return staged_files.read_small(staged) or staged


def _without_spark(error: SparkUnusable | UsageError, place: Location, connector: ConnectorName) -> Diagnostic:
    return Diagnostic(Severity.ERROR, "offsets/spark", str(error), place, connector=connector)


def staging_directory(sessions: SharedSession) -> Path:
    """The directory of the staged files."""
    return sessions.directory / "manifests"


Current = Offsets | SavedOffsets | None
"""The current offsets of a connector; None if they are unknown."""


class ManifestVerdicts:
    """Add all offset changes, then check the large manifests. Files for Spark are written to the directory.

    `offsets` are those of small manifests, None if a manifest has errors; `large` are the verdicts on large manifests.
    """

    def __init__(self, source: ManifestSource, directory: Path) -> None:
        self._source = source
        self._directory = directory
        self._unchecked: dict[OffsetChangeName, LargeManifest] = {}
        self.offsets: dict[OffsetChangeName, OffsetPatch | None] = {}
        self.large: dict[OffsetChangeName, LargeVerdict] = {}
        self.diagnostics = Diagnostics()

    def add(
        self, offset_change: DesiredOffsetChange, context: ManifestContext, current: Current, *, is_absent: bool = False
    ) -> None:
        """Add an offset change with the current offsets (None: unknown). Without a manifest there is nothing to check.

        `is_absent`: its connector does not exist yet, and the plan of a large change compares it with no offsets.
        A bug is a diagnostic, and the manifest has errors then. Raises what reading the repository raises.
        """
        work = partial(self._add, offset_change, context, current, is_absent=is_absent)
        bug = contained(work, offset_change.document.locate(offset_change.pointer), offset_change.connector)
        if bug is not None:
            self.refuse(offset_change, bug)

    def refuse(self, offset_change: DesiredOffsetChange, problem: Diagnostic) -> None:
        """Add an offset change whose manifest has an error, without a check."""
        self.offsets[offset_change.name] = None
        self.diagnostics += Diagnostics.of([problem])

    def _add(
        self, offset_change: DesiredOffsetChange, context: ManifestContext, current: Current, *, is_absent: bool
    ) -> None:
        manifest = self._source.manifest(offset_change)
        if isinstance(manifest, Diagnostic):
            self.refuse(offset_change, manifest)
        elif isinstance(manifest, Manifest) and not isinstance(current, SavedOffsets):
            verdict = small.check(manifest, replace(context, current=current), offset_change.kind)
            self.offsets[offset_change.name] = verdict.offsets
            self.diagnostics += verdict.diagnostics
        elif manifest is not None:
            path = self._directory / f"{len(self._unchecked)}"
            large = staged_files.large_manifest(offset_change, manifest, context, path)
            compared = {} if is_absent else current
            if compared is not None:
                large = replace(large, current=staged_files.offsets_file(compared, path.with_suffix(".current")))
            self._unchecked[offset_change.name] = large

    def check_large(self) -> None:
        """Check all large manifests at once.

        If Spark lacks something that it needs, each of these manifests gets that error, and nothing else is blocked.
        Raises SparkFailed and OSError.
        """
        if not self._unchecked:
            return
        try:
            checks = SparkChecks(self._source.sessions, self._source.say, self._source.left)
            verdicts = checks.check(list(self._unchecked.values()))
        except (SparkUnusable, UsageError) as error:
            for name, one in self._unchecked.items():
                self.offsets[name] = None
                self.diagnostics += Diagnostics.of([_without_spark(error, one.location, one.context.connector)])
        else:
            self.large = dict(zip(self._unchecked, verdicts, strict=True))
            self.diagnostics += Diagnostics.of(one for verdict in verdicts for one in verdict.diagnostics)


@dataclass(frozen=True, slots=True)
class SparkChecks:
    """Checks on a shared Spark session, or in a process without Spark; `say` receives messages about long checks."""

    sessions: SharedSession
    say: Say
    left: Callable[[], float] = endless

    def check(
        self, manifests: Sequence[LargeManifest], *, ready: Path | None = None, violations: Path | None = None
    ) -> list[LargeVerdict]:
        """One verdict for each manifest, in their order, by one job. The manifests are read while Spark starts.

        Without Spark, other processes do the same if the files are smaller than `[spark] min_size`.
        The directory `ready` receives the entries to send, for changes that nothing blocks; `violations` receives a
        list of all violations. Raises SparkFailed, SparkUnusable, OSError, and UsageError if a package is not
        installed.
        """
        require_packages()
        with self.started_early() if self.needs_spark(manifests) else self._processes(manifests) as processes:
            from gitops_connect.offsets.spark import check, job_files  # noqa: PLC0415 - it may not be installed

            job = replace(check.prepare(manifests), directories=job_files.job_directories(ready, violations))
            if processes:
                with workspace(self.sessions.directory) as directory:
                    return check.carry_out(manifests, job, check.LocalEngine(processes, directory, self.left))
        with self.sessions.using(self.say) as session:
            self.say("checking on Spark")
            return check.carry_out(manifests, job, check.SparkEngine(session, self.say, left=self.left))

    def needs_spark(self, manifests: Sequence[LargeManifest]) -> bool:
        """Whether Spark checks them. Raises OSError."""
        return _size(manifests) >= self.sessions.settings.min_size

    def _processes(self, manifests: Sequence[LargeManifest]) -> AbstractContextManager[Sequence[Session]]:
        return self.sessions.without_spark(min(os.cpu_count() or 1, _size(manifests) // _PROCESS))

    @contextmanager
    def started_early(self) -> Iterator[Sequence[Session]]:
        """Start the session during the block. If it does not start, the next user of the session gets the error."""

        def start() -> None:
            with suppress(GitopsConnectError), self.sessions.using(self.say):
                return

        starting = Thread(target=start, daemon=True)
        starting.start()
        try:
            yield []
        finally:
            starting.join()

    def copy(self, uri: str, takes: Callable[[str], bool], directory: str) -> list[CopiedFile]:
        """A `Copy` by Spark. Raises SparkFailed, SparkUnusable, and UsageError if a package is not installed."""
        with self.sessions.using(self.say) as session:
            from gitops_connect.spark import file_copy  # noqa: PLC0415 - it may not be installed

            self.say(f"copying {uri}")
            return file_copy.copy(session, uri, takes, directory)


def _size(manifests: Sequence[LargeManifest]) -> int:
    from gitops_connect.offsets.spark.input_splits import content_size  # noqa: PLC0415 - it may not be installed

    return content_size(manifests)


def check_manifests(
    source: ManifestSource, desired: DesiredState, history: OffsetChangeHistory
) -> tuple[Diagnostics, int]:
    """Check the manifests of one cluster, as far as the repository and the ledger allow.

    Returns the violations, and the number of applied changes, which are not checked again. A change that may have been
    applied is also checked with the rules that depend on its connector, but violations are only notes: the connector
    may have changed since.
    """
    own, connectors = read_own_schemas(source.checkout), {one.name: one for one in desired.connectors}
    families = source.families.with_schemas(own.schemas)
    seeds = (one.initial_offsets for one in desired.connectors)
    declared = [one for one in (*desired.offset_changes, *seeds) if one is not None]
    unapplied = [one for one in declared if history.past(one.name) is not Past.DONE]
    with workspace(source.sessions.directory) as directory:
        verdicts = {past: ManifestVerdicts(source, directory / past.value) for past in (Past.PENDING, Past.UNKNOWN)}
        for offset_change in unapplied:
            connector = connectors.get(offset_change.connector)
            context: ManifestContext | Diagnostic = ManifestContext(offset_change.connector)
            if connector is not None:
                make = partial(context_of, connector, families, offset_change.acknowledged)
                context = contained(make, connector.document.location, connector.name)
            past = verdicts[history.past(offset_change.name)]
            if isinstance(context, Diagnostic):
                past.refuse(offset_change, context)
            else:
                past.add(offset_change, context, None)
        for one in verdicts.values():
            one.check_large()
    found = own.diagnostics + verdicts[Past.PENDING].diagnostics + as_notes(verdicts[Past.UNKNOWN].diagnostics)
    found += Diagnostics.of(warning.diagnostic() for one in unapplied if (warning := one.warning) is not None)
    return found, len(declared) - len(unapplied)


@contextmanager
def workspace(parent: Path) -> Iterator[Path]:
    """A path inside the given directory, which the caller creates if needed; it is removed with all its content.

    Removes the remains of tasks whose process was killed, too.
    An OSError raised inside becomes SparkUnusable: the disk is full, or the directory is not writable.
    """
    host = "".join(character if character.isalnum() else "_" for character in socket.gethostname())
    path = parent / f"work-{host}-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        # Hosts whose processes are not visible may share the directory.
        for left in parent.glob(f"work-{host}-*"):
            pid = left.name.split("-")[-2]
            if pid.isdigit() and not _is_alive(int(pid)):
                shutil.rmtree(left, ignore_errors=True)
        yield path
    except OSError as error:
        what = f"files of large manifests cannot be written to {parent}: {error}; check [spark] directory"
        if error.errno in FULL:
            raise without_space(SparkUnusable, what, parent) from error
        raise SparkUnusable(what) from error
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:  # a process of another user exists, too
        return not isinstance(error, ProcessLookupError)
    return True
