"""The context in which a manifest is checked: its connector's config, and the repository's schema for its class."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.checks import own_schemas
from gitops_connect.checks.own_schemas import OwnSchemas
from gitops_connect.checks.schema_limits import MAX_BYTES
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.manifests import ManifestContext, OffsetSchema
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.operations import Acknowledgement
from gitops_connect.model.shapes import schema_of
from gitops_connect.source.checkout import Checkout

Schemas = Mapping[str, OffsetSchema]
"""Schemas by full class name."""


def read_own_schemas(checkout: Checkout) -> OwnSchemas:
    """The repository's schemas for the offsets of its own connector classes."""
    entries = [entry for entry in checkout.entries if own_schemas.is_offset_schema(entry.path)]
    return own_schemas.load((blob.path, blob.content) for blob in checkout.blobs(entries, MAX_BYTES + 1))


def context_of(
    connector: DesiredConnector,
    live: Offsets | None,
    schemas: Schemas,
    acknowledged: frozenset[Acknowledgement] = frozenset(),
) -> ManifestContext:
    """The context in which a manifest of that connector is checked. `schemas` are those of the repository."""
    schema = schema_of(connector.config, schemas)
    return ManifestContext(connector.name, connector.config, live, schema, acknowledged)
