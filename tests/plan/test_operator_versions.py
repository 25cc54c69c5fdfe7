"""The version of Strimzi that wrote the current config of a mirror, and the one of the settings."""

from __future__ import annotations

from typing import Any

import pytest
from support.files.document_files import LOCAL
from support.files.mirror_resources import new_shape, old_shape, resource_text
from support.files.strimzi_resources import read
from support.planner.situations import seen, situation

from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.strimzi import StrimziOptions, parse_strimzi_version
from gitops_connect.plan.planner import plan
from gitops_connect.report.words import values

pytestmark = pytest.mark.slow

SECRET = {"secretName": "s", "password": "p"}
PLAIN = {"authentication": {"type": "plain", "username": "me", "passwordSecret": SECRET}}
TLS = {"tls": {"trustedCertificates": [{"secretName": "s", "certificate": "c"}]}}
VERSIONS = {"0.45": "0.45 or older", "0.46": "0.46 to 1.0", "0.51": "0.46 to 1.0", "1.0": "0.46 to 1.0"}
VERSIONS |= {"1.1": "1.1 or newer", "1.2": "1.1 or newer"}


def declared(version: str, source: dict[str, Any], **options: Any) -> DesiredConnector:
    """The old shape if the version does not know the other."""
    is_old = version in ("0.45", "0.46")
    text = resource_text((old_shape if is_old else new_shape)(source=source), "v1beta2" if is_old else "v1")
    chosen = StrimziOptions(parse_strimzi_version(version), {"mm2": LOCAL}, **{"workers": True, **options})
    (found,) = read(text, chosen)[0].connectors
    return found


def warnings(current: DesiredConnector, wanted: DesiredConnector) -> list[str]:
    return list(plan(situation([wanted], [seen(wanted.name, config=current.config)], owned=[wanted.name])).warnings)


@pytest.mark.parametrize("source", [PLAIN, TLS, PLAIN | TLS], ids=["plain", "tls", "both"])
def test_the_plan_names_the_version_that_wrote_the_current_placeholders(source: dict[str, Any]) -> None:
    for current, before in VERSIONS.items():
        for chosen, after in VERSIONS.items():
            found = warnings(declared(current, source), declared(chosen, source))
            assert len(found) == (before != after), (current, chosen, found)
            for text in found:
                assert text.startswith(f"Strimzi {before} has written the current config of a->b.MirrorSourceConnector")
                assert f"by those of {after}," in text
                assert text.endswith(f"set [strimzi] version to the version of the operator ({before})")


def test_both_placeholders_are_shown_and_no_literal_of_the_login() -> None:
    current, wanted = declared("0.45", PLAIN), declared("1.2", PLAIN)
    (made,) = plan(situation([wanted], [seen(wanted.name, config=current.config)], owned=[wanted.name])).connectors
    changes = {one.key: values(one) for step in made.steps for one in step.changes}
    shown = changes["source.cluster.sasl.jaas.config"]
    assert "${file:/tmp/strimzi-mirrormaker2-connector.properties:a.sasl.password}" in shown
    assert "${strimzisecrets:kafka/s:p}" in shown


def test_other_differences_say_nothing_about_the_version() -> None:
    current = declared("1.2", PLAIN)
    for other in (declared("1.2", {}), declared("1.2", PLAIN | {"config": {"a": "${strimzienv:B}"}})):
        assert warnings(current, other) == warnings(other, current) == []
    mapped = declared("1.2", PLAIN, placeholders={"strimzisecrets:": "file:/secrets/"}, workers=False)
    assert warnings(declared("0.45", PLAIN), mapped) == [], "the mapping names a provider on purpose"
