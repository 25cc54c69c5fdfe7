"""Whatever is in a resource, it is expanded or has errors; the expansion never fails."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.files.mirror_resources import expanded, new_shape, old_shape, resource

from gitops_connect.model.documents import Pointer

CONNECTOR = {"tasksMax": 1, "config": {"a": 1}, "state": "running", "autoRestart": {}}
PASSWORD = {"type": "plain", "username": "u", "passwordSecret": {"secretName": "s", "password": "p"}}
CERTIFICATE = {"type": "tls", "certificateAndKey": {"secretName": "s", "certificate": "c", "key": "k"}}
MORE: dict[str, Any] = {
    "mirror": {
        "sourceConnector": CONNECTOR,
        "checkpointConnector": {},
        "topicsPattern": "x",
        "groupsExcludePattern": "y",
    },
    "source": {"tls": {"trustedCertificates": [{"secretName": "s", "certificate": "c"}]}, "authentication": PASSWORD},
    "target": {"config": {"b": 2}, "authentication": CERTIFICATE},
    "rack": {"topologyKey": "zone"},
    "metricsConfig": {"type": "strimziMetricsReporter"},
    "tracing": {"type": "opentelemetry"},
}
SPECS = [("v1", new_shape(**MORE)), ("v1beta2", old_shape(**MORE)), ("v1beta2", new_shape(**MORE))]
VERSIONS = ["0.17", "0.22", "0.23", "0.39", "0.40", "0.43", "0.45", "0.48", "0.49", "0.51", "1.0", "1.2"]
LEAVES = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "b", "x/y", "oauth", "custom", "jaeger"])
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=2)
)


def pointers(value: Any, base: Pointer = ()) -> Iterator[Pointer]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield (*base, key)
        yield from pointers(one, (*base, key))


@given(st.sampled_from(SPECS), st.sampled_from(VERSIONS), st.data())
def test_every_value_at_every_field_is_expanded_or_an_error(
    case: tuple[str, dict[str, Any]], version: str, data: st.DataObject
) -> None:
    api, spec = case
    *parents, last = data.draw(st.sampled_from(list(pointers(spec))))
    changed = copy.deepcopy(spec)
    at: Any = changed
    for key in parents:
        at = at[key]
    at[last] = data.draw(VALUES)
    expansion = expanded(resource(changed, api), version)
    assert not (expansion.connectors and expansion.diagnostics.errors)
    for one in expansion.connectors:
        assert one.config.keys() >= {"source.cluster.alias", "target.cluster.alias"}
        assert one.config.keys() >= one.places.keys()
