"""Connector plugins for the workers: directories, and artifacts from Maven."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox.jars import JarSet

_MAVEN = "maven:"
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")

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
    parsed = [parse(plugin) for plugin in plugins]
    return tuple(one if isinstance(one, Path) else _linked(one, directory, fetch) for one in parsed)


def parse(plugin: str) -> Path | MavenArtifact:
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
