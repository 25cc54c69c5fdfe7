"""Translates the resources of Strimzi to `Connector` documents, which are read like those of the repository."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from gitops_connect.desired.strimzi import kafka_connector, mirror_maker
from gitops_connect.desired.strimzi.clusters import CLUSTER_LABEL, connect_cluster, own_cluster
from gitops_connect.desired.strimzi.connector_document import Translation, broken_document, document_of
from gitops_connect.desired.strimzi.connector_spec import ConnectorSpec, Expansion
from gitops_connect.desired.strimzi.converters import with_worker_converters
from gitops_connect.desired.strimzi.placeholders import substitute_config
from gitops_connect.desired.strimzi.recognition import CONFIG_MAP
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity, contained
from gitops_connect.model.documents import Document, Documents
from gitops_connect.model.names import ClusterName
from gitops_connect.model.strimzi import KAFKA_CONNECTOR, MIRROR_MAKER, StrimziOptions
from gitops_connect.model.suggestions import closest

NO_CLUSTER = "strimzi/no-cluster"


@dataclass(frozen=True, slots=True)
class _Translated:
    """The documents of one resource. `complete` is False if one of its connectors could not be named."""

    documents: tuple[Document, ...] = ()
    broken: tuple[Document, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    complete: bool = True


class TranslationCache:
    """The documents of each resource of the last revision, by the identity of the resource.

    The parser's cache returns the same object for the same content. `options` are those of the last translation.
    """

    def __init__(self) -> None:
        self._translated: Mapping[int, tuple[Document, _Translated]] = {}
        self._options = StrimziOptions()

    def get(self, resource: Document, options: StrimziOptions) -> _Translated | None:
        """The documents of the resource, or None if they are not in the cache."""
        known = self._translated.get(id(resource))
        return known[1] if known is not None and options == self._options else None

    def keep(self, translated: Mapping[int, tuple[Document, _Translated]], options: StrimziOptions) -> None:
        """Replace the content of the cache."""
        self._translated, self._options = translated, options


def translate(documents: Documents, options: StrimziOptions, cache: TranslationCache) -> Documents:
    """The documents of the repository, with those of the connectors that resources of Strimzi declare.

    A resource with an error becomes documents that only hold its connectors.
    """
    resources = [(one, True) for one in documents.strimzi if one.value.get("kind") != CONFIG_MAP]
    resources += [(one, False) for one in documents.broken_strimzi]
    if not resources:
        return documents
    translated = {}
    for resource, sound in resources:
        known = cache.get(resource, options)
        translated[id(resource)] = (resource, known or _contained(resource, options, sound=sound))
    cache.keep(translated, options)
    return _merged(documents, [one for _, one in translated.values()])


def _merged(documents: Documents, translated: list[_Translated]) -> Documents:
    made = [document for one in translated for document in one.documents]
    problems = (problem for one in translated for problem in one.problems)
    return replace(
        documents,
        documents=tuple(sorted((*documents.documents, *made), key=lambda document: document.location)),
        broken=(*documents.broken, *(document for one in translated for document in one.broken)),
        diagnostics=documents.diagnostics + Diagnostics.of(problems),
        complete=documents.complete and all(one.complete for one in translated),
    )


def _contained(resource: Document, options: StrimziOptions, *, sound: bool) -> _Translated:
    """The documents of one resource, or the bug in translating it: then nobody knows what it declares."""
    made = contained(partial(_translate, resource, options, sound=sound), resource.location)
    return _Translated(problems=(made,), complete=False) if isinstance(made, Diagnostic) else made


def _translate(resource: Document, options: StrimziOptions, *, sound: bool) -> _Translated:
    """The documents of one resource. The problems of a resource that is not sound are already reported."""
    connect = connect_cluster(resource)
    if connect is None and sound:
        return _Translated(problems=(_ignored(resource),))
    cluster = own_cluster(resource, connect, options) if connect is not None else None
    expansion = expand(resource, options)
    broken = [broken_document(resource, name, place, cluster) for name, place in expansion.blocked.items()]
    if not sound:
        broken += [broken_document(resource, one.name, one.pointer, cluster) for one in expansion.connectors]
        return _Translated(broken=tuple(broken), complete=expansion.complete)
    return _sound(resource, expansion, cluster, options, broken)


def _sound(
    resource: Document,
    expansion: Expansion,
    cluster: ClusterName | None,
    options: StrimziOptions,
    broken: list[Document],
) -> _Translated:
    translations = [_document_of(resource, one, cluster, options) for one in expansion.connectors]
    problems = [*expansion.diagnostics, *(problem for one in translations for problem in one.problems)]
    return _Translated(
        tuple(one.document for one in translations if one.is_sound),
        (*broken, *(one.document for one in translations if not one.is_sound)),
        tuple(_named(problem, expansion) for problem in problems),
        expansion.complete,
    )


def _document_of(
    resource: Document, connector: ConnectorSpec, cluster: ClusterName | None, options: StrimziOptions
) -> Translation:
    """The document of a connector for the workers that run it."""
    if options.workers:
        return document_of(resource, connector, cluster, options.version)
    if resource.value.get("kind") == MIRROR_MAKER:
        connector = with_worker_converters(connector)
    connector, unmapped = substitute_config(resource, connector, options.placeholders)
    translation = document_of(resource, connector, cluster, options.version)
    return replace(translation, problems=(*unmapped, *translation.problems))


def _named(problem: Diagnostic, expansion: Expansion) -> Diagnostic:
    """The problem with the connector that it blocks, if the resource declares only one."""
    names = {*expansion.blocked, *(one.name for one in expansion.connectors)}
    return replace(problem, connector=names.pop()) if problem.connector is None and len(names) == 1 else problem


def expand(resource: Document, options: StrimziOptions) -> Expansion:
    """The connectors that a resource declares, before they become documents."""
    kinds = {KAFKA_CONNECTOR: kafka_connector.expand, MIRROR_MAKER: mirror_maker.expand}
    kind = closest(str(resource.value.get("kind")), kinds)
    return kinds[kind](resource, options.version) if kind is not None else Expansion(complete=False)


def _ignored(resource: Document) -> Diagnostic:
    summary = f"the {KAFKA_CONNECTOR} has no label {CLUSTER_LABEL}, and is ignored, as in Strimzi"
    hint = f"set the label {CLUSTER_LABEL} to the name of the Connect cluster"
    return Diagnostic(Severity.NOTE, NO_CLUSTER, summary, resource.locate(("metadata",)), hint)
