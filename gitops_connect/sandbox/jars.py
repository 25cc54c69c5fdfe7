"""Jars in the user's cache, mainly those of a Kafka release: fetched once, then used offline.

A directory is created under another name and renamed when it is complete, so a killed download leaves no partial
directory. Jars that Ivy has downloaded are kept, and the next try continues with them.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox import ivy
from gitops_connect.sandbox.java import Java
from gitops_connect.sandbox.releases import dependencies

CACHE_VARIABLE = "GITOPS_CONNECT_CACHE"


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
        with _only_one(cache) as lock:
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


@contextmanager
def _only_one(cache: Path) -> Iterator[int]:
    """Hold the cache's lock, which the kernel releases when its last holder ends for any reason."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()
