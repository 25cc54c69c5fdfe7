"""The jars of a release of Kafka, and the plugins of the sandbox: fetched once, then used offline.

A directory is created under another name and renamed when it is complete, so a killed download leaves no partial
directory. Jars that Ivy has downloaded are kept, and the next try continues with them.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from gitops_connect.errors import SandboxFailed
from gitops_connect.safe_files import locked_file
from gitops_connect.sandbox import ivy
from gitops_connect.sandbox.java import Java

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
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def cache_directory(environment: Mapping[str, str]) -> Path:
    """The directory of the jars: `GITOPS_CONNECT_CACHE`, else the user's cache directory."""
    chosen = environment.get(CACHE_VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_cache_dir("gitops-connect"))


@dataclass(frozen=True, slots=True)
class JarSet:
    """Modules, each as (group, artifact, version), with all their dependencies; stored together under a name."""

    name: str
    modules: tuple[tuple[str, str, str], ...]


def jar_directory(cache: Path, wanted: JarSet) -> Path:
    """The directory of these jars, which may not exist yet. Its name has a hash of the modules: it is never stale."""
    request = hashlib.sha256(ivy.module_file(wanted.modules).encode()).hexdigest()
    return cache / f"{wanted.name}-{request[:8]}"


def kafka(release: str) -> JarSet:
    """Broker and Connect of that release. Raises SandboxFailed if it is not the number of a release."""
    return JarSet(f"kafka-{release}", dependencies(release))


def fetch_jars(wanted: JarSet, java: Java, environment: Mapping[str, str], progress: ivy.Progress) -> Path:
    """The directory with all of these jars; fetched from Maven Central if it does not exist.

    Raises SandboxFailed if the jars cannot be fetched, or if the cache is not writable.
    """
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
        with locked_file(cache / ".lock") as lock:
            if not directory.is_dir():  # checked again under the lock: another process may have fetched it
                retrieval = _prepare(cache, wanted, java, environment, lock)
                ivy.retrieve(retrieval, progress)
                retrieval.target.rename(directory)
                shutil.rmtree(retrieval.scratch)
    except OSError as error:
        raise SandboxFailed(
            f"cannot write to the cache {cache}: {error}; set {CACHE_VARIABLE} to another directory"
        ) from error
    return directory


def _prepare(cache: Path, wanted: JarSet, java: Java, environment: Mapping[str, str], lock: int) -> ivy.Retrieval:
    aside, scratch = cache / ".aside", cache / ".ivy"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    scratch.mkdir(exist_ok=True)
    return ivy.Retrieval(wanted.modules, aside, scratch, java, environment, lock)


def parse_release(release: str) -> tuple[int, ...]:
    """`4.3.1` -> (4, 3, 1). Raises SandboxFailed if it is not the number of a release."""
    if not _RELEASE.fullmatch(release):
        raise SandboxFailed(f"expected a Kafka release such as {DEFAULT_RELEASE}, found {release!r}")
    return tuple(int(part) for part in release.split("."))


def dependencies(release: str) -> tuple[tuple[str, str, str], ...]:
    """The modules to fetch: (group, artifact, version). The broker's release also has Kafka's console tools.

    Kafka's modules have no logger binding (the distribution adds one): without it, the log files would stay empty.
    """
    binding = (
        ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")
        if parse_release(release) >= (4, 0, 0)
        else ("org.slf4j", "slf4j-reload4j", "1.7.36")
    )
    modules = (*_MODULES, "kafka-tools") if release == BROKER_RELEASE else _MODULES
    return (*(("org.apache.kafka", module, release) for module in modules), binding)


def plugin_discovery(release: str) -> str:
    """The fast discovery if every bundled plugin declares itself (KIP-898), otherwise the old one."""
    return "service_load" if parse_release(release) >= (4, 0, 0) else "only_scan"


Fetch = Callable[[JarSet], Path]
"""Returns the directory with the jars of a set; `jars.fetch_jars` does that."""


@dataclass(frozen=True, slots=True)
class MavenArtifact:
    """One artifact. It is fetched with all its runtime dependencies."""

    group: str
    artifact: str
    version: str

    @property
    def jars(self) -> JarSet:
        """The jars to fetch."""
        return JarSet(self.artifact, ((self.group, self.artifact, self.version),))

    def __str__(self) -> str:
        return f"{self.group}_{self.artifact}_{self.version}"


def plugin_path(plugins: Sequence[str], directory: Path, fetch: Fetch) -> tuple[Path, ...]:
    """The directories for `plugin.path`. Each plugin is a directory of that kind, or `maven:GROUP:ARTIFACT:VERSION`.

    The jars of an artifact stay in the cache; the given directory gets a link to them. Raises SandboxFailed.
    """
    # All are read before the first one is fetched.
    parsed = [parse_plugin(plugin) for plugin in plugins]
    return tuple(one if isinstance(one, Path) else _linked(one, directory, fetch) for one in parsed)


def parse_plugin(plugin: str) -> Path | MavenArtifact:
    """Raises SandboxFailed if it begins with `maven:`, but does not name an artifact."""
    if not plugin.startswith(_MAVEN):
        return Path(plugin)
    parts = plugin.removeprefix(_MAVEN).split(":")
    if len(parts) != 3 or not all(map(_PART.fullmatch, parts)):
        raise SandboxFailed(f"expected maven:GROUP:ARTIFACT:VERSION, found {plugin!r}")
    return MavenArtifact(*parts)


def _linked(artifact: MavenArtifact, directory: Path, fetch: Fetch) -> Path:
    """A directory with one plugin, which is a link to the jars."""
    jars, own = fetch(artifact.jars), directory.absolute() / "maven" / str(artifact)
    link = own / artifact.artifact
    try:
        own.mkdir(parents=True, exist_ok=True)
        if link.is_symlink() and link.readlink() != jars:
            link.unlink()
        if not link.is_symlink():
            link.symlink_to(jars, target_is_directory=True)
    except OSError as error:
        raise SandboxFailed(f"cannot use the directory {own}: {error}") from error
    return own
