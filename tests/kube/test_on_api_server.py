"""A real Kubernetes API server accepts all that the chart and kustomize render, with the restricted profile enforced.

There is no kubelet: no probe, volume or container is tried here.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kube.api_server import ApiServer, KubectlFailed
from kube.kube_tools import KUBERNETES
from kube.rendering import CHART, KUSTOMIZE, manifests, next_version, rendered
from kube.test_chart import CUSTOM, RENDERINGS, TABLE, values_of

pytestmark = pytest.mark.thorough


def pod_of(deployment: Mapping[str, Any]) -> str:
    """The Pod of the template: Pod Security rejects Pods; for a Deployment, it only warns."""
    template = deployment["spec"]["template"]
    metadata = {"name": "pod-of-the-template", "namespace": "gitops", **template["metadata"]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})


def with_service_account(server: ApiServer, found: list[dict[str, Any]]) -> None:
    """Without a controller manager, nothing else creates it, and no Pod is admitted without it."""
    server.apply(yaml.safe_dump_all([one for one in found if one["kind"] == "ServiceAccount"]), "--force-conflicts")


@pytest.mark.parametrize("case", RENDERINGS)
def test_the_server_accepts_it(server: ApiServer, tools: Path, case: Mapping[str, Any]) -> None:
    text = rendered(tools, values_of(case))
    found = manifests(text)
    with_service_account(server, found)
    answer = server.apply(text, "--dry-run=server", "--force-conflicts")
    assert len(answer.splitlines()) == len(found)
    (deployment,) = (one for one in found if one["kind"] == "Deployment")
    server.apply(pod_of(deployment), "--dry-run=server")
    for manifest in found:
        if manifest["kind"] in CUSTOM - {"HTTPRoute"}:  # its fields are checked by the server
            check = [str(tools / "monitoring"), manifest["kind"]]
            subprocess.run(check, input=json.dumps(manifest), text=True, check=True, capture_output=True)


def test_the_restricted_profile_is_enforced(server: ApiServer, tools: Path) -> None:
    """Otherwise the test above would prove nothing."""
    found = manifests(rendered(tools, TABLE["minimal"]))
    with_service_account(server, found)
    (deployment,) = (one for one in found if one["kind"] == "Deployment")
    del deployment["spec"]["template"]["spec"]["securityContext"]["seccompProfile"]
    with pytest.raises(KubectlFailed, match=r"violates PodSecurity.*seccompProfile"):
        server.apply(pod_of(deployment), "--dry-run=server")


def test_helm_keeps_the_volume(server: ApiServer, tmp_path: Path) -> None:
    """In an upgrade to the next version of the chart, at the end, and for the next installation."""
    release, values = ("gitops-connect", str(CHART)), tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(TABLE["minimal"]))
    options = ("--namespace=upgrade", f"--values={values}")
    notes = server.helm("install", *release, "--create-namespace", *options)
    assert "The ledger is /var/lib/gitops-connect/state.db on the PersistentVolumeClaim gitops-connect" in notes
    before = server.get("persistentvolumeclaim/gitops-connect", "--namespace=upgrade")
    server.helm("upgrade", release[0], str(next_version(tmp_path)), *options, "--set=image=registry.example.com/next:2")
    after = server.get("persistentvolumeclaim/gitops-connect", "--namespace=upgrade")
    assert (after["metadata"]["uid"], after["spec"]) == (before["metadata"]["uid"], before["spec"])
    deployment = server.get("deployment/gitops-connect", "--namespace=upgrade")
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example.com/next:2"
    server.helm("uninstall", release[0], "--namespace=upgrade")
    left = server.get("all,configmap,networkpolicy,persistentvolumeclaim", "--namespace=upgrade")["items"]
    assert [one["metadata"]["uid"] for one in left] == [before["metadata"]["uid"]]
    server.helm("install", *release, *options)
    again = server.get("persistentvolumeclaim/gitops-connect", "--namespace=upgrade")
    assert again["metadata"]["uid"] == before["metadata"]["uid"]


@pytest.mark.parametrize("case", RENDERINGS)
def test_a_second_sync_of_argo_cd_changes_nothing(server: ApiServer, tools: Path, case: Mapping[str, Any]) -> None:
    """Argo CD renders, adds its annotation, and applies on the server. It leaves out the Pod of `helm test`."""
    namespace = re.sub(r"\W+", "-", case["id"]).lower()
    server.kubectl("create", "namespace", namespace)
    options = (f"--namespace={namespace}", "--include-crds", f"--kube-version={KUBERNETES}", "--api-versions=apps/v1")
    found = [one for one in manifests(rendered(tools, values_of(case), *options)) if one["kind"] != "Pod"]
    for one in found:
        group, _, _ = one["apiVersion"].rpartition("/")
        tracked = f"gitops-connect:{group}/{one['kind']}:{namespace}/{one['metadata']['name']}"
        one["metadata"].setdefault("annotations", {})["argocd.argoproj.io/tracking-id"] = tracked
    text, synced = yaml.safe_dump_all(found), []
    for _ in range(2):
        server.apply(text, "--field-manager=argocd-controller")
        synced.append(json.loads(server.kubectl("get", "--output=json", manifests=text))["items"])
        for one in synced[-1]:  # the server stores an equal claim once more
            del one["metadata"]["resourceVersion"]
    assert len(synced[0]) == len(found)
    assert synced[0] == synced[1]
    server.kubectl("diff", "--server-side", "--field-manager=argocd-controller", manifests=text)


def test_the_server_accepts_the_example_of_kustomize(server: ApiServer, tools: Path) -> None:
    done = subprocess.run(
        [str(tools / "kubectl"), "kustomize", str(KUSTOMIZE / "example")], capture_output=True, text=True, check=True
    )
    found = manifests(done.stdout)
    with_service_account(server, found)
    server.apply(done.stdout, "--dry-run=server", "--force-conflicts")
    (deployment,) = (one for one in found if one["kind"] == "Deployment")
    server.apply(pod_of(deployment), "--dry-run=server")
    (settings,) = (one for one in found if one["kind"] == "ConfigMap")
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    assert [one["configMap"]["name"] for one in volumes if "configMap" in one] == [settings["metadata"]["name"]]
