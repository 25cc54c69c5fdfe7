"""The jars of a release of Kafka, and the plugins of the sandbox: fetched once from Maven Central, then used offline.

A directory is created under another name and renamed when it is complete, so an interrupted download leaves no partial
directory. Files that are complete are kept, and the next try continues with them.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from gitops_connect.errors import SandboxFailed
from gitops_connect.safe_files import locked_file
from gitops_connect.sandbox.maven import PART, Artifact, MavenResolver
from gitops_connect.sandbox.maven_repository import MIRROR_VARIABLE, PARALLEL, MavenRepository

Progress = Callable[[str, int | None, int | None], None]
"""Called with the current activity, and its progress as a number of a total; `gitops_connect.cli.progress` shows it."""

CACHE_VARIABLE = "GITOPS_CONNECT_CACHE"
BROKER_RELEASE = "4.3.1"
"""The broker's release, for every release of Connect.

A worker of any release since 2.1 works with a 4.x broker (KIP-896). So an older Connect is tested with the one broker
whose settings and start are tested here; and an old broker would not run on the newest Java.
"""
DEFAULT_RELEASE = BROKER_RELEASE
_MODULES = ("kafka_2.13", "connect-runtime", "connect-file", "connect-mirror")
_RELEASE = re.compile(r"\d+\.\d+\.\d+")
_MAVEN = "maven:"


def cache_directory(environment: Mapping[str, str]) -> Path:
    """The directory of the jars: `GITOPS_CONNECT_CACHE`, else the user's cache directory."""
    chosen = environment.get(CACHE_VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_cache_dir("gitops-connect"))


@dataclass(frozen=True, slots=True)
class JarSet:
    """Artifacts with all their dependencies, stored together under a name."""

    name: str
    artifacts: tuple[Artifact, ...]


def jar_directory(cache: Path, wanted: JarSet) -> Path:
    """The directory of these jars, which may not exist yet. Its name has a hash of the artifacts: it is never stale."""
    request = hashlib.sha256("\n".join(map(str, wanted.artifacts)).encode()).hexdigest()
    return cache / f"{wanted.name}-{request[:8]}"


def fetch_jars(wanted: JarSet, environment: Mapping[str, str], progress: Progress) -> Path:
    """The directory of these jars, fetched from Maven Central if it is missing. Raises SandboxFailed."""
    cache = cache_directory(environment)
    directory = jar_directory(cache, wanted)
    if ":" in str(directory):
        raise SandboxFailed(
            f"the path of the cache {cache} contains a colon, which Java does not support; set {CACHE_VARIABLE}"
        )
    if directory.is_dir():
        return directory
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with locked_file(cache / ".lock"):
            if not directory.is_dir():  # checked again under the lock: another process may have fetched it
                # What another repository has sent is not used: only that repository has vouched for it.
                source = hashlib.sha256(environment.get(MIRROR_VARIABLE, "").encode()).hexdigest()[:8]
                aside, scratch = cache / ".aside", cache / f".maven-{source}"
                shutil.rmtree(aside, ignore_errors=True)
                aside.mkdir()
                _fetch(wanted.artifacts, aside, MavenRepository(scratch, environment), progress)
                aside.rename(directory)
                for one in cache.glob(".maven*"):
                    shutil.rmtree(one)
    except OSError as error:
        raise SandboxFailed(
            f"cannot write to the cache {cache}: {error}; set {CACHE_VARIABLE} to another directory"
        ) from error
    return directory


def _fetch(roots: Sequence[Artifact], target: Path, repository: MavenRepository, progress: Progress) -> None:
    pool = ThreadPoolExecutor(PARALLEL)
    resolver = MavenResolver(repository, pool)
    try:
        artifacts = resolver.artifacts(roots, lambda found: progress(f"{found} jars found", None, None))
        jars = {}
        for artifact, jar in zip(artifacts, pool.map(resolver.jar, artifacts), strict=True):
            jars[artifact] = jar
            progress("jars downloaded", len(jars), len(artifacts))
    finally:
        repository.close()
        pool.shutdown(cancel_futures=True)
    for artifact, jar in jars.items():
        file = target / artifact.file_name(".jar")
        jar.rename(file if not file.exists() else target / f"{artifact.group}-{file.name}")


def parse_release(release: str) -> tuple[int, ...]:
    """`4.3.1` -> (4, 3, 1). Raises SandboxFailed if it is not the number of a release."""
    if not _RELEASE.fullmatch(release):
        raise SandboxFailed(f"expected a Kafka release such as {DEFAULT_RELEASE}, found {release!r}")
    return tuple(int(part) for part in release.split("."))


def kafka(release: str) -> JarSet:
    """Broker and Connect of that release. The broker's release also has Kafka's console tools.

    Kafka's modules have no logger binding (the distribution adds one): without it, the log files would stay empty.
    Raises SandboxFailed if it is not the number of a release.
    """
    binding = (
        Artifact("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")
        if parse_release(release) >= (4, 0, 0)
        else Artifact("org.slf4j", "slf4j-reload4j", "1.7.36")
    )
    modules = (*_MODULES, "kafka-tools") if release == BROKER_RELEASE else _MODULES
    return JarSet(f"kafka-{release}", (*(Artifact("org.apache.kafka", module, release) for module in modules), binding))


def plugin_discovery(release: str, *, has_more: bool) -> str:
    """The fast discovery if every plugin declares itself (KIP-898): Kafka's own do from 4.0 on, more may not."""
    if parse_release(release) < (4, 0, 0):
        return "only_scan"
    return "hybrid_warn" if has_more else "service_load"


Fetch = Callable[[JarSet], Path]
"""Returns the directory with the jars of a set; `jars.fetch_jars` does that."""


def plugin_path(plugins: Sequence[str], directory: Path, fetch: Fetch) -> tuple[Path, ...]:
    """The directories for `plugin.path`; an artifact is `maven:GROUP:ARTIFACT:VERSION`. Raises SandboxFailed."""
    # All are read before the first one is fetched.
    parsed = [_parsed(plugin) for plugin in plugins]
    return tuple(one if isinstance(one, Path) else _linked(one, directory, fetch) for one in parsed)


def maven_directory(directory: Path) -> Path:
    """The directory of the artifacts of a sandbox, with a subdirectory for each, named after it."""
    return directory.absolute() / "maven"


def _parsed(plugin: str) -> Path | JarSet:
    """A directory, or an artifact, which is fetched with all its runtime dependencies."""
    if not plugin.startswith(_MAVEN):
        return Path(plugin)
    parts = plugin.removeprefix(_MAVEN).split(":")
    if len(parts) != 3 or not all(map(PART.fullmatch, parts)):
        raise SandboxFailed(f"expected maven:GROUP:ARTIFACT:VERSION, found {plugin!r}")
    return JarSet(parts[1], (Artifact(*parts),))


def _linked(artifact: JarSet, directory: Path, fetch: Fetch) -> Path:
    (root,) = artifact.artifacts
    jars, own = fetch(artifact), maven_directory(directory) / f"{root.group}_{root.name}_{root.version}"
    link = own / artifact.name
    try:
        own.mkdir(parents=True, exist_ok=True)
        if link.is_symlink() and link.readlink() != jars:
            link.unlink()
        if not link.is_symlink():
            link.symlink_to(jars, target_is_directory=True)
    except OSError as error:
        raise SandboxFailed(f"cannot use the directory {own}: {error}") from error
    return own
