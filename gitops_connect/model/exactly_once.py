"""Exactly-once sources (KIP-618): whether workers support them, and the config keys of connectors that concern them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum

from gitops_connect.model.sensitivity import is_mask, is_reference

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


class Delivery(Enum):
    """What is guaranteed of the records that a source writes, for consumers that read only committed records."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"
    """A class may write each record once all the same: nothing confirms it."""
    UNKNOWN = "unknown"
    """The config may require exactly-once, and whether the workers support it may be unknown."""


def requires_exactly_once(config: Mapping[str, str]) -> bool:
    return config.get(SUPPORT, "").strip().lower() == "required"


def delivery(config: Mapping[str, str], support: ExactlyOnceSupport) -> Delivery:
    """The guarantee of a source that runs with this config.

    Workers with that support write the records of every source in transactions. But a source delivers exactly once only
    if its class resumes at the offset of the last transaction. With `required`, Connect accepts only a config for which
    the class confirms this (`SourceConnector.exactlyOnceSupport`).
    """
    is_hidden = is_reference(config.get(SUPPORT, "")) or is_mask(config.get(SUPPORT, ""))
    if support is ExactlyOnceSupport.NOT_ENABLED or not (is_hidden or requires_exactly_once(config)):
        return Delivery.AT_LEAST_ONCE
    return Delivery.UNKNOWN if is_hidden or support is ExactlyOnceSupport.UNKNOWN else Delivery.EXACTLY_ONCE


@dataclass(frozen=True, slots=True)
class DeliveryChange:
    """Another guarantee of an existing source. `is_declared`: a commit declares it; no drift and no rollback."""

    before: Delivery
    after: Delivery
    is_declared: bool

    @property
    def must_be_acknowledged(self) -> bool:
        is_weaker = self.before is not Delivery.AT_LEAST_ONCE and self.after is not Delivery.EXACTLY_ONCE
        return is_weaker and self.is_declared

    @property
    def words(self) -> str:
        return f"delivery: {self.before.value} -> {self.after.value}"
