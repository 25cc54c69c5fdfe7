"""Builds the image without a container engine: Debian's buildah, with chroot isolation, on a base of debootstrap.

It needs root, the packages `buildah` and `debootstrap`, Debian's archive and PyPI. The base is made once, into the
user's cache. Nothing is pulled from a registry of images.
"""

from __future__ import annotations

import configparser
import json
import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitops_connect.safe_files import locked_file

ROOT = Path(__file__).parents[2]
SUITE = "trixie"
EPOCH = "1767225600"
"""2026-01-01, for SOURCE_DATE_EPOCH: any time that is equal in two builds."""
_TOOLS = ("buildah", "debootstrap")
_DEVICES = ("proc/", "dev/", "sys/")
_NOT_NEEDED = (
    *(f"usr/share/{name}" for name in ("doc", "man", "info", "locale")),
    "var/cache/apt",
    "var/lib/apt/lists",
)
"""Published slim images leave out these directories of /usr/share, too."""
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


class ImageMissing(Exception):
    """Why no image can be built here."""


def check_tools() -> None:
    """Raise ImageMissing if something is missing."""
    if os.geteuid() != 0:
        raise ImageMissing("only root can build the image with chroot isolation")
    if missing := [name for name in _TOOLS if not shutil.which(name)]:
        raise ImageMissing(f"not installed: apt install {' '.join(missing)}")


@dataclass(frozen=True)
class Buildah:
    """A store of images in a directory. The driver vfs needs no file system of its own."""

    directory: Path

    def run(self, command: str, *arguments: str) -> str:
        """The output of a command of buildah."""
        store = ["--root", str(self.directory / "store"), "--runroot", str(self.directory / "run")]
        return _run("buildah", "--storage-driver", "vfs", *store, command, *arguments)

    def import_base(self, archive: Path) -> str:
        """Commit the files of the archive as an image. Returns its name."""
        name, container = "localhost/base", self.run("from", "scratch").strip()
        self.run("add", "--quiet", container, str(archive), "/")
        self.run("commit", "--quiet", "--timestamp", EPOCH, container, name)
        self.run("rm", container)
        return name

    def build(self, base: str, name: str, **arguments: str) -> str:
        """Build the Dockerfile on the base. Returns the name of the image."""
        values = {"BASE": base, "SOURCE_DATE_EPOCH": EPOCH, **arguments}
        given = [word for key, value in values.items() for word in ("--build-arg", f"{key}={value}")]
        isolated = ["--isolation", "chroot", "--no-cache", "--layers", "--timestamp", EPOCH, *self._registries()]
        self.run("build", *isolated, *given, "--tag", name, str(ROOT))
        return name

    def layers(self, name: str, target: Path) -> dict[str, Any]:
        """Write the image as an OCI layout with compressed layers. Returns its manifest, with digests and sizes."""
        self.run("push", "--quiet", name, f"oci:{target}:latest")
        index = json.loads((target / "index.json").read_text())
        digest = index["manifests"][0]["digest"].removeprefix("sha256:")
        manifest: dict[str, Any] = json.loads((target / "blobs" / "sha256" / digest).read_text())
        return manifest

    def _registries(self) -> list[str]:
        """The pip settings and the certificates of this machine: also builds behind a proxy reach PyPI."""
        settings = configparser.ConfigParser(interpolation=None)
        settings.read("/etc/pip.conf")
        if _CERTIFICATES.exists():
            settings.setdefault("global", {})
            settings["global"] = {**settings["global"], "cert": "/run/host.crt"}
        with (self.directory / "pip.conf").open("w") as file:
            settings.write(file)
        mounts = [f"{self.directory / 'pip.conf'}:/etc/pip.conf:ro"]
        mounts += [f"{_CERTIFICATES}:/run/host.crt:ro"] if _CERTIFICATES.exists() else []
        return [word for mount in mounts for word in ("--volume", mount)]


def make_base(cache: Path) -> Path:
    """An archive of the smallest Debian with Python, in the cache."""
    archive = cache / f"debian-{SUITE}.tar"
    cache.mkdir(parents=True, exist_ok=True)
    with locked_file(cache / ".image-base.lock"):
        if not archive.exists():
            root = cache / ".image-base"
            shutil.rmtree(root, ignore_errors=True)
            # debootstrap mounts /proc and more. In a namespace of its own, they are gone even if it is killed.
            alone = ["unshare", "--mount", "--propagation", "private"]
            _run(*alone, "debootstrap", "--variant=minbase", "--include=python3,python3-venv", SUITE, str(root))
            _make_slim(root)
            partial = archive.with_suffix(".partial")
            with tarfile.open(partial, "w") as file:
                file.add(root, "", filter=lambda entry: None if entry.name.startswith(_DEVICES) else entry)
            partial.rename(archive)
            shutil.rmtree(root)
    return archive


def _make_slim(root: Path) -> None:
    excluded = [f"path-exclude /{name}/*\n" for name in _NOT_NEEDED if name.startswith("usr/")]
    (root / "etc" / "dpkg" / "dpkg.cfg.d" / "slim").write_text("".join(excluded))
    for name in _NOT_NEEDED:
        _run("find", str(root / name), "-mindepth", "1", "-delete")


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ImageMissing(f"{' '.join(command)}: {(done.stderr + done.stdout)[-3000:]}")
    return done.stdout
