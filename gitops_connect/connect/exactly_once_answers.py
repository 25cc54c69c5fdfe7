"""What Connect's validation says about exactly-once sources (KIP-618): its texts, each with a rule."""

from __future__ import annotations

from dataclasses import dataclass

from gitops_connect.connect.validation import ConfigVerdict
from gitops_connect.model.exactly_once import SUPPORT, ExactlyOnceSupport

OF_KAFKA = "org.apache.kafka."


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """A text of Connect that contains `part`, in each version of Kafka since 3.3. `rule` and `hint` are ours."""

    part: str
    rule: str
    hint: str


_NOT_ENABLED = KnownAnswer(
    "This worker does not have exactly-once source support enabled",
    "connect/exactly-once-not-enabled",
    "set exactly.once.source.support on all workers: first to preparing, and after a rolling restart to enabled",
)
_UNCONFIRMED = KnownAnswer(
    "does not implement the API required for preflight validation of exactly-once source support",
    "connect/exactly-once-unconfirmed",
    "if the documentation of the class says that it supports exactly-once, use requested instead of required",
)
_CHECK_FAILED = KnownAnswer(
    "An unexpected error occurred during validation",
    "connect/exactly-once-check-failed",
    "read the log of the worker, and fix the config key that the error names",
)
_UNSUPPORTED = KnownAnswer(
    "The connector does not support exactly-once ",  # "delivery guarantees" in 3.3, "semantics" later
    "connect/exactly-once-unsupported",
    "change the config as the documentation of the class requires for exactly-once, or use requested",
)
_OF_MIRROR_MAKER = KnownAnswer(
    "can only provide exactly-once guarantees when its source consumer is configured with isolation.level",
    "connect/exactly-once-unsupported",
    "set source.consumer.isolation.level to read_committed",
)
_BOUNDARIES = tuple(
    KnownAnswer(part, "connect/boundary-unsupported", "use the boundary poll or interval")
    for part in (
        "does not support connector-defined transaction boundaries",
        "null value from its canDefineTransactionBoundaries method",
    )
)
ANSWERS = (_NOT_ENABLED, _UNCONFIRMED, _UNSUPPORTED, _OF_MIRROR_MAKER, *_BOUNDARIES, _CHECK_FAILED)
_AFTER_THE_WORKER = (_UNCONFIRMED, _UNSUPPORTED, _CHECK_FAILED)
"""The texts that Connect adds after it has checked the worker itself."""


def known_answer(text: str) -> KnownAnswer | None:
    return next((one for one in ANSWERS if one.part in text), None)


def support_shown_by(verdict: ConfigVerdict, class_name: str) -> ExactlyOnceSupport:
    """Whether the worker supports exactly-once sources, by its verdict on a config of that class that requires it.

    UNKNOWN if the class is no source, or if another error may have prevented Connect's check. A class can replace the
    result of Connect's check by its own (`AbstractHerder.generateResult`), so that no error proves nothing, except for
    the classes of Kafka.
    """
    if SUPPORT not in verdict.defined:
        return ExactlyOnceSupport.UNKNOWN
    found = [known_answer(text) for text in verdict.errors.get(SUPPORT, ())]
    if _NOT_ENABLED in found:
        return ExactlyOnceSupport.NOT_ENABLED
    is_proof = bool(found) or class_name.startswith(OF_KAFKA)
    is_checked = is_proof and all(one in _AFTER_THE_WORKER for one in found)
    return ExactlyOnceSupport.ENABLED if is_checked else ExactlyOnceSupport.UNKNOWN
