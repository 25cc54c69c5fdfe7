"""Warns of mirrors whose current config another version of Strimzi's operator has written than the settings name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gitops_connect.model.names import ConnectorName
from gitops_connect.model.strimzi import MIRROR_MAKER
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.topics import named
from gitops_connect.strimzi.placeholders import operator_versions


def other_operators(situation: Situation) -> Iterator[str]:
    """The placeholders of a config say which operators write them. Keys that do not differ say nothing."""
    found: dict[tuple[str, str], list[ConnectorName]] = defaultdict(list)
    for desired in situation.desired.connectors:
        observed, resource = situation.observed.connectors.get(desired.name), desired.document.resource
        if observed is None or resource is None or resource.value.get("kind") != MIRROR_MAKER:
            continue
        current, declared = (
            observed.config.items() - desired.config.items(),
            desired.config.items() - observed.config.items(),
        )
        before, after = (operator_versions(value for _, value in one) for one in (current, declared))
        if len(before) == 1 and after - before:
            found[min(before), ", ".join(sorted(after - before))].append(desired.name)
    for (version, other), names in sorted(found.items()):
        what = f"Strimzi {version} has written the current config of {named(names)}"
        effect = f"the plan replaces its placeholders by those of {other}, which the workers may not resolve"
        yield f"{what}, and {effect}: set [strimzi] version to the version of the operator ({version})"
