"""The chart renders manifests that Kubernetes accepts, and refuses values that cannot work."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from support.docs.docs_pages import DOCS, ROOT
from support.files.tables import read_yaml

from gitops_connect.daemon.daemon import in_effect
from gitops_connect.settings.settings_file import load_settings
from kube.rendering import BASE, CHART, KUSTOMIZE, Refused, kustomize_base, manifests, next_version, rendered

pytestmark = pytest.mark.slow

TABLE: dict[str, Any] = read_yaml(Path(__file__).with_suffix(".yaml"))
CUSTOM = {"HTTPRoute", "PrometheusRule", "ServiceMonitor"}
LAST_FIVE = list(dict.fromkeys(map(kubernetes_validate.utils.major_minor, kubernetes_validate.utils.all_versions())))[
    -5:
]


DEFAULTS: dict[str, Any] = read_yaml(CHART / "values.yaml")


def merged(values: Mapping[str, Any], more: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Maps are merged. Null removes a value. Helm needs it only for values that the chart itself has."""
    found = dict(values)
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(found.get(key), Mapping):
            found[key] = merged(found[key], value, defaults.get(key) or {})
        elif value is None and key not in defaults:
            del found[key]
        else:
            found[key] = value
    return found


def values_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a case, and those without which nothing is rendered."""
    return merged(TABLE["minimal"], case["values"], DEFAULTS)


RENDERINGS = [pytest.param(case, id=case["id"]) for case in TABLE["renderings"]]


def render(tools: Path, case: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By kind; the ConfigMap is that of the settings."""
    found = manifests(rendered(tools, values_of(case)))
    return {one["kind"]: one for one in reversed(found) if not one["metadata"]["name"].endswith("dashboard")}


@pytest.mark.parametrize("case", RENDERINGS)
def test_kubernetes_accepts_what_is_rendered(tools: Path, case: Mapping[str, Any]) -> None:
    """The schemas of the last five minor versions, in strict mode: unknown fields are errors."""
    text = rendered(tools, values_of(case))
    assert rendered(tools, values_of(case)) == text, "Argo CD and Flux render again and again"
    found = manifests(text)
    expected = [kind for kind in TABLE["always"] if kind != case.get("without")]
    assert sorted(one["kind"] for one in found) == sorted(expected + case["kinds"])
    assert len(LAST_FIVE) == 5
    for manifest in found:
        if manifest["kind"] not in CUSTOM:
            for version in LAST_FIVE:
                kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("case", RENDERINGS)
def test_the_program_can_read_the_settings(tools: Path, case: Mapping[str, Any], tmp_path: Path) -> None:
    found = render(tools, case)
    file = tmp_path / "gitops-connect.toml"
    file.write_text(found["ConfigMap"]["data"][file.name])
    settings = load_settings(file, {})
    assert settings.clusters["prod"].url == ("http://connect.kafka.svc:8083",)  # type: ignore[index]
    grace = found["Deployment"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > settings.daemon.shutdown_timeout


def test_every_setting_has_the_same_value_in_the_chart(tools: Path, tmp_path: Path) -> None:
    """All settings of the reference, with numbers that Helm turns into floats."""
    example = (DOCS / "reference" / "gitops-connect.toml").read_text().replace("127.0.0.1", "0.0.0.0")
    secrets = ["connectors", "git-ssh-key", "git-token", "gitops-connect", "kafka-client-secret", "kafka-password"]
    variables = ["CONNECT_PASSWORD", "CONNECT_API_KEY", "S3_SECRET_KEY", "WEBHOOK_SECRET", "SLACK_URL"]
    values = {
        "settings": tomllib.loads(example),
        "secrets": [*secrets, "ledger-key", "shop-url"],
        "env": {name: {"secret": "any", "key": "any"} for name in variables},
    }
    found = render(tools, {"values": values})
    for name, text in (("a.toml", example), ("b.toml", found["ConfigMap"]["data"]["gitops-connect.toml"])):
        (tmp_path / name).write_text(text)
    written, expected = (load_settings(tmp_path / name, {}) for name in ("b.toml", "a.toml"))
    for section in ("repository", "state", "clusters", "secrets", "spark", "daemon", "server", "notifications"):
        assert getattr(written, section) == getattr(expected, section), section
    assert (written.forge, written.strimzi) == (expected.forge, expected.strimzi)


def test_strings_stay_what_they_are(tools: Path, tmp_path: Path) -> None:
    odd = "a: \"b\" 'c' # {{ .Values.image }}\n---\n[x] é \u2028 \\"
    found = render(tools, {"values": {"settings": {"repository": {"path": odd}}, "env": {"ODD": odd}}})
    (tmp_path / "x.toml").write_text(found["ConfigMap"]["data"]["gitops-connect.toml"])
    assert load_settings(tmp_path / "x.toml", {}).repository.path == odd
    (container,) = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert {one["name"]: one.get("value") for one in container["env"]}["ODD"] == odd


@pytest.mark.parametrize("case", TABLE["refused"], ids=lambda case: case["message"][:60])
def test_values_that_cannot_work_are_refused(tools: Path, case: Mapping[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        rendered(tools, values_of(case))
    assert case["message"] in str(refused.value)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("settings", TABLE["changes"], ids=str)
def test_the_pod_restarts_only_for_settings_that_need_it(
    tools: Path, settings: Mapping[str, Any], tmp_path: Path
) -> None:
    pods, read = [], []
    for values in ({}, {"settings": settings}):
        found = render(tools, {"values": values})
        pods.append(found["Deployment"]["spec"]["template"]["metadata"]["annotations"])
        (tmp_path / "settings.toml").write_text(found["ConfigMap"]["data"]["gitops-connect.toml"])
        read.append(load_settings(tmp_path / "settings.toml", {}))
    assert pods[0].keys() == {"checksum/settings"}
    assert (pods[0] != pods[1]) == (in_effect(*read) != read[1])


def test_the_network_policy_opens_only_the_ports_of_the_settings(tools: Path) -> None:
    settings = {
        "repository": {"url": "git@git.example.org:platform/connectors.git", "password": None},
        "clusters": {
            "prod": {"url": ["http://c1:8083", "https://c2"], "kafka": {"bootstrap_servers": ["k1:9093", "k2:9094"]}}
        },
        "forge": {"kind": "github", "token": {"file": "/run/secrets/gitops-connect/forge"}},
        "state": {
            "url": "postgresql+psycopg://u@h1,h2:5433/d",
            "key": {"file": "/run/secrets/gitops-connect/key"},
        },
    }
    policy = render(tools, {"values": {"settings": settings}})["NetworkPolicy"]["spec"]
    ports = [[port["port"] for port in rule["ports"]] for rule in policy["egress"]]
    assert ports == [[53, 53], [8083, 443], [5433], [443], [22], [9093, 9094]]
    assert policy["ingress"] == [{"ports": [{"port": 8080, "protocol": "TCP"}]}]


def test_the_volume_survives_an_uninstall_and_an_upgrade(tools: Path, tmp_path: Path) -> None:
    """The next version of the chart renders the same claim, and the same selector, which cannot be changed."""
    before, after = (
        {one["kind"]: one for one in manifests(rendered(tools, TABLE["minimal"], chart=chart))}
        for chart in (CHART, next_version(tmp_path))
    )
    claims = before["PersistentVolumeClaim"], after["PersistentVolumeClaim"]
    assert claims[0]["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert claims[0]["spec"] == claims[1]["spec"]
    assert claims[0]["metadata"]["name"] == claims[1]["metadata"]["name"]
    assert before["Deployment"]["spec"]["selector"] == after["Deployment"]["spec"]["selector"]


def test_the_alerts_and_the_dashboard_are_those_of_the_repository(tools: Path) -> None:
    case = next(case for case in TABLE["renderings"] if case["id"] == "monitoring")
    found = manifests(rendered(tools, values_of(case)))
    (rule,) = (one for one in found if one["kind"] == "PrometheusRule")
    assert rule["spec"] == read_yaml(CHART / "files" / "prometheus-alerts.yaml")
    (board,) = (one for one in found if one["metadata"]["name"] == "gitops-connect-dashboard")
    assert board["data"]["gitops-connect.json"] == (CHART / "files" / "grafana-dashboard.json").read_text()


def test_the_base_of_kustomize_is_up_to_date(tools: Path) -> None:
    assert BASE.read_text() == kustomize_base(tools), "run `make chart`"


def test_the_chart_has_the_version_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = (ROOT / "gitops_connect" / "__init__.py").read_text()
    assert chart["version"] == chart["appVersion"]
    assert f'"{chart["appVersion"]}"' in version
    assert KUSTOMIZE.is_dir()
