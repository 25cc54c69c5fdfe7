"""What annotations of Strimzi resources request: proposals 007, 076 and 083, as tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.files.document_files import files as memory_files
from support.files.mirror_resources import new_shape, resource_text
from support.files.strimzi_resources import LABEL, SPEC, kafka_connector
from support.files.tables import rows

from gitops_connect.documents.desired_state import Requests
from gitops_connect.documents.load import ParseCache, load
from gitops_connect.model.desired import RESET_TOPICS
from gitops_connect.model.documents import Document, Documents
from gitops_connect.model.strimzi import AnnotationAction, StrimziOptions, reviewed_name
from gitops_connect.strimzi.annotations import AnnotatedResource, find_annotated, with_requests
from gitops_connect.strimzi.translation import TranslationCache, translate

MIRROR = "a->b.MirrorSourceConnector"
ENTRY = "a--b.MirrorSourceConnector.json"
OFFSETS, NAME = "strimzi.io/connector-offsets", "strimzi.io/mirrormaker-connector"
OPTIONS = StrimziOptions()
ADDED = "0123456789ab"
SOURCE_OFFSETS = {
    "partition": {"cluster": "east", "partition": 0, "topic": "orders"},
    "offset": {"offset": 3},
}


def mirror_maker(annotations: Mapping[str, str], **source: object) -> str:
    return resource_text(new_shape({"sourceConnector": source}), annotations=annotations)


def connector(annotations: Mapping[str, str], **spec: object) -> str:
    fields = "".join(f"  {name}: {json.dumps(value)}\n" for name, value in spec.items())
    return kafka_connector(SPEC + fields, metadata=f"{LABEL}  annotations: {json.dumps(annotations)}\n")


RESOURCES = {"mirror": mirror_maker, "connector": connector}


def config_map(entry: str, offsets: object, name: str = "found", namespace: str = "kafka") -> str:
    text = offsets if isinstance(offsets, str) else json.dumps(offsets, indent=2)
    block = text.replace("\n", "\n    ")
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
    return f"{head}data:\n  {entry}: |\n    {block}\n  other: not JSON\n"


def requested(files: Mapping[str, str], addition: str | None = ADDED) -> tuple[Documents, Requests]:
    loaded = translate(
        load(memory_files(files), ParseCache()),
        OPTIONS,
        TranslationCache(),
    )
    annotated: list[AnnotatedResource] = list(find_annotated(loaded, OPTIONS))
    additions = {request.key: addition for one in annotated for request in one.requests}
    return with_requests(loaded, annotated, additions)


def spec_of(documents: Documents) -> Mapping[str, object]:
    (document,) = documents.documents
    spec: Mapping[str, object] = document.value["spec"]
    return spec


def only_change(files: Mapping[str, str]) -> tuple[Document, str]:
    _, requests = requested(files)
    (change,) = requests.changes
    assert not requests.warnings
    return change.document, change.problem


ALTER = {OFFSETS: "alter", NAME: MIRROR}
FROM = {"alterOffsets": {"fromConfigMap": {"name": "found"}}}


@pytest.mark.parametrize("partition", rows(__file__, "partitions"))
def test_an_alter_has_the_offsets_of_the_config_map_at_their_places(partition: dict[str, object]) -> None:
    offsets = {"offsets": [{"partition": partition, "offset": {"offset": 0}}]}
    files = {"mm2.json": mirror_maker(ALTER, **FROM), "maps/found.yaml": config_map(ENTRY, offsets)}
    document, problem = only_change(files)
    assert problem == ""
    name = f"mm2.a--b.MirrorSourceConnector.alter.{ADDED}"
    assert document.value["metadata"] == {"name": name, "cluster": "mm2"}
    spec = document.value["spec"]
    assert (spec["connector"], spec["operation"], spec["offsets"]) == (MIRROR, "alter", offsets["offsets"])
    lines = files["maps/found.yaml"].splitlines()
    place = document.locate(("spec", "offsets", 0, "partition"))
    assert place.file == "maps/found.yaml"
    assert '"partition"' in lines[place.line - 1]


def test_a_reset_needs_no_config_map() -> None:
    document, problem = only_change({"mm2.json": mirror_maker({OFFSETS: "reset", NAME: MIRROR})})
    assert (document.value["spec"]["operation"], problem) == ("reset", "")
    assert "offsets" not in document.value["spec"]
    assert document.location.file == "mm2.json"
    assert reviewed_name(document.value["metadata"]["name"]) == "mm2.a--b.MirrorSourceConnector.reset"


@pytest.mark.parametrize(("kind", "spec", "expected"), rows(__file__, "listings"))
def test_a_list_names_the_entry(kind: str, spec: dict[str, object], expected: list[str]) -> None:
    annotations = {OFFSETS: "list", **({NAME: MIRROR} if kind == "mirror" else {})}
    (one,) = requested({"a.yaml": RESOURCES[kind](annotations, **spec)})[1].listings
    assert [one.config_map, one.namespace, one.entry, one.problem] == expected


@pytest.mark.parametrize("names", ["a->b.MirrorCheckpointConnector , a->b.MirrorSourceConnector", "*"])
def test_an_annotation_can_name_several_connectors(names: str) -> None:
    annotations = {OFFSETS: "reset", NAME: names}
    text = resource_text(new_shape({"sourceConnector": {}, "checkpointConnector": {}}), annotations=annotations)
    _, requests = requested({"mm2.json": text})
    found = {one.document.connector for one in requests.changes}
    assert len({one.document.offset_change for one in requests.changes}) == len(requests.changes) == len(found)
    named = {f"a->b.Mirror{kind}Connector" for kind in ("Source", "Checkpoint")}
    assert found == named if names != "*" else found >= named
    assert requests.warnings == ()


OFFSET_LIST = {"offsets": [SOURCE_OFFSETS]}


@pytest.mark.parametrize(("spec", "maps", "problem"), rows(__file__, "unusable"))
def test_offsets_that_cannot_be_used(spec: dict[str, object], maps: list[dict[str, Any]], problem: str) -> None:
    files = {f"{number}.yaml": config_map(**one) for number, one in enumerate(maps)}
    assert problem in only_change({"mm2.json": mirror_maker(ALTER, **spec), **files})[1]


def test_of_several_config_maps_the_nearest_one_counts() -> None:
    maps = {f"{name}/found.yaml": config_map(ENTRY, {"offsets": [{**SOURCE_OFFSETS, "offset": {"offset": number}}]})
            for number, name in enumerate(("dev", "prod"))}  # fmt: skip
    document, _ = only_change({"prod/mm2.json": mirror_maker(ALTER, **FROM), **maps})
    assert document.value["spec"]["offsets"][0]["offset"] == {"offset": 1}
    assert "several ConfigMaps with the name found" in only_change({"mm2.json": mirror_maker(ALTER, **FROM), **maps})[1]


@pytest.mark.parametrize("entry", ["offsets.json", "orders.json"])
def test_a_kafka_connector_has_two_names_for_its_entry(entry: str) -> None:
    files = {"a.yaml": connector({OFFSETS: "alter"}, **FROM), "found.yaml": config_map(entry, OFFSET_LIST)}
    document, problem = only_change(files)
    assert (document.value["metadata"]["name"], problem) == (f"orders.alter.{ADDED}", "")


@pytest.mark.parametrize(("kind", "annotations", "action", "name", "message"), rows(__file__, "warnings"))
def test_what_is_wrong_with_annotations(
    kind: str, annotations: dict[str, str], action: str, name: str | None, message: str
) -> None:
    text = RESOURCES[kind](annotations)
    documents, requests = requested({"a.yaml": text})
    (warning,) = requests.warnings
    assert (warning.action, warning.connector) == (AnnotationAction(action), name)
    assert message in warning.message
    assert warning.message.startswith("Failed to ")
    assert "strimzi.io/" in text.splitlines()[warning.location.line - 1]
    assert "restart" not in spec_of(documents)


@pytest.mark.parametrize(("kind", "annotation", "value", "expected"), rows(__file__, "restarts"))
def test_a_restart_is_a_field_of_the_connector(
    kind: str, annotation: str, value: str, expected: Mapping[str, object]
) -> None:
    text = RESOURCES[kind]({f"strimzi.io/{annotation}": value})
    documents, requests = requested({"a.yaml": text})
    spec = spec_of(documents)
    assert {key: spec[key] for key in ("restart", "restartTasks") if key in spec} == expected
    (field,) = expected
    place = documents.documents[0].locate(("spec", field))
    assert "strimzi.io/" in text.splitlines()[place.line - 1]
    assert requests == Requests()


@pytest.mark.parametrize("kind", RESOURCES)
def test_a_reset_of_active_topics_is_a_field_of_the_connector_at_the_place_of_its_annotation(kind: str) -> None:
    text = RESOURCES[kind]({RESET_TOPICS: "INC-1", "gitops-connect/allow-unknown-keys": "x"})
    documents, requests = requested({"a.yaml": text})
    assert spec_of(documents)["resetTopics"] == {"id": "INC-1"}
    (document,) = documents.documents
    assert document.value["metadata"]["annotations"] == {"gitops-connect/allow-unknown-keys": "x"}
    assert RESET_TOPICS in text.splitlines()[document.locate(("spec", "resetTopics", "id")).line - 1]
    assert requests == Requests()


@pytest.mark.parametrize("annotations", [{OFFSETS: "reset"}, {"strimzi.io/restart": "true"}])
def test_an_annotation_whose_commit_is_unknown_has_no_effect(annotations: Mapping[str, str]) -> None:
    documents, requests = requested({"a.yaml": connector(annotations)}, addition=None)
    (warning,) = requests.warnings
    assert "has no effect: it was added too long ago" in warning.message
    assert not requests.changes
    assert "restart" not in spec_of(documents)


def test_a_resource_without_such_annotations_is_not_touched() -> None:
    files = {"a.yaml": connector({"strimzi.io/pause-reconciliation": "true", "other": "1"})}
    assert requested(files)[1] == Requests()


@pytest.mark.parametrize(("policy", "own", "enabled"), rows(__file__, "a_restart_policy_for_all_connectors"))
def test_a_restart_policy_for_all_connectors(
    policy: dict[str, bool] | None, own: dict[str, object], *, enabled: bool
) -> None:
    """Proposal 007 has `autoRestartConnectorsAndTasks`."""
    value = json.loads(mirror_maker({}, **own))
    if policy is not None:
        value["spec"]["autoRestartConnectorsAndTasks"] = policy
    documents, _ = requested({"a.yaml": json.dumps(value)})
    restarts = spec_of(documents)["autoRestart"]
    assert isinstance(restarts, dict)
    assert restarts["enabled"] is enabled
    assert not documents.diagnostics
