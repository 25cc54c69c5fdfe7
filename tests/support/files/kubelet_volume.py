"""A ConfigMap or Secret as the kubelet mounts it: each file is a link through `..data`, which an update replaces."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path


class KubeletVolume:
    """The directory that a container sees."""

    def __init__(self, directory: Path, files: Mapping[str, str]) -> None:
        self.directory = directory
        directory.mkdir(parents=True)
        self.update(files)

    def update(self, files: Mapping[str, str]) -> None:
        """Replace all files at once, in the order in which the kubelet's AtomicWriter does it."""
        data, prepared = self.directory / "..data", self.directory / "..data_tmp"
        before = [one for one in self.directory.iterdir() if one.is_dir() and not one.is_symlink()]
        new = Path(tempfile.mkdtemp(prefix="..2026_11_28_", dir=self.directory))
        new.chmod(0o755)
        for name, text in files.items():
            (new / name).write_text(text)
        prepared.symlink_to(new.name)
        prepared.rename(data)
        found = {one.name for one in self.directory.iterdir() if not one.name.startswith("..")}
        for name in files.keys() - found:
            (self.directory / name).symlink_to(f"..data/{name}")
        for name in found - files.keys():
            (self.directory / name).unlink()
        for one in before:
            shutil.rmtree(one)
