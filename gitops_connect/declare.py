"""Reads the desired state of all clusters: the repository, its documents, and what is wrong with them.

source -> documents -> strimzi -> checks
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from gitops_connect.checks import document_schemas
from gitops_connect.documents import exactly_once_rules
from gitops_connect.documents.desired_state import BuildOptions, ReadingCache, build
from gitops_connect.documents.load import ParseCache, load
from gitops_connect.model.desired import DesiredState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ClusterName, Revision
from gitops_connect.model.strimzi import DEFAULT_OPTIONS, StrimziOptions
from gitops_connect.offset_changes.strimzi_requests import find_additions
from gitops_connect.settings.sections import Settings
from gitops_connect.source.checkout import Checkout, Source
from gitops_connect.strimzi.annotations import find_annotated, with_requests
from gitops_connect.strimzi.translation import TranslationCache, translate
from gitops_connect.tracing.spans import span


@dataclass(frozen=True, slots=True)
class Caches:
    """Results for files that did not change since the last reconciliation. They only save time."""

    files: ParseCache = field(default_factory=ParseCache)
    strimzi: TranslationCache = field(default_factory=TranslationCache)
    schemas: document_schemas.SchemaCache = field(default_factory=document_schemas.SchemaCache)
    readings: ReadingCache = field(default_factory=ReadingCache)


@dataclass(frozen=True, slots=True)
class Declared:
    """The desired state of every cluster at one revision, and the number of its documents.

    Offset manifests are read from `checkout` when they are due. `rewritten` is the previous revision if this revision
    does not descend from it.
    """

    revision: Revision
    states: Mapping[ClusterName, DesiredState]
    diagnostics: Diagnostics
    documents: int
    checkout: Checkout = field(repr=False, compare=False)
    rewritten: Revision | None = None


@dataclass(frozen=True, slots=True)
class DeclareOptions:
    """What the settings say about documents. `require_exactly_once` has the globs of each cluster."""

    strimzi: StrimziOptions = DEFAULT_OPTIONS
    require_exactly_once: Mapping[ClusterName, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings) -> DeclareOptions:
        globs = {name: cluster.require_exactly_once for name, cluster in settings.clusters.items()}
        return cls(settings.strimzi_options, globs)


_DEFAULTS = DeclareOptions()


@span("declare")
def declare(
    source: Source,
    clusters: Collection[ClusterName] | None,
    caches: Caches,
    before: Declared | None = None,
    options: DeclareOptions = _DEFAULTS,
) -> Declared:
    """Read and check every document of the repository. `clusters` None: all clusters that the documents name.

    Resources of Strimzi become documents. Files in `caches` are not read, parsed or checked again. `before` is the
    result of an earlier call with the same arguments: it is returned again if the repository has not changed. Raises
    SourceUnavailable or SourceRefused.
    """
    checkout = source.fetch()
    if before is not None and checkout is before.checkout:
        return before
    documents = translate(load(checkout, caches.files, options.strimzi.api_groups), options.strimzi, caches.strimzi)
    annotated = list(find_annotated(documents, options.strimzi))
    documents, requests = with_requests(documents, annotated, find_additions(checkout.history, annotated))
    problems = document_schemas.check(documents, caches.schemas)
    states, diagnostics = build(
        documents, clusters, problems, BuildOptions(checkout.entries, requests, caches.readings)
    )
    states, missing = exactly_once_rules.enforce(states, options.require_exactly_once)
    return Declared(
        checkout.revision, states, diagnostics + missing, len(documents.documents), checkout, checkout.rewritten
    )
