"""Finds the jars of Maven artifacts: their own, and those of all their runtime dependencies.

If two artifacts need different versions of a third one, the newest version is used, as Gradle does, which builds Kafka.
POMs are untrusted: every name in them becomes a part of a path, and a POM can name itself as its parent.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox.maven_repository import (
    LARGEST_JAR,
    LARGEST_TEXT,
    MOST_FILES,
    FileMissing,
    MavenRepository,
)

PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")
"""A part of a coordinate: of a group, a name, a version or a classifier."""
_PROPERTY = re.compile(r"\$\{([^{}]+)\}")
_LONGEST = 1000
"""Characters of a field of a POM."""
_MOST_PARENTS = 20
_RUNTIME = ("", "compile", "runtime")
_RANGE = re.compile(r"([\[(])([^,\[\]()]*)(,?)([^,\[\]()]*)([\])])")
_BEFORE_RELEASE = ("alpha", "a", "beta", "b", "milestone", "m", "rc", "cr", "snapshot")
_RELEASE = ("final", "ga", "release")
_NOT_JARS = ("pom", "zip", "war", "tar.gz")
Module = tuple[str, str, str]
"""Group, name and classifier: what has one version."""
Found = Callable[[int], None]
"""Called with the number of artifacts that were found so far."""


@dataclass(frozen=True, slots=True)
class Artifact:
    group: str
    name: str
    version: str
    classifier: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.group, self.name, self.version, self.classifier)))

    @property
    def module(self) -> Module:
        return self.group, self.name, self.classifier

    def path(self, suffix: str) -> str:
        """In the repository. Raises SandboxFailed if a part is no name of a file."""
        parts = (*self.group.split("."), self.name, self.version)
        if not all(map(PART.fullmatch, (*parts, self.classifier or "_"))):
            raise SandboxFailed(f"a POM names an artifact that cannot exist: {str(self)[:200]!r}")
        return f"{'/'.join(parts)}/{self.file_name(suffix)}"

    def file_name(self, suffix: str) -> str:
        return "-".join(filter(None, (self.name, self.version, self.classifier))) + suffix


@dataclass(frozen=True, slots=True)
class _Dependency:
    artifact: Artifact
    type: str = "jar"
    scope: str = ""
    is_optional: bool = False
    excluded: frozenset[tuple[str, str]] = frozenset()
    """Groups and names that are not followed below it; `*` is any."""

    @property
    def key(self) -> tuple[str, ...]:
        return *self.artifact.module, self.type

    def is_excluded(self, above: _Dependency) -> bool:
        group, name, _ = self.artifact.module
        return not above.excluded.isdisjoint({(group, name), (group, "*"), ("*", name), ("*", "*")})


@dataclass(frozen=True, slots=True)
class _Pom:
    """A POM with what it inherits. `managed` and `declared` are elements, whose properties a child can replace."""

    properties: ChainMap[str, str] = field(default_factory=ChainMap)
    managed: Sequence[ET.Element] = ()
    declared: Sequence[ET.Element] = ()
    packaging: str = "jar"
    relocated: ET.Element | None = None


_NOTHING = _Pom()


def _text(element: ET.Element | None, name: str, default: str = "") -> str:
    found = element.findtext(f"{{*}}{name}") if element is not None else None
    return (found or "").strip() or default


@dataclass(slots=True)
class MavenResolver:
    """The POMs of one repository, each read once; several at a time by the threads of the pool."""

    repository: MavenRepository
    pool: ThreadPoolExecutor
    _poms: dict[Artifact, _Pom] = field(default_factory=dict)
    _imports: dict[Artifact, dict[tuple[str, ...], _Dependency]] = field(default_factory=dict)
    _dependencies: dict[Artifact, tuple[_Dependency, ...]] = field(default_factory=dict)

    def artifacts(self, roots: Sequence[Artifact], found: Found) -> list[Artifact]:
        """These artifacts with all their runtime dependencies. Raises SandboxFailed."""
        newest = {root.module: root.version for root in roots}
        while True:
            before, reached = dict(newest), dict[Artifact, None]()
            for root in roots:
                self._reach(root, newest, reached, found)
            if newest == before:  # no artifact was reached through a version that is not used
                return [one for one in reached if self._has_jar(one)]

    def _reach(self, root: Artifact, newest: dict[Module, str], reached: dict[Artifact, None], found: Found) -> None:
        """Add all artifacts that are reached from the root, level by level, and newer versions to `newest`.

        The root manages the versions of its whole tree, as in its own build.
        """
        of_root = [one.artifact for one in self._managed(self._pom(root, 0), 0).values()]
        managed = {one.module: one for one in of_root if one.version}  # others only exclude something
        level, seen = [_Dependency(root)], set[_Dependency]()
        while level:
            used = [replace(one, artifact=replace(one.artifact, version=newest[one.artifact.module])) for one in level]
            unseen = [one for one in dict.fromkeys(used) if one not in seen]
            seen.update(unseen)
            artifacts = list(dict.fromkeys(one.artifact for one in unseen))
            reached.update(dict.fromkeys(artifacts))
            found(len(reached))
            below = dict(zip(artifacts, self.pool.map(self.dependencies, artifacts), strict=True))
            level = []
            for one in unseen:
                level += [
                    self._below(one, other, managed) for other in below[one.artifact] if not other.is_excluded(one)
                ]
                if len(level) + len(seen) > 10 * MOST_FILES:
                    raise SandboxFailed(f"{root} has more than {10 * MOST_FILES} dependencies")
            for one in level:
                module, version = one.artifact.module, one.artifact.version
                newest[module] = max(newest.get(module, version), version, key=order)

    def _below(self, above: _Dependency, one: _Dependency, managed: Mapping[Module, Artifact]) -> _Dependency:
        artifact = one.artifact
        if (chosen := managed.get(artifact.module)) is not None:
            artifact = self._pinned(replace(artifact, version=chosen.version))
        return _Dependency(artifact, excluded=one.excluded | above.excluded)

    def dependencies(self, artifact: Artifact) -> tuple[_Dependency, ...]:
        """The runtime dependencies that its POM declares, with managed versions. Raises SandboxFailed."""
        if artifact not in self._dependencies:
            pom = self._pom(replace(artifact, classifier=""), 0)
            self._dependencies[artifact] = tuple(self._declared(pom))
        return self._dependencies[artifact]

    def _declared(self, pom: _Pom) -> Iterator[_Dependency]:
        if pom.relocated is not None:
            yield _dependency(pom.relocated, pom.properties)
            return
        managed = self._managed(pom, 0)
        for element in pom.declared:
            one = _dependency(element, pom.properties)
            default = managed.get(one.key, one)
            version = one.artifact.version or default.artifact.version
            scope = one.scope or default.scope
            if scope in _RUNTIME and not one.is_optional and one.type not in _NOT_JARS[1:]:
                artifact = replace(one.artifact, version=version)
                yield replace(one, artifact=self._pinned(artifact), excluded=one.excluded | default.excluded)

    def _managed(self, pom: _Pom, depth: int) -> dict[tuple[str, ...], _Dependency]:
        """The managed dependencies by their keys; those of imported POMs come last."""
        found: dict[tuple[str, ...], _Dependency] = {}
        imported = []
        for element in pom.managed:
            one = _dependency(element, pom.properties)
            if one.scope == "import":
                imported.append(one.artifact)
            else:
                found.setdefault(one.key, one)
        for artifact in imported:
            if artifact not in self._imports:
                self._imports[artifact] = self._managed(self._pom(artifact, depth + 1), depth + 1)
            for key, one in self._imports[artifact].items():
                found.setdefault(key, one)
        return found

    def _pom(self, artifact: Artifact, depth: int) -> _Pom:
        if depth > _MOST_PARENTS:
            raise SandboxFailed(f"the POM of {artifact} has more than {_MOST_PARENTS} parents or imports")
        if artifact not in self._poms:
            self._poms[artifact] = self._read(artifact, depth)
        return self._poms[artifact]

    def _read(self, artifact: Artifact, depth: int) -> _Pom:
        try:
            # expat limits how far entities can grow, and ElementTree reads no external ones.
            root = ET.parse(self.repository.file(artifact.path(".pom"), LARGEST_TEXT)).getroot()  # noqa: S314
        except FileMissing:
            raise self._no_artifact(artifact) from None
        except (ET.ParseError, LookupError, ValueError) as error:  # also an encoding that does not exist
            raise SandboxFailed(f"{self.repository.name}: the POM of {artifact} is no XML: {error}") from error
        named = root.find("{*}parent")
        parent = _NOTHING
        if named is not None:
            above = Artifact(_text(named, "groupId"), _text(named, "artifactId"), _text(named, "version"))
            parent = self._pom(above, depth + 1)
        texts = ((one.tag.rpartition("}")[2], (one.text or "").strip()) for one in root.findall("{*}properties/*"))
        own = {name: text[:_LONGEST] for name, text in texts}
        project = {"groupId": artifact.group, "artifactId": artifact.name, "version": artifact.version}
        known = {f"{prefix}{name}": text for name, text in project.items() for prefix in ("project.", "pom.", "")}
        known |= {f"project.parent.{name}": _text(named, name) for name in project}
        return _Pom(
            ChainMap(known, own, *parent.properties.maps),
            [*root.findall("{*}dependencyManagement/{*}dependencies/{*}dependency"), *parent.managed],
            [*root.findall("{*}dependencies/{*}dependency"), *parent.declared],
            _text(root, "packaging", "jar"),
            _relocation(root, project),
        )

    def _pinned(self, artifact: Artifact) -> Artifact:
        """The artifact with one version: the newest in its range."""
        if artifact.version[:1] not in ("[", "("):
            return artifact
        path = replace(artifact, version="_").path("").rpartition("/_/")[0]
        try:
            listed = ET.parse(self.repository.file(f"{path}/maven-metadata.xml", LARGEST_TEXT))  # noqa: S314 - see above
        except (FileMissing, ET.ParseError, LookupError, ValueError):
            raise self._no_artifact(artifact) from None
        versions = [one.text or "" for one in listed.findall(".//{*}versions/{*}version")]
        fitting = [version for version in versions if is_in_range(version, artifact.version)]
        if not fitting:
            raise self._no_artifact(artifact)
        return replace(artifact, version=max(fitting, key=order))

    def _has_jar(self, artifact: Artifact) -> bool:
        pom = self._pom(replace(artifact, classifier=""), 0)
        return bool(artifact.classifier) or (pom.packaging not in _NOT_JARS and pom.relocated is None)

    def jar(self, artifact: Artifact) -> Path:
        """Raises SandboxFailed."""
        try:
            return self.repository.file(artifact.path(".jar"), LARGEST_JAR)
        except FileMissing:
            raise self._no_artifact(artifact) from None

    def _no_artifact(self, artifact: Artifact) -> SandboxFailed:
        return SandboxFailed(
            f"there is no artifact {artifact} in {self.repository.name}: check its group, its name and its version"
        )


def _dependency(element: ET.Element, properties: Mapping[str, str]) -> _Dependency:
    def value(name: str, default: str = "") -> str:
        return _filled(_text(element, name, default), properties)

    excluded = {
        (_text(one, "groupId", "*"), _text(one, "artifactId", "*"))
        for one in element.findall("{*}exclusions/{*}exclusion")
    }
    artifact = Artifact(value("groupId"), value("artifactId"), value("version"), value("classifier"))
    return _Dependency(artifact, value("type", "jar"), value("scope"), value("optional") == "true", frozenset(excluded))


def _filled(text: str, properties: Mapping[str, str]) -> str:
    """The text with the values of its properties, which may name others."""
    for _ in range(_MOST_PARENTS):
        if "${" not in text or len(text) > _LONGEST:
            break
        text = _PROPERTY.sub(lambda found: properties.get(found[1], found[0]), text)
    return text[:_LONGEST]


def _relocation(root: ET.Element, project: Mapping[str, str]) -> ET.Element | None:
    """The artifact that replaces this one, with every part."""
    found = root.find("{*}distributionManagement/{*}relocation")
    if found is None:
        return None
    complete = ET.Element("dependency")
    for name, text in project.items():
        ET.SubElement(complete, name).text = _text(found, name, text)
    return complete


def order(version: str) -> tuple[Any, ...]:
    """What sorts versions: 1.0-rc1 < 1.0 < 1.0.1 < 1.10, and 1.0.Final = 1.0."""
    parts: list[tuple[int, int, str]] = []
    for word in re.findall(r"\d+|[a-z]+", version.lower()):
        if word.isdigit():
            parts.append((3, int(word[:18]), ""))
        elif word in _BEFORE_RELEASE:
            parts.append((0, _BEFORE_RELEASE.index(word) // 2, ""))
        elif word not in _RELEASE:
            parts.append((2, 0, word))
    return *parts, (1, 0, "")


def is_in_range(version: str, text: str) -> bool:
    """Whether a range such as `[1.2,2.0)` contains the version."""
    for opening, low, comma, high, closing in _RANGE.findall(text):
        first, last, own = order(low), order(high if comma else low), order(version)
        above = not low or (first <= own if opening == "[" else first < own)
        below = (comma and not high) or (own <= last if closing == "]" else own < last)
        if above and below:
            return True
    return False
