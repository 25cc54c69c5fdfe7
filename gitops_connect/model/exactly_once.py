"""Exactly-once sources (KIP-618): whether workers support them, and the config keys of connectors that concern them."""

from __future__ import annotations

from enum import Enum, StrEnum

SUPPORT = "exactly.once.support"
BOUNDARY = "transaction.boundary"
INTERVAL = "transaction.boundary.interval.ms"
OFFSETS_TOPIC = "offsets.storage.topic"
FIELDS = {"support": SUPPORT, "boundary": BOUNDARY, "interval": INTERVAL, "offsetsTopic": OFFSETS_TOPIC}
"""The fields of `spec.exactlyOnce` of a `Connector` document, and the config keys that they set."""
WORDS = {SUPPORT: ("required", "requested"), BOUNDARY: ("interval", "poll", "connector")}
"""The values that Connect accepts, in any case, in the order of its messages (`SourceConnectorConfig`)."""


class ExactlyOnceSupport(Enum):
    """Whether workers support exactly-once sources. Connect does not tell `disabled` from `preparing`."""

    ENABLED = "enabled"
    NOT_ENABLED = "not enabled"
    UNKNOWN = "unknown"


class ExpectedSupport(StrEnum):
    """`exactly.once.source.support` of the workers, as an administrator states it, or as the sandbox sets it."""

    DISABLED = "disabled"
    PREPARING = "preparing"
    ENABLED = "enabled"

    @property
    def support(self) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.ENABLED if self is ExpectedSupport.ENABLED else ExactlyOnceSupport.NOT_ENABLED
