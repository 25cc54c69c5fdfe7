"""The store of a connector's offsets, and the offset changes that Connect cannot carry out in that store.

A sink's offsets are those of its consumer group, in the Kafka cluster of its consumer. The offsets of a source are in
the worker's offsets topic, and in a topic of the connector if its config names one. If the workers support exactly-once
sources, a source with another Kafka cluster has an offsets topic there, too (`Worker.offsetStoreFor…`).

Connect reads only the connector's own topic if there is one. KIP-618 says that it then reads the worker's topic for
partitions that are missing there, but `ConnectorOffsetBackingStore.get` replaces the worker's offsets by the null of
`KafkaOffsetBackingStore.get` for each missing partition. Connect writes all offsets to the worker's topic, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gitops_connect.families.offset_keys import ValueKey
from gitops_connect.model.client_servers import ADMIN_SERVERS, CONSUMER_SERVERS, PRODUCER_SERVERS, has_other_admin
from gitops_connect.model.desired import DesiredState, TargetState
from gitops_connect.model.differences import Direction, Refusal, Review
from gitops_connect.model.exactly_once import OFFSETS_TOPIC, SUPPORT, ExactlyOnceSupport
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.model.offset_changes import OffsetChange
from gitops_connect.plan.offset_review import ask_outcome
from gitops_connect.plan.situation import Situation

Config = Mapping[str, str]
_COPY = "the worker's offsets topic, which may have older offsets or none"
_SEED = (
    "to continue from the current offsets, run `{save}`, and set these offsets with an OffsetChange in the same commit"
)
OFFSETS_TOPIC_KEY = ValueKey(
    (OFFSETS_TOPIC,),
    "offsets are read from the topic {after} from now on, those in {before} are no longer read; without offsets of its"
    " own in {after} the connector {start}",
    "offsets are read from the topic {after} from now on, those in the worker's offsets topic are no longer read;"
    " without offsets of its own in {after} the connector {start}",
    f"offsets are read from {_COPY}; those in {{before}} are no longer read",
    hint=_SEED,
)
_THERE = "from the offsets topic in the Kafka cluster {after} from now on"
_START = "without offsets of its own there the connector {start}"
OFFSETS_CLUSTER_KEY = ValueKey(
    (CONSUMER_SERVERS,),
    f"offsets are read {_THERE}, those in {{before}} are no longer read; {_START}",
    f"offsets are read {_THERE}, those in the worker's offsets topic are no longer read; {_START}",
    f"offsets are read in the Kafka cluster of the workers from now on, from {_COPY}; those in {{before}} are no"
    " longer read",
    hint=_SEED,
)
"""For sources with an offsets topic of their own, in any Kafka cluster."""


def with_store(situation: Situation, offset_change: OffsetChange, review: Review) -> Review:
    """The review, also refused if Connect cannot carry out the change in the store of the offsets."""
    removes = bool(review.difference.counts.get(Direction.REMOVED, 0))
    begun = offset_change.name in situation.offsets.unfinished
    then = f"; {ask_outcome(situation.observed.cluster, offset_change.name)}" if begun else ""
    found = [Refusal(text + then) for text in _problems(situation, offset_change.connector, removes=removes)]
    return replace(review, refusals=tuple(dict.fromkeys((*review.refusals, *found))))


def removal_problem(situation: Situation, name: ConnectorName) -> str:
    """Why the offsets of a connector cannot be removed; empty if they can be, or if that is unknown."""
    return next(_problems(situation, name, removes=True), "")


def _problems(situation: Situation, name: ConnectorName, *, removes: bool) -> Iterator[str]:
    config = _config(situation, name)
    if _is_sink(situation, name, config):
        if has_other_admin(config):
            yield (
                f"Connect reads and changes the offsets of a sink in the Kafka cluster of {ADMIN_SERVERS}, but the sink"
                f" commits them in that of {CONSUMER_SERVERS}; set both to the same value"
            )
    elif removes and situation.exactly_once is ExactlyOnceSupport.ENABLED and (key := separate_store(config)):
        yield (
            f"the workers support exactly-once sources, and {key} gives the connector an offsets topic besides the"
            " worker's: Connect cannot remove offsets there, and answers with an error after 90s. Set the offsets at"
            " which the connector should start instead of removing them, or give the connector another name; if"
            f" {key} has the value of the workers, remove it from the config"
        )


def separate_store(config: Config) -> str:
    """The key that gives an exactly-once source an offsets topic besides the worker's; empty if none does."""
    return next((key for key in (OFFSETS_TOPIC, PRODUCER_SERVERS) if config.get(key)), "")


def asks_for_exactly_once(desired: DesiredState) -> bool:
    present = (one for one in desired.connectors if one.state is not TargetState.ABSENT)
    return any(SUPPORT in one.config for one in present)


def depends_on_support(config: Config) -> bool:
    """Whether it matters for a source with that config if the workers support exactly-once sources."""
    return bool(separate_store(config) or SUPPORT in config)


def _config(situation: Situation, name: ConnectorName) -> Config:
    """The config at the time of an offset change: a changed config is sent before the offsets."""
    declared, observed = situation.desired.by_name.get(name), situation.observed.connectors.get(name)
    if declared is not None and declared.config.get("connector.class"):
        return declared.config
    return observed.config if observed is not None else {}


def _is_sink(situation: Situation, name: ConnectorName, config: Config) -> bool:
    observed = situation.observed.connectors.get(name)
    return situation.families.is_sink(config) or (observed is not None and observed.type is ConnectorType.SINK)
