"""The published descriptions of REST APIs (OpenAPI 3.0): what is a legal request, and what is a complete answer.

GitHub publishes its description in the npm package @octokit/openapi. No package has that of GitLab, so gitlab.yaml
describes what we use of it. It was compared with GitLab's own description.
"""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator, validators
from referencing import Registry
from referencing.jsonschema import DRAFT4
from support.files.tables import read_yaml

from gitops_connect.safe_files import locked_file

PACKAGE = "@octokit/openapi@23.0.2"
_MEMBER = "package/generated/api.github.com.json"
_HERE = Path(__file__).parent
_URI = "urn:description"
_MISSING = object()


class DescriptionMissing(Exception):
    """Why the description of GitHub could not be fetched."""


GITHUB = pytest.StashKey[Path | DescriptionMissing]()
"""In the configuration of pytest: the description of GitHub, or why there is none."""


def prepare_github(cache: Path) -> Path | DescriptionMissing:
    """Fetch it, unless it is in the cache. This is called before the first test, from which the network is closed."""
    file = cache / f"github-api-{PACKAGE.rpartition('@')[2]}.json"
    cache.mkdir(parents=True, exist_ok=True)
    with locked_file(cache / ".github-api.lock"):
        if not file.exists():
            try:
                with tempfile.TemporaryDirectory(dir=cache) as directory:
                    _download(Path(directory)).rename(file)
            except DescriptionMissing as missing:
                return missing
    return file


def _download(directory: Path) -> Path:
    command = ["npm", "pack", PACKAGE, "--silent", "--fetch-retries=1", "--pack-destination", str(directory)]
    try:
        subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        raise DescriptionMissing(f"npm cannot fetch {PACKAGE}: {error}") from error
    with tarfile.open(next(directory.glob("*.tgz"))) as archive:
        archive.extract(_MEMBER, directory, filter="data")
    return directory / _MEMBER


class Description:
    """One API. The methods raise AssertionError with what is wrong."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._registry: Registry[Any] = Registry().with_resource(_URI, DRAFT4.create_resource(document))
        # A path without parameters takes precedence over one with parameters.
        paths = sorted(document["paths"], key=lambda one: str(one).count("{"))
        self._paths = [(re.compile(re.sub(r"\{[^}]*\}", "[^/]+", path)), path) for path in paths]

    @staticmethod
    def of_github(file: Path) -> Description:
        return Description(json.loads(file.read_text(encoding="utf-8")))

    @staticmethod
    def of_gitlab() -> Description:
        return Description(read_yaml(_HERE / "gitlab.yaml"))

    def offset_change(self, method: str, path: str) -> Mapping[str, Any]:
        """The offset change for a request."""
        for pattern, template in self._paths:
            if pattern.fullmatch(path) and method.lower() in self._document["paths"][template]:
                return self._document["paths"][template][method.lower()]
        raise AssertionError(f"the API has no {method} {path}")

    def check_request(self, method: str, path: str, query: Mapping[str, str], body: Any) -> None:
        """Each parameter and the body must be described, and have the described type."""
        offset_change = self.offset_change(method, path)
        known = {
            one["name"]: one for one in map(self._resolve, offset_change.get("parameters", ())) if one["in"] == "query"
        }
        assert set(query) <= set(known), f"{method} {path}: unknown parameters {set(query) - set(known)}"
        for name, value in query.items():
            schema = self._resolve(known[name]["schema"])
            self._check(json.loads(value) if schema.get("type") in ("integer", "boolean") else value, schema)
        described = self._resolve(offset_change.get("requestBody", {})).get("content", {}).get("application/json", {})
        if body is not None:
            assert described, f"{method} {path} takes no body"
            schema = self._resolve(described["schema"])
            assert set(body) <= set(schema["properties"]), f"{method} {path}: unknown fields of the body: {body}"
            self._check(body, schema)

    def answer(self, method: str, path: str, status: int, content: Any) -> Any:
        """A complete answer with this content: what the description requires in addition is filled in.

        Descriptions do not list every error: any offset change can answer 401, 404 or 503.
        """
        responses = self.offset_change(method, path)["responses"]
        if status >= 400 and str(status) not in responses:
            return content
        assert str(status) in responses, f"{method} {path} never answers {status}"
        described = self._resolve(responses[str(status)]).get("content", {})
        if "application/json" not in described:
            assert content is None, f"{method} {path}: an answer with status {status} has no content"
            return None
        schema = described["application/json"]["schema"]
        complete = self._complete(schema, _MISSING if content is None else content)
        self._check(complete, schema)
        return complete

    def _complete(self, schema: Mapping[str, Any], value: Any) -> Any:
        schema = self._merged(schema)
        if isinstance(value, list):
            return [self._complete(schema["items"], one) for one in value]
        if value is _MISSING and schema.get("nullable"):
            return None
        if "properties" in schema and (value is _MISSING or isinstance(value, dict)):
            given = {} if value is _MISSING else value
            names = dict.fromkeys([*schema.get("required", ()), *given])
            described = schema["properties"]
            return {name: self._complete(described.get(name, {}), given.get(name, _MISSING)) for name in names}
        return _example(schema) if value is _MISSING else value

    def _merged(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema without references; of alternatives, the first that is no null."""
        schema = self._resolve(schema)
        for kind in ("anyOf", "oneOf"):
            if kind in schema:
                first = next(one for one in map(self._resolve, schema[kind]) if one.get("type") != "null")
                return {**schema, **self._merged(first)}
        merged = dict(schema)
        for part in map(self._merged, schema.get("allOf", ())):
            properties = {**merged.get("properties", {}), **part.get("properties", {})}
            required = [*merged.get("required", ()), *part.get("required", ())]
            merged = {**part, **merged, "properties": properties, "required": required}
        return merged

    def _resolve(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in schema:
            schema = self._registry.resolver(_URI).lookup(schema["$ref"]).contents
        return schema

    def _check(self, value: Any, schema: Mapping[str, Any]) -> None:
        errors = [*_OpenApiValidator(_absolute(schema), registry=self._registry).iter_errors(value)]
        assert not errors, "; ".join(f"{error.json_path}: {error.message[:200]}" for error in errors)


def _absolute(schema: Any) -> Any:
    """The schema with references that name the document."""
    if isinstance(schema, Mapping):
        return {
            name: _URI + value if name == "$ref" and isinstance(value, str) else _absolute(value)
            for name, value in schema.items()
            if name != "example"
        }
    return [_absolute(one) for one in schema] if isinstance(schema, list) else schema


def _example(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    values = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}
    return values.get(schema.get("type", ""), schema.get("example", "text"))


def _or_null(keyword: str) -> Any:
    """OpenAPI 3.0 allows null by `nullable`, which JSON Schema does not know."""
    original = Draft4Validator.VALIDATORS[keyword]

    def check(validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]) -> Any:
        if instance is None and schema.get("nullable"):
            return ()
        return original(validator, value, instance, schema) or ()

    return check


_OpenApiValidator = validators.extend(
    Draft4Validator, {keyword: _or_null(keyword) for keyword in ("type", "enum", "allOf", "anyOf", "oneOf")}
)
