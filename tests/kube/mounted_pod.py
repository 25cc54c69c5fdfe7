"""The Pod of `helm test`, with its files as the kubelet mounts them: its command can run without a kubelet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from support.files.kubelet_volume import KubeletVolume

from kube.rendering import manifests

_MOUNTED = re.compile("/run/secrets|/var/lib/gitops-connect|/etc/gitops-connect")


class MountedPod:
    """Its arguments, its environment, and its mounts: directories below `root`, by their paths.

    `prefix` is added to the paths in the settings and the environment: a process on this machine finds its files below
    `root`, and a container finds them at the paths of the manifest.
    """

    def __init__(self, text: str, secrets: Mapping[str, Mapping[str, str]], root: Path, prefix: str) -> None:
        found = {one["kind"]: one for one in manifests(text)}
        (container,) = found["Pod"]["spec"]["containers"]
        sources = {one["name"]: one for one in found["Pod"]["spec"]["volumes"]}
        self.arguments: list[str] = container["args"]
        self.environment = {one["name"]: _MOUNTED.sub(rf"{prefix}\g<0>", one["value"]) for one in container["env"]}
        self.mounts: dict[str, Path] = {}
        for mount in container["volumeMounts"]:
            directory = self.mounts[mount["mountPath"]] = root / mount["mountPath"].lstrip("/")
            match sources[mount["name"]]:
                case {"configMap": _}:
                    data = found["ConfigMap"]["data"]
                    KubeletVolume(directory, {name: _MOUNTED.sub(rf"{prefix}\g<0>", one) for name, one in data.items()})
                case {"secret": {"secretName": name}}:
                    KubeletVolume(directory, secrets[name])
                case _:
                    directory.mkdir(parents=True)
