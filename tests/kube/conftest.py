"""The chart's tools and an API server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from standin.fixtures import standin

from gitops_connect.sandbox.jars import cache_directory
from kube.api_server import ApiServer, api_server
from kube.kube_tools import kube_tools

__all__ = ["server", "standin", "tools"]

_TOOLS = kube_tools(cache_directory(os.environ))
"""Looked up before the home directory is hidden."""


@pytest.fixture(scope="session")
def tools() -> Path:
    """The directory with helm, kubectl and the API server."""
    if not _TOOLS.is_dir():
        pytest.skip("helm and the Kubernetes API server are not built; build them once: make kube")
    return _TOOLS


@pytest.fixture(scope="session")
def server(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server with the custom resources of the chart, and a namespace with the restricted profile."""
    with api_server(tools, tmp_path_factory.mktemp("kube")) as running:
        for file in sorted((tools / "resources").iterdir()):
            running.apply(file.read_text())
        running.apply(_MONITORING)
        running.kubectl("create", "namespace", "gitops")
        running.kubectl("label", "namespace", "gitops", "pod-security.kubernetes.io/enforce=restricted")
        yield running


_MONITORING = "---".join(
    f"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.monitoring.coreos.com}}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {{kind: {kind}, plural: {plural}}}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
"""
    for kind, plural in (("ServiceMonitor", "servicemonitors"), ("PrometheusRule", "prometheusrules"))
)
"""Without the fields: the program `monitoring` of the tools checks them with the types of the operator."""
