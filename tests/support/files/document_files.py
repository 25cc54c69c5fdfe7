"""Files that exist only in memory, and the stages with which `reconcile` reads a desired state from them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gitops_connect.checks import document_schemas
from gitops_connect.checks.document_schemas import SchemaCache
from gitops_connect.documents.desired_state import BuildOptions, build
from gitops_connect.documents.load import ParseCache, load
from gitops_connect.model.desired import DesiredConnector, DesiredState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.documents import Blob, Documents, Entry
from gitops_connect.model.names import ClusterName
from gitops_connect.model.strimzi import DEFAULT_OPTIONS, StrimziOptions
from gitops_connect.strimzi.translation import TranslationCache, translate

LOCAL = ClusterName("local")


@dataclass
class MemoryFiles:
    """A checkout in memory; `reads` lists the files that were read."""

    contents: Mapping[str, bytes]
    sized: bool = True
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    complete: bool = True
    reads: list[str] = field(default_factory=list)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(
            Entry(path, hashlib.sha256(content).hexdigest(), len(content) if self.sized else None)
            for path, content in self.contents.items()
        )

    def blobs(self, entries: Iterable[Entry], at_most: int | None = None) -> Iterator[Blob]:
        for entry in entries:
            self.reads.append(entry.path)
            yield Blob(entry.path, entry.blob_id, self.contents[entry.path][:at_most])


def files(contents: Mapping[str, str]) -> MemoryFiles:
    return MemoryFiles({path: text.encode() for path, text in contents.items()})


def read(contents: Mapping[str, str]) -> Documents:
    return load(files(contents), ParseCache())


def declare(
    contents: Mapping[str, str], clusters: Collection[str] | None = (LOCAL,), strimzi: StrimziOptions = DEFAULT_OPTIONS
) -> tuple[Mapping[ClusterName, DesiredState], Diagnostics]:
    """Run every stage from files to desired states."""
    checkout = files(contents)
    documents = translate(load(checkout, ParseCache(), strimzi.api_groups), strimzi, TranslationCache())
    known = None if clusters is None else [ClusterName(name) for name in clusters]
    return build(documents, known, document_schemas.check(documents, SchemaCache()), BuildOptions(checkout.entries))


def declare_one(text: str) -> DesiredConnector:
    states, diagnostics = declare({"a.yaml": text})
    assert not diagnostics.items, diagnostics.items
    (connector,) = states[LOCAL].connectors
    return connector


def connector(name: str = "orders", spec: str = "  class: com.example.Orders\n", metadata: str = "") -> str:
    """A `Connector` document; `spec` and `metadata` are further lines, indented by two."""
    return f"apiVersion: gitops-connect/v1\nkind: Connector\nmetadata:\n  name: {name}\n{metadata}spec:\n{spec}"


def config(lines: str, name: str = "orders") -> str:
    """A `Connector` document with these lines of config, not indented."""
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    return connector(name, f"  class: com.example.Orders\n  config:\n{indented}")


def rules(diagnostics: Diagnostics) -> list[str]:
    return [item.rule for item in diagnostics]
