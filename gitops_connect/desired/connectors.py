"""Documents -> the desired state of each cluster; a document with an error holds up its own connector, and no other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from gitops_connect.desired import rules
from gitops_connect.desired.fields import Fields
from gitops_connect.desired.placement import place
from gitops_connect.model.desired import DesiredConnector, DesiredState
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.model.documents import Document, Documents
from gitops_connect.model.names import ClusterName, ConnectorName

States = Mapping[ClusterName, DesiredState]


def build(
    documents: Documents, clusters: Collection[ClusterName] | None, problems: Diagnostics
) -> tuple[States, Diagnostics]:
    """The state of every known cluster, and everything that is wrong with the documents, `problems` included.

    `clusters` are the names that the settings know. Where there are no settings it is None: any name will do, and the
    documents that name no cluster are together under `placement.UNNAMED`.
    `problems` are those of the schema: only a document without an error among them is looked into.
    """
    failed = {id(document) for error in problems.errors if (document := documents.at(error.location)) is not None}
    builder = _Builder(clusters)
    for document in documents.documents:
        builder.add(document, sound=id(document) not in failed)
    for document in documents.broken:
        builder.add(document, sound=False)
    states = builder.states(complete=documents.complete)
    return states, Diagnostics.of((*documents.diagnostics, *problems, *builder.found))


@dataclass(slots=True)
class _Draft:
    """One cluster while it is being put together."""

    documents: dict[ConnectorName, list[Document]] = field(default_factory=lambda: defaultdict(list))
    connectors: dict[ConnectorName, DesiredConnector] = field(default_factory=dict)


class _Builder:
    def __init__(self, clusters: Collection[ClusterName] | None) -> None:
        self._clusters = clusters
        self._drafts = {name: _Draft() for name in clusters or ()}
        self.found: list[Diagnostic] = []
        self._homeless: set[ConnectorName] = set()
        self._nameless = False

    def add(self, document: Document, *, sound: bool) -> None:
        """Put one document where it belongs; one that is not sound only says which connector is held up."""
        name = document.connector
        if name is None:
            self._nameless = True
            return
        cluster = place(document, self._clusters)
        if isinstance(cluster, Diagnostic):
            self.found.append(cluster)
            self._homeless.add(name)
            return
        draft = self._drafts.setdefault(cluster, _Draft())
        draft.documents[name].append(document)
        if sound:
            self._read(draft, document)

    def _read(self, draft: _Draft, document: Document) -> None:
        fields = Fields.of(document)
        problems = Diagnostics.of(rules.check(fields))
        self.found.extend(problems)
        if not problems.errors:
            draft.connectors[fields.name] = fields.connector()

    def states(self, *, complete: bool) -> States:
        """Every cluster's state; none is complete where a document does not tell its connector."""
        complete = complete and not self._nameless
        return {cluster: self._state(cluster, draft, complete=complete) for cluster, draft in self._drafts.items()}

    def _state(self, cluster: ClusterName, draft: _Draft, *, complete: bool) -> DesiredState:
        shared = {name: documents for name, documents in draft.documents.items() if len(documents) > 1}
        for name, documents in shared.items():
            self.found.extend(_shared(name, cluster, documents))
        sound = {name: connector for name, connector in draft.connectors.items() if name not in shared}
        return DesiredState(
            cluster=cluster,
            connectors=tuple(sound[name] for name in sorted(sound)),
            held=frozenset((draft.documents.keys() | self._homeless) - sound.keys()),
            complete=complete,
        )


def _shared(name: ConnectorName, cluster: ClusterName, documents: list[Document]) -> Iterable[Diagnostic]:
    """A connector has one owner: with two, each cycle would undo the other's half."""
    places = [document.locate(("metadata", "name")) for document in documents]
    where = f" in cluster {cluster!r}" if cluster else ""
    for place_of in places:
        others = ", ".join(str(other) for other in places if other != place_of)
        yield Diagnostic(
            Severity.ERROR,
            "connector/two-owners",
            f"connector {name!r}{where} is declared more than once: also at {others}",
            place_of,
            "keep one of them",
            name,
        )
