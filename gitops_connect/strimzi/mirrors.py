"""The mirrors of a `KafkaMirrorMaker2`: which source and which target cluster each one connects.

Source: `KafkaMirrorMaker2Cluster.validateAndUpdateToNewAPI` (0.49 to 0.51), and
`KafkaMirrorMaker2Connectors.validateConnectors` (up to 0.48).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitops_connect.model.strimzi import StrimziVersion
from gitops_connect.strimzi.crd import NEW_SHAPE, Rules
from gitops_connect.strimzi.resources import INVALID, Problems, ResourceSection, path

SAME_TARGET = StrimziVersion(0, 41)
"""From this version on, every mirror must have the Connect cluster as its target."""
SAME_BOOTSTRAP = StrimziVersion(0, 44)
"""From this version to 0.48, another alias with the same bootstrap servers is also allowed as target."""

_WORKER_KEYS = frozenset({"group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic"})


@dataclass(frozen=True, slots=True)
class MirrorCluster:
    """One Kafka cluster of a mirror. `worker_keys` are the keys of its config that only the Connect worker gets."""

    section: ResourceSection
    worker_keys: frozenset[str] = frozenset()

    @property
    def alias(self) -> str:
        """The alias, which is part of the names of connectors."""
        return str(self.section.get("alias"))


@dataclass(frozen=True, slots=True)
class Mirror:
    """One entry of `spec.mirrors` with its clusters."""

    section: ResourceSection
    source: MirrorCluster
    target: MirrorCluster


def read_mirrors(spec: ResourceSection, rules: Rules, problems: Problems) -> tuple[Mirror, ...]:
    """The mirrors of a `spec` that passed the check of its fields. A mirror with an error is left out."""
    clusters = _clusters(spec, problems)
    if rules.version < NEW_SHAPE:
        return tuple(_mirrors_up_to_048(spec, clusters, rules, problems))
    target = _target(spec, clusters, problems)
    entries = spec.sections("mirrors")
    if not entries and rules.api != "v1":
        problems.error(INVALID, spec.at("mirrors"), "spec.mirrors must have at least one mirror")
    if target is None:
        return ()
    mirrors = tuple(_mirrors_since_049(entries, target, clusters, problems))
    _check_aliases(mirrors, target, problems)
    return mirrors


def _clusters(spec: ResourceSection, problems: Problems) -> Mapping[str, ResourceSection]:
    """The entries of `spec.clusters` by alias."""
    found: dict[str, ResourceSection] = {}
    for cluster in spec.sections("clusters"):
        if found.setdefault(cluster.get("alias"), cluster) is not cluster:
            summary = f"{path(cluster.at('alias'))} must be unique: {cluster.get('alias')!r} is used more than once"
            problems.error(INVALID, cluster.at("alias"), summary, "give each cluster its own alias")
    return found


def _mirrors_up_to_048(
    spec: ResourceSection, clusters: Mapping[str, ResourceSection], rules: Rules, problems: Problems
) -> Iterator[Mirror]:
    _named(spec, "connectCluster", clusters, problems)
    for entry in spec.sections("mirrors"):
        source = _named(entry, "sourceCluster", clusters, problems)
        target = _named(entry, "targetCluster", clusters, problems)
        if source is None or target is None:
            continue
        if rules.version >= SAME_TARGET:
            _check_target(spec, entry, clusters, rules, problems)
        yield Mirror(entry, MirrorCluster(source), MirrorCluster(target))


def _check_target(
    spec: ResourceSection,
    entry: ResourceSection,
    clusters: Mapping[str, ResourceSection],
    rules: Rules,
    problems: Problems,
) -> None:
    connect, target = spec.get("connectCluster"), entry.get("targetCluster")
    if target == connect or connect not in clusters:
        return
    servers = clusters[connect].get("bootstrapServers")
    if rules.version >= SAME_BOOTSTRAP and servers == clusters[target].get("bootstrapServers"):
        return
    exception = " or have its bootstrapServers" if rules.version >= SAME_BOOTSTRAP else ""
    place = entry.at("targetCluster")
    summary = f"{path(place)} must be spec.connectCluster ({connect!r}){exception}, found {target!r}"
    problems.error(INVALID, place, summary, "use one resource for each target cluster")


def _named(
    section: ResourceSection, key: str, clusters: Mapping[str, ResourceSection], problems: Problems
) -> ResourceSection | None:
    """The entry of `spec.clusters` that a field names."""
    alias = section.get(key)
    if alias in clusters:
        return clusters[alias]
    place = section.at(key)
    summary = f"{path(place)} must be an alias of spec.clusters, found {alias!r}"
    problems.error(INVALID, place, summary, "correct the alias, or add the cluster to spec.clusters")
    return None


def _target(spec: ResourceSection, clusters: Mapping[str, ResourceSection], problems: Problems) -> MirrorCluster | None:
    target = spec.section("target")
    if target is not None:
        return MirrorCluster(target)
    if spec.get("connectCluster") is None or not clusters:
        summary = "spec.target is required, or spec.connectCluster and spec.clusters in API version v1beta2"
        problems.error(INVALID, spec.pointer, summary)
        return None
    found = _named(spec, "connectCluster", clusters, problems)
    return None if found is None else MirrorCluster(found, _WORKER_KEYS)


def _mirrors_since_049(
    entries: tuple[ResourceSection, ...],
    target: MirrorCluster,
    clusters: Mapping[str, ResourceSection],
    problems: Problems,
) -> Iterator[Mirror]:
    for entry in entries:
        named = entry.get("targetCluster")
        if named is not None and named != target.alias:
            place = entry.at("targetCluster")
            summary = f"{path(place)} must be the alias of the target cluster ({target.alias!r}), found {named!r}"
            problems.error(INVALID, place, summary, "remove the field, or use one resource for each target cluster")
        source = entry.section("source") or _old_source(entry, clusters, problems)
        if source is not None:
            yield Mirror(entry, MirrorCluster(source), target)


def _old_source(
    entry: ResourceSection, clusters: Mapping[str, ResourceSection], problems: Problems
) -> ResourceSection | None:
    if entry.get("sourceCluster") is None:
        summary = f"{path(entry.at('source'))} is required, or sourceCluster in API version v1beta2"
        problems.error(INVALID, entry.pointer, summary)
        return None
    return _named(entry, "sourceCluster", clusters, problems)


def _check_aliases(mirrors: tuple[Mirror, ...], target: MirrorCluster, problems: Problems) -> None:
    counts = Counter([target.alias, *(mirror.source.alias for mirror in mirrors)])
    for mirror in mirrors:
        if counts[mirror.source.alias] > 1:
            place = mirror.source.section.at("alias")
            summary = f"the aliases of target and source clusters must be unique: {mirror.source.alias!r} is not"
            problems.error(INVALID, place, summary, "give each cluster its own alias")
