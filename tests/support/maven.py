"""A Maven repository on 127.0.0.1, whose POMs are written in a short form. The group of every artifact is `g`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from xml.sax.saxutils import escape

from support.loopback import HttpHandler, http_server


class Repository:
    """Its files by their paths, and the paths that were requested."""

    def __init__(self, poms: Mapping[str, Any]) -> None:
        self.files: dict[str, bytes] = {}
        self.requested: list[str] = []
        for name_and_version, pom in poms.items():
            name, _, version = name_and_version.partition(":")
            place = f"g/{name}/{version}/{name}-{version}"
            self.add(f"{place}.pom", pom_text(name, version, pom or {}).encode())
            for classifier in ("", *(pom or {}).get("classifiers", [])):
                self.add(f"{place}{classifier and '-'}{classifier}.jar", f"{name_and_version} {classifier}".encode())

    def add(self, path: str, content: bytes) -> None:
        self.files[path] = content
        self.files[f"{path}.sha1"] = hashlib.sha1(content, usedforsecurity=False).hexdigest().encode()

    def answer(self, request: HttpHandler) -> None:
        path = request.path.removeprefix("/maven/")
        self.requested.append(path)
        found = self.files.get(path)
        request.send(404 if found is None else 200, {}, found or b"no such file")

    @contextmanager
    def served(self) -> Iterator[str]:
        with http_server(self.answer) as url:
            yield f"{url}/maven"


def pom_text(name: str, version: str, pom: Mapping[str, Any]) -> str:
    """Its XML. `raw` is XML as it is."""
    parts = [_parent(pom["parent"])] if "parent" in pom else []
    parts += [f"<artifactId>{name}</artifactId><version>{version}</version>"]
    parts += [f"<packaging>{pom.get('packaging', 'jar')}</packaging>", pom.get("raw", "")]
    parts.append(
        _element("properties", "".join(_element(key, text) for key, text in pom.get("properties", {}).items()))
    )
    parts.append(_element("dependencyManagement", _dependencies(pom.get("manages", []))))
    parts.append(_dependencies(pom.get("needs", [])))
    return f'<project xmlns="http://maven.apache.org/POM/4.0.0">{"".join(parts)}</project>'


def _parent(name_and_version: str) -> str:
    return _element("parent", _coordinate(name_and_version))


def _dependencies(texts: list[str]) -> str:
    return _element("dependencies", "".join(_dependency(text) for text in texts))


def _dependency(text: str) -> str:
    """`NAME:VERSION[:CLASSIFIER] FIELD=VALUE -EXCLUDED`."""
    coordinate, *more = text.split()
    fields = "".join(_element(*one.split("=")) for one in more if not one.startswith("-"))
    excluded = "".join(_element("exclusion", _coordinate(one[1:])) for one in more if one.startswith("-"))
    return _element("dependency", _coordinate(coordinate) + fields + _element("exclusions", excluded))


def _coordinate(text: str) -> str:
    names = ("artifactId", "version", "classifier")
    return "<groupId>g</groupId>" + "".join(
        _element(*one) for one in zip(names, text.split(":"), strict=False) if one[1]
    )


def _element(name: str, content: str) -> str:
    return f"<{name}>{content if content.startswith('<') else escape(str(content))}</{name}>"
