"""The manifests of the page about Kubernetes: Kubernetes' schemas accept them, and the program can use them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from support.docs.docs_pages import DOCS, code
from test_dockerfile import final

from gitops_connect.settings.settings_file import load_settings

PAGE = DOCS / "how-to" / "run-in-kubernetes.md"
MANIFESTS: dict[str, Any] = {
    manifest["kind"]: manifest
    for block in code(PAGE)
    if block.language == "yaml"
    for manifest in yaml.safe_load_all(block.text)
}
POD = MANIFESTS["Deployment"]["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
MOUNTS = {mount["name"]: mount for mount in CONTAINER["volumeMounts"]}
PROBES = ("livenessProbe", "readinessProbe")
VOLUMES = {volume["name"]: volume for volume in POD["volumes"]}


@pytest.mark.parametrize("version", ["1.25", kubernetes_validate.latest_version()])
@pytest.mark.parametrize("kind", MANIFESTS)
def test_they_are_what_kubernetes_accepts(kind: str, version: str) -> None:
    """In strict mode: unknown fields are errors."""
    assert version.startswith(kubernetes_validate.validate(MANIFESTS[kind], version, strict=True))


def test_what_is_mounted_exists() -> None:
    assert MOUNTS.keys() == VOLUMES.keys()
    assert VOLUMES["settings"]["configMap"]["name"] == MANIFESTS["ConfigMap"]["metadata"]["name"]
    claim = VOLUMES["state"]["persistentVolumeClaim"]["claimName"]
    assert claim == MANIFESTS["PersistentVolumeClaim"]["metadata"]["name"]
    labels = MANIFESTS["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert MANIFESTS["Deployment"]["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_the_pod_runs_as_the_user_of_the_image() -> None:
    context = POD["securityContext"]
    assert f"{context['runAsUser']}:{context['runAsGroup']}" == final("USER")
    assert context["fsGroup"] == context["runAsGroup"]
    assert MOUNTS["state"]["mountPath"] == final("WORKDIR")


def test_prometheus_and_the_probes_find_the_port_of_the_server() -> None:
    (port,) = CONTAINER["ports"]
    annotations = MANIFESTS["Deployment"]["spec"]["template"]["metadata"]["annotations"]
    settings = tomllib.loads(MANIFESTS["ConfigMap"]["data"]["gitops-connect.toml"])
    assert annotations["prometheus.io/port"] == str(port["containerPort"])
    assert settings["server"]["listen"].endswith(f":{port['containerPort']}")
    probes = {CONTAINER[probe]["httpGet"]["path"]: CONTAINER[probe]["httpGet"]["port"] for probe in PROBES}
    assert probes == {"/healthz": port["name"], "/readyz": port["name"]}


def test_the_settings_are_found_and_name_only_what_is_mounted(tmp_path: Path) -> None:
    (variable,) = CONTAINER["env"]
    assert variable["name"] == "GITOPS_CONNECT_CONFIG"
    path = Path(variable["value"])
    assert str(path.parent) == MOUNTS["settings"]["mountPath"]
    file = tmp_path / path.name
    file.write_text(MANIFESTS["ConfigMap"]["data"][path.name])
    settings = load_settings(file, {})
    assert settings.clusters
    assert settings.state.url.removeprefix("sqlite:///").startswith(MOUNTS["state"]["mountPath"])
    assert settings.repository.password is not None
    assert Path(str(settings.repository.password.file)).parent == Path(MOUNTS["git"]["mountPath"])
    assert [str(directory) for directory in settings.secrets.files] == [MOUNTS["connectors"]["mountPath"]]
    assert all(mount.get("readOnly") for name, mount in MOUNTS.items() if name != "state")
