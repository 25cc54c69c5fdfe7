"""Files that Kustomize builds are not read: a prefix would make a second connector of each."""

from __future__ import annotations

from typing import Any

import pytest
from support.files.document_files import connector, files
from support.files.tables import rows

from gitops_connect.documents.load import ParseCache, load


@pytest.mark.parametrize("row", rows(__file__, "kustomizations"), ids=lambda row: row["case"])
def test_what_kustomize_builds_is_not_read(row: dict[str, Any]) -> None:
    contents = {path: text or connector(f"c{number}") for number, (path, text) in enumerate(row["files"].items())}
    cache, warnings = ParseCache(), row.get("warnings", {})
    for _ in range(2):
        found = load(files(contents), cache)
        assert [one.location.file for one in found.documents] == row["read"]
        assert [(one.rule, one.location.file) for one in found.diagnostics] == [
            ("document/kustomize", path) for path in sorted(warnings)
        ]
        assert found.complete is not bool(warnings)
        for one in found.diagnostics:
            count = warnings[one.location.file]
            assert f"builds {'a file' if count == 1 else f'{count} files'} with connectors" in one.summary


def test_a_config_map_and_a_resource_of_strimzi() -> None:
    """A ConfigMap that another file names is read again and again, and is no declaration."""
    resource = (
        "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\nmetadata: {name: a, labels: {strimzi.io/cluster: c}}\n"
    )
    resource += "spec: {class: C, alterOffsets: {fromConfigMap: {name: found}}}\n"
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: found}\ndata: {}\n"
    contents = {"a/kustomization.yaml": "resources: [map.yaml]\n", "a/map.yaml": config_map, "b.yaml": resource}
    cache = ParseCache()
    for _ in range(2):
        found = load(files(contents), cache)
        assert found.complete
        assert [one.location.file for one in found.strimzi] == ["a/map.yaml", "b.yaml"]
    built = load(files({**contents, "a/kustomization.yaml": "resources: [../b.yaml]\n"}), ParseCache())
    assert (built.complete, built.strimzi) == (False, ())


def test_a_kustomization_is_read_once() -> None:
    contents = {"a/kustomization.yaml": "resources: [x.yaml]\n", "a/x.yaml": connector("a")}
    cache = ParseCache()
    load(files(contents), cache)
    again = files(contents)
    load(again, cache)
    assert again.reads == []
    without = {"a/x.yaml": connector("a")}
    assert len(load(files(without), cache).documents) == 1
    changed = files({**contents, "a/kustomization.yaml": "resources: [y.yaml]\n", "a/y.yaml": "kind: Deployment\n"})
    assert len(load(changed, cache).documents) == 1
