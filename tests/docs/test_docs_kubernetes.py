"""The manifests of deploy/kustomize and of the page about Kubernetes are what Kubernetes and the program accept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from support.docs.docs_pages import DOCS, ROOT, code
from support.files.tables import read_yaml
from test_dockerfile import final

from gitops_connect.settings.settings_file import load_settings

PAGE = DOCS / "how-to" / "run-in-kubernetes.md"
BLOCKS = {block.comment: block.text for block in code(PAGE) if block.language == "yaml"}
EXAMPLE = ROOT / "deploy" / "kustomize" / "example"
BASE = ROOT / "deploy" / "kustomize" / "base" / "gitops-connect.yaml"
MANIFESTS: dict[str, Any] = {one["kind"]: one for one in yaml.safe_load_all(BASE.read_text())}
POD = MANIFESTS["Deployment"]["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
MOUNTS = {mount["name"]: mount for mount in CONTAINER["volumeMounts"]}
VOLUMES = {volume["name"]: volume for volume in POD["volumes"]}
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


@pytest.mark.parametrize("version", ["1.25", kubernetes_validate.latest_version()])
@pytest.mark.parametrize("kind", MANIFESTS)
def test_they_are_what_kubernetes_accepts(kind: str, version: str) -> None:
    """In strict mode: unknown fields are errors."""
    assert version.startswith(kubernetes_validate.validate(MANIFESTS[kind], version, strict=True))


def test_the_network_policy_for_strimzi_is_what_kubernetes_accepts() -> None:
    kubernetes_validate.validate(
        yaml.safe_load(BLOCKS["<!-- file: my-connect-rest.yaml -->"]), kubernetes_validate.latest_version(), strict=True
    )


def test_what_is_mounted_exists() -> None:
    assert MOUNTS.keys() == VOLUMES.keys()
    claim = VOLUMES["state"]["persistentVolumeClaim"]["claimName"]
    assert claim == MANIFESTS["PersistentVolumeClaim"]["metadata"]["name"]
    labels = MANIFESTS["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert MANIFESTS["Deployment"]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert MANIFESTS["Service"]["spec"]["selector"].items() <= labels.items()


def test_the_pod_runs_as_the_user_of_the_image() -> None:
    context = POD["securityContext"]
    assert f"{context['runAsUser']}:{context['runAsGroup']}" == final("USER")
    assert context["fsGroup"] == context["runAsGroup"]
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert MOUNTS["state"]["mountPath"] == final("WORKDIR")


def test_the_settings_are_found_and_name_only_what_is_mounted() -> None:
    (variable,) = CONTAINER["env"]
    assert variable["name"] == "GITOPS_CONNECT_CONFIG"
    path = Path(variable["value"])
    assert str(path.parent) == MOUNTS["settings"]["mountPath"]
    (generator,) = read_yaml(EXAMPLE / "kustomization.yaml")["configMapGenerator"]
    assert generator == {"name": VOLUMES["settings"]["configMap"]["name"], "files": [path.name]}
    settings = load_settings(EXAMPLE / path.name, {})
    assert settings.state.url.removeprefix("sqlite:///").startswith(MOUNTS["state"]["mountPath"])
    assert POD["terminationGracePeriodSeconds"] > settings.daemon.shutdown_timeout
    (secret,) = (volume["secret"]["secretName"] for volume in POD["volumes"] if "secret" in volume)
    keys = {one["secretKey"] for one in read_yaml(EXAMPLE / "external-secret.yaml")["spec"]["data"]}
    for credential in (settings.repository.password, settings.server.read_token):
        assert credential is not None
        assert credential.file is not None
        assert str(credential.file.parent) == MOUNTS[f"secret-{secret}"]["mountPath"]
        assert credential.file.name in keys
    (port,) = CONTAINER["ports"]
    assert str(settings.server.listen).endswith(f":{port['containerPort']}")
    assert {CONTAINER[probe]["httpGet"]["port"] for probe in PROBES} == {port["name"]}


@pytest.mark.parametrize("files", [["values"], ["values", "replicas"]], ids=["values", "replicas"])
def test_the_values_of_the_page_fit_the_schema(files: list[str]) -> None:
    values: dict[str, Any] = {"replicas": 1, "settings": {}}
    for name in files:
        found = yaml.safe_load(BLOCKS[f"<!-- file: {name}.yaml -->"])
        values |= {**found, "settings": {"state": {"url": "sqlite:///x"}, **values["settings"], **found["settings"]}}
    jsonschema.validate(values, read_yaml(ROOT / "deploy" / "helm" / "values.schema.json"))
