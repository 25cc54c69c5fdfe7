"""Jars in the user's cache, those of a Kafka release above all: fetched once, then used offline.

A folder is made aside and renamed when it is whole, so a download that is killed leaves nothing half; what Ivy had
downloaded by then is kept, and the next try goes on from there.
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


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where the jars are kept: `GITOPS_CONNECT_CACHE`, else the user's cache folder."""
    chosen = environment.get(CACHE_VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_cache_dir("gitops-connect"))


@dataclass(frozen=True, slots=True)
class JarSet:
    """Some modules, each as (group, artifact, version), with everything that they need; kept together under a name."""

    name: str
    modules: tuple[tuple[str, str, str], ...]


def jar_folder(cache: Path, wanted: JarSet) -> Path:
    """Where these jars are, or would be. Its name holds what was asked for, so that it is never stale."""
    request = hashlib.sha256(ivy.module_file(wanted.modules).encode()).hexdigest()
    return cache / f"{wanted.name}-{request[:8]}"


def kafka(release: str) -> JarSet:
    """Broker and Connect of that release. Raises SandboxFailed where it is not a release's number."""
    return JarSet(f"kafka-{release}", dependencies(release))


def fetch_jars(wanted: JarSet, java: Java, environment: Mapping[str, str], progress: ivy.Progress) -> Path:
    """The folder with all of these jars; from Maven Central where it is not there yet.

    Raises SandboxFailed where they cannot be fetched, or the cache cannot be written.
    """
    cache = cache_folder(environment)
    folder = jar_folder(cache, wanted)
    if ":" in str(folder):
        raise SandboxFailed(
            f"the path of the cache {cache} contains a colon, which Java does not support; set {CACHE_VARIABLE}"
        )
    if folder.is_dir():
        return folder
    try:
        with _only_one(cache) as lock:
            if not folder.is_dir():  # looked at again under the lock: another process may have fetched it
                retrieval = _prepare(cache, wanted, java, environment, lock)
                ivy.retrieve(retrieval, progress)
                retrieval.target.rename(folder)
                shutil.rmtree(retrieval.scratch)
    except OSError as error:
        raise SandboxFailed(
            f"cannot write to the cache {cache}: {error}; set {CACHE_VARIABLE} to another directory"
        ) from error
    return folder


def _prepare(cache: Path, wanted: JarSet, java: Java, environment: Mapping[str, str], lock: int) -> ivy.Retrieval:
    aside, scratch = cache / ".aside", cache / ".ivy"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    scratch.mkdir(exist_ok=True)
    return ivy.Retrieval(wanted.modules, aside, scratch, java, environment, lock)


@contextmanager
def _only_one(cache: Path) -> Iterator[int]:
    """Hold the cache's lock, which the kernel lets go of when its last holder ends, however it ends."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()
